//! EXECBUFFER2, with a batch of the caller's or an empty one of the node's own.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;

use super::request::call;
use super::{access, objects};
use crate::drm::execbuffer::{Structs, entry};
use crate::drm::mapping::{Counted, Mapping};
use crate::drm::{Created, ExecObject, Run};
use crate::error::{Error, Result, room};
use crate::uapi::i915_exec::{
    DRM_IOCTL_I915_GEM_EXECBUFFER2, I915_EXEC_DEFAULT, I915_EXEC_NO_RELOC, drm_i915_gem_execbuffer2,
};
use crate::uapi::i915_facts::{DRM_IOCTL_I915_GET_RESET_STATS, drm_i915_reset_stats};
use crate::units::PAGE_BYTES;
use crate::vocabulary::{Access, Domains, Handle, MmapMode};

/// MI_BATCH_BUFFER_END, the same on every generation, and MI_NOOP, as batches end on 8 bytes.
const BATCH: [u8; 8] = [0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00];

/// An object that holds [`BATCH`]; made when it is needed first.
#[derive(Debug, Default)]
pub(super) struct Batch(Mutex<Option<Handle>>);

impl Batch {
    /// The object's name; makes it if there is none.
    ///
    /// # Errors
    /// What creating, mapping or writing it says; the next call tries again.
    pub(super) fn handle(&self, file: &File) -> Result<Handle> {
        let mut handle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = *handle {
            return Ok(handle);
        }
        let created = objects::create(file.as_fd(), PAGE_BYTES)?;
        if let Err(error) = fill(file, created) {
            // The first error says more than one from closing.
            let _ = objects::close(file.as_fd(), created.handle);
            return Err(error);
        }
        Ok(*handle.insert(created.handle))
    }

    /// The object's name if it was made, which it is then no longer.
    pub(super) fn take(&mut self) -> Option<Handle> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Writes [`BATCH`] to a new object, so that the GPU reads it.
///
/// By GEM_PWRITE, where the kernel flushes as the object needs it. Where that is gone, through a WC
/// map after SET_DOMAIN(WC), or on discrete devices through the one map there is, coherent by choice
/// of the kernel; and a drain.
fn fill(file: &File, batch: Created) -> Result<()> {
    let fd = file.as_fd();
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
    let pages = access::mmap(file, offset, batch.size_bytes)?;
    let mapping = Mapping::from_kernel(pages, mode, Counted::new(&Arc::default()));
    mapping.copy_in(0, &BATCH)?;
    mapping.drain()
}

/// Whether the platform has a request.
enum Answer<T> {
    /// It has, and it was done.
    Done(T),
    /// It has not.
    Refused,
}

/// Tells the errno that says "not on this platform" from an error.
fn or_refused<T>(result: Result<T>, errno: Errno) -> Result<Answer<T>> {
    match result {
        Ok(value) => Ok(Answer::Done(value)),
        Err(error) if error.errno() == errno => Ok(Answer::Refused),
        Err(error) => Err(error),
    }
}

/// Submits `batch` over `objects`: `DRM_IOCTL_I915_GEM_EXECBUFFER2`, 0x40406469.
///
/// On the render engine, in the default context, without relocations; the kernel places the objects.
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
/// Those of [`crate::drm::Drm::run`].
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

/// How many batches of the default context hung: `DRM_IOCTL_I915_GET_RESET_STATS`, 0xc0186472.
///
/// # Errors
/// EIO if the GPU was wedged before the context was first used; ENODEV.
pub(super) fn hangs(fd: BorrowedFd<'_>) -> Result<u32> {
    let mut args = drm_i915_reset_stats::default();
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GET_RESET_STATS, None, &mut args)? };
    Ok(args.batch_active)
}
