//! Parses lines into steps and their names.

mod claim;
mod condition;
mod dispatch;
mod statement;
mod values;
mod vocabulary;

use std::collections::HashMap;
use std::fmt;

use gem_coherency::Errno;

use super::Script;
use super::error::{Error, Place};
use super::statement::{Action, Attempt, Name, Step};
use super::values::words::{Line, Word};
use crate::numbers;
use vocabulary::Role;
pub use vocabulary::{Subject, Verb};

/// Largest size of a script in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// Largest number of letters of a name.
const NAME_LETTERS: usize = 40;

/// The kind of object that a name belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bo,
    DmaBuf,
    File,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bo => "BO",
            Self::DmaBuf => "dma-buf",
            Self::File => "device file",
        })
    }
}

/// The names given so far.
#[derive(Debug, Default)]
struct Names {
    known: HashMap<String, (Name, Kind, usize)>,
    letters: Vec<String>,
}

impl Names {
    /// Returns the name of an object of one of these kinds.
    fn find(&self, line: &Line<'_>, word: Word<'_>, expected: &[Kind]) -> Result<Name, Error> {
        match self.known.get(word.text) {
            Some(&(name, kind, _)) if expected.contains(&kind) => Ok(name),
            Some((_, kind, given)) => {
                let expected = expected.iter().map(Kind::to_string).collect::<Vec<_>>().join(" or a ");
                Err(line
                    .wrong(word, format!("'{}' is a {kind} (line {given}), not a {expected}", word.shown())))
            }
            None => {
                let mut known: Vec<&str> = self
                    .known
                    .iter()
                    .filter(|(_, (_, kind, _))| expected.contains(kind))
                    .map(|(name, _)| name.as_str())
                    .collect();
                known.sort_unstable();
                known.truncate(8);
                let known = match known.as_slice() {
                    [] if expected == [Kind::File] => {
                        "no device file has a name: 'f = open' opens one".to_owned()
                    }
                    [] => "no name is defined yet: 'a = alloc 64KiB' defines one".to_owned(),
                    known => format!("known: {}", known.join(", ")),
                };
                Err(line.wrong(word, format!("unknown name '{}' ({known})", word.shown())))
            }
        }
    }

    /// Takes the next word as the name of a BO.
    fn bo(&self, line: &mut Line<'_>) -> Result<Name, Error> {
        let word = line.require("the name of a BO")?;
        self.find(line, word, &[Kind::Bo])
    }

    /// Takes the next word as the name of a dma-buf.
    fn dma_buf(&self, line: &mut Line<'_>) -> Result<Name, Error> {
        let word = line.require("the name of a dma-buf")?;
        self.find(line, word, &[Kind::DmaBuf])
    }

    /// Checks that `word` is a valid name that is not in use.
    fn check(&self, line: &Line<'_>, word: Word<'_>) -> Result<(), Error> {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let begins = word.text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
        if !begins || !word.text.chars().all(letter) || word.text.len() > NAME_LETTERS {
            let why = format!(
                "'{}' is not a name: a letter, then letters, digits, '-' and '_', at most {NAME_LETTERS}",
                word.shown()
            );
            return Err(line.wrong(word, why));
        }
        if word.text.parse::<Verb>().is_ok() {
            return Err(line.wrong(word, format!("'{}' is a statement, not a name", word.shown())));
        }
        match self.known.get(word.text) {
            None => Ok(()),
            Some((_, kind, given)) => {
                let why = format!("'{}' already names a {kind} (line {given})", word.shown());
                Err(line.wrong(word, why))
            }
        }
    }

    /// Gives the name `word` to a new object.
    fn define(&mut self, line: &Line<'_>, word: Word<'_>, kind: Kind) -> Name {
        let name = Name(self.letters.len());
        self.letters.push(word.text.to_owned());
        self.known.insert(word.text.to_owned(), (name, kind, line.number()));
        name
    }
}

/// Parses a script; skips a byte order mark at its start.
///
/// # Errors
/// The first error in the text, with its line and column.
pub fn parse(text: &str) -> Result<Script, Error> {
    if text.len() > MAX_BYTES {
        let why = format!("a script has at most {} MiB; this one has {} bytes", MAX_BYTES >> 20, text.len());
        return Err(Error::new(Place { line: 1, column: 1, columns: 1 }, "", why));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut names = Names::default();
    let mut steps = 0;
    for mut line in lines(text) {
        step(&mut line, &mut names)?;
        steps += 1;
    }
    Ok(Script { text: text.to_owned(), steps, names: names.letters, ..Script::default() })
}

/// Returns the lines of `text` that are not empty.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let lines = (1..).zip(text.lines()).map(|(number, text)| Line::new(number, text));
    lines.filter(|line| line.peek().is_some())
}

/// Returns the steps of a valid script, in order.
///
/// Each step is parsed when it is needed, so that a script needs no more memory than its text.
pub(super) fn steps(text: &str) -> impl Iterator<Item = Step<'_>> {
    let mut names = Names::default();
    // Every line was parsed before without an error.
    lines(text).map_while(move |mut line| step(&mut line, &mut names).ok())
}

/// Parses bytes that may not be UTF-8.
///
/// # Errors
/// The errors of [`parse`], and the first invalid UTF-8 sequence.
pub fn parse_bytes(bytes: &[u8]) -> Result<Script, Error> {
    let wrong = match std::str::from_utf8(bytes) {
        Ok(text) => return parse(text),
        Err(error) => error.valid_up_to(),
    };
    let (before, after) = bytes.split_at(wrong);
    let begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let end = after.iter().position(|&byte| byte == b'\n').unwrap_or(after.len());
    let column = 1 + String::from_utf8_lossy(&before[begin..]).chars().count();
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let text = String::from_utf8_lossy(&bytes[begin..wrong + end]);
    let byte = after.first().copied().unwrap_or_default();
    let why = format!("byte 0x{byte:02x} is not UTF-8");
    Err(Error::new(Place { line, column, columns: 1 }, &text, why))
}

/// Parses a line that is not empty.
fn step<'a>(line: &mut Line<'a>, names: &mut Names) -> Result<Step<'a>, Error> {
    let conditions =
        if line.take_if(Verb::Where.name()) { condition::until_colon(line)? } else { Vec::new() };
    let first = line.taken();
    let word = line.require("a statement")?;
    let place = line.place(word);
    let assigns = line.peek().is_some_and(|next| next.text == "=");
    let action = if assigns {
        names.check(line, word)?;
        if !conditions.is_empty() {
            let why =
                "'where' cannot skip a statement that defines a name: begin the script with 'needs' instead";
            return Err(line.wrong(word, why));
        }
        line.take();
        let (making, kind) = statement::making(line, names)?;
        Action::Make(names.define(line, word, kind), making)
    } else {
        action(line, names, word)?
    };
    line.end()?;
    Ok(Step { place, text: line.text_from(first), line: line.text(), conditions, action })
}

/// Parses the action of a line without a new name.
fn action(line: &mut Line<'_>, names: &Names, word: Word<'_>) -> Result<Action, Error> {
    let verb = verb(line, word)?;
    match verb.role() {
        Role::Needs => Ok(Action::Needs(condition::to_end(line)?)),
        Role::Guards => Err(line.wrong(word, "one 'where' is enough: it takes several conditions")),
        Role::Expects if line.take_if("error") => expect_error(line, names),
        Role::Expects => {
            let negated = line.take_if("not");
            Ok(Action::Expect { negated, claim: claim::claim(line, names)? })
        }
        Role::Makes => {
            let said = line.text_from(line.taken() - 1);
            Err(line.wrong(word, format!("the result of '{verb}' needs a name: 'NAME = {said}'")))
        }
        Role::Does => Ok(Action::Do(statement::statement(line, names, word, verb)?)),
    }
}

/// Parses `ERRNO: STATEMENT`.
fn expect_error(line: &mut Line<'_>, names: &Names) -> Result<Action, Error> {
    let word = line.require("an errno and a colon ('EINVAL:')")?;
    let Some((name, _)) = word.split_once(":").filter(|(_, rest)| rest.text.is_empty()) else {
        let why =
            format!("'{}' is not an errno with a colon and a blank after it ('EINVAL: ...')", word.shown());
        return Err(line.wrong(word, why));
    };
    let errno = Errno::by_name(name.text).ok_or_else(|| {
        line.wrong(name, format!("unknown errno '{}' (known: EINVAL, ENODEV, ...)", name.shown()))
    })?;
    let first = line.require("a statement")?;
    let verb = verb(line, first)?;
    let attempt = match verb.role() {
        Role::Makes => Attempt::Make(statement::made_by(line, names, first)?.0),
        Role::Does => Attempt::Do(statement::statement(line, names, first, verb)?),
        Role::Expects | Role::Guards | Role::Needs => {
            let why =
                format!("'{verb}' cannot be refused: only a statement that does or makes something can");
            return Err(line.wrong(first, why));
        }
    };
    Ok(Action::ExpectError { errno, attempt })
}

/// Parses `word` as a verb.
fn verb(line: &Line<'_>, word: Word<'_>) -> Result<Verb, Error> {
    if word.text.contains('=') {
        let why = format!("'{}': blanks are needed around '=' ('a = alloc 64KiB')", word.shown());
        return Err(line.wrong(word, why));
    }
    line.known(word)
}

/// Parses a number.
fn number(line: &Line<'_>, word: Word<'_>) -> Result<u64, Error> {
    numbers::number(word.text).map_err(|why| line.wrong(word, format!("'{}': {why}", word.shown())))
}

#[cfg(test)]
mod tests;
