//! The opcodes.

use std::fmt;

use crate::{Platform, Type};

/// The operands of an instruction, and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// None.
    Nothing,
    /// A destination and so many sources, 1 or 2.
    Basic(u8),
    /// A destination and three sources.
    Three,
    /// A destination and three sources of a matrix operation, which are whole registers.
    Systolic,
    /// A destination, and the distance to the end of the block (JIP).
    Jump,
    /// The same, and the distance to the end of the loop (UIP).
    Jumps,
    /// A destination, a payload and a message.
    Send,
    /// A destination, two payloads and a message.
    SplitSend,
}

macro_rules! opcodes {
    (@ -) => { None };
    (@ $code:literal) => { Some($code) };
    ($($name:ident $text:literal $before:tt $after:tt $from:literal..=$to:literal $form:expr;)*) => {
        /// An operation of the execution units.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the variants are the manuals' names")]
        pub enum Opcode {
            $($name,)*
        }

        /// Each opcode, in the order of the variants: name, number below graphics 12, number from there on, first and last graphics, form.
        static OPCODES: &[(Opcode, &str, Option<u8>, Option<u8>, u8, u8, Form)] = &[
            $((Opcode::$name, $text, opcodes!(@ $before), opcodes!(@ $after), $from, $to, $form),)*
        ];
    };
}

use Form::{Basic, Jump, Jumps, Nothing, Send, SplitSend, Systolic, Three};

// Sources: the Programmer's Reference Manuals, "EU Opcode Encoding"; Mesa's brw_eu.c; checked by iga64.
opcodes! {
    Illegal "illegal" 0 0 70..=125 Nothing;
    Sync "sync" - 1 120..=125 Basic(1);
    Mov "mov" 1 97 70..=125 Basic(1);
    Sel "sel" 2 98 70..=125 Basic(2);
    Movi "movi" 3 99 70..=125 Basic(1);
    Not "not" 4 100 70..=125 Basic(1);
    And "and" 5 101 70..=125 Basic(2);
    Or "or" 6 102 70..=125 Basic(2);
    Xor "xor" 7 103 70..=125 Basic(2);
    Shr "shr" 8 104 70..=125 Basic(2);
    Shl "shl" 9 105 70..=125 Basic(2);
    Dim "dim" 10 - 75..=75 Basic(1);
    Smov "smov" 10 - 80..=110 Basic(2);
    Asr "asr" 12 108 70..=125 Basic(2);
    Ror "ror" 14 110 110..=125 Basic(2);
    Rol "rol" 15 111 110..=125 Basic(2);
    Cmp "cmp" 16 112 70..=125 Basic(2);
    Cmpn "cmpn" 17 113 70..=125 Basic(2);
    Csel "csel" 18 114 80..=125 Three;
    F32to16 "f32to16" 19 - 70..=75 Basic(1);
    F16to32 "f16to32" 20 - 70..=75 Basic(1);
    Bfrev "bfrev" 23 119 70..=125 Basic(1);
    Bfe "bfe" 24 120 70..=125 Three;
    Bfi1 "bfi1" 25 121 70..=125 Basic(2);
    Bfi2 "bfi2" 26 122 70..=125 Three;
    Jmpi "jmpi" 32 32 70..=125 Basic(2);
    Brd "brd" 33 33 70..=125 Jump;
    If "if" 34 34 70..=125 Jumps;
    Brc "brc" 35 35 70..=125 Jumps;
    Else "else" 36 36 70..=125 Jumps;
    Endif "endif" 37 37 70..=125 Jump;
    While "while" 39 39 70..=125 Jump;
    Break "break" 40 40 70..=125 Jumps;
    Cont "cont" 41 41 70..=125 Jumps;
    Halt "halt" 42 42 70..=125 Jumps;
    Calla "calla" 43 43 70..=125 Jump;
    Call "call" 44 44 70..=125 Jump;
    Ret "ret" 45 45 70..=125 Basic(1);
    Goto "goto" 46 46 80..=125 Jumps;
    Join "join" 47 47 80..=125 Jump;
    Wait "wait" 48 - 70..=110 Basic(1);
    Send "send" 49 49 70..=125 Send;
    Sendc "sendc" 50 50 70..=125 Send;
    Sends "sends" 51 - 90..=110 SplitSend;
    Sendsc "sendsc" 52 - 90..=110 SplitSend;
    Math "math" 56 56 70..=125 Basic(2);
    Add "add" 64 64 70..=125 Basic(2);
    Mul "mul" 65 65 70..=125 Basic(2);
    Avg "avg" 66 66 70..=125 Basic(2);
    Frc "frc" 67 67 70..=125 Basic(1);
    Rndu "rndu" 68 68 70..=125 Basic(1);
    Rndd "rndd" 69 69 70..=125 Basic(1);
    Rnde "rnde" 70 70 70..=125 Basic(1);
    Rndz "rndz" 71 71 70..=125 Basic(1);
    Mac "mac" 72 72 70..=125 Basic(2);
    Mach "mach" 73 73 70..=125 Basic(2);
    Lzd "lzd" 74 74 70..=125 Basic(1);
    Fbh "fbh" 75 75 70..=125 Basic(1);
    Fbl "fbl" 76 76 70..=125 Basic(1);
    Cbit "cbit" 77 77 70..=125 Basic(1);
    Addc "addc" 78 78 70..=125 Basic(2);
    Subb "subb" 79 79 70..=125 Basic(2);
    Sad2 "sad2" 80 - 70..=90 Basic(2);
    Sada2 "sada2" 81 - 70..=90 Basic(2);
    Add3 "add3" - 82 125..=125 Three;
    Dp4 "dp4" 84 - 70..=90 Basic(2);
    Dph "dph" 85 - 70..=90 Basic(2);
    Dp3 "dp3" 86 - 70..=90 Basic(2);
    Dp2 "dp2" 87 - 70..=90 Basic(2);
    Dp4a "dp4a" - 88 120..=125 Three;
    Line "line" 89 - 70..=90 Basic(2);
    Pln "pln" 90 - 70..=90 Basic(2);
    Mad "mad" 91 91 70..=125 Three;
    Lrp "lrp" 92 - 70..=90 Three;
    Madm "madm" 93 93 80..=125 Three;
    Dpas "dpas" - 89 125..=125 Systolic;
    Dpasw "dpasw" - 90 125..=125 Systolic;
    Bfn "bfn" - 107 125..=125 Three;
    Nop "nop" 126 96 70..=125 Nothing;
}

impl Opcode {
    fn row(self) -> &'static (Self, &'static str, Option<u8>, Option<u8>, u8, u8, Form) {
        &OPCODES[self as usize]
    }

    /// Returns the opcodes that a platform has.
    pub fn of(platform: Platform) -> impl Iterator<Item = Self> {
        OPCODES.iter().map(|row| row.0).filter(move |opcode| opcode.code(platform).is_some())
    }

    /// Returns the name, as assembly has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the platform's opcode of a name.
    #[must_use]
    pub fn from_name(name: &str, platform: Platform) -> Option<Self> {
        Self::of(platform).find(|opcode| opcode.name() == name)
    }

    /// Returns its operands, and where they are.
    #[must_use]
    pub fn form(self, platform: Platform) -> Form {
        match (self, platform.graphics()) {
            (Self::Else, ..80) | (Self::Jmpi, 120..) => Jump,
            (Self::Movi, 110..) => Basic(2),
            (Self::Send | Self::Sendc, 120..) => SplitSend,
            _ => self.row().6,
        }
    }

    /// Returns whether it has a function instead of a condition.
    pub(crate) fn has_function(self) -> bool {
        matches!(self, Self::Math | Self::Sync)
    }

    /// Returns the code of the type of its immediate; `None` if it takes none of that type.
    ///
    /// `dim` has a double of 64 bits after the code of a float, as `brw_set_src0` of Mesa writes it.
    pub(crate) fn immediate_code(self, kind: Type, platform: Platform) -> Option<u8> {
        match (self, kind) {
            (Self::Dim, Type::Df) => Type::F.immediate_code(platform),
            (Self::Dim, _) => None,
            (_, _) => kind.immediate_code(platform),
        }
    }

    /// Returns the bytes that distances of branches are counted in.
    pub(crate) fn distance_unit(self, platform: Platform) -> i64 {
        match (self, platform.graphics()) {
            (Self::Jmpi, 75..) | (Self::Call | Self::Calla, _) | (_, 80..) => 1,
            _ => 8,
        }
    }

    /// Returns the bytes from an instruction to the one that its distance is counted from.
    pub(crate) fn distance_start(self, platform: Platform) -> i64 {
        if self == Self::Jmpi && platform.graphics() < 120 { 16 } else { 0 }
    }

    /// Returns the number in instructions; `None` if the platform lacks the opcode.
    #[must_use]
    pub fn code(self, platform: Platform) -> Option<u8> {
        let (_, _, before, after, from, to, _) = *self.row();
        let graphics = platform.graphics();
        let is_missing = match (self, graphics) {
            (Self::Madm, 120) => true,
            (Self::Dpas | Self::Dpasw, _) => platform == Platform::Mtl,
            _ => false,
        };
        if is_missing || !(from..=to).contains(&graphics) {
            None
        } else if graphics < 120 {
            before
        } else {
            after
        }
    }

    /// Returns the platform's opcode of a number.
    pub(crate) fn from_code(code: u8, platform: Platform) -> Option<Self> {
        Self::of(platform).find(|opcode| opcode.code(platform) == Some(code))
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
