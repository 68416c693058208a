//! Graphics 12.0 and 12.5: where the parts of a compacted instruction are, and its tables.
//!
//! Sources: "EU Compact Instruction" of the Programmer's Reference Manuals of Tiger Lake and Alchemist; the tables of iga64, and Mesa's
//! brw_eu_compact.c, which agree.

use super::layout::{Layout, Part, copy, index};
use crate::isa::Bits;

pub(super) static LAYOUT: Layout = Layout { basic: &BASIC, three: Some(&THREE), immediate: IMMEDIATE };
pub(super) static LAYOUT_125: Layout =
    Layout { basic: &BASIC_125, three: Some(&THREE_125), immediate: IMMEDIATE };

/// 12 bits, in the places of source 1's register and index; what they stand for depends on the type.
const IMMEDIATE: Bits = Bits(&[(63, 52)]);

static BASIC: [Part; 11] = basic(&SOURCE_0, &SOURCE_1);
static BASIC_125: [Part; 11] = basic(&SOURCE_0_125, &SOURCE_1_125);

const fn basic(source_0: &'static [u64; 16], source_1: &'static [u64; 16]) -> [Part; 11] {
    [
        copy((6, 0), &[(6, 0)]),
        copy((7, 7), &[(30, 30)]),
        copy((15, 8), &[(15, 8)]),
        copy((23, 16), &[(63, 56)]),
        index("control", (28, 24), Bits(&[(95, 92), (34, 31), (28, 16)]), &CONTROL),
        index("data types", (34, 30), Bits(&[(98, 98), (91, 88), (66, 66), (50, 46), (43, 35)]), &DATATYPE),
        index("subregisters", (39, 35), Bits(&[(103, 99), (71, 67), (55, 51)]), &SUBREGISTER),
        copy((47, 40), &[(79, 72)]),
        index("source 0", (51, 48), Bits(&[(87, 80), (65, 64), (45, 44)]), source_0),
        index("source 1", (55, 52), Bits(&[(121, 112), (97, 96)]), source_1),
        copy((63, 56), &[(111, 104)]),
    ]
}

static THREE: [Part; 10] = three(
    Bits(&[(95, 92), (90, 88), (82, 80), (50, 50), (48, 48), (42, 36), (34, 31), (28, 16)]),
    &THREE_CONTROL,
    &THREE_SOURCE,
);
static THREE_125: [Part; 10] = three(
    Bits(&[(95, 92), (90, 88), (82, 80), (50, 48), (42, 36), (34, 31), (28, 16)]),
    &THREE_CONTROL_125,
    &THREE_SOURCE_125,
);

const fn three(control: Bits, controls: &'static [u64; 32], sources: &'static [u64; 32]) -> [Part; 10] {
    [
        copy((6, 0), &[(6, 0)]),
        copy((7, 7), &[(30, 30)]),
        copy((15, 8), &[(15, 8)]),
        copy((23, 16), &[(63, 56)]),
        index("control", (28, 24), control, controls),
        index(
            "sources",
            (34, 30),
            Bits(&[(114, 112), (98, 96), (91, 91), (87, 83), (66, 64), (47, 43), (35, 35)]),
            sources,
        ),
        index(
            "subregisters",
            (39, 35),
            Bits(&[(119, 115), (103, 99), (71, 67), (55, 51)]),
            &THREE_SUBREGISTER,
        ),
        copy((47, 40), &[(79, 72)]),
        copy((55, 48), &[(127, 120)]),
        copy((63, 56), &[(111, 104)]),
    ]
}

/// The condition, and controls from the execution size to saturation.
static CONTROL: [u64; 32] = [
    0x4, 0x3, 0x2000, 0x2004, 0x2003, 0x80004, 0x24, 0xa0004, 0x0, 0x10004, 0x13, 0x60004, 0x20004, 0x22004,
    0x40004, 0x104, 0xa0003, 0x184, 0x2001, 0x144, 0x1c4, 0x82004, 0x23, 0x33, 0xa2004, 0x80003, 0x22000,
    0x10003, 0xa0084, 0x20003, 0x8003, 0x2024,
];

/// Files, types and immediates, and the destination's stride and address mode.
static DATATYPE: [u64; 32] = [
    0xd6954, 0x6954, 0x2b54, 0x56d54, 0xd4954, 0xd2954, 0x54d54, 0x800, 0xd0954, 0x2eccc, 0xb68cc, 0x52d54,
    0x96844, 0x50d54, 0x36ccc, 0x16c44, 0x7154, 0x2cccc, 0x822, 0x2844, 0x26c2a, 0xec22, 0x97044, 0x694c,
    0x8c8cc, 0x6854, 0x2ec4c, 0x2822, 0x6834, 0x6814, 0x68d4, 0x2954,
];

/// The subregisters of source 1, source 0 and the destination.
static SUBREGISTER: [u64; 32] = [
    0x0, 0x4000, 0x1000, 0x3000, 0x80, 0x2000, 0x5000, 0x8, 0x100, 0x6000, 0x7000, 0x200, 0x4, 0x300, 0x280,
    0x180, 0x380, 0x1c, 0x10, 0xc, 0x18, 0x14, 0x2, 0x140, 0x40, 0x84, 0x5c, 0x42, 0x18c, 0x20, 0x60, 0x6300,
];

/// The region, address mode, negation and absolute value of source 0.
static SOURCE_0: [u64; 16] = [
    0x464, 0x0, 0x466, 0x465, 0x2, 0x200, 0x240, 0x340, 0x224, 0x300, 0x226, 0x344, 0x467, 0x100, 0x1, 0xf10,
];

/// The negation, absolute value, region and address mode of source 1.
static SOURCE_1: [u64; 16] =
    [0x119, 0x0, 0x919, 0x800, 0x519, 0x8d0, 0x80, 0x89, 0x889, 0xd0, 0xd1, 0xc0, 0xd19, 0x400, 0xc00, 0x8d1];

/// The same of source 0 on graphics 12.5.
static SOURCE_0_125: [u64; 16] = [
    0x100, 0x0, 0x102, 0x101, 0x2, 0x200, 0x240, 0x340, 0x300, 0x103, 0x1, 0xf10, 0x460, 0x140, 0x448, 0x202,
];

/// The same of source 1 on graphics 12.5.
static SOURCE_1_125: [u64; 16] = [
    0x40, 0x0, 0x840, 0x800, 0x440, 0x8d0, 0x80, 0xd0, 0xc0, 0xc40, 0x400, 0xc00, 0x118, 0x880, 0x809, 0x844,
];

/// Of three sources: the condition, types, the destination's file and stride, and controls.
static THREE_CONTROL: [u64; 32] = [
    0x4a540004, 0x4a540003, 0x48540003, 0x4a542003, 0x48542003, 0x48540013, 0x4a540013, 0x48542013,
    0x4a542013, 0x4a542004, 0x48540004, 0x4a550004, 0x4a540024, 0x48542004, 0x4a542000, 0x4a550003,
    0x48542033, 0x48542023, 0x4a542033, 0x4a542023, 0x48540023, 0x48540033, 0x4a540023, 0x4a540033,
    0x48550004, 0x4a552004, 0x4a542024, 0x4a442000, 0x48540024, 0x4a550024, 0x4a542002, 0x48550003,
];

/// The same on graphics 12.5.
static THREE_CONTROL_125: [u64; 32] = [
    0x0_9454_0004,
    0x0_9454_0003,
    0x0_9054_0003,
    0x0_9454_2003,
    0x0_9054_2003,
    0x0_9054_0013,
    0x0_9454_0013,
    0x0_9054_2013,
    0x0_9454_2013,
    0x0_9454_2004,
    0x0_9054_0004,
    0x0_9455_0004,
    0x0_9454_0024,
    0x0_9054_2004,
    0x0_9454_2000,
    0x0_9455_0003,
    0x0_9054_2023,
    0x0_9054_2033,
    0x0_9454_2023,
    0x0_9454_2033,
    0x0_9054_0033,
    0x0_9054_0023,
    0x0_27cc_0003,
    0x0_07cc_4003,
    0x1_27cc_4003,
    0x1_07cc_4003,
    0x1_27cc_0003,
    0x0_07cc_0003,
    0x0_27cc_4003,
    0x1_07cc_0003,
    0x1_6f54_4003,
    0x1_6f54_0003,
];

/// Of three sources: their files and regions, negations and absolute values.
static THREE_SOURCE: [u64; 32] = [
    0x12c300, 0x12c242, 0x16c343, 0x12c343, 0x160143, 0x16c34b, 0x14c343, 0x10c300, 0x16c300, 0x16cb43,
    0x16e343, 0x160100, 0x10c343, 0x12e300, 0x12e343, 0x12c34b, 0x120143, 0x12c308, 0x120100, 0x16e300,
    0x12cb00, 0x14c300, 0x12cb43, 0x16cb4b, 0x14c34b, 0x16e34b, 0x162143, 0x160943, 0x16c308, 0x16cb00,
    0x120943, 0x14cb43,
];

/// The same on graphics 12.5.
static THREE_SOURCE_125: [u64; 32] = [
    0x120300, 0x120201, 0x160301, 0x120301, 0x160101, 0x160309, 0x140301, 0x160300, 0x100300, 0x160b01,
    0x162301, 0x160100, 0x100301, 0x122300, 0x122301, 0x120309, 0x120101, 0x120308, 0x120100, 0x162300,
    0x120b00, 0x140300, 0x120b01, 0x160b09, 0x122100, 0x120900, 0x122900, 0x121100, 0x121900, 0x120500,
    0x121500, 0x122500,
];

/// Of three sources: the subregisters of source 2, 1, 0 and the destination.
static THREE_SUBREGISTER: [u64; 32] = [
    0x0, 0x20000, 0x180, 0xa0000, 0x80380, 0x60000, 0x40000, 0x2000, 0x1000, 0xc0000, 0x80000, 0xe0000,
    0x6000, 0x80, 0x4000, 0x3000, 0x5000, 0x7000, 0x100, 0x200, 0x300, 0x280, 0x380, 0xc0380, 0x20100,
    0x20180, 0x40180, 0x80300, 0x80280, 0x60080, 0xa0380, 0x40080,
];
