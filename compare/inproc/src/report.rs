//! Tables in Markdown.

use std::fmt::Write;
use std::time::Duration;

/// A table that is printed when it is complete.
#[derive(Debug)]
pub struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(title: &str, columns: &[&str]) -> Table {
        Table {
            title: title.into(),
            columns: columns.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Prints it.
    pub fn print(&self) {
        let mut text = format!("### {}\n\n", self.title);
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text += &line(&self.columns);
        let _ = writeln!(text, "|{}", "---|".repeat(self.columns.len()));
        for row in &self.rows {
            text += &line(row);
        }
        println!("{text}");
    }
}

/// What a ratio ought to be.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// At most this many times the other.
    AtMost(f64),
    /// At least this many times the other.
    AtLeast(f64),
}

impl Target {
    /// The ratio, the target, and whether it is met, as three cells.
    pub fn judge(self, ratio: f64) -> [String; 3] {
        let (sign, bound, met) = match self {
            Target::AtMost(bound) => ("<=", bound, ratio <= bound),
            Target::AtLeast(bound) => (">=", bound, ratio >= bound),
        };
        [
            format!("{ratio:.2}"),
            format!("{sign} {bound}"),
            verdict(met),
        ]
    }
}

/// `met`, or `**not met**`.
pub fn verdict(met: bool) -> String {
    if met { "met" } else { "**not met**" }.into()
}

/// Nanoseconds with as many digits as mean something.
pub fn ns(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Milliseconds.
pub fn ms(value: Duration) -> String {
    format!("{:.2} ms", value.as_secs_f64() * 1e3)
}
