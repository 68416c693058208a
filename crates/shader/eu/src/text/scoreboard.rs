//! The software scoreboard of graphics 12.

use crate::{Opcode, Platform};

/// Pipes whose distance an instruction waits for, from graphics 12.5 on: the code beside the distance, and the name.
static PIPES: [(u8, &str); 5] = [(0x00, ""), (0x08, "A"), (0x10, "F"), (0x18, "I"), (0x50, "L")];

/// Returns the options of a scoreboard's code: none if it means nothing.
pub(super) fn print(platform: Platform, opcode: Opcode, code: u8) -> Vec<String> {
    let has_pipes = platform.graphics() >= 125;
    let token = code & 0xf;
    let is_send = matches!(opcode, Opcode::Send | Opcode::Sendc);
    let allocates = is_send || matches!(opcode, Opcode::Math | Opcode::Dpas | Opcode::Dpasw);
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

/// A dependency that is waited for, as an option names it.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// A distance, beside the code of its pipe.
    Distance(u8),
    /// A token, beside the code of what it stands for.
    Token(u8),
}

/// Returns the dependency of an option.
pub(super) fn parse(option: &str) -> Option<Wait> {
    if let Some(token) = option.strip_prefix('$') {
        let (number, code) = match token.split_once('.') {
            None => (token, 0x40),
            Some((number, "src")) => (number, 0x30),
            Some((number, "dst")) => (number, 0x20),
            Some(_) => return None,
        };
        return number
            .parse::<u8>()
            .ok()
            .filter(|number| *number < 16)
            .map(|number| Wait::Token(code | number));
    }
    let (pipe, distance) = option.split_once('@')?;
    let code = PIPES.iter().find(|row| row.1 == pipe)?.0;
    distance
        .parse::<u8>()
        .ok()
        .filter(|distance| *distance < 8)
        .map(|distance| Wait::Distance(code | distance))
}

/// Returns the code of an instruction that has this one already, and waits for something else, too.
pub(super) fn join(code: u8, wait: Wait) -> Option<u8> {
    match (code, wait) {
        (0, Wait::Distance(new) | Wait::Token(new)) if new != 0 => Some(new),
        // A distance of 0 is in codes with a token only.
        (0, _) => Some(0x80),
        (1..=0x1f | 0x80, Wait::Token(token)) => Some(0x80 | (code & 7) << 4 | token & 0xf),
        _ => None,
    }
}
