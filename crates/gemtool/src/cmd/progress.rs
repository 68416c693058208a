//! The progress of commands that take long, on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Returns a progress bar on standard error; invisible unless that is a terminal and a bar is `requested`.
/// It is drawn only when its position or its message changes: no thread disturbs what is measured.
pub fn bar(count: u64, template: &str, requested: bool) -> ProgressBar {
    let target = if requested { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(count), target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
