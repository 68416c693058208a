//! Parses values: ranges, patterns, numbers to compare with, options.

use super::super::Pattern;
use super::super::error::Error;
use super::super::statement::Range;
use super::super::values::count::{Compare, Count};
use super::super::values::words::{Line, Word};
use super::number;
use crate::numbers;

/// Takes the next word as a range: `all`, `OFFSET..END`, `OFFSET+LENGTH`.
pub(super) fn range(line: &mut Line<'_>) -> Result<Range, Error> {
    let word = line.require("a range ('0..4096', '100+28', 'all')")?;
    if word.text == "all" {
        return Ok(Range::All);
    }
    if let Some((from, to)) = word.split_once("..") {
        let (offset, end) = (bytes(line, from)?, bytes(line, to)?);
        return match end.checked_sub(offset) {
            Some(len) => Ok(Range::Bytes { offset, len }),
            None => Err(line.wrong(to, format!("the range ends at {end}, before it begins at {offset}"))),
        };
    }
    if let Some((from, len)) = word.split_once("+") {
        let (offset, count) = (bytes(line, from)?, bytes(line, len)?);
        return match offset.checked_add(count) {
            Some(_) => Ok(Range::Bytes { offset, len: count }),
            None => Err(line.wrong(len, "the range ends beyond 2^64 - 1 bytes")),
        };
    }
    let why = format!("'{}' is not a range: OFFSET..END, OFFSET+LENGTH, or all", word.shown());
    Err(line.wrong(word, why))
}

/// Parses `word` as a number of bytes.
pub(super) fn bytes(line: &Line<'_>, word: Word<'_>) -> Result<u64, Error> {
    numbers::size(word.text).map_err(|why| line.wrong(word, format!("'{}': {why}", word.shown())))
}

/// Parses `word` as a pattern.
pub(super) fn pattern(line: &Line<'_>, word: Word<'_>) -> Result<Pattern, Error> {
    word.text.parse().map_err(|why| line.wrong(word, format!("'{}': {why}", word.shown())))
}

/// Takes two words as a comparison: `== 3`, `>= 1`, `<= 64`.
pub(super) fn count(line: &mut Line<'_>) -> Result<Count, Error> {
    let word = line.require("a comparison ('== 64', '>= 1', '<= 2')")?;
    let compare = match word.text {
        "==" => Compare::Equal,
        ">=" => Compare::AtLeast,
        "<=" => Compare::AtMost,
        _ => return Err(line.unknown(word, "comparison", &["==", ">=", "<="])),
    };
    let word = line.require("a number")?;
    Ok(Count { compare, number: number(line, word)? })
}

/// Takes the options that follow, each at most once: `KEY=VALUE`, or `KEY` alone with an empty value.
///
/// `known` lists them for messages; `take` gets the key, and the value with its place.
pub(super) fn options<'a>(
    line: &mut Line<'a>,
    known: &[&str],
    mut take: impl FnMut(&Line<'a>, &str, Word<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut seen: Vec<&str> = Vec::new();
    while let Some(word) = line.take() {
        let end = Word { text: "", column: word.column + word.text.chars().count() };
        let (key, value) = word.split_once("=").unwrap_or((word, end));
        let is_match = |form: &&&str| match (form.split_once('='), word.text.contains('=')) {
            (Some((name, _)), true) => name == key.text,
            (None, false) => **form == key.text,
            (Some(_), false) | (None, true) => false,
        };
        if !known.iter().any(|form| is_match(&form)) {
            return Err(match known {
                [] => line.wrong(word, format!("'{}' is one word too many", word.shown())),
                known => line.unknown(word, "option", known),
            });
        }
        if seen.contains(&key.text) {
            return Err(line.wrong(word, format!("'{}' is given twice", key.text)));
        }
        seen.push(key.text);
        take(line, key.text, value)?;
    }
    Ok(())
}
