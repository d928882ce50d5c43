//! A report for people.

use std::io::{self, Write};

use super::{Counted, Example, LimitReport, Minute, Report};

/// The longest key that is shown, in characters.
const KEY_SHOWN: usize = 80;

impl Report {
    /// Writes the report for people.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_totals(out)?;
        self.write_limits(out)?;
        self.write_keys(out)?;
        if let Some(Minute { start, asked, denied }) = &self.worst_minute {
            let (asked, denied) = (grouped(*asked), grouped(*denied));
            writeln!(out, "\nworst minute: {start}, {denied} of {asked} denied")?;
        }
        let note = "played in order of time";
        write_counted(out, &self.out_of_order, "out of order", note)?;
        write_counted(out, &self.malformed, "malformed", "not played")
    }

    fn write_totals(&self, out: &mut impl Write) -> io::Result<()> {
        let (lines, played) = (grouped(self.lines), grouped(self.played));
        writeln!(out, "{played} of {lines} lines of {} played", self.logs.join(", "))?;
        writeln!(out, "from {} to {}", self.from, self.to)?;
        let key = self.key.join(",");
        let cost = self.cost.as_deref().unwrap_or("1 each");
        writeln!(out, "policy {}, key {key}, cost {cost}\n", self.policy)?;
        let rows = [
            ("allowed", self.allowed, self.allowed_cost),
            ("denied", self.denied, self.denied_cost),
        ];
        for (name, requests, cost) in rows {
            let share = percent(requests, self.played);
            write!(out, "{name:<10}{:>15}  {share:>7}", grouped(requests))?;
            match self.cost {
                Some(_) => writeln!(out, "  cost {cost}")?,
                None => writeln!(out)?,
            }
        }
        if self.exceeds > 0 {
            let exceeds = grouped(self.exceeds);
            writeln!(out, "  of them {exceeds:>15}  for good: the cost exceeds the limit")?;
        }
        Ok(())
    }

    fn write_limits(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n{:>15}  by limit", "denied")?;
        for limit in &self.limits {
            let LimitReport { name, rule, denied } = limit;
            writeln!(out, "{:>15}  {name}: {rule}", grouped(*denied))?;
        }
        Ok(())
    }

    fn write_keys(&self, out: &mut impl Write) -> io::Result<()> {
        let (denied, keys) = (grouped(self.keys_denied), grouped(self.keys));
        writeln!(out, "\n{denied} of {keys} keys denied")?;
        if self.most_denied.is_empty() {
            return Ok(());
        }
        writeln!(out, "{:>15}{:>15}  key", "denied", "allowed")?;
        for key in &self.most_denied {
            let (denied, allowed) = (grouped(key.denied), grouped(key.allowed));
            writeln!(out, "{denied:>15}{allowed:>15}  {}", shown(&key.key))?;
        }
        Ok(())
    }
}

fn write_counted(
    out: &mut impl Write,
    counted: &Counted,
    name: &str,
    note: &str,
) -> io::Result<()> {
    if counted.lines == 0 {
        return Ok(());
    }
    let lines = match counted.lines {
        1 => "1 line".to_owned(),
        lines => format!("{} lines", grouped(lines)),
    };
    writeln!(out, "\n{name}: {lines}, {note}")?;
    for Example { at, reason } in &counted.first {
        writeln!(out, "  {at}: {reason}")?;
    }
    let more = counted.lines - counted.first.len() as u64;
    match more {
        0 => Ok(()),
        more => writeln!(out, "  and {} more", grouped(more)),
    }
}

/// A key on one line: characters that would move a terminal's cursor are written out.
fn shown(parts: &[String]) -> String {
    let joined = parts.join("  ");
    let mut text = String::new();
    for character in joined.chars().take(KEY_SHOWN) {
        match character.is_control() {
            true => text.extend(character.escape_default()),
            false => text.push(character),
        }
    }
    if joined.chars().nth(KEY_SHOWN).is_some() {
        text.push_str("...");
    }
    text
}

/// A number with a comma after each third digit: `4,525`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in hundredths of a percent; only all is 100.00%, and only none 0.00%.
fn percent(part: u64, whole: u64) -> String {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    let nearest = (part * 10_000 + whole / 2) / whole;
    let share = match part {
        0 => 0,
        part if part < whole => nearest.clamp(1, 9_999),
        _ => nearest,
    };
    format!("{}.{:02}%", share / 100, share % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_shares_never_round_to_all_or_none() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(percent(4_117, 4_525), "90.98%");
        assert_eq!(percent(99_999_999, 100_000_000), "99.99%");
        assert_eq!(percent(408, 4_525), "9.02%");
        assert_eq!(percent(1, 100_000_000), "0.01%");
        assert_eq!(percent(7, 7), "100.00%");
        assert_eq!(percent(0, 0), "0.00%");
    }

    #[test]
    fn keys_cannot_write_to_the_terminal() {
        assert_eq!(shown(&["\u{1b}[2Ja\n".to_owned(), "b".to_owned()]), "\\u{1b}[2Ja\\n  b");
        assert_eq!(shown(&["x".repeat(100)]).len(), KEY_SHOWN + 3);
    }
}
