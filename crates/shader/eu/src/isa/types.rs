//! The types of operands.

use std::fmt;

use crate::Platform;

/// Codes of a type in one place of an instruction, by generation: graphics 7, 8 to 10, 11, 12, 12.5.
type Codes = [Option<u8>; 5];

macro_rules! codes {
    (@ -) => { None };
    (@ $code:literal) => { Some($code) };
    ($($code:tt)*) => { [$(codes!(@ $code)),*] };
}

macro_rules! types {
    ($($name:ident $text:literal $bytes:literal $base:ident [$($register:tt)*] [$($immediate:tt)*] $doc:literal)*) => {
        /// The type of an operand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Type {
            $(#[doc = $doc] $name,)*
        }

        /// Each type, in the order of the variants: name, bytes, base, codes in registers, codes of immediates.
        static TYPES: &[(Type, &str, u8, Base, Codes, Codes)] = &[
            $((Type::$name, $text, $bytes, Base::$base, codes!($($register)*), codes!($($immediate)*)),)*
        ];
    };
}

/// The numbers that a type stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// Unsigned integers.
    Unsigned,
    /// Signed integers, in two's complement.
    Signed,
    /// Floating-point numbers.
    Float,
}

// Sources: the Programmer's Reference Manuals, "Numeric Data Types"; Mesa's brw_reg_type.c; checked by iga64.
types! {
    Ub "ub" 1 Unsigned [4 4 4 0 0] [- - - - -] "Unsigned byte."
    B "b" 1 Signed [5 5 5 4 4] [- - - - -] "Signed byte."
    Uw "uw" 2 Unsigned [2 2 2 1 1] [2 2 2 1 1] "Unsigned word of 16 bits."
    W "w" 2 Signed [3 3 3 5 5] [3 3 3 5 5] "Signed word of 16 bits."
    Ud "ud" 4 Unsigned [0 0 0 2 2] [0 0 0 2 2] "Unsigned doubleword of 32 bits."
    D "d" 4 Signed [1 1 1 6 6] [1 1 1 6 6] "Signed doubleword of 32 bits."
    Uq "uq" 8 Unsigned [- 8 - - 3] [- 8 - - 3] "Unsigned quadword of 64 bits."
    Q "q" 8 Signed [- 9 - - 7] [- 9 - - 7] "Signed quadword of 64 bits."
    Hf "hf" 2 Float [- 10 8 9 9] [- 11 8 9 9] "Half float of 16 bits."
    F "f" 4 Float [7 7 9 10 10] [7 7 9 10 10] "Float of 32 bits."
    Df "df" 8 Float [6 6 - - 11] [- 10 - - 11] "Double float of 64 bits."
    Nf "nf" 8 Float [- - 11 - -] [- - - - -] "Native float of 66 bits, of accumulators."
    Bf "bf" 2 Float [- - - - -] [- - - - -] "Brain float of 16 bits: the upper half of a float, of operations with three sources."
    Uv "uv" 4 Unsigned [- - - - -] [4 4 4 0 0] "Vector of eight unsigned numbers of 4 bits."
    V "v" 4 Signed [- - - - -] [6 6 5 4 4] "Vector of eight signed numbers of 4 bits."
    Vf "vf" 4 Float [- - - - -] [5 5 11 8 8] "Vector of four floats of 8 bits."
}

fn column(platform: Platform) -> usize {
    match platform.graphics() {
        ..80 => 0,
        80..110 => 1,
        110..120 => 2,
        120..125 => 3,
        _ => 4,
    }
}

impl Type {
    /// Returns all types.
    pub fn all() -> impl Iterator<Item = Self> {
        TYPES.iter().map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, u8, Base, Codes, Codes) {
        &TYPES[self as usize]
    }

    /// Returns the name, as assembly has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the type of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TYPES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Returns the bytes of one element; of a vector, those of all of them.
    #[must_use]
    pub fn bytes(self) -> u8 {
        self.row().2
    }

    /// Returns the numbers that the type stands for.
    #[must_use]
    pub fn base(self) -> Base {
        self.row().3
    }

    /// Returns the code for a register; `None` if the platform lacks the type.
    pub(crate) fn register_code(self, platform: Platform) -> Option<u8> {
        self.row().4[column(platform)]
    }

    /// Returns the code for an immediate.
    pub(crate) fn immediate_code(self, platform: Platform) -> Option<u8> {
        self.row().5[column(platform)]
    }

    /// Returns the code in `dpas`, beside the bit for floats: of the destination and source 0, or, of 8 bits and less, of the others.
    pub(crate) fn systolic_code(self, is_factor: bool) -> Option<u8> {
        let row: &[(Self, u8)] = if is_factor {
            &[(Self::Ub, 0), (Self::B, 4), (Self::Hf, 1), (Self::Bf, 5)]
        } else {
            &[(Self::Ud, 2), (Self::D, 6), (Self::Hf, 1), (Self::F, 2), (Self::Bf, 5)]
        };
        row.iter().find(|one| one.0 == self).map(|one| one.1)
    }

    /// Returns the code in Align16 instructions of three sources (graphics 7 to 10).
    pub(crate) fn align16_code(self) -> Option<u8> {
        [Self::F, Self::D, Self::Ud, Self::Df, Self::Hf]
            .iter()
            .position(|kind| *kind == self)
            .map(|at| at as u8)
    }

    /// Returns the code in Align1 instructions of three sources (graphics 11 on), beside the bit for floats.
    pub(crate) fn three_code(self, platform: Platform) -> Option<u8> {
        let row: &[Option<Self>] = match (platform.graphics(), self.base()) {
            (..120, Base::Float) => &[Some(Self::Hf), Some(Self::F), Some(Self::Df), Some(Self::Nf)],
            (..120, _) => {
                &[Some(Self::Ud), Some(Self::D), Some(Self::Uw), Some(Self::W), Some(Self::Ub), Some(Self::B)]
            }
            (..125, Base::Float) => {
                &[None, Some(Self::Hf), Some(Self::F), Some(Self::Df), None, None, None, Some(Self::Nf)]
            }
            (_, Base::Float) => &[
                None,
                Some(Self::Hf),
                Some(Self::F),
                Some(Self::Df),
                None,
                Some(Self::Bf),
                None,
                Some(Self::Nf),
            ],
            (..125, _) => &[
                Some(Self::Ub),
                Some(Self::Uw),
                Some(Self::Ud),
                None,
                Some(Self::B),
                Some(Self::W),
                Some(Self::D),
            ],
            _ => &[
                Some(Self::Ub),
                Some(Self::Uw),
                Some(Self::Ud),
                Some(Self::Uq),
                Some(Self::B),
                Some(Self::W),
                Some(Self::D),
                Some(Self::Q),
            ],
        };
        row.iter().position(|kind| *kind == Some(self)).map(|at| at as u8)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
