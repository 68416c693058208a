//! Matrix operations: the types and the subregisters that Mesa's tests of its validator have, and those between them.

use intel_eu::{File, Instruction, Opcode, Place, Platform, Rule, Type, encode, validate};

use crate::build::{Build, matrices};

use Type::{B, Bf, D, F, Hf, Ub, Ud};

fn rules(instruction: &Instruction) -> Vec<Rule> {
    validate(Platform::Dg2, instruction).iter().map(|violation| violation.rule).collect()
}

fn bits(kind: Type) -> u8 {
    8 * kind.bytes()
}

#[test]
fn sums_are_of_32_bits_and_signed_if_a_source_is() {
    let valid = [
        (F, [F, Hf, Hf]),
        (F, [F, Bf, Bf]),
        (Ud, [Ud, Ub, Ub]),
        (D, [D, B, B]),
        (D, [D, B, Ub]),
        (D, [D, Ub, B]),
        (D, [D, Ub, Ub]),
        (D, [Ud, B, B]),
        (D, [Ud, B, Ub]),
        (D, [Ud, Ub, B]),
        (D, [Ud, Ub, Ub]),
    ];
    let mut count = 0;
    let sums = [F, Hf, Bf, D, Ud];
    let factors = [Hf, Bf, B, Ub];
    for (to, added) in sums.into_iter().flat_map(|to| sums.map(|added| (to, added))) {
        for (first, second) in factors.into_iter().flat_map(|first| factors.map(|second| (first, second))) {
            let i = matrices(to, [added, first, second], [bits(first), bits(second)]);
            // All are floats, or none is.
            if encode(Platform::Dg2, &i).is_ok() {
                count += 1;
                let is_valid = valid.contains(&(to, [added, first, second]));
                assert_eq!(rules(&i).is_empty(), is_valid, "{to} {added} {first} {second}: {:?}", rules(&i));
            }
        }
    }
    assert_eq!(count, 9 * 4 + 4 * 4);
}

#[test]
fn operands_begin_at_whole_channels() {
    let place = |number, offset| Place::Direct { file: File::General, number, offset };
    for (i, unit) in [(matrices(F, [F, Hf, Hf], [16, 16]), 2), (matrices(D, [D, B, B], [8, 8]), 1)] {
        assert_eq!(rules(&i), []);
        for byte in (1..32).filter(|byte| byte % unit == 0) {
            assert_eq!(rules(&i.with(|i| *i.place(1) = place(4, byte))), [Rule::MatrixOffset], "{byte}");
            assert_eq!(rules(&i.with(|i| *i.place(2) = place(6, byte))), [Rule::MatrixOffset], "{byte}");
            assert_eq!(rules(&i.with(|i| *i.place(0) = place(2, byte))), [Rule::MatrixOffset], "{byte}");
            assert_eq!(rules(&i.with(|i| i.offset(byte))), [Rule::MatrixResult], "{byte}");
        }
    }
    // Source 2 has fewer bits than source 1: several of its rows are in a register.
    for (first, second, unit) in
        [(8, 4, 16), (8, 2, 8), (4, 2, 16), (4, 4, 32), (2, 2, 32), (4, 8, 32), (2, 4, 32)]
    {
        for byte in 0..32 {
            let i = matrices(D, [D, B, B], [first, second]).with(|i| *i.place(2) = place(6, byte));
            let expected = if byte % unit == 0 { vec![] } else { vec![Rule::MatrixOffset] };
            assert_eq!(rules(&i), expected, "{first} {second} {byte}");
        }
    }
}

#[test]
fn each_source_has_its_own_multiple() {
    let at = |number, offset| Place::Direct { file: File::General, number, offset };
    // Source 2 could begin there, source 1 cannot.
    let i = matrices(D, [D, B, B], [8, 4]).with(|i| *i.place(1) = at(4, 16));
    assert_eq!(rules(&i), [Rule::MatrixOffset]);
    // Half as many channels have half a register.
    let half =
        matrices(D, [D, B, B], [8, 8]).with(|i| i.execution_size = 4).with(|i| *i.place(0) = at(2, 16));
    assert_eq!(rules(&half), [Rule::MatrixSize]);
}

#[test]
fn depth_and_channels_are_eight() {
    let i = matrices(D, [D, B, B], [8, 8]);
    for depth in [1, 2, 4, 8] {
        let other = i.with(|i| i.systolic.as_mut().expect("it has one").depth = depth);
        assert_eq!(rules(&other).is_empty(), depth == 8, "{depth}");
    }
    for channels in [1, 2, 4, 8, 16, 32] {
        let other = i.with(|i| i.execution_size = channels);
        assert_eq!(rules(&other).is_empty(), channels == 8, "{channels}");
    }
    let fused = i.with(|i| i.opcode = Opcode::Dpasw);
    assert_eq!(rules(&fused), []);
    assert_eq!(rules(&fused.with(|i| i.execution_size = 4)), [Rule::MatrixSize]);
    // There may be nothing to add.
    assert_eq!(rules(&i.with(|i| *i.place(0) = Place::NULL)), []);
    assert_eq!(rules(&i.with(|i| i.sources[1] = None)), [Rule::MissingSource]);
    // Meteor Lake has none.
    let found: Vec<_> = validate(Platform::Mtl, &i).iter().map(|violation| violation.rule).collect();
    assert_eq!(found, [Rule::Existence]);
    assert!(encode(Platform::Mtl, &i).is_err());
}

#[test]
fn violations_name_the_values() {
    let i = matrices(D, [D, B, B], [8, 4]);
    let place = Place::Direct { file: File::General, number: 6, offset: 8 };
    for (other, operand, found) in [
        (i.with(|i| i.systolic.as_mut().expect("it has one").depth = 2), "instruction", "depth 2"),
        (i.with(|i| i.execution_size = 16), "instruction", "16 channels"),
        (i.with(|i| i.offset(8)), "destination", "byte 8"),
        (i.with(|i| *i.place(2) = place), "source 2", "byte 8, 16 bytes of a channel"),
        (matrices(F, [F, Hf, Bf], [16, 16]), "instruction", "hf times bf"),
        (matrices(Ud, [Ud, Ub, B], [8, 8]), "source 2", "type b, that of the destination ud"),
    ] {
        let [violation] = &validate(Platform::Dg2, &other)[..] else {
            panic!("one rule is broken: {other:?}")
        };
        assert_eq!((violation.operand.to_string().as_str(), violation.found.as_str()), (operand, found));
    }
}
