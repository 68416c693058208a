//! Help is laid out for the terminal's width: paragraphs are filled, and preformatted lines stay whole.

use crate::text::manual;
use crate::{command, fits, ran};

/// Returns the output of `line` on a terminal of this many columns.
fn help(line: &str, columns: usize) -> String {
    let mut command = command(line);
    command.env("COLUMNS", columns.to_string());
    ran(command).held()
}

/// Returns the text after the flags.
fn after_the_flags(help: &str) -> &str {
    let (_, after) = help.split_once("\n  -h, --help").expect("the last flag but --version");
    after.split_once("\n\n").map_or("", |(_, text)| text)
}

fn is_indented(line: &&str) -> bool {
    line.starts_with(' ')
}

#[test]
fn help_fits_every_width_and_breaks_nothing_but_paragraphs() {
    let commands = manual::commands();
    let lines = commands.iter().map(|command| format!("{command} --help")).chain(["--help".to_owned()]);
    for line in lines {
        let wide = help(&line, 120);
        let whole: Vec<_> = after_the_flags(&wide).lines().filter(is_indented).collect();
        assert!(whole.iter().any(|text| text.contains("gemtool")), "{line}: {wide}");
        for columns in [80, 100, 120] {
            let text = help(&line, columns);
            let width = columns.min(100);
            fits(&text, width);
            let after = after_the_flags(&text);
            // Examples, lists and tables: a broken one leaves its last word on a line of its own.
            assert_eq!(after.lines().filter(is_indented).collect::<Vec<_>>(), whole, "{line} at {columns}");
            let mut lines = after.lines().peekable();
            while let (Some(one), Some(next)) = (lines.next(), lines.peek()) {
                let is_paragraph = !is_indented(&one) && !one.is_empty() && !is_indented(next);
                let Some(word) = next.split(' ').next().filter(|word| is_paragraph && !word.is_empty())
                else {
                    continue;
                };
                let begins = word.starts_with("--who");
                let filled = one.chars().count() + 1 + word.chars().count() > width;
                assert!(filled || begins, "{line} at {columns}: '{word}' fits after '{one}'");
            }
        }
    }
}

#[test]
fn manual_pages_break_no_literal_line() {
    // `man` indents the text by seven columns.
    for page in crate::gemtool("man --json").json()["pages"].as_array().unwrap() {
        let (mut filled, text) = (true, page["text"].as_str().unwrap());
        for line in text.lines() {
            filled = if line == ".nf" { false } else { filled || line == ".fi" };
            let shown = line.replace("\\-", "-").replace("\\\\", "\\").replace("\\&", "");
            assert!(filled || shown.chars().count() <= 80 - 2, "{}: {line}", page["name"]);
        }
    }
}
