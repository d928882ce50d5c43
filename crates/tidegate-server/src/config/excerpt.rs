//! One line of a file with a place in it marked.

use std::fmt;
use std::ops::Range;

use super::mask;

/// The most characters of a line that are shown, and how many stand before the place marked when
/// the line is longer.
const WIDTH: usize = 120;
const BEFORE: usize = 60;

/// How far around the place a line is looked at, in bytes: it may be a whole file in one line.
const WINDOW: usize = 4_096;

/// A line, masked and cut so that it can be shown, and the characters in it to underline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    number: usize,
    text: String,
    start: usize,
    len: usize,
}

/// Where a byte of a text stands: line and column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Finds the position of a byte; the end of the text when it is beyond.
pub(super) fn position(text: &str, offset: usize) -> Position {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    Position {
        line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
        column: characters(&before[line_start..]) + 1,
    }
}

/// Characters in a part of a text; bytes that only continue a character are not counted.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

/// The byte range of the line that holds the byte at `start`, as far as it is looked at.
fn window(text: &str, start: usize) -> Range<usize> {
    let from = text.floor_char_boundary(start.saturating_sub(WINDOW));
    let to = text.floor_char_boundary(start.saturating_add(WINDOW));
    let (before, after) = (&text[from..start], &text[start..to]);
    let line_start = before.rfind('\n').map_or(from, |at| from + at + 1);
    let line_end = after.find('\n').map_or(to, |at| start + at);
    line_start..line_end
}

impl Excerpt {
    /// The line that holds the byte at `start`, with what lies before `end` underlined.
    pub(super) fn new(text: &str, start: usize, end: usize) -> Excerpt {
        let start = text.floor_char_boundary(start);
        let window = window(text, start);
        let shown = &text[window.clone()];
        let end = end.clamp(start, window.end.max(start));
        let before = characters(&text.as_bytes()[window.start..start]);
        let marked = text.as_bytes().get(start..end).map_or(0, characters);
        let masked = mask::line(text, window.start, shown, before, marked);
        let mut excerpt = Excerpt {
            number: position(text, start).line,
            text: masked.text.trim_end().replace(char::is_control, " "),
            start: masked.start,
            len: masked.len.max(1),
        };
        excerpt.cut();
        excerpt
    }

    /// Keeps only what surrounds the place marked when the line is long.
    fn cut(&mut self) {
        let total = self.text.chars().count();
        if total <= WIDTH {
            return;
        }
        let from = self.start.saturating_sub(BEFORE).min(total.saturating_sub(WIDTH));
        let kept: String = self.text.chars().skip(from).take(WIDTH).collect();
        let (head, tail) = (from > 0, from + WIDTH < total);
        let dots = |cut: bool| if cut { "..." } else { "" };
        self.start = self.start - from + dots(head).len();
        self.len = self.len.min(WIDTH);
        self.text = format!("{}{kept}{}", dots(head), dots(tail));
    }

    /// Characters that the line's number takes.
    pub(super) fn margin(&self) -> usize {
        self.number.to_string().len()
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let margin = self.margin();
        writeln!(f, "{} | {}", self.number, self.text)?;
        let (start, carets) = (self.start, "^".repeat(self.len));
        writeln!(f, "{:margin$} | {:start$}{carets}", "", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_underlined_in_its_line() {
        let excerpt = Excerpt::new("a: 1\nbé: two\n", 10, 13);
        assert_eq!(excerpt.to_string(), "2 | bé: two\n  |     ^^^\n");
        assert_eq!(position("a: 1\nbé: two\n", 10), Position { line: 2, column: 5 });
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}HERE{}", "x,".repeat(5_000), ",y".repeat(5_000));
        let shown = Excerpt::new(&text, 10_000, 10_004).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[1].find('^').expect("a caret");
        assert_eq!(&lines[0][caret..caret + 4], "HERE");
        assert!(lines[0].len() < 140);
    }

    #[test]
    fn a_place_beyond_the_end_is_the_end() {
        assert_eq!(Excerpt::new("", 5, 9).to_string(), "1 | \n  | ^\n");
        assert_eq!(position("a\n", 9), Position { line: 2, column: 1 });
    }
}
