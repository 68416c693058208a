//! Uploads: stores that also write their data to memory, if the GPU is not coherent with the CPU's caches.
//!
//! With ordinary stores, the CPU reads each line from memory only to overwrite it, and a later flush writes
//! the dirty line back. An upload has all of the data, and avoids that: it uses non-temporal stores, or
//! writes the lines back while they are in the cache.
//!
//! It asks before the store whether the GPU, through the page table's class, needs stores of this mapping flushed:
//!
//! - no, because the GPU sees the cache: an ordinary store, whose lines are dirty for the display and bypassing reads;
//! - no, because the mapping bypasses the cache: an ordinary store, drained at the submission;
//! - yes: the bytes are in memory on return. Lines that are overwritten in part are always written back.
//!
//! An upload takes the marks of its lines first, so concurrent stores keep theirs. On an unknown device it is an ordinary store.

use super::guard::CpuAccess;
use crate::engine::{self, FlushReport, Object as _, StoreMethod, UploadTime};
use crate::error::Result;
use crate::object::shared::SharedBo;
use crate::policy::{Decision, Path, Verdict};
use crate::units::LINE_BYTES;
use crate::vocabulary::{Access, MocsClass, words};

words! {
    /// The CPU's next use of uploaded bytes.
    Upload, "upload hint" {
        /// None soon: non-temporal stores bypass the cache, which keeps its contents.
        Once = "once",
        /// The CPU reads or overwrites them: they are stored through the cache, written back, and stay
        /// cached.
        Kept = "kept",
        /// Unknown: as `Once` for [`NON_TEMPORAL_FROM_BYTES`] or more, as `Kept` below.
        Auto = "auto",
    }
}

/// The smallest size for which [`Upload::Auto`] uses non-temporal stores: a whole line.
///
/// Measured (`gemtool bench crossover`): non-temporal stores take less time from one line on, whether the
/// destination is cached or not.
pub const NON_TEMPORAL_FROM_BYTES: u64 = LINE_BYTES;

impl Upload {
    /// Returns how `len` bytes are stored.
    #[inline]
    fn store_method(self, len: u64) -> StoreMethod {
        match self {
            Self::Once => StoreMethod::NonTemporal,
            Self::Kept => StoreMethod::WriteBack,
            Self::Auto if len >= NON_TEMPORAL_FROM_BYTES => StoreMethod::NonTemporal,
            Self::Auto => StoreMethod::WriteBack,
        }
    }
}

impl CpuAccess<'_> {
    /// Stores `data` at `offset` of the BO, as [`Bo::upload`](crate::object::bo::Bo::upload) does.
    ///
    /// # Errors
    /// As [`CpuAccess::write_at`].
    #[inline]
    pub fn upload_at(&mut self, offset: u64, data: &[u8], hint: Upload) -> Result<()> {
        let range = self.check_store(offset, data.len() as u64)?;
        let decision = self.upload_decision();
        let time = UploadTime::of(decision, self.bo.device.is_conservative());
        if range.is_empty() || time == UploadTime::AtSubmission {
            if decision.verdict == Verdict::NotNeeded && !self.report.decision.is_needed() {
                self.report.decision = decision;
            }
            return self.write_at(offset, data);
        }
        self.prepare_store(range)?;
        let (bo, mapping) = (self.bo, self.mapping);
        engine::upload_to::<SharedBo>(bo, range.lines(), self.in_use.marks, || {
            match hint.store_method(range.len()) {
                StoreMethod::NonTemporal => mapping.copy_non_temporal(range.offset(), data)?,
                StoreMethod::WriteBack => mapping.copy_through(range.offset(), data)?,
            }
            mapping.publish()
        })?;
        let report = FlushReport::new(self.report.step, decision, range.lines().count());
        report.trace(bo.handle);
        self.report.add(report);
        Ok(())
    }

    /// Returns the operation that a store through the mapping requires before the GPU reads. A flush is
    /// required only for a write-back mapping; a drain is left to the submission.
    #[inline]
    fn upload_decision(&self) -> Decision {
        let reader = Path::Gpu(MocsClass::PageTable);
        self.bo.decisions(reader, Access::Read).after_store(self.mapping.mode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_decides_and_without_one_the_size() {
        for len in [1, 64, NON_TEMPORAL_FROM_BYTES - 1, NON_TEMPORAL_FROM_BYTES, 1 << 30] {
            assert_eq!(
                (Upload::Once.store_method(len), Upload::Kept.store_method(len)),
                (StoreMethod::NonTemporal, StoreMethod::WriteBack)
            );
        }
        assert_eq!(Upload::Auto.store_method(NON_TEMPORAL_FROM_BYTES - 1), StoreMethod::WriteBack);
        assert_eq!(Upload::Auto.store_method(NON_TEMPORAL_FROM_BYTES), StoreMethod::NonTemporal);
    }
}
