//! Text form of the tests of a suite.

use std::io;

use gem_coherency_report::{Sanitized, TestRow};

use crate::render::{Align, Page, Table, counted, visible};

/// Most tests that are shown.
const MOST: usize = 50;

/// Writes the tests that have findings or did not exit, and the numbers of all, if there are tests.
pub fn section(report: &Sanitized, page: &mut Page<'_>) -> io::Result<()> {
    if report.tests.is_empty() {
        return Ok(());
    }
    page.heading("Tests")?;
    let is_shown = |test: &&TestRow| !reported(report, test).is_empty() || test.unfinished > 0;
    let heads = [("findings", Align::Left), ("end", Align::Left), ("test", Align::Left)];
    let mut table = Table::new(2, &heads);
    let shown = report.tests.iter().filter(is_shown).count();
    for test in report.tests.iter().filter(is_shown).take(MOST) {
        let numbers: Vec<_> = reported(report, test).iter().map(ToString::to_string).collect();
        let numbers = if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") };
        table.row([numbers.as_str(), &end(test), &visible(&test.name)]);
    }
    if shown > 0 {
        table.write(page)?;
    }
    if shown > MOST {
        page.line(&format!("  and {} more, which --json and --junit list", shown - MOST))?;
    }
    let count = |is: &dyn Fn(&TestRow) -> bool| report.tests.iter().filter(|test| is(test)).count();
    page.line(&format!(
        "{}: {} with findings, {} without an exit, {} of which nothing was judged.",
        counted(report.tests.len() as u64, "test"),
        count(&|test| !reported(report, test).is_empty()),
        count(&|test| test.unfinished > 0),
        count(&|test| test.nothing_judged.is_some()),
    ))?;
    page.gap()
}

/// Returns the numbers of a test's findings that are not accepted.
pub fn reported(report: &Sanitized, test: &TestRow) -> Vec<usize> {
    let is_reported =
        |number: &usize| report.findings.get(number - 1).is_some_and(|finding| !finding.is_accepted());
    test.findings.iter().copied().filter(is_reported).collect()
}

/// Returns how a test ended.
pub fn end(test: &TestRow) -> String {
    match test.unfinished {
        0 => format!("exit status {}", test.status),
        1 if test.programs == 1 => "no exit".to_owned(),
        count => format!("no exit of {count} of {} programs", test.programs),
    }
}
