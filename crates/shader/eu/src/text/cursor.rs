//! A line that is read from left to right.

use std::fmt;

/// A text that is no instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line, from 1 on.
    pub line: usize,
    /// The column, from 1 on, in bytes.
    pub column: usize,
    /// The word there; empty at the end of the line.
    pub word: String,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, word, what } = self;
        if word.is_empty() {
            write!(f, "line {line}, column {column}: the end of the line {what}")
        } else {
            write!(f, "line {line}, column {column}: '{word}' {what}")
        }
    }
}

impl std::error::Error for SyntaxError {}

/// A line, and the place in it that was reached.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'t> {
    line: usize,
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// Returns the begin of a line, without the comment after it.
    pub(super) fn new(line: usize, text: &'t str) -> Self {
        let text = text.split("//").next().unwrap_or(text);
        Self { line, text, at: 0 }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Returns the next character that is no space.
    pub(super) fn peek(&mut self) -> Option<char> {
        self.skip_spaces();
        self.rest().chars().next()
    }

    /// Skips a text, if it is the next one.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        self.skip_spaces();
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// Skips a text.
    pub(super) fn expect(&mut self, text: &str, what: &'static str) -> Result<(), SyntaxError> {
        if self.eat(text) { Ok(()) } else { Err(self.error(what)) }
    }

    /// Takes the characters of a kind.
    pub(super) fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        self.skip_spaces();
        let rest = self.rest();
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Takes letters, digits and underscores.
    pub(super) fn word(&mut self) -> &'t str {
        self.take(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Takes a word that `meaning` knows.
    pub(super) fn known<T>(
        &mut self,
        what: &'static str,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Result<T, SyntaxError> {
        self.skip_spaces();
        let start = *self;
        meaning(self.word()).ok_or_else(|| start.error(what))
    }

    /// Takes a whole number, decimal or hexadecimal, that is one of `T`.
    pub(super) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, SyntaxError> {
        self.skip_spaces();
        let start = *self;
        let sign = if self.eat("-") { -1 } else { 1 };
        let digits = self.word();
        let magnitude = match digits.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => digits.parse::<i64>(),
        };
        let number = magnitude.ok().and_then(|number| T::try_from(sign * number).ok());
        number.ok_or_else(|| start.error("is no number, or none that fits"))
    }

    /// Fails unless nothing is left.
    pub(super) fn end(&mut self) -> Result<(), SyntaxError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.error("is more than the instruction has")) }
    }

    /// Returns an error about the next word.
    pub(super) fn error(mut self, what: &'static str) -> SyntaxError {
        self.skip_spaces();
        let start = self;
        let sign = if self.eat("-") { "-" } else { "" };
        let mut word = format!("{sign}{}", self.word());
        if word.is_empty() {
            word = start.rest().chars().take(1).collect();
        }
        SyntaxError { line: self.line, column: start.at + 1, word, what }
    }
}
