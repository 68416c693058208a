//! Each operation on each pair of types, on each platform, in 16, 8 and 4 lanes: the validator accepts the instructions, and the executor
//! has the results of a reference, or the operation is refused by name.
//!
//! Of each type there are corner values and random ones, and a part of the values of 16 bits, on the platforms that have different rules;
//! with EVERY_CASE in the environment (`ci/unit --all`), every value of 16 bits on all platforms.

mod reference;
mod run;

use intel_eu::{Base, Condition, Opcode, Platform, Type};

use super::*;
use crate::machine::instr::Instr;
use crate::machine::rules::has_long_integers;
use reference::{Case, canonical, reference};
use run::{LANES_SET, Run, results};

const TYPES: [Type; 11] =
    [Type::Ub, Type::B, Type::Uw, Type::W, Type::Ud, Type::D, Type::Uq, Type::Q, Type::Hf, Type::F, Type::Df];

/// Random values of each type.
const RANDOM: usize = 48;

/// The distance of tested 16-bit values, and of those of operations with modifiers, unless everything is tested.
const OFTEN: usize = 127;
const RARE: usize = 293;

/// The platforms whose rules differ.
const DIFFERENT: [Platform; 9] = [
    Platform::Hsw,
    Platform::Bdw,
    Platform::Chv,
    Platform::Skl,
    Platform::Glk,
    Platform::Jsl,
    Platform::Tgl,
    Platform::Dg2,
    Platform::Mtl,
];

/// Returns whether everything is to be tested.
fn is_all() -> bool {
    std::env::var_os("EVERY_CASE").is_some()
}

fn platforms() -> Vec<Platform> {
    if !is_all() {
        return DIFFERENT.to_vec();
    }
    Platform::all().filter(|platform| platform.graphics() >= 75).collect()
}

/// Returns the bits of values of a type: for up to 16 bits, those of each `step`th number from `first` on, too.
fn values(kind: Type, first: u64, step: usize) -> Vec<u64> {
    let bits = 8 * u32::from(kind.bytes());
    let mask = u64::MAX >> (64 - bits);
    let mut found: Vec<u64> = Vec::new();
    for shift in 0..bits {
        let one = 1_u64 << shift;
        found.extend([one, one - 1, one + 1, !one, one.wrapping_neg()]);
    }
    let float = |number: f64| {
        if kind == Type::Hf {
            u64::from(half::f16::from_f64(number).to_bits())
        } else if kind == Type::F {
            u64::from((number as f32).to_bits())
        } else {
            number.to_bits()
        }
    };
    if kind.base() == Base::Float {
        let numbers = [
            0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 127.5, 128.0, 255.5, 256.0, 300.0, 32767.5, 65503.0, 65520.0,
        ];
        let large =
            [16_777_217.0, 2_147_483_647.5, 4_294_967_295.5, 9.3e18, 1.9e19, 1e30, f64::INFINITY, f64::NAN];
        found.extend(numbers.into_iter().chain(large).flat_map(|number| [float(number), float(-number)]));
    }
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..RANDOM {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        found.push(random);
        found.push(random >> (random % 64));
    }
    if bits <= 16 {
        found.extend((first..1 << bits).step_by(step));
    }
    found.into_iter().map(|value| value & mask).collect()
}

/// Returns whether a platform may refuse an operation of these types, and the reason.
fn refusal(platform: Platform, case: &Case) -> Option<&'static str> {
    let has = |kind| case.from == kind || case.to == kind;
    let has_long = has(Type::Q) || has(Type::Uq);
    let is_mixed = (case.from.base() == Base::Float) != (case.to.base() == Base::Float);
    let lacks_long = has_long && !has_long_integers(platform);
    match platform.graphics() {
        75 if has(Type::Hf) => Some("no half floats"),
        91.. if has(Type::Df) && platform.name() != "mtl" => Some("no doubles"),
        _ if lacks_long && is_mixed => Some("expanded before"),
        _ if lacks_long && (case.saturate || case.negate) => Some("modifiers of pairs"),
        _ => None,
    }
}

/// Tests an operation on all platforms; returns the number of results that were compared, and of refusals.
fn test(case: &Case) -> (usize, usize) {
    let (mut compared, mut refused) = (0, 0);
    let platforms = platforms();
    for (number, &platform) in platforms.iter().enumerate() {
        let is_modified = case.saturate || case.negate || case.predicated;
        let (first, step) = match (is_all(), is_modified) {
            (true, _) => (0, 1),
            (false, true) => (number as u64, RARE),
            (false, false) => (number as u64, OFTEN),
        };
        let first_values = values(case.from, first, step);
        let second_values = values(case.from, first, step);
        for lanes in [16, 8, 4] {
            // All values in one size, and the corners in the others.
            let count = if lanes == 16 { first_values.len() } else { 5 * 8 * usize::from(case.from.bytes()) };
            let run = match Run::new(platform, case, lanes) {
                Ok(run) => run,
                Err(error) => {
                    let allowed = refusal(platform, case);
                    assert!(allowed.is_some(), "{platform} {case:?}, {lanes} lanes: {error}");
                    refused += 1;
                    continue;
                }
            };
            let found = results(&run, case, &first_values[..count], &second_values);
            for (at, (inputs, found)) in found.into_iter().enumerate() {
                let [a, b, old] = inputs;
                let is_executed =
                    case.opcode == Opcode::Sel || !case.predicated || LANES_SET >> (at % 16) & 1 != 0;
                let chosen = LANES_SET >> (at % 16) & 1 != 0;
                let kind = if case.opcode == Opcode::Cmp { Type::Ud } else { case.to };
                let expected = canonical(kind, if is_executed { reference(case, a, b, chosen) } else { old });
                assert_eq!(
                    found, expected,
                    "{platform} {case:?}, {lanes} lanes: {a:#x}, {b:#x}, old {old:#x}: found {found:#x}"
                );
                compared += 1;
            }
        }
    }
    (compared, refused)
}

fn sum(cases: impl Iterator<Item = Case>) -> (usize, usize) {
    cases.map(|case| test(&case)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
}

#[test]
fn moves_convert_between_all_types() {
    let pairs = TYPES.iter().flat_map(|from| TYPES.iter().map(move |to| (*from, *to)));
    let cases = pairs.map(|(from, to)| Case::new(Opcode::Mov, from, to));
    let (compared, refused) = sum(cases);
    println!("{compared} results, {refused} refusals");
    assert!(compared > 100_000 && refused < 2000, "{compared} {refused}");
}

#[test]
fn moves_saturate() {
    let pairs = TYPES.iter().flat_map(|from| TYPES.iter().map(move |to| (*from, *to)));
    sum(pairs.map(|(from, to)| Case { saturate: true, ..Case::new(Opcode::Mov, from, to) }));
}

#[test]
fn moves_of_some_lanes_leave_the_others() {
    let pairs = TYPES.iter().flat_map(|from| TYPES.iter().map(move |to| (*from, *to)));
    sum(pairs.map(|(from, to)| Case { predicated: true, ..Case::new(Opcode::Mov, from, to) }));
}

#[test]
fn moves_negate() {
    let pairs = TYPES.iter().flat_map(|from| TYPES.iter().map(move |to| (*from, *to)));
    sum(pairs.map(|(from, to)| Case { negate: true, ..Case::new(Opcode::Mov, from, to) }));
}

/// Returns the pairs of an integer type and one of its size or less.
fn narrowing() -> impl Iterator<Item = (Type, Type)> {
    let is_integer = |kind: &Type| kind.base() != Base::Float;
    let pairs = TYPES.into_iter().flat_map(|from| TYPES.into_iter().map(move |to| (from, to)));
    pairs.filter(move |(from, to)| is_integer(from) && is_integer(to) && to.bytes() <= from.bytes())
}

/// Returns the pairs of types of floats.
fn floats() -> impl Iterator<Item = (Type, Type)> {
    const FLOATS: [Type; 3] = [Type::Hf, Type::F, Type::Df];
    FLOATS.into_iter().flat_map(|from| FLOATS.into_iter().map(move |to| (from, to)))
}

#[test]
fn integers_are_added_combined_and_shifted() {
    let opcodes = [Opcode::Add, Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Shl, Opcode::Shr, Opcode::Asr];
    let all = opcodes.into_iter().flat_map(|opcode| narrowing().map(move |(from, to)| (opcode, from, to)));
    // The shifts of a type with the other sign are none of theirs.
    let is_known = |(opcode, from, _): &(Opcode, Type, Type)| {
        let base = from.base();
        !(*opcode == Opcode::Shr && base == Base::Signed || *opcode == Opcode::Asr && base == Base::Unsigned)
    };
    sum(all.filter(is_known).map(|(opcode, from, to)| Case::new(opcode, from, to)));
}

#[test]
fn integers_are_inverted() {
    sum(narrowing().map(|(from, to)| Case::new(Opcode::Not, from, to)));
}

#[test]
fn small_integers_and_floats_are_multiplied() {
    let small = narrowing().filter(|(from, _)| from.bytes() <= 2);
    sum(small.chain(floats()).map(|(from, to)| Case::new(Opcode::Mul, from, to)));
}

#[test]
fn floats_are_added() {
    sum(floats().map(|(from, to)| Case::new(Opcode::Add, from, to)));
}

#[test]
fn floats_are_rounded_and_bits_are_counted() {
    let rounded = [Opcode::Rndd, Opcode::Rndz, Opcode::Rnde];
    let floats = [Type::Hf, Type::F].into_iter().flat_map(|kind| rounded.map(|opcode| (opcode, kind)));
    let counted = [Opcode::Cbit, Opcode::Fbl, Opcode::Lzd, Opcode::Bfrev].map(|opcode| (opcode, Type::Ud));
    sum(floats.chain(counted).map(|(opcode, kind)| Case::new(opcode, kind, kind)));
}

#[test]
fn selections_choose_by_flags() {
    let pairs = narrowing().chain(floats());
    sum(pairs.map(|(from, to)| Case { predicated: true, ..Case::new(Opcode::Sel, from, to) }));
}

#[test]
fn selections_choose_the_least_and_the_largest() {
    let conditions = [Condition::Less, Condition::GreaterOrEqual];
    let pairs = narrowing().chain(floats());
    let all = pairs.flat_map(|(from, to)| conditions.map(|condition| (from, to, condition)));
    sum(all.map(|(from, to, condition)| Case {
        condition: Some(condition),
        ..Case::new(Opcode::Sel, from, to)
    }));
}

#[test]
fn comparisons_set_flags() {
    const CONDITIONS: [Condition; 6] = [
        Condition::Zero,
        Condition::NotZero,
        Condition::Less,
        Condition::LessOrEqual,
        Condition::Greater,
        Condition::GreaterOrEqual,
    ];
    let all = TYPES.into_iter().flat_map(|from| CONDITIONS.map(|condition| (from, condition)));
    let cases = all
        .map(|(from, condition)| Case { condition: Some(condition), ..Case::new(Opcode::Cmp, from, from) });
    sum(cases);
}

#[test]
fn a_wrong_repair_is_noticed() {
    // Without the repair of the destination, the conversion is the one that the hardware does not have.
    let case = Case::new(Opcode::Mov, Type::Df, Type::F);
    let instr = case.instr(Instr::new(Opcode::Mov));
    assert!(!violations(Platform::Skl, &instr).is_empty(), "a packed destination is illegal");
    let sums: Vec<u64> =
        [1.5_f64, -2.25].iter().map(|number| reference(&case, number.to_bits(), 0, true)).collect();
    assert_eq!(sums, [u64::from(1.5_f32.to_bits()), u64::from((-2.25_f32).to_bits())]);
}
