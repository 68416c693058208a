//! `gemtool eu`: instructions of execution units, read, printed and validated.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use intel_eu::{Encoding, Platform, encodings, text, validate};
use serde::Serialize;

use crate::args;
use crate::args::EuAction;
use crate::failure::Failure;

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
    /// Its first byte in the shader.
    pub at: usize,
    /// Its text.
    pub text: String,
    /// Its four dwords, or two of a compacted instruction, in hexadecimal digits.
    pub dwords: Vec<String>,
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

/// The instructions of a file, which are known and at least one.
#[derive(Clone, Debug)]
pub struct Program {
    /// Their bytes.
    pub bytes: Vec<u8>,
    /// The instructions.
    pub instructions: Vec<Line>,
}

impl Program {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read or has no instructions, or one of them is not known.
    pub fn read(path: &Path, platform: Platform) -> Result<Self, Failure> {
        let bytes = shader(path, platform)?;
        if bytes.is_empty() {
            return Err(failure(path, "it has no instruction"));
        }
        Self::decode(path, platform, bytes)
    }

    /// Decodes instructions; `path` is the file that they come from.
    ///
    /// # Errors
    /// One of them is not known.
    pub fn decode(path: &Path, platform: Platform, bytes: Vec<u8>) -> Result<Self, Failure> {
        let instructions = encodings(&bytes).map(|(at, encoding)| {
            encoding.and_then(|encoding| line(platform, at, encoding)).map_err(|error| wrong(path, at, error))
        });
        let instructions = instructions.collect::<Result<_, _>>()?;
        Ok(Self { bytes, instructions })
    }

    /// Reports about the instructions.
    pub fn report(self, platform: Platform, action: EuAction) -> EuReport {
        EuReport { platform: platform.name(), instructions: self.instructions, action }
    }
}

/// Reads the instructions of the file, and reports about them.
///
/// # Errors
/// As [`Program::read`]; the output cannot be written.
pub fn run(args: &args::Eu) -> Result<EuReport, Failure> {
    let program = Program::read(&args.file, args.platform)?;
    if let Some(output) = &args.output {
        fs::write(output, &program.bytes).map_err(|error| failure(output, error))?;
    }
    Ok(program.report(args.platform, args.action))
}

fn line(platform: Platform, at: usize, encoding: Encoding) -> Result<Line, intel_eu::Error> {
    let instruction = encoding.decode(platform)?;
    let violations = validate(platform, &instruction).into_iter().map(|violation| Broken {
        rule: violation.rule.name(),
        text: violation.rule.text(),
        source: violation.rule.source(),
        operand: violation.operand.to_string(),
        found: violation.found,
    });
    let bytes = encoding.to_bytes();
    let dwords = bytes.chunks(4).map(|bytes| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect());
    Ok(Line {
        at,
        text: text::print(platform, &instruction),
        dwords: dwords.collect(),
        violations: violations.collect(),
    })
}

/// Returns the failure of an instruction.
fn wrong(path: &Path, at: usize, error: intel_eu::Error) -> Failure {
    failure(path, format_args!("instruction at {at:#x}: {error}"))
}

/// Returns the failure of an error in a file.
pub fn failure(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Environment(format!("{}: {error}", path.display()))
}

/// Returns the bytes of the shader in a file.
fn shader(path: &Path, platform: Platform) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().read_to_end(&mut bytes).map_err(|error| failure(path, error))?;
    } else {
        bytes = fs::read(path).map_err(|error| failure(path, error))?;
    }
    let is_text = |text: &&str| !text.chars().any(|char| char.is_control() && !char.is_whitespace());
    match std::str::from_utf8(&bytes).ok().filter(is_text) {
        None => Ok(bytes),
        Some(text) => match hexadecimal(text) {
            Some(dwords) => Ok(dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()),
            None => assembled(path, platform, text),
        },
    }
}

/// Returns the dwords of a text of hexadecimal numbers of eight digits; `None` if it is another one.
fn hexadecimal(text: &str) -> Option<Vec<u32>> {
    let words = text.split(|char: char| char.is_whitespace() || char == ',').filter(|word| !word.is_empty());
    let digits = words.map(|word| word.strip_prefix("0x").unwrap_or(word));
    digits.map(|word| u32::from_str_radix(word, 16).ok().filter(|_| word.len() == 8)).collect()
}

/// Returns the bytes of a program in the assembler's syntax.
fn assembled(path: &Path, platform: Platform, text: &str) -> Result<Vec<u8>, Failure> {
    let mut shader = Vec::new();
    for instruction in text::parse_program(platform, text).map_err(|error| failure(path, error))? {
        let encoding = Encoding::of(platform, &instruction);
        shader.extend(encoding.map_err(|error| wrong(path, shader.len(), error))?.to_bytes());
    }
    Ok(shader)
}
