//! Checks of operations on floats and half floats together.

use super::view::{Register, View};
use crate::{Destination, Opcode, Type};

/// Channels of such an operation where it has a limit.
const CHANNELS: u32 = 8;

/// Operations that read the accumulator whatever their sources are.
const ACCUMULATING: [Opcode; 3] = [Opcode::Mac, Opcode::Mach, Opcode::Sada2];

pub(super) fn indirect(_: &View<'_>, source: &Register) -> Option<String> {
    source.place.address()
}

fn too_many(view: &View<'_>) -> Option<String> {
    let channels = view.channels();
    (channels > CHANNELS).then(|| format!("{channels} channels"))
}

pub(super) fn float_channels(view: &View<'_>, destination: &Destination) -> Option<String> {
    too_many(view).filter(|_| destination.kind == Type::F)
}

pub(super) fn align16_channels(view: &View<'_>) -> Option<String> {
    too_many(view)
}

pub(super) fn align16_groups(_: &View<'_>, source: &Register) -> Option<String> {
    (source.vertical != Some(4)).then(|| format!("region {}", source.region()))
}

/// Returns how the instruction reads an accumulator.
fn accumulator(view: &View<'_>) -> Option<String> {
    let opcode = view.instruction.opcode;
    if ACCUMULATING.contains(&opcode) {
        return Some(opcode.to_string());
    }
    let mut sources = view.registers().filter(|source| source.place.is_accumulator());
    sources.next().map(|source| format!("the accumulator as source {}", source.number))
}

pub(super) fn align16_accumulator(view: &View<'_>) -> Option<String> {
    accumulator(view)
}

fn is_packed_half(destination: &Destination) -> bool {
    destination.kind == Type::Hf && destination.stride == 1
}

pub(super) fn packed_channels(view: &View<'_>, destination: &Destination) -> Option<String> {
    too_many(view).filter(|_| is_packed_half(destination))
}

pub(super) fn packed_offset(_: &View<'_>, destination: &Destination) -> Option<String> {
    let offset = destination.place.subregister()?;
    (is_packed_half(destination) && offset % 16 != 0).then(|| format!("byte {offset}"))
}

pub(super) fn accumulator_offset(view: &View<'_>, source: &Register) -> Option<String> {
    let offset = source.place.subregister().filter(|_| source.place.is_accumulator())?;
    let is_packed = view.destination.is_some_and(|destination| is_packed_half(&destination));
    let is_float = matches!(source.kind, Type::F | Type::Hf);
    (is_packed && is_float && offset != 0).then(|| format!("byte {offset}"))
}

pub(super) fn accumulator_stride(view: &View<'_>, destination: &Destination) -> Option<String> {
    let reason = accumulator(view).filter(|_| destination.kind == Type::Hf && destination.stride != 2)?;
    Some(format!("stride {}, {reason}", destination.stride))
}

pub(super) fn math_stride(view: &View<'_>, source: &Register) -> Option<String> {
    let is_packed = source.kind == Type::Hf && source.horizontal <= 1;
    (view.instruction.opcode == Opcode::Math && is_packed).then(|| format!("region {}", source.region()))
}
