//! EXECBUFFER2, with a batch of the caller's or with the node's own empty one.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use gem_coherency_policy::Errno;

use super::request::call;
use super::{access, objects};
use crate::backend::execbuffer::{Structs, entry};
use crate::backend::mapping::{Counted, Mapping};
use crate::backend::{Created, ExecObject, Run};
use crate::error::{Error, Result, room};
use crate::sync::Mutex;
use crate::units::PAGE_BYTES;
use crate::vocabulary::{Access, Domains, Handle, MmapMode};
use gem_coherency_uapi::i915_exec::{
    DRM_IOCTL_I915_GEM_EXECBUFFER2, I915_EXEC_DEFAULT, I915_EXEC_NO_RELOC, drm_i915_gem_execbuffer2,
};
use gem_coherency_uapi::i915_facts::{DRM_IOCTL_I915_GET_RESET_STATS, drm_i915_reset_stats};

/// MI_BATCH_BUFFER_END, which is the same on every generation, and MI_NOOP, because a batch's length is a
/// multiple of 8 bytes.
const BATCH: [u8; 8] = [0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00];

/// An object that holds [`BATCH`], created at first use.
#[derive(Debug, Default)]
pub(super) struct Batch(Mutex<Option<Handle>>);

impl Batch {
    /// Returns the object's handle, creating the object if there is none.
    ///
    /// # Errors
    /// Those of creating, mapping or writing the object; the next call tries again.
    pub(super) fn handle(&self, fd: BorrowedFd<'_>) -> Result<Handle> {
        let mut handle = self.0.lock();
        if let Some(handle) = *handle {
            return Ok(handle);
        }
        let created = objects::create(fd, PAGE_BYTES)?;
        if let Err(error) = fill(fd, created) {
            // An error of closing is less informative than the first error.
            let _ = objects::close(fd, created.handle);
            return Err(error);
        }
        Ok(*handle.insert(created.handle))
    }

    /// Takes the object's handle out, if it was created.
    pub(super) fn take(&mut self) -> Option<Handle> {
        self.0.get_mut().take()
    }
}

/// Writes [`BATCH`] to a new object, so that the GPU sees it.
///
/// Uses GEM_PWRITE, with which the kernel flushes as the object requires. Where that is not supported: a WC
/// mapping after SET_DOMAIN(WC), or on discrete devices the only possible mapping, which the kernel chooses
/// to be coherent; then a drain.
fn fill(fd: BorrowedFd<'_>, batch: Created) -> Result<()> {
    match or_refused(access::pwrite(fd, batch.handle, 0, &BATCH), Errno::EOPNOTSUPP)? {
        Answer::Done(()) => return Ok(()),
        Answer::Refused => {}
    }
    let wc = access::set_domain(fd, batch.handle, Domains::WC, Domains::WC);
    let mode = match or_refused(wc, Errno::ENODEV)? {
        Answer::Done(()) => MmapMode::Wc,
        Answer::Refused => MmapMode::Fixed,
    };
    let offset = access::mmap_offset(fd, batch.handle, mode)?;
    let pages = access::mmap(fd, offset, batch.size_bytes)?;
    let mapping = Mapping::from_kernel(batch.handle, pages, mode, Counted::new(&Arc::default()));
    mapping.copy_in(0, &BATCH)?;
    mapping.drain()
}

/// The answer of a platform that may not support a request.
enum Answer<T> {
    /// The request is supported and succeeded.
    Done(T),
    /// The request is not supported.
    Refused,
}

/// Distinguishes the errno for "not supported on this platform" from errors.
fn or_refused<T>(result: Result<T>, errno: Errno) -> Result<Answer<T>> {
    match result {
        Ok(value) => Ok(Answer::Done(value)),
        Err(error) if error.errno() == errno => Ok(Answer::Refused),
        Err(error) => Err(error),
    }
}

/// Submits `batch` with `objects`: `DRM_IOCTL_I915_GEM_EXECBUFFER2`, 0x40406469.
///
/// Runs on the render engine, in the default context, without relocations; the kernel chooses the addresses.
///
/// # Errors
/// ENOENT for an unknown handle; ENOSPC if the objects do not fit; EFAULT for a purged object; EIO
/// on a wedged GPU; ENOMEM; ENODEV.
pub(super) fn execute(fd: BorrowedFd<'_>, objects: &[ExecObject], batch: Handle) -> Result<()> {
    let last = ExecObject { handle: batch, access: Access::Read };
    let mut list = room("submissions", objects.len() + 1)?;
    list.extend(objects.iter().chain([&last]).map(entry));
    let mut args = drm_i915_gem_execbuffer2 {
        buffers_ptr: list.as_mut_ptr() as u64,
        buffer_count: list.len() as u32,
        batch_len: BATCH.len() as u32,
        flags: I915_EXEC_DEFAULT | I915_EXEC_NO_RELOC,
        ..Default::default()
    };
    // SAFETY:
    // - `buffers_ptr`: a live vector of `buffer_count` entries, to which the kernel writes offsets;
    // - addresses in the entries: 0, with no relocations;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, Some(batch.get()), &mut args) }
}

/// Runs a batch of the caller's: `DRM_IOCTL_I915_GEM_EXECBUFFER2`, 0x40406469.
///
/// # Errors
/// Those of [`crate::backend::Extras::run`].
pub(super) fn run(fd: BorrowedFd<'_>, run: &Run<'_>) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_EXECBUFFER2;
    let Structs { mut objects, mut relocations, mut args } =
        run.structs().map_err(|errno| Error::Ioctl { request: request.name, errno })?;
    if let Some(batch) = objects.last_mut() {
        batch.relocs_ptr = relocations.as_mut_ptr() as u64;
    }
    args.buffers_ptr = objects.as_mut_ptr() as u64;
    // SAFETY:
    // - `buffers_ptr`: a live vector of `buffer_count` entries, to which the kernel writes offsets;
    // - `relocs_ptr` of the last entry: a live vector of `relocation_count` entries, none perhaps, to which
    //   the kernel writes presumed offsets; of the other entries 0, with no relocations;
    // - bit patterns: integers only.
    unsafe { call(fd, request, Some(run.batch.get()), &mut args) }
}

/// Returns how many batches of the default context hung: `DRM_IOCTL_I915_GET_RESET_STATS`, 0xc0186472.
///
/// # Errors
/// EIO if the GPU was wedged before the context was first used; ENODEV.
pub(super) fn hangs(fd: BorrowedFd<'_>) -> Result<u32> {
    let mut args = drm_i915_reset_stats::default();
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GET_RESET_STATS, None, &mut args)? };
    Ok(args.batch_active)
}
