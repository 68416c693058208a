//! The words of a line, with their columns.

use std::str::FromStr;

use crate::script::error::{Error, Place};
use gem_coherency::Unknown;
use gem_coherency::policy::Rule;

/// Number of characters of a word that messages repeat.
const SHOWN: usize = 40;

/// A word, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) struct Word<'a> {
    pub(in crate::script) text: &'a str,
    /// The column of the first character, from 1 on.
    pub(in crate::script) column: usize,
}

impl<'a> Word<'a> {
    /// Splits the word at the first `separator`.
    pub(in crate::script) fn split_once(self, separator: &str) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(separator)?;
        let column = self.column + before.chars().count() + separator.chars().count();
        Some((Self { text: before, column: self.column }, Self { text: after, column }))
    }

    /// Returns the word as messages repeat it.
    pub(in crate::script) fn shown(self) -> String {
        let mut shown: String = self.text.chars().take(SHOWN).collect();
        if shown.len() < self.text.len() {
            shown.push('…');
        }
        shown
    }
}

/// One line, whose words are taken from left to right.
#[derive(Debug)]
pub(in crate::script) struct Line<'a> {
    number: usize,
    text: &'a str,
    words: Vec<Word<'a>>,
    taken: usize,
}

impl<'a> Line<'a> {
    /// Splits `text`, which is line `number`, into words, up to a `#`.
    pub(in crate::script) fn new(number: usize, text: &'a str) -> Self {
        let mut words = Vec::new();
        let mut start: Option<(usize, usize)> = None;
        let mut column = 0;
        let said = text.split('#').next().unwrap_or_default();
        for (at, c) in said.char_indices() {
            column += 1;
            match (c.is_whitespace(), start) {
                (true, Some((from, column))) => {
                    words.push(Word { text: &said[from..at], column });
                    start = None;
                }
                (false, None) => start = Some((at, column)),
                (true, None) | (false, Some(_)) => {}
            }
        }
        if let Some((from, column)) = start {
            words.push(Word { text: &said[from..], column });
        }
        Self { number, text, words, taken: 0 }
    }

    /// Returns the line's number.
    pub(in crate::script) fn number(&self) -> usize {
        self.number
    }

    /// Returns the line unchanged.
    pub(in crate::script) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the text from word `from` on, up to the last word.
    pub(in crate::script) fn text_from(&self, from: usize) -> String {
        let words: Vec<_> = self.words.iter().skip(from).map(|word| word.text).collect();
        words.join(" ")
    }

    /// Returns the number of words taken.
    pub(in crate::script) fn taken(&self) -> usize {
        self.taken
    }

    /// Returns the next word without taking it.
    pub(in crate::script) fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.taken).copied()
    }

    /// Takes the next word, if there is one.
    pub(in crate::script) fn take(&mut self) -> Option<Word<'a>> {
        let word = self.peek()?;
        self.taken += 1;
        Some(word)
    }

    /// Takes the next word; `what` names it in the error if it is missing.
    pub(in crate::script) fn require(&mut self, what: &str) -> Result<Word<'a>, Error> {
        match self.take() {
            Some(word) => Ok(word),
            None => Err(self.missing(what)),
        }
    }

    /// Takes the next word, if it is `word`.
    pub(in crate::script) fn take_if(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|next| next.text == word);
        self.taken += usize::from(found);
        found
    }

    /// Refuses further words.
    pub(in crate::script) fn end(&self) -> Result<(), Error> {
        match self.peek() {
            None => Ok(()),
            Some(word) => Err(self.wrong(word, format!("'{}' is one word too many", word.shown()))),
        }
    }

    /// Returns the place of `word`.
    pub(in crate::script) fn place(&self, word: Word<'_>) -> Place {
        Place { line: self.number, column: word.column, columns: word.text.chars().count().max(1) }
    }

    /// Creates the error that `word` is wrong.
    pub(in crate::script) fn wrong(&self, word: Word<'_>, why: impl Into<String>) -> Error {
        Error::new(self.place(word), self.text, why)
    }

    /// Creates the error that `what` is missing after the last word.
    pub(in crate::script) fn missing(&self, what: &str) -> Error {
        let end = self.words.last().map_or(1, |word| word.column + word.text.chars().count() + 1);
        Error::new(
            Place { line: self.number, column: end, columns: 1 },
            self.text,
            format!("{what} is missing"),
        )
    }

    /// Parses `word` as a name of the library: a mode, a level, an access.
    pub(in crate::script) fn known<T: FromStr<Err = Unknown>>(&self, word: Word<'_>) -> Result<T, Error> {
        word.shown().parse().map_err(|error: Unknown| self.wrong(word, error.to_string()))
    }

    /// Parses `word` as a rule's name; the error lists only similar names, because there are many.
    pub(in crate::script) fn rule(&self, word: Word<'_>) -> Result<Rule, Error> {
        let is_like = |rule: &&Rule| {
            let parts = || word.text.split('-').filter(|part| part.len() > 2);
            parts().any(|part| rule.name().split('-').any(|other| other == part))
        };
        if let Some(rule) = Rule::ALL.iter().find(|rule| rule.name() == word.text) {
            return Ok(*rule);
        }
        let like: Vec<_> = Rule::ALL.iter().filter(is_like).map(|rule| rule.name()).collect();
        let like = if like.is_empty() { String::new() } else { format!("like it: {}; ", like.join(", ")) };
        Err(self.wrong(word, format!("unknown rule '{}' ({like}`gemtool rules` lists them)", word.shown())))
    }

    /// Creates the error that `word` is not among `known`, which are `what`.
    pub(in crate::script) fn unknown<T: AsRef<str>>(&self, word: Word<'_>, what: &str, known: &[T]) -> Error {
        let known: Vec<_> = known.iter().map(AsRef::as_ref).collect();
        self.wrong(word, format!("unknown {what} '{}' (known: {})", word.shown(), known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters_and_comments_are_no_words() {
        let mut line = Line::new(1, "\tä  b=ü # c");
        assert_eq!(line.take(), Some(Word { text: "ä", column: 2 }));
        let word = line.take().unwrap();
        assert_eq!(word, Word { text: "b=ü", column: 5 });
        assert_eq!(word.split_once("=").unwrap().1, Word { text: "ü", column: 7 });
        assert_eq!(line.take(), None);
        assert_eq!(line.missing("x").place().column, 9);
    }
}
