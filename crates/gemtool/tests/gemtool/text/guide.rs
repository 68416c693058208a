//! Checks that the commands of `docs/driver-guide.md` show the rules beside them.

use crate::gemtool;

const GUIDE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/driver-guide.md"));

/// Returns the rule and the command of each row of the table.
fn rows() -> Vec<(&'static str, &'static str)> {
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit(" | ");
        let command = cells.next()?.strip_prefix("`gemtool ")?.strip_suffix('`')?;
        Some((cells.next()?.trim_matches('`'), command))
    };
    GUIDE.lines().filter_map(row).collect()
}

#[test]
fn every_shortcut_is_refuted_by_its_command() {
    let rows = rows();
    assert!(rows.len() >= 10, "the table is found");
    for (rule, command) in rows {
        let shown = gemtool(command).held();
        assert!(shown.contains(rule), "{command}: not by {rule}: {shown}");
        // Only the deciding rule counts, not the rule of the other question.
        if command.starts_with("explain") {
            let decides =
                shown.lines().any(|line| line.trim_start().starts_with("rule") && line.ends_with(rule));
            assert!(decides, "{command}: {rule}");
        }
    }
}

#[test]
fn every_rule_that_the_guide_names_is_one() {
    use gem_coherency::policy::Rule;
    let in_prose =
        GUIDE.split('`').skip(1).step_by(2).filter(|word| word.contains('-') && !word.contains(' '));
    for word in in_prose.filter(|word| word.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase())) {
        assert!(word.parse::<Rule>().is_ok(), "{word}");
    }
}
