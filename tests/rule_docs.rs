//! Names, sentences and sources of the rules in `docs/coherency.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gem_coherency::policy::Rule;

/// A section of the page: the text below `### name`.
#[derive(Default)]
struct Section {
    statement: String,
    why: String,
    source: String,
    deciders: String,
    proofs: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sections() -> BTreeMap<String, Section> {
    let page = fs::read_to_string(root().join("docs/coherency.md")).unwrap();
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let mut name = None;
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("### `").and_then(|rest| rest.strip_suffix('`')) {
            let earlier = sections.insert(heading.to_owned(), Section::default());
            assert!(earlier.is_none(), "two sections for {heading}");
            name = Some(heading.to_owned());
        } else if line.starts_with("## ") {
            name = None;
        } else if let Some(section) = name.as_ref().and_then(|name| sections.get_mut(name)) {
            if let Some(statement) = line.strip_prefix("> ") {
                section.statement = statement.to_owned();
            } else if let Some(source) = line.strip_prefix("source: ") {
                section.source = source.trim_end_matches(';').to_owned();
            } else if let Some(deciders) = line.strip_prefix("Code: ") {
                section.deciders = deciders.trim_end_matches(';').to_owned();
            } else if let Some(proofs) = line.strip_prefix("tests: ") {
                section.proofs = proofs.split(", ").map(|proof| proof.trim_matches('`').to_owned()).collect();
            } else {
                section.why.push_str(line);
            }
        }
    }
    sections
}

/// Returns every Rust file below `directory`.
fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Returns the functions that return each rule, as the page lists them, found in the source text: a function
/// that compares a rule does not return it.
fn deciders() -> BTreeMap<&'static str, String> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (directory, name) in
        [("crates/policy/src/policy", "policy"), ("crates/check/src", "check"), ("src", "src")]
    {
        let directory = root().join(directory);
        for path in rust_files(&directory) {
            let file = format!("{name}/{}", path.strip_prefix(&directory).unwrap().display());
            if ["policy/rules.rs", "check/searches/minimal.rs"].contains(&file.as_str())
                || file.ends_with("/tests.rs")
            {
                continue;
            }
            for (function, rule) in returned_rules(&fs::read_to_string(path).unwrap()) {
                let deciders = found.entry(rule.name()).or_default();
                let decider = format!("`{file}:{function}`");
                if !deciders.contains(&decider) {
                    deciders.push(decider);
                }
            }
        }
    }
    found.into_iter().map(|(rule, deciders)| (rule, deciders.join(", "))).collect()
}

/// Returns each rule in the text of a file that is not compared, and the function in which it stands.
fn returned_rules(text: &str) -> Vec<(String, Rule)> {
    let (mut function, mut found) = (String::new(), Vec::new());
    for line in text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")) {
        let code = line.split("//").next().unwrap_or_default();
        if let Some((_, name)) = code.split_once("fn ") {
            function = name.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
        }
        let mut before = "";
        for part in code.split("Rule::") {
            let variant: String = part.chars().take_while(|char| char.is_alphanumeric()).collect();
            let is_compared = before.contains("== ") || before.contains("lacks(");
            let rule = Rule::ALL.iter().find(|rule| format!("{rule:?}") == variant);
            if let (Some(&rule), false) = (rule, is_compared) {
                found.push((function.clone(), rule));
            }
            before = part;
        }
    }
    found
}

#[test]
fn every_rule_has_its_section_and_every_section_its_rule() {
    let sections = sections();
    for rule in Rule::ALL {
        let section = sections.get(rule.name()).unwrap_or_else(|| panic!("no section for {rule}"));
        assert_eq!(section.statement, rule.reason(), "statement of {rule}");
        assert_eq!(section.source, rule.source(), "source of {rule}");
        assert!(section.why.len() > 30, "{rule} has no why");
    }
    for name in sections.keys() {
        assert!(name.parse::<Rule>().is_ok(), "a section for the unknown rule {name}");
    }
}

#[test]
fn every_proof_is_a_test_that_exists() {
    let files = ["tests", "src", "crates"].map(|part| rust_files(&root().join(part))).concat();
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for (name, section) in sections() {
        assert!(!section.proofs.is_empty(), "{name} is proved by nothing");
        for proof in section.proofs {
            assert!(text.contains(&format!("fn {proof}()")), "{name}: there is no test {proof}");
        }
    }
}

#[test]
fn the_functions_that_return_each_rule_are_named() {
    let (deciders, sections) = (deciders(), sections());
    let wrong: Vec<_> = Rule::ALL
        .iter()
        .map(|rule| (rule.name(), deciders.get(rule.name()).map_or("", String::as_str)))
        .filter(|(rule, deciders)| deciders.is_empty() || sections[*rule].deciders != *deciders)
        .map(|(rule, deciders)| format!("### `{rule}`\nCode: {deciders};\n"))
        .collect();
    assert!(wrong.is_empty(), "docs/coherency.md should say:\n{}", wrong.concat());
}

#[test]
fn a_compared_rule_is_not_a_returned_one() {
    let text = "\
pub fn decide() -> Rule {
    // Rule::Snooped is not returned.
    if rule == Rule::GttDrain { Rule::WcDrain } else { Rule::LlcCoherent }
}
#[cfg(test)]
fn test() { Rule::NoSnoop }";
    let expected = [Rule::WcDrain, Rule::LlcCoherent].map(|rule| ("decide".to_owned(), rule));
    assert_eq!(returned_rules(text), expected);
}
