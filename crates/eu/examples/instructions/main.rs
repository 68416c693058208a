//! Prints instructions of a platform, made at random but the same ones each time: `PLATFORM COUNT`, and COUNT of each opcode.
//!
//! A line has the encoding, as 32 hexadecimal digits, and the text. It fails if the text is parsed as another instruction.

mod maker;
mod random;
mod table;

use std::process::ExitCode;

use intel_eu::{Form, Opcode, Platform, encode, text};

use maker::Maker;
use random::Random;

/// Instructions that are made for each one that is wanted: the platform may lack a type, for example.
const TRIES: usize = 50;

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
    let mut maker = Maker { platform, random: Random(u64::from(platform.graphics())) };
    for opcode in Opcode::of(platform).filter(|opcode| is_known(platform, *opcode)) {
        let wanted = if opcode.form(platform) == Form::Nothing { 1 } else { count };
        let mut made = 0;
        for _ in 0..wanted * TRIES {
            let instruction = maker.instruction(opcode);
            if made == wanted {
                break;
            }
            if let Ok(word) = encode(platform, &instruction) {
                let text = text::print(platform, &instruction);
                let parsed = text::parse(platform, &text);
                if parsed != Ok(instruction) {
                    eprintln!("{platform}: {text}: {instruction:?} is parsed as {parsed:?}");
                    return ExitCode::FAILURE;
                }
                println!("{word:032x} {text}");
                made += 1;
            }
        }
        if made < wanted {
            eprintln!("{platform}: {made} of {wanted} {opcode} can be encoded");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Returns whether the assembler knows the opcode as it is known here: it has other names for the registers of `madm`, and prints
/// wrong distances of two branches before graphics 8.
fn is_known(platform: Platform, opcode: Opcode) -> bool {
    let is_wrong = matches!(opcode, Opcode::Brd | Opcode::Brc) && platform.graphics() < 80;
    opcode != Opcode::Madm && !is_wrong
}
