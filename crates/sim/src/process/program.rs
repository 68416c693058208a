//! The address space of a program that is not simulated.

use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::vocabulary::Access;

use crate::memory::program::ProgramMemory;
use crate::process::area::Backing;
use crate::process::memory::Memory;

impl Memory {
    /// Creates the address space of a child process: the same mappings of objects, and its memory `program`.
    ///
    /// # Errors
    /// EINVAL if there is memory other than the program's and its mappings.
    pub(crate) fn fork(&self, program: Arc<dyn ProgramMemory>) -> Result<Self, Errno> {
        let mut child = Self::of_program(program);
        for (&start, area) in &self.areas {
            let mut backing = area.backing.part(0)?;
            if let Backing::Window(window) = &mut backing {
                window.be_in(child.id());
            }
            child.insert(start, area.len, area.pages, backing);
        }
        Ok(child)
    }

    /// Returns whether the range is a program's own memory that allows an access; `None` is for whatever it allows.
    pub(super) fn program_holds(&self, address: u64, len: u64, allows: Option<Access>) -> bool {
        let end = address.saturating_add(len);
        self.program
            .as_ref()
            .is_some_and(|program| !self.overlaps(address, end) && program.holds(address, len, allows))
    }

    /// Returns the memory of a program that is not simulated.
    pub(crate) fn program(&self) -> Option<Arc<dyn ProgramMemory>> {
        self.program.clone()
    }
}
