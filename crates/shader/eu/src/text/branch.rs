//! What the text of branches and of similar instructions leaves out.

use crate::{Destination, File, Form, Opcode, Place, Platform, Source, Type};

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

/// Returns the source in which a register has a branch's target, and its number.
pub(super) fn target(platform: Platform, opcode: Opcode, place: Place) -> (usize, Source) {
    let is_late = platform.graphics() >= 120;
    let kind = if is_late { Type::Ub } else { Type::D };
    match (opcode, is_late) {
        (Opcode::Brc | Opcode::Ret, false) => (0, Source::rows(place, kind, [2, 2, 1])),
        (Opcode::Call | Opcode::Calla, false) => (1, Source::rows(place, kind, [0, 1, 0])),
        _ => (0, Source::rows(place, kind, [0, 1, 0])),
    }
}

/// Returns whether the opcode has distances.
pub(super) fn is_jump(platform: Platform, opcode: Opcode) -> bool {
    matches!(opcode.form(platform), Form::Jump | Form::Jumps)
}
