//! Properties, assumptions and conditions in `docs/verification.md`.

use gem_coherency_check::{Condition, Property};
use gem_coherency_memory_model::Assumption;

const BOOK: &str = include_str!("../../../docs/verification.md");

#[track_caller]
fn has_row(cells: &[&str]) {
    let row = format!("| {} |", cells.join(" | "));
    assert!(BOOK.lines().any(|line| line == row), "no such row: {row}");
}

/// Returns the number of rows of the table under `heading`.
fn rows(heading: &str) -> usize {
    let section = BOOK.split("\n## ").find(|section| section.starts_with(heading)).unwrap_or_default();
    section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| |")).count()
}

#[test]
fn every_property_stands_there_with_its_statement() {
    for property in Property::ALL {
        has_row(&[&format!("`{property}`"), property.statement()]);
    }
    // One more is the table's head.
    assert_eq!(rows("Properties"), Property::ALL.len() + 1);
}

#[test]
fn every_assumption_stands_there_with_what_it_rests_on() {
    for one in Assumption::ALL {
        has_row(&[one.id(), &format!("`{one}`"), one.statement(), one.source()]);
    }
    assert_eq!(rows("Assumptions about hardware"), Assumption::ALL.len());
}

#[test]
fn every_condition_stands_there_with_its_reason() {
    for one in Condition::ALL {
        has_row(&[one.id(), &format!("`{one}`"), one.statement(), one.why(), one.basis()]);
    }
    assert_eq!(rows("Conditions on use"), Condition::ALL.len());
}
