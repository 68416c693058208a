//! Names of registers and functions, as assembly has them.

use crate::{Opcode, Platform};

/// Architecture registers: the first number, the name, and whether the name has a number behind it.
static ARCHITECTURE: [(u8, &str, bool); 17] = [
    (0x00, "null", false),
    (0x10, "a", true),
    (0x20, "acc", true),
    (0x22, "mme", true),
    (0x30, "f", true),
    (0x40, "ce", false),
    (0x50, "msg", true),
    (0x60, "sp", false),
    (0x70, "sr", true),
    (0x80, "cr", true),
    (0x90, "n", true),
    (0xa0, "ip", false),
    (0xb0, "tdr", true),
    (0xc0, "tm", true),
    (0xd0, "fc", true),
    (0xe0, "reserved", true),
    (0xf0, "dbg", true),
];

/// Returns the name of an architecture register.
pub(super) fn architecture(number: u8) -> String {
    let row = ARCHITECTURE.iter().rev().find(|row| row.0 <= number).unwrap_or(&ARCHITECTURE[0]);
    match *row {
        (first, name, true) => format!("{name}{}", number - first),
        (_, name, false) => name.to_owned(),
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

/// Returns the number of an architecture register.
pub(super) fn architecture_number(word: &str) -> Option<u8> {
    ARCHITECTURE.iter().find_map(|&(first, name, is_numbered)| {
        let rest = word.strip_prefix(name)?;
        match (is_numbered, rest) {
            (false, "") => Some(first),
            (false, _) => None,
            (true, _) => rest.parse::<u8>().ok().filter(|number| *number < 16).map(|number| first + number),
        }
    })
}
