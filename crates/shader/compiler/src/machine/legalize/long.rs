//! 64-bit integers in pairs of dwords, where the platform has no others.
//!
//! The dwords of a number lie side by side, the lower one first. Carries and choices use the spare flag register, so that the flags of the
//! program stay as they are.

use intel_eu::{Base, Condition, Opcode, Type};

use super::{Pass, moved};
use crate::Error;
use crate::machine::draft::{Draft, Elements, Operand, Predicate, SPARE_FLAG, Target};
use crate::machine::regions;

/// The two dwords of numbers.
type Pair = [Operand; 2];

/// Returns a number of 32 bits.
const fn number(bits: u64) -> Operand {
    Operand::Number { kind: Type::Ud, bits }
}

/// Returns whether a type is a 64-bit integer.
fn is_long(kind: Type) -> bool {
    matches!(kind, Type::Q | Type::Uq)
}

/// Returns an operand with another type of the same size.
fn retyped(operand: Operand, kind: Type) -> Operand {
    match operand {
        Operand::Of(elements) => Operand::Of(Elements { kind, ..elements }),
        Operand::Number { bits, .. } => Operand::Number { kind, bits },
    }
}

impl Pass<'_> {
    /// Adds an operation on 64-bit integers.
    pub(super) fn in_dwords(&mut self, draft: Draft) -> Result<(), Error> {
        let Some(to) = draft.destination else { return Err(refused(&draft)) };
        let is_comparison = matches!(draft.opcode, Opcode::Cmp | Opcode::Sel);
        if draft.saturate || draft.condition.is_some() && !is_comparison {
            return Err(refused(&draft));
        }
        match (draft.opcode, draft.sources.as_slice()) {
            (Opcode::Mov, &[from]) => self.move_long(&draft, to, from),
            (Opcode::Not, &[a]) => {
                let a = self.pair(&draft, a)?;
                let result = a.map(|half| (Opcode::Not, vec![half]));
                self.write_each(&draft, to, result)
            }
            (Opcode::And | Opcode::Or | Opcode::Xor, &[a, b]) => {
                let (a, b) = (self.pair(&draft, a)?, self.pair(&draft, b)?);
                self.write_each(&draft, to, [0, 1].map(|half| (draft.opcode, vec![a[half], b[half]])))
            }
            (Opcode::Add, &[a, b]) => self.add_long(&draft, to, a, b),
            (Opcode::Shl | Opcode::Shr | Opcode::Asr, &[a, count]) => self.shift_long(&draft, to, a, count),
            (Opcode::Cmp, &[a, b]) => self.compare_long(&draft, to, a, b),
            (Opcode::Sel, &[a, b]) => self.select_long(&draft, to, a, b),
            _ => Err(refused(&draft)),
        }
    }

    /// Returns the dwords of a source of any integer type.
    fn pair(&mut self, like: &Draft, from: Operand) -> Result<Pair, Error> {
        match from {
            Operand::Number { bits, kind } => {
                let above = if kind.base() == Base::Signed && !is_long(kind) && bits >> 31 & 1 != 0 {
                    0xffff_ffff
                } else {
                    bits >> 32
                };
                Ok([number(bits & 0xffff_ffff), number(above)])
            }
            Operand::Of(elements) if is_long(elements.kind) && !elements.negate && !elements.absolute => {
                Ok([0, 1].map(|half| Operand::Of(regions::half_of_elements(elements, half))))
            }
            Operand::Of(elements) => {
                let between = self.temporary(Type::Q, 8, like);
                self.move_long(&Draft { predicate: None, ..like.clone() }, between, Operand::Of(elements))?;
                Ok([0, 1].map(|half| Operand::Of(regions::half_of_elements(between.read(like.lanes), half))))
            }
        }
    }

    /// Returns a temporary of a dword for each lane.
    fn dword(&mut self, like: &Draft) -> Target {
        self.temporary(Type::Ud, 4, like)
    }

    /// Adds an operation on dwords for the lanes of another one; without its predicate.
    fn step(&mut self, like: &Draft, opcode: Opcode, to: Target, sources: &[Operand]) -> Result<(), Error> {
        let Draft { lanes, first, no_mask, .. } = *like;
        self.add(Draft { lanes, first, no_mask, ..Draft::of(opcode, to, sources) })
    }

    /// Adds an operation on dwords whose result is a new temporary.
    fn stepped(&mut self, like: &Draft, opcode: Opcode, sources: &[Operand]) -> Result<Operand, Error> {
        let to = self.dword(like);
        self.step(like, opcode, to, sources)?;
        Ok(Operand::Of(to.read(like.lanes)))
    }

    /// Adds a comparison of dwords; its truth is in a new temporary, and in the spare flag register.
    fn truth(&mut self, like: &Draft, condition: Condition, sources: [Operand; 2]) -> Result<Operand, Error> {
        let to = self.temporary(sources[0].kind(), 4, like);
        let Draft { lanes, first, no_mask, .. } = *like;
        let compare = Draft::of(Opcode::Cmp, to, &sources);
        self.add(Draft { lanes, first, no_mask, condition: Some(condition), flag: SPARE_FLAG, ..compare })?;
        Ok(Operand::Of(Elements { kind: Type::Ud, ..to.read(lanes) }))
    }

    /// Adds an operation for the lanes whose spare flag is set.
    fn step_when(
        &mut self,
        like: &Draft,
        opcode: Opcode,
        to: Operand,
        sources: &[Operand],
    ) -> Result<(), Error> {
        let Operand::Of(to) = to else { return Err(refused(like)) };
        let to = Target { at: to.at, kind: to.kind, stride: 1 };
        let Draft { lanes, first, no_mask, .. } = *like;
        let step = Draft { lanes, first, no_mask, flag: SPARE_FLAG, ..Draft::of(opcode, to, sources) };
        self.add(step.when(Predicate::SET))
    }

    /// Writes a pair, for the lanes of the operation's predicate.
    fn write(&mut self, like: &Draft, to: Target, pair: Pair) -> Result<(), Error> {
        self.write_each(like, to, pair.map(|half| (Opcode::Mov, vec![half])))
    }

    /// Writes a pair of results, for the lanes of the operation's predicate. A destination that is no 64-bit integer has the lower one.
    fn write_each(
        &mut self,
        like: &Draft,
        to: Target,
        results: [(Opcode, Vec<Operand>); 2],
    ) -> Result<(), Error> {
        let Draft { predicate, flag, lanes, first, no_mask, .. } = *like;
        for (half, (opcode, sources)) in (0..).zip(results) {
            let to = match (is_long(to.kind), half) {
                (true, _) => regions::half_of_target(to, half),
                (false, 0) => to,
                (false, _) => continue,
            };
            self.add(Draft { predicate, flag, lanes, first, no_mask, ..Draft::of(opcode, to, &sources) })?;
        }
        Ok(())
    }

    fn move_long(&mut self, draft: &Draft, to: Target, from: Operand) -> Result<(), Error> {
        let kind = from.kind();
        let modified = matches!(from, Operand::Of(elements) if elements.negate || elements.absolute);
        if kind.base() == Base::Float || to.kind.base() == Base::Float {
            return Err(refused(draft));
        }
        match from {
            Operand::Of(elements) if modified && is_long(kind) && !elements.absolute => {
                self.add_long(draft, to, Operand::Number { kind: Type::Q, bits: 0 }, from)
            }
            Operand::Of(_) if modified => Err(refused(draft)),
            Operand::Of(elements) if is_long(kind) => {
                let pair = [0, 1].map(|half| Operand::Of(regions::half_of_elements(elements, half)));
                self.write(draft, to, pair)
            }
            Operand::Number { .. } => {
                let pair = self.pair(draft, from)?;
                self.write(draft, to, pair)
            }
            Operand::Of(_) => {
                let low =
                    self.temporary(if kind.base() == Base::Signed { Type::D } else { Type::Ud }, 4, draft);
                self.add(moved(draft, low, from))?;
                let low = Operand::Of(low.read(draft.lanes));
                let high = match kind.base() {
                    Base::Signed => (
                        Opcode::Asr,
                        vec![retyped(low, Type::D), Operand::Number { kind: Type::Ud, bits: 31 }],
                    ),
                    Base::Unsigned | Base::Float => (Opcode::Mov, vec![number(0)]),
                };
                self.write_signed(draft, to, low, high)
            }
        }
    }

    /// Writes the lower dword, and the upper one by an operation, which may be one on signed numbers.
    fn write_signed(
        &mut self,
        draft: &Draft,
        to: Target,
        low: Operand,
        high: (Opcode, Vec<Operand>),
    ) -> Result<(), Error> {
        let between = self.temporary(Type::D, 4, draft);
        self.step(draft, high.0, between, &high.1)?;
        let high = Operand::Of(Elements { kind: Type::Ud, ..between.read(draft.lanes) });
        self.write(draft, to, [retyped(low, Type::Ud), high])
    }

    /// Adds; a negated second source is subtracted.
    fn add_long(&mut self, draft: &Draft, to: Target, a: Operand, b: Operand) -> Result<(), Error> {
        let (b, subtracts) = match b {
            Operand::Of(elements) if elements.negate && is_long(elements.kind) => {
                (Operand::Of(Elements { negate: false, ..elements }), true)
            }
            Operand::Of(_) | Operand::Number { .. } => (b, false),
        };
        let (a, b) = (self.pair(draft, a)?, self.pair(draft, b)?);
        let [low_a, high_a] = [self.in_register(draft, a[0])?, self.in_register(draft, a[1])?];
        let signed = |half: Operand| if subtracts { half.negated() } else { half };
        let [low_b, high_b] =
            if subtracts { [self.in_register(draft, b[0])?, self.in_register(draft, b[1])?] } else { b };
        let low = self.stepped(draft, Opcode::Add, &[low_a, signed(low_b)])?;
        let high = self.stepped(draft, Opcode::Add, &[high_a, signed(high_b)])?;
        // The sum is less than a part if it carries; a part is less than what is subtracted if it borrows.
        let carries = if subtracts { [low_a, low_b] } else { [low, low_a] };
        self.truth(draft, Condition::Less, carries)?;
        let one = Operand::Number { kind: Type::D, bits: if subtracts { 0xffff_ffff } else { 1 } };
        self.step_when(draft, Opcode::Add, retyped(high, Type::D), &[retyped(high, Type::D), one])?;
        self.write(draft, to, [low, high])
    }

    /// Returns an operand that is in registers: one that is a number, in a temporary.
    fn in_register(&mut self, like: &Draft, operand: Operand) -> Result<Operand, Error> {
        match operand {
            Operand::Of(_) => Ok(operand),
            Operand::Number { .. } => self.stepped(like, Opcode::Mov, &[operand]),
        }
    }

    /// Shifts. A dword's shift uses the lowest five bits of its count, so that the bits that cross are shifted by one, and by all others.
    fn shift_long(&mut self, draft: &Draft, to: Target, a: Operand, count: Operand) -> Result<(), Error> {
        let [low, high] = self.pair(draft, a)?;
        let (low, high) = (self.in_register(draft, low)?, self.in_register(draft, high)?);
        let [count, _] = self.pair(draft, count)?;
        let count = self.in_register(draft, count)?;
        let rest = self.stepped(draft, Opcode::Not, &[count])?;
        let is_left = draft.opcode == Opcode::Shl;
        let (near, far) = if is_left { (low, high) } else { (high, low) };
        let back = if is_left { Opcode::Shr } else { Opcode::Shl };
        let forth = if is_left { Opcode::Shl } else { Opcode::Shr };
        let crossing = self.stepped(draft, back, &[near, number(1)])?;
        let crossing = self.stepped(draft, back, &[crossing, rest])?;
        let moved_far = self.stepped(draft, forth, &[far, count])?;
        let moved_far = self.stepped(draft, Opcode::Or, &[moved_far, crossing])?;
        let is_signed = draft.opcode == Opcode::Asr;
        let kind = if is_signed { Type::D } else { Type::Ud };
        let near = retyped(near, kind);
        let moved_near = self.temporary(kind, 4, draft);
        self.step(draft, draft.opcode, moved_near, &[near, count])?;
        let moved_near = Operand::Of(Elements { kind: Type::Ud, ..moved_near.read(draft.lanes) });
        let filled = self.temporary(kind, 4, draft);
        match is_signed {
            true => self.step(draft, Opcode::Asr, filled, &[near, number(31)])?,
            false => self.step(draft, Opcode::Mov, filled, &[number(0)])?,
        }
        let filled = Operand::Of(Elements { kind: Type::Ud, ..filled.read(draft.lanes) });
        let above = self.stepped(draft, Opcode::And, &[count, number(32)])?;
        self.truth(draft, Condition::NotZero, [above, number(0)])?;
        self.step_when(draft, Opcode::Mov, moved_far, &[moved_near])?;
        self.step_when(draft, Opcode::Mov, moved_near, &[filled])?;
        self.write(draft, to, if is_left { [moved_near, moved_far] } else { [moved_far, moved_near] })
    }

    /// Returns a dword of all bits for the lanes for which a condition holds, and of none for the others.
    fn holds(
        &mut self,
        draft: &Draft,
        condition: Condition,
        a: Operand,
        b: Operand,
    ) -> Result<Operand, Error> {
        let (is_signed, a, b) = (a.kind().base() == Base::Signed, self.pair(draft, a)?, self.pair(draft, b)?);
        let a = [self.in_register(draft, a[0])?, self.in_register(draft, a[1])?];
        let upper = |pair: Pair| if is_signed { retyped(pair[1], Type::D) } else { pair[1] };
        let equal = self.truth(draft, Condition::Zero, [a[1], b[1]])?;
        let (strict, lower) = match condition {
            Condition::Zero | Condition::NotZero => {
                let lower = self.truth(draft, Condition::Zero, [a[0], b[0]])?;
                let both = self.stepped(draft, Opcode::And, &[equal, lower])?;
                return if condition == Condition::Zero {
                    Ok(both)
                } else {
                    self.stepped(draft, Opcode::Not, &[both])
                };
            }
            Condition::Less | Condition::LessOrEqual => (Condition::Less, condition),
            Condition::Greater | Condition::GreaterOrEqual => (Condition::Greater, condition),
            Condition::Overflow | Condition::Unordered => return Err(refused(draft)),
        };
        let lower = self.truth(draft, lower, [a[0], b[0]])?;
        let lower = self.stepped(draft, Opcode::And, &[equal, lower])?;
        let above = self.truth(draft, strict, [upper(a), upper(b)])?;
        self.stepped(draft, Opcode::Or, &[above, lower])
    }

    fn compare_long(&mut self, draft: &Draft, to: Target, a: Operand, b: Operand) -> Result<(), Error> {
        let Some(condition) = draft.condition.filter(|_| regions::is_null(to)) else {
            return Err(refused(draft));
        };
        let holds = self.holds(draft, condition, a, b)?;
        let null = Target { kind: Type::Ud, ..to };
        let Draft { lanes, first, no_mask, predicate, flag, .. } = *draft;
        let compare = Draft {
            lanes,
            first,
            no_mask,
            predicate,
            flag,
            ..Draft::of(Opcode::Cmp, null, &[holds, number(0)])
        };
        self.add(Draft { condition: Some(Condition::NotZero), ..compare })
    }

    fn select_long(&mut self, draft: &Draft, to: Target, a: Operand, b: Operand) -> Result<(), Error> {
        let mut chosen = draft.clone();
        if let Some(condition) = draft.condition {
            let holds = self.holds(draft, condition, a, b)?;
            self.truth(draft, Condition::NotZero, [holds, number(0)])?;
            chosen = Draft { condition: None, flag: SPARE_FLAG, ..chosen }.when(Predicate::SET);
        }
        let (a, b) = (self.pair(draft, a)?, self.pair(draft, b)?);
        let a = [self.in_register(draft, a[0])?, self.in_register(draft, a[1])?];
        self.write_each(&chosen, to, [0, 1].map(|half| (Opcode::Sel, vec![a[half], b[half]])))
    }
}

/// Returns the refusal of an operation.
fn refused(draft: &Draft) -> Error {
    let kinds: Vec<_> = draft.sources.iter().map(|source| source.kind().name()).collect();
    let to = draft.destination.map_or("nothing", |to| to.kind.name());
    let name =
        format!("{} of {} to {to} on a platform without 64-bit integers", draft.opcode, kinds.join(", "));
    Error::Opcode { name }
}
