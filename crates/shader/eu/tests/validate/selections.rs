//! Conversions of results: selections have none, other operations have. The types of `csel`.

use intel_eu::{Instruction, Opcode, Platform, Rule, Type, execution_type, supports_conversion, validate};

use crate::build::{Build, Rows, decide, op};

use Type::{D, Df, F, Hf, Q, Ub, Ud, Uq, Uw, W};

const ROWS: Rows = (8, 8, 1);

/// The destination's type, the types of the sources, the execution type, and whether a selection can write the destination.
const TABLE: [(Type, [Type; 2], Type, bool); 17] = [
    (D, [D, D], D, true),
    (Ud, [D, D], D, true),
    (D, [Ud, Ud], D, true),
    (W, [Uw, Uw], W, true),
    (Uq, [Q, Q], Q, true),
    (F, [F, F], F, true),
    (Hf, [Hf, Hf], Hf, true),
    (Df, [Df, Df], Df, true),
    // Bytes are computed with as words.
    (Ub, [Ub, Ub], W, false),
    (W, [D, D], D, false),
    (D, [W, W], W, false),
    (Q, [D, D], D, false),
    // Types of the same size.
    (F, [D, D], D, false),
    (D, [F, F], F, false),
    (Df, [Q, Q], Q, false),
    (Hf, [W, W], W, false),
    (Hf, [F, F], F, false),
];

fn both(instruction: Instruction, to: Type, [first, second]: [Type; 2]) -> Instruction {
    instruction.to(to, 1).from(first, ROWS).from(second, ROWS)
}

#[test]
fn a_selection_writes_its_execution_type_only() {
    for (to, sources, execution, expected) in TABLE {
        let select = both(decide(Opcode::Sel, 8), to, sources);
        assert_eq!(execution_type(Platform::Skl, &select), Some(execution), "{to} {sources:?}");
        assert_eq!(supports_conversion(Platform::Skl, &select), expected, "{to} {sources:?}");
        let compare = both(decide(Opcode::Csel, 8), to, sources).from(sources[0], ROWS);
        assert_eq!(supports_conversion(Platform::Skl, &compare), expected, "csel {to} {sources:?}");
    }
}

#[test]
fn csel_takes_integers_of_either_sign_from_graphics_11_on() {
    let csel = |to: Type, sources: [Type; 3]| {
        let start = both(decide(Opcode::Csel, 8), to, [sources[0], sources[1]]);
        start.from(sources[2], (1, 1, 1))
    };
    let rules = |platform, instruction: &Instruction| -> Vec<Rule> {
        validate(platform, instruction).iter().map(|violation| violation.rule).collect()
    };
    for (to, sources, expected) in [
        (Ud, [Ud, Ud, Ud], vec![]),
        (Uw, [Uw, Uw, Uw], vec![]),
        (D, [Ud, D, Ud], vec![]),
        (Ud, [D, D, D], vec![]),
        (Uw, [W, Uw, W], vec![]),
        (D, [D, W, D], vec![Rule::CselSources]),
        (Ud, [Ud, Ud, F], vec![Rule::CselSources]),
        (F, [F, D, F], vec![Rule::CselSources]),
        (W, [Hf, W, W], vec![Rule::CselSources]),
        (Ub, [Ub, W, W], vec![Rule::CselType, Rule::CselSources, Rule::CselSources]),
    ] {
        for platform in [Platform::Icl, Platform::Tgl, Platform::Mtl] {
            assert_eq!(rules(platform, &csel(to, sources)), expected, "{platform} {to} {sources:?}");
        }
    }
    // Before, it has floats only.
    let integers = csel(Ud, [Ud; 3]).align16();
    assert_eq!(rules(Platform::Skl, &integers), [Rule::CselType]);
    assert_eq!(rules(Platform::Skl, &csel(F, [F; 3]).align16()), []);
    // The operands of bfi2 differ in nothing.
    let insert = csel(Ud, [Ud, D, Ud]).with(|i| {
        i.opcode = Opcode::Bfi2;
        i.condition = None;
    });
    assert_eq!(rules(Platform::Icl, &insert), [Rule::EqualTypes]);
}

#[test]
fn other_operations_convert_their_results() {
    for (to, sources, ..) in TABLE {
        let add = both(op(Opcode::Add, 8), to, sources);
        assert!(supports_conversion(Platform::Skl, &add), "add {to} {sources:?}");
        let mov = op(Opcode::Mov, 8).to(to, 1).from(sources[0], ROWS);
        assert!(supports_conversion(Platform::Skl, &mov), "mov {to} {sources:?}");
    }
}

#[test]
fn an_instruction_without_operands_converts_nothing() {
    assert_eq!(execution_type(Platform::Skl, &op(Opcode::Nop, 1)), None);
    assert!(supports_conversion(Platform::Skl, &op(Opcode::Sel, 8)));
}
