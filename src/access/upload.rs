//! Stores that are in memory, where the GPU looks there, before anybody is about to read.
//!
//! A store that stays dirty costs its flush later, line by line, after the line was read from memory only to be
//! overwritten. Bytes that are all at hand and are for the GPU can do better: around the cache, or written back
//! while they are in it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::guard::CpuAccess;
use super::report::FlushReport;
use crate::bo::Shared;
use crate::drm::Mapping;
use crate::error::{Error, Result};
use crate::policy::{Decision, Path, Verdict};
use crate::tracking::{Batch, Flight, Tracked, Work, run_queue};
use crate::units::{ByteRange, LINE_BYTES, LineRange};
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

/// How bytes get to memory through a write-back mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Non-temporal stores.
    Around,
    /// Stores, and a write-back.
    Through,
}

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

/// Bytes on their way to memory.
///
/// It is work like a flush, because it takes dirty marks: another thread that finds the lines unmarked has to
/// wait until they are in memory.
struct Uploading<'a> {
    bo: &'a Shared,
    mapping: &'a Mapping,
    range: ByteRange,
    data: &'a [u8],
    way: Way,
}

impl<'a> Work<'a> for Uploading<'a> {
    /// The bytes are written back as they are stored.
    type Lines = Infallible;

    fn perform(lines: &Infallible) -> Result<()> {
        match *lines {}
    }

    fn object(&self) -> &'a Tracked {
        &self.bo.tracked
    }

    fn prepare(&mut self) -> Result<Option<LineRange>> {
        Ok(Some(self.range.lines()))
    }

    /// Needs no leading fence: a line is written back after this thread's stores to it, and after those of
    /// other threads whose marks it took.
    fn carry_out(&mut self, flight: &mut Flight<'a>, _batch: &mut Batch<'_, Infallible>) -> Result<()> {
        // Before the stores: who marks a line after this stored to it after this, and it stays marked.
        flight.take_dirty_pages(|_| {});
        let copied = match self.way {
            Way::Around => self.mapping.copy_around(self.range.offset(), self.data),
            Way::Through => self.mapping.copy_through(self.range.offset(), self.data),
        };
        copied.and_then(|()| self.mapping.publish()).inspect_err(|_| {
            // What was dirty before is not known to be in memory, and a part of the bytes may be stored.
            let _ = self.bo.note_stored(self.mapping.mode(), self.range.lines());
        })
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
        // Of an unknown device nobody knows when its GPU's writes are over; marks tell what was stored since.
        let at_once = decision.verdict == Verdict::Flush && !self.bo.shared().device.is_conservative();
        if range.is_empty() || !at_once {
            if decision.verdict == Verdict::NotNeeded && !self.report.decision.is_needed() {
                self.report.decision = decision;
            }
            return self.write_at(offset, data);
        }
        self.prepare_store(range)?;
        let (bo, mapping) = (self.bo.shared(), self.mapping);
        let work = Uploading { bo, mapping, range, data, way: hint.way(range.len()) };
        run_queue(&mut [work], &|| {})?;
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
