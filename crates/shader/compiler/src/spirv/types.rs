//! The types of a module.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use std::collections::{BTreeMap, HashMap};

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use crate::Error;
use crate::ir::Scalar;
use crate::spirv::constants::Constant;

/// Deepest nesting of types, so that the stack suffices for walks over them.
const DEEPEST: u32 = 32;
/// Largest number of elements of an array.
const MOST_ELEMENTS: u64 = 1 << 24;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// No value.
    Void,
    /// One number.
    Scalar(Scalar),
    /// Two to four numbers.
    Vector {
        /// Their type.
        of: Scalar,
        /// How many.
        count: u32,
    },
    /// Two to four vectors.
    Matrix {
        /// The type of a column.
        column: Word,
        /// How many.
        count: u32,
    },
    /// Elements, one after the other.
    Array {
        /// Their type.
        of: Word,
        /// How many; none if the buffer tells.
        count: Option<u64>,
    },
    /// Members.
    Struct {
        /// Their types.
        members: Vec<Word>,
    },
    /// A pointer.
    Pointer {
        /// The storage.
        class: StorageClass,
        /// The type of what it points to.
        to: Word,
    },
    /// A function.
    Function {
        /// The type of its result.
        result: Word,
        /// Those of its parameters.
        parameters: Vec<Word>,
    },
}

/// The types and constants of a module, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    /// The types.
    pub(crate) types: HashMap<Word, Type>,
    /// The constants.
    pub(crate) constants: HashMap<Word, Constant>,
    /// The sizes of types.
    sizes: HashMap<Word, Size>,
}

/// The size of a type, which bounds what is done for each part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Number of numbers: 1 or more, and the largest `u64` if a buffer tells it.
    pub(crate) numbers: u64,
    /// Bytes of its largest number.
    pub(crate) widest: u32,
    /// Types that are nested in it, one in the other.
    depth: u32,
}

/// Returns the error of an instruction that is malformed.
pub(crate) fn malformed(one: &dr::Instruction, why: &str) -> Error {
    let id = one.result_id.map_or(String::new(), |id| format!(" %{id}"));
    Error::Malformed { why: format!("Op{:?}{id}: {why}", one.class.opcode) }
}

/// Returns the error of an instruction that is not supported.
pub(crate) fn unsupported(one: &dr::Instruction) -> Error {
    Error::Opcode { name: format!("Op{:?}", one.class.opcode) }
}

/// Returns an id that is an operand.
pub(crate) fn id(one: &dr::Instruction, place: usize) -> Result<Word, Error> {
    match one.operands.get(place) {
        Some(Operand::IdRef(id)) => Ok(*id),
        _ => Err(malformed(one, "an operand is no id")),
    }
}

/// Returns a number that is an operand.
pub(crate) fn literal(one: &dr::Instruction, place: usize) -> Result<u32, Error> {
    match one.operands.get(place) {
        Some(Operand::LiteralBit32(number)) => Ok(*number),
        _ => Err(malformed(one, "an operand is no number")),
    }
}

/// Returns the type of numbers that an instruction declares.
pub(crate) fn scalar(one: &dr::Instruction) -> Result<Scalar, Error> {
    match one.class.opcode {
        Op::TypeBool => Ok(Scalar::Bool),
        Op::TypeInt => match (literal(one, 0)?, literal(one, 1)?) {
            (bits @ (8 | 16 | 32 | 64), signed @ (0 | 1)) => {
                Ok(Scalar::Integer { bits: bits as u8, signed: signed == 1 })
            }
            (bits, _) => Err(Error::Type { name: format!("integers of {bits} bits") }),
        },
        Op::TypeFloat => match literal(one, 0)? {
            bits @ (16 | 32 | 64) => Ok(Scalar::Float { bits: bits as u8 }),
            bits => Err(Error::Type { name: format!("floats of {bits} bits") }),
        },
        _ => Err(malformed(one, "it is no type of numbers")),
    }
}

impl Globals {
    /// Returns the types and constants of a module. `values` are the bits of specialization constants, by their ids.
    ///
    /// # Errors
    /// [`Error::Opcode`], [`Error::Type`]; [`Error::Malformed`].
    pub(crate) fn of(module: &dr::Module, values: &BTreeMap<Word, u64>) -> Result<Self, Error> {
        let mut globals = Self::default();
        for one in &module.types_global_values {
            globals.add(one, values)?;
        }
        Ok(globals)
    }

    fn add(&mut self, one: &dr::Instruction, values: &BTreeMap<Word, u64>) -> Result<(), Error> {
        let Some(result) = one.result_id else { return Ok(()) };
        if let Some(kind) = self.type_of(one)? {
            self.sizes.insert(result, self.size_of(one, &kind)?);
            self.types.insert(result, kind);
        } else if let Some(constant) = self.constant_of(one, result, values)? {
            self.constants.insert(result, constant);
        }
        Ok(())
    }

    /// Returns the type that an instruction declares, if it declares one.
    fn type_of(&self, one: &dr::Instruction) -> Result<Option<Type>, Error> {
        let known = |place| {
            let of = id(one, place)?;
            if self.types.contains_key(&of) { Ok(of) } else { Err(malformed(one, "a type is not known")) }
        };
        let ids = |from: usize| (from..one.operands.len()).map(known).collect::<Result<Vec<_>, _>>();
        Ok(Some(match one.class.opcode {
            Op::TypeVoid => Type::Void,
            Op::TypeBool | Op::TypeInt | Op::TypeFloat => Type::Scalar(scalar(one)?),
            Op::TypeVector => match (self.types.get(&id(one, 0)?), literal(one, 1)?) {
                (Some(Type::Scalar(of)), count @ 2..=4) => Type::Vector { of: *of, count },
                (_, count) => return Err(Error::Type { name: format!("vectors of {count} components") }),
            },
            Op::TypeMatrix => match (self.types.get(&id(one, 0)?), literal(one, 1)?) {
                (Some(Type::Vector { of: Scalar::Float { .. }, .. }), count @ 2..=4) => {
                    Type::Matrix { column: id(one, 0)?, count }
                }
                _ => return Err(malformed(one, "a matrix has 2 to 4 columns of floats")),
            },
            Op::TypeArray => {
                let of = known(0)?;
                match self.constants.get(&id(one, 1)?) {
                    Some(Constant::Scalar(Scalar::Integer { .. }, count @ 1..=MOST_ELEMENTS)) => {
                        Type::Array { of, count: Some(*count) }
                    }
                    _ => return Err(malformed(one, "the length is no constant, 0, or too large")),
                }
            }
            Op::TypeRuntimeArray => Type::Array { of: known(0)?, count: None },
            Op::TypeStruct if one.operands.is_empty() => {
                return Err(Error::Type { name: "structs without members".to_owned() });
            }
            Op::TypeStruct => Type::Struct { members: ids(0)? },
            Op::TypePointer => match one.operands.first() {
                Some(Operand::StorageClass(class)) => Type::Pointer { class: *class, to: known(1)? },
                _ => return Err(malformed(one, "an operand is no storage class")),
            },
            Op::TypeFunction => Type::Function { result: known(0)?, parameters: ids(1)? },
            opcode if opcode.is_type() => return Err(unsupported(one)),
            _ => return Ok(None),
        }))
    }

    /// Returns the size of a type that an instruction declares.
    fn size_of(&self, one: &dr::Instruction, kind: &Type) -> Result<Size, Error> {
        let number = |kind: Scalar| Size { numbers: 1, widest: u32::from(kind.bits()).div_ceil(8), depth: 0 };
        let of = |id: &Word| self.sizes.get(id).copied().ok_or_else(|| malformed(one, "a type is not known"));
        let times = |size: Size, count: u64| Size { numbers: size.numbers.saturating_mul(count), ..size };
        let size = match kind {
            Type::Void => Size { numbers: 1, widest: 1, depth: 0 },
            Type::Scalar(kind) => number(*kind),
            Type::Vector { of, count } => times(number(*of), u64::from(*count)),
            Type::Matrix { column, count } => times(of(column)?, u64::from(*count)),
            Type::Array { of: element, count } => times(of(element)?, count.unwrap_or(u64::MAX)),
            Type::Struct { members } => {
                let mut all = Size { numbers: 0, widest: 1, depth: 0 };
                for member in members {
                    let size = of(member)?;
                    all.numbers = all.numbers.saturating_add(size.numbers);
                    all.widest = all.widest.max(size.widest);
                    all.depth = all.depth.max(size.depth);
                }
                all
            }
            Type::Pointer { to, .. } => Size { numbers: 1, ..of(to)? },
            Type::Function { .. } => Size { numbers: 1, widest: 1, depth: 0 },
        };
        if size.depth >= DEEPEST {
            return Err(Error::Type { name: format!("types nested more than {DEEPEST} deep") });
        }
        Ok(Size { depth: size.depth + 1, ..size })
    }

    /// Returns the size of a type, if it is one.
    pub(crate) fn size(&self, of: Word) -> Option<Size> {
        self.sizes.get(&of).copied()
    }

    /// Returns the type of an instruction's result.
    pub(crate) fn result_type(&self, one: &dr::Instruction) -> Result<&Type, Error> {
        one.result_type
            .and_then(|of| self.types.get(&of))
            .ok_or_else(|| malformed(one, "its type is not known"))
    }
}
