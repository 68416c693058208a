//! Flushes and invalidates of ranges at the caller's request: vkFlushMappedMemoryRanges and
//! vkInvalidateMappedMemoryRanges.

use super::Bo;
use crate::engine::{FlushReport, Object as _, StaleLines, Step};
use crate::error::{Error, Result};
use crate::object::shared::{UpcomingAccess, Use, prepare};
use crate::policy::{Decision, Path, Verdict};
use crate::tracking::State;
use crate::units::ByteRange;
use crate::vocabulary::Access;

impl Bo {
    /// Makes the CPU's stores to `len` bytes at `offset` visible to `readers`, of which the caller does not know the
    /// next one. The stores were made through the BO's mapping and need not have been reported.
    ///
    /// If no reader requires a flush, it costs look-ups only, and the stores are not recorded for other readers.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`]; [`Error::NotAvailable`] if none of `readers` exists on the platform, or there is
    /// none; as [`crate::device::Device::submit_with`].
    pub fn flush_range(&self, offset: u64, len: u64, readers: &[Path]) -> Result<FlushReport> {
        let range = ByteRange::within(offset, len, self.size())?;
        self.check_open()?;
        let shared = self.shared();
        let in_use = shared.begin(Use::Write)?;
        let mode = shared.mode();
        let decide = |next| {
            let decisions = shared.decisions(next, Access::Read);
            match decisions.refusal {
                Some(rule) => Decision::new(Verdict::Refused, rule),
                None => decisions.after_store(mode),
            }
        };
        let strongest = readers.iter().copied().map(decide).reduce(Decision::stronger);
        let Some(decision) = strongest.filter(|decision| decision.verdict != Verdict::Refused) else {
            return Err(match (readers.first(), strongest) {
                (Some(&next), Some(Decision { rule, .. })) => shared.refused(next, rule),
                _ => Error::BadSize { size: 0, why: "a flush has at least one reader" },
            });
        };
        let mut report = FlushReport::new(Step::Sync, decision, 0);
        if decision.is_needed() {
            shared.note_stored(mode, range.lines(), in_use.marks);
            let existing = readers.iter().copied().filter(|&next| decide(next).verdict != Verdict::Refused);
            shared.flush_for(existing, range.lines(), in_use.marks, |one| report.add(one))?;
        }
        Ok(report)
    }

    /// Makes the GPU's writes to `len` bytes at `offset` visible to the CPU's loads through the BO's mapping. The
    /// caller has waited for the writes, which need not have been reported.
    ///
    /// If nothing is required, it costs a look-up only; otherwise an object without a mapping is mapped first. Through a
    /// mapping that bypasses the CPU's cache, where the GPU's writes may be in that cache, the whole object is written
    /// back.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`]; [`Error::NotAvailable`] if the mapping's mode cannot be used; as [`Bo::read`].
    pub fn invalidate_range(&self, offset: u64, len: u64) -> Result<FlushReport> {
        let range = ByteRange::within(offset, len, self.size())?;
        self.check_open()?;
        let shared = self.shared();
        let in_use = shared.begin(Use::Write)?;
        let next = Path::Cpu(shared.mode());
        let upcoming = UpcomingAccess {
            object: shared,
            lines: range.lines(),
            next,
            access: Access::Read,
            stale: StaleLines::Invalidate,
            marks: in_use.marks,
        };
        let decisions = shared.decisions(next, Access::Read);
        if let Some(rule) = decisions.refusal {
            return Err(shared.refused(next, rule));
        }
        // Through the CPU's cache, lines may be stale; around it, the GPU's writes may be in the cache.
        let (stale, cached) = (decisions.invalidate_after_gpu_write, decisions.after_gpu_write);
        let mut report = FlushReport::new(Step::Read, stale.stronger(cached), 0);
        if stale.is_needed() {
            // Stale lines are tracked from the first mapping on. A driver's own mapping may have some before.
            shared.mapping()?;
            shared.note_uncached_write(range.lines());
        }
        if cached.is_needed() {
            shared.tracked.word().update(State::note_gpu_write);
        }
        if report.decision.is_needed() {
            report.add(prepare(upcoming, Step::Read)?);
        }
        Ok(report)
    }
}
