//! `madm`, and two functions of `math`; encodings by Intel's assembler.

use intel_eu::execute::{Shader, Stop, Why};
use intel_eu::{Error, Field, Opcode, Place, Platform, decode, encode, text, validate};

const KNOWN: &[(Platform, u128, &str)] = &[
    (
        Platform::Bdw,
        0x0180400a_00c04004_0302d800_0040015d,
        "madm (4|M0) r3.mme1:df r4.mme2:df r5.mme3:df r6.nomme:df",
    ),
    (
        Platform::Skl,
        0x006000a3_3a600082_00613aeb_0e600138,
        "math.invm (8|M0) (eo)f1.1 r3.mme1:f r4.mme2:f r5.mme3:f",
    ),
    (Platform::Skl, 0x00400080_006032c8_0f400138, "math.rsqtm (4|M0) (eo)f0.0 r3.mme0:df r4.mme0:df"),
    (
        Platform::Jsl,
        0x01a0840a_66204031_03804008_0060005d,
        "madm (8|M0) r3.nomme:f r4.mme0:f r5.mme3:f r6.nomme:f",
    ),
    (
        Platform::Jsl,
        0x004500a8_4a450087_20674b28_0e600038,
        "math.invm (8|M0) (eo)f0.0 r3.mme7:f r4.mme7:f r5.nomme:f",
    ),
    (
        Platform::Tgl,
        0x0010053c_ea100444_03050aa0_01030038,
        "(f0.0) math.invm (8|M0) (eo)f0.0 r3.mme0:f r4.nomme:f r5.mme7:f",
    ),
    (
        Platform::Dg2,
        0x0645051d_0b030415_030c0bb0_0002005d,
        "madm (4|M0) r3.mme1:df r4.mme2:df r5.mme3:df r6.nomme:df",
    ),
];

#[test]
fn macro_operations_have_accumulators() {
    for (platform, word, expected) in KNOWN {
        let known = decode(*platform, *word).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(text::print(*platform, &known), *expected);
        let parsed = text::parse(*platform, expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(encode(*platform, &parsed), Ok(*word), "{expected}");
        let Some(Place::Macro { number: 3, .. }) = known.destination.map(|one| one.place) else {
            panic!("{expected}: {known:?}")
        };
        // Another accumulator is another instruction, a register alone is no operand, and a ninth accumulator is missing.
        let with = |place| {
            let mut other = known;
            other.destination = known.destination.map(|one| intel_eu::Destination { place, ..one });
            encode(*platform, &other)
        };
        let six = with(Place::Macro { number: 3, accumulator: 6 });
        assert!(six.is_ok_and(|six| six != *word), "{expected}: {six:x?}");
        assert!(matches!(with(Place::general(3)), Err(Error::Operand { .. })), "{expected}");
        assert!(
            matches!(with(Place::Macro { number: 3, accumulator: 9 }), Err(Error::Value { value: 9, .. })),
            "{expected}"
        );
    }
}

#[test]
fn other_macro_operations_are_refused() {
    let madm = KNOWN[6].1;
    assert_eq!(
        decode(Platform::Tgl, madm).unwrap_err(),
        Error::Opcode { code: 0x5d, platform: Platform::Tgl }
    );
    let dg2 = Platform::Dg2;
    let error = decode(dg2, madm & !(1 << 98)).unwrap_err();
    assert_eq!(error.to_string(), "madm: an operand of a macro operation in architecture registers");
    let error = decode(dg2, madm | 0xf << 67).unwrap_err();
    assert_eq!(error, Error::Code { field: Field::ThreeMacroSource0, code: 15, platform: dg2 });
    // Its condition is no field, whose bits are kept.
    let mut kept = decode(dg2, madm | 1 << 92).unwrap();
    assert_eq!((kept.condition, kept.ignored), (None, 1 << 92));
    assert_eq!(encode(dg2, &kept), Ok(madm | 1 << 92));
    kept.condition = Some(intel_eu::Condition::Zero);
    assert_eq!(encode(dg2, &kept).unwrap_err().to_string(), "madm: a value that it has no place for");
    // Of the function of Broadwell, without Align16, and on Haswell.
    for (platform, word) in [(Platform::Skl, KNOWN[1].1 & !(1 << 8)), (Platform::Hsw, 0x0e600038)] {
        let error = decode(platform, word).unwrap_err();
        assert_eq!(
            error.to_string(),
            "math: its function has another access mode on this platform, or is missing"
        );
    }
    // A mov has no accumulator beside its register.
    let mut mov = text::parse(dg2, "mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud").unwrap();
    assert!(encode(dg2, &mov).is_ok());
    mov.destination.as_mut().unwrap().place = Place::Macro { number: 2, accumulator: 0 };
    assert_eq!(encode(dg2, &mov).unwrap_err().to_string(), "mov: an operand of macro operations");
    for (line, expected) in [
        ("math.rsqtm (8|M0) r3.mme8:f r4.mme0:f", "'mme8' is no accumulator of macro operations"),
        ("math.rsqtm (8|M0) r3:f r4.mme0:f", "':' is where the accumulator has to be"),
        ("math.sqt (8|M0) r3.mme0:f r4.mme0:f", "'mme0' is no number, or none that fits"),
        ("math.sqt (8|M0) (eo)f0.0 r3.0<1>:f r4.0<1;1,0>:f", "'(' is no register"),
    ] {
        let error = text::parse(dg2, line).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{line}: {error}");
    }
}

#[test]
fn macro_operations_are_not_executed() {
    for (platform, word, expected) in KNOWN {
        let Err(Stop { at: 0, why: Why::Unknown { opcode, what } }) =
            Shader::new(*platform, &word.to_le_bytes()).check(0xff)
        else {
            panic!("{expected} is executed")
        };
        assert!(matches!(opcode, Opcode::Madm | Opcode::Math), "{expected}");
        assert!(["a macro operation", "Align16"].contains(&what), "{expected}: {what}");
    }
}

#[test]
fn macro_operations_break_no_rule_but_those_of_types() {
    for (platform, word, expected) in KNOWN {
        let violations = validate(*platform, &decode(*platform, *word).unwrap());
        // The 64-bit types are missing on DG2.
        assert_eq!(violations.is_empty(), *platform != Platform::Dg2, "{expected}: {violations:?}");
    }
}
