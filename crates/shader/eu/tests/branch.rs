//! Branches to a register's target; encodings by Intel's assembler.

use intel_eu::execute::{Shader, Stop, Why};
use intel_eu::{Opcode, Place, Platform, Source, decode, encode, text};

/// Branches: platform, encoding, the source that has the target, text.
const KNOWN: &[(Platform, u128, usize, &str)] = &[
    (Platform::Hsw, 0x000000a0_00000000_20601405_0060002c, 1, "call (8|M0) r3.0 r5.0"),
    (Platform::Bdw, 0x00000000_000000a4_34000a20_00600021, 0, "brd (8|M0) r5.1"),
    (Platform::Skl, 0x00000000_00008000_34000a20_00600021, 0, "brd (8|M0) r[a0.0]"),
    (Platform::Skl, 0x00000000_004500a0_34000a20_00600023, 0, "brc (8|M0) r5.0"),
    (Platform::Jsl, 0x000000a0_0a000000_20600028_0060002b, 1, "calla (8|M0) r3.0 r5.0"),
    (Platform::Tgl, 0x00000000_00000524_00000000_00030021, 0, "brd (8|M0) r5.1"),
    (Platform::Tgl, 0x00000000_00001000_00000000_80000020, 0, "(W) jmpi a0.0"),
    (Platform::Dg2, 0x00000000_00000504_00000000_00030023, 0, "brc (8|M0) r5.0"),
    (Platform::Dg2, 0x00000000_00000504_03040000_0003002c, 0, "call (8|M0) r3.0 r5.0"),
];

#[test]
fn a_target_in_a_register_is_a_source() {
    for (platform, word, at, expected) in KNOWN {
        let branch = decode(*platform, *word).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert!(matches!(branch.sources[*at], Some(Source::Register { .. })), "{expected}: {branch:?}");
        assert_eq!((branch.jip, branch.uip), (None, None), "{expected}");
        assert_eq!(text::print(*platform, &branch), *expected);
        let parsed = text::parse(*platform, expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(encode(*platform, &parsed), Ok(*word), "{expected}");
        // With a distance beside it, it has no place.
        let both = intel_eu::Instruction { jip: Some(16), ..branch };
        assert!(encode(*platform, &both).is_err(), "{expected}");
    }
}

#[test]
fn other_targets_in_registers_are_refused() {
    for (platform, word, expected) in [
        (Platform::Hsw, 0x00000000_000000a0_340001a4_00600021, "brd: its target is in a register"),
        (Platform::Skl, 0x00000000_000000a0_20000a20_00600022, "if: its target is in a register"),
        (Platform::Tgl, 0x00000000_00000504_00000000_00030022, "if: its target is in a register"),
        (Platform::Tgl, 0x00000000_00010504_00000000_00030021, "brd: its target is in an indirect register"),
        (Platform::Tgl, 0x00000000_00000504_00008000_00030021, "brd: its target is in two places"),
    ] {
        let error = decode(platform, word).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let mut branch = text::parse(Platform::Skl, "brd (8|M0) r5.0").unwrap();
    branch.sources.swap(0, 1);
    assert_eq!(
        encode(Platform::Skl, &branch).unwrap_err().to_string(),
        "brd: its target is in another source"
    );
    branch.opcode = Opcode::While;
    assert_eq!(encode(Platform::Skl, &branch).unwrap_err().to_string(), "while: its target is in a register");
}

#[test]
fn a_label_may_begin_as_a_register_does() {
    let program = text::parse_program(Platform::Jsl, "(W) jmpi r5th\nr5th: (W) jmpi r5.0").unwrap();
    let printed: Vec<String> = program.iter().map(|one| text::print(Platform::Jsl, one)).collect();
    assert_eq!(printed, ["(W) jmpi 16", "(W) jmpi r5.0"]);
    let Some(Source::Register { place, .. }) = program[1].sources[1] else { panic!("{:?}", program[1]) };
    assert_eq!(place, Place::general(5));
}

#[test]
fn a_branch_to_a_register_is_not_executed() {
    for (platform, word, _, expected) in KNOWN {
        let Err(Stop { at: 0, why }) = Shader::new(*platform, &word.to_le_bytes()).check(0xff) else {
            panic!("{expected} is executed")
        };
        assert!(matches!(why, Why::Unknown { .. }), "{expected}: {why:?}");
    }
}
