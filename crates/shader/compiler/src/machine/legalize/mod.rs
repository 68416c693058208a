//! Legalisation: instructions that the platform does not allow, as others that do the same.
//!
//! The validator of `intel-eu` tells which rules an instruction breaks, and a table tells the repair of each rule. A repair makes
//! instructions that are repaired in turn, until the validator accepts all of them; one that cannot be repaired is refused. The pass
//! runs once, after selection. Its temporaries lie at the start of registers.

mod long;

use intel_eu::{Base, Opcode, Platform, Rule, Type, Violation, execution_type, supports_conversion};

use crate::Error;
use crate::machine::encode::{Nominal, instruction};
use crate::machine::instr::{Dst, Function, Instr, Operand, RegRegion, Stmt, raw};
use crate::machine::regions;
use crate::machine::rules::violations;

/// Most repairs that are nested in each other. Each kind is needed once, and halving four times.
const DEEPEST: usize = 12;

/// Lanes that are not split further: the masks of lanes have a place for each four.
const FEWEST: u8 = 4;

/// A repair of an instruction, the first one of a table's order first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Repair {
    /// 64-bit integers as pairs of dwords.
    Dwords,
    /// A conversion in two steps, by a type of 32 bits.
    Steps,
    /// Sources of bytes as words.
    Words,
    /// The destination by a temporary whose elements are as far apart as those of the execution type.
    Destination,
    /// Operands by temporaries, so that each lane has the same place in all of them.
    Places,
    /// The lanes in two halves.
    Halves,
}

/// The repairs of rules. The other rules have none.
const REPAIRS: &[(Rule, Repair)] = &[
    (Rule::Quadword, Repair::Dwords),
    (Rule::ByteToLong, Repair::Steps),
    (Rule::HalfToLong, Repair::Steps),
    (Rule::ByteSource, Repair::Words),
    (Rule::PackedByte, Repair::Destination),
    (Rule::DestinationStride, Repair::Destination),
    (Rule::DestinationAlignment, Repair::Destination),
    (Rule::HalfToIntegerStride, Repair::Destination),
    (Rule::HalfToIntegerAlignment, Repair::Destination),
    (Rule::HalfWords, Repair::Destination),
    (Rule::LongStride, Repair::Places),
    (Rule::LongRows, Repair::Places),
    (Rule::LongOffset, Repair::Places),
    (Rule::MovedLanes, Repair::Places),
    (Rule::RowCrossing, Repair::Halves),
    (Rule::SourceSpan, Repair::Halves),
    (Rule::DestinationSpan, Repair::Halves),
    (Rule::OwordSplit, Repair::Halves),
    (Rule::RegisterSplit, Repair::Halves),
    (Rule::MathSplit, Repair::Halves),
    (Rule::RegisterPairing, Repair::Halves),
    (Rule::PairedOffsets, Repair::Halves),
    (Rule::SourceInOneRegister, Repair::Halves),
    (Rule::MixedFloatSize, Repair::Halves),
    (Rule::MixedPackedSize, Repair::Halves),
];

/// Makes the code legal on a platform.
///
/// # Errors
/// [`Error::Encoding`] for an instruction that cannot be repaired, with the rule that it breaks; [`Error::Opcode`] for an operation on
/// 64-bit integers that cannot be done in dwords.
pub(crate) fn legalize(platform: Platform, function: &mut Function) -> Result<(), Error> {
    let stmts = std::mem::take(&mut function.stmts);
    let mut pass = Pass { platform, function, depth: 0 };
    for stmt in stmts {
        match stmt {
            Stmt::Instr(instr) if instr.targets.is_none() && instr.message.is_none() => pass.add(instr)?,
            Stmt::Instr(_) | Stmt::Label(_) | Stmt::LoopBegin | Stmt::LoopEnd => {
                pass.function.stmts.push(stmt)
            }
        }
    }
    Ok(())
}

struct Pass<'a> {
    platform: Platform,
    function: &'a mut Function,
    depth: usize,
}

impl Pass<'_> {
    /// Adds an instruction, repaired.
    fn add(&mut self, instr: Instr) -> Result<(), Error> {
        self.depth += 1;
        let added = self.repair(instr);
        self.depth -= 1;
        added
    }

    fn repair(&mut self, instr: Instr) -> Result<(), Error> {
        if !supports_conversion(self.platform, &instruction(self.platform, &instr, &Nominal)) {
            return self.convert_later(instr);
        }
        let broken = violations(self.platform, &instr);
        let Some(first) = broken.first() else {
            self.function.stmts.push(Stmt::Instr(instr));
            return Ok(());
        };
        let repair_of =
            |violation: &Violation| REPAIRS.iter().find(|row| row.0 == violation.rule).map(|row| row.1);
        // A rule without a repair may hold when others do.
        let repair = broken.iter().filter_map(repair_of).min();
        if let Some(violation) = broken.iter().find(|one| matches!(one.rule, Rule::TypeCode | Rule::Double)) {
            let name = format!("{} with {} on {}", instr.opcode, violation.found, self.platform);
            return Err(Error::Opcode { name });
        }
        match repair.filter(|_| self.depth <= DEEPEST) {
            Some(Repair::Dwords) => self.in_dwords(instr),
            Some(Repair::Steps) => self.in_steps(instr),
            Some(Repair::Words) => self.bytes_as_words(instr),
            Some(Repair::Destination) => self.wider_destination(instr),
            Some(Repair::Places) => self.same_places(instr),
            Some(Repair::Halves) if instr.lanes > FEWEST => self.halves(&instr),
            Some(Repair::Halves) | None => {
                Err(Error::Encoding { why: format!("{} on {}: {first}", instr.opcode, self.platform) })
            }
        }
    }

    /// Returns the type in which an instruction computes.
    fn execution(&self, instr: &Instr) -> Type {
        let found = execution_type(self.platform, &instruction(self.platform, instr, &Nominal));
        found.unwrap_or(Type::Ud)
    }

    /// Returns a temporary for elements that lie so many bytes apart.
    fn temporary(&mut self, kind: Type, stride_bytes: u32, instr: &Instr) -> Dst {
        regions::temporary(self.function, kind, stride_bytes, instr.lanes)
    }

    /// Lets a move after the operation convert its result.
    fn convert_later(&mut self, instr: Instr) -> Result<(), Error> {
        let Some(to) = instr.destination else { return Ok(()) };
        let kind = self.execution(&instr);
        let between = self.temporary(kind, u32::from(kind.bytes()), &instr);
        let saturate = instr.saturate;
        let conversion = moved(&instr, to, Operand::Reg(between.read(instr.lanes)));
        self.add(Instr { destination: Some(between), saturate: false, ..instr })?;
        // The predicate and the condition of a selection are those of its choice.
        self.add(Instr { saturate, ..conversion })
    }

    /// Converts by a type of 32 bits: half floats by floats, bytes by integers of their sign.
    fn in_steps(&mut self, instr: Instr) -> Result<(), Error> {
        const STEPS: [(Type, Type); 3] = [(Type::Hf, Type::F), (Type::B, Type::D), (Type::Ub, Type::Ud)];
        let middle = |kind: Type| STEPS.iter().find(|row| row.0 == kind).map(|row| row.1);
        let mut instr = instr;
        for place in 0..instr.sources.len() {
            if let Some(kind) = middle(instr.sources[place].kind()) {
                self.copy_source(&mut instr, place, kind)?;
            }
        }
        match instr.destination.and_then(|to| Some((to, middle(to.kind)?))) {
            None => self.add(instr),
            Some((to, kind)) => {
                let between = self.temporary(kind, u32::from(kind.bytes()), &instr);
                // A float after the type's limits becomes the limit.
                let is_cut = self.execution(&instr).base() == Base::Float && to.kind.base() != Base::Float;
                let last = Instr {
                    saturate: instr.saturate || is_cut,
                    predicate: instr.predicate,
                    condition: instr.condition,
                    flag: instr.flag,
                    ..moved(&instr, to, Operand::Reg(between.read(instr.lanes)))
                };
                self.add(Instr { destination: Some(between), condition: None, ..instr })?;
                self.add(last)
            }
        }
    }

    /// Replaces a source by its numbers in another type, which has all of them. Modifiers stay with the operation.
    fn copy_source(&mut self, instr: &mut Instr, place: usize, kind: Type) -> Result<(), Error> {
        let Operand::Reg(elements) = instr.sources[place] else {
            return Ok(());
        };
        let between = self.temporary(kind, u32::from(kind.bytes()), instr);
        let plain = RegRegion { negate: false, absolute: false, ..elements };
        self.add(moved(instr, between, Operand::Reg(plain)))?;
        instr.sources[place] = Operand::Reg(RegRegion {
            negate: elements.negate,
            absolute: elements.absolute,
            ..between.read(instr.lanes)
        });
        Ok(())
    }

    fn bytes_as_words(&mut self, mut instr: Instr) -> Result<(), Error> {
        for place in 1..instr.sources.len() {
            let kind = instr.sources[place].kind();
            if kind.bytes() == 1 {
                let word = if kind.base() == Base::Signed { Type::W } else { Type::Uw };
                self.copy_source(&mut instr, place, word)?;
            }
        }
        self.add(instr)
    }

    fn wider_destination(&mut self, instr: Instr) -> Result<(), Error> {
        let Some(to) = instr.destination else { return self.add(instr) };
        // Half floats of integers have dwords, too.
        let bytes = u32::from(self.execution(&instr).bytes());
        let is_half = to.kind == Type::Hf || instr.sources.iter().any(|source| source.kind() == Type::Hf);
        self.by_temporary(instr, to, if is_half { bytes.max(4) } else { bytes })
    }

    /// Lets an operation write to a temporary with elements so many bytes apart, and copies it. An operation that leaves some lanes alone
    /// finds their old elements in the temporary.
    fn by_temporary(&mut self, instr: Instr, to: Dst, stride_bytes: u32) -> Result<(), Error> {
        let between = self.temporary(to.kind, stride_bytes, &instr);
        if instr.predicate.is_some() && instr.opcode != Opcode::Sel {
            self.copy_raw(&instr, between, to.read(instr.lanes))?;
        }
        let copied = Instr { destination: Some(between), ..instr };
        self.add(copied.clone())?;
        self.copy_raw(&copied, to, between.read(copied.lanes))
    }

    /// Copies the bits of elements; those of 64 bits in dwords.
    fn copy_raw(&mut self, like: &Instr, to: Dst, from: RegRegion) -> Result<(), Error> {
        let from = RegRegion { negate: false, absolute: false, ..from };
        if to.kind.bytes() < 8 {
            let kind = raw(to.kind.bytes());
            let from = Operand::Reg(RegRegion { kind, ..from });
            return self.add(moved(like, Dst { kind, ..to }, from));
        }
        for half in 0..2 {
            self.add(moved(
                like,
                regions::half_of_target(to, half),
                Operand::Reg(regions::half_of_elements(from, half)),
            ))?;
        }
        Ok(())
    }

    fn same_places(&mut self, instr: Instr) -> Result<(), Error> {
        let Some(to) = instr.destination else { return self.add(instr) };
        let stride = regions::widest(&instr, self.execution(&instr));
        let mut instr = instr;
        for place in 0..instr.sources.len() {
            let Operand::Reg(elements) = instr.sources[place] else { continue };
            if elements.is_scalar() || regions::is_at(&elements, stride, instr.lanes) {
                continue;
            }
            let between = self.temporary(elements.kind, stride, &instr);
            self.copy_raw(&instr, between, elements)?;
            let RegRegion { negate, absolute, .. } = elements;
            instr.sources[place] = Operand::Reg(RegRegion { negate, absolute, ..between.read(instr.lanes) });
        }
        if regions::is_null(to) {
            let stride = (stride / u32::from(to.kind.bytes())) as u8;
            return self.add(Instr { destination: Some(Dst { stride, ..to }), ..instr });
        }
        let is_there = regions::is_at(&to.read(instr.lanes), stride, instr.lanes);
        if is_there { self.add(instr) } else { self.by_temporary(instr, to, stride) }
    }

    fn halves(&mut self, instr: &Instr) -> Result<(), Error> {
        for half in 0..2 {
            self.add(regions::half_of_lanes(instr, half))?;
        }
        Ok(())
    }
}

/// Returns a move for the lanes of another instruction, without its predicate.
fn moved(like: &Instr, to: Dst, from: Operand) -> Instr {
    let Instr { lanes, first, no_mask, .. } = *like;
    Instr { lanes, first, no_mask, ..Instr::of(Opcode::Mov, to, &[from]) }
}

#[cfg(test)]
mod tests;
