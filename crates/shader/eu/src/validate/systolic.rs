//! Checks of matrix operations.

use super::Operand;
use super::view::{Register, Typed, View, is_integer};
use crate::{Base, Destination, Place, Systolic, Type};

/// Products that are added to an element, in dwords, where there is a choice of none.
const DEPTH: u8 = 8;

/// Channels of a matrix operation.
const CHANNELS: u32 = 8;

/// Bytes that a channel takes of the factor with the wider elements, for each product in its depth.
const CHANNEL_BYTES: u32 = 4;

fn systolic(view: &View<'_>) -> Option<Systolic> {
    view.instruction.systolic
}

pub(super) fn depth(view: &View<'_>) -> Option<String> {
    let depth = systolic(view)?.depth;
    (depth != DEPTH).then(|| format!("depth {depth}"))
}

pub(super) fn channels(view: &View<'_>) -> Option<String> {
    let channels = view.channels();
    (channels != CHANNELS).then(|| format!("{channels} channels"))
}

/// Returns whether an operand is one of the factors: source 1 or 2.
fn is_factor(operand: Operand) -> bool {
    matches!(operand, Operand::Source(1 | 2))
}

pub(super) fn sum(_: &View<'_>, typed: &Typed) -> Option<String> {
    let is_known = is_factor(typed.operand) || matches!(typed.kind, Type::F | Type::D | Type::Ud);
    (!is_known).then(|| format!("type {}", typed.kind))
}

pub(super) fn factors(view: &View<'_>) -> Option<String> {
    let mut kinds = view.source_kinds().skip(1).filter(|kind| !is_integer(*kind));
    let (first, second) = (kinds.next()?, kinds.next()?);
    (first != second).then(|| format!("{first} times {second}"))
}

pub(super) fn sign(view: &View<'_>, typed: &Typed) -> Option<String> {
    let to = view.destination.filter(|destination| destination.kind.base() == Base::Unsigned)?;
    (typed.kind.base() == Base::Signed)
        .then(|| format!("type {}, that of the destination {}", typed.kind, to.kind))
}

/// Returns the first byte of an operand if it is no multiple of what all channels have.
fn uneven(view: &View<'_>, place: Place, kind: Type) -> Option<String> {
    let offset = place.subregister()?;
    let bytes = view.channels() * u32::from(kind.bytes());
    (offset.checked_rem(bytes) != Some(0)).then(|| format!("byte {offset}"))
}

pub(super) fn result(view: &View<'_>, destination: &Destination) -> Option<String> {
    uneven(view, destination.place, destination.kind)
}

pub(super) fn offset(view: &View<'_>, source: &Register) -> Option<String> {
    let offset = source.place.subregister()?;
    match source.number {
        0 => uneven(view, source.place, source.kind),
        1 => (offset != 0).then(|| format!("byte {offset}")),
        _ => {
            let Systolic { depth, bits: [first, second], .. } = systolic(view)?;
            // A channel takes as many elements of one factor as of the other.
            let bits = [first.max(second), second].map(u32::from);
            let bytes = (u32::from(depth) * CHANNEL_BYTES * bits[1]).checked_div(bits[0])?;
            (offset.checked_rem(bytes) != Some(0))
                .then(|| format!("byte {offset}, {bytes} bytes of a channel"))
        }
    }
}
