//! Graphics 7 and 7.5: where the parts of a compacted instruction are, and its tables.
//!
//! Sources: "EU Compact Instruction" of the Programmer's Reference Manuals of Ivy Bridge and Haswell; the tables of iga64, and those
//! of Mesa's brw_eu_compact.c, which differ in row 10 of the subregisters: 0x500 there.

use super::layout::{Layout, Part, copy, index};
use crate::isa::Bits;

pub(super) static LAYOUT: Layout = Layout { basic: &BASIC, three: None, immediate: IMMEDIATE };

/// 13 bits, the highest of which is repeated, in the places of source 1's index and register.
pub(super) const IMMEDIATE: Bits = Bits(&[(39, 35), (63, 56)]);

static BASIC: [Part; 12] =
    basic(Bits(&[(90, 89), (31, 31), (23, 8)]), Bits(&[(63, 61), (46, 32)]), &DATATYPE);

/// Returns the parts of graphics 7 to 11, which differ in what the controls and the types stand for.
pub(super) const fn basic(control: Bits, datatype: Bits, datatypes: &'static [u64; 32]) -> [Part; 12] {
    [
        copy((6, 0), &[(6, 0)]),
        copy((7, 7), &[(30, 30)]),
        index("control", (12, 8), control, &CONTROL),
        index("data types", (17, 13), datatype, datatypes),
        index("subregisters", (22, 18), Bits(&[(100, 96), (68, 64), (52, 48)]), &SUBREGISTER),
        copy((23, 23), &[(28, 28)]),
        copy((27, 24), &[(27, 24)]),
        index("source 0", (34, 30), Bits(&[(88, 77)]), &SOURCE),
        index("source 1", (39, 35), Bits(&[(120, 109)]), &SOURCE),
        copy((47, 40), &[(60, 53)]),
        copy((55, 48), &[(76, 69)]),
        copy((63, 56), &[(108, 101)]),
    ]
}

/// The flag register, saturation, and bits 23 to 8. Graphics 8 to 11 have the same rows, of other bits.
static CONTROL: [u64; 32] = [
    0x2, 0x4000, 0x4001, 0x4002, 0x4003, 0x4004, 0x4005, 0x4007, 0x4008, 0x4009, 0x400d, 0x6000, 0x6001,
    0x6002, 0x6003, 0x6004, 0x6005, 0x6007, 0x6009, 0x600d, 0x6010, 0x6100, 0x8000, 0x8002, 0x8004, 0x8100,
    0x16000, 0x16010, 0x18000, 0x18100, 0x28000, 0x28100,
];

/// Files and types, and the destination's stride and address mode.
static DATATYPE: [u64; 32] = [
    0x8001, 0x8020, 0x8021, 0x8061, 0x80bd, 0x82fd, 0x83a1, 0x83a5, 0x83bd, 0x8421, 0x8c20, 0x8c21, 0x94a5,
    0x9ca4, 0x9ca5, 0xf3bd, 0xf79d, 0xf7bc, 0xf7bd, 0xffbc, 0x20c, 0x803d, 0x80a5, 0x8420, 0x94a4, 0x9c84,
    0xa509, 0xdfbd, 0xffbd, 0xbdac, 0xa528, 0xad28,
];

/// The subregisters of source 1, source 0 and the destination.
static SUBREGISTER: [u64; 32] = [
    0x0, 0x1, 0x8, 0xf, 0x10, 0x80, 0x100, 0x180, 0x200, 0x210, 0x280, 0x1000, 0x1001, 0x1081, 0x1082,
    0x1083, 0x1084, 0x1087, 0x1088, 0x108e, 0x108f, 0x1180, 0x11e8, 0x2000, 0x2180, 0x3000, 0x3c87, 0x4000,
    0x5000, 0x6000, 0x7000, 0x701c,
];

/// A source's region, address mode, negation and absolute value.
static SOURCE: [u64; 32] = [
    0x0, 0x2, 0x10, 0x12, 0x18, 0x20, 0x28, 0x48, 0x50, 0x70, 0x78, 0x300, 0x302, 0x308, 0x310, 0x312, 0x320,
    0x328, 0x338, 0x340, 0x342, 0x348, 0x350, 0x360, 0x368, 0x370, 0x371, 0x378, 0x468, 0x469, 0x46a, 0x588,
];
