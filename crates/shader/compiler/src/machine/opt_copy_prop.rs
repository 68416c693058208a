//! Copy propagation: copies of registers that legalisation and selection leave, taken out again.
//!
//! An operand that is a copy is replaced by what was copied, if the validator accepts the instruction with it. So a copy that legalisation
//! needs stays.

use std::collections::{HashMap, HashSet};

use intel_eu::{Base, Opcode, Platform};

use crate::machine::instr::{Dst, Function, Instr, Operand, RegRef, RegRegion, Stmt, VReg};
use crate::machine::rules::violations;

/// A copy of all lanes.
#[derive(Clone, Copy, Debug)]
struct Copied {
    to: Dst,
    from: RegRegion,
    lanes: u8,
    first: u8,
}

/// Replaces copies by what they copy, and leaves out those that nothing uses any more.
pub(crate) fn opt_copy_prop(platform: Platform, function: &mut Function) {
    let writes = writes(function);
    let mut copies: HashMap<VReg, Copied> = HashMap::new();
    for (place, stmt) in function.stmts.iter_mut().enumerate() {
        let Stmt::Instr(instr) = stmt else { continue };
        for source in 0..instr.sources.len() {
            replace(platform, instr, source, &copies);
        }
        let Some(copied) = copy(instr) else { continue };
        let (RegRef::VReg(to, _), RegRef::VReg(from, _)) = (copied.to.at, copied.from.at) else { continue };
        let is_stable = writes.get(&from).is_some_and(|places| places.iter().all(|written| *written < place));
        let is_variable = function.variables.contains(&from) || function.variables.contains(&to);
        if is_stable && !is_variable && writes.get(&to).is_some_and(|places| places.len() == 1) {
            copies.insert(to, copied);
        }
    }
    leave_out(function, &copies);
}

/// Returns the statements that write to each virtual register.
fn writes(function: &Function) -> HashMap<VReg, Vec<usize>> {
    let mut found: HashMap<VReg, Vec<usize>> = HashMap::new();
    for (place, stmt) in function.stmts.iter().enumerate() {
        if let Stmt::Instr(Instr { destination: Some(Dst { at: RegRef::VReg(vreg, _), .. }), .. }) = stmt {
            found.entry(*vreg).or_default().push(place);
        }
    }
    found
}

/// Returns the copy that an instruction is, if it is one.
fn copy(instr: &Instr) -> Option<Copied> {
    let is_plain = instr.opcode == Opcode::Mov
        && instr.predicate.is_none()
        && instr.condition.is_none()
        && !instr.saturate
        && !instr.no_mask;
    let (Some(to), [Operand::Reg(from)]) = (instr.destination.filter(|_| is_plain), instr.sources.as_slice())
    else {
        return None;
    };
    let is_integer = |base| base != Base::Float;
    let keeps_bits = to.kind == from.kind
        || to.kind.bytes() == from.kind.bytes() && is_integer(to.kind.base()) && is_integer(from.kind.base());
    (keeps_bits && !from.negate && !from.absolute && !from.is_scalar()).then_some(Copied {
        to,
        from: *from,
        lanes: instr.lanes,
        first: instr.first,
    })
}

/// Replaces a source that is a copy, if the instruction is legal with what was copied.
fn replace(platform: Platform, instr: &mut Instr, place: usize, copies: &HashMap<VReg, Copied>) {
    let Operand::Reg(elements) = instr.sources[place] else { return };
    let RegRef::VReg(vreg, _) = elements.at else { return };
    let Some(copied) = copies.get(&vreg) else { return };
    let read = copied.to.read(copied.lanes);
    let is_same = elements.at == read.at
        && elements.rows == read.rows
        && elements.kind.bytes() == read.kind.bytes()
        && (instr.lanes, instr.first, instr.no_mask) == (copied.lanes, copied.first, false);
    if !is_same {
        return;
    }
    let RegRegion { kind, negate, absolute, .. } = elements;
    let replaced = RegRegion { kind, negate, absolute, ..copied.from };
    if let Some(message) = instr.message {
        // A payload is whole registers, which the copied ones have to be.
        let is_whole = matches!(replaced.at, RegRef::VReg(_, 0)) && replaced.rows == elements.rows;
        if is_whole && u32::from(instr.lanes) * 4 == message.sent * crate::machine::instr::REGISTER_BYTES {
            instr.sources[place] = Operand::Reg(replaced);
        }
        return;
    }
    let mut changed = instr.clone();
    changed.sources[place] = Operand::Reg(replaced);
    if violations(platform, &changed).is_empty() {
        *instr = changed;
    }
}

/// Leaves out the copies that nothing reads.
fn leave_out(function: &mut Function, copies: &HashMap<VReg, Copied>) {
    let read: HashSet<VReg> = function
        .stmts
        .iter()
        .filter_map(|stmt| match stmt {
            Stmt::Instr(instr) => Some(&instr.sources),
            Stmt::Label(_) | Stmt::LoopBegin | Stmt::LoopEnd => None,
        })
        .flatten()
        .filter_map(|source| match source {
            Operand::Reg(RegRegion { at: RegRef::VReg(vreg, _), .. }) => Some(*vreg),
            Operand::Reg(_) | Operand::Imm { .. } => None,
        })
        .collect();
    function.stmts.retain(|stmt| match stmt {
        Stmt::Instr(Instr { destination: Some(Dst { at: RegRef::VReg(vreg, _), .. }), .. }) => {
            read.contains(vreg) || !copies.contains_key(vreg)
        }
        Stmt::Instr(_) | Stmt::Label(_) | Stmt::LoopBegin | Stmt::LoopEnd => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use intel_eu::Type;

    /// Returns code of an addition whose second source is a copy of elements.
    fn code(from: RegRegion, kind: Type) -> Function {
        let mut function = Function::default();
        let [made, copied, sum] = [function.vreg(2), function.vreg(2), function.vreg(2)];
        let make =
            Instr::of(Opcode::Mov, Dst::lanes(made, Type::Ud), &[Operand::Imm { kind: Type::Ud, bits: 7 }]);
        let from = RegRegion { at: RegRef::VReg(made, 0), ..from };
        let copy = Instr::of(Opcode::Mov, Dst::lanes(copied, from.kind), &[Operand::Reg(from)]);
        let sources = [Operand::lanes(made, kind), Operand::lanes(copied, kind)];
        let add = Instr::of(Opcode::Add, Dst::lanes(sum, kind), &sources);
        function.stmts = [make, copy, add].map(Stmt::Instr).to_vec();
        function
    }

    fn stmts_left(platform: Platform, mut function: Function) -> usize {
        opt_copy_prop(platform, &mut function);
        function.stmts.len()
    }

    #[test]
    fn a_copy_is_taken_out() {
        let lanes = RegRegion::apart(RegRef::Null, Type::Ud, 4, 16);
        assert_eq!(stmts_left(Platform::Skl, code(lanes, Type::F)), 2);
    }

    #[test]
    fn a_copy_that_moves_lanes_stays_where_floats_must_not_move_them() {
        let repeated = RegRegion { rows: [4, 4, 0], ..RegRegion::apart(RegRef::Null, Type::Ud, 4, 16) };
        assert_eq!(stmts_left(Platform::Skl, code(repeated, Type::F)), 2);
        assert_eq!(stmts_left(Platform::Dg2, code(repeated, Type::F)), 3);
        assert_eq!(stmts_left(Platform::Dg2, code(repeated, Type::D)), 2);
    }

    #[test]
    fn a_negated_copy_and_one_of_a_variable_stay() {
        let lanes = RegRegion::apart(RegRef::Null, Type::Ud, 4, 16);
        assert_eq!(stmts_left(Platform::Skl, code(RegRegion { negate: true, ..lanes }, Type::D)), 3);
        let mut function = code(lanes, Type::D);
        function.variables.push(VReg(0));
        assert_eq!(stmts_left(Platform::Skl, function), 3);
    }

    #[test]
    fn a_copy_of_what_is_written_later_stays() {
        let lanes = RegRegion::apart(RegRef::Null, Type::Ud, 4, 16);
        let mut function = code(lanes, Type::D);
        function.stmts.insert(2, function.stmts[0].clone());
        assert_eq!(stmts_left(Platform::Skl, function), 4);
    }
}
