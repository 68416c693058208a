//! Text form of `gemtool completions` and `gemtool man`: text for other programs, unchanged.

use std::io;

use super::{Page, Report};
use crate::cmd::manual::completions::Script;
use crate::cmd::manual::man::Manual;

impl Report for Script {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.raw(&self.script)
    }
}

impl Report for Manual {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        match &self.dir {
            Some(dir) => {
                self.pages.iter().try_for_each(|one| page.line(&dir.join(&one.name).display().to_string()))
            }
            None => self.pages.iter().try_for_each(|one| page.raw(&one.text)),
        }
    }
}
