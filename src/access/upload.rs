//! Uploads: stores that write their data to memory at once if the GPU reads only memory.
//!
//! A line that stays dirty is flushed later, after the CPU read it from memory only to overwrite it. Bytes that are complete
//! avoid that: by non-temporal stores, or by a write-back while their lines are in the cache.

use super::guard::CpuAccess;
use crate::bo::Shared;
use crate::engine::{self, FlushReport, Object as _, Way};
use crate::error::Result;
use crate::policy::{Decision, Path, Verdict};
use crate::units::LINE_BYTES;
use crate::vocabulary::{Access, MocsClass, words};

words! {
    /// What the CPU does next with bytes that it uploads.
    Upload, "upload hint" {
        /// Nothing soon: they are stored around the cache, which keeps what it holds.
        Once = "once",
        /// It reads or overwrites them: they are stored through the cache and written back, and stay there.
        Kept = "kept",
        /// Nobody knows: as `Once` from [`AROUND_FROM_BYTES`] on, below as `Kept`.
        Auto = "auto",
    }
}

/// From how many bytes on [`Upload::Auto`] stores around the cache: where whole lines can be.
///
/// Measured (`gemtool bench crossover`): it takes less time from one line on, whether the destination is in the
/// cache or not.
pub const AROUND_FROM_BYTES: u64 = LINE_BYTES;

impl Upload {
    /// How `len` bytes are stored.
    fn way(self, len: u64) -> Way {
        match self {
            Self::Once => Way::Around,
            Self::Kept => Way::Through,
            Self::Auto if len >= AROUND_FROM_BYTES => Way::Around,
            Self::Auto => Way::Through,
        }
    }
}

impl CpuAccess<'_> {
    /// Stores `data` at `offset` of the BO, as [`Bo::upload`](crate::bo::Bo::upload) does.
    ///
    /// # Errors
    /// As [`CpuAccess::write_at`].
    pub fn upload_at(&mut self, offset: u64, data: &[u8], hint: Upload) -> Result<()> {
        let range = self.check_store(offset, data.len() as u64)?;
        let decision = self.upload_decision();
        if range.is_empty()
            || !engine::is_uploaded_at_once(decision, self.bo.shared().device.is_conservative())
        {
            if decision.verdict == Verdict::NotNeeded && !self.report.decision.is_needed() {
                self.report.decision = decision;
            }
            return self.write_at(offset, data);
        }
        self.prepare_store(range)?;
        let (bo, mapping) = (self.bo.shared(), self.mapping);
        engine::upload_to::<Shared>(bo, range.lines(), || {
            match hint.way(range.len()) {
                Way::Around => mapping.copy_around(range.offset(), data)?,
                Way::Through => mapping.copy_through(range.offset(), data)?,
            }
            mapping.publish()
        })?;
        let report = FlushReport::new(self.report.step, decision, range.lines().count());
        report.trace(bo.handle);
        self.report.add(report);
        Ok(())
    }

    /// What a store through the mapping needs before the GPU reads. A flush is what only a write-back mapping
    /// needs; a drain is left to whoever hands the BO over.
    fn upload_decision(&self) -> Decision {
        let reader = Path::Gpu(MocsClass::PageTable);
        self.bo.shared().answer(reader, Access::Read).after_store(self.mapping.mode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_decides_and_without_one_the_size() {
        for len in [1, 64, AROUND_FROM_BYTES - 1, AROUND_FROM_BYTES, 1 << 30] {
            assert_eq!((Upload::Once.way(len), Upload::Kept.way(len)), (Way::Around, Way::Through));
        }
        assert_eq!(Upload::Auto.way(AROUND_FROM_BYTES - 1), Way::Through);
        assert_eq!(Upload::Auto.way(AROUND_FROM_BYTES), Way::Around);
    }
}
