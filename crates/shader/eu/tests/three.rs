//! Instructions with three sources in Align1: accumulators, immediates, and types of floats. `ci/eu` compares many more with Intel's
//! assembler.

use intel_eu::execute::{Shader, Why};
use intel_eu::{File, Place, Platform, Source, Type, decode, encode, text};

/// Instructions: platforms, encoding, text.
const KNOWN: &[(&[Platform], u128, &str)] = &[
    // An interpolated input of Mesa's compiler and of IGT's render copy.
    (
        &[Platform::Icl, Platform::Jsl, Platform::Ehl],
        0x01880406_0722003b_7100480c_0060005b,
        "(W) mad (8|M0) r113.0<1>:f acc0.0<8;1>:nf r3.0<8;1>:f r6.1<0>:f",
    ),
    (
        &[Platform::Jsl],
        0x01880406_0722143b_71004808_0060005b,
        "mad (8|M0) r113.0<1>:f acc1.2<8;1>:nf r3.0<8;1>:f r6.1<0>:f",
    ),
    // A native float in a general register.
    (
        &[Platform::Jsl],
        0x01880406_0720303b_71004008_0060005b,
        "mad (8|M0) r113.0<1>:f r3.0<8;1>:nf r3.0<8;1>:f r6.1<0>:f",
    ),
    (
        &[Platform::Jsl],
        0x01880406_07271001_2000c018_0060005b,
        "mad (8|M0) acc0.0<1>:nf r113.0<0;0>:f r3.0<8;1>:f r6.1<0>:f",
    ),
    (
        &[Platform::Jsl],
        0x00c08440_07607039_71005008_0060005b,
        "mad (8|M0) r113.0<1>:f r7.0<8;1>:f acc0.0<8;1>:nf r3.0<1>:f",
    ),
    // The bit of the accumulator is that of an immediate of any other type.
    (
        &[Platform::Jsl],
        0x07800006_0701e000_71002808_0060005b,
        "mad (8|M0) r113.0<1>:hf 0x3C00:hf r3.0<8;1>:hf 0x3C00:hf",
    ),
    (
        &[Platform::Jsl],
        0x00022c06_076091a3_7100e800_0060005b,
        "mad (8|M0) r113.0<1>:w 4660:w r3.0<8;1>:w 17:w",
    ),
    // An immediate of 32 bits is one of 16, with its sign.
    (
        &[Platform::Jsl],
        0x01008406_07253881_01004800_0060005b,
        "mad (8|M0) r1.0<1>:d -22768:d r3.0<8;1>:d r4.0<1>:d",
    ),
    (
        &[Platform::Tgl, Platform::Dg2],
        0x04050305_0e0ea710_01044660_0003005b,
        "mad (8|M0) r1.0<1>:d -22768:d r3.0<8;1>:d r4.0<1>:d",
    ),
    (
        &[Platform::Tgl, Platform::Dg2, Platform::Mtl],
        0x06240305_0a0a2001_71040fa8_0003005b,
        "mad (8|M0) r113.0<1>:f acc0.0<8;1>:nf r3.0<8;1>:f r6.1<0>:f",
    ),
    (
        &[Platform::Tgl, Platform::Dg2],
        0x20010305_0a0f0705_71040aa8_0003005b,
        "mad (8|M0) r113.0<1>:f r7.0<8;1>:f r3.0<8;1>:f acc0.0<1>:nf",
    ),
    (
        &[Platform::Dg2],
        0x04050305_0d0d0205_01040dd8_0003005b,
        "mad (8|M0) r1.0<1>:bf r2.0<8;1>:bf r3.0<8;1>:bf r4.0<1>:bf",
    ),
    // Accumulators of macro operations have other numbers from graphics 12 on.
    (
        &[Platform::Tgl, Platform::Dg2],
        0x04050305_0a0a0405_27000aa8_0003005b,
        "mad (8|M0) acc7.0<1>:f r4.0<8;1>:f r3.0<8;1>:f r4.0<1>:f",
    ),
    (
        &[Platform::Tgl, Platform::Dg2],
        0x04050305_0a0a0405_28000aa8_0003005b,
        "mad (8|M0) mme0.0<1>:f r4.0<8;1>:f r3.0<8;1>:f r4.0<1>:f",
    ),
    (&[Platform::Icl], 0x00000000_008d0440_20204928_00600001, "mov (8|M0) r1.0<1>:f mme0.0<8;8,1>:f"),
    // Subregisters of native floats are counted as those of floats, those of channel enables and of messages in bytes.
    (&[Platform::Icl], 0x00000000_008d0404_20205928_00600001, "mov (8|M0) r1.0<1>:f acc0.1<8;8,1>:nf"),
    (&[Platform::Icl], 0x00000000_00000801_20201048_00000001, "mov (1|M0) r1.0<1>:uw ce.1<0;1,0>:uw"),
    (&[Platform::Tgl], 0x00000000_0000d020_01050220_00000061, "mov (1|M0) r1.0<1>:ud fc0.4<0;1,0>:ud"),
];

#[test]
fn known_instructions_have_their_text() {
    for (platforms, word, expected) in KNOWN {
        for platform in *platforms {
            let i = decode(*platform, *word).unwrap_or_else(|error| panic!("{platform} {expected}: {error}"));
            assert_eq!(text::print(*platform, &i), *expected, "{platform}");
            assert_eq!(text::parse(*platform, expected), Ok(i), "{platform} {expected}");
            assert_eq!(encode(*platform, &i), Ok(*word), "{platform} {expected}");
        }
    }
}

#[test]
fn a_native_float_is_the_accumulator_where_others_are_immediates() {
    let word = KNOWN[0].1;
    let accumulator = Place::Direct { file: File::Architecture, number: 0x20, offset: 0 };
    let i = decode(Platform::Jsl, word).unwrap();
    assert!(
        matches!(i.sources[0], Some(Source::Register { place, kind: Type::Nf, .. }) if place == accumulator)
    );
    // Of type f, in the two bits above the lowest one of source 0's type, it is an immediate.
    let float = decode(Platform::Jsl, word ^ 2 << 64).unwrap();
    assert_eq!(float.sources[0], Some(Source::Immediate { kind: Type::F, bits: 0x4007 }));
    // Source 2 can be no accumulator, and no native float in the instruction.
    let last = word | 3 << 106 | 1 << 45;
    let error = decode(Platform::Jsl, last).unwrap_err().to_string();
    assert_eq!(error, "mad: an immediate cannot be a native float");
}

#[test]
fn what_has_no_encoding_is_refused() {
    for (platform, text) in [
        (Platform::Jsl, "mad (8|M0) r1.0<1>:f acc0.0<8;1>:f r3.0<8;1>:f r4.0<1>:f"),
        (Platform::Jsl, "mad (8|M0) r1.0<1>:f r2.0<8;1>:f r3.0<8;1>:f acc0.0<1>:nf"),
        (Platform::Jsl, "mad (8|M0) r1.0<1>:d 42768:d r3.0<8;1>:d r4.0<1>:d"),
        (Platform::Jsl, "mad (8|M0) r1.0<1>:bf r2.0<8;1>:bf r3.0<8;1>:bf r4.0<1>:bf"),
        (Platform::Tgl, "mad (8|M0) r1.0<1>:d 42768:d r3.0<8;1>:d r4.0<1>:d"),
        (Platform::Tgl, "mad (8|M0) r1.0<1>:ud 0x10000:ud r3.0<8;1>:ud r4.0<1>:ud"),
        (Platform::Tgl, "mad (8|M0) r1.0<1>:bf r2.0<8;1>:bf r3.0<8;1>:bf r4.0<1>:bf"),
        (Platform::Skl, "mad (8|M0) r1.0<1>:f acc0.0<8;1>:nf r3.0<8;1>:f r4.0<1>:f"),
    ] {
        let i = text::parse(platform, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(encode(platform, &i).is_err(), "{platform} {text}");
    }
    // An accumulator for macro operations that does not exist.
    assert!(text::parse(Platform::Skl, "mov (8|M0) r1.0<1>:f mme14.0<8;8,1>:f").is_err());
}

#[test]
fn the_executor_leaves_native_and_brain_floats_alone() {
    for (platforms, word, text) in KNOWN.iter().filter(|row| row.2.contains("nf") || row.2.contains(":bf")) {
        let stop = Shader::new(platforms[0], &word.to_le_bytes()).check(0xff).unwrap_err();
        assert!(
            matches!(stop.why, Why::Unknown { what: "an operation on native or brain floats", .. }),
            "{text}: {stop:?}"
        );
    }
}
