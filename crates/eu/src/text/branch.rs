//! What the text of branches and of similar instructions leaves out.

use crate::{Destination, File, Form, Opcode, Place, Platform, Type};

const IP: Place = Place::Direct { file: File::Architecture, number: 0xa0, offset: 0 };

/// Returns the destination of an opcode whose text has none, or, of a call, has its place only.
pub(super) fn destination(platform: Platform, opcode: Opcode) -> Option<Destination> {
    let is_late = platform.graphics() >= 120;
    let null = Destination::default();
    let late = Destination { kind: Type::Ub, stride: 0, ..null };
    match (opcode, is_late) {
        (Opcode::Call | Opcode::Calla | Opcode::Ret, true) => Some(late),
        (Opcode::Call | Opcode::Calla, false) => Some(Destination { kind: Type::D, ..null }),
        (Opcode::Sync, _) => Some(Destination { kind: Type::Ub, ..null }),
        (Opcode::Wait | Opcode::Ret, _) => Some(null),
        (Opcode::Jmpi, false) => Some(Destination { place: IP, ..null }),
        (Opcode::Brd | Opcode::Brc, false) => Some(Destination { place: IP, kind: Type::D, ..null }),
        (_, false) if is_jump(platform, opcode) => Some(null),
        _ => None,
    }
}

/// Returns whether the opcode has distances.
pub(super) fn is_jump(platform: Platform, opcode: Opcode) -> bool {
    matches!(opcode.form(platform), Form::Jump | Form::Jumps)
}
