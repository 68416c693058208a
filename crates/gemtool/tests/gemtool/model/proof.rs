//! `gemtool check --rules`, `--mutants`, `--assumptions`, on a platform with few states.

use gem_coherency::policy::Rule;
use gem_coherency_check::Condition;
use gem_coherency_memory_model::Assumption;
use serde_json::Value;

use crate::{fits, gemtool};

const SMALL: &str = "check --kernel 6.12 --platform i965gm --caller protocol";

#[track_caller]
fn report(flags: &str) -> (Option<i32>, Value) {
    let ran = gemtool(&format!("{SMALL} {flags} --json"));
    assert_eq!(ran.err, "");
    (ran.status, serde_json::from_str(&ran.out).expect("one JSON document"))
}

#[track_caller]
fn line<'a>(report: &'a Value, table: &str, key: &str, name: &str) -> &'a Value {
    let lines = report[table].as_array().expect("a table");
    lines.iter().find(|line| line[key] == name).expect(name)
}

#[test]
fn a_rule_that_is_needed_has_its_counterexample_and_others_their_reason() {
    let (_, report) = report("--rules");
    assert_eq!(report["rules"].as_array().unwrap().len(), Rule::ALL.len());
    let exec = line(&report, "rules", "rule", "exec-flush");
    assert_eq!((&exec["need"], &exec["why"]), (&"needed".into(), &Value::Null));
    assert_eq!(exec["proof"]["platform"], "i965gm");
    assert!(exec["proof"]["steps"].as_array().unwrap().len() > 2);
    let barrier = line(&report, "rules", "rule", "enter-domain-barrier");
    assert_eq!((&barrier["need"], &barrier["proof"]), (&"conservative".into(), &Value::Null));
    assert!(barrier["why"].as_str().unwrap().ends_with('.'));
}

#[test]
fn an_unneeded_rule_is_reported_and_fails() {
    // This platform snoops nothing, so no rule about snooping can be needed.
    let ran = gemtool(&format!("{SMALL} --rules"));
    assert_eq!(ran.status, Some(1));
    fits(&ran.out, 100);
    assert!(ran.out.contains("redundant     nothing breaks in "), "{}", ran.out);
    assert!(ran.out.contains("A rule can be needed on platforms, or by callers, that were not searched."));
    let verdict = format!("Not all accounted for: {} rules", Rule::ALL.len());
    assert!(ran.out.contains(&verdict), "{}", ran.out);
}

#[test]
fn a_library_fault_is_not_found_without_the_library() {
    let (status, report) = report("--mutants");
    assert_eq!((status, &report["accounted_for"]), (Some(1), &Value::Bool(false)));
    assert!(line(&report, "mutants", "mutant", "one-line-short")["proof"]["steps"].is_array());
    assert_eq!(line(&report, "mutants", "mutant", "reuse-forgets")["proof"], Value::Null);
    assert!(report.get("rules").is_none() && report.get("premises").is_none());
}

#[test]
fn premises_are_dropped_one_by_one() {
    let (_, report) = report("--assumptions");
    let premises = Assumption::ALL.len() + Condition::ALL.len();
    assert_eq!(report["premises"].as_array().unwrap().len(), premises);
    assert!(line(&report, "premises", "id", "A9")["proof"]["steps"].is_array());
    assert!(line(&report, "premises", "id", "A7")["caution"].is_string());
    assert!(line(&report, "premises", "id", "U4")["proof"]["steps"].is_array());
    assert_eq!(report["worker_leak"], Value::Null);
}

#[test]
fn the_parts_of_the_changes_are_the_whole() {
    let names = |flags: &str| {
        let (_, report) = report(&format!("--mutants --assumptions {flags}"));
        let names = |table: &str, key: &str| -> Vec<String> {
            let lines = report[table].as_array().into_iter().flatten();
            lines.map(|line| line[key].as_str().unwrap().to_owned()).collect()
        };
        [names("mutants", "mutant"), names("premises", "id")].concat()
    };
    let mut parts = [names("--shard 1/2"), names("--shard 2/2")].concat();
    let mut whole = names("");
    assert!(parts.len() > 20 && parts != whole);
    parts.sort();
    whole.sort();
    assert_eq!(parts, whole);
    let ran = gemtool(&format!("{SMALL} --mutants --shard 1/2"));
    assert!(ran.out.contains("ccounted for in part 1 of 2: "), "{}", ran.out);
    gemtool(&format!("{SMALL} --mutants --shard 99/99")).refused(&["part 99 of 99 has no change"]);
}

#[test]
fn flags_for_one_search_are_refused_with_flags_for_many() {
    for flags in
        ["--rules --without exec-flush", "--mutants --mutant one-line-short", "--assumptions --svg x"]
    {
        let ran = gemtool(&format!("{SMALL} {flags}"));
        assert_eq!(ran.status, Some(2), "{flags}");
        assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
    }
}

#[test]
fn a_violated_property_ends_rules_before_any_removal() {
    // Without a change there is no part, or the violation could be in another one.
    for part in ["", "--shard 1/9", "--shard 9/9"] {
        let ran = gemtool(&format!("check --kernel 6.1.0 --platform jsl --caller hostile --rules {part}"));
        assert_eq!(ran.status, Some(1));
        assert!(ran.out.contains("no-leak is broken on jsl under kernel 6.1.0"), "{}", ran.out);
    }
}
