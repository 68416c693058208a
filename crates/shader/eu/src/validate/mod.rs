//! Restrictions of the hardware: which rules an instruction breaks.
//!
//! The rules are a table ([`rule`]): each has platforms and instructions to which it applies ([`scope`]), and a check,
//! which sees an instruction by its [`view`]. The other modules are the checks.

mod brain;
mod messages;
mod mixed;
mod opcodes;
mod regions;
mod rule;
mod scope;
mod spans;
mod systolic;
mod types;
mod view;
mod wide;

use std::fmt;

pub use rule::Rule;
use rule::{Check, Row};
use view::View;

use crate::{Base, Instruction, Opcode, Platform, Type};

/// A rule that an instruction breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The operand that breaks it.
    pub operand: Operand,
    /// The values that break it, as text.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, operand, found } = self;
        write!(f, "{operand}: {}: {found} ({}: {})", rule.text(), rule.name(), rule.source())
    }
}

/// The part of an instruction that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The instruction as a whole: its controls, or several operands.
    Instruction,
    /// The destination.
    Destination,
    /// The source of a number, 0 to 2.
    Source(u8),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instruction => f.write_str("instruction"),
            Self::Destination => f.write_str("destination"),
            Self::Source(number) => write!(f, "source {number}"),
        }
    }
}

/// Returns the rules that an instruction breaks on a platform, in the order of the table; none if it is valid.
///
/// ```
/// use intel_eu::{Operand, Platform, Rule, decode, validate};
///
/// // mov (4) r30.0<1>:f r10.0<4;4,1>:df: the destination is packed
/// let mov = decode(Platform::Skl, 0x00000000_00690140_23c032e8_00400001)?;
/// let [violation] = &validate(Platform::Skl, &mov)[..] else { panic!("one rule is broken") };
/// assert_eq!((violation.rule, violation.operand), (Rule::DestinationStride, Operand::Destination));
/// assert_eq!(violation.found, "4 bytes, execution type df of 8 bytes");
/// # Ok::<(), intel_eu::Error>(())
/// ```
#[must_use]
pub fn validate(platform: Platform, instruction: &Instruction) -> Vec<Violation> {
    let view = View::new(platform, instruction);
    let rows = Rule::rows().iter().filter(|row| row.on.includes(platform) && row.scope.includes(&view));
    rows.flat_map(|row| violations(row, &view)).collect()
}

/// Returns the type in which an instruction with one or two sources computes; `None` if it has no sources.
#[must_use]
pub fn execution_type(platform: Platform, instruction: &Instruction) -> Option<Type> {
    View::new(platform, instruction).execution_type()
}

/// Returns whether an instruction can convert its result: whether the destination has the execution type, up to the sign of integers,
/// or the operation is one that converts. A selection does not.
///
/// Source: Mesa's brw_fs_lower_regioning.cpp, and before that the predicate `supports_type_conversion`.
#[must_use]
pub fn supports_conversion(platform: Platform, instruction: &Instruction) -> bool {
    let converts = !matches!(instruction.opcode, Opcode::Sel | Opcode::Csel);
    let kinds = instruction.destination.map(|to| to.kind).zip(execution_type(platform, instruction));
    converts
        || kinds.is_none_or(|(to, of)| {
            let are_integers = to.base() != Base::Float && of.base() != Base::Float;
            to == of || are_integers && to.bytes() == of.bytes()
        })
}

fn violations(row: &Row, view: &View<'_>) -> Vec<Violation> {
    let found =
        |operand, found: Option<String>| found.map(|found| Violation { rule: row.rule, operand, found });
    match row.check {
        Check::Instruction(check) => found(Operand::Instruction, check(view)).into_iter().collect(),
        Check::Destination(check) => {
            let broken = view.destination.and_then(|destination| check(view, &destination));
            found(Operand::Destination, broken).into_iter().collect()
        }
        Check::Sources(check) => view
            .registers()
            .filter_map(|source| found(Operand::Source(source.number), check(view, &source)))
            .collect(),
        Check::Types(check) => {
            view.typed().filter_map(|typed| found(typed.operand, check(view, &typed))).collect()
        }
    }
}
