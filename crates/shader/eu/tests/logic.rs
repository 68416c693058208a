//! `bfn`, whose function is a truth table; encodings and expressions by Intel's assembler.

use intel_eu::execute::{Shader, Stop, Why};
use intel_eu::{Condition, Opcode, Platform, decode, encode, text};

const PLATFORM: Platform = Platform::Dg2;

const KNOWN: &[(u128, &str)] = &[
    (
        0x06050504_a2ba0404_03040228_0003006b,
        "bfn.0xAB (8|M0) r3.0<1>:ud r4.0<1;0>:ud r5.0<1;0>:ud r6.0<1>:ud",
    ),
    (
        0x00330504_11290012_0305d110_0103006b,
        "(f0.0) bfn.0x12 (8|M0) (eq)f0.0 r3.0<2>:uw 0x12:uw r5.0<1;0>:uw 0x33:uw",
    ),
    (
        0x06050504_a2aa0404_03043228_00c3006b,
        "bfn.0xAA (8|M0) (lt)f1.1 r3.0<1>:ud r4.0<1;0>:ud r5.0<1;0>:ud r6.0<1>:ud",
    ),
];

#[test]
fn a_function_is_its_truth_table() {
    for (word, expected) in KNOWN {
        let known = decode(PLATFORM, *word).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(text::print(PLATFORM, &known), *expected);
        let parsed = text::parse(PLATFORM, expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(encode(PLATFORM, &parsed), Ok(*word), "{expected}");
        for bit in 0..8 {
            let other = intel_eu::Instruction { function: known.function ^ 1 << bit, ..known };
            assert!(encode(PLATFORM, &other).is_ok_and(|other| other != *word), "{expected} {bit}");
        }
        assert!(decode(Platform::Tgl, *word).is_err(), "{expected}");
        let Err(Stop { at: 0, why: Why::Unknown { opcode: Opcode::Bfn, .. } }) =
            Shader::new(PLATFORM, &word.to_le_bytes()).check(0xff)
        else {
            panic!("{expected} is executed")
        };
    }
}

#[test]
fn a_function_may_be_an_expression() {
    let (_, known) = KNOWN[0];
    for (expression, table) in [
        ("(s0|~s1&~s2)", "0xAB"),
        ("((s0^s2)&~s1)", "0x12"),
        ("(s0^(s0&s1|s1^~s2))", "0x61"),
        ("(s0^~s1&~s2|s1&s2)", "0xE9"),
        ("( ~ (s0 ^ s1) | s2 )", "0xF9"),
        ("(~~s0)", "0xAA"),
        ("(zeros)", "0x00"),
        ("(ones)", "0xFF"),
        ("171", "0xAB"),
    ] {
        let [by_expression, by_table] = [expression, table].map(|function| {
            let text = known.replace("0xAB", function);
            text::parse(PLATFORM, &text).unwrap_or_else(|error| panic!("{text}: {error}"))
        });
        assert_eq!(by_expression, by_table, "{expression}");
    }
}

#[test]
fn other_functions_are_refused() {
    let (word, known) = KNOWN[0];
    for (function, expected) in [
        ("256", "'256' is no number, or none that fits"),
        ("(s3)", "'s3' is no operand of the function"),
        ("(s0 s1)", "'s1' is no operator, nor ')', of the function"),
        ("(s0", "'(' is no operator, nor ')', of the function"),
        ("(~)", "')' is no operand of the function"),
        (&format!("{}s0)", "(".repeat(1000)), "'(' is too deep in the function"),
        (&format!("({}s0)", "~".repeat(1000)), "'~' is too deep in the function"),
    ] {
        let error = text::parse(PLATFORM, &known.replace("0xAB", function)).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    let bfn = decode(PLATFORM, word).unwrap();
    let greater = intel_eu::Instruction { condition: Some(Condition::Greater), ..bfn };
    assert!(encode(PLATFORM, &greater).is_ok());
    let overflow = intel_eu::Instruction { condition: Some(Condition::Overflow), ..bfn };
    assert!(
        encode(PLATFORM, &overflow)
            .unwrap_err()
            .to_string()
            .starts_with("condition modifier: dg2 has no code")
    );
    let mut negated = bfn;
    if let Some(intel_eu::Source::Register { negate, .. }) = &mut negated.sources[1] {
        *negate = true;
    }
    assert_eq!(encode(PLATFORM, &negated).unwrap_err().to_string(), "bfn: a value that it has no place for");
    let saturated = intel_eu::Instruction { saturate: true, ..bfn };
    assert!(encode(PLATFORM, &saturated).is_err());
}
