//! Instructions as text; `ci/eu` has many more.

use intel_eu::{Instruction, Opcode, Platform, decode, encode, text, validate};

/// Instructions: platform, encoding, text.
const KNOWN: &[(Platform, u128, &str)] = &[
    (Platform::Hsw, 0x03_00000004_20480c21_00000009, "shl (1|M0) r2.2<1>:ud r0.1<0;1,0>:ud 0x3:ud"),
    (Platform::Jsl, 0x008d0000_20400208_00600001, "mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud"),
    (Platform::Jsl, 0x76543210_00000000_21402648_00600001, "mov (8|M0) r10.0<1>:uw 0x76543210:uv"),
    (
        Platform::Bdw,
        0x20_028d0180_20000200_05800010,
        "cmp (16|M0) (lt)f0.0 null<1>:ud r12.0<8;8,1>:ud r1.0<0;1,0>:ud",
    ),
    (Platform::Bdw, 0x04205e00_060001c0_22000248_0c810031, "(f0.0) send (16|M0) r16:uw r14 0xC 0x04205E00"),
    (Platform::Bdw, 0x82000010_06000e00_20000240_07800031, "send (16|M0) null:uw r112 0x27 0x02000010 {EOT}"),
    (
        Platform::Tgl,
        0x02000000_a800020c_03240000_00049031,
        "send.dc0 (16|M0) r3 r2 null 0x0 0x02480400 {@1,$0}",
    ),
    (Platform::Dg2, 0x03_02000024_02458220_00001969, "shl (1|M0) r2.2<1>:ud r0.1<0;1,0>:ud 0x3:ud {I@1}"),
    (Platform::Skl, 0x20_ffffffe0_20000e00_00802022, "if (16|M16) 32 (-32)"),
    (Platform::Skl, 0x10_0e001400_34000004_00000020, "(W) jmpi 32"),
    (Platform::Tgl, 0x20_00000000_00004000_80000020, "(W) jmpi 32"),
    (
        Platform::Bdw,
        0x01072006_390021c8_011e0000_0060015b,
        "mad (8|M0) r1.0<1>:f r2.0<2;1>:f r3.0<2;1>:f r4.0<1>:f",
    ),
];

#[test]
fn known_instructions_have_their_text() {
    for (platform, word, expected) in KNOWN {
        let instruction = decode(*platform, *word).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(text::print(*platform, &instruction), *expected);
        let parsed = text::parse(*platform, expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(encode(*platform, &parsed), Ok(*word), "{expected}");
    }
}

#[test]
fn an_instruction_without_operands_has_a_text() {
    for opcode in Opcode::of(Platform::Dg2) {
        let text = text::print(Platform::Dg2, &Instruction::new(opcode));
        assert!(text.starts_with(opcode.name()), "{text}");
    }
}

#[test]
fn the_immediate_of_dim_is_a_double_after_the_code_of_a_float() {
    let word = 0x3ff80000_00000001_206003f9_0000000a;
    // Mesa repeats the code of the type where a second source has its own.
    for word in [word, word | 7 << 44] {
        let dim = decode(Platform::Hsw, word).unwrap();
        assert_eq!(text::print(Platform::Hsw, &dim), "dim (1|M0) r3.0<1>:df 0x3FF8000000000001:df");
        assert_eq!(encode(Platform::Hsw, &dim), Ok(word));
    }
    let text = "dim (1|M0) r3.0<1>:df 1.5:df";
    let dim = text::parse(Platform::Hsw, text).unwrap();
    assert_eq!(text::print(Platform::Hsw, &dim), text);
    assert_eq!(encode(Platform::Hsw, &dim), Ok(word - (1 << 64)));
    assert_eq!(validate(Platform::Hsw, &dim), []);

    for (text, expected) in [
        ("dim (1|M0) r3.0<1>:df 1.5:f", "dim: its source is an immediate of type df"),
        ("dim (1|M0) r3.0<1>:df r4.0<0;1,0>:df", "dim: its source is an immediate of type df"),
        ("mov (1|M0) r3.0<1>:df 1.5:df", "type of source 0: hsw has no code for the type df"),
    ] {
        let other = text::parse(Platform::Hsw, text).unwrap();
        assert_eq!(encode(Platform::Hsw, &other).unwrap_err().to_string(), expected);
    }
    let register = 0x003ff800_00000080_206023b9_0000000a;
    let expected = "dim: its source is an immediate of type df";
    assert_eq!(decode(Platform::Hsw, register).unwrap_err().to_string(), expected);
    // The same number is another opcode, or none.
    assert_eq!(decode(Platform::Ivb, word).unwrap_err().to_string(), "ivb has no opcode 10");
    let smov = decode(Platform::Skl, 0x00000002_06000060_20600208_0060000a).map(|smov| smov.opcode);
    assert_eq!(smov, Ok(Opcode::Smov));
}

#[test]
fn labels_are_distances() {
    let program = "
        // A loop.
        again: add (8|M0) r2.0<1>:d r2.0<8;8,1>:d -1:d
        (f0.0) if (8|M0) done done  // forwards
        while (8|M0) again
        done:
        endif (8|M0) 16
        calla (8|M0) r3.0 done";
    let expected = [
        "add (8|M0) r2.0<1>:d r2.0<8;8,1>:d -1:d",
        "(f0.0) if (8|M0) 32 32",
        "while (8|M0) -32",
        "endif (8|M0) 16",
        "calla (8|M0) r3.0 48",
    ];
    let parsed = text::parse_program(Platform::Skl, program).unwrap();
    let printed: Vec<String> = parsed.iter().map(|one| text::print(Platform::Skl, one)).collect();
    assert_eq!(printed, expected);
}

#[test]
fn errors_name_the_line_the_column_and_the_word() {
    for (program, expected) in [
        ("nop\n  foo (8|M0)", "line 2, column 3: 'foo' is no opcode of the platform"),
        ("sync.nop null", "line 1, column 1: 'sync' is no opcode of the platform"),
        ("mov (8|M0) r2.0<1>:ud", "line 1, column 22: the end of the line is where a source has to be"),
        ("mov (8|M0) r2.8<1>:ud r0.0<8;8,1>:ud", "line 1, column 12: 'r2' has no such element"),
        ("mov (8|M0) r2.0<1>:ud r0.0<8;8;1>:ud", "line 1, column 31: ';' is where ',' has to be"),
        (
            "mov (8|M0) r2.0<1>:ud 0x100000000:ud",
            "line 1, column 23: '0x100000000' is no number of this type",
        ),
        (
            "mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud r1.0<8;8,1>:ud",
            "line 1, column 38: 'r1' is more than the instruction has",
        ),
        (
            "mov (8|M0) r2.0<1>:ud 0x1:ud {Sometimes}",
            "line 1, column 31: 'Sometimes' is no option of the instruction",
        ),
        (
            "(f0.0) cmp (8|M0) (lt)f1.0 null<1>:ud r0.0<8;8,1>:ud 0x1:ud",
            "line 1, column 23: 'f1' is another flag register than that of the predicate",
        ),
        ("math.tan (8|M0) r2.0<1>:f r3.0<8;8,1>:f", "line 1, column 6: 'tan' is no function of the opcode"),
        ("mov (8|M0) r2.0<1>:w -32769:w", "line 1, column 22: '-32769' is no number of this type"),
        ("nop\nwhile (8|M0) nowhere", "line 2, column 14: 'nowhere' is no label"),
        ("a: nop\na: nop", "line 2, column 1: 'a' is a label already"),
    ] {
        let error = text::parse_program(Platform::Skl, program).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn texts_with_a_wrong_character_do_not_panic() {
    let mut understood = 0;
    for (platform, _, known) in KNOWN {
        for at in 0..known.len() {
            for character in
                ["", "0", "9", "-", ".", ":", ";", "(", "<", "x", "\u{e4}", "99999999999999999999"]
            {
                let text = format!("{}{character}{}", &known[..at], &known[at + 1..]);
                if let Ok(instruction) = text::parse(*platform, &text) {
                    let printed = text::print(*platform, &instruction);
                    assert!(!printed.is_empty());
                    understood += 1;
                }
            }
        }
    }
    assert!(understood > 100, "{understood}");
}
