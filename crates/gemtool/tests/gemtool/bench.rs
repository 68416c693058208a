//! `gemtool bench`: every row runs and is reported; times are never checked.

use serde_json::Value;

use crate::gemtool;

const ROWS: [&str; 15] = [
    "flush",
    "small-updates",
    "writes",
    "submit",
    "batch-buffer",
    "descriptor-heap",
    "upload-ring",
    "frame",
    "upload",
    "c-interface",
    "driver-loop",
    "constant",
    "reuse",
    "threads",
    "crossover",
];

fn median(quartiles: &Value) -> f64 {
    quartiles["median"].as_f64().expect("a number")
}

#[test]
fn every_row_has_lines_and_every_line_two_times_and_their_ratio() {
    let report = gemtool("bench --quick --json").json();
    assert_eq!((&report["quick"], &report["passed"]), (&true.into(), &true.into()));
    assert_eq!(report["wrong"], Value::Array(vec![]));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&report), "lines machine notes passed quick reached targets version wrong");
    assert_eq!(keys(&report["lines"][0]), "case ours ours_ns peer peer_ns ratio reached rounds row target");
    assert_eq!(
        keys(&report["machine"]),
        "build caches cpu has_libpmem is_virtual kernel load maker processors support"
    );
    let lines = report["lines"].as_array().expect("lines");
    for row in ROWS {
        assert!(lines.iter().any(|line| line["row"] == row), "{row}");
    }
    for line in lines {
        assert!(median(&line["ours_ns"]) > 0.0 && median(&line["peer_ns"]) > 0.0, "{line}");
        assert!(line["ratio"]["low"].as_f64() <= line["ratio"]["high"].as_f64(), "{line}");
        assert_eq!(line["reached"].is_null(), line["target"].is_null(), "{line}");
        assert_eq!(line["rounds"], 3);
    }
    let reached = lines.iter().filter(|line| line["reached"] == true).count();
    assert_eq!(report["reached"], reached);
    assert!(report["machine"]["support"]["flush_by"].is_string(), "{}", report["machine"]);
}

#[test]
fn the_table_names_the_machine_and_what_was_asked_for() {
    let text = gemtool("bench --quick submit constant").held();
    for word in ["processors", "instructions", "submit_with", "lock add", "decision", "targets reached"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("pmem"), "{text}");
    assert!(text.contains("the numbers are not meaningful"));
}

#[test]
fn an_update_flushes_the_lines_that_were_written_and_no_other() {
    let rows = "small-updates submit batch-buffer descriptor-heap upload-ring frame";
    let report = gemtool(&format!("bench --quick --json {rows}")).json();
    assert_eq!((&report["passed"], &report["wrong"]), (&true.into(), &Value::Array(vec![])));
}

#[test]
fn a_device_that_cannot_be_opened_and_a_row_that_is_not_known_are_named() {
    gemtool("bench --quick speed").refused(&["'speed'", "small-updates"]);
    gemtool("bench --quick reuse --device sim:nothing").refused(&["--device", "nothing"]);
    gemtool("bench --quick=yes").refused(&["--quick"]);
}
