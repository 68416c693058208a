//! Divisions of 64-bit integers, bit by bit.

use super::{Made, UINT};
use crate::ir::{Binary, Comparison, Node, Operation, Scalar, Unary, Value, Variable};

/// Bits of a dividend.
const BITS: u64 = 64;
const LONG: Scalar = Scalar::Integer { bits: 64, signed: false };

impl Made<'_> {
    /// Returns the last operation of a division: the quotient, or the rest, which has the sign of the dividend.
    pub(super) fn long_division(
        &mut self,
        kind: Scalar,
        signed: bool,
        rest: bool,
        [a, b]: [Value; 2],
    ) -> Operation {
        if !signed {
            return Operation::LoadVar(self.divide([a, b])[usize::from(rest)]);
        }
        let [(a_negative, a_positive), (b_negative, b_positive)] =
            [a, b].map(|value| self.magnitude(kind, value));
        let variable = self.divide([a_positive, b_positive])[usize::from(rest)];
        let result = self.make(kind, Operation::LoadVar(variable));
        let negated = self.make(kind, Operation::Unary(Unary::Negate, result));
        let is_negative =
            if rest { a_negative } else { self.two(Scalar::Bool, Binary::Xor, a_negative, b_negative) };
        Operation::Select(is_negative, negated, result)
    }

    /// Returns whether a number is negative, and its absolute value.
    fn magnitude(&mut self, kind: Scalar, value: Value) -> (Value, Value) {
        let is_negative = self.is_negative(kind, value);
        let negated = self.make(kind, Operation::Unary(Unary::Negate, value));
        (is_negative, self.make(kind, Operation::Select(is_negative, negated, value)))
    }

    /// Returns a new variable with a number.
    fn variable(&mut self, kind: Scalar, bits: u64) -> Variable {
        let variable = self.program.variable(kind);
        let value = self.constant(kind, bits);
        self.nodes.push(Node::StoreVar(variable, value));
        variable
    }

    fn get(&mut self, kind: Scalar, variable: Variable) -> Value {
        self.make(kind, Operation::LoadVar(variable))
    }

    /// Divides without signs: a loop takes one bit of the dividend after the other, the highest one first. Returns the variables of the
    /// quotient and of the rest.
    fn divide(&mut self, [a, b]: [Value; 2]) -> [Variable; 2] {
        let (quotient, rest) = (self.variable(LONG, 0), self.variable(LONG, 0));
        let (dividend, count) = (self.program.variable(LONG), self.variable(UINT, 0));
        self.nodes.push(Node::StoreVar(dividend, a));
        let before = std::mem::take(&mut self.nodes);
        let scope = self.program.scope();
        let (one, last) = (self.constant(UINT, 1), self.constant(UINT, BITS - 1));
        let shift = Binary::ShiftRight { signed: false };
        let left = self.get(LONG, dividend);
        let bit = self.two(LONG, shift, left, last);
        let left = self.two(LONG, Binary::ShiftLeft, left, one);
        self.nodes.push(Node::StoreVar(dividend, left));
        let part = self.get(LONG, rest);
        let carried = self.two(LONG, shift, part, last);
        let part = self.two(LONG, Binary::ShiftLeft, part, one);
        let part = self.two(LONG, Binary::Or, part, bit);
        // The part may have one bit more than 64.
        let zero = self.constant(LONG, 0);
        let carries = self.make(Scalar::Bool, Operation::Compare(Comparison::Unequal, LONG, carried, zero));
        let at_most = Comparison::LessOrEqual { signed: false };
        let fits = self.make(Scalar::Bool, Operation::Compare(at_most, LONG, b, part));
        let fits = self.two(Scalar::Bool, Binary::Or, carries, fits);
        let less = self.two(LONG, Binary::Subtract, part, b);
        let part = self.make(LONG, Operation::Select(fits, less, part));
        self.nodes.push(Node::StoreVar(rest, part));
        let sum = self.get(LONG, quotient);
        let sum = self.two(LONG, Binary::ShiftLeft, sum, one);
        let long_one = self.constant(LONG, 1);
        let with_one = self.two(LONG, Binary::Or, sum, long_one);
        let sum = self.make(LONG, Operation::Select(fits, with_one, sum));
        self.nodes.push(Node::StoreVar(quotient, sum));
        let done = self.get(UINT, count);
        let done = self.two(UINT, Binary::Add, done, one);
        self.nodes.push(Node::StoreVar(count, done));
        let all = self.constant(UINT, BITS);
        let ends = self.make(Scalar::Bool, Operation::Compare(at_most, UINT, all, done));
        self.nodes.push(Node::If(ends, vec![Node::Break(scope)], Vec::new()));
        let body = std::mem::replace(&mut self.nodes, before);
        self.nodes.push(Node::Loop(scope, body, Vec::new()));
        [quotient, rest]
    }
}
