//! Checks that the examples of `docs/gemtool.md`, `docs/scripts.md`, `docs/xe.md` and `docs/json.md` match gemtool's output.

use gem_coherency::platform::Basis;
use gem_coherency::vocabulary::KernelVersion;

use crate::gemtool;

const GUIDE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gemtool.md"));
const SCRIPTS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scripts.md"));
const XE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/xe.md"));
const JSON: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"));

/// Line that stands for lines that are left out.
const LEFT_OUT: &str = "...";

/// Returns the indented blocks that begin with a `$ gemtool` line: the command and its output.
fn examples(page: &'static str) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if let Some(command) = line.strip_prefix("    $ gemtool ") {
            found.push((command, String::new()));
            inside = true;
        } else if inside && (line.is_empty() || line.starts_with("    ")) {
            let (_, output) = found.last_mut().expect("a command came first");
            output.push_str(line.strip_prefix("    ").unwrap_or(line));
            output.push('\n');
        } else {
            inside = false;
        }
    }
    found
}

/// Returns whether `printed` has the lines of `shown` in their order: all of them next to each other, except at `...`, which
/// stands for any number of lines, and at both ends unless `...` is there.
fn matches(shown: &str, printed: &str) -> bool {
    let shown: Vec<&str> = shown.trim_end().lines().collect();
    let printed: Vec<&str> = printed.trim_end().lines().collect();
    let parts: Vec<&[&str]> = shown.split(|&line| line == LEFT_OUT).collect();
    let Some((first, others)) = parts.split_first() else { return false };
    let Some(mut rest) = printed.strip_prefix(*first) else { return false };
    let Some((last, middle)) = others.split_last() else { return rest.is_empty() };
    for part in middle {
        let at = (0..=rest.len()).find(|&at| rest[at..].starts_with(part));
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn shown_lines_match_in_order_and_without_gaps_of_their_own() {
    let printed = "a\nb\nc\nd\n";
    for shown in ["a\nb\nc\nd\n", "a\n...\nd\n", "...\nb\nc\n...\n", "a\nb\n...\n", "...\nd\n"] {
        assert!(matches(shown, printed), "{shown:?}");
    }
    for shown in
        ["a\nb\nc\n", "b\n...\n", "a\n...\nc\n", "...\na\nc\n...\n", "...\nc\n...\nb\n...\n", "a\nx\n...\n"]
    {
        assert!(!matches(shown, printed), "{shown:?}");
    }
}

#[test]
fn every_example_prints_what_the_pages_show() {
    let examples: Vec<_> = [GUIDE, SCRIPTS, XE, JSON].into_iter().flat_map(examples).collect();
    assert!(examples.len() >= 5, "the pages' examples are found");
    for (command, shown) in examples {
        let ran = gemtool(command);
        // Some examples show a counterexample, or stale lines.
        let may_fail = ["check", "dispatch", "lines", "verify"].iter().any(|name| command.starts_with(name));
        let printed = if may_fail && ran.status == Some(1) { ran.out } else { ran.held() };
        let seen: usize = shown.lines().filter(|line| !line.is_empty() && *line != LEFT_OUT).count();
        assert!(seen > 0, "{command}: no line is shown");
        assert!(matches(&shown, &printed), "{command}\n-- shown:\n{shown}\n-- printed:\n{printed}");
    }
}

#[test]
fn every_command_with_json_has_its_section() {
    for command in crate::text::manual::commands() {
        let help = gemtool(&format!("{command} --help")).held();
        let has_json =
            help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == "--json");
        let is_listed = JSON
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .any(|heading| heading.split([' ', ',']).any(|word| word == command));
        assert!(is_listed || !has_json || ["sim", "serve"].contains(&command.as_str()), "{command}");
    }
}

#[test]
fn every_command_and_flag_is_in_the_guide() {
    let (list, _) = GUIDE.split_once("## Installing it").expect("the list of commands comes first");
    for command in crate::text::manual::commands() {
        let is_listed = list.lines().any(|line| {
            let rest = line.strip_prefix("    gemtool ").and_then(|line| line.strip_prefix(&command));
            rest.is_some_and(|rest| rest.starts_with(' '))
        });
        assert!(is_listed, "{command} is not in the list");
        let help = gemtool(&format!("{command} --help")).held();
        let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        for flag in words.filter(|word| word.starts_with("--") && word.len() > 2 && *word != "--help") {
            assert!(GUIDE.contains(flag), "{command} {flag}");
        }
    }
}

#[test]
fn every_word_of_the_script_language_is_in_the_guide_and_the_help() {
    use gemtool::script::{Subject, Verb};
    let help = gemtool("run --help").held();
    for verb in Verb::ALL {
        assert!(SCRIPTS.contains(&format!("`{verb}")) || SCRIPTS.contains(&format!("= {verb}")), "{verb}");
        assert!(help.contains(verb.name()), "{verb}");
    }
    for subject in Subject::ALL {
        assert!(SCRIPTS.contains(&format!("`{subject} BO")), "{subject}");
        assert!(help.contains(subject.name()), "{subject}");
    }
}

#[test]
fn the_guides_picture_is_what_gemtool_draws() {
    let path = std::env::temp_dir().join(format!("gemtool-docs-{}.svg", std::process::id()));
    let check = "check --platform jsl --kernel 6.1.0 --caller hostile";
    let ran = gemtool(&format!("{check} --svg {}", path.display()));
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    let drawn = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(GUIDE.contains(&format!("$ gemtool {check}\n")));
    assert_eq!(
        drawn,
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/jsl-leak.svg")),
        "gemtool {check} --svg docs/jsl-leak.svg"
    );
}

/// Returns the kernels whose basis has the name `word`, oldest first.
fn known(word: &str) -> Vec<String> {
    let versions = (5..9).flat_map(|major| (0..21).map(move |minor| KernelVersion::new(major, minor)));
    versions.filter(|&kernel| Basis::of(kernel).name() == word).map(|kernel| kernel.to_string()).collect()
}

#[test]
fn the_kernels_that_run_are_those_of_the_virtual_machine() {
    let script = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/vm/run"));
    let case =
        script.lines().find_map(|line| line.strip_prefix("case $kernel in ")).expect("the check of --kernel");
    let (kernels, _) = case.split_once(')').expect("a pattern");
    assert_eq!(known("run"), kernels.split(" | ").collect::<Vec<_>>());
}

#[test]
fn the_page_of_platforms_lists_the_kernels_that_were_run_or_read() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/platforms.md"));
    for word in ["run", "read"] {
        let row = page.lines().find(|line| line.starts_with(&format!("| {word} | "))).expect(word);
        assert!(row.ends_with(&format!(" | {} |", known(word).join(", "))), "{row}");
    }
}
