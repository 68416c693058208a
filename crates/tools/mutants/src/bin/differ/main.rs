//! Compares the answers of mutants of the validator (`crates/shader/eu/src/validate`) with the validator's own.
//!
//! `differ COUNT NUMBER...` validates COUNT instructions at random. It prints a line for each mutant, with tabs between: its
//! number, what differs (`nothing`; `text`: only the values in messages; `rules`), and an instruction for which it does. All can be
//! encoded, and each rule that is not in [`NOT_MET`] is broken by some.

mod random;

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::{Hash, Hasher};

use intel_eu::{Instruction, Platform, Rule, encode, validate};
use random::Random;

/// The mutants of a copy of the tree; here there are none.
#[cfg(not(mutants))]
mod mutant {
    pub(super) const fn choose(_: u32) {}
}
#[cfg(mutants)]
use intel_eu::mutant;

/// The answer about an instruction: the rules with their operands, and the values.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Answer {
    rules: u64,
    text: u64,
}

impl Answer {
    /// A mutant that panics has an answer of its own.
    fn new(platform: Platform, instruction: &Instruction) -> Self {
        let violations = std::panic::catch_unwind(|| validate(platform, instruction)).ok();
        let [mut rules, mut text] = [DefaultHasher::new(), DefaultHasher::new()];
        for one in violations.iter().flatten() {
            (one.rule, one.operand).hash(&mut rules);
            one.to_string().hash(&mut text);
        }
        violations.is_none().hash(&mut rules);
        Self { rules: rules.finish(), text: text.finish() }
    }
}

/// Rules that the instructions need not break: hardly any encoding has what they refuse. Tests judge their mutants.
const NOT_MET: [Rule; 6] = [
    Rule::AccessMode,
    Rule::ThreeSourceMode,
    Rule::TypeCode,
    Rule::MissingSource,
    Rule::Align16Stride,
    Rule::DotAccumulators,
];

/// Returns the rules that the instructions should break, and do not.
fn kept(instructions: &[(Platform, Instruction)]) -> Vec<Rule> {
    let violations = instructions.iter().flat_map(|(platform, one)| validate(*platform, one));
    let broken: HashSet<Rule> = violations.map(|violation| violation.rule).chain(NOT_MET).collect();
    Rule::all().filter(|rule| !broken.contains(rule)).collect()
}

/// Returns instructions of all platforms, in turns, that can be encoded.
fn instructions(count: usize) -> Vec<(Platform, Instruction)> {
    let platforms: Vec<Platform> = Platform::all().collect();
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let some = platforms.iter().cycle().map(|platform| (*platform, random.instruction(*platform)));
    some.filter(|(platform, one)| encode(*platform, one).is_ok()).take(count).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let count = args.next().ok_or("how many instructions?")?.parse()?;
    let instructions = instructions(count);
    std::panic::set_hook(Box::new(|_| ()));
    mutant::choose(0);
    let kept = kept(&instructions);
    if !kept.is_empty() {
        return Err(format!("no instruction breaks {kept:?}").into());
    }
    let expected: Vec<Answer> =
        instructions.iter().map(|(platform, one)| Answer::new(*platform, one)).collect();
    for number in args {
        mutant::choose(number.parse()?);
        let mut differing = None;
        for ((platform, one), expected) in instructions.iter().zip(&expected) {
            let answer = Answer::new(*platform, one);
            if answer.rules != expected.rules {
                differing = Some(("rules", platform, one));
                break;
            }
            if answer != *expected && differing.is_none() {
                differing = Some(("text", platform, one));
            }
        }
        match differing {
            None => println!("{number}\tnothing\t"),
            Some((what, platform, one)) => println!("{number}\t{what}\t{platform} {one:?}"),
        }
    }
    Ok(())
}
