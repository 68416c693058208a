//! PREAD and PWRITE: the copies and the flushes around them, piece by piece.
//!
//! If the caller's memory ends too early, the kernel falls back to another path. The effects up to then
//! remain: earlier flushes and copies, and zeroes that a copy through the aperture leaves.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use gem_coherency::Errno;

use super::object::Object;
use crate::kernel::hardware::LINUX_7_2;
use crate::memory::backing_store::AccessContext;
use crate::sync::progress::Patience;
use gem_coherency::backend::Advice;
use gem_coherency::cacheops::LineOp;
use gem_coherency::error::{Error, Result};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Action, Backing, Effect, Event};
use gem_coherency::units::{ByteRange, LINE_BYTES, PAGE_BYTES};
use gem_coherency::vocabulary::{Access, Domains};
use gem_coherency_memory_model::Route;
use gem_coherency_uapi::i915::{DRM_IOCTL_I915_GEM_PREAD, DRM_IOCTL_I915_GEM_PWRITE};

/// The most bytes that one operation of a file writes (`MAX_RW_COUNT`).
const MOST_AT_ONCE: u64 = 0x7fff_f000;

/// A destination of bytes.
pub(crate) trait Sink {
    /// Bytes copied at once: a page if a copy can fail.
    const AT_ONCE: u64;

    /// Puts `len` bytes, made by `fill`, at `at`; returns how many fit.
    fn put(&mut self, at: u64, len: usize, fill: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<usize>;
}

/// A source of bytes.
pub(crate) trait Source {
    /// As [`Sink::AT_ONCE`].
    const AT_ONCE: u64;

    /// Returns the `len` bytes at `at`, or as many as there are.
    fn get(&mut self, at: u64, len: usize) -> Cow<'_, [u8]>;
}

impl Sink for &mut [u8] {
    const AT_ONCE: u64 = u64::MAX;

    fn put(&mut self, at: u64, len: usize, fill: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<usize> {
        match self.get_mut(at as usize..at as usize + len) {
            Some(bytes) => fill(bytes).map(|()| len),
            None => Ok(0),
        }
    }
}

impl Source for &[u8] {
    const AT_ONCE: u64 = u64::MAX;

    fn get(&mut self, at: u64, len: usize) -> Cow<'_, [u8]> {
        Cow::Borrowed(<[u8]>::get(self, at as usize..at as usize + len).unwrap_or_default())
    }
}

/// The flushes of a copy by one rule, logged as one.
struct Flushes {
    effect: Option<Effect>,
    bytes: u64,
    lines_written: u64,
}

impl Flushes {
    fn new(action: Action, rule: Option<Rule>) -> Self {
        Self { effect: rule.map(|rule| Effect { action, rule }), bytes: 0, lines_written: 0 }
    }

    /// Flushes `range` if a rule requires it.
    fn flush(&mut self, object: &Object, ctx: AccessContext<'_>, range: ByteRange) -> Result<()> {
        if self.effect.is_some() {
            let mut backing = object.backing();
            // drm_clflush_virt_range begins with a CPU fence, which does not reach the chipset.
            backing.drain_route(ctx, Route::CpuUncached)?;
            self.lines_written += backing.maintain(ctx, range.lines(), LineOp::Flush)?;
            self.bytes += range.len();
        }
        Ok(())
    }

    /// Logs the flushes.
    fn log(self, object: &Object, call: &'static str) {
        if let Some(effect) = self.effect.filter(|_| self.bytes > 0) {
            object.log_flush(&object.state(), call, effect, self.bytes, self.lines_written);
        }
    }
}

/// Copies out of an object.
pub(crate) fn pread<S: Sink>(
    object: &Object,
    range: ByteRange,
    sink: &mut S,
    patience: &Patience,
) -> Result<()> {
    let call = DRM_IOCTL_I915_GEM_PREAD.name;
    object.system().coverage.transferred();
    object.wait_for(call, Access::Read, patience)?;
    let (around, struct_pages) = {
        let mut state = object.state();
        let around = object.happen(&mut state, call, Event::Pread)?;
        let struct_pages = state.snapshot.backing.has_struct_pages();
        state.bound |= !struct_pages;
        (around, struct_pages)
    };
    if !struct_pages {
        return copy_out(object, call, range, sink, Route::Aperture, None);
    }
    match copy_out(object, call, range, sink, Route::CpuCached, around.before) {
        Err(error) if error.errno() == Errno::EFAULT => {}
        done => return done,
    }
    // If the caller's memory ends too early, the kernel retries through the aperture.
    {
        let mut state = object.state();
        object.happen(&mut state, call, Event::SetDomainGtt(Access::Read))?;
        state.bound = true;
    }
    copy_out(object, call, range, sink, Route::Aperture, None)
}

/// Copies out page by page, flushing each first if there is a rule for it.
fn copy_out<S: Sink>(
    object: &Object,
    call: &'static str,
    range: ByteRange,
    sink: &mut S,
    route: Route,
    before: Option<Rule>,
) -> Result<()> {
    let ctx = object.access_context(&object.state());
    let mut flushes = Flushes::new(Action::FlushBefore, before);
    let mut done = Ok(());
    for piece in pieces(range, S::AT_ONCE) {
        flushes.flush(object, ctx, piece)?;
        let mut fill = |bytes: &mut [u8]| object.backing().read(ctx, route, piece.offset(), bytes);
        let len = piece.len() as usize;
        if sink.put(piece.offset() - range.offset(), len, &mut fill)? < len {
            done = fault(call);
            break;
        }
    }
    flushes.log(object, call);
    done
}

/// Copies into an object.
pub(crate) fn pwrite<S: Source>(
    object: &Object,
    range: ByteRange,
    source: &mut S,
    patience: &Patience,
) -> Result<()> {
    let call = DRM_IOCTL_I915_GEM_PWRITE.name;
    object.system().coverage.transferred();
    // Relaxed: a setting; it publishes no other data.
    let awake = object.system().hardware.awake.load(Ordering::Relaxed);
    // Pages in between are whole.
    let partial = !(range.offset() | range.end()).is_multiple_of(LINE_BYTES);
    let page_cache = {
        let mut state = object.state();
        let page_cache = state.snapshot.backing == Backing::Shmem && !state.snapshot.pages;
        if page_cache {
            if state.purged || state.advice == Advice::DontNeed {
                return fault(call);
            }
            if object.system().machine.kernel >= LINUX_7_2 && range.len() > MOST_AT_ONCE {
                return Err(Error::Ioctl { request: call, errno: Errno::EFBIG });
            }
            object.happen(&mut state, call, Event::Pwrite { partial, awake })?;
        }
        page_cache
    };
    if page_cache {
        let by_file = object.system().machine.kernel >= LINUX_7_2;
        return copy_in(object, call, range, source, if by_file { Way::File } else { Way::PageCache });
    }
    object.wait_for(call, Access::Write, patience)?;
    let (around, through_aperture, struct_pages) = {
        let mut state = object.state();
        let around = object.happen(&mut state, call, Event::Pwrite { partial, awake })?;
        let through_aperture = state.snapshot.write_domain == Domains::GTT;
        state.bound |= through_aperture;
        (around, through_aperture, state.snapshot.backing.has_struct_pages())
    };
    if !through_aperture {
        return copy_in(
            object,
            call,
            range,
            source,
            Way::Cache { before: around.before, after: around.after },
        );
    }
    match copy_in(object, call, range, source, Way::Aperture) {
        Err(error) if error.errno() == Errno::EFAULT && struct_pages => {}
        done => return done,
    }
    // As if the device were asleep: not through the aperture.
    let around = object.happen(&mut object.state(), call, Event::Pwrite { partial, awake: false })?;
    copy_in(object, call, range, source, Way::Cache { before: around.before, after: around.after })
}

/// The path of a copy into an object.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Into the page cache, before the object has pages (`shmem_pwrite`).
    PageCache,
    /// The same by the file's own operation (`generic_perform_write`).
    File,
    /// Through the aperture (`i915_gem_gtt_pwrite_fast`).
    Aperture,
    /// Through the CPU cache, with flushes before partial writes of lines and after all writes
    /// (`i915_gem_shmem_pwrite`).
    Cache { before: Option<Rule>, after: Option<Rule> },
}

impl Way {
    /// Returns the bytes to write for a piece of `len` bytes of which only `bytes` could be read.
    fn after_a_fault(self, bytes: Cow<'_, [u8]>, len: usize) -> Cow<'_, [u8]> {
        match self {
            // The kernel probes the first and the last byte before it writes anything.
            Self::PageCache => Cow::Borrowed(&[]),
            // copy_from_user leaves zeroes in place of unreadable bytes.
            Self::Aperture => {
                let mut bytes = bytes.into_owned();
                bytes.resize(len, 0);
                Cow::Owned(bytes)
            }
            Self::File | Self::Cache { .. } => bytes,
        }
    }

    /// Returns the errno of a copy of which only the first `stored` bytes could be read.
    fn errno(self, stored: u64) -> Errno {
        match self {
            // A write that is short is no error of the file's.
            Self::File if stored > 0 => Errno::EIO,
            Self::File | Self::PageCache | Self::Aperture | Self::Cache { .. } => Errno::EFAULT,
        }
    }
}

fn copy_in<S: Source>(
    object: &Object,
    call: &'static str,
    range: ByteRange,
    source: &mut S,
    way: Way,
) -> Result<()> {
    let ctx = object.access_context(&object.state());
    let (route, before, after) = match way {
        Way::PageCache | Way::File => (Route::CpuCached, None, None),
        Way::Aperture => (Route::Aperture, None, None),
        Way::Cache { before, after } => (Route::CpuCached, before, after),
    };
    let mut before = Flushes::new(Action::FlushBefore, before);
    let mut after = Flushes::new(Action::FlushAfter, after);
    let mut done = Ok(());
    for piece in pieces(range, S::AT_ONCE) {
        for part in pieces(piece, PAGE_BYTES).filter(|&part| is_partial(part)) {
            before.flush(object, ctx, part)?;
        }
        let len = piece.len() as usize;
        let bytes = source.get(piece.offset() - range.offset(), len);
        let all = bytes.len() == len;
        let bytes = if all { bytes } else { way.after_a_fault(bytes, len) };
        object.backing().write(ctx, route, piece.offset(), &bytes)?;
        if !all {
            let stored = piece.offset() - range.offset() + bytes.len() as u64;
            done = Err(Error::Ioctl { request: call, errno: way.errno(stored) });
            break;
        }
        after.flush(object, ctx, piece)?;
    }
    before.log(object, call);
    after.log(object, call);
    done
}

/// Returns EFAULT: the caller's memory ends too early.
fn fault<T>(request: &'static str) -> Result<T> {
    Err(Error::Ioctl { request, errno: Errno::EFAULT })
}

/// Splits a range at multiples of `at_once`.
fn pieces(range: ByteRange, at_once: u64) -> impl Iterator<Item = ByteRange> {
    let mut at = range.offset();
    std::iter::from_fn(move || {
        let next = (at / at_once + 1).saturating_mul(at_once);
        let end = range.end().min(next);
        let piece = ByteRange::within(at, end.checked_sub(at)?, range.end()).ok()?;
        at = end;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns whether a piece overwrites a line only in part: `(offset | len) & (clflush_size - 1)`.
fn is_partial(piece: ByteRange) -> bool {
    !(piece.offset() | piece.len()).is_multiple_of(LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_at_pages_and_tell_ragged_edges() {
        let pieces = |offset, len, at_once| {
            pieces(ByteRange::within(offset, len, 1 << 20).unwrap(), at_once).collect::<Vec<_>>()
        };
        assert!(pieces(64, 0, PAGE_BYTES).is_empty());
        let two = pieces(4000, 192, PAGE_BYTES);
        assert_eq!(
            two.iter().map(|piece| (piece.offset(), piece.len())).collect::<Vec<_>>(),
            [(4000, 96), (4096, 96)]
        );
        assert!(two.iter().all(|&piece| is_partial(piece)));
        assert!(!is_partial(pieces(128, 64, PAGE_BYTES)[0]));
        assert_eq!(pieces(4000, 192, u64::MAX).len(), 1);
    }
}
