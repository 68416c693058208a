//! EXECBUFFER2 with an empty batch of the node's own.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;

use super::request::call;
use super::{access, objects};
use crate::drm::mapping::{Counted, Mapping};
use crate::drm::{Created, ExecObject};
use crate::error::Result;
use crate::uapi::i915_exec::{
    DRM_IOCTL_I915_GEM_EXECBUFFER2, EXEC_OBJECT_WRITE, I915_EXEC_DEFAULT, I915_EXEC_NO_RELOC,
    drm_i915_gem_exec_object2, drm_i915_gem_execbuffer2,
};
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
    mapping.drain();
    Ok(())
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
    let entry = |object: &ExecObject| drm_i915_gem_exec_object2 {
        handle: object.handle.get(),
        flags: match object.access {
            Access::Read => 0,
            Access::Write => EXEC_OBJECT_WRITE,
        },
        ..Default::default()
    };
    let last = ExecObject { handle: batch, access: Access::Read };
    let mut list: Vec<_> = objects.iter().chain([&last]).map(entry).collect();
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
