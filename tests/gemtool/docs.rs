//! The examples of `docs/gemtool.md` are what gemtool prints.

use crate::gemtool;

const GUIDE: &str = include_str!("../../docs/gemtool.md");
/// Where output begins that depends on the CPU it runs on.
const CPU: &str = "Cache operations of this CPU";

/// The indented blocks that begin with a `$ gemtool` line: the command, and what it prints.
fn examples() -> Vec<(&'static str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    for line in GUIDE.lines() {
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

#[test]
fn every_example_prints_what_the_guide_shows() {
    let examples = examples();
    assert!(examples.len() >= 5, "the guide's examples are found");
    for (command, shown) in examples {
        let printed = gemtool(command).held();
        let portable = |text: &str| text.split(CPU).next().unwrap_or_default().trim_end().to_owned();
        assert_eq!(portable(&printed), portable(&shown), "{command}");
    }
}

#[test]
fn every_flag_is_in_the_guide() {
    for command in ["alloc", "info", "platforms", "explain", "rules"] {
        let help = gemtool(&format!("{command} --help")).held();
        let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        for flag in words.filter(|word| word.starts_with("--") && word.len() > 2 && *word != "--help") {
            assert!(GUIDE.contains(flag), "{command} {flag}");
        }
    }
}
