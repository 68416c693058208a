//! Checks of 64-bit operands and of products of doublewords.

use super::view::{Register, View, is_integer};
use crate::{Destination, Opcode};

/// Bytes of a quadword.
const QUADWORD: u32 = 8;

/// Channels of an Align16 operation that widens to quadwords.
const CHANNELS: u32 = 2;

fn is_align1(view: &View<'_>) -> bool {
    !view.instruction.align16
}

pub(super) fn strides(view: &View<'_>, source: &Register) -> Option<String> {
    let (from, to) = (source.stride(), view.destination?.stride_bytes());
    let is_right = from == to && from % QUADWORD == 0;
    (is_align1(view) && !source.is_scalar() && !is_right)
        .then(|| format!("{from} bytes, those of the destination {to} bytes"))
}

pub(super) fn rows(view: &View<'_>, source: &Register) -> Option<String> {
    let is_linear = u32::from(source.vertical?) == source.row();
    (is_align1(view) && !is_linear).then(|| source.region())
}

pub(super) fn offsets(view: &View<'_>, source: &Register) -> Option<String> {
    unequal(view, source).filter(|_| is_align1(view) && !source.is_scalar())
}

fn unequal(view: &View<'_>, source: &Register) -> Option<String> {
    let (from, to) = (source.place.subregister()?, view.destination?.place.subregister()?);
    (from != to).then(|| format!("byte {from}, that of the destination {to}"))
}

pub(super) fn indirect_source(_: &View<'_>, source: &Register) -> Option<String> {
    source.place.address()
}

pub(super) fn indirect_destination(_: &View<'_>, destination: &Destination) -> Option<String> {
    destination.place.address()
}

pub(super) fn architecture(view: &View<'_>) -> Option<String> {
    let instruction = view.instruction;
    if instruction.opcode == Opcode::Mac || instruction.accumulator_write {
        return Some(format!("{} with the accumulator", instruction.opcode));
    }
    let destination = view.destination.map(|destination| destination.place);
    let mut places = view.registers().map(|source| source.place).chain(destination);
    places.find_map(|place| place.named())
}

pub(super) fn dependency(view: &View<'_>) -> Option<String> {
    let order = view.instruction.order;
    (order.no_check || order.no_clear)
        .then(|| format!("no check {}, no clear {}", order.no_check, order.no_clear))
}

pub(super) fn align16_channels(view: &View<'_>, destination: &Destination) -> Option<String> {
    let is_widened = destination.kind.bytes() == 8 && view.source_kinds().any(|kind| kind.bytes() != 8);
    let channels = view.channels();
    (!is_align1(view) && is_widened && channels > CHANNELS).then(|| format!("{channels} channels"))
}

pub(super) fn moved(view: &View<'_>, source: &Register) -> Option<String> {
    if source.is_scalar() || source.place.subregister().is_none() {
        return None;
    }
    let is_linear =
        source.vertical.map(u32::from) == Some(source.row()) || source.horizontal == 0 && source.width == 1;
    if is_linear {
        strides_differ(view, source).or_else(|| unequal(view, source))
    } else {
        Some(source.region())
    }
}

fn strides_differ(view: &View<'_>, source: &Register) -> Option<String> {
    let (from, to) = (source.stride(), view.destination?.stride_bytes());
    (from != to).then(|| format!("{from} bytes, those of the destination {to} bytes"))
}

pub(super) fn architecture_source(_: &View<'_>, source: &Register) -> Option<String> {
    source.place.named().filter(|_| !source.place.is_accumulator())
}

pub(super) fn architecture_destination(_: &View<'_>, destination: &Destination) -> Option<String> {
    destination.place.named().filter(|_| !destination.place.is_accumulator())
}

pub(super) fn row_addresses(_: &View<'_>, source: &Register) -> Option<String> {
    let is_affected = !is_integer(source.kind) || source.kind.bytes() == 8;
    (is_affected && source.vertical.is_none()).then(|| format!("type {}", source.kind))
}

pub(super) fn replicated(_: &View<'_>, source: &Register) -> Option<String> {
    let is_long = u32::from(source.kind.bytes()) == QUADWORD;
    (is_long && source.vertical == Some(0)).then(|| format!("type {}", source.kind))
}
