//! Mappings of programs that follow what objects show.

use crate::kernel::mappings::contents::MappingContents;
use crate::kernel::objects::state::Changes;
use crate::memory::program::Shown;
use crate::process::area::Backing;
use crate::process::memory::Memory;

impl Memory {
    /// Lets the program's mappings show what they would show if they were made now.
    ///
    /// The program is asked once for each mapping whose contents changed. A mapping for which it has no memory keeps what
    /// it showed.
    pub(crate) fn follow(&mut self) {
        let Some(program) = &self.program else { return };
        let now = Changes::now();
        if std::mem::replace(&mut self.followed, now) == now {
            return;
        }
        for (&start, area) in &mut self.areas {
            let Backing::Window(window) = &mut area.backing else { continue };
            if window.is_current() {
                continue;
            }
            let showed_nothing = matches!(window.contents, MappingContents::Nothing);
            let shown = match window.show() {
                Ok(Shown::Nothing(_)) if showed_nothing => continue,
                Ok(shown) => shown,
                Err(error) => {
                    tracing::debug!(%error, "a mapping keeps what it showed");
                    continue;
                }
            };
            if let Err(errno) = program.map(shown, area.len, area.pages, Some(start)) {
                tracing::debug!(%errno, "a mapping keeps what it showed");
            }
        }
    }
}
