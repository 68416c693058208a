//! Prints instructions of a platform, made at random but the same ones each time: `PLATFORM COUNT`, and COUNT of each opcode, and
//! as many for the sake of their compacted form, unless they have none. Of opcodes with three sources in Align1, words are made of fields
//! at random, too, so that none is left out because the encoder does not make it.
//!
//! A line has the encoding, as 32 hexadecimal digits, and the text. If the instruction can be compacted, a line with the 16 digits of
//! that comes after. An instruction of Align16 with one or two sources has no text. A word that cannot be decoded has a question mark as its
//! text. It fails if a text is parsed as another instruction, or a compacted instruction is expanded as another one.

mod branch;
mod compacted;
mod fields;
mod macros;
mod maker;
mod random;
mod systolic;
mod table;

use std::fmt::Arguments;
use std::process::ExitCode;

use intel_eu::{Destination, Form, Instruction, Opcode, Place, Platform, compact, encode, expand, text};

use maker::Maker;
use random::Random;

/// Instructions that are made for each one that is wanted: the platform may lack a type, for example.
const TRIES: usize = 50;

/// Words that are made for each instruction that is wanted: few of them can be decoded.
const WORDS: usize = 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match &arguments[..] {
        [platform, count] => Platform::from_name(platform).zip(count.parse::<usize>().ok()),
        _ => None,
    };
    let Some((platform, count)) = parsed else {
        eprintln!("usage: instructions PLATFORM COUNT");
        return ExitCode::from(2);
    };
    match print(platform, count) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{platform}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(platform: Platform, count: usize) -> Result<(), String> {
    let seed = u64::from(platform.graphics());
    let mut maker = Maker { platform, random: Random(seed) };
    let mut random = Random(!seed);
    for opcode in Opcode::of(platform).filter(|opcode| is_known(platform, *opcode)) {
        let wanted = if opcode.form(platform) == Form::Nothing { 1 } else { count };
        let made = rows(platform, wanted, || Some(maker.instruction(opcode)))?;
        if made < wanted {
            return Err(format!("{made} of {wanted} {opcode} can be encoded"));
        }
        rows(platform, wanted, || compacted::instruction(platform, &mut random, opcode))?;
        words(platform, wanted, || fields::word(platform, &mut random, opcode))?;
    }
    Ok(())
}

/// Prints words that are made, those that cannot be decoded, too.
fn words(
    platform: Platform,
    wanted: usize,
    mut make: impl FnMut() -> Option<fields::Word>,
) -> Result<(), String> {
    for _ in 0..wanted * WORDS {
        match make() {
            None => {}
            Some(fields::Word { word, instruction: None }) => println!("{word:032x} ?"),
            Some(fields::Word { instruction: Some(instruction), .. }) => {
                rows(platform, 1, || Some(instruction))?;
            }
        }
    }
    Ok(())
}

/// Prints instructions that are made; returns how many.
fn rows(
    platform: Platform,
    wanted: usize,
    mut make: impl FnMut() -> Option<Instruction>,
) -> Result<usize, String> {
    let mut made = 0;
    for _ in 0..wanted * TRIES {
        if made == wanted {
            break;
        }
        let Some(instruction) = make() else { continue };
        let Ok(word) = encode(platform, &instruction) else { continue };
        row(platform, format_args!("{word:032x}"), &instruction)?;
        if let Ok(short) = compact(platform, word) {
            let expanded = expand(platform, short);
            if expanded != Ok(word) {
                return Err(format!("{word:032x} is {short:016x}, and that is expanded as {expanded:x?}"));
            }
            row(platform, format_args!("{short:016x}"), &Instruction { compacted: true, ..instruction })?;
        }
        made += 1;
    }
    Ok(made)
}

fn row(platform: Platform, encoding: Arguments<'_>, instruction: &Instruction) -> Result<(), String> {
    let text = text::print(platform, instruction);
    let parsed = text::parse(platform, &text);
    if parsed != Ok(*instruction) {
        return Err(format!("{text}: {instruction:?} is parsed as {parsed:?}"));
    }
    // The assembler prints Align16 as Align1, without the channels.
    let is_macro = matches!(instruction.destination, Some(Destination { place: Place::Macro { .. }, .. }));
    let is_printed = !instruction.align16 || is_macro || instruction.opcode.form(platform) == Form::Three;
    println!("{encoding} {}", if is_printed { &text } else { "" });
    Ok(())
}

/// Returns whether the opcode is known to the assembler: before graphics 8 it prints half the immediate of `dim`, and wrong distances of two
/// branches.
fn is_known(platform: Platform, opcode: Opcode) -> bool {
    !matches!(opcode, Opcode::Dim | Opcode::Brd | Opcode::Brc) || platform.graphics() >= 80
}
