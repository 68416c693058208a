//! Sequential writes by a pointer that moves.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, MutexGuard};

use crate::buffers::bo::gemco_bo;
use crate::error::{Failure, run};
use crate::events::Owner;
use crate::objects::{Owned, Pass as _, add_reference, object, take_back};
use crate::report::write_report;
use crate::steps::gemco_report;
use gem_coherency::fork::Confined;
use gem_coherency::object::Stream;
use gem_coherency::sync::Mutex;
use gem_coherency_capi_pure::pointers::Out;

/// A sequential write to a range of a BO, in progress: a batch buffer, or a ring.
///
/// gemco_stream_begin creates it; gemco_stream_end frees it, whatever it returns. It holds a reference to its BO, which has at
/// most one. Threads may use it concurrently until then.
pub struct gemco_stream {
    /// Before `_bo`, which it borrows: fields are dropped in declaration order.
    stream: Confined<Mutex<Stream<'static>>>,
    _bo: Arc<gemco_bo>,
}

static_assertions::assert_impl_all!(gemco_stream: Send, Sync);

impl Owned for gemco_stream {
    fn owner(&self) -> &Arc<Owner> {
        &self._bo.owner
    }
}

impl gemco_stream {
    fn lock(&self) -> Result<MutexGuard<'_, Stream<'static>>, Failure> {
        Ok(self.stream.get()?.lock())
    }
}

/// Begins a sequential write to `len` bytes at `offset`, by plain stores front to back through the BO's mapping. Until the end,
/// every line from the last announcement on counts as dirty: a submission meanwhile flushes them.
///
/// stream: the stream, which gemco_stream_end takes. pointer: the BO's first byte, as gemco_bo_map gets it. Waits for GPU writes
/// that the library knows of. Until the end, the BO can neither be closed or unmapped nor change its caching mode.
///
/// Returns as gemco_bo_write; -EBUSY while another stream of the BO is open; -EINVAL for no bytes. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_stream_begin(
    bo: *const gemco_bo,
    offset: u64,
    len: u64,
    stream: *mut *mut gemco_stream,
    pointer: *mut *mut c_void,
) -> c_int {
    run("gemco_stream_begin", || {
        // SAFETY: a BO with a reference, and room for two pointers: the caller's obligations.
        let (bo, to, first) =
            unsafe { (add_reference(bo, "bo")?, Out::new(stream, "stream")?, Out::new(pointer, "pointer")?) };
        // SAFETY: the reference that is stored with the stream keeps the BO at its address, and is dropped
        // after it.
        let borrowed: &'static gemco_bo = unsafe { &*Arc::as_ptr(&bo) };
        let stream = borrowed.bo.stream(offset, len)?;
        first.set(borrowed.bo.as_ptr()?.as_ptr().cast());
        to.pass_ownership(gemco_stream { stream: Confined::new(Mutex::new(stream)), _bo: bo });
        Ok(0)
    })
}

/// Reports that everything up to `end`, an offset of the BO, was stored: from now on only the bytes from there on count as dirty by
/// the stream.
///
/// Returns 0; -EINVAL for an offset before the last one, or after the range. The thread that stored, as for
/// gemco_bo_mark_written.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_stream_announce(stream: *mut gemco_stream, end: u64) -> c_int {
    run("gemco_stream_announce", || {
        // SAFETY: a stream: the caller's obligation.
        let stream = unsafe { object(stream, "stream") }?;
        let mut stream = stream.lock()?;
        stream.advance_to(end)?;
        stream.announce();
        Ok(0)
    })
}

/// Ends a stream, of which everything up to `end` was stored, whatever is returned. NULL is a no-op.
///
/// report: what was invalidated for it; may be NULL.
///
/// Returns as gemco_stream_announce: after an error the whole range counts as stored; -EINVAL for a misaligned pointer.
///
/// # Safety
/// As the module says; the stream is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_stream_end(
    stream: *mut gemco_stream,
    end: u64,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_stream_end", || {
        // SAFETY: null, or a stream that C gives up: the caller's obligation.
        let Some(stream) = unsafe { take_back(stream, "stream") }? else { return Ok(0) };
        // Ends the stream before any error below returns: unmarked lines would be lost.
        let mut stream = stream.stream.take()?.into_inner();
        stream.advance_to(end)?;
        let ended = stream.finish();
        // SAFETY: room for a report, or null: the caller's obligation.
        let out = unsafe { Out::optional(report, "report") }?;
        write_report(ended, out);
        Ok(0)
    })
}
