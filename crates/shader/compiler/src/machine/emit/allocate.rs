//! Numbers for registers. A program that needs more than there are is refused.

use std::collections::HashMap;
use std::ops::Range;

use crate::Error;
use crate::machine::instr::{Function, RegRef, Stmt, VReg};

/// The registers for values: after the group's number and the constants, and before those with which a thread ends.
const FREE: Range<u8> = 2..112;

/// Returns the first register of each virtual register.
///
/// A lane's registers are only written by its own instructions. So the statements between which a virtual register is in use are
/// those of one lane that executes all of them; of the statements of a loop, it may execute the last one before the first.
///
/// # Errors
/// [`Error::Registers`] if they do not suffice.
pub(crate) fn allocate(function: &Function) -> Result<HashMap<VReg, u8>, Error> {
    let mut spans = spans(function);
    spans.sort_by_key(|(vreg, stmts)| (stmts.start, *vreg));
    let mut taken: Vec<(usize, Range<u8>)> = Vec::new();
    let mut found = HashMap::new();
    for (vreg, stmts) in spans {
        taken.retain(|(end, _)| *end > stmts.start);
        let count = function.vregs.get(vreg.0 as usize).copied().unwrap_or(1);
        let step = if count > 1 { 2 } else { 1 };
        let is_free = |first: &u8| {
            let wanted = *first..*first + count;
            wanted.end <= FREE.end
                && taken.iter().all(|(_, used)| used.end <= wanted.start || wanted.end <= used.start)
        };
        let first = FREE.step_by(step).find(is_free);
        let first = first.ok_or(Error::Registers { wanted: count, of: FREE.len() as u8 })?;
        taken.push((stmts.end, first..first + count));
        found.insert(vreg, first);
    }
    Ok(found)
}

/// Returns the statements between which each virtual register is in use.
fn spans(function: &Function) -> Vec<(VReg, Range<usize>)> {
    let mut spans: HashMap<VReg, Range<usize>> = HashMap::new();
    let (mut open, mut loops) = (Vec::new(), Vec::new());
    let mut uses: Vec<(VReg, usize)> = Vec::new();
    for (place, stmt) in function.stmts.iter().enumerate() {
        match stmt {
            Stmt::Instr(instr) => {
                for at in instr.places() {
                    if let RegRef::VReg(vreg, _) = at {
                        let span = spans.entry(vreg).or_insert(place..place + 1);
                        span.end = place + 1;
                        uses.push((vreg, place));
                    }
                }
            }
            Stmt::LoopBegin => open.push(place),
            Stmt::LoopEnd => loops.extend(open.pop().map(|start| start..place + 1)),
            Stmt::Label(_) => {}
        }
    }
    // Inner loops come first, so that what lives in them lives in those around, too.
    for stmts in loops {
        for (vreg, _) in uses.iter().filter(|(_, place)| stmts.contains(place)) {
            let Some(span) = spans.get_mut(vreg) else { continue };
            if span.start < stmts.start || function.variables.contains(vreg) {
                span.start = span.start.min(stmts.start);
                span.end = span.end.max(stmts.end);
            }
        }
    }
    spans.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::instr::{Dst, Instr, Operand};
    use intel_eu::{Opcode, Type};

    /// A statement that writes the first virtual register and reads the others.
    fn stmt(to: VReg, from: &[VReg]) -> Stmt {
        let sources: Vec<_> = from.iter().map(|vreg| Operand::lanes(*vreg, Type::Ud)).collect();
        Stmt::Instr(Instr::of(Opcode::Add, Dst::lanes(to, Type::Ud), &sources))
    }

    fn vregs(function: &mut Function, count: usize) -> Vec<VReg> {
        (0..count).map(|_| function.vreg(2)).collect()
    }

    #[test]
    fn registers_are_used_again_when_nothing_reads_them_any_more() {
        let mut function = Function::default();
        let vregs = vregs(&mut function, 4);
        let [a, b, c, d] = vregs[..] else { panic!("four vregs") };
        function.stmts = vec![stmt(a, &[]), stmt(b, &[a]), stmt(c, &[b]), stmt(d, &[a, c])];
        let found = allocate(&function).unwrap();
        assert!(found[&a] != found[&b] && found[&a] != found[&c], "a is read at the end");
        assert_eq!(found[&d], found[&b], "the registers of b are free");
    }

    #[test]
    fn a_value_that_a_loop_reads_lives_to_its_end() {
        let mut function = Function::default();
        let vregs = vregs(&mut function, 3);
        let [before, inner, later] = vregs[..] else { panic!("three vregs") };
        let body = [stmt(inner, &[before]), stmt(later, &[inner])];
        function.stmts = vec![stmt(before, &[]), body[0].clone(), body[1].clone()];
        assert_eq!(allocate(&function).unwrap()[&later], 2, "without a loop, its registers are free");
        function.stmts =
            [vec![stmt(before, &[]), Stmt::LoopBegin], body.to_vec(), vec![Stmt::LoopEnd]].concat();
        assert_ne!(allocate(&function).unwrap()[&later], 2, "the loop may read it again");
    }

    #[test]
    fn too_many_values_at_once_are_refused() {
        let mut function = Function::default();
        let most = vregs(&mut function, FREE.len() / 2);
        let all = |vregs: &[VReg]| {
            let mut stmts: Vec<_> = vregs.iter().map(|vreg| stmt(*vreg, &[])).collect();
            stmts.extend(vregs.iter().map(|vreg| stmt(*vreg, &[*vreg])));
            stmts
        };
        function.stmts = all(&most);
        assert_eq!(allocate(&function).map(|found| found.len()), Ok(most.len()));
        let more = [most, vregs(&mut function, 1)].concat();
        function.stmts = all(&more);
        assert_eq!(allocate(&function), Err(Error::Registers { wanted: 2, of: 110 }));
    }
}
