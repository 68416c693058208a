//! Each rule, by the cases.

use std::collections::BTreeSet;

use intel_eu::{Opcode, Operand, Platform, Rule, decode, encode, validate};

use crate::cases::{Case, cases};

/// Rules whose platforms the table cannot tell: what they ask for depends on the instruction, too.
const BY_VALUE: [Rule; 7] = [
    Rule::TypeCode,
    Rule::Double,
    Rule::Quadword,
    Rule::Align16Groups,
    Rule::CselType,
    Rule::SharedFunction,
    Rule::UrbMessage,
];

/// Rules that are not for all platforms, by the first and last version of graphics that has them.
const LIMITED: [(u8, u8, &[Rule]); 11] = [
    (70, 75, &[Rule::RegisterPairing, Rule::PairedOffsets, Rule::SourceInOneRegister]),
    (70, 75, &[Rule::CompareAccumulator, Rule::CompareSwitch, Rule::ProductAccumulator, Rule::ProductFloat]),
    (70, 80, &[Rule::OwordSplit, Rule::RegisterSplit]),
    (70, 90, &[Rule::ThreeSourceMode, Rule::LongReplication]),
    (80, 80, &[Rule::ProductDestination]),
    (80, 125, EIGHT),
    (90, 125, &[Rule::MathSplit]),
    (110, 125, &[Rule::AccessMode, Rule::ByteSource]),
    (120, 125, &[Rule::ChannelOffset, Rule::ProductSourceModifier]),
    (120, 120, &[Rule::AccumulatorStride]),
    (125, 125, LAST),
];

const EIGHT: &[Rule] = &[
    Rule::HalfToIntegerStride,
    Rule::HalfToIntegerAlignment,
    Rule::MixedIndirect,
    Rule::MixedFloatSize,
    Rule::MixedAlign16Groups,
    Rule::MixedAlign16Size,
    Rule::MixedAlign16Accumulator,
    Rule::MixedPackedSize,
    Rule::MixedPackedAlignment,
    Rule::MixedAccumulatorOffset,
    Rule::MixedAccumulatorStride,
    Rule::MixedMath,
    Rule::LongAlign16,
    Rule::LogicAbsolute,
    Rule::LogicAccumulator,
    Rule::ProductIntegerAccumulator,
    Rule::ReturnOverlap,
    Rule::UrbRead,
];

const LAST: &[Rule] = &[Rule::MovedLanes, Rule::NamedSource, Rule::NamedDestination, Rule::RowAddresses];

const LOW_POWER: &[Rule] = &[
    Rule::LongStride,
    Rule::LongRows,
    Rule::LongOffset,
    Rule::LongIndirectSource,
    Rule::LongIndirectDestination,
    Rule::LongArchitecture,
    Rule::LongDependency,
];

#[test]
fn rules_are_for_the_platforms_of_the_manuals() {
    for platform in Platform::all() {
        let graphics = platform.graphics();
        for rule in Rule::all() {
            let row = LIMITED.iter().find(|row| row.2.contains(&rule));
            let expected = if LOW_POWER.contains(&rule) {
                ["chv", "bxt", "glk"].contains(&platform.name())
            } else if rule == Rule::HalfWords {
                graphics > 80 || platform.name() == "chv"
            } else {
                row.is_none_or(|(first, last, _)| (*first..=*last).contains(&graphics))
            };
            assert_eq!(rule.applies_to(platform), expected, "{rule:?} on {platform}");
        }
    }
}

fn broken(platform: Platform, instruction: &intel_eu::Instruction) -> BTreeSet<Rule> {
    validate(platform, instruction).iter().map(|violation| violation.rule).collect()
}

#[test]
fn each_rule_is_broken_alone() {
    let mut seen = BTreeSet::new();
    for Case { rule, also, platforms, right, wrong } in cases() {
        for platform in platforms {
            let violations = validate(*platform, &right);
            assert!(violations.is_empty(), "{rule:?} on {platform}: right, but {violations:#?}");
            let mut expected: BTreeSet<_> = also.iter().copied().collect();
            expected.insert(rule);
            assert_eq!(broken(*platform, &wrong), expected, "{rule:?} on {platform}: {wrong:#?}");
        }
        seen.insert(rule);
    }
    let missing: Vec<_> = Rule::all().filter(|rule| !seen.contains(rule)).collect();
    assert!(missing.is_empty(), "no case breaks {missing:?}");
}

#[test]
fn right_instructions_can_be_encoded() {
    for Case { rule, platforms, right, .. } in cases() {
        for platform in platforms {
            let word =
                encode(*platform, &right).unwrap_or_else(|error| panic!("{rule:?} on {platform}: {error}"));
            assert_eq!(decode(*platform, word), Ok(right), "{rule:?} on {platform}");
        }
    }
}

#[test]
fn a_rule_is_for_its_platforms_only() {
    for Case { rule, wrong, .. } in cases().into_iter().filter(|case| !BY_VALUE.contains(&case.rule)) {
        let form = wrong.opcode.form(Platform::Skl);
        for platform in Platform::all().filter(|platform| wrong.opcode.form(*platform) == form) {
            let is_broken = broken(platform, &wrong).contains(&rule);
            let is_there = rule == Rule::Existence || wrong.opcode.code(platform).is_some();
            if is_there {
                assert_eq!(is_broken, rule.applies_to(platform), "{rule:?} on {platform}");
            }
        }
    }
}

#[test]
fn messages_name_the_operand_the_values_and_the_source() {
    for Case { rule, platforms, wrong, .. } in cases() {
        let violations = validate(platforms[0], &wrong);
        let violation = violations.iter().find(|one| one.rule == rule).expect("the rule is broken");
        let text = violation.to_string();
        let expected = format!("{}: {}: {} (", violation.operand, rule.text(), violation.found);
        assert!(text.starts_with(&expected) && text.ends_with(')'), "{text}");
        assert!(text.contains(rule.source()) && !violation.found.is_empty(), "{text}");
        if let Operand::Source(number) = violation.operand {
            assert!(wrong.sources[usize::from(number)].is_some(), "{text}");
        }
    }
    let [violation] = &validate(Platform::Skl, &intel_eu::Instruction::new(Opcode::Illegal))[..] else {
        panic!("one rule is broken");
    };
    assert_eq!(
        violation.to_string(),
        "instruction: the platform must have the opcode: illegal \
         (Existence: EU Opcode Encoding; is_unsupported_inst)"
    );
}

/// The conversions of double floats that are legal, and one that is not, by the platforms that have them.
#[test]
fn narrowed_doubles_leave_room_for_the_execution_type() {
    let valid = [
        0x00000000_00690140_428032e8_00400001, // mov(4) r20<2>:f r10<4;4,1>:df
        0x00000000_008a0280_22c03ae8_00400001, // mov(4) r22<1>:f r20<8;4,2>:f
    ];
    let packed = 0x00000000_00690140_23c032e8_00400001; // mov(4) r30<1>:f r10<4;4,1>:df
    for platform in [Platform::Bdw, Platform::Skl, Platform::Glk] {
        for word in valid {
            assert_eq!(validate(platform, &decode(platform, word).unwrap()), [], "{platform} {word:#034x}");
        }
        let rules = broken(platform, &decode(platform, packed).unwrap());
        assert!(rules.contains(&Rule::DestinationStride), "{platform} {rules:?}");
    }
}

/// Words of all kinds: those that can be decoded can be checked.
#[test]
fn no_instruction_stops_the_check() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut checked, mut found) = (0, 0);
    for platform in Platform::all() {
        let opcodes: Vec<_> = Opcode::of(platform).filter_map(|opcode| opcode.code(platform)).collect();
        for round in 0..1000 {
            let word = (u128::from(random()) << 64 | u128::from(random())) & !(0x7f | 1 << 29);
            let word = word | u128::from(opcodes[round % opcodes.len()]);
            if let Ok(mut instruction) = decode(platform, word) {
                found += validate(platform, &instruction).len();
                instruction.execution_size = random() as u8;
                instruction.sources[0] = None;
                found += validate(platform, &instruction).len();
                checked += 1;
            }
        }
    }
    assert!(checked > 1000 && found > checked, "{checked} instructions, {found} violations");
}
