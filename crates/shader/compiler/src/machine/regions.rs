//! Regions of registers: temporaries, halves of elements, halves of lanes.

use intel_eu::Type;

use crate::machine::draft::{At, Code, Draft, Elements, Operand, REGISTER_BYTES, Target, rows};

/// Returns a temporary for elements that lie so many bytes apart.
pub(crate) fn temporary(code: &mut Code, kind: Type, stride_bytes: u32, lanes: u8) -> Target {
    let bytes = stride_bytes * u32::from(lanes);
    let home = code.home(bytes.div_ceil(REGISTER_BYTES) as u8);
    Target { at: At::Home(home, 0), kind, stride: (stride_bytes / u32::from(kind.bytes())) as u8 }
}

/// Returns whether a destination is the null register.
pub(crate) fn is_null(to: Target) -> bool {
    to.at == At::Null
}

/// Returns the bytes from one element to the next one, in a row or from row to row.
fn stride_bytes(elements: &Elements) -> u32 {
    let [vertical, _, horizontal] = elements.rows;
    u32::from(if horizontal > 0 { horizontal } else { vertical }) * u32::from(elements.kind.bytes())
}

/// Returns the bytes that each lane needs in all operands of a draft: those of its widest operand and of its execution type.
pub(crate) fn widest(draft: &Draft, execution: Type) -> u32 {
    let sources = draft.sources.iter().filter_map(|source| match source {
        Operand::Of(elements) if !elements.is_scalar() => {
            Some(stride_bytes(elements).max(elements.kind.bytes().into()))
        }
        Operand::Of(_) | Operand::Number { .. } => None,
    });
    let to = draft.destination.filter(|to| !is_null(*to)).map(|to| to.stride_bytes());
    sources.chain(to).chain([u32::from(execution.bytes())]).max().unwrap_or(4)
}

/// Returns whether elements lie so many bytes apart, from the first byte of a register on.
pub(crate) fn is_at(elements: &Elements, stride: u32, lanes: u8) -> bool {
    let is_aligned = match elements.at {
        At::Home(_, byte) => byte % REGISTER_BYTES == 0,
        At::Fixed(_, byte) => byte == 0,
        At::Flag | At::Null => false,
    };
    is_aligned && elements.rows == rows(elements.kind, stride, lanes)
}

/// Returns the lower or upper dwords of a destination's elements.
pub(crate) fn half_of_target(to: Target, half: u32) -> Target {
    Target { at: to.at.behind(4 * half), kind: Type::Ud, stride: to.stride * 2 }
}

/// Returns the lower or upper dwords of elements.
pub(crate) fn half_of_elements(elements: Elements, half: u32) -> Elements {
    let [vertical, width, horizontal] = elements.rows;
    let rows = [vertical * 2, width, horizontal * 2];
    Elements { at: elements.at.behind(4 * half), kind: Type::Ud, rows, ..elements }
}

/// Returns the instruction for the lower or upper half of its lanes.
pub(crate) fn half_of_lanes(draft: &Draft, half: u8) -> Draft {
    let lanes = draft.lanes / 2;
    let before = u32::from(half * lanes);
    let sources = draft.sources.iter().map(|source| match *source {
        Operand::Of(elements) if !elements.is_scalar() => Operand::Of(part(elements, before, lanes)),
        Operand::Of(_) | Operand::Number { .. } => *source,
    });
    let destination =
        draft.destination.map(|to| Target { at: to.at.behind(before * to.stride_bytes()), ..to });
    Draft {
        lanes,
        first: draft.first + half * lanes,
        sources: sources.collect(),
        destination,
        ..draft.clone()
    }
}

/// Returns so many elements, behind others.
fn part(elements: Elements, before: u32, lanes: u8) -> Elements {
    let [vertical, width, horizontal] = elements.rows;
    let (row, column) = (before / u32::from(width), before % u32::from(width));
    let skipped = row * u32::from(vertical) + column * u32::from(horizontal);
    let rows = match width.min(lanes) {
        _ if lanes == 1 => [0, 1, 0],
        1 => [if width == 1 { vertical } else { horizontal }, 1, 0],
        _ if horizontal == 0 && lanes < width => [0, 1, 0],
        least if least < width => [least * horizontal, least, horizontal],
        _ => [vertical, width, horizontal],
    };
    Elements { at: elements.at.behind(skipped * u32::from(elements.kind.bytes())), rows, ..elements }
}
