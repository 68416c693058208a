//! Conversions of results: selections have none, other operations have.

use intel_eu::{Instruction, Opcode, Platform, Type, execution_type, supports_conversion};

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
