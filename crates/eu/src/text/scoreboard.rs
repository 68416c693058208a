//! The software scoreboard of graphics 12.

use crate::{Opcode, Platform};

/// Pipes whose distance an instruction waits for, from graphics 12.5 on: the code beside the distance, and the name.
static PIPES: [(u8, &str); 5] = [(0x00, ""), (0x08, "A"), (0x10, "F"), (0x18, "I"), (0x50, "L")];

/// Returns the options of a scoreboard's code: none if it means nothing.
pub(super) fn print(platform: Platform, opcode: Opcode, code: u8) -> Vec<String> {
    let has_pipes = platform.graphics() >= 125;
    let token = code & 0xf;
    let is_send = matches!(opcode, Opcode::Send | Opcode::Sendc);
    let allocates = is_send || opcode == Opcode::Math;
    match code {
        0x80.. => {
            let pipe = if has_pipes && is_send { "A" } else { "" };
            let suffix = if allocates { "" } else { ".dst" };
            vec![format!("{pipe}@{}", code >> 4 & 7), format!("${token}{suffix}")]
        }
        0x40..=0x4f => vec![format!("${token}")],
        0x30..=0x3f => vec![format!("${token}.src")],
        0x20..=0x2f => vec![format!("${token}.dst")],
        _ if code & 7 == 0 => Vec::new(),
        _ => {
            let pipe = PIPES.iter().find(|pipe| pipe.0 == code & !7 && (has_pipes || pipe.0 == 0));
            pipe.map(|pipe| format!("{}@{}", pipe.1, code & 7)).into_iter().collect()
        }
    }
}
