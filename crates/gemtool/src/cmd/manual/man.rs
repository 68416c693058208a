//! `gemtool man`: the help of every command as manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use serde::Serialize;

use crate::args::{self, Args};
use crate::failure::Failure;

/// A manual page.
#[derive(Clone, Debug, Serialize)]
pub struct ManPage {
    /// The file's name.
    pub name: String,
    /// The page's roff source.
    pub text: String,
}

/// The manual.
#[derive(Clone, Debug, Serialize)]
pub struct Manual {
    /// The folder of the pages, if one was given.
    pub dir: Option<PathBuf>,
    /// The tool's page, then a page for each command.
    pub pages: Vec<ManPage>,
}

/// Creates the manual, and writes it if a folder is given.
///
/// # Errors
/// A folder that cannot be created or written to.
pub fn run(args: &args::Man) -> Result<Manual, Failure> {
    let mut tool = Args::command().disable_help_subcommand(true).subcommand_help_heading("COMMANDS");
    tool.build();
    let pages: Vec<_> =
        std::iter::once(&tool).chain(tool.get_subcommands()).map(|one| page(one, &tool)).collect();
    if let Some(dir) = &args.dir {
        let failed = |error| Failure::Environment(format!("cannot write into '{}': {error}", dir.display()));
        fs::create_dir_all(dir).map_err(failed)?;
        for page in &pages {
            fs::write(dir.join(&page.name), &page.text).map_err(failed)?;
        }
    }
    Ok(Manual { dir: args.dir.clone(), pages })
}

/// Returns the name of a command's page: `gemtool-alloc`.
fn page_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// Creates the page of `command`, which is `tool` or one of its commands.
fn page(command: &Command, tool: &Command) -> ManPage {
    let version = format!("gemtool {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(version).manual("gemtool");
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (paragraphs, sections) = split(&help);
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = man.render_title(&mut text);
    let _ = man.render_name_section(&mut text);
    let mut roff = Roff::new();
    let usage = command.clone().render_usage().to_string();
    roff.control("SH", ["SYNOPSIS"]).text([bold(usage.trim_start_matches("Usage: "))]);
    roff.control("SH", ["DESCRIPTION"]);
    let about = command.get_about().map(|about| format!("{about}.")).unwrap_or_default();
    body(&mut roff, &[about.as_str()]);
    body(&mut roff, &paragraphs);
    let _ = roff.to_writer(&mut text);
    let _ = man.render_options_section(&mut text);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut text);
    }
    let mut roff = Roff::new();
    for (heading, lines) in &sections {
        roff.control("SH", [heading.to_uppercase().as_str()]);
        body(&mut roff, lines);
    }
    see_also(&mut roff, command, tool);
    let _ = roff.to_writer(&mut text);
    ManPage { name: man.get_filename(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// Splits a help text into the lines before the first heading, and each heading with its own lines. A heading
/// is a line that ends with a colon and is followed by indented lines.
fn split(help: &str) -> (Vec<&str>, Vec<(&str, Vec<&str>)>) {
    let (mut first, mut sections) = (Vec::new(), Vec::<(&str, Vec<&str>)>::new());
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next() {
        let is_heading = !line.starts_with(' ') && lines.peek().is_some_and(|next| next.starts_with("  "));
        match (line.strip_suffix(':').filter(|_| is_heading), sections.last_mut()) {
            (Some(heading), _) => sections.push((heading, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => first.push(line),
        }
    }
    (first, sections)
}

/// Writes `lines`: fills paragraphs, and keeps indented lines as they are.
fn body(roff: &mut Roff, lines: &[&str]) {
    for block in
        lines.chunk_by(|a, b| a.starts_with(' ') == b.starts_with(' ') && !a.is_empty() && !b.is_empty())
    {
        match block {
            ["", ..] => {}
            [first, ..] if first.starts_with(' ') => {
                roff.control("PP", []).control("nf", []);
                for line in block {
                    roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
                }
                roff.control("fi", []);
            }
            _ => {
                roff.control("PP", []);
                roff.text([roman(block.join(" "))]);
            }
        }
    }
}

/// Writes the list of the other pages.
fn see_also(roff: &mut Roff, command: &Command, tool: &Command) {
    let others = std::iter::once(tool).chain(tool.get_subcommands()).map(page_name);
    let mut line = Vec::new();
    for other in others.filter(|other| *other != page_name(command)) {
        line.extend([roman(if line.is_empty() { "" } else { ", " }), bold(other), roman("(1)")]);
    }
    roff.control("SH", ["SEE ALSO"]).text(line);
}
