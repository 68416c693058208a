//! Names of registers and functions, as assembly has them.

use crate::{File, Opcode, Platform, Type};

/// Architecture registers: the first number, the name, whether the name has a number after it, and whether subregisters are bytes,
/// whatever the type is.
static ARCHITECTURE: [(u8, &str, bool, bool); 17] = [
    (0x00, "null", false, false),
    (0x10, "a", true, false),
    (0x20, "acc", true, false),
    (FIRST_OF_MACROS, "mme", true, false),
    (0x30, "f", true, false),
    (0x40, "ce", false, true),
    (0x50, "msg", true, true),
    (0x60, "sp", false, false),
    (0x70, "sr", true, false),
    (0x80, "cr", true, false),
    (0x90, "n", true, false),
    (0xa0, "ip", false, true),
    (0xb0, "tdr", true, false),
    (0xc0, "tm", true, false),
    (0xd0, "fc", true, true),
    (0xe0, "reserved", true, false),
    (0xf0, "dbg", true, false),
];

/// The first accumulator of macro operations, before graphics 12 and from there on.
const FIRST_OF_MACROS: u8 = 0x22;
const FIRST_OF_MACROS_12: u8 = 0x28;

/// Returns the row of an architecture register, and the number after its name.
fn architecture_row(platform: Platform, number: u8) -> (u8, &'static (u8, &'static str, bool, bool)) {
    let first = |row: &(u8, &str, bool, bool)| match (row.0, platform.graphics()) {
        (FIRST_OF_MACROS, 120..) => FIRST_OF_MACROS_12,
        (first, _) => first,
    };
    let row = ARCHITECTURE.iter().rev().find(|row| first(row) <= number).unwrap_or(&ARCHITECTURE[0]);
    (number - first(row), row)
}

/// Returns the name of an architecture register.
pub(super) fn architecture(platform: Platform, number: u8) -> String {
    match architecture_row(platform, number) {
        (after, (_, name, true, _)) => format!("{name}{after}"),
        (_, (_, name, false, _)) => (*name).to_owned(),
    }
}

/// Returns the number of an architecture register. Of accumulators, those after the last one are those of macro operations.
pub(super) fn architecture_number(platform: Platform, word: &str) -> Option<u8> {
    let accumulator = word.strip_prefix("acc").and_then(|digits| digits.parse::<u8>().ok());
    if let Some(number) = accumulator.filter(|number| *number < 16) {
        return Some(0x20 + number);
    }
    (0..=u8::MAX).find(|number| match architecture_row(platform, *number) {
        (after, (_, name, true, _)) => {
            word.strip_prefix(name).is_some_and(|digits| digits.parse::<u8>() == Ok(after))
        }
        (_, (_, name, false, _)) => word == *name,
    })
}

/// Returns the bytes that subregisters of a register are counted in, if an operand has elements of a type. Native floats are counted as
/// floats.
pub(super) fn unit(platform: Platform, file: File, number: u8, kind: Type) -> u8 {
    match (file, kind) {
        (File::Architecture, _) if architecture_row(platform, number).1.3 => 1,
        (_, Type::Nf) => Type::F.bytes(),
        (_, kind) => kind.bytes(),
    }
}

/// Functions of `math`, by code.
static MATH: [&str; 16] = [
    "", "inv", "log", "exp", "sqt", "rsqt", "sin", "cos", "", "fdiv", "pow", "idiv", "iqot", "irem", "invm",
    "rsqtm",
];

/// Functions of `sync`, by code.
static SYNC: [&str; 16] =
    ["nop", "", "allrd", "allwr", "", "", "", "", "", "", "", "", "", "", "bar", "host"];

/// Shared functions, by code, on graphics 12 and on 12.5.
static SHARED: [[&str; 16]; 2] = [
    [
        "null", "", "smpl", "gtwy", "dc2", "rc", "urb", "ts", "vme", "dcro", "dc0", "pixi", "dc1", "cre", "",
        "",
    ],
    [
        "null", "ugml", "smpl", "gtwy", "dc2", "rc", "urb", "btd", "rta", "dcro", "dc0", "pixi", "dc1",
        "tgm", "slm", "ugm",
    ],
];

/// Returns the functions of an opcode that has one in its name, by code; an empty name is none. The shared functions of sends
/// before graphics 12 are numbers.
pub(super) fn functions(platform: Platform, opcode: Opcode) -> Option<&'static [&'static str; 16]> {
    match (opcode, platform.graphics()) {
        (Opcode::Math, _) => Some(&MATH),
        (Opcode::Sync, _) => Some(&SYNC),
        (Opcode::Send | Opcode::Sendc, 120..125) => Some(&SHARED[0]),
        (Opcode::Send | Opcode::Sendc, 125..) => Some(&SHARED[1]),
        _ => None,
    }
}

/// Returns the name of a function, or its code if it has none.
pub(super) fn function(names: &[&str; 16], code: u8) -> String {
    match names.get(usize::from(code)) {
        None | Some(&"") => code.to_string(),
        Some(name) => (*name).to_owned(),
    }
}

/// Returns the code of a function.
pub(super) fn function_code(names: &[&str; 16], word: &str) -> Option<u8> {
    (0..16).find(|code| function(names, *code) == word)
}
