//! Checks of operations on brain floats.

use super::Operand;
use super::view::{Register, Typed, View};
use crate::{Destination, Type};

/// Channels of such an operation.
const CHANNELS: u32 = 8;

/// The bytes at which brain floats that are side by side begin: the halves of a register.
const PACKED: [u32; 2] = [0, 16];

/// The bytes at which brain floats with a stride of 2 begin.
const STRIDED: [u32; 2] = [0, 2];

fn is_brain(kind: Type) -> bool {
    kind == Type::Bf
}

pub(super) fn alone(view: &View<'_>) -> Option<String> {
    let is_written = view.destination.is_some_and(|destination| is_brain(destination.kind));
    (is_written && view.source_kinds().all(is_brain)).then(|| format!("all of type {}", Type::Bf))
}

pub(super) fn channels(view: &View<'_>) -> Option<String> {
    let channels = view.channels();
    let is_any = view.typed().any(|typed| is_brain(typed.kind));
    (is_any && channels > CHANNELS).then(|| format!("{channels} channels"))
}

pub(super) fn second_factor(_: &View<'_>, typed: &Typed) -> Option<String> {
    let is_last = typed.operand == Operand::Source(2);
    (is_last && is_brain(typed.kind)).then(|| format!("type {}", typed.kind))
}

pub(super) fn source(view: &View<'_>, source: &Register) -> Option<String> {
    if !is_brain(source.kind) {
        return None;
    }
    let is_packed = source.is_consecutive(view.channels());
    let offset = source.place.subregister()?;
    (!is_packed || !PACKED.contains(&offset)).then(|| format!("region {} at byte {offset}", source.region()))
}

pub(super) fn result(_: &View<'_>, destination: &Destination) -> Option<String> {
    let offset = destination.place.subregister().filter(|_| is_brain(destination.kind))?;
    let begins: &[u32] = match destination.stride {
        1 => &PACKED,
        2 => &STRIDED,
        _ => &[],
    };
    (!begins.contains(&offset)).then(|| format!("stride {} at byte {offset}", destination.stride))
}
