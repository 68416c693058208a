//! Compacted instructions; `ci/eu` has many more.

use intel_eu::{
    Encoding, Error, Instruction, Platform, Uncompactable, compact, encode, encodings, expand, text,
};

/// Instructions, as the assembler compacts them: platform, compacted, expanded, text.
const KNOWN: &[(Platform, u64, u128, &str)] = &[
    (
        Platform::Hsw,
        0x5d0f62ae_e8a64502,
        0x00690ba0_006f01f0_2c5077bd_18400402,
        "sel (4|M0) (ov)f0.0 r98.4<1>:f r15.4<4;8,4>:f r93.0<4;4,1>:f {AccWrEn,Compacted,NoDDClr}",
    ),
    (
        Platform::Skl,
        0xff0202ff_2001cb40,
        0xffffffff_0e8d0040_20400a28_00600040,
        "add (8|M0) r2.0<1>:d r2.0<8;8,1>:d -1:d {Compacted}",
    ),
    (
        Platform::Jsl,
        0x052e7c45_e9096382,
        0x00000805_066c05c0_2f88020c_49400002,
        "(W) sel (4|M0) (un)f0.0 r124.2<1>:ud r46.0<4;8,0>:ud 0x805:ud {Breakpoint,Compacted}",
    ),
    (
        Platform::Tgl,
        0xfc0083e5_3ad4cf62,
        0x00000fc0_14468365_d4658150_8000cf62,
        "(W) sel (1|M0) (eq)f0.0 r212.6<1>:w r131.6<8;8,1>:uw 0xFC0:v {Compacted,@4,$15.dst}",
    ),
    (
        Platform::Dg2,
        0xc062a33b_aa8aabe2,
        0xfffffc06_0610a304_8a45a660_4013ab62,
        "sel (8|M8) r138.2<1>:d -r163.0<1;1,0>:d -1018:d {Breakpoint,Compacted,@2,$11.dst}",
    ),
    (
        Platform::Dg2,
        0x04050300_a102005b,
        0x05050404_020a0304_020402a8_0003005b,
        "mad (8|M0) r2.0<1>:f r3.0<1;0>:f r4.0<1;0>:f r5.0<1>:f {Compacted}",
    ),
    (Platform::Skl, 0x2000_007e, 0x7e, "nop {Compacted}"),
];

#[test]
fn known_instructions_have_both_encodings_and_their_text() {
    for (platform, short, word, expected) in KNOWN {
        assert_eq!(compact(*platform, *word), Ok(*short), "{expected}");
        assert_eq!(expand(*platform, *short), Ok(*word), "{expected}");
        let instruction = Encoding::Compacted(*short).decode(*platform).unwrap();
        assert_eq!(text::print(*platform, &instruction), *expected);
        assert_eq!(text::parse(*platform, expected), Ok(instruction));
        assert_eq!(Encoding::of(*platform, &instruction), Ok(Encoding::Compacted(*short)), "{expected}");
        // Without the mark, it is the other encoding.
        let full = Instruction { compacted: false, ..instruction };
        assert_eq!(Encoding::of(*platform, &full), Ok(Encoding::Full(*word)), "{expected}");
    }
}

#[test]
fn an_instruction_that_is_not_compacted_has_a_reason() {
    for (platform, text, expected) in [
        (
            Platform::Skl,
            "add (8|M0) r2.0<2>:d r2.0<8;8,1>:d -1:d",
            "the table of data types has no entry 0x87145",
        ),
        (
            Platform::Skl,
            "add (8|M0) r2.0<1>:d r2.0<8;4,2>:d -1:d",
            "the table of source 0 has no entry 0x450",
        ),
        (
            Platform::Skl,
            "add (8|M0) r2.3<1>:d r2.0<8;8,1>:d -1:d",
            "the table of subregisters has no entry 0x",
        ),
        (Platform::Skl, "add (8|M16) r2.0<1>:d r2.0<8;8,1>:d -1:d", "the table of control has no entry 0x"),
        (
            Platform::Skl,
            "add (8|M0) r2.0<1>:d r2.0<8;8,1>:d 4096:d",
            "the immediate 0x1000 has too many bits",
        ),
        (Platform::Tgl, "add (8|M0) r2.0<1>:d r2.0<8;8,1>:d 2048:d", "the immediate 0x800 has too many bits"),
        (
            Platform::Skl,
            "add (4|M4) r2.0<1>:d r2.0<8;8,1>:d -1:d",
            "a compacted instruction has no room for the bits 0x800",
        ),
        (Platform::Skl, "while (8|M0) 16", "while has no compacted form"),
        (Platform::Tgl, "math.inv (8|M0) r2.0<1>:f r3.0<8;8,1>:f", "math has no compacted form"),
        (
            Platform::Hsw,
            "mad (8|M0) r1.0<1>:f r2.0<2;1>:f r3.0<2;1>:f r4.0<1>:f",
            "mad has no compacted form",
        ),
    ] {
        let instruction = text::parse(platform, text).unwrap();
        let reason = compact(platform, encode(platform, &instruction).unwrap()).unwrap_err();
        assert!(reason.to_string().starts_with(expected), "{text}: {reason}");
        let marked = Instruction { compacted: true, ..instruction };
        assert_eq!(Encoding::of(platform, &marked), Err(Error::Uncompactable(reason)), "{text}");
    }
    assert_eq!(compact(Platform::Skl, 0x53), Err(Uncompactable::Unknown(0x53)));
    assert_eq!(compact(Platform::Skl, 0x7e | 1 << 40), Err(Uncompactable::Bits(1 << 40)));
}

#[test]
fn what_is_no_compacted_instruction_is_an_error() {
    let platform = Platform::Skl;
    for (word, expected) in [
        (0x0000_0207_0000_4b01, "bit 29 says that these 64 bits are no compacted instruction"),
        (0x0000_0207_3000_4b01, "the bits 0x10000000 of the compacted instruction mean nothing"),
        (0x0000_0207_2000_4b53, "skl has no opcode 83"),
        (0x0000_0207_2000_4b27, "while has no compacted form"),
    ] {
        assert_eq!(expand(platform, word).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_program_has_instructions_of_both_sizes_and_its_targets() {
    let program = "
        again: add (8|M0) r2.0<1>:d r2.0<8;8,1>:d -1:d {Compacted}
        (f0.0) if (8|M0) done done
        mov (8|M0) r4.0<1>:ud r0.0<8;8,1>:ud {Compacted}
        while (8|M0) again
        done: endif (8|M0) end
        end: nop";
    let assembled: [&[u8]; 6] = [
        &0xff0202ff_2001cb40_u64.to_le_bytes(),
        &0x00000028_00000028_20000e00_00610022_u128.to_le_bytes(),
        &0x00000407_20004b01_u64.to_le_bytes(),
        &0xffffffe0_0e000000_20000000_00600027_u128.to_le_bytes(),
        &0x00000010_0e000000_20000000_00600025_u128.to_le_bytes(),
        &0x7e_u128.to_le_bytes(),
    ];
    let platform = Platform::Skl;
    let parsed = text::parse_program(platform, program).unwrap();
    let bytes = parsed.iter().map(|one| Encoding::of(platform, one).unwrap().to_bytes());
    let bytes: Vec<u8> = bytes.flatten().collect();
    assert_eq!(bytes, assembled.concat());
    let found: Vec<(usize, Instruction)> =
        encodings(&bytes).map(|(at, one)| (at, one.unwrap().decode(platform).unwrap())).collect();
    assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 8, 24, 32, 48, 64]);
    assert_eq!(found.iter().map(|one| one.1).collect::<Vec<_>>(), parsed);
    // Without the marks, the targets are farther.
    let full = text::parse_program(platform, &program.replace("{Compacted}", "")).unwrap();
    assert_eq!((parsed[1].jip, parsed[3].jip), (Some(40), Some(-32)));
    assert_eq!((full[1].jip, full[3].jip), (Some(48), Some(-48)));
    for length in 0..bytes.len() {
        let last = encodings(&bytes[..length]).last();
        let is_whole = [0, 8, 24, 32, 48, 64].contains(&length);
        assert_eq!(last.is_none_or(|(_, one)| one.is_ok()), is_whole, "{length}");
    }
}
