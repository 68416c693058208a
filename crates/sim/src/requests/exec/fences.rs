//! Fences of a submission: in extensions, in the array, and as files.

use std::sync::Arc;

use bytemuck::{Pod, bytes_of_mut};
use gem_coherency::Errno;

use crate::SimDevice;
use crate::gpu::Turn;
use crate::process::files::{File, Files};
use crate::process::memory::{Memory, USER_END};
use crate::requests::extensions;
use crate::sync::fence::Fence;
use crate::sync::syncobj::Syncobj;
use gem_coherency_uapi::i915_exec::*;

/// The allowed flags of a syncobj's entry.
const KNOWN: u32 = I915_EXEC_FENCE_WAIT | I915_EXEC_FENCE_SIGNAL;
/// Largest number of entries that the kernel allocates (`KMALLOC_MAX_SIZE`, `struct eb_fence`).
const MOST: u64 = (4 << 20) / 32;

/// A syncobj to receive the batch's fence, and the point of its timeline.
#[derive(Debug)]
pub(super) struct Signal {
    syncobj: Arc<Syncobj>,
    /// 0 replaces the syncobj's fence.
    point: u64,
}

impl Signal {
    /// Sets the fence (`signal_fence_array`).
    pub(super) fn give(&self, fence: &Fence) {
        match self.point {
            0 => self.syncobj.replace(Some(fence.clone())),
            point => self.syncobj.add(point, fence.clone()),
        }
    }
}

/// The fences that a submission waits for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    fences: Vec<Fence>,
    /// The fence whose start suffices.
    start: Option<Fence>,
}

impl Waits {
    /// Makes the submission wait (`await_fence_array`, `i915_request_await_execution`).
    pub(super) fn apply(&self, turn: &mut Turn<'_>) {
        self.fences.iter().for_each(|fence| turn.wait_for(fence, false));
        self.start.iter().for_each(|fence| turn.wait_for(fence, true));
    }
}

/// The syncobjs of a submission.
#[derive(Debug, Default)]
pub(super) struct Fences {
    pub(super) signals: Vec<Signal>,
    pub(super) waits: Waits,
}

/// Returns the fences to wait for, and the syncobjs to signal.
///
/// # Errors
/// The kernel's, in its order.
pub(super) fn find(
    device: &SimDevice,
    memory: &Memory,
    files: &Files,
    args: &drm_i915_gem_execbuffer2,
) -> Result<Fences, Errno> {
    let mut fences = Fences::default();
    extensions(device, memory, args, &mut fences)?;
    array(device, memory, args, &mut fences)?;
    file(files, args, &mut fences.waits)?;
    Ok(fences)
}

/// Parses the extensions (`parse_execbuf2_extensions`), which share a field with the array.
fn extensions(
    device: &SimDevice,
    memory: &Memory,
    args: &drm_i915_gem_execbuffer2,
    fences: &mut Fences,
) -> Result<(), Errno> {
    if args.flags & I915_EXEC_USE_EXTENSIONS == 0 {
        return Ok(());
    }
    if args.flags & I915_EXEC_FENCE_ARRAY != 0 || args.num_cliprects != 0 {
        return Err(Errno::EINVAL);
    }
    extensions::walk(memory, args.cliprects_ptr, |name, at| match name {
        DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES => timeline(device, memory, at, fences),
        _ => Err(Errno::EINVAL),
    })
}

/// `add_timeline_fence_array`.
fn timeline(device: &SimDevice, memory: &Memory, at: u64, fences: &mut Fences) -> Result<(), Errno> {
    let ext: drm_i915_gem_execbuffer_ext_timeline_fences = read(memory, at)?;
    if ext.fence_count == 0 {
        return Ok(());
    }
    // The limits of counts: the size of the entries in bytes, and that of struct eb_fence, must fit.
    if ext.fence_count > (u64::MAX / size_of::<drm_i915_gem_exec_fence>() as u64).min(u64::MAX / 32) {
        return Err(Errno::EINVAL);
    }
    user_range(ext.handles_ptr, ext.fence_count)?;
    user_range(ext.values_ptr, ext.fence_count)?;
    if ext.fence_count > MOST {
        return Err(Errno::ENOMEM);
    }
    for number in 0..ext.fence_count {
        let entry = entry(memory, ext.handles_ptr, number)?;
        let point: u64 = read(memory, ext.values_ptr + 8 * number)?;
        let syncobj = device.syncobj(entry.handle)?;
        let signalled = entry.flags & I915_EXEC_FENCE_SIGNAL != 0;
        // An entry with neither flag may name a syncobj without a fence.
        let before = syncobj.find(point);
        let is_missing = before.is_none() && (entry.flags != 0 || syncobj.has_fence());
        // The same point may not be waited for and signalled.
        let is_both = point != 0 && entry.flags == KNOWN;
        if (is_missing && !signalled) || is_both {
            return Err(Errno::EINVAL);
        }
        // Without a flag that says so, the fence is not waited for.
        if entry.flags & I915_EXEC_FENCE_WAIT != 0 {
            fences.waits.fences.extend(before);
        }
        if signalled {
            fences.signals.push(Signal { syncobj, point });
        }
    }
    Ok(())
}

/// `add_fence_array`.
fn array(
    device: &SimDevice,
    memory: &Memory,
    args: &drm_i915_gem_execbuffer2,
    fences: &mut Fences,
) -> Result<(), Errno> {
    if args.flags & I915_EXEC_FENCE_ARRAY == 0 || args.num_cliprects == 0 {
        return Ok(());
    }
    let count = u64::from(args.num_cliprects);
    user_range(args.cliprects_ptr, count)?;
    if count > MOST {
        return Err(Errno::ENOMEM);
    }
    for number in 0..count {
        let entry = entry(memory, args.cliprects_ptr, number)?;
        let syncobj = device.syncobj(entry.handle)?;
        if entry.flags & I915_EXEC_FENCE_WAIT != 0 {
            fences.waits.fences.push(syncobj.find(0).ok_or(Errno::EINVAL)?);
        }
        if entry.flags & I915_EXEC_FENCE_SIGNAL != 0 {
            fences.signals.push(Signal { syncobj, point: 0 });
        }
    }
    Ok(())
}

/// Adds the fence file to wait for.
fn file(files: &Files, args: &drm_i915_gem_execbuffer2, waits: &mut Waits) -> Result<(), Errno> {
    let kind = args.flags & (I915_EXEC_FENCE_IN | I915_EXEC_FENCE_SUBMIT);
    if kind == 0 {
        return Ok(());
    }
    let Ok(File::Fence(fence)) = files.get(args.rsvd2 as u32 as i32) else { return Err(Errno::EINVAL) };
    match kind {
        I915_EXEC_FENCE_IN => waits.fences.push(fence.clone()),
        I915_EXEC_FENCE_SUBMIT => waits.start = Some(fence.clone()),
        _ => return Err(Errno::EINVAL),
    }
    Ok(())
}

/// Reads one entry of the array and checks its flags.
fn entry(memory: &Memory, array: u64, number: u64) -> Result<drm_i915_gem_exec_fence, Errno> {
    let entry: drm_i915_gem_exec_fence = read(memory, array + 8 * number)?;
    if entry.flags & !KNOWN != 0 { Err(Errno::EINVAL) } else { Ok(entry) }
}

/// Checks that `count` entries of 8 bytes at `at` are in the caller's address range (`access_ok`).
fn user_range(at: u64, count: u64) -> Result<(), Errno> {
    let end = count.checked_mul(8).and_then(|len| at.checked_add(len));
    if end.is_some_and(|end| end <= USER_END) { Ok(()) } else { Err(Errno::EFAULT) }
}

fn read<T: Pod>(memory: &Memory, at: u64) -> Result<T, Errno> {
    let mut value = T::zeroed();
    let bytes = bytes_of_mut(&mut value);
    if memory.read(at, bytes) < bytes.len() { Err(Errno::EFAULT) } else { Ok(value) }
}
