//! `gemtool eu`: instructions of execution units, read, printed and validated.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use intel_eu::{Instruction, Platform, decode, encode, text, validate};
use serde::Serialize;

use crate::args;
use crate::args::EuAction;
use crate::failure::Failure;

/// Bytes of an instruction.
const BYTES: usize = 16;

/// Instructions, and what was asked about them.
#[derive(Clone, Debug, Serialize)]
pub struct EuReport {
    /// The platform.
    pub platform: &'static str,
    /// The instructions, in their order.
    pub instructions: Vec<Line>,
    /// What the text form shows.
    #[serde(skip)]
    pub action: EuAction,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its first byte in the kernel.
    pub at: usize,
    /// Its text.
    pub text: String,
    /// Its four dwords, in hexadecimal digits.
    pub dwords: [String; 4],
    /// The rules that it breaks.
    pub violations: Vec<Broken>,
}

/// A rule that an instruction breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The rule's name.
    pub rule: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The manual's section, and Mesa's function.
    pub source: &'static str,
    /// The operand.
    pub operand: String,
    /// The values that break it.
    pub found: String,
}

impl EuReport {
    /// Returns the number of broken rules, each time counted.
    pub fn broken(&self) -> usize {
        self.instructions.iter().map(|line| line.violations.len()).sum()
    }

    /// Returns whether the action was to validate, and a rule is broken.
    pub fn is_violated(&self) -> bool {
        self.action == EuAction::Validate && self.broken() > 0
    }
}

/// Reads the instructions of the file, and reports about them.
///
/// # Errors
/// The file cannot be read or has no instructions, one of them is not known, or the output cannot be written.
pub fn run(args: &args::Eu) -> Result<EuReport, Failure> {
    let platform = args.platform;
    let words = words(&args.file, platform)?;
    if words.is_empty() {
        return Err(failure(&args.file, "it has no instruction"));
    }
    let mut instructions = Vec::with_capacity(words.len());
    for (number, word) in words.iter().enumerate() {
        let at = number * BYTES;
        let wrong = |error| failure(&args.file, format_args!("instruction at {at:#x}: {error}"));
        let instruction = decode(platform, *word).map_err(wrong)?;
        instructions.push(line(platform, at, *word, &instruction));
    }
    if let Some(output) = &args.output {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        fs::write(output, bytes).map_err(|error| failure(output, error))?;
    }
    Ok(EuReport { platform: platform.name(), instructions, action: args.action })
}

fn line(platform: Platform, at: usize, word: u128, instruction: &Instruction) -> Line {
    let violations = validate(platform, instruction).into_iter().map(|violation| Broken {
        rule: violation.rule.name(),
        text: violation.rule.text(),
        source: violation.rule.source(),
        operand: violation.operand.to_string(),
        found: violation.found,
    });
    Line {
        at,
        text: text::print(platform, instruction),
        dwords: [0, 32, 64, 96].map(|shift| format!("{:08x}", (word >> shift) as u32)),
        violations: violations.collect(),
    }
}

fn failure(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Environment(format!("{}: {error}", path.display()))
}

/// Returns the words of the instructions in a file.
fn words(path: &Path, platform: Platform) -> Result<Vec<u128>, Failure> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().read_to_end(&mut bytes).map_err(|error| failure(path, error))?;
    } else {
        bytes = fs::read(path).map_err(|error| failure(path, error))?;
    }
    let is_text = |text: &&str| !text.chars().any(|char| char.is_control() && !char.is_whitespace());
    match std::str::from_utf8(&bytes).ok().filter(is_text) {
        None => {}
        Some(text) => match hexadecimal(text) {
            Some(dwords) => bytes = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect(),
            None => return assembled(path, platform, text),
        },
    }
    if bytes.len() % BYTES != 0 {
        let len = bytes.len();
        return Err(failure(
            path,
            format_args!("{len} bytes are no multiple of an instruction's {BYTES} bytes"),
        ));
    }
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte));
    Ok(bytes.chunks_exact(BYTES).map(word).collect())
}

/// Returns the dwords of a text of hexadecimal numbers of eight digits; `None` if it is another one.
fn hexadecimal(text: &str) -> Option<Vec<u32>> {
    let words = text.split(|char: char| char.is_whitespace() || char == ',').filter(|word| !word.is_empty());
    let digits = words.map(|word| word.strip_prefix("0x").unwrap_or(word));
    digits.map(|word| u32::from_str_radix(word, 16).ok().filter(|_| word.len() == 8)).collect()
}

/// Returns the words of a program in the assembler's syntax.
fn assembled(path: &Path, platform: Platform, text: &str) -> Result<Vec<u128>, Failure> {
    let program = text::parse_program(platform, text).map_err(|error| failure(path, error))?;
    let encoded = program.iter().enumerate().map(|(number, instruction)| {
        let at = number * BYTES;
        let wrong = |error| failure(path, format_args!("instruction at {at:#x}: {error}"));
        encode(platform, instruction).map_err(wrong)
    });
    encoded.collect()
}
