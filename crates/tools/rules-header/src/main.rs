//! Prints `gem_coherency_rules.h`: the rules as tables and static inline functions in C.
//!
//! The tables hold the results of the rules crate for every platform, kernel and question; the functions of
//! `functions.h` look them up. `ci/rules-header --write` puts the header beside the C interface's.
//!
//! # Layers
//!
//! Imports point down only (`ci/layers` checks it):
//!
//! ```text
//! L1  platforms   questions: the tables of the header
//! L0  pack: sets of values, and arrays in C
//! ```
//!
//! * `platforms`: PCI IDs, and per platform its capabilities, cache levels and MOCS entries. Not decisions.
//! * `questions`: the decisions for each set of capabilities and each question. Not which platform has them.
//! * `pack`: sets of values that occur several times, and arrays in C. Not what the values mean.

mod pack;
mod platforms;
mod questions;

use gem_coherency_policy::platform::Caps;
use gem_coherency_policy::policy::{Path, Rule, Verdict};
use gem_coherency_policy::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

use platforms::Platforms;
use questions::Questions;

/// Everything before the tables.
const HEAD: &str = include_str!("head.h");
/// The functions.
const FUNCTIONS: &str = include_str!("functions.h");

/// Returns the name of an enumerator: `GEMCR_LEVEL_L3_LLC` for `LEVEL` and `l3-llc`.
fn constant(kind: &str, name: &str) -> String {
    format!("GEMCR_{kind}_{}", name.to_uppercase().replace(['-', ' '], "_"))
}

/// Prints an enum with its values in order.
fn print_enum(name: &str, comment: &str, values: impl Iterator<Item = String>) {
    println!("/* {comment} */\nenum gemcr_{name} {{");
    for (number, value) in values.enumerate() {
        println!("    {value} = {number},");
    }
    println!("}};\n");
}

/// Returns the name of a path's enumerator.
fn path(path: Path) -> String {
    match path {
        Path::Cpu(mode) => constant("PATH_CPU", mode.name()),
        Path::Gpu(mocs) => constant("PATH_GPU", mocs.name()),
        Path::Display => "GEMCR_PATH_DISPLAY".to_owned(),
    }
}

fn print_enums(rules: &[Rule]) {
    let access = Access::ALL.iter().map(|access| constant("ACCESS", access.name()));
    print_enum("access", "The kind of an access.", access);
    let level = CacheLevel::ALL.iter().map(|level| constant("LEVEL", level.name()));
    let comment = "The cache level of a buffer object (enum i915_cache_level); UNKNOWN for other numbers.";
    print_enum("level", comment, level.chain(["GEMCR_LEVEL_UNKNOWN".to_owned()]));
    let caching = ["none", "cached", "display", "default"].map(|mode| constant("CACHING", mode));
    print_enum(
        "caching",
        "The caching mode of a buffer object (I915_CACHING_*); DEFAULT if the driver sets none.",
        caching.into_iter(),
    );
    let mode = MmapMode::ALL.iter().map(|mode| constant("MAP", mode.name()));
    print_enum("map_mode", "The mode of a CPU mapping (I915_MMAP_OFFSET_*).", mode);
    let mocs = MocsClass::ALL.iter().map(|mocs| constant("MOCS", mocs.name()));
    print_enum("mocs_class", "The treatment of the LLC by a MOCS entry: gemcr_mocs_class.", mocs);
    let comment = "An agent and its path to memory: the CPU by map mode, the GPU by MOCS class, the display; UNKNOWN for other numbers.";
    print_enum(
        "path",
        comment,
        Path::ALL.iter().map(|&one| path(one)).chain(["GEMCR_PATH_UNKNOWN".to_owned()]),
    );
    let verdict = Verdict::ALL.iter().map(|verdict| match verdict {
        Verdict::NotNeeded => "GEMCR_VERDICT_NOT_NEEDED".to_owned(),
        Verdict::Flush | Verdict::Invalidate | Verdict::Drain | Verdict::Refused => {
            constant("VERDICT", verdict.name())
        }
    });
    let comment = "The required operation. BAD_QUESTION: a number of the question is not in its enum.";
    let verdicts = verdict.chain(["GEMCR_VERDICT_BAD_QUESTION".to_owned()]);
    print_enum("verdict", comment, verdicts);
    let rule = rules.iter().map(|rule| constant("RULE", rule.name()));
    let comment =
        "The rule of a decision: gemcr_rule_name. Numbers may change with the version, names do not.";
    print_enum("rule", comment, rule.chain(["GEMCR_RULE_NONE".to_owned()]));
    println!("/* Capabilities of a platform, as bits. */\nenum gemcr_caps {{");
    for &(cap, meaning, _) in Caps::DOCS {
        let name = cap.iter_names().next().map_or("", |(name, _)| name);
        println!("    /* {meaning} */\n    GEMCR_CAP_{name} = {:#x},", cap.bits());
    }
    println!("}};\n");
}

/// Prints the texts of the rules.
fn print_texts(rules: &[Rule]) {
    println!("static const char *const gemcr_rule_names[] = {{");
    for rule in rules {
        println!("    \"{}\",", rule.name());
    }
    println!("}};\n\n#ifdef GEM_COHERENCY_RULES_REASONS\nstatic const char *const gemcr_rule_reasons[] = {{");
    for rule in rules {
        println!("    \"{}\",", rule.reason().replace('"', "\\\""));
    }
    println!("}};\n#endif\n");
}

fn main() {
    let platforms = Platforms::collect();
    let questions = Questions::of(platforms.caps());
    print!("{}", HEAD.replace("@VERSION@", gem_coherency_policy::VERSION));
    print_enums(questions.rules());
    print!("{}", include_str!("types.h"));
    print_texts(questions.rules());
    platforms.print(questions.table_of());
    questions.print();
    print!("{FUNCTIONS}");
}
