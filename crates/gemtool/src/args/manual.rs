//! The arguments of `gemtool completions` and `gemtool man`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;

/// Shown under `gemtool completions --help`.
pub const COMPLETIONS_EXAMPLES: &str = "\
Location of the script for each shell:
  bash   ~/.local/share/bash-completion/completions/gemtool
  zsh    a file _gemtool in a directory of $fpath
  fish   ~/.config/fish/completions/gemtool.fish

Examples:
  source <(gemtool completions bash)
  gemtool completions zsh > ~/.zfunc/_gemtool
  gemtool completions fish > ~/.config/fish/completions/gemtool.fish";

/// `gemtool completions`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

/// Shown under `gemtool man --help`.
pub const MAN_EXAMPLES: &str = "\
There is one page for gemtool (gemtool.1), and one for each command (gemtool-alloc.1, ...).

Examples:
  gemtool man | man -l -
  gemtool man ~/.local/share/man/man1";

/// `gemtool man`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Man {
    /// Write each page into a file in this directory, which is created if missing [default: all pages to
    /// standard output]
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
