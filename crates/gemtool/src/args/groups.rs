//! The commands in groups, as `gemtool --help` lists them.

use clap::builder::Styles;
use clap::{Command, CommandFactory, Error, FromArgMatches};

use crate::args::Args;

/// The groups, and the names of their commands.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Everyday", &["alloc", "info", "explain", "run", "sanitize", "sim"]),
    (
        "For reviewers of rules and drivers",
        &["check", "rules", "platforms", "trace", "verify", "scanout", "serve", "dispatch", "lines", "eu"],
    ),
    ("For developers and packagers of gemtool", &["bench", "completions", "man", "help"]),
];

/// Width of the column of names, in characters.
const NAMES: usize = 11;

/// Width of a line, in characters.
const WIDTH: usize = 80;

impl Args {
    /// Parses the command line of this process.
    ///
    /// # Errors
    /// Those of clap: the requested help or version, or a wrong argument.
    pub fn of_command_line() -> Result<Self, Error> {
        let mut command = Self::command();
        command.build();
        let list = list(&command);
        let template =
            format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{options}}{{after-help}}");
        let matches = Self::command().help_template(template).try_get_matches()?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut Self::command()))
    }
}

/// Returns the list of the commands, with what each does, and the heading of the options.
fn list(command: &Command) -> String {
    let styles = Styles::default();
    let (heading, name_style) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for (group, names) in GROUPS {
        text += &format!("{heading}{group}:{heading:#}\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let lines = wrapped(&about, WIDTH - NAMES - 4);
            let name = format!("  {name_style}{name}{name_style:#}{:1$}", "", NAMES + 2 - name.len());
            text += &format!("{name}{}\n", lines.join(&format!("\n{:1$}", "", NAMES + 4)));
        }
        text.push('\n');
    }
    text + &format!("{heading}Options:{heading:#}\n")
}

/// Breaks a text into lines of at most `width` characters, if its words allow it.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let mut command = Args::command();
        command.build();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
        assert!(grouped.iter().all(|name| name.len() <= NAMES));
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incoherent a", 3), ["incoherent", "a"]);
    }
}
