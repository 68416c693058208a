//! `docs/coherency.md` explains the rules: its names, sentences and sources must equal those in the code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gem_coherency::policy::Rule;

/// A section of the page: the text below `### name`.
#[derive(Default)]
struct Section {
    statement: String,
    why: String,
    source: String,
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
            } else if let Some(source) = line.strip_prefix("- Source: ") {
                section.source = source.to_owned();
            } else if let Some(proofs) = line.strip_prefix("- Proved by: ") {
                section.proofs = proofs.split(", ").map(|proof| proof.trim_matches('`').to_owned()).collect();
            } else {
                section.why.push_str(line);
            }
        }
    }
    sections
}

/// Returns the source text of every test.
fn tests_text(directory: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &tests_text(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
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
    let text = ["tests", "src", "crates"].map(|part| tests_text(&root().join(part))).concat();
    for (name, section) in sections() {
        assert!(!section.proofs.is_empty(), "{name} is proved by nothing");
        for proof in section.proofs {
            assert!(text.contains(&format!("fn {proof}()")), "{name}: there is no test {proof}");
        }
    }
}
