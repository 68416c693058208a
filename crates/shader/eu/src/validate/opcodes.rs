//! Checks of single opcodes, and of what all operations have.

use super::view::{Register, Typed, View, is_doubleword, is_integer};
use crate::{Condition, Destination, Opcode, Type};

/// The thread control by which a thread gives way.
const SWITCH: u8 = 2;

/// The functions of `math` that divide integers: both results, quotient, remainder.
const INTEGER_DIVISIONS: [u8; 3] = [11, 12, 13];

/// The types of `csel`, by the first version of graphics that has them.
const SELECTED: [(Type, u8); 6] =
    [(Type::F, 80), (Type::Hf, 110), (Type::D, 110), (Type::Ud, 110), (Type::W, 110), (Type::Uw, 110)];

/// The types of `add3`.
const ADDED: [Type; 4] = [Type::D, Type::Ud, Type::W, Type::Uw];

pub(super) fn exists(view: &View<'_>) -> Option<String> {
    let opcode = view.instruction.opcode;
    (opcode == Opcode::Illegal || opcode.code(view.platform).is_none()).then(|| opcode.to_string())
}

pub(super) fn align16(view: &View<'_>) -> Option<String> {
    view.instruction.align16.then(|| "Align16".to_owned())
}

pub(super) fn three_align1(view: &View<'_>) -> Option<String> {
    (!view.instruction.align16).then(|| "Align1".to_owned())
}

pub(super) fn channel_offset(view: &View<'_>) -> Option<String> {
    let (offset, channels) = (view.instruction.channel_offset, view.instruction.execution_size);
    (offset % channels.max(1) != 0).then(|| format!("channel {offset}, {channels} channels"))
}

pub(super) fn missing_source(view: &View<'_>) -> Option<String> {
    view.missing_source().map(|number| format!("no source {number}"))
}

pub(super) fn null_source(_: &View<'_>, source: &Register) -> Option<String> {
    source.place.architecture_name().filter(|_| source.place.is_null())
}

pub(super) fn no_condition(view: &View<'_>) -> Option<String> {
    view.instruction.condition.is_none().then(|| format!("{} without one", view.instruction.opcode))
}

pub(super) fn predicate(view: &View<'_>) -> Option<String> {
    view.instruction.predicate.map(|_| "a predicate".to_owned())
}

pub(super) fn one_decision(view: &View<'_>) -> Option<String> {
    match (view.instruction.condition, view.instruction.predicate) {
        (None, None) => Some("neither".to_owned()),
        (Some(_), Some(_)) => Some("both".to_owned()),
        _ => None,
    }
}

pub(super) fn architecture_result(_: &View<'_>, destination: &Destination) -> Option<String> {
    destination.place.named()
}

pub(super) fn null_without_switch(view: &View<'_>, destination: &Destination) -> Option<String> {
    let thread = view.instruction.order.thread;
    (destination.place.is_null() && thread != SWITCH).then(|| format!("thread control {thread}"))
}

pub(super) fn selected_type(view: &View<'_>, destination: &Destination) -> Option<String> {
    let kind = destination.kind;
    let is_known = SELECTED.iter().any(|row| row.0 == kind && row.1 <= view.platform.graphics());
    (!is_known).then(|| format!("type {kind}"))
}

pub(super) fn selected_kind(view: &View<'_>, typed: &Typed) -> Option<String> {
    let destination = view.destination?.kind;
    let is_alike =
        is_integer(typed.kind) == is_integer(destination) && typed.kind.bytes() == destination.bytes();
    (!is_alike).then(|| different(typed.kind, destination))
}

fn different(kind: Type, destination: Type) -> String {
    format!("type {kind}, that of the destination {destination}")
}

pub(super) fn same_type(view: &View<'_>, typed: &Typed) -> Option<String> {
    let destination = view.destination?.kind;
    (typed.kind != destination).then(|| different(typed.kind, destination))
}

pub(super) fn inserted_type(_: &View<'_>, destination: &Destination) -> Option<String> {
    (!is_doubleword(destination.kind)).then(|| format!("type {}", destination.kind))
}

pub(super) fn result_modifier(view: &View<'_>) -> Option<String> {
    let condition = view.instruction.condition.map(|condition| format!("condition {}", condition.name()));
    condition.or(view.instruction.saturate.then(|| "saturation".to_owned()))
}

pub(super) fn added_type(_: &View<'_>, typed: &Typed) -> Option<String> {
    (!ADDED.contains(&typed.kind)).then(|| format!("type {}", typed.kind))
}

pub(super) fn added_immediate(_: &View<'_>, typed: &Typed) -> Option<String> {
    (typed.is_immediate() && typed.kind.bytes() != 2).then(|| format!("immediate of type {}", typed.kind))
}

pub(super) fn two_accumulators(view: &View<'_>) -> Option<String> {
    let mut sources = view.registers().take_while(|source| source.number < 2);
    let is_both = view.registers().any(|source| source.number == 1);
    (is_both && sources.all(|source| source.place.is_accumulator())).then(|| "two of them".to_owned())
}

pub(super) fn logic_condition(view: &View<'_>) -> Option<String> {
    let condition = view.instruction.condition?;
    matches!(condition, Condition::Overflow | Condition::Unordered).then(|| condition.name().to_owned())
}

pub(super) fn absolute(_: &View<'_>, source: &Register) -> Option<String> {
    modifier(source).filter(|_| source.absolute)
}

/// Returns the modifier of a source.
fn modifier(source: &Register) -> Option<String> {
    let name = if source.absolute { "an absolute value" } else { "a negation" };
    source.has_modifier().then(|| name.to_owned())
}

pub(super) fn modified_accumulator(_: &View<'_>, source: &Register) -> Option<String> {
    modifier(source).filter(|_| source.place.is_accumulator())
}

pub(super) fn modified_division(view: &View<'_>, source: &Register) -> Option<String> {
    modifier(source).filter(|_| INTEGER_DIVISIONS.contains(&view.instruction.function))
}

pub(super) fn late_doubleword(view: &View<'_>) -> Option<String> {
    let mut kinds = view.source_kinds();
    let (first, second) = (kinds.next()?, kinds.next()?);
    (first.bytes() < 4 && is_doubleword(second)).then(|| format!("{first} times {second}"))
}

/// Returns the types of a multiplication with a doubleword.
fn doubleword_product(view: &View<'_>) -> Option<String> {
    let kinds: Vec<_> = view.source_kinds().collect();
    let names = kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" times ");
    kinds.into_iter().any(is_doubleword).then_some(names)
}

pub(super) fn modified_product(view: &View<'_>, destination: &Destination) -> Option<String> {
    let product = doubleword_product(view)?;
    let is_low = is_integer(destination.kind) && matches!(destination.kind.bytes(), 2 | 4);
    let modifier = result_modifier(view).filter(|_| is_low)?;
    Some(format!("{modifier}, {product} to {}", destination.kind))
}

pub(super) fn accumulator_factor(_: &View<'_>, source: &Register) -> Option<String> {
    source.place.is_accumulator().then(|| format!("type {}", source.kind))
}

pub(super) fn integer_accumulator_factor(view: &View<'_>, source: &Register) -> Option<String> {
    accumulator_factor(view, source).filter(|_| is_integer(source.kind))
}

pub(super) fn float_product(view: &View<'_>, destination: &Destination) -> Option<String> {
    let product = doubleword_product(view).filter(|_| destination.kind == Type::F)?;
    Some(format!("{product} to {}", destination.kind))
}

pub(super) fn accumulated_product(view: &View<'_>, destination: &Destination) -> Option<String> {
    architecture_result(view, destination).filter(|_| view.source_kinds().all(is_doubleword))
}

pub(super) fn modified_factor(view: &View<'_>, source: &Register) -> Option<String> {
    let is_narrow = view.execution_type() == Some(Type::D) && source.kind.bytes() != 4;
    modifier(source).filter(|_| is_narrow)
}
