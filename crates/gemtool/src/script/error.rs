//! Errors in a script, with their place.

use std::fmt;

use serde::Serialize;

/// Columns of a source line that an excerpt shows.
const EXCERPT_COLUMNS: usize = 72;

/// The place of a word in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The line; the first is 1.
    pub line: usize,
    /// The character in the line; the first is 1.
    pub column: usize,
    /// Number of characters.
    pub columns: usize,
}

/// An error in a script, with the line and the word at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    place: Place,
    why: String,
    excerpt: String,
}

impl Error {
    /// Creates an error about the word at `place` of `line`.
    pub(super) fn new(place: Place, line: &str, why: impl Into<String>) -> Self {
        Self { place, why: printable(&why.into()), excerpt: excerpt(place, line) }
    }

    /// Returns the place.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Returns the cause, and the correct form.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Returns the line, shortened if it is long, with marks under the word.
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column, .. } = self.place;
        write!(f, "line {line}, column {column}: {}\n{}", self.why, self.excerpt)
    }
}

impl std::error::Error for Error {}

/// Replaces the characters of `text` that a terminal would interpret; the number of characters is unchanged.
pub(super) fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Returns the part of `line` around `place`, and a line of marks under it.
fn excerpt(place: Place, line: &str) -> String {
    let at = place.column.saturating_sub(1);
    // A word far to the right is shown with the text before it.
    let from = if at < EXCERPT_COLUMNS { 0 } else { at - EXCERPT_COLUMNS / 2 };
    let shown: String = line.chars().skip(from).take(EXCERPT_COLUMNS).collect();
    let room = EXCERPT_COLUMNS.saturating_sub(at - from).max(1);
    let marks = "^".repeat(place.columns.clamp(1, room));
    format!("  {}\n  {:2$}{marks}", printable(shown.trim_end()), "", at - from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_marked_where_it_stands() {
        let place = Place { line: 3, column: 5, columns: 2 };
        let error = Error::new(place, "map\ta\u{1b} xy", "no");
        assert_eq!(
            error.to_string(),
            "line 3, column 5: no\n  map a\u{fffd} xy\n      ^^",
            "a tab is one column, and an escape is not sent to the terminal"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_word() {
        let line = format!("{}HERE{}", "x".repeat(100_000), "y".repeat(100_000));
        let error = Error::new(Place { line: 1, column: 100_001, columns: 100_004 }, &line, "no");
        let lines: Vec<_> = error.excerpt().lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= EXCERPT_COLUMNS + 2), "{lines:?}");
        let marked = lines[1].find('^').unwrap();
        assert!(lines[0][marked..].starts_with("HERE"), "{lines:?}");
    }
}
