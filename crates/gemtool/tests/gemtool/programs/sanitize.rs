//! `gemtool sanitize`: devices that are refused. `ci/sanitize` and `ci/sanitize-vm` run programs.

use crate::{command, gemtool, ran};

/// Checks that a run on the real device `path` is refused with these words.
fn refused(path: &str, words: &[&str]) {
    let mut sanitize = command("sanitize --device");
    sanitize.arg(path).args(["--", "true"]);
    // The device is opened once the library is found, which is not built with the tests: any file will do.
    sanitize.env("GEM_COHERENCY_PRELOAD", env!("CARGO_BIN_EXE_gemtool"));
    ran(sanitize).refused(words);
}

#[test]
fn a_real_device_is_an_i915_device() {
    refused("/no/such/device", &["--device", "/no/such/device", "ENOENT"]);
    refused("/dev/null", &["--device", "/dev/null", "not a DRM device"]);
    refused("sim:glk", &["--device", "gemtool sanitize glk -- PROGRAM"]);
}

#[test]
fn a_run_has_software_devices_or_a_real_one() {
    gemtool("sanitize -- true").refused(&["DEVICES"]);
    gemtool("sanitize glk --device /dev/null -- true").refused(&["--device"]);
    gemtool("sanitize --device /dev/null --platforms all -- true").refused(&["--platforms"]);
    gemtool("sanitize glk true").refused(&["unexpected argument 'true'"]);
}

#[test]
fn platforms_that_judge_have_a_driver_and_the_kernel_of_the_run() {
    let refused = |arguments: &str, words: &[&str]| {
        gemtool(&format!("sanitize {arguments} -- true")).refused(&[&["--platforms"], words].concat());
    };
    refused("tgl --platforms all,lnll", &["lnll"]);
    refused("lnl --platforms tgl,driver=amdgpu", &["amdgpu"]);
    refused("lnl --platforms glk,driver=xe", &["Gemini Lake is driven by i915"]);
    refused("lnl --platforms bmg,kernel=7.2", &["bmg,kernel=7.2", "give kernel= to the device"]);
    refused(
        "lnl --platforms bmg,without=cached-not-snooped",
        &["bmg,without=cached-not-snooped", "driver= alone"],
    );
    refused("tgl,driver=xe,kernel=6.12 --platforms lnl,ptl", &["ptl", "6.12"]);
    refused("tgl,kernel=6.1 --platforms lnl", &["6.1"]);
    refused("tgl,kernel=6.1 --platforms all,driver=xe", &["claims none", "kernel="]);
}

#[test]
fn what_is_accepted_is_read_before_the_program_runs() {
    let file = |name: &str, text: &str| {
        let path = std::env::temp_dir().join(format!("gemtool-accepted-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    };
    let no_baseline = "sanitize glk --baseline /no/such/file -- true";
    gemtool(no_baseline).refused(&["--baseline", "/no/such/file", "--update-baseline writes it"]);
    let short = file("short", "# known\nstale-read GPU\n");
    let (name, words) = (short.display(), ["--baseline", "line 2: 'stale-read GPU' has no kind"]);
    gemtool(&format!("sanitize glk --baseline {name} -- true")).refused(&words);
    gemtool(&format!("sanitize glk --suppressions {name} -- true"))
        .refused(&["line 2: 'stale-read GPU' has no"]);
    std::fs::remove_file(&short).unwrap();
    gemtool("sanitize glk --suppressions mesa-1.0 -- true").refused(&["--suppressions", "mesa-1.0"]);
    gemtool("sanitize glk --update-baseline -- true").refused(&["--baseline"]);
    gemtool("sanitize --device /dev/null --tests -- true").refused(&["--tests"]);
    gemtool("sanitize glk --tests --svg a.svg -- true").refused(&["--svg"]);
    gemtool("sanitize glk --junit --json -- true").refused(&["--json"]);
}

#[test]
fn a_suite_without_a_program_that_uses_a_device_has_no_tests() {
    let (status, report) = without_a_request("--tests", "true");
    assert_eq!((status, report.lines().next()), (Some(3), Some(NOTHING)));
    assert!(!report.contains("Tests"), "{report}");
    let (_, report) = without_a_request("--tests --allow-nothing-judged --junit", "true");
    assert!(report.contains("<testsuite name=\"gemtool sanitize sim:glk\" tests=\"1\""), "{report}");
    assert!(report.contains(&format!("<skipped message=\"{NOTHING}\">")), "{report}");
}

/// Runs a program that makes no request with these arguments of `sanitize`; returns the exit status and the report.
fn without_a_request(arguments: &str, program: &str) -> (Option<i32>, String) {
    let name = format!("gemtool-sanitize-{}-{}", std::process::id(), arguments.replace(' ', ""));
    let path = std::env::temp_dir().join(name + program);
    let mut sanitize = command(&format!("sanitize glk {arguments} --output"));
    sanitize.arg(&path).args(["--", program]);
    // The dynamic linker ignores it: nothing in the program uses the devices.
    sanitize.env("GEM_COHERENCY_PRELOAD", env!("CARGO_BIN_EXE_gemtool"));
    let ran = ran(sanitize);
    let report = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    (ran.status, report)
}

const NOTHING: &str = "Nothing was judged: the program made no submission.";

#[test]
fn a_run_without_a_submission_says_so_first_and_has_a_status_of_its_own() {
    let (status, report) = without_a_request("", "true");
    assert_eq!((status, report.lines().next()), (Some(3), Some(NOTHING)));
    assert!(report.contains("\nCoverage of sim:glk\n  requests      0\n  submissions   none\n"), "{report}");
    let (status, report) = without_a_request("--error-exitcode 9", "true");
    assert_eq!((status, report.lines().next()), (Some(3), Some(NOTHING)), "it is no finding");
}

#[test]
fn the_status_of_such_a_run_can_be_the_programs_and_the_line_stays() {
    let (status, report) = without_a_request("--allow-nothing-judged", "true");
    assert_eq!((status, report.lines().next()), (Some(0), Some(NOTHING)));
    let (status, report) = without_a_request("", "false");
    assert_eq!((status, report.lines().next()), (Some(1), Some(NOTHING)), "the program's status is kept");
}

#[test]
fn the_forms_for_programs_say_so_too() {
    let (status, report) = without_a_request("--json", "true");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((status, &report["nothing_judged"]), (Some(3), &NOTHING.into()));
    assert_eq!(report["coverage"][0]["device"], "sim:glk");
    assert_eq!(report["coverage"][0]["submissions"], 0);
    let (status, report) = without_a_request("--sarif", "true");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let run = &report["runs"][0];
    let notification = &run["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!((status, &notification["message"]["text"]), (Some(3), &NOTHING.into()));
    assert_eq!(run["properties"]["coverage"][0]["submissions"], 0);
}
