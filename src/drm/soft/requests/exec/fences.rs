//! Fences of a submission: in the extensions, in the array, and as files.

use nix::errno::Errno;
use zerocopy::IntoBytes;

use crate::drm::soft::process::{File, Files, Memory, USER_END};
use crate::drm::soft::requests::extensions;
use crate::uapi::i915_exec::*;

/// Flags that a syncobj's entry may have.
const KNOWN: u32 = I915_EXEC_FENCE_WAIT | I915_EXEC_FENCE_SIGNAL;
/// Entries that the kernel has room for (`KMALLOC_MAX_SIZE`, `struct eb_fence`).
const MOST: u64 = (4 << 20) / 32;

/// The extensions (`parse_execbuf2_extensions`), which share their field with the array.
pub(super) fn extensions(memory: &Memory, args: &drm_i915_gem_execbuffer2) -> Result<(), Errno> {
    if args.flags & I915_EXEC_USE_EXTENSIONS == 0 {
        return Ok(());
    }
    if args.flags & I915_EXEC_FENCE_ARRAY != 0 || args.num_cliprects != 0 {
        return Err(Errno::EINVAL);
    }
    extensions::walk(memory, args.cliprects_ptr, |name, at| match name {
        DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES => timeline(memory, at),
        _ => Err(Errno::EINVAL),
    })
}

/// `add_timeline_fence_array`.
fn timeline(memory: &Memory, at: u64) -> Result<(), Errno> {
    let ext: drm_i915_gem_execbuffer_ext_timeline_fences = read(memory, at)?;
    if ext.fence_count == 0 {
        return Ok(());
    }
    // What the size of the entries' addresses can count, and that of struct eb_fence.
    if ext.fence_count > (u64::MAX / size_of::<drm_i915_gem_exec_fence>() as u64).min(u64::MAX / 32) {
        return Err(Errno::EINVAL);
    }
    user_range(ext.handles_ptr, ext.fence_count)?;
    user_range(ext.values_ptr, ext.fence_count)?;
    if ext.fence_count > MOST {
        return Err(Errno::ENOMEM);
    }
    let fence = checked(memory, ext.handles_ptr)?;
    let _point: u64 = read(memory, ext.values_ptr)?;
    no_syncobj(fence)
}

/// `add_fence_array`.
pub(super) fn array(memory: &Memory, args: &drm_i915_gem_execbuffer2) -> Result<(), Errno> {
    if args.flags & I915_EXEC_FENCE_ARRAY == 0 || args.num_cliprects == 0 {
        return Ok(());
    }
    let count = u64::from(args.num_cliprects);
    user_range(args.cliprects_ptr, count)?;
    if count > MOST {
        return Err(Errno::ENOMEM);
    }
    no_syncobj(checked(memory, args.cliprects_ptr)?)
}

/// The file that the batch waits for: every fence there is has been signalled.
pub(super) fn wait(files: &Files, args: &drm_i915_gem_execbuffer2) -> Result<(), Errno> {
    match args.flags & (I915_EXEC_FENCE_IN | I915_EXEC_FENCE_SUBMIT) {
        0 => Ok(()),
        I915_EXEC_FENCE_IN | I915_EXEC_FENCE_SUBMIT => match files.get(args.rsvd2 as u32 as i32) {
            Ok(File::Fence) => Ok(()),
            Ok(_) | Err(_) => Err(Errno::EINVAL),
        },
        _ => Err(Errno::EINVAL),
    }
}

/// The first syncobj's entry, with flags that are known.
fn checked(memory: &Memory, at: u64) -> Result<drm_i915_gem_exec_fence, Errno> {
    let fence: drm_i915_gem_exec_fence = read(memory, at)?;
    if fence.flags & !KNOWN != 0 { Err(Errno::EINVAL) } else { Ok(fence) }
}

/// No file has syncobjs, so none is found.
fn no_syncobj(_fence: drm_i915_gem_exec_fence) -> Result<(), Errno> {
    Err(Errno::ENOENT)
}

/// Whether `count` entries of 8 bytes at `at` can be the caller's (`access_ok`).
fn user_range(at: u64, count: u64) -> Result<(), Errno> {
    let end = count.checked_mul(8).and_then(|len| at.checked_add(len));
    if end.is_some_and(|end| end <= USER_END) { Ok(()) } else { Err(Errno::EFAULT) }
}

fn read<T: zerocopy::FromBytes + IntoBytes>(memory: &Memory, at: u64) -> Result<T, Errno> {
    let mut value = T::new_zeroed();
    let bytes = value.as_mut_bytes();
    if memory.read(at, bytes) < bytes.len() { Err(Errno::EFAULT) } else { Ok(value) }
}
