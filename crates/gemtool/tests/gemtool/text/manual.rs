//! `gemtool completions` and `gemtool man`: the output is complete, and errors name their cause.

use crate::{command, gemtool, ran};

/// Returns the commands that `gemtool --help` lists, other than `help`.
pub fn commands() -> Vec<String> {
    let help = gemtool("--help").held();
    // Between the usage and the options.
    let list = help.split("Options:\n").next().unwrap_or_default();
    let first =
        |line: &str| line.strip_prefix("  ").and_then(|line| line.split(' ').next()).map(str::to_owned);
    list.lines().filter_map(first).filter(|word| !word.is_empty() && word != "help").collect()
}

#[test]
fn every_command_has_a_page_with_every_flag_of_its_help() {
    let manual = gemtool("man --json").json();
    let pages = manual["pages"].as_array().unwrap();
    let commands = commands();
    assert!(commands.len() >= 10, "{commands:?}");
    assert_eq!(pages.len(), commands.len() + 1);
    for command in commands {
        let page = pages.iter().find(|page| page["name"] == format!("gemtool-{command}.1"));
        let text = page.unwrap_or_else(|| panic!("no page for {command}"))["text"].as_str().unwrap();
        // roff's minus signs.
        let text = text.replace("\\-", "-");
        let help = gemtool(&format!("{command} --help")).held();
        for flag in help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            assert!(!flag.starts_with("--") || text.contains(flag), "{command} {flag}");
        }
        assert!(text.contains(".SH EXAMPLES\n"), "{command}");
        assert!(text.contains("gemtool"), "{command}");
    }
}

#[test]
fn pages_go_to_standard_output_or_into_a_folder() {
    let printed = gemtool("man").held();
    let dir = std::env::temp_dir().join(format!("gemtool-man-{}", std::process::id()));
    let mut into = command("man");
    into.arg(dir.join("deep/man1"));
    let listed = ran(into).held();
    let written: String = listed.lines().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(listed.lines().count(), commands().len() + 1);
    assert_eq!(written, printed);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    gemtool("man /dev/null/man1").refused(&["/dev/null/man1", "Not a directory"]);
}

#[test]
fn every_shell_completes_commands_flags_and_words() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = gemtool(&format!("completions {shell}")).held();
        for word in commands() {
            assert!(script.contains(&word), "{shell} {word}");
        }
        assert!(script.contains("caching") && script.contains("drop-assumption"), "{shell}");
        assert_eq!(gemtool(&format!("completions {shell} --json")).json()["script"], script);
    }
    // Words that come from the library, not from a list in gemtool.
    for shell in ["bash", "zsh", "fish"] {
        let script = gemtool(&format!("completions {shell}")).held();
        for word in ["jsl", "l3-llc", "bypass-mocs-read", "pin-display", "hostile", "one-line-short", "U6"] {
            assert!(script.contains(word), "{shell} {word}");
        }
    }
}

#[test]
fn an_unknown_shell_is_refused_with_those_that_are_known() {
    gemtool("completions tcsh").refused(&["'tcsh'", "bash", "zsh", "fish", "elvish", "powershell"]);
    gemtool("completions").refused(&["SHELL"]);
    gemtool("completions bash zsh").refused(&["'zsh'"]);
}
