//! The report of `gemtool sanitize` as JUnit XML, which CI services read: a test case for each test.

use std::fmt::Write as _;

use gem_coherency_report::{FindingRow, Sanitized, TestRow};

use crate::render::programs::{sanitize, suite};
use crate::render::svg::Escaped;
use crate::render::{PAGE_COLUMNS, Page, counted};

/// A test case.
struct Case {
    name: String,
    /// `None` if the time was not measured.
    seconds: Option<f64>,
    /// The element, its message and its text, unless the test passed.
    outcome: Option<(&'static str, String, String)>,
    /// What else is known: the exit status, and known findings.
    notes: Vec<String>,
}

/// Returns the document of a report: one case for a run that is no suite.
pub fn of(report: &Sanitized) -> String {
    let cases = if report.tests.is_empty() { vec![case_of_run(report)] } else { cases_of_tests(report) };
    let count = |element| {
        let outcomes = cases.iter().filter_map(|case| case.outcome.as_ref());
        outcomes.filter(|(of, ..)| *of == element).count()
    };
    let suite = format!("gemtool sanitize {}", report.devices.join(","));
    let (tests, failures, errors, skipped) =
        (cases.len(), count("failure"), count("error"), count("skipped"));
    let numbers = format!(r#"tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}""#);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {numbers}>\n  <testsuite name=\"{}\" {numbers}>\n",
        Escaped(&suite)
    );
    for Case { name, seconds, outcome, notes } in &cases {
        let (class, name) = (Escaped(&suite), Escaped(name));
        // Writing to a string succeeds.
        let time = seconds.map_or_else(String::new, |seconds| format!(r#" time="{seconds:.3}""#));
        let _ = writeln!(text, r#"    <testcase classname="{class}" name="{name}"{time}>"#);
        if let Some((element, message, body)) = outcome {
            let _ = write!(text, "      <{element} message=\"{}\">", Escaped(message));
            for line in body.lines() {
                let _ = writeln!(text, "{}", Escaped(line));
            }
            let _ = writeln!(text, "</{element}>");
        }
        if !notes.is_empty() {
            let _ = writeln!(text, "      <system-out>{}</system-out>", Escaped(&notes.join("; ")));
        }
        text += "    </testcase>\n";
    }
    text + "  </testsuite>\n</testsuites>\n"
}

fn case_of_run(report: &Sanitized) -> Case {
    let all: Vec<_> = report.findings.iter().collect();
    let skipped = report.nothing_judged.clone().map(|sentence| ("skipped", sentence, String::new()));
    let notes = notes(&all, report.status.into());
    Case { name: report.program.join(" "), seconds: None, outcome: failure(&all, None).or(skipped), notes }
}

fn cases_of_tests(report: &Sanitized) -> Vec<Case> {
    let case = |test: &TestRow| {
        let numbers = test.findings.iter();
        let all: Vec<_> = numbers.filter_map(|number| report.findings.get(number - 1)).collect();
        let end = (test.unfinished > 0).then(|| suite::end(test));
        let error = end.clone().map(|end| ("error", end, String::new()));
        let skipped = test.nothing_judged.clone().map(|sentence| ("skipped", sentence, String::new()));
        let outcome = failure(&all, end.as_deref()).or(error).or(skipped);
        Case {
            name: test.name.clone(),
            seconds: Some(test.seconds),
            outcome,
            notes: notes(&all, test.status),
        }
    };
    report.tests.iter().map(case).collect()
}

/// Returns what does not make a test fail here: its exit status, and what is known.
fn notes(all: &[&FindingRow], status: i32) -> Vec<String> {
    let known = all.iter().filter(|finding| finding.known == Some(true));
    let known = known.map(|finding| format!("known: {}", finding.key));
    (status != 0).then(|| format!("exit status {status}")).into_iter().chain(known).collect()
}

/// Returns the failure of a test by those of its findings that are not accepted; `end` is how it ended without an exit.
fn failure(all: &[&FindingRow], end: Option<&str>) -> Option<(&'static str, String, String)> {
    let found: Vec<_> = all.iter().filter(|finding| !finding.is_accepted()).collect();
    let kinds: Vec<_> = found.iter().map(|finding| finding.key.as_str()).collect();
    let mut text = Vec::new();
    let mut page = Page::plain(&mut text, PAGE_COLUMNS);
    for finding in &found {
        // Writing to memory succeeds.
        let _ = sanitize::one(finding, &mut page);
    }
    let end = end.map_or_else(String::new, |end| format!("; {end}"));
    let message = format!("{}: {}{end}", counted(found.len() as u64, "finding"), kinds.join("; "));
    (!found.is_empty()).then(|| ("failure", message, String::from_utf8_lossy(&text).into_owned()))
}
