//! Where the fields of an instruction are, for each form of it.

/// The forms of instructions, and of the commands that start shaders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Haswell.
    Gen7,
    /// Gen8 and gen9.
    Gen8,
    Gen11,
    Gen12,
    /// 12.5 and later.
    XeHp,
}

/// The high and the low bit of a field.
pub type Field = (u32, u32);

/// The value of a field of 64 bits at most.
pub fn field(word: u128, (high, low): Field) -> u64 {
    (word >> low) as u64 & u64::MAX >> (63 + low - high)
}

/// Fields of instructions with one or two sources, and of messages.
pub struct Layout {
    /// Align16, where it exists: such instructions are not known here.
    pub align16: Option<Field>,
    /// The first channel, in fours and in eights.
    pub nibble: Field,
    pub quarter: Field,
    pub predicate: Field,
    pub inverse: Field,
    /// The logarithm of the number of channels.
    pub size: Field,
    /// The condition; the function of a message.
    pub condition: Field,
    pub saturate: Field,
    pub flag_half: Field,
    pub flag_register: Field,
    pub no_mask: Field,
    pub destination: DestinationFields,
    pub sources: [SourceFields; 2],
}

pub struct DestinationFields {
    pub file: Field,
    pub kind: Field,
    pub byte: Field,
    pub register: Field,
    pub stride: Field,
    pub indirect: Field,
}

pub struct SourceFields {
    pub file: Field,
    /// Says that it is an immediate; without, that is a file.
    pub immediate: Option<Field>,
    pub kind: Field,
    pub byte: Field,
    pub register: Field,
    pub absolute: Field,
    pub negate: Field,
    pub indirect: Field,
    pub horizontal: Field,
    pub width: Field,
    pub vertical: Field,
}

pub const OPCODE: Field = (6, 0);
pub const COMPACTED: Field = (29, 29);
/// The immediate of the last source.
pub const IMMEDIATE: Field = (127, 96);

const GEN8: Layout = Layout {
    align16: Some((8, 8)),
    nibble: (11, 11),
    quarter: (13, 12),
    predicate: (19, 16),
    inverse: (20, 20),
    size: (23, 21),
    condition: (27, 24),
    saturate: (31, 31),
    flag_half: (32, 32),
    flag_register: (33, 33),
    no_mask: (34, 34),
    destination: DestinationFields {
        file: (36, 35),
        kind: (40, 37),
        byte: (52, 48),
        register: (60, 53),
        stride: (62, 61),
        indirect: (63, 63),
    },
    sources: [
        SourceFields {
            file: (42, 41),
            immediate: None,
            kind: (46, 43),
            byte: (68, 64),
            register: (76, 69),
            absolute: (77, 77),
            negate: (78, 78),
            indirect: (79, 79),
            horizontal: (81, 80),
            width: (84, 82),
            vertical: (88, 85),
        },
        SourceFields {
            file: (90, 89),
            immediate: None,
            kind: (94, 91),
            byte: (100, 96),
            register: (108, 101),
            absolute: (109, 109),
            negate: (110, 110),
            indirect: (111, 111),
            horizontal: (113, 112),
            width: (116, 114),
            vertical: (120, 117),
        },
    ],
};

const GEN7: Layout = Layout {
    nibble: (47, 47),
    flag_half: (89, 89),
    flag_register: (90, 90),
    no_mask: (9, 9),
    destination: DestinationFields { file: (33, 32), kind: (36, 34), ..GEN8.destination },
    sources: {
        let [first, second] = GEN8.sources;
        [
            SourceFields { file: (38, 37), kind: (41, 39), ..first },
            SourceFields { file: (43, 42), kind: (46, 44), ..second },
        ]
    },
    ..GEN8
};

const GEN12: Layout = Layout {
    align16: None,
    nibble: (19, 19),
    quarter: (21, 20),
    predicate: (27, 24),
    inverse: (28, 28),
    size: (18, 16),
    condition: (95, 92),
    saturate: (34, 34),
    flag_half: (22, 22),
    flag_register: (23, 23),
    no_mask: (31, 31),
    destination: DestinationFields {
        file: (50, 50),
        kind: (39, 36),
        byte: (55, 51),
        register: (63, 56),
        stride: (49, 48),
        indirect: (35, 35),
    },
    sources: [
        SourceFields {
            file: (66, 66),
            immediate: Some((46, 46)),
            kind: (43, 40),
            byte: (71, 67),
            register: (79, 72),
            absolute: (44, 44),
            negate: (45, 45),
            indirect: (80, 80),
            horizontal: (65, 64),
            width: (83, 81),
            vertical: (87, 84),
        },
        SourceFields {
            file: (98, 98),
            immediate: Some((47, 47)),
            kind: (91, 88),
            byte: (103, 99),
            register: (111, 104),
            absolute: (120, 120),
            negate: (121, 121),
            indirect: (112, 112),
            horizontal: (97, 96),
            width: (115, 113),
            vertical: (119, 116),
        },
    ],
};

impl Form {
    pub fn layout(self) -> &'static Layout {
        match self {
            Self::Gen7 => &GEN7,
            Self::Gen8 | Self::Gen11 => &GEN8,
            Self::Gen12 | Self::XeHp => &GEN12,
        }
    }
}
