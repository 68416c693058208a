//! Judges instructions: reads lines `PLATFORM DWORD DWORD DWORD DWORD` from standard input, in hexadecimal digits, and prints a line for
//! each: `valid`, `breaks` and the rules' names, or `unknown` and why the instruction cannot be decoded.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

use intel_eu::{Platform, decode, validate};

fn main() -> ExitCode {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let judged = line.map_err(|error| error.to_string()).and_then(|line| verdict(&line));
        let printed = judged.and_then(|text| writeln!(out, "{text}").map_err(|error| error.to_string()));
        if let Err(error) = printed {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    match out.flush() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Returns what is printed for a line.
fn verdict(line: &str) -> Result<String, String> {
    let (platform, word) = question(line).ok_or_else(|| format!("no platform and four dwords: {line}"))?;
    let instruction = match decode(platform, word) {
        Ok(instruction) => instruction,
        Err(error) => return Ok(format!("unknown {error}")),
    };
    let rules: BTreeSet<_> = validate(platform, &instruction).iter().map(|one| one.rule).collect();
    if rules.is_empty() {
        return Ok("valid".to_owned());
    }
    Ok(rules.iter().fold("breaks".to_owned(), |mut text, rule| {
        // Writing to a String does not fail.
        let _ = write!(text, " {}", rule.name());
        text
    }))
}

fn question(line: &str) -> Option<(Platform, u128)> {
    let mut words = line.split_whitespace();
    let platform = Platform::from_name(words.next()?)?;
    let dwords: Option<Vec<u32>> = words.map(|word| u32::from_str_radix(word, 16).ok()).collect();
    let dwords: [u32; 4] = dwords?.try_into().ok()?;
    Some((platform, dwords.iter().rev().fold(0, |word, dword| word << 32 | u128::from(*dword))))
}
