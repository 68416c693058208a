//! Legalisation: instructions that the platform does not allow, as others that do the same.
//!
//! The validator of `intel-eu` tells which rules an instruction breaks, and a table tells the repair of each rule. A repair makes
//! instructions that are repaired in turn, until the validator accepts all of them; one that cannot be repaired is refused. The pass
//! runs once, behind selection. Its temporaries lie at the start of registers.

mod long;

use intel_eu::{Base, Opcode, Platform, Rule, Type, Violation, execution_type, supports_conversion};

use crate::Error;
use crate::machine::draft::{Code, Draft, Elements, Line, Operand, Target, raw};
use crate::machine::encode::{Nominal, instruction};
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
pub(crate) fn legalize(platform: Platform, code: &mut Code) -> Result<(), Error> {
    let lines = std::mem::take(&mut code.lines);
    let mut pass = Pass { platform, code, depth: 0 };
    for line in lines {
        match line {
            Line::Do(draft) if draft.targets.is_none() && draft.message.is_none() => pass.add(draft)?,
            Line::Do(_) | Line::Here(_) | Line::Loop | Line::End => pass.code.lines.push(line),
        }
    }
    Ok(())
}

struct Pass<'a> {
    platform: Platform,
    code: &'a mut Code,
    depth: usize,
}

impl Pass<'_> {
    /// Adds an instruction, repaired.
    fn add(&mut self, draft: Draft) -> Result<(), Error> {
        self.depth += 1;
        let added = self.repair(draft);
        self.depth -= 1;
        added
    }

    fn repair(&mut self, draft: Draft) -> Result<(), Error> {
        if !supports_conversion(self.platform, &instruction(self.platform, &draft, &Nominal)) {
            return self.convert_later(draft);
        }
        let broken = violations(self.platform, &draft);
        let Some(first) = broken.first() else {
            self.code.lines.push(Line::Do(draft));
            return Ok(());
        };
        let repair_of =
            |violation: &Violation| REPAIRS.iter().find(|row| row.0 == violation.rule).map(|row| row.1);
        // A rule without a repair may hold when others do.
        let repair = broken.iter().filter_map(repair_of).min();
        if let Some(violation) = broken.iter().find(|one| matches!(one.rule, Rule::TypeCode | Rule::Double)) {
            let name = format!("{} with {} on {}", draft.opcode, violation.found, self.platform);
            return Err(Error::Opcode { name });
        }
        match repair.filter(|_| self.depth <= DEEPEST) {
            Some(Repair::Dwords) => self.in_dwords(draft),
            Some(Repair::Steps) => self.in_steps(draft),
            Some(Repair::Words) => self.bytes_as_words(draft),
            Some(Repair::Destination) => self.wider_destination(draft),
            Some(Repair::Places) => self.same_places(draft),
            Some(Repair::Halves) if draft.lanes > FEWEST => self.halves(&draft),
            Some(Repair::Halves) | None => {
                Err(Error::Encoding { why: format!("{} on {}: {first}", draft.opcode, self.platform) })
            }
        }
    }

    /// Returns the type in which a draft computes.
    fn execution(&self, draft: &Draft) -> Type {
        let found = execution_type(self.platform, &instruction(self.platform, draft, &Nominal));
        found.unwrap_or(Type::Ud)
    }

    /// Returns a temporary for elements that lie so many bytes apart.
    fn temporary(&mut self, kind: Type, stride_bytes: u32, draft: &Draft) -> Target {
        regions::temporary(self.code, kind, stride_bytes, draft.lanes)
    }

    /// Lets a move behind the operation convert its result.
    fn convert_later(&mut self, draft: Draft) -> Result<(), Error> {
        let Some(to) = draft.destination else { return Ok(()) };
        let kind = self.execution(&draft);
        let between = self.temporary(kind, u32::from(kind.bytes()), &draft);
        let saturate = draft.saturate;
        let conversion = moved(&draft, to, Operand::Of(between.read(draft.lanes)));
        self.add(Draft { destination: Some(between), saturate: false, ..draft })?;
        // The predicate and the condition of a selection are those of its choice.
        self.add(Draft { saturate, ..conversion })
    }

    /// Converts by a type of 32 bits: half floats by floats, bytes by integers of their sign.
    fn in_steps(&mut self, draft: Draft) -> Result<(), Error> {
        const STEPS: [(Type, Type); 3] = [(Type::Hf, Type::F), (Type::B, Type::D), (Type::Ub, Type::Ud)];
        let middle = |kind: Type| STEPS.iter().find(|row| row.0 == kind).map(|row| row.1);
        let mut draft = draft;
        for place in 0..draft.sources.len() {
            if let Some(kind) = middle(draft.sources[place].kind()) {
                self.copy_source(&mut draft, place, kind)?;
            }
        }
        match draft.destination.and_then(|to| Some((to, middle(to.kind)?))) {
            None => self.add(draft),
            Some((to, kind)) => {
                let between = self.temporary(kind, u32::from(kind.bytes()), &draft);
                // A float behind the type's limits becomes the limit.
                let is_cut = self.execution(&draft).base() == Base::Float && to.kind.base() != Base::Float;
                let last = Draft {
                    saturate: draft.saturate || is_cut,
                    predicate: draft.predicate,
                    condition: draft.condition,
                    flag: draft.flag,
                    ..moved(&draft, to, Operand::Of(between.read(draft.lanes)))
                };
                self.add(Draft { destination: Some(between), condition: None, ..draft })?;
                self.add(last)
            }
        }
    }

    /// Replaces a source by its numbers in another type, which has all of them. Modifiers stay with the operation.
    fn copy_source(&mut self, draft: &mut Draft, place: usize, kind: Type) -> Result<(), Error> {
        let Operand::Of(elements) = draft.sources[place] else {
            return Ok(());
        };
        let between = self.temporary(kind, u32::from(kind.bytes()), draft);
        let plain = Elements { negate: false, absolute: false, ..elements };
        self.add(moved(draft, between, Operand::Of(plain)))?;
        draft.sources[place] = Operand::Of(Elements {
            negate: elements.negate,
            absolute: elements.absolute,
            ..between.read(draft.lanes)
        });
        Ok(())
    }

    fn bytes_as_words(&mut self, mut draft: Draft) -> Result<(), Error> {
        for place in 1..draft.sources.len() {
            let kind = draft.sources[place].kind();
            if kind.bytes() == 1 {
                let word = if kind.base() == Base::Signed { Type::W } else { Type::Uw };
                self.copy_source(&mut draft, place, word)?;
            }
        }
        self.add(draft)
    }

    fn wider_destination(&mut self, draft: Draft) -> Result<(), Error> {
        let Some(to) = draft.destination else { return self.add(draft) };
        // Half floats of integers have dwords, too.
        let bytes = u32::from(self.execution(&draft).bytes());
        let is_half = to.kind == Type::Hf || draft.sources.iter().any(|source| source.kind() == Type::Hf);
        self.by_temporary(draft, to, if is_half { bytes.max(4) } else { bytes })
    }

    /// Lets an operation write to a temporary with elements so many bytes apart, and copies it. An operation that leaves some lanes alone
    /// finds their old elements in the temporary.
    fn by_temporary(&mut self, draft: Draft, to: Target, stride_bytes: u32) -> Result<(), Error> {
        let between = self.temporary(to.kind, stride_bytes, &draft);
        if draft.predicate.is_some() && draft.opcode != Opcode::Sel {
            self.copy_raw(&draft, between, to.read(draft.lanes))?;
        }
        let copied = Draft { destination: Some(between), ..draft };
        self.add(copied.clone())?;
        self.copy_raw(&copied, to, between.read(copied.lanes))
    }

    /// Copies the bits of elements; those of 64 bits in dwords.
    fn copy_raw(&mut self, like: &Draft, to: Target, from: Elements) -> Result<(), Error> {
        let from = Elements { negate: false, absolute: false, ..from };
        if to.kind.bytes() < 8 {
            let kind = raw(to.kind.bytes());
            let from = Operand::Of(Elements { kind, ..from });
            return self.add(moved(like, Target { kind, ..to }, from));
        }
        for half in 0..2 {
            self.add(moved(
                like,
                regions::half_of_target(to, half),
                Operand::Of(regions::half_of_elements(from, half)),
            ))?;
        }
        Ok(())
    }

    fn same_places(&mut self, draft: Draft) -> Result<(), Error> {
        let Some(to) = draft.destination else { return self.add(draft) };
        let stride = regions::widest(&draft, self.execution(&draft));
        let mut draft = draft;
        for place in 0..draft.sources.len() {
            let Operand::Of(elements) = draft.sources[place] else { continue };
            if elements.is_scalar() || regions::is_at(&elements, stride, draft.lanes) {
                continue;
            }
            let between = self.temporary(elements.kind, stride, &draft);
            self.copy_raw(&draft, between, elements)?;
            let Elements { negate, absolute, .. } = elements;
            draft.sources[place] = Operand::Of(Elements { negate, absolute, ..between.read(draft.lanes) });
        }
        if regions::is_null(to) {
            let stride = (stride / u32::from(to.kind.bytes())) as u8;
            return self.add(Draft { destination: Some(Target { stride, ..to }), ..draft });
        }
        let is_there = regions::is_at(&to.read(draft.lanes), stride, draft.lanes);
        if is_there { self.add(draft) } else { self.by_temporary(draft, to, stride) }
    }

    fn halves(&mut self, draft: &Draft) -> Result<(), Error> {
        for half in 0..2 {
            self.add(regions::half_of_lanes(draft, half))?;
        }
        Ok(())
    }
}

/// Returns a move for the lanes of another instruction, without its predicate.
fn moved(like: &Draft, to: Target, from: Operand) -> Draft {
    let Draft { lanes, first, no_mask, .. } = *like;
    Draft { lanes, first, no_mask, ..Draft::of(Opcode::Mov, to, &[from]) }
}

#[cfg(test)]
mod tests;
