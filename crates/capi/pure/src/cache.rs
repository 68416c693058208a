//! Cache operations for a driver with its own mappings.
//!
//! They have the shape of drivers' existing functions, so that they can be replaced one by one.

use core::ffi::{c_int, c_void};

use gem_coherency_cacheops::{self as cacheops, LineOp};

use super::failure::{Failure, answer};

/// Returns the bytes at `start`, if such a range can exist.
fn range(start: *const c_void, size: usize) -> Result<(*const u8, usize), Failure> {
    if size != 0 && start.is_null() {
        return Err(Failure::argument("start", "is NULL"));
    }
    match start.addr().checked_add(size) {
        Some(_) => Ok((start.cast(), size)),
        None => Err(Failure::argument("size", "extends past the end of the address space")),
    }
}

/// Performs `op` on the lines of a range between two fences.
///
/// # Safety
/// The bytes are mapped.
unsafe fn fenced(call: &'static str, start: *const c_void, size: usize, op: LineOp) -> c_int {
    answer(call, || {
        let range = range(start, size)?;
        // SAFETY: the bytes are mapped: the caller's obligation.
        unsafe { cacheops::fenced_ranges(&[range], op) };
        Ok(0)
    })
}

/// Performs `op` on the lines of a range.
///
/// # Safety
/// The bytes are mapped.
unsafe fn unfenced(call: &'static str, start: *const c_void, size: usize, op: LineOp) -> c_int {
    answer(call, || {
        let (first, len) = range(start, size)?;
        // SAFETY: the bytes are mapped: the caller's obligation.
        unsafe { cacheops::lines(first, len, op) };
        Ok(0)
    })
}

/// Checks whether cache operations work: 0, or -EOPNOTSUPP or -EINVAL with the reason in gemco_last_error.
///
/// Fails for a CPU whose lines do not have 64 bytes, and for a GEM_COHERENCY_CACHEOPS that requests an instruction that
/// the CPU lacks, or two of a kind or an unknown one (-EINVAL); the operations then use CLFLUSH. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_has_cache_ops() -> c_int {
    answer("gemco_has_cache_ops", || {
        cacheops::support()?;
        Ok(0)
    })
}

/// Flushes every line with a byte in the range, and waits: earlier stores are in memory before any later store, and the
/// lines leave the cache.
///
/// Includes its fences. A size of 0 is a no-op. Returns 0; -EINVAL for NULL, and for a range that wraps around. The
/// bytes must be mapped: a page without access (PROT_NONE) faults, as for a load. Any thread; no allocation.
///
/// # Safety
/// The bytes are mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_flush_range(start: *const c_void, size: usize) -> c_int {
    // SAFETY: the caller's obligation, passed on.
    unsafe { fenced("gemco_flush_range", start, size, LineOp::Flush) }
}

/// Writes back every line with a byte in the range, and waits; lines may stay in the cache, clean.
///
/// Sufficient where the GPU only reads, and cheaper than gemco_flush_range if the CPU keeps using the bytes. Otherwise
/// as gemco_flush_range.
///
/// # Safety
/// The bytes are mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_write_back_range(start: *const c_void, size: usize) -> c_int {
    // SAFETY: the caller's obligation, passed on.
    unsafe { fenced("gemco_write_back_range", start, size, LineOp::WriteBack) }
}

/// Invalidates every line with a byte in the range, and waits: the next load reads memory. A dirty line is written back
/// first.
///
/// As gemco_flush_range.
///
/// # Safety
/// The bytes are mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_flush_inval_range(start: *const c_void, size: usize) -> c_int {
    // SAFETY: the caller's obligation, passed on.
    unsafe { fenced("gemco_flush_inval_range", start, size, LineOp::Invalidate) }
}

/// As gemco_flush_range, without fences: for several ranges between gemco_pre_flush_fence and gemco_post_flush_fence.
///
/// # Safety
/// The bytes are mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_flush_range_no_fence(start: *const c_void, size: usize) -> c_int {
    // SAFETY: the caller's obligation, passed on.
    unsafe { unfenced("gemco_flush_range_no_fence", start, size, LineOp::Flush) }
}

/// As gemco_flush_inval_range, without fences: for several ranges between gemco_pre_flush_fence and
/// gemco_post_flush_inval_fence.
///
/// # Safety
/// The bytes are mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_flush_inval_range_no_fence(start: *const c_void, size: usize) -> c_int {
    // SAFETY: the caller's obligation, passed on.
    unsafe { unfenced("gemco_flush_inval_range_no_fence", start, size, LineOp::Invalidate) }
}

/// Orders earlier stores and loads before later flushes; drains this core's write-combining buffers.
///
/// Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_pre_flush_fence() {
    // An invalidate's fence, because an invalidate may accompany the flush.
    cacheops::fence_for(LineOp::Invalidate);
}

/// Waits for flushes: an agent that sees a later store finds them complete.
///
/// Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_post_flush_fence() {
    cacheops::fence_for(LineOp::Flush);
}

/// Waits for flushes and invalidates: a later load of this thread reads memory.
///
/// Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_post_flush_inval_fence() {
    cacheops::fence_for(LineOp::Invalidate);
}
