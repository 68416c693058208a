//! The real object of a program's object, and the bytes that move between them.

use std::ops::Range;

use bytemuck::allocation::try_zeroed_vec;
use gem_coherency::Errno;
use gem_coherency::device::{AdoptRequest, Contents, Device};
use gem_coherency::error::Result;
use gem_coherency::object::Bo;
use gem_coherency::sync::Mutex;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::{CachingMode, Handle};
use gem_coherency_sim::{Operand, Written};

/// Number of bytes that are compared at once.
const PIECE: usize = PAGE_BYTES as usize;

/// A real object. It is closed when dropped.
#[derive(Debug)]
pub(super) struct RealObject {
    device: Device,
    handle: Handle,
    /// Tracks the copies to and from it; `None` while it is dropped.
    bo: Option<Bo>,
    /// The object's bytes, as of the last copy.
    known: Mutex<Vec<u8>>,
}

impl RealObject {
    /// Creates the real object of `operand`, with its PAT index if it has one. A program's own pages have a real object that
    /// is snooped, as far as the platform can.
    ///
    /// # Errors
    /// Those of GEM_CREATE and GEM_CREATE_EXT; ENOMEM.
    pub(super) fn new(device: &Device, operand: &Operand) -> Result<Self> {
        let size = operand.size();
        let drm = device.drm();
        let created = match operand.pat_index() {
            Some(index) => drm.create_with_pat(size, index.into())?,
            None => drm.create(size)?,
        };
        let handle = created.handle;
        let mut object = Self { device: device.clone(), handle, bo: None, known: Mutex::default() };
        let request = AdoptRequest::new(handle, created.size_bytes).contents(Contents::New);
        let request = match operand.pat_index() {
            Some(_) => request.fixed_level(operand.level()),
            None => request,
        };
        let bo = device.adopt(request)?;
        if operand.is_user()
            && let Err(error) = bo.set_caching(CachingMode::Cached)
        {
            tracing::debug!(%error, "not snooped");
        }
        object.bo = Some(bo);
        let known = usize::try_from(size).ok().and_then(|size| try_zeroed_vec(size).ok());
        let no_room = gem_coherency::Error::Ioctl { request: "allocate", errno: Errno::ENOMEM };
        object.known = Mutex::new(known.ok_or(no_room)?);
        Ok(object)
    }

    /// Returns the handle.
    pub(super) fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns the object as the library tracks it.
    ///
    /// # Errors
    /// ENOENT while it is dropped.
    pub(super) fn bo(&self) -> Result<&Bo, Errno> {
        self.bo.as_ref().ok_or(Errno::ENOENT)
    }

    /// Copies what the GPU would see of `operand` to the real object, as far as it has changed.
    ///
    /// # Errors
    /// Those of the accesses.
    pub(super) fn load(&self, operand: &Operand) -> Result<()> {
        let Some(bo) = &self.bo else { return Ok(()) };
        let mut known = self.known.lock();
        let mut now = [0; PIECE];
        for (offset, known) in (0..).step_by(PIECE).zip(known.chunks_mut(PIECE)) {
            let now = now.get_mut(..known.len()).unwrap_or_default();
            operand.look(offset, now)?;
            if *now != *known {
                bo.write_bytes(offset, now)?;
                known.copy_from_slice(now);
            }
        }
        Ok(())
    }

    /// Writes to `operand` what the real GPU wrote: the bytes that changed, and those that the simulated GPU wrote, if
    /// the two differ.
    ///
    /// # Errors
    /// Those of the accesses.
    pub(super) fn write_results(&self, operand: &Operand, simulated: &[Written]) -> Result<()> {
        let Some(bo) = &self.bo else { return Ok(()) };
        let mut known = self.known.lock();
        let simulated = written_to(operand.number(), simulated);
        let access = bo.read(0, operand.size())?;
        let (mut now, mut seen) = ([0; PIECE], [0; PIECE]);
        for (offset, known) in (0..).step_by(PIECE).zip(known.chunks_mut(PIECE)) {
            let end = offset + known.len() as u64;
            let now = now.get_mut(..known.len()).unwrap_or_default();
            let seen = seen.get_mut(..known.len()).unwrap_or_default();
            access.read_at(offset, now)?;
            let before = simulated.partition_point(|range| range.end <= offset);
            let of_piece = simulated.get(before..).unwrap_or_default();
            let of_piece: Vec<_> = of_piece.iter().take_while(|range| range.start < end).collect();
            if *now == *known && of_piece.is_empty() {
                continue;
            }
            operand.look(offset, seen)?;
            for run in runs(now, seen, |at| {
                let at_object = offset + at as u64;
                now.get(at) != known.get(at) || of_piece.iter().any(|range| range.contains(&at_object))
            }) {
                let first = offset + run.start as u64;
                operand.write(first, now.get(run).unwrap_or_default())?;
            }
            known.copy_from_slice(now);
        }
        access.finish();
        Ok(())
    }
}

impl Drop for RealObject {
    fn drop(&mut self) {
        // The library tracks the handle until then.
        self.bo = None;
        if let Err(error) = self.device.drm().close(self.handle) {
            tracing::warn!(handle = self.handle.get(), %error, "close");
        }
    }
}

/// Returns the bytes of an object in `log`, in order and disjoint.
fn written_to(object: u64, log: &[Written]) -> Vec<Range<u64>> {
    let of_object = log.iter().filter(|written| written.object == object);
    let mut ranges: Vec<_> = of_object.map(|written| written.range.clone()).collect();
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let joins = next.start <= last.end;
        if joins {
            last.end = last.end.max(next.end);
        }
        joins
    });
    ranges
}

/// Returns the runs of bytes of `now` that `counts` accepts and that differ from `seen`.
fn runs<'a>(
    now: &'a [u8],
    seen: &'a [u8],
    counts: impl Fn(usize) -> bool + 'a,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let differs = move |at: usize| now.get(at) != seen.get(at) && counts(at);
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = (at..now.len()).find(|&at| differs(at))?;
        let end = (start..now.len()).find(|&at| !differs(at)).unwrap_or(now.len());
        at = end;
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_or_touch_are_one() {
        let log = [(1, 64..72), (1, 8..9), (2, 0..64), (1, 0..64), (1, 4..8), (1, 100..101)];
        let log = log.map(|(object, range)| Written { object, range });
        assert_eq!(written_to(1, &log), [0..72, 100..101]);
        assert_eq!(written_to(3, &log), []);
    }

    #[test]
    fn runs_are_what_differs_and_counts() {
        let (now, seen) = ([1, 1, 1, 1, 1, 1], [0, 0, 1, 0, 0, 0]);
        let all: Vec<_> = runs(&now, &seen, |at| at != 4).collect();
        assert_eq!(all, [0..2, 3..4, 5..6]);
        assert_eq!(runs(&now, &now, |_| true).count(), 0);
        assert_eq!(runs(&now, &seen, |_| false).count(), 0);
    }
}
