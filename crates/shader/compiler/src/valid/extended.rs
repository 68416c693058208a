//! Instructions of the set GLSL.std.450.

#![expect(clippy::wildcard_enum_match_arm, reason = "the set has instructions that the compiler refuses")]

use rspirv::dr::{self, Operand};
use rspirv::spirv::{GlslStd450Op as Glsl, Op, Word};

use super::{Checker, Shape, float, integer, same_count, same_width};
use crate::Error;
use crate::ir::Scalar;
use crate::spirv::types::{Type, id, malformed};

/// The first operand after the set and the number of an instruction.
const FIRST: usize = 2;

impl Checker<'_> {
    /// Validates an instruction of the set. Another set's is left to the translation.
    pub(super) fn extended(&self, one: &dr::Instruction) -> Result<(), Error> {
        if one.class.opcode != Op::ExtInst || !self.is_glsl(id(one, 0)?) {
            return Ok(());
        }
        let Some(Operand::LiteralExtInstInteger(number)) = one.operands.get(1) else { return Ok(()) };
        let Some(function) = Glsl::from_u32(*number) else {
            return Err(malformed(one, &format!("GLSL.std.450 has no instruction {number}")));
        };
        let Some((count, rule)) = rule(function) else { return Ok(()) };
        if one.operands.len() != FIRST + count {
            let found = one.operands.len().saturating_sub(FIRST);
            return Err(malformed(one, &format!("{function:?} has {found} operands instead of {count}")));
        }
        match rule {
            Rule::Floats => {
                self.result_of(one, float, "floats")?;
                self.have_type(one, FIRST, self.result(one)?)
            }
            Rule::NarrowFloats => {
                let narrow = |kind| float(kind) && kind != Scalar::Float { bits: 64 };
                self.result_of(one, narrow, "floats of 16 or 32 bits")?;
                self.have_type(one, FIRST, self.result(one)?)
            }
            Rule::Integers => {
                let (kind, result) = self.result_of(one, integer, "integers")?;
                for place in FIRST..one.operands.len() {
                    let (own, count) = self.operand_of(one, place, integer, "integers")?;
                    same_count(one, count, result)?;
                    same_width(one, own, kind)?;
                }
                Ok(())
            }
            Rule::Length => {
                let (kind, count) = self.result_of(one, float, "floats")?;
                let (own, _) = self.operand_of(one, FIRST, float, "floats")?;
                if count != 1 || own != kind {
                    return Err(malformed(one, "its type is not that of the vector's components"));
                }
                self.have_type(one, FIRST + 1, self.of(one, FIRST)?)
            }
            Rule::Cross => {
                let (_, count) = self.result_of(one, float, "floats")?;
                same_count(one, count, 3)?;
                self.have_type(one, FIRST, self.result(one)?)
            }
            Rule::Refract => {
                self.result_of(one, float, "floats")?;
                let result = self.result(one)?;
                self.has_type(one, FIRST, result)?;
                self.has_type(one, FIRST + 1, result)?;
                match self.operand_of(one, FIRST + 2, float, "floats")? {
                    (_, 1) => Ok(()),
                    _ => Err(malformed(one, "its last operand is no float")),
                }
            }
            Rule::Square => self.square(one, function),
            Rule::Parts => self.parts_of_floats(one, function),
            Rule::Packed([result, operand]) => {
                // An integer has a sign, or none.
                let same = |a: Scalar, b: Scalar| a == b || integer(a) && integer(b) && a.bits() == b.bits();
                let fits = |of: Word, (kind, count): Shape| {
                    self.shape(of).is_some_and(|(own, of)| of == count && same(own, kind))
                };
                if fits(self.result(one)?, result) && fits(self.of(one, FIRST)?, operand) {
                    return Ok(());
                }
                Err(malformed(one, &format!("{function:?} has operands of other types")))
            }
        }
    }

    /// Returns whether an id is the set.
    fn is_glsl(&self, set: Word) -> bool {
        let import = self.results.get(&set).and_then(|found| found.operands.first());
        matches!(import, Some(Operand::LiteralString(name)) if name == "GLSL.std.450")
    }

    /// Validates a function of a square matrix.
    fn square(&self, one: &dr::Instruction, function: Glsl) -> Result<(), Error> {
        let (result, of) = (self.result(one)?, self.of(one, FIRST)?);
        let is_square = match self.globals.types.get(&of) {
            Some(Type::Matrix { column, count }) => {
                self.shape(*column).is_some_and(|(_, rows)| rows == *count)
            }
            _ => false,
        };
        let expected = if function == Glsl::MatrixInverse {
            of == result
        } else {
            self.shape(result).is_some_and(|(kind, count)| count == 1 && self.number_of(of) == Some(kind))
        };
        if is_square && expected {
            Ok(())
        } else {
            Err(malformed(one, "its operand is no square matrix, or its type does not fit"))
        }
    }

    /// Validates a function that takes floats apart, or puts them together.
    fn parts_of_floats(&self, one: &dr::Instruction, function: Glsl) -> Result<(), Error> {
        if matches!(function, Glsl::ModfStruct | Glsl::FrexpStruct) {
            let Some(Type::Struct { members }) = self.globals.types.get(&self.result(one)?) else {
                return Err(malformed(one, "its type is no struct"));
            };
            let [first, second] = *members.as_slice() else {
                return Err(malformed(one, "its type has not two members"));
            };
            let (_, count) = self.operand_of(one, FIRST, float, "floats")?;
            self.has_type(one, FIRST, first)?;
            let fits = match self.shape(second) {
                Some((kind, own)) if function == Glsl::FrexpStruct => integer(kind) && own == count,
                _ => function == Glsl::ModfStruct && second == first,
            };
            return if fits { Ok(()) } else { Err(malformed(one, "the second member has another type")) };
        }
        let (_, count) = self.result_of(one, float, "floats")?;
        let result = self.result(one)?;
        self.has_type(one, FIRST, result)?;
        match function {
            Glsl::Modf => {
                let (_, to) = self.pointer_of(one, self.of(one, FIRST + 1)?)?;
                if to == result { Ok(()) } else { Err(malformed(one, "the pointer is to another type")) }
            }
            Glsl::Frexp => self.is_pointer_to_integers(one, FIRST + 1, count),
            _ => {
                let (_, own) = self.operand_of(one, FIRST + 1, integer, "integers")?;
                same_count(one, own, count)
            }
        }
    }
}

/// The types that an instruction requires.
enum Rule {
    /// Operands of the result's type, which has floats.
    Floats,
    /// The same, but for doubles.
    NarrowFloats,
    /// Integers of the result's width, with a sign or without.
    Integers,
    /// Vectors, and a result of their components' type.
    Length,
    /// Vectors with three floats.
    Cross,
    /// Two vectors, and a float of any width.
    Refract,
    /// A square matrix.
    Square,
    /// Floats that are taken apart, or put together.
    Parts,
    /// The shapes of the result and of the operand.
    Packed([Shape; 2]),
}

/// Returns the number of operands of an instruction that the compiler may support, and the rule for them.
fn rule(function: Glsl) -> Option<(usize, Rule)> {
    let word = (Scalar::Integer { bits: 32, signed: false }, 1);
    let words = (word.0, 2);
    let floats = |count| (Scalar::Float { bits: 32 }, count);
    let double = (Scalar::Float { bits: 64 }, 1);
    Some(match function {
        Glsl::Round
        | Glsl::RoundEven
        | Glsl::Trunc
        | Glsl::FAbs
        | Glsl::FSign
        | Glsl::Floor
        | Glsl::Ceil
        | Glsl::Fract
        | Glsl::Sqrt
        | Glsl::InverseSqrt
        | Glsl::Normalize => (1, Rule::Floats),
        Glsl::FMin | Glsl::NMin | Glsl::FMax | Glsl::NMax | Glsl::Step | Glsl::Reflect => (2, Rule::Floats),
        Glsl::FClamp | Glsl::NClamp | Glsl::FMix | Glsl::SmoothStep | Glsl::Fma | Glsl::FaceForward => {
            (3, Rule::Floats)
        }
        Glsl::Radians
        | Glsl::Degrees
        | Glsl::Sin
        | Glsl::Cos
        | Glsl::Tan
        | Glsl::Asin
        | Glsl::Acos
        | Glsl::Atan
        | Glsl::Sinh
        | Glsl::Cosh
        | Glsl::Tanh
        | Glsl::Asinh
        | Glsl::Acosh
        | Glsl::Atanh
        | Glsl::Exp
        | Glsl::Log
        | Glsl::Exp2
        | Glsl::Log2 => (1, Rule::NarrowFloats),
        Glsl::Atan2 | Glsl::Pow => (2, Rule::NarrowFloats),
        Glsl::SAbs | Glsl::SSign | Glsl::FindILsb | Glsl::FindSMsb | Glsl::FindUMsb => (1, Rule::Integers),
        Glsl::UMin | Glsl::SMin | Glsl::UMax | Glsl::SMax => (2, Rule::Integers),
        Glsl::UClamp | Glsl::SClamp => (3, Rule::Integers),
        Glsl::Length => (1, Rule::Length),
        Glsl::Distance => (2, Rule::Length),
        Glsl::Cross => (2, Rule::Cross),
        Glsl::Refract => (3, Rule::Refract),
        Glsl::Determinant | Glsl::MatrixInverse => (1, Rule::Square),
        Glsl::ModfStruct | Glsl::FrexpStruct => (1, Rule::Parts),
        Glsl::Modf | Glsl::Frexp | Glsl::Ldexp => (2, Rule::Parts),
        Glsl::PackSnorm4x8 | Glsl::PackUnorm4x8 => (1, Rule::Packed([word, floats(4)])),
        Glsl::PackSnorm2x16 | Glsl::PackUnorm2x16 | Glsl::PackHalf2x16 => {
            (1, Rule::Packed([word, floats(2)]))
        }
        Glsl::UnpackSnorm4x8 | Glsl::UnpackUnorm4x8 => (1, Rule::Packed([floats(4), word])),
        Glsl::UnpackSnorm2x16 | Glsl::UnpackUnorm2x16 | Glsl::UnpackHalf2x16 => {
            (1, Rule::Packed([floats(2), word]))
        }
        Glsl::PackDouble2x32 => (1, Rule::Packed([double, words])),
        Glsl::UnpackDouble2x32 => (1, Rule::Packed([words, double])),
        _ => return None,
    })
}
