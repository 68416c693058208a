//! The arguments of every row.

use gem_coherency::cacheops::Support;

use crate::peers::Pmem;
use crate::report::{Found, Maker};
use crate::rounds::Effort;

/// Arguments of every row.
pub struct Context {
    /// The time to spend.
    pub effort: Effort,
    /// The CPU's instructions.
    pub support: Support,
    /// The CPU's maker.
    pub maker: Maker,
    /// libpmem, or the reason why it could not be loaded.
    pub pmem: Result<Pmem, String>,
    /// The device for the rows that need one.
    pub device: Option<String>,
}

impl Context {
    /// Returns libpmem; if it is missing, notes that the comparisons with it are left out.
    pub fn pmem(&self, found: &mut Found) -> Option<Pmem> {
        match &self.pmem {
            Ok(pmem) => Some(*pmem),
            Err(why) => {
                let note = format!("{why}: comparisons with libpmem are left out");
                if !found.notes.contains(&note) {
                    found.notes.push(note);
                }
                None
            }
        }
    }
}
