//! PREAD and PWRITE: the copies and the flushes around them.

use std::sync::atomic::Ordering;

use nix::errno::Errno;

use super::object::Object;
use crate::drm::Advice;
use crate::error::{Error, Result};
use crate::hierarchy::Route;
use crate::policy::kernel::{Action, Effect, Event};
use crate::uapi::i915::{DRM_IOCTL_I915_GEM_PREAD, DRM_IOCTL_I915_GEM_PWRITE};
use crate::units::{ByteRange, LINE_BYTES, PAGE_BYTES};
use crate::vocabulary::Domains;

/// The range of a transfer.
fn range(object: &Object, request: &'static str, offset: u64, len: usize) -> Result<ByteRange> {
    ByteRange::within(offset, len as u64, object.size())
        .map_err(|_| Error::Ioctl { request, errno: Errno::EINVAL })
}

/// Copies out of an object.
pub(super) fn pread(object: &Object, offset: u64, data: &mut [u8]) -> Result<()> {
    let call = DRM_IOCTL_I915_GEM_PREAD.name;
    let range = range(object, call, offset, data.len())?;
    object.wait_idle();
    let mut state = object.state();
    let around = object.happen(&mut state, call, Event::Pread)?;
    if let Some(rule) = around.before {
        object.flush_range(&state, call, Effect { action: Action::FlushBefore, rule }, range)?;
    }
    let route = if state.snapshot.backing.has_struct_pages() { Route::CpuCached } else { Route::Aperture };
    let terms = object.system().terms(state.snapshot.level);
    object.store().read(terms, route, offset, data)
}

/// Copies into an object.
pub(super) fn pwrite(object: &Object, offset: u64, data: &[u8]) -> Result<()> {
    let call = DRM_IOCTL_I915_GEM_PWRITE.name;
    let range = range(object, call, offset, data.len())?;
    object.wait_idle();
    let mut state = object.state();
    if !state.snapshot.pages && (state.purged || state.advice == Advice::DontNeed) {
        return Err(Error::Ioctl { request: call, errno: Errno::EFAULT });
    }
    // Relaxed: a setting, which publishes nothing.
    let awake = object.system().awake.load(Ordering::Relaxed);
    let partial = pieces(range).any(is_partial);
    let around = object.happen(&mut state, call, Event::Pwrite { partial, awake })?;
    if let Some(rule) = around.before {
        for piece in pieces(range).filter(|&piece| is_partial(piece)) {
            object.flush_range(&state, call, Effect { action: Action::FlushBefore, rule }, piece)?;
        }
    }
    let through_aperture = state.snapshot.write_domain == Domains::GTT;
    let route = if through_aperture { Route::Aperture } else { Route::CpuCached };
    let terms = object.system().terms(state.snapshot.level);
    object.store().write(terms, route, offset, data)?;
    if let Some(rule) = around.after {
        object.flush_range(&state, call, Effect { action: Action::FlushAfter, rule }, range)?;
    }
    Ok(())
}

/// The parts of a range in each page, as `i915_gem_shmem_pwrite` copies them.
fn pieces(range: ByteRange) -> impl Iterator<Item = ByteRange> {
    let mut at = range.offset();
    std::iter::from_fn(move || {
        let end = range.end().min((at / PAGE_BYTES + 1) * PAGE_BYTES);
        let piece = ByteRange::within(at, end.checked_sub(at)?, range.end()).ok()?;
        at = end;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Whether a piece overwrites a line only in part: `(offset | len) & (clflush_size - 1)`.
fn is_partial(piece: ByteRange) -> bool {
    !(piece.offset() | piece.len()).is_multiple_of(LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_at_pages_and_tell_ragged_edges() {
        let pieces =
            |offset, len| pieces(ByteRange::within(offset, len, 1 << 20).unwrap()).collect::<Vec<_>>();
        assert!(pieces(64, 0).is_empty());
        let two = pieces(4000, 192);
        assert_eq!(
            two.iter().map(|piece| (piece.offset(), piece.len())).collect::<Vec<_>>(),
            [(4000, 96), (4096, 96)]
        );
        assert!(two.iter().all(|&piece| is_partial(piece)));
        assert!(!is_partial(pieces(128, 64)[0]));
    }
}
