//! Values of statements as text: numbers of lines, patterns, words.

pub(super) mod bytes;
pub(super) mod count;
pub(super) mod pattern;
pub(super) mod words;
