//! Regions of registers: temporaries, halves of elements, halves of lanes.

use intel_eu::Type;

use crate::machine::instr::{Dst, Function, Instr, Operand, REGISTER_BYTES, RegRef, RegRegion, rows};

/// Returns a temporary for elements that lie so many bytes apart.
pub(crate) fn temporary(function: &mut Function, kind: Type, stride_bytes: u32, lanes: u8) -> Dst {
    let bytes = stride_bytes * u32::from(lanes);
    let vreg = function.vreg(bytes.div_ceil(REGISTER_BYTES) as u8);
    Dst { at: RegRef::VReg(vreg, 0), kind, stride: (stride_bytes / u32::from(kind.bytes())) as u8 }
}

/// Returns whether a destination is the null register.
pub(crate) fn is_null(to: Dst) -> bool {
    to.at == RegRef::Null
}

/// Returns the bytes from one element to the next one, in a row or from row to row.
fn stride_bytes(elements: &RegRegion) -> u32 {
    let [vertical, _, horizontal] = elements.rows;
    u32::from(if horizontal > 0 { horizontal } else { vertical }) * u32::from(elements.kind.bytes())
}

/// Returns the bytes that each lane needs in all operands of an instruction: those of its widest operand and of its execution type.
pub(crate) fn widest(instr: &Instr, execution: Type) -> u32 {
    let sources = instr.sources.iter().filter_map(|source| match source {
        Operand::Reg(elements) if !elements.is_scalar() => {
            Some(stride_bytes(elements).max(elements.kind.bytes().into()))
        }
        Operand::Reg(_) | Operand::Imm { .. } => None,
    });
    let to = instr.destination.filter(|to| !is_null(*to)).map(|to| to.stride_bytes());
    sources.chain(to).chain([u32::from(execution.bytes())]).max().unwrap_or(4)
}

/// Returns whether elements lie so many bytes apart, from the first byte of a register on.
pub(crate) fn is_at(elements: &RegRegion, stride: u32, lanes: u8) -> bool {
    let is_aligned = match elements.at {
        RegRef::VReg(_, byte) => byte % REGISTER_BYTES == 0,
        RegRef::Fixed(_, byte) => byte == 0,
        RegRef::Flag | RegRef::Null => false,
    };
    is_aligned && elements.rows == rows(elements.kind, stride, lanes)
}

/// Returns the lower or upper dwords of a destination's elements.
pub(crate) fn half_of_target(to: Dst, half: u32) -> Dst {
    Dst { at: to.at.after(4 * half), kind: Type::Ud, stride: to.stride * 2 }
}

/// Returns the lower or upper dwords of elements.
pub(crate) fn half_of_elements(elements: RegRegion, half: u32) -> RegRegion {
    let [vertical, width, horizontal] = elements.rows;
    let rows = [vertical * 2, width, horizontal * 2];
    RegRegion { at: elements.at.after(4 * half), kind: Type::Ud, rows, ..elements }
}

/// Returns the instruction for the lower or upper half of its lanes.
pub(crate) fn half_of_lanes(instr: &Instr, half: u8) -> Instr {
    let lanes = instr.lanes / 2;
    let before = u32::from(half * lanes);
    let sources = instr.sources.iter().map(|source| match *source {
        Operand::Reg(elements) if !elements.is_scalar() => Operand::Reg(part(elements, before, lanes)),
        Operand::Reg(_) | Operand::Imm { .. } => *source,
    });
    let destination = instr.destination.map(|to| Dst { at: to.at.after(before * to.stride_bytes()), ..to });
    Instr {
        lanes,
        first: instr.first + half * lanes,
        sources: sources.collect(),
        destination,
        ..instr.clone()
    }
}

/// Returns so many elements, after others.
fn part(elements: RegRegion, before: u32, lanes: u8) -> RegRegion {
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
    RegRegion { at: elements.at.after(skipped * u32::from(elements.kind.bytes())), rows, ..elements }
}
