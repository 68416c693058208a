//! Conversions from and to half floats, by the table that the review of 2019 agreed on.

use intel_eu::{Opcode, Platform, Rule, Type, validate};

use crate::build::{Build, op};

/// The destination's type, stride and first byte, the source's type; valid on bdw, on later ones and chv.
type Entry = (Type, u8, u8, Type, bool, bool);

use Type::{B, D, Df, F, Hf, Q, W};

const TABLE: [Entry; 35] = [
    (Hf, 1, 0, F, false, true),
    (Hf, 2, 0, F, true, true),
    (Hf, 2, 2, F, false, true),
    (Hf, 4, 0, F, false, false),
    (Hf, 2, 0, B, true, true),
    (Hf, 2, 0, W, true, true),
    (Hf, 2, 0, D, true, true),
    (Hf, 1, 0, B, false, false),
    (Hf, 1, 0, W, false, false),
    (Hf, 1, 0, D, false, false),
    (Hf, 2, 2, B, false, false),
    (Hf, 2, 2, W, false, false),
    (Hf, 2, 2, D, false, false),
    (Hf, 4, 0, B, false, false),
    (Hf, 4, 0, W, false, false),
    (Hf, 4, 0, D, false, false),
    (Hf, 1, 0, Hf, true, true),
    (Hf, 1, 2, Hf, true, true),
    (Hf, 2, 0, Hf, true, true),
    (Hf, 2, 2, Hf, true, true),
    (Hf, 2, 0, Q, false, false),
    (Hf, 4, 0, Q, false, false),
    (Hf, 2, 0, Df, false, false),
    (Hf, 4, 0, Df, false, false),
    (D, 1, 0, Hf, true, true),
    (D, 1, 4, Hf, true, true),
    (F, 1, 0, Hf, true, true),
    (F, 1, 4, Hf, true, true),
    (W, 2, 0, Hf, true, true),
    (W, 1, 0, Hf, false, false),
    (W, 2, 2, Hf, false, false),
    (B, 4, 0, Hf, true, true),
    (B, 4, 1, Hf, false, false),
    (F, 2, 0, Hf, true, true),
    (D, 2, 0, Hf, false, false),
];

/// Both types are too long for half floats, at any stride.
const NEVER: [(Type, Type); 4] = [(Q, Hf), (Df, Hf), (Hf, Q), (Hf, Df)];

fn check((destination, stride, byte, source, on_bdw, on_others): Entry) {
    let mov = op(Opcode::Mov, 4).from(source, (4, 4, 1)).to(destination, stride).with(|i| i.offset(byte));
    for platform in Platform::all().filter(|platform| platform.graphics() >= 80) {
        let mut violations = validate(platform, &mov);
        // From graphics 12.5 on, floats cannot change their places at all.
        violations.retain(|violation| violation.rule != Rule::MovedLanes);
        let is_expected = if platform == Platform::Bdw { on_bdw } else { on_others };
        assert_eq!(
            violations.is_empty(),
            is_expected,
            "{platform}: {destination}:{source} {stride},{byte}: {violations:?}"
        );
    }
}

#[test]
fn movs_are_as_agreed() {
    TABLE.into_iter().for_each(check);
}

#[test]
fn half_floats_and_64_bits_are_never_converted() {
    for (destination, source) in NEVER {
        for stride in [1, 2, 4] {
            for byte in [0, 2, 4, 8, 16] {
                check((destination, stride, byte, source, false, false));
            }
        }
    }
}

#[test]
fn implicit_conversions_of_either_source_are_found() {
    for number in [0, 1] {
        for (stride, expected) in [(1, vec![Rule::HalfToIntegerStride]), (2, vec![])] {
            let mut add = op(Opcode::Add, 4)
                .from(Hf, (4, 4, 1))
                .from(Hf, (4, 4, 1))
                .to(Hf, stride)
                .with(|i| i.offset(4));
            assert_eq!(validate(Platform::Skl, &add), [], "{stride}");
            *add.kind(number) = W;
            let rules: Vec<_> = validate(Platform::Skl, &add).iter().map(|one| one.rule).collect();
            assert_eq!(rules, expected, "source {number}, {stride}");
        }
    }
}

#[test]
fn align16_is_packed() {
    let mov = op(Opcode::Mov, 4).from(F, (4, 4, 1)).to(Hf, 1);
    assert_eq!(validate(Platform::Skl, &mov.align16()), []);
    let mov = op(Opcode::Mov, 4).from(W, (4, 4, 1)).to(Hf, 1);
    assert_eq!(validate(Platform::Skl, &mov.align16()), []);
    assert_eq!(validate(Platform::Skl, &mov)[0].rule, Rule::HalfToIntegerStride);
}
