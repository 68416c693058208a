//! 64-bit integers in pairs of dwords, where the platform has no others.
//!
//! The dwords of a number lie side by side, the lower one first. Carries and choices use the spare flag register, so that the flags of the
//! program stay as they are.

use intel_eu::{Base, Condition, Opcode, Type};

use super::{Pass, moved};
use crate::Error;
use crate::machine::instr::{Dst, Instr, Operand, Predicate, RegRegion, SPARE_FLAG};
use crate::machine::regions;

/// The two dwords of numbers.
type Pair = [Operand; 2];

/// Returns a number of 32 bits.
const fn number(bits: u64) -> Operand {
    Operand::Imm { kind: Type::Ud, bits }
}

/// Returns whether a type is a 64-bit integer.
fn is_long(kind: Type) -> bool {
    matches!(kind, Type::Q | Type::Uq)
}

/// Returns an operand with another type of the same size.
fn retyped(operand: Operand, kind: Type) -> Operand {
    match operand {
        Operand::Reg(elements) => Operand::Reg(RegRegion { kind, ..elements }),
        Operand::Imm { bits, .. } => Operand::Imm { kind, bits },
    }
}

impl Pass<'_> {
    /// Adds an operation on 64-bit integers.
    pub(super) fn in_dwords(&mut self, instr: Instr) -> Result<(), Error> {
        let Some(to) = instr.destination else { return Err(refused(&instr)) };
        let is_comparison = matches!(instr.opcode, Opcode::Cmp | Opcode::Sel);
        if instr.saturate || instr.condition.is_some() && !is_comparison {
            return Err(refused(&instr));
        }
        match (instr.opcode, instr.sources.as_slice()) {
            (Opcode::Mov, &[from]) => self.move_long(&instr, to, from),
            (Opcode::Not, &[a]) => {
                let a = self.pair(&instr, a)?;
                let result = a.map(|half| (Opcode::Not, vec![half]));
                self.write_each(&instr, to, result)
            }
            (Opcode::And | Opcode::Or | Opcode::Xor, &[a, b]) => {
                let (a, b) = (self.pair(&instr, a)?, self.pair(&instr, b)?);
                self.write_each(&instr, to, [0, 1].map(|half| (instr.opcode, vec![a[half], b[half]])))
            }
            (Opcode::Add, &[a, b]) => self.add_long(&instr, to, a, b),
            (Opcode::Shl | Opcode::Shr | Opcode::Asr, &[a, count]) => self.shift_long(&instr, to, a, count),
            (Opcode::Cmp, &[a, b]) => self.compare_long(&instr, to, a, b),
            (Opcode::Sel, &[a, b]) => self.select_long(&instr, to, a, b),
            _ => Err(refused(&instr)),
        }
    }

    /// Returns the dwords of a source of any integer type.
    fn pair(&mut self, like: &Instr, from: Operand) -> Result<Pair, Error> {
        match from {
            Operand::Imm { bits, kind } => {
                let above = if kind.base() == Base::Signed && !is_long(kind) && bits >> 31 & 1 != 0 {
                    0xffff_ffff
                } else {
                    bits >> 32
                };
                Ok([number(bits & 0xffff_ffff), number(above)])
            }
            Operand::Reg(elements) if is_long(elements.kind) && !elements.negate && !elements.absolute => {
                Ok([0, 1].map(|half| Operand::Reg(regions::half_of_elements(elements, half))))
            }
            Operand::Reg(elements) => {
                let between = self.temporary(Type::Q, 8, like);
                self.move_long(&Instr { predicate: None, ..like.clone() }, between, Operand::Reg(elements))?;
                Ok([0, 1].map(|half| Operand::Reg(regions::half_of_elements(between.read(like.lanes), half))))
            }
        }
    }

    /// Returns a temporary of a dword for each lane.
    fn dword(&mut self, like: &Instr) -> Dst {
        self.temporary(Type::Ud, 4, like)
    }

    /// Adds an operation on dwords for the lanes of another one; without its predicate.
    fn step(&mut self, like: &Instr, opcode: Opcode, to: Dst, sources: &[Operand]) -> Result<(), Error> {
        let Instr { lanes, first, no_mask, .. } = *like;
        self.add(Instr { lanes, first, no_mask, ..Instr::of(opcode, to, sources) })
    }

    /// Adds an operation on dwords whose result is a new temporary.
    fn stepped(&mut self, like: &Instr, opcode: Opcode, sources: &[Operand]) -> Result<Operand, Error> {
        let to = self.dword(like);
        self.step(like, opcode, to, sources)?;
        Ok(Operand::Reg(to.read(like.lanes)))
    }

    /// Adds a comparison of dwords; its boolean is in a new temporary, and in the spare flag register.
    fn compare_dwords(
        &mut self,
        like: &Instr,
        condition: Condition,
        sources: [Operand; 2],
    ) -> Result<Operand, Error> {
        let to = self.temporary(sources[0].kind(), 4, like);
        let Instr { lanes, first, no_mask, .. } = *like;
        let compare = Instr::of(Opcode::Cmp, to, &sources);
        self.add(Instr { lanes, first, no_mask, condition: Some(condition), flag: SPARE_FLAG, ..compare })?;
        Ok(Operand::Reg(RegRegion { kind: Type::Ud, ..to.read(lanes) }))
    }

    /// Adds an operation for the lanes whose spare flag is set.
    fn step_when(
        &mut self,
        like: &Instr,
        opcode: Opcode,
        to: Operand,
        sources: &[Operand],
    ) -> Result<(), Error> {
        let Operand::Reg(to) = to else { return Err(refused(like)) };
        let to = Dst { at: to.at, kind: to.kind, stride: 1 };
        let Instr { lanes, first, no_mask, .. } = *like;
        let step = Instr { lanes, first, no_mask, flag: SPARE_FLAG, ..Instr::of(opcode, to, sources) };
        self.add(step.when(Predicate::SET))
    }

    /// Writes a pair, for the lanes of the operation's predicate.
    fn write(&mut self, like: &Instr, to: Dst, pair: Pair) -> Result<(), Error> {
        self.write_each(like, to, pair.map(|half| (Opcode::Mov, vec![half])))
    }

    /// Writes a pair of results, for the lanes of the operation's predicate. A destination that is no 64-bit integer has the lower one.
    fn write_each(
        &mut self,
        like: &Instr,
        to: Dst,
        results: [(Opcode, Vec<Operand>); 2],
    ) -> Result<(), Error> {
        let Instr { predicate, flag, lanes, first, no_mask, .. } = *like;
        for (half, (opcode, sources)) in (0..).zip(results) {
            let to = match (is_long(to.kind), half) {
                (true, _) => regions::half_of_target(to, half),
                (false, 0) => to,
                (false, _) => continue,
            };
            self.add(Instr { predicate, flag, lanes, first, no_mask, ..Instr::of(opcode, to, &sources) })?;
        }
        Ok(())
    }

    fn move_long(&mut self, instr: &Instr, to: Dst, from: Operand) -> Result<(), Error> {
        let kind = from.kind();
        let modified = matches!(from, Operand::Reg(elements) if elements.negate || elements.absolute);
        if kind.base() == Base::Float || to.kind.base() == Base::Float {
            return Err(refused(instr));
        }
        match from {
            Operand::Reg(elements) if modified && is_long(kind) && !elements.absolute => {
                self.add_long(instr, to, Operand::Imm { kind: Type::Q, bits: 0 }, from)
            }
            Operand::Reg(_) if modified => Err(refused(instr)),
            Operand::Reg(elements) if is_long(kind) => {
                let pair = [0, 1].map(|half| Operand::Reg(regions::half_of_elements(elements, half)));
                self.write(instr, to, pair)
            }
            Operand::Imm { .. } => {
                let pair = self.pair(instr, from)?;
                self.write(instr, to, pair)
            }
            Operand::Reg(_) => {
                let low =
                    self.temporary(if kind.base() == Base::Signed { Type::D } else { Type::Ud }, 4, instr);
                self.add(moved(instr, low, from))?;
                let low = Operand::Reg(low.read(instr.lanes));
                let high = match kind.base() {
                    Base::Signed => {
                        (Opcode::Asr, vec![retyped(low, Type::D), Operand::Imm { kind: Type::Ud, bits: 31 }])
                    }
                    Base::Unsigned | Base::Float => (Opcode::Mov, vec![number(0)]),
                };
                self.write_signed(instr, to, low, high)
            }
        }
    }

    /// Writes the lower dword, and the upper one by an operation, which may be one on signed numbers.
    fn write_signed(
        &mut self,
        instr: &Instr,
        to: Dst,
        low: Operand,
        high: (Opcode, Vec<Operand>),
    ) -> Result<(), Error> {
        let between = self.temporary(Type::D, 4, instr);
        self.step(instr, high.0, between, &high.1)?;
        let high = Operand::Reg(RegRegion { kind: Type::Ud, ..between.read(instr.lanes) });
        self.write(instr, to, [retyped(low, Type::Ud), high])
    }

    /// Adds; a negated second source is subtracted.
    fn add_long(&mut self, instr: &Instr, to: Dst, a: Operand, b: Operand) -> Result<(), Error> {
        let (b, subtracts) = match b {
            Operand::Reg(elements) if elements.negate && is_long(elements.kind) => {
                (Operand::Reg(RegRegion { negate: false, ..elements }), true)
            }
            Operand::Reg(_) | Operand::Imm { .. } => (b, false),
        };
        let (a, b) = (self.pair(instr, a)?, self.pair(instr, b)?);
        let [low_a, high_a] = [self.in_register(instr, a[0])?, self.in_register(instr, a[1])?];
        let signed = |half: Operand| if subtracts { half.negated() } else { half };
        let [low_b, high_b] =
            if subtracts { [self.in_register(instr, b[0])?, self.in_register(instr, b[1])?] } else { b };
        let low = self.stepped(instr, Opcode::Add, &[low_a, signed(low_b)])?;
        let high = self.stepped(instr, Opcode::Add, &[high_a, signed(high_b)])?;
        // The sum is less than a part if it carries; a part is less than what is subtracted if it borrows.
        let carries = if subtracts { [low_a, low_b] } else { [low, low_a] };
        self.compare_dwords(instr, Condition::Less, carries)?;
        let one = Operand::Imm { kind: Type::D, bits: if subtracts { 0xffff_ffff } else { 1 } };
        self.step_when(instr, Opcode::Add, retyped(high, Type::D), &[retyped(high, Type::D), one])?;
        self.write(instr, to, [low, high])
    }

    /// Returns an operand that is in registers: one that is a number, in a temporary.
    fn in_register(&mut self, like: &Instr, operand: Operand) -> Result<Operand, Error> {
        match operand {
            Operand::Reg(_) => Ok(operand),
            Operand::Imm { .. } => self.stepped(like, Opcode::Mov, &[operand]),
        }
    }

    /// Shifts. A dword's shift uses the lowest five bits of its count, so that the bits that cross are shifted by one, and by all others.
    fn shift_long(&mut self, instr: &Instr, to: Dst, a: Operand, count: Operand) -> Result<(), Error> {
        let [low, high] = self.pair(instr, a)?;
        let (low, high) = (self.in_register(instr, low)?, self.in_register(instr, high)?);
        let [count, _] = self.pair(instr, count)?;
        let count = self.in_register(instr, count)?;
        let rest = self.stepped(instr, Opcode::Not, &[count])?;
        let is_left = instr.opcode == Opcode::Shl;
        let (near, far) = if is_left { (low, high) } else { (high, low) };
        let back = if is_left { Opcode::Shr } else { Opcode::Shl };
        let forth = if is_left { Opcode::Shl } else { Opcode::Shr };
        let crossing = self.stepped(instr, back, &[near, number(1)])?;
        let crossing = self.stepped(instr, back, &[crossing, rest])?;
        let moved_far = self.stepped(instr, forth, &[far, count])?;
        let moved_far = self.stepped(instr, Opcode::Or, &[moved_far, crossing])?;
        let is_signed = instr.opcode == Opcode::Asr;
        let kind = if is_signed { Type::D } else { Type::Ud };
        let near = retyped(near, kind);
        let moved_near = self.temporary(kind, 4, instr);
        self.step(instr, instr.opcode, moved_near, &[near, count])?;
        let moved_near = Operand::Reg(RegRegion { kind: Type::Ud, ..moved_near.read(instr.lanes) });
        let filled = self.temporary(kind, 4, instr);
        match is_signed {
            true => self.step(instr, Opcode::Asr, filled, &[near, number(31)])?,
            false => self.step(instr, Opcode::Mov, filled, &[number(0)])?,
        }
        let filled = Operand::Reg(RegRegion { kind: Type::Ud, ..filled.read(instr.lanes) });
        let above = self.stepped(instr, Opcode::And, &[count, number(32)])?;
        self.compare_dwords(instr, Condition::NotZero, [above, number(0)])?;
        self.step_when(instr, Opcode::Mov, moved_far, &[moved_near])?;
        self.step_when(instr, Opcode::Mov, moved_near, &[filled])?;
        self.write(instr, to, if is_left { [moved_near, moved_far] } else { [moved_far, moved_near] })
    }

    /// Returns a dword of all bits for the lanes for which a condition holds, and of none for the others.
    fn holds(
        &mut self,
        instr: &Instr,
        condition: Condition,
        a: Operand,
        b: Operand,
    ) -> Result<Operand, Error> {
        let (is_signed, a, b) = (a.kind().base() == Base::Signed, self.pair(instr, a)?, self.pair(instr, b)?);
        let a = [self.in_register(instr, a[0])?, self.in_register(instr, a[1])?];
        let upper = |pair: Pair| if is_signed { retyped(pair[1], Type::D) } else { pair[1] };
        let equal = self.compare_dwords(instr, Condition::Zero, [a[1], b[1]])?;
        let (strict, lower) = match condition {
            Condition::Zero | Condition::NotZero => {
                let lower = self.compare_dwords(instr, Condition::Zero, [a[0], b[0]])?;
                let both = self.stepped(instr, Opcode::And, &[equal, lower])?;
                return if condition == Condition::Zero {
                    Ok(both)
                } else {
                    self.stepped(instr, Opcode::Not, &[both])
                };
            }
            Condition::Less | Condition::LessOrEqual => (Condition::Less, condition),
            Condition::Greater | Condition::GreaterOrEqual => (Condition::Greater, condition),
            Condition::Overflow | Condition::Unordered => return Err(refused(instr)),
        };
        let lower = self.compare_dwords(instr, lower, [a[0], b[0]])?;
        let lower = self.stepped(instr, Opcode::And, &[equal, lower])?;
        let above = self.compare_dwords(instr, strict, [upper(a), upper(b)])?;
        self.stepped(instr, Opcode::Or, &[above, lower])
    }

    fn compare_long(&mut self, instr: &Instr, to: Dst, a: Operand, b: Operand) -> Result<(), Error> {
        let Some(condition) = instr.condition.filter(|_| regions::is_null(to)) else {
            return Err(refused(instr));
        };
        let holds = self.holds(instr, condition, a, b)?;
        let null = Dst { kind: Type::Ud, ..to };
        let Instr { lanes, first, no_mask, predicate, flag, .. } = *instr;
        let compare = Instr {
            lanes,
            first,
            no_mask,
            predicate,
            flag,
            ..Instr::of(Opcode::Cmp, null, &[holds, number(0)])
        };
        self.add(Instr { condition: Some(Condition::NotZero), ..compare })
    }

    fn select_long(&mut self, instr: &Instr, to: Dst, a: Operand, b: Operand) -> Result<(), Error> {
        let mut chosen = instr.clone();
        if let Some(condition) = instr.condition {
            let holds = self.holds(instr, condition, a, b)?;
            self.compare_dwords(instr, Condition::NotZero, [holds, number(0)])?;
            chosen = Instr { condition: None, flag: SPARE_FLAG, ..chosen }.when(Predicate::SET);
        }
        let (a, b) = (self.pair(instr, a)?, self.pair(instr, b)?);
        let a = [self.in_register(instr, a[0])?, self.in_register(instr, a[1])?];
        self.write_each(&chosen, to, [0, 1].map(|half| (Opcode::Sel, vec![a[half], b[half]])))
    }
}

/// Returns the refusal of an operation.
fn refused(instr: &Instr) -> Error {
    let kinds: Vec<_> = instr.sources.iter().map(|source| source.kind().name()).collect();
    let to = instr.destination.map_or("nothing", |to| to.kind.name());
    let name =
        format!("{} of {} to {to} on a platform without 64-bit integers", instr.opcode, kinds.join(", "));
    Error::Opcode { name }
}
