//! Parses conditions on a device.

use super::super::error::Error;
use super::super::statement::{Condition, Fact, cap_word};
use super::super::values::words::{Line, Word};
use gem_coherency::platform::{self, Caps};

/// Parses the conditions up to the word that ends in a colon.
pub(super) fn until_colon(line: &mut Line<'_>) -> Result<Vec<Condition>, Error> {
    let mut found = Vec::new();
    loop {
        let word = line.require("a condition with a colon after it ('where software: ...')")?;
        let last = word.text.ends_with(':');
        let word = Word { text: word.text.trim_end_matches(':'), ..word };
        found.push(condition(line, word)?);
        if last {
            return Ok(found);
        }
    }
}

/// Parses the conditions up to the line's end.
pub(super) fn to_end(line: &mut Line<'_>) -> Result<Vec<Condition>, Error> {
    let first = line.require("a condition ('needs llc-bypass-mocs')")?;
    let mut found = vec![condition(line, first)?];
    while let Some(word) = line.take() {
        found.push(condition(line, word)?);
    }
    Ok(found)
}

/// Parses `[!]FACT`.
fn condition(line: &Line<'_>, word: Word<'_>) -> Result<Condition, Error> {
    match word.text.strip_prefix('!') {
        Some(text) => {
            let fact = fact(line, Word { text, column: word.column + 1 })?;
            Ok(Condition { negated: true, fact })
        }
        None => Ok(Condition { negated: false, fact: fact(line, word)? }),
    }
}

fn fact(line: &Line<'_>, word: Word<'_>) -> Result<Fact, Error> {
    if word.text == "software" {
        return Ok(Fact::Software);
    }
    if let Some((_, name)) = word.split_once("kernel>=") {
        return Ok(Fact::KernelFrom(line.known(name)?));
    }
    match word.split_once("=") {
        Some((key, name)) if key.text == "platform" => {
            let platform = platform::by_name(&name.shown());
            return platform.map(Fact::Platform).map_err(|error| line.wrong(name, error.to_string()));
        }
        Some((key, mode)) if key.text == "map" => return Ok(Fact::Map(line.known(mode)?)),
        Some((key, driver)) if key.text == "driver" => return Ok(Fact::Driver(line.known(driver)?)),
        Some(_) | None => {}
    }
    let cap = Caps::all().iter_names().find(|(name, _)| cap_word(name) == word.text);
    match cap {
        Some((_, cap)) => Ok(Fact::Cap(cap)),
        None => {
            let mut known: Vec<_> =
                ["software", "driver=DRIVER", "platform=NAME", "kernel>=VERSION", "map=MODE"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain(Caps::all().iter_names().map(|(name, _)| cap_word(name)))
                    .collect();
            known.push("each negated by '!' before it".to_owned());
            Err(line.unknown(word, "condition", &known))
        }
    }
}
