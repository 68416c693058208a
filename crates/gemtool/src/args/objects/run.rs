//! The arguments of `gemtool run`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::Device;

/// Shown under `gemtool run --help`.
pub const RUN_EXAMPLES: &str = "\
A script has one statement per line; '#' begins a comment. docs/scripts.md describes the language.

  NAME = alloc SIZE [caching=MODE | pat=INDEX] [map=MODE] [on=FILE]
  NAME = userptr SIZE [on=FILE]
  NAME = export BO
  NAME = import DMABUF [on=FILE]
  NAME = open [DEVICE]
  write BO RANGE fill=PATTERN [raw[=MODE]]
  read BO RANGE [expect=PATTERN] [raw[=MODE]]
  pwrite BO RANGE fill=PATTERN
  pread BO RANGE [expect=PATTERN]
  submit BO [access=read|write] [mocs=CLASS] ...
  gpu-write BO RANGE fill=PATTERN [mocs=CLASS]
  dispatch MODULE BINDING=BO [mocs=CLASS] ... [groups=X,Y,Z]
           [extent=WxH] [entry=NAME] [spec=ID=VALUE] [no-hoist-discard] [raw]
  map BO MODE                     set-caching BO MODE
  domain BO DOMAIN read|write     flush BO
  wait BO                         close NAME
  scanout BO                      off-screen BO
  show BO                         dirtyfb BO
  sync DMABUF start|end read|write
  sw-finish BO
  suspend                         hibernate                       resume
  expect [not] verdict BO VERDICT [lines=N] [rule=RULE]
  expect [not] caching BO MODE
  expect [not] level BO LEVEL
  expect [not] dirty|stale BO ==|>=|<= N
  expect [not] same BO BO
  expect [not] kernel-flushes BO ==|>=|<= N [rule=RULE]
  expect [not] lines-read|lines-written|lines-stale BO ==|>=|<= N
  expect [not] gpu-reads BO RANGE PATTERN [mocs=CLASS]
  expect [not] display-reads BO RANGE PATTERN
  expect error ERRNO: STATEMENT
  needs CONDITION ...
  where CONDITION ...: STATEMENT

Ranges: 0..4096, 100+28, all. 'raw' bypasses the library: it flushes nothing for such an access. suspend, \
hibernate, resume, gpu-write, 'dispatch ... raw', kernel-flushes, lines-*, gpu-reads and display-reads need a software device.

Exit status: 1 if an expectation did not hold (the others are still checked), 2 if the script \
is invalid or the device refuses a statement (the script stops there).

Examples:
  gemtool run examples/scripts/forgotten-flush.gemco --device sim:glk
  gemtool run examples/scripts/llc-bypass.gemco --device sim:jsl --timeline
  gemtool run examples/scripts/shader-lines.gemco --device sim:jsl
  echo 'a = alloc 4KiB' | gemtool run - --device sim:tgl --json";

/// `gemtool run`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Run {
    /// Script file; '-' is standard input
    #[arg(value_name = "SCRIPT")]
    pub script: PathBuf,

    /// Show the decisions and flushes of the library and of the kernel at every step
    #[arg(long)]
    pub timeline: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}
