//! Instructions that compute something that is not known, or not defined, whatever the values are.

use super::channels::Channels;
use super::decode::{Compute, Sign, Source};
use super::layout::Form;
use super::operation::{Function, Operation};
use super::registers::Place;
use super::types::Type;

/// The most channels of `math`, and the most of an instruction with 64 bits for each: an operand has two registers at most.
const MATH_CHANNELS: u32 = 16;
const OPERAND_BYTES: usize = 64;

impl Compute {
    /// Refuses what has no known effect.
    pub fn check(&self, form: Form, channels: &Channels) -> Result<(), String> {
        let refused = if self.sources.iter().any(|source| source.kind().is_float()) || self.kind.is_float() {
            self.refused_float()
        } else {
            self.refused_integer(form)
        };
        match refused.or_else(|| self.refused_flags(channels)).or_else(|| self.refused_size(channels)) {
            Some(what) => Err(what.to_owned()),
            None => Ok(()),
        }
    }

    fn is(&self, operation: Operation) -> bool {
        self.operation == operation
    }

    fn first(&self) -> Type {
        self.sources[0].kind()
    }

    fn last(&self) -> Type {
        self.sources[self.sources.len() - 1].kind()
    }

    fn has_result(&self) -> bool {
        self.destination.place != Place::Null
    }

    /// Instructions with a float among their operands.
    fn refused_float(&self) -> Option<&'static str> {
        let (first, last, to) = (self.first(), self.last(), self.kind);
        let doubles = [first, last, to].iter().filter(|kind| **kind == Type::Df).count();
        let singles = matches!(self.operation, Operation::Math(_));
        let is_move = self.is(Operation::Move);
        let refused = [
            (first.is_float() != last.is_float(), "sources that are floats and integers"),
            (!self.operation.has_floats(), "bits of a float"),
            (
                !first.is_float() && !is_move && !self.is(Operation::Add) && !self.is(Operation::Multiply),
                "a float of integers",
            ),
            (singles && [first, last, to] != [Type::F; 3], "a function of other types than F"),
            (
                self.operation.rounds() && (first == Type::Df || first != to),
                "a rounding that converts, or of a double",
            ),
            (!is_move && self.has_result() && !matches!(doubles, 0 | 3), "doubles with other floats"),
            (
                self.is(Operation::Compare)
                    && self.has_result()
                    && to.size() != first.size().max(last.size()),
                "the result of a comparison of floats in another size",
            ),
            (self.is(Operation::Select) && [first, last] != [to; 2], "a selection that converts"),
        ];
        refused.iter().find(|(is_so, _)| *is_so).map(|(_, what)| *what)
    }

    /// Instructions on integers alone.
    fn refused_integer(&self, form: Form) -> Option<&'static str> {
        let (first, last, to) = (self.first(), self.last(), self.kind);
        let conditional = self.condition.is_some();
        let wide = [first, last].map(|kind| kind.size() >= 4);
        let negated = |source: &&Source| matches!(source, Source::Register { kind, sign: Sign::Negated, .. } if !kind.is_signed());
        let negated = self.sources.iter().find(negated);
        let wraps = (self.is(Operation::Move) || self.is(Operation::Add)) && !self.saturate && !conditional;
        let dwords_multiply = form == Form::Gen8 && wide[0] && !self.saturate && !conditional;
        // The same number whether its lower half or all of it is taken.
        let short = matches!(self.sources.get(1), Some(Source::Immediate { word: 0..0x8000, .. }));
        let largest = first.size().max(last.size());
        let quadwords = [first, last, to].iter().any(|kind| kind.size() == 8);
        let divides = matches!(self.operation, Operation::Math(Function::Quotient | Function::Remainder));
        let refused = [
            (negated.is_some() && !wraps, "a negated unsigned source"),
            (
                negated.is_some_and(|source| to.size() == 8 && source.kind().size() < 8),
                "a negated unsigned source of a quadword",
            ),
            (
                self.is(Operation::Multiply) && wide[1] && !dwords_multiply && !short,
                "a product with a dword as its second source",
            ),
            (self.is(Operation::Multiply) && quadwords, "a product of quadwords"),
            (self.is(Operation::ShiftRight) && first.is_signed(), "a logical shift of a signed source"),
            (
                self.is(Operation::ShiftSigned) && !first.is_signed(),
                "an arithmetic shift of an unsigned source",
            ),
            (
                self.operation.is_of_dwords() && (first != Type::Ud || to.size() != 4 || self.saturate),
                "the bits of something else than a dword",
            ),
            (
                matches!(self.operation, Operation::Math(_)) && !divides || self.operation.rounds(),
                "an operation on floats with integers",
            ),
            (
                divides && (first != last || first != to || first.size() != 4),
                "a division of other types than D or UD",
            ),
            // Bytes are selected as words.
            (
                self.is(Operation::Select) && ![largest, largest.max(2)].contains(&to.size()),
                "a selection that converts",
            ),
        ];
        refused.iter().find(|(is_so, _)| *is_so).map(|(_, what)| *what)
    }

    /// Conditions and predicates that an operation does not have.
    fn refused_flags(&self, channels: &Channels) -> Option<&'static str> {
        let (conditional, predicated) = (self.condition.is_some(), channels.predicate.is_some());
        let without = matches!(self.operation, Operation::Math(_))
            || self.operation.is_of_dwords()
            || self.operation.rounds();
        let refused = [
            (self.is(Operation::Compare) && !conditional, "a comparison without a condition"),
            (
                self.is(Operation::Select) && conditional == predicated,
                "a selection by a condition and a predicate, or by neither",
            ),
            (without && conditional, "the condition of a function or of a rounding"),
        ];
        refused.iter().find(|(is_so, _)| *is_so).map(|(_, what)| *what)
    }

    /// Operands that are too large.
    fn refused_size(&self, channels: &Channels) -> Option<&'static str> {
        let spans = channels.count as usize * self.kind.size() * self.destination.vertical > OPERAND_BYTES;
        let refused = [
            (
                matches!(self.operation, Operation::Math(_)) && channels.count > MATH_CHANNELS,
                "a function of 32 channels",
            ),
            (spans && self.has_result(), "a destination of more than two registers"),
        ];
        refused.iter().find(|(is_so, _)| *is_so).map(|(_, what)| *what)
    }
}
