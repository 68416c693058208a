//! `gemtool check`.

use std::path::PathBuf;

use serde_json::Value;

use crate::{Ran, fits, gemtool};

const LEAK: &str = "check --kernel 6.1.0 --platform jsl";
const FIXED: &str = "check --kernel 6.12 --platform jsl --caller protocol";

/// Returns the path of a file that does not exist, unique to this test run.
fn fresh_file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gemtool-check-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

impl Ran {
    /// Returns the output of a run that found a violation and printed no error.
    #[track_caller]
    pub(super) fn violated(self) -> String {
        assert_eq!(self.status, Some(1), "{}{}", self.out, self.err);
        assert_eq!(self.err, "");
        self.out
    }

    /// As [`Self::violated`], parsed as JSON.
    #[track_caller]
    fn violated_json(self) -> Value {
        serde_json::from_str(&self.violated()).expect("one JSON document")
    }
}

/// Returns the violation that is shown first.
#[track_caller]
fn shortest(report: &Value) -> &Value {
    let place = report["shortest"].as_u64().expect("a violation");
    &report["searches"][place as usize]["violation"]
}

#[test]
fn linux_6_1_0_leaks_in_two_steps() {
    let text = gemtool(LEAK).violated();
    fits(&text, 100);
    let lines: Vec<_> = text.lines().collect();
    let place = |line: &str| lines.iter().position(|other| *other == line).expect(line);
    let submit = place("  1  caller     submit: GPU read (page-table)");
    let pages = place("     kernel     takes pages, and fills them through the CPU's cache");
    let unflushed = place("     kernel     flushes nothing (acquire-coherent)");
    let read = place("  2  caller     GPU (bypass-llc) reads line 0");
    let end = place("no-leak is broken on jsl under kernel 6.1.0, in 2 steps.");
    assert!(submit < pages && pages < unflushed && unflushed < read && read < end);
    assert!(lines[unflushed..read].contains(&"     memory     secret*         secret | secret*"), "{text}");
    assert!(lines[end + 1].starts_with("  The GPU (bypass-llc) reads line 0 from memory and gets secret:"));
}

#[test]
fn the_parts_of_a_check_are_the_whole() {
    let states = |flags: &str| {
        let report = gemtool(&format!("{FIXED} {flags} --json")).json();
        let totals = &report["totals"];
        ["searches", "cases", "states"].map(|key| totals[key].as_u64().unwrap())
    };
    let parts: Vec<[u64; 3]> = (1..=2).map(|part| states(&format!("--shard {part}/2"))).collect();
    let sum = |column: usize| parts.iter().map(|part| part[column]).sum::<u64>();
    assert_eq!([0, 1, 2].map(sum), states(""));
    let text = gemtool(&format!("{FIXED} --shard 2/2")).held();
    assert!(text.contains("Every property holds in part 2 of 2: "), "{text}");
    // The leak is in one of the parts.
    let broken = (1..=4).filter(|part| gemtool(&format!("{LEAK} --shard {part}/4")).status == Some(1));
    assert!((1..4).contains(&broken.count()));
    for (bad, why) in
        [("0/3", "K from 1 to N"), ("4/3", "K from 1 to N"), ("x", "K/N"), ("99/99", "has no search")]
    {
        gemtool(&format!("{FIXED} --shard {bad}")).refused(&["--shard", why]);
    }
}

#[test]
fn a_kernel_whose_table_has_no_bypassing_entry_holds_and_says_why() {
    let line = "check --kernel 5.10 --platform jsl,ehl --caller hostile";
    let text = gemtool(line).held();
    fits(&text, 100);
    let table = "  MOCS table    run: the table of 5.10 has no entry that bypasses the LLC (ed77d88752ae)\n";
    assert!(text.contains(table), "{text}");
    let why = "  because       the MOCS table of 5.10 has no entry that bypasses the LLC;";
    assert!(text.contains(why), "{text}");
    // The table is not mentioned where no hardware obeys it, and where it is the one that bypasses.
    for line in ["check --kernel 5.10 --platform tgl --caller protocol", FIXED] {
        let text = gemtool(line).held();
        assert!(!text.contains("MOCS") && !text.contains("because"), "{text}");
    }
}

#[test]
fn the_table_of_another_kernel_can_be_assumed() {
    for kernel in ["5.10", "5.14", "6.0"] {
        let line = format!("check --kernel {kernel} --platform jsl --caller hostile --mocs-table 6.1");
        let text = gemtool(&line).violated();
        let table =
            format!("  MOCS table    assumed for {kernel}; run: the table of 6.1 has entries that bypass");
        assert!(text.contains(&table) && !text.contains("because"), "{text}");
        let end = format!("no-leak is broken on jsl under kernel {kernel}, in 2 steps.");
        assert!(text.contains(&end), "{text}");
    }
    let json = "check --kernel 5.10 --platform jsl --caller hostile --mocs-table 6.1 --json";
    let report = gemtool(json).violated_json();
    let [table] = report["scope"]["mocs_tables"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(
        (&table["kernels"], &table["of"], &table["bypasses"], &table["basis"]),
        (&serde_json::json!(["5.10"]), &"6.1".into(), &true.into(), &"run".into())
    );
}

#[test]
fn linux_5_3_breaks_as_it_is() {
    let text = gemtool("check --kernel 5.3 --platform ehl --caller hostile").violated();
    assert!(text.contains("no-leak is broken on ehl under kernel 5.3, in 2 steps."), "{text}");
}

#[test]
fn a_hostile_process_keeps_no_condition_and_leaks_where_there_is_edram() {
    let text = gemtool("check --kernel 6.12 --platform kbl --caller hostile").violated();
    assert!(text.contains("  conditions    none: a hostile process keeps no promise\n"), "{text}");
    assert!(text.contains("no-leak is broken on kbl under kernel 6.12, in "), "{text}");
    assert!(text.contains("display reads line 0"), "{text}");
    // Only with eDRAM, and only there.
    assert!(text.contains("Broken in 1 of 6 searches: 1 platform, 1 kernel."), "{text}");
    // The others keep theirs.
    let text = gemtool("check --kernel 6.12 --platform kbl --caller protocol").held();
    assert!(text.contains("  conditions    U1 to U6 (met by callers)\n"), "{text}");
    let text = gemtool("check --kernel 6.12 --platform i830 --caller protocol,hostile").held();
    assert!(text.contains("(met by callers, but none of them by the hostile one)\n"), "{text}");
    let text = gemtool("check --kernel 6.1.0 --platform tgl --caller protocol").held();
    assert!(!text.contains("+edram"), "no such part exists: {text}");
}

#[test]
fn a_table_that_was_not_read_counts_as_bypassing_and_the_answer_says_assumed() {
    for kernel in ["5.15", "8.0"] {
        let line =
            format!("check --kernel {kernel} --platform jsl --caller hostile --without bypass-acquire");
        let text = gemtool(&line).violated();
        let table =
            format!("  MOCS table    assumed: the table of {kernel} was not read, and counts as having");
        assert!(text.contains(&table), "{text}");
        assert!(
            text.contains(&format!("no-leak is broken on jsl under kernel {kernel}, in 2 steps.")),
            "{text}"
        );
    }
}

#[test]
fn the_library_flushes_as_if_the_entries_were_there_and_the_answer_says_so() {
    let line = "check --kernel 5.14 --platform jsl --caller library --mocs-table 6.1";
    let text = gemtool(&format!("{line} --without bypass-mocs-read")).violated();
    assert!(text.contains("the library flushes as if"), "{text}");
}

#[test]
fn an_ignored_property_of_tracked_state_hides_no_wrong_bytes() {
    let line = "check --kernel 6.1.0 --platform jsl --caller library";
    let text = gemtool(line).violated();
    assert!(text.contains("marked is broken on jsl under kernel 6.1.0, in 3 steps."), "{text}");
    let text = gemtool(&format!("{line} --ignore marked")).violated();
    assert!(text.contains("no-leak is broken on jsl under kernel 6.1.0, in 4 steps."), "{text}");
    assert!(!text.contains("  marked: "), "{text}");
    let text = gemtool(&format!("{FIXED} --ignore kernel-invariants")).held();
    assert!(text.contains("Every property holds, kernel-invariants not checked: "), "{text}");
    gemtool(&format!("{FIXED} --ignore no-leak")).refused(&["no-leak", "kernel-invariants and marked"]);
}

#[test]
fn the_fixed_kernel_does_not_leak() {
    let text = gemtool(FIXED).held();
    fits(&text, 100);
    assert!(text.contains("Every property holds: 1 platform, 1 kernel, 2 cases."), "{text}");
    for property in ["newest-read", "no-lost-write", "no-leak", "kernel-invariants"] {
        assert!(text.contains(&format!("  {property}: protocol\n")), "{property}: {text}");
    }
    assert!(!text.contains("  marked: "), "only the library keeps an account: {text}");
}

#[test]
fn without_the_rule_of_the_fix_the_leak_is_there_again() {
    let text =
        gemtool("check --kernel 6.12 --platform jsl --caller hostile --without bypass-acquire").violated();
    assert!(text.contains("changed       without the rule bypass-acquire: "), "{text}");
    assert!(
        text.contains("omits the operation that bypass-acquire requires: the rule is removed\n"),
        "{text}"
    );
    assert!(text.contains("no-leak is broken on jsl under kernel 6.12, in 2 steps."), "{text}");
}

#[test]
fn a_condition_that_is_not_kept_to_gives_a_counterexample() {
    let report = gemtool("check --kernel 6.12 --platform glk --caller protocol --drop-assumption U1 --json");
    let report = report.violated_json();
    assert_eq!(shortest(&report)["property"], "newest-read");
    let dropped: Vec<_> = report["scope"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["assumed"] == false)
        .collect();
    assert_eq!((dropped.len(), &dropped[0]["id"]), (1, &"U1".into()));
    let by_name = gemtool(
        "check --kernel 6.12 --platform glk --caller protocol --drop-assumption domain-before-level --json",
    );
    assert_eq!(shortest(&by_name.violated_json()), shortest(&report));
}

#[test]
fn a_dropped_assumption_is_reported_with_its_effect() {
    let text =
        gemtool("check --kernel 6.12 --platform mtl --caller hostile --drop-assumption A11").violated();
    assert!(text.contains("assumed       A1 to A11 (about hardware) without A11\n"), "{text}");
    assert!(text.contains("not assumed: A11 own-uncached-snoops: "), "{text}");
    assert!(text.contains("The CPU (wc) reads line 0 from memory and gets secret"), "{text}");
}

#[test]
fn a_condition_that_a_hostile_caller_does_not_keep_cannot_be_dropped() {
    gemtool("check --kernel 6.12 --platform jsl --caller hostile --drop-assumption U1").refused(&[
        "--drop-assumption",
        "U1",
        "hostile",
    ]);
}

#[test]
fn a_planted_fault_is_caught() {
    let report =
        gemtool("check --kernel 6.12 --platform glk --caller library --mutant one-line-short --json");
    let report = report.violated_json();
    assert_eq!(report["scope"]["change"]["mutant"], "one-line-short");
    let read = &shortest(&report)["wrong"]["read"];
    assert_eq!(
        (&read["line"], &read["from"], &read["value"]),
        (&1.into(), &"memory".into(), &"secret".into())
    );
}

#[test]
fn json_has_the_scope_the_sizes_and_the_whole_trace() {
    let report = gemtool(&format!("{LEAK} --json")).violated_json();
    assert_eq!(report["holds"], false);
    assert_eq!(report["scope"]["platforms"], serde_json::json!(["jsl"]));
    assert_eq!(report["scope"]["kernels"], serde_json::json!(["6.1.0"]));
    assert_eq!(report["scope"]["callers"], serde_json::json!(["protocol", "library", "unknown", "hostile"]));
    let searches = report["searches"].as_array().unwrap();
    let sum = |field: &str| searches.iter().map(|search| search[field].as_u64().unwrap()).sum::<u64>();
    for field in ["states", "transitions"] {
        assert!(sum(field) > 1000);
        assert_eq!(report["totals"][field], sum(field), "{field}");
    }
    assert_eq!(report["totals"]["searches"], searches.len());
    let trace = shortest(&report);
    assert_eq!((&trace["caller"], &trace["object"]), (&"hostile".into(), &"user".into()));
    assert_eq!(
        (&trace["platform"], &trace["kernel"], &trace["edram"]),
        (&"jsl".into(), &"6.1.0".into(), &false.into())
    );
    let steps = trace["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    let submit = &steps[0];
    assert_eq!(
        (&submit["actor"], &submit["step"]),
        (&"caller".into(), &"submit: GPU read (page-table)".into())
    );
    let acquire = &submit["actions"][0];
    assert_eq!(
        (&acquire["by"], &acquire["done"], &acquire["rule"]),
        (&"kernel".into(), &"nothing".into(), &"acquire-coherent".into())
    );
    let line = &submit["after"]["lines"][0];
    assert_eq!(
        (&line["cache"], &line["cached"][0], &line["memory"][0]),
        (&"dirty".into(), &"newest".into(), &"secret".into())
    );
    assert_eq!(
        (&submit["after"]["kernel"]["pages"], &trace["first"]["kernel"]["pages"]),
        (&true.into(), &false.into())
    );
    assert_eq!(trace["wrong"]["read"]["reader"], "The GPU (bypass-llc)");
}

#[test]
fn a_check_of_many_platforms_adds_them_up() {
    let line = "check --platform i830,glk --platform glk --kernel 6.1,6.12 --caller protocol";
    let text = gemtool(line).held();
    assert!(text.contains("Every property holds: 2 platforms, 2 kernels, "), "{text}");
    assert!(text.contains("indistinguishable cases"), "{text}");
    let detail = gemtool(&format!("{line} --json")).json();
    let cases: u64 =
        detail["groups"].as_array().unwrap().iter().map(|group| group["cases"].as_u64().unwrap()).sum();
    assert_eq!(detail["totals"]["cases"], cases);
    assert!(detail["totals"]["searches"].as_u64().unwrap() < cases, "some cases are alike");
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let searches = |jobs| {
        let mut report = gemtool(&format!("{LEAK} --json --jobs {jobs}")).violated_json();
        assert_eq!(report["run"]["jobs"], jobs);
        for search in report["searches"].as_array_mut().unwrap() {
            for field in ["seconds", "states_per_second"] {
                search.as_object_mut().unwrap().remove(field).expect(field);
            }
        }
        (report["searches"].take(), report["shortest"].take())
    };
    assert_eq!(searches(1), searches(3));
}

#[test]
fn the_picture_is_whole_and_drawn_of_a_violation_only() {
    let drawn = fresh_file("leak.svg");
    let text = gemtool(&format!("{LEAK} --svg {}", drawn.display())).violated();
    assert!(text.contains(&format!("picture       {}", drawn.display())), "{text}");
    let svg = std::fs::read_to_string(&drawn).unwrap();
    std::fs::remove_file(&drawn).unwrap();
    is_well_formed(&svg);
    for words in [">secret<", ">newest<", "GPU (bypass-llc) reads", "no-leak is broken.", ">(newest)<"] {
        assert!(svg.contains(words), "{words}");
    }
    let not_drawn = fresh_file("none.svg");
    let text = gemtool(&format!("{FIXED} --svg {}", not_drawn.display())).held();
    assert!(text.contains("picture       none: every property holds"), "{text}");
    assert!(!not_drawn.exists());
}

/// Asserts that every element is closed, in order, and that no text contains markup.
#[track_caller]
fn is_well_formed(svg: &str) {
    let body = svg.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a declaration");
    let mut open = Vec::new();
    let mut elements = 0;
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("an end of the tag");
        assert!(!text.contains('>'), "{piece}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{piece}");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().expect("a name"));
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        for entity in text.split('&').skip(1) {
            assert!(["lt;", "gt;", "amp;", "quot;"].iter().any(|known| entity.starts_with(known)), "{text}");
        }
        elements += 1;
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(elements > 50 && body.contains("viewBox=\"0 0 1200 "), "{elements}");
}

#[test]
fn a_picture_that_cannot_be_written_is_named_before_the_search() {
    gemtool("check --svg /nonexistent/leak.svg").refused(&["--svg", "/nonexistent/leak.svg"]);
    gemtool("check --svg /tmp").refused(&["--svg", "/tmp", "is a folder"]);
    // Where no file can be created, only the end tells.
    let late = gemtool(&format!("{LEAK} --svg /proc/leak.svg"));
    assert_eq!(late.status, Some(2), "{}", late.err);
    assert!(late.out.contains("picture       none: '/proc/leak.svg' cannot be written"), "{}", late.out);
    assert!(late.err.contains("--svg") && late.err.contains("cannot write '/proc/leak.svg'"), "{}", late.err);
}

#[test]
fn a_failed_picture_does_not_hide_the_results() {
    let full = gemtool(&format!("{LEAK} --caller hostile --svg /dev/full"));
    assert_eq!(full.status, Some(2), "{}", full.err);
    assert!(full.out.contains("no-leak is broken on jsl") && full.err.contains("/dev/full"), "{}", full.err);
}

#[test]
fn a_word_that_is_not_known_is_named_with_those_that_are() {
    gemtool("check --drop-assumption A99").refused(&[
        "--drop-assumption",
        "A99",
        "A3 bypass-is-for-reads",
        "U2 submit-after-level",
    ]);
    gemtool("check --without bypass").refused(&["--without", "'bypass'", "bypass-acquire"]);
    gemtool("check --mutant short").refused(&["--mutant", "'short'", "one-line-short"]);
    gemtool("check --caller driver").refused(&[
        "--caller",
        "'driver'",
        "protocol, library, unknown, hostile",
    ]);
    gemtool("check --platform foo").refused(&["--platform", "'foo'", "gemtool platforms"]);
    gemtool("check --kernel 5.4").refused(&["--kernel", "5.4", "5.14"]);
    gemtool("check --mocs-table 5.4").refused(&["--mocs-table", "5.4", "5.14"]);
    gemtool("check --jobs 0").refused(&["--jobs", "'0'"]);
    gemtool("check --kernel 6.1,six").refused(&["--kernel", "'six'"]);
    gemtool("check --without bypass-acquire --mutant one-line-short").refused(&["--without", "--mutant"]);
}
