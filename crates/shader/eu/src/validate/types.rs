//! Checks of the operands' types.

use std::ops::RangeInclusive;

use super::scope::On;
use super::view::{Register, Typed, View, is_integer, is_vector};
use crate::isa::Form;
use crate::{Destination, Platform, Type};

/// The last version of graphics with 64-bit floats in all units. The first one here has them.
const LAST_WITH_DOUBLES: u8 = 90;

/// A later platform that has them, in its math unit.
const DOUBLES_BY_MATH: Platform = Platform::Mtl;

/// Versions of graphics with 64-bit integers.
const WITH_QUADWORDS: RangeInclusive<u8> = 80..=90;

fn lacks_double(platform: Platform, kind: Type) -> bool {
    kind == Type::Df && platform.graphics() > LAST_WITH_DOUBLES && platform != DOUBLES_BY_MATH
}

fn lacks_quadword(platform: Platform, kind: Type) -> bool {
    matches!(kind, Type::Q | Type::Uq) && !WITH_QUADWORDS.contains(&platform.graphics())
}

pub(super) fn code(view: &View<'_>, typed: &Typed) -> Option<String> {
    let (kind, is_immediate) = (typed.kind, typed.is_immediate());
    let code = match (view.form, is_immediate) {
        (Form::Three, _) if view.instruction.align16 => {
            kind.align16_code().filter(|_| kind.register_code(view.platform).is_some())
        }
        (Form::Three, _) => kind.three_code(view.platform),
        (_, true) => view.instruction.opcode.immediate_code(kind, view.platform),
        (_, false) => kind.register_code(view.platform),
    };
    let what = if is_immediate { "immediate" } else { "register" };
    let has_own_rule = lacks_double(view.platform, kind) || lacks_quadword(view.platform, kind);
    (code.is_none() && !has_own_rule).then(|| format!("{what} of type {kind}"))
}

pub(super) fn double(view: &View<'_>, typed: &Typed) -> Option<String> {
    lacks_double(view.platform, typed.kind).then(|| format!("type {}", typed.kind))
}

pub(super) fn quadword(view: &View<'_>, typed: &Typed) -> Option<String> {
    lacks_quadword(view.platform, typed.kind).then(|| format!("type {}", typed.kind))
}

pub(super) fn native_place(_: &View<'_>, typed: &Typed) -> Option<String> {
    let place = typed.place.filter(|place| typed.kind == Type::Nf && !place.is_accumulator())?;
    (!place.is_null()).then(|| format!("type {}", typed.kind))
}

pub(super) fn late_byte(_: &View<'_>, source: &Register) -> Option<String> {
    (source.number > 0 && source.kind.bytes() == 1).then(|| format!("type {}", source.kind))
}

fn is_packed_byte(destination: &Destination) -> bool {
    destination.kind.bytes() == 1 && destination.stride == 1
}

pub(super) fn packed_byte(view: &View<'_>, destination: &Destination) -> Option<String> {
    (is_packed_byte(destination) && !view.copies_bytes()).then(|| {
        let opcode = view.instruction.opcode;
        format!("{opcode} that converts or modifies, destination of type {}, stride 1", destination.kind)
    })
}

/// Returns the two types if the source's and the destination's are of these kinds, in either order.
fn converts(
    view: &View<'_>,
    source: Type,
    first: impl Fn(Type) -> bool,
    second: impl Fn(Type) -> bool,
) -> Option<String> {
    let destination = view.destination?.kind;
    let is_either = first(source) && second(destination) || first(destination) && second(source);
    is_either.then(|| format!("{source} to {destination}"))
}

pub(super) fn byte_and_long(view: &View<'_>, typed: &Typed) -> Option<String> {
    converts(view, typed.kind, |kind| kind.bytes() == 1, |kind| kind.bytes() == 8)
}

pub(super) fn half_and_long(view: &View<'_>, typed: &Typed) -> Option<String> {
    converts(view, typed.kind, |kind| kind == Type::Hf, |kind| kind.bytes() == 8)
}

/// Returns the types of a conversion between half floats and integers.
fn half_and_integer(view: &View<'_>, destination: &Destination) -> Option<String> {
    if view.instruction.align16 || is_packed_byte(destination) {
        return None;
    }
    view.source_kinds().find_map(|source| converts(view, source, |kind| kind == Type::Hf, is_integer))
}

pub(super) fn half_integer_stride(view: &View<'_>, destination: &Destination) -> Option<String> {
    let types = half_and_integer(view, destination)?;
    let stride = destination.stride_bytes();
    (stride != 4).then(|| format!("{types} with a stride of {stride} bytes"))
}

pub(super) fn half_integer_offset(view: &View<'_>, destination: &Destination) -> Option<String> {
    let types = half_and_integer(view, destination)?;
    let offset = destination.place.subregister()?;
    (offset % 4 != 0).then(|| format!("{types} at byte {offset}"))
}

pub(super) fn half_words(view: &View<'_>, destination: &Destination) -> Option<String> {
    let is_conversion = destination.kind == Type::Hf && view.source_kinds().any(|kind| kind != Type::Hf);
    if !is_conversion || view.instruction.align16 || half_and_integer(view, destination).is_some() {
        return None;
    }
    let offset = destination.place.subregister().unwrap_or(0);
    let is_packed = view.is_mixed_float() && destination.stride == 1 && offset % 16 == 0;
    (destination.stride != 2 && !is_packed).then(|| format!("stride {} at byte {offset}", destination.stride))
}

/// Returns the execution type if the destination is narrower and has to leave room for it.
fn wider(view: &View<'_>, destination: &Destination) -> Option<Type> {
    let execution = view.execution_type()?;
    let has_own_rules = view.is_mixed_float() && On::OddWords.includes(view.platform);
    let is_double_in_dwords =
        view.platform.graphics() == 70 && execution.bytes() == 8 && destination.kind.bytes() == 4;
    let is_exempt =
        has_own_rules || view.copies_bytes() || is_double_in_dwords || is_packed_byte(destination);
    (execution.bytes() > destination.kind.bytes() && !is_exempt).then_some(execution)
}

pub(super) fn stride(view: &View<'_>, destination: &Destination) -> Option<String> {
    let execution = wider(view, destination)?;
    let (stride, bytes) = (destination.stride_bytes(), execution.bytes());
    (stride != u32::from(bytes))
        .then(|| format!("{stride} bytes, execution type {execution} of {bytes} bytes"))
}

pub(super) fn offset(view: &View<'_>, destination: &Destination) -> Option<String> {
    let execution = wider(view, destination)?;
    let offset = destination.place.subregister()?;
    let last = u32::from(destination.kind.bytes() == 1);
    (offset % u32::from(execution.bytes()) > last)
        .then(|| format!("byte {offset}, execution type {execution}"))
}

pub(super) fn vector_offset(view: &View<'_>, destination: &Destination) -> Option<String> {
    let kind = view.immediate().filter(|kind| is_vector(*kind))?;
    let offset = destination.place.subregister()?;
    (offset % 16 != 0).then(|| format!("immediate of type {kind}, byte {offset}"))
}

pub(super) fn float_vector_stride(view: &View<'_>, destination: &Destination) -> Option<String> {
    vector_stride(view, destination, &[Type::Vf], 4)
}

pub(super) fn integer_vector_stride(view: &View<'_>, destination: &Destination) -> Option<String> {
    vector_stride(view, destination, &[Type::V, Type::Uv], 2)
}

fn vector_stride(view: &View<'_>, destination: &Destination, kinds: &[Type], bytes: u32) -> Option<String> {
    let kind = view.immediate().filter(|kind| kinds.contains(kind))?;
    let stride = destination.stride_bytes();
    (stride != bytes).then(|| format!("immediate of type {kind}, {stride} bytes"))
}
