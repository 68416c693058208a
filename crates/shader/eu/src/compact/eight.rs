//! Graphics 8, 9 and 11: where the parts of a compacted instruction are, and its tables.
//!
//! Sources: "EU Compact Instruction" of the Programmer's Reference Manuals of Broadwell, Cherryview, Skylake and Ice Lake; the tables of
//! iga64, and Mesa's brw_eu_compact.c, which agree. Broadwell lacks four bits of the tables for three sources, which are zero in
//! all rows.

use super::layout::{Layout, Part, copy, index};
use super::seven::{IMMEDIATE, basic};
use crate::isa::Bits;

pub(super) static LAYOUT: Layout = Layout { basic: &BASIC, three: Some(&THREE), immediate: IMMEDIATE };
pub(super) static LAYOUT_11: Layout = Layout { basic: &BASIC_11, three: None, immediate: IMMEDIATE };

static BASIC: [Part; 12] = basic(CONTROL, DATATYPES, &DATATYPE);
static BASIC_11: [Part; 12] = basic(CONTROL, DATATYPES, &DATATYPE_11);

const CONTROL: Bits = Bits(&[(33, 31), (23, 12), (10, 9), (34, 34), (8, 8)]);
const DATATYPES: Bits = Bits(&[(63, 61), (94, 89), (46, 35)]);

static THREE: [Part; 15] = [
    copy((6, 0), &[(6, 0)]),
    index("control", (9, 8), Bits(&[(36, 32), (28, 8)]), &THREE_CONTROL),
    index(
        "sources",
        (11, 10),
        Bits(&[(126, 125), (105, 104), (84, 83), (114, 107), (93, 86), (72, 65), (55, 37)]),
        &THREE_SOURCE,
    ),
    copy((18, 12), &[(62, 56)]),
    copy((28, 28), &[(64, 64)]),
    copy((30, 30), &[(30, 30)]),
    copy((31, 31), &[(31, 31)]),
    copy((32, 32), &[(85, 85)]),
    copy((33, 33), &[(106, 106)]),
    copy((36, 34), &[(75, 73)]),
    copy((39, 37), &[(96, 94)]),
    copy((42, 40), &[(117, 115)]),
    copy((49, 43), &[(82, 76)]),
    copy((56, 50), &[(103, 97)]),
    copy((63, 57), &[(124, 118)]),
];

/// Files and types, and the destination's stride and address mode.
static DATATYPE: [u64; 32] = [
    0x40001, 0x40040, 0x40041, 0x400c1, 0x4015d, 0x405dd, 0x40741, 0x40745, 0x4075d, 0x41041, 0x43040,
    0x43041, 0x45145, 0x47144, 0x47145, 0x5c75d, 0x5d71d, 0x5d75c, 0x5d75d, 0x5f75c, 0x40c, 0x4005d, 0x40145,
    0x41040, 0x45144, 0x47104, 0x49209, 0x5775d, 0x5f75d, 0x4f34c, 0x49248, 0x4b248,
];

/// The same, with the codes of graphics 11.
static DATATYPE_11: [u64; 32] = [
    0x40001, 0x40040, 0x40041, 0x400c1, 0x40165, 0x40be5, 0x40941, 0x40945, 0x40965, 0x41041, 0x43040,
    0x43041, 0x45145, 0x47144, 0x47145, 0x64965, 0x65925, 0x65964, 0x65965, 0x67964, 0x40c, 0x40065, 0x40145,
    0x41040, 0x45144, 0x47104, 0x49209, 0x6f965, 0x67965, 0x4f34c, 0x49248, 0x4b248,
];

/// Of three sources: half floats, the flag register, and bits 28 to 8.
static THREE_CONTROL: [u64; 4] = [0x806001, 0x6001, 0x8001, 0x8021];

/// Of three sources: registers' highest bits, swizzles, types, and the destination's channels.
static THREE_SOURCE: [u64; 4] = [0x727_2720_f000, 0x727_2720_f002, 0x727_2720_f008, 0x727_2720_f020];
