//! `dpas` and `dpasw`, matrix operations of DG2; encodings by Intel's assembler.

use intel_eu::execute::{Shader, Stop, Why};
use intel_eu::{
    Error, Instruction, Opcode, Place, Platform, Region, Source, Systolic, Type, decode, encode, text,
};

const PLATFORM: Platform = Platform::Dg2;

const KNOWN: &[(u128, &str)] = &[
    (0x06040504_04040404_03073e60_00030059, "dpas.8x8 (8|M0) r3:d r4:d r5:b r6.0:b"),
    (0x06040504_05050000_03073aa1_00030059, "dpas.8x8 (8|M0) r3:f null:f r5:bf r6.0:bf {Atomic}"),
    (0x0614050c_00600404_03073e60_00030059, "dpas.8x8 (8|M0) r3:d r4:d r5.2:u4 r6.8:u2"),
    (0x06440534_01050444_03273aa0_00030059, "dpas.8x8 (8|M0) r3.1:f r4.2:f r5.3:hf r6.4:bf"),
    (0x06040504_04040000_03050660_00030059, "dpas.2x1 (8|M0) r3:d null:d r5:b r6.0:b"),
    (0x06040504_04540404_03073e60_0003005a, "dpasw.8x8 (8|M0) r3:d r4:d r5:s4 r6.0:s4"),
    (0x06040504_04040404_03073e61_80134359, "(W) dpas.8x8 (8|M8) r3:d r4:d r5:b r6.0:b {Atomic,$3}"),
];

#[test]
fn a_matrix_operation_has_a_shape_and_whole_registers() {
    for (word, expected) in KNOWN {
        let known = decode(PLATFORM, *word).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(text::print(PLATFORM, &known), *expected);
        let parsed = text::parse(PLATFORM, expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(encode(PLATFORM, &parsed), Ok(*word), "{expected}");
        for platform in [Platform::Mtl, Platform::Tgl] {
            assert!(matches!(decode(platform, *word), Err(Error::Opcode { .. })), "{expected}: {platform}");
        }
        let Err(Stop { at: 0, why: Why::Unknown { opcode: Opcode::Dpas | Opcode::Dpasw, .. } }) =
            Shader::new(PLATFORM, &word.to_le_bytes()).check(0xff)
        else {
            panic!("{expected} is executed")
        };
    }
}

#[test]
fn other_matrix_operations_are_refused() {
    let known = decode(PLATFORM, KNOWN[0].0).unwrap();
    let systolic = known.systolic.unwrap();
    let source = |place, kind| {
        Some(Source::Register { place, kind, region: Region::Payload, absolute: false, negate: false })
    };
    let with = |at: usize, source| {
        let mut other = known;
        other.sources[at] = source;
        other
    };
    let shaped = |systolic| Instruction { systolic: Some(systolic), ..known };
    for (other, expected) in [
        (shaped(Systolic { depth: 3, ..systolic }), "depth: dg2 has no code for 3"),
        (shaped(Systolic { repeat: 9, ..systolic }), "repeat count: dg2 has no code for 9"),
        (
            shaped(Systolic { bits: [8, 16], ..systolic }),
            "bits of elements of source 2: dg2 has no code for 16",
        ),
        (Instruction { systolic: None, ..known }, "dpas: it lacks a matrix"),
        (with(1, source(Place::general(5), Type::Hf)), "type of source 1: dg2 has no code for the type hf"),
        (with(2, source(Place::general(5), Type::D)), "type of source 2: dg2 has no code for the type d"),
        (with(0, source(Place::general(5), Type::F)), "type of source 0: dg2 has no code for the type f"),
        (with(1, source(Place::NULL, Type::B)), "dpas: its source is no general register"),
        (with(2, Some(Source::Immediate { kind: Type::B, bits: 0 })), "dpas: its sources are registers"),
        (Instruction { saturate: true, ..known }, "dpas: a value that it has no place for"),
    ] {
        assert_eq!(encode(PLATFORM, &other).unwrap_err().to_string(), expected);
    }
    let nop = Instruction::new(Opcode::Nop);
    let shaped = Instruction { systolic: Some(systolic), ..nop };
    assert_eq!(encode(PLATFORM, &shaped).unwrap_err().to_string(), "nop: a value that it has no place for");
    for (bit, expected) in [
        (50, "dpas: its destination is no general register"),
        (46, "dpas: its sources are registers"),
        (98, "dpas: its source is no general register"),
        (88, "type of source 1: 0x5 means nothing on dg2"),
    ] {
        assert_eq!(decode(PLATFORM, KNOWN[0].0 ^ 1 << bit).unwrap_err().to_string(), expected, "{bit}");
    }
    for (line, expected) in [
        ("dpas (8|M0) r3:d r4:d r5:b r6.0:b", "'(' is where the depth and the repeat count have to be"),
        ("dpas.8 (8|M0) r3:d r4:d r5:b r6.0:b", "'8' is no depth and repeat count"),
        ("dpas.8x8 (8|M0) r3:d r4:d r5.1:s4 r6.0:b", "'r5' has no such element, or none at a byte"),
        ("dpas.8x8 (8|M0) r3.8:d r4:d r5:b r6.0:b", "'r3' has no such element, or none at a byte"),
        ("dpas.8x8 (8|M0) r3:d r4:d r5:s3 r6.0:b", "'s3' is no type"),
        ("dpas.8x8 (8|M0) r3:d acc0:d r5:b r6.0:b", "'acc0' is neither a general register nor null"),
    ] {
        let error = text::parse(PLATFORM, line).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{line}: {error}");
    }
}
