//! Programs between SPIR-V and instructions: numbers in single static assignment, and structured control flow.
//!
//! Vectors, arrays and structs are taken apart into numbers. An operation is executed for each lane that is active. A number that may
//! be stored more than once is a variable.

mod print;
mod scalar;
pub(crate) mod walk;

pub use scalar::Scalar;

/// A number that one operation makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(pub(crate) u32);

/// A number that is stored any number of times. Undefined before the first store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Variable(pub(crate) u32);

/// A loop, or a block that can be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope(pub(crate) u32);

/// A surface: an entry of the binding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Surface(pub(crate) u8);

/// A number that a lane finds when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    /// The number of the lane's group, in one direction.
    WorkgroupId(u8),
    /// Its place in the group, in one direction.
    LocalId(u8),
    /// Groups, in one direction.
    NumWorkgroups(u8),
    /// The pixel's coordinate, in one direction, at its middle.
    FragCoord(u8),
    /// The number of the lane's thread.
    Thread,
    /// The number of the lane in its thread.
    Lane,
    /// A dword of the thread's constants.
    Constant(u8),
}

/// An operation on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    /// Negates an integer or a float.
    Negate,
    /// Inverts all bits, or a boolean.
    Not,
    /// Removes the sign.
    Absolute,
    /// Rounds a float to an integer: down.
    Floor,
    /// Up.
    Ceil,
    /// To zero.
    Truncate,
    /// To the nearest even one.
    Round,
    /// Counts the bits that are set.
    BitCount,
    /// The lowest bit that is set; all bits if there is none.
    LowestBit,
    /// The highest bit that is set; all bits if there is none.
    HighestBit,
    /// Reverses the order of bits.
    BitReverse,
    /// The square root of a float.
    Sqrt,
    /// 1 divided by it.
    Rsqrt,
    /// 2 to the power of a float.
    Exp2,
    /// Its logarithm to the base 2.
    Log2,
    /// The sine of an angle in radians.
    Sine,
    /// Its cosine.
    Cosine,
}

impl Unary {
    /// Returns the name in errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Negate => "the negation",
            Self::Not => "the inversion",
            Self::Absolute => "the absolute value",
            Self::Floor | Self::Ceil | Self::Truncate | Self::Round => "the rounding",
            Self::BitCount => "the count of bits",
            Self::LowestBit => "the lowest bit",
            Self::HighestBit => "the highest bit",
            Self::BitReverse => "the reversal of bits",
            Self::Sqrt => "the square root",
            Self::Rsqrt => "the inverse square root",
            Self::Exp2 => "the exponential",
            Self::Log2 => "the logarithm",
            Self::Sine => "the sine",
            Self::Cosine => "the cosine",
        }
    }
}

/// An operation on two numbers of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
    /// Adds.
    Add,
    /// Subtracts.
    Subtract,
    /// Multiplies.
    Multiply,
    /// The upper half of the product.
    MultiplyHigh {
        /// Of integers with a sign.
        signed: bool,
    },
    /// Divides.
    Divide {
        /// Integers with a sign.
        signed: bool,
    },
    /// The rest of a division, with the sign of the first.
    Remainder {
        /// Of integers with a sign.
        signed: bool,
    },
    /// The smaller one.
    Minimum {
        /// Of integers with a sign.
        signed: bool,
    },
    /// The larger one.
    Maximum {
        /// Of integers with a sign.
        signed: bool,
    },
    /// The bits of both.
    And,
    /// The bits of either.
    Or,
    /// The bits of one.
    Xor,
    /// Shifts bits up.
    ShiftLeft,
    /// Shifts bits down.
    ShiftRight {
        /// Copies of the sign follow.
        signed: bool,
    },
}

impl Binary {
    /// Returns the name in errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Add => "the sum",
            Self::Subtract => "the difference",
            Self::Multiply => "the product",
            Self::MultiplyHigh { .. } => "the upper half of the product",
            Self::Divide { .. } => "the quotient",
            Self::Remainder { .. } => "the rest of the division",
            Self::Minimum { .. } => "the minimum",
            Self::Maximum { .. } => "the maximum",
            Self::And | Self::Or | Self::Xor => "the combination of bits",
            Self::ShiftLeft | Self::ShiftRight { .. } => "the shift",
        }
    }
}

/// A comparison of two numbers of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    /// Equal; false if one is not a number.
    Equal,
    /// Not equal; true if one is not a number.
    Unequal,
    /// Less; false if one is not a number.
    Less {
        /// Integers with a sign.
        signed: bool,
    },
    /// Less or equal; false if one is not a number.
    LessOrEqual {
        /// Integers with a sign.
        signed: bool,
    },
}

/// A change of a number's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Conversion {
    /// Of an integer with a sign: its value, or its lower bits.
    Signed,
    /// Of an integer without a sign.
    Unsigned,
    /// Of a float to a float, or to an integer with a sign, to zero.
    Float,
    /// Of a float to an integer without a sign, to zero.
    FloatToUnsigned,
    /// Its bits.
    Bitcast,
}

/// An operation on a dword of a surface that others do not see half done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Atomic {
    /// Adds.
    Add,
    /// The smaller one.
    Minimum {
        /// Of integers with a sign.
        signed: bool,
    },
    /// The larger one.
    Maximum {
        /// Of integers with a sign.
        signed: bool,
    },
    /// The bits of both.
    And,
    /// The bits of either.
    Or,
    /// The bits of one.
    Xor,
    /// Stores.
    Exchange,
    /// Stores, if the old one is the third operand.
    CompareExchange(Value),
}

/// An operation that makes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// A constant, by its bits.
    Constant(u64),
    /// A number that a lane finds when it begins.
    Input(Input),
    /// An operation on one number.
    Unary(Unary, Value),
    /// An operation on two.
    Binary(Binary, Value, Value),
    /// The product of the first two, and the third, rounded once.
    Fma(Value, Value, Value),
    /// A comparison, whose operands have the type.
    Compare(Comparison, Scalar, Value, Value),
    /// The second number if the first is true, and the third if not.
    Select(Value, Value, Value),
    /// A conversion from a number of the type.
    Convert(Conversion, Scalar, Value),
    /// The number of a variable.
    LoadVar(Variable),
    /// A number of a surface, at an offset in bytes.
    Load(Surface, Value),
    /// The bytes of a surface.
    Size(Surface),
    /// An operation on a dword of a surface, at an offset in bytes; the old one.
    Atomic(Atomic, Surface, Value, Value),
    /// The difference to the neighbour in the pixel's quad, in one direction.
    Derivative(u8, Value),
    /// Whether a boolean variable is true for a lane of the pixel's quad; for lanes that are not active, too.
    QuadAny(Variable),
}

/// The end of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// It stores nothing more.
    Return,
    /// The same, of a pixel, whose outputs are not written.
    Kill,
    /// Its stores have no effect; it goes on for its neighbours' derivatives.
    Demote,
}

/// A part of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// Defines a value: the number that the operation makes.
    Def(Value, Operation),
    /// Stores a number in a variable.
    StoreVar(Variable, Value),
    /// Stores a number in a surface, at an offset in bytes.
    Store(Surface, Value, Value),
    /// Ends the lanes for which the number is true; all of them without one.
    End(End, Option<Value>),
    /// Parts for the lanes for which the number is true, and for the others.
    If(Value, Vec<Node>, Vec<Node>),
    /// A part that is repeated until all lanes have left it. The second one is executed after each time, also by lanes that continue.
    Loop(Scope, Vec<Node>, Vec<Node>),
    /// A part that can be left.
    Block(Scope, Vec<Node>),
    /// Leaves a loop or a block.
    Break(Scope),
    /// Goes on with the second part of a loop.
    Continue(Scope),
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Program {
    /// The types of values, by their numbers.
    pub(crate) values: Vec<Scalar>,
    /// The types of variables, by their numbers.
    pub(crate) variables: Vec<Scalar>,
    /// Number of scopes.
    pub(crate) scopes: u32,
    /// Lanes of a group, in three directions.
    pub(crate) group: [u32; 3],
    /// The surfaces whose sizes are among the constants, in their order, after three other words.
    pub(crate) sizes: Vec<Surface>,
    /// The nodes, in their order.
    pub(crate) body: Vec<Node>,
}

impl Program {
    /// Returns a new value of a type.
    pub(crate) fn value(&mut self, kind: Scalar) -> Value {
        self.values.push(kind);
        Value(self.values.len() as u32 - 1)
    }

    /// Returns a new variable of a type.
    pub(crate) fn variable(&mut self, kind: Scalar) -> Variable {
        self.variables.push(kind);
        Variable(self.variables.len() as u32 - 1)
    }

    /// Returns a new scope.
    pub(crate) fn scope(&mut self) -> Scope {
        self.scopes += 1;
        Scope(self.scopes - 1)
    }

    /// Returns the type of a value.
    pub(crate) fn kind(&self, value: Value) -> Scalar {
        self.values[value.0 as usize]
    }
}
