//! ioctl(2) of a fence's file (a sync file).

use bytemuck::{Pod, bytes_of, bytes_of_mut};
use gem_coherency::Errno;

use crate::process::files::{File, Files};
use crate::process::memory::Memory;
use crate::sync::fence::{Fence, NAME_BYTES};
use crate::sync::progress;
use crate::sync::request::Request;
use gem_coherency_uapi::sync_file::{
    SYNC_IOC_FILE_INFO, SYNC_IOC_MERGE, SYNC_IOC_SET_DEADLINE, sync_fence_info, sync_file_info,
    sync_merge_data, sync_set_deadline,
};

/// The name that i915's fences give their driver: that of its PCI device.
const DRIVER: &str = "0000:00:02.0";
/// The name of their timeline while the kernel does not know the context's.
const TIMELINE: &str = "[i915]";
/// Both names of a fence that never had a submission, and the timeline of one that is done.
const STUB: &str = "stub";
const SIGNALLED: &str = "signaled";

/// SYNC_IOC_* (`sync_file_ioctl`).
///
/// SET_DEADLINE is a hint without effect; kernels before 6.6 lack it, but a fence does not belong to a kernel here.
pub(crate) fn ioctl(
    fence: &Fence,
    memory: &mut Memory,
    files: &mut Files,
    code: u32,
    argument: u64,
) -> Result<(), Errno> {
    progress::look();
    if code == SYNC_IOC_MERGE.code {
        merge(fence, memory, files, argument)
    } else if code == SYNC_IOC_FILE_INFO.code {
        info(fence, memory, argument)
    } else if code == SYNC_IOC_SET_DEADLINE.code {
        let args: sync_set_deadline = read(memory, argument)?;
        if args.pad == 0 { Ok(()) } else { Err(Errno::EINVAL) }
    } else {
        Err(Errno::ENOTTY)
    }
}

/// `sync_file_ioctl_merge`.
fn merge(fence: &Fence, memory: &mut Memory, files: &mut Files, argument: u64) -> Result<(), Errno> {
    let mut args: sync_merge_data = read(memory, argument)?;
    if args.flags != 0 || args.pad != 0 {
        return Err(Errno::EINVAL);
    }
    let Ok(File::Fence(other)) = files.get(args.fd2) else { return Err(Errno::ENOENT) };
    let merged = Fence::merged(fence, &other, args.name);
    args.fence = files.install(File::Fence(merged), true)?;
    write(memory, argument, &args).or_else(|errno| {
        files.remove(args.fence)?;
        Err(errno)
    })
}

/// `sync_file_ioctl_fence_info`: with room for no parts, returns their number.
fn info(fence: &Fence, memory: &mut Memory, argument: u64) -> Result<(), Errno> {
    let mut args: sync_file_info = read(memory, argument)?;
    if args.flags != 0 || args.pad != 0 {
        return Err(Errno::EINVAL);
    }
    let parts = parts(fence);
    let count = parts.len() as u32;
    if args.num_fences == 0 {
        args.status = status(fence.is_signalled(), fence.error());
    } else if args.num_fences < count {
        return Err(Errno::EINVAL);
    } else {
        // The last of the parts' states, unless one is active or failed.
        args.status = parts.iter().fold(1, |all, part| if all <= 0 { all } else { part.status });
        let size = size_of::<sync_fence_info>() as u64;
        for (number, part) in (0..).zip(&parts) {
            write(memory, args.sync_fence_info.wrapping_add(number * size), part)?;
        }
    }
    (args.name, args.num_fences) = (name(fence), count);
    write(memory, argument, &args)
}

/// Returns the parts (`sync_fill_fence_info`); a fence that never had a submission has itself.
fn parts(fence: &Fence) -> Vec<sync_fence_info> {
    if fence.parts().is_empty() {
        return vec![sync_fence_info {
            obj_name: text(STUB),
            driver_name: text(STUB),
            status: 1,
            flags: 0,
            timestamp_ns: fence.signalled_ns() as u64,
        }];
    }
    let part = |request: &std::sync::Arc<Request>| {
        let done = request.done();
        sync_fence_info {
            obj_name: text(timeline(request)),
            driver_name: text(DRIVER),
            status: status(done.is_some(), done.and_then(|done| done.error)),
            flags: 0,
            timestamp_ns: done.map_or(0, |done| done.at_ns as u64),
        }
    };
    fence.parts().iter().map(part).collect()
}

/// Returns the state of a fence (`dma_fence_get_status`).
fn status(signalled: bool, error: Option<Errno>) -> i32 {
    match error {
        _ if !signalled => 0,
        None => 1,
        Some(errno) => -errno.get(),
    }
}

/// `i915_fence_get_timeline_name`.
fn timeline(request: &Request) -> &'static str {
    if request.is_done() { SIGNALLED } else { TIMELINE }
}

/// Returns the name of a fence (`sync_file_get_name`).
fn name(fence: &Fence) -> [u8; NAME_BYTES] {
    match (fence.name.filter(|name| name[0] != 0), fence.parts()) {
        (Some(mut name), _) => {
            // Of 32 bytes the last one is the end.
            name[NAME_BYTES - 1] = 0;
            name
        }
        (None, []) => text(&format!("{STUB}-{STUB}0-0")),
        (None, [one]) => text(&format!("{DRIVER}-{}{}-{}", timeline(one), one.timeline, one.number)),
        // An array of fences has names of its own, and a new timeline.
        (None, [first, ..]) => text(&format!("dma_fence_array-unbound{}-1", first.timeline)),
    }
}

/// Returns a name with its final 0, shortened if it is too long.
fn text(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    for (byte, letter) in bytes.iter_mut().take(NAME_BYTES - 1).zip(name.bytes()) {
        *byte = letter;
    }
    bytes
}

/// Reads the struct at an address.
fn read<T: Pod>(memory: &Memory, address: u64) -> Result<T, Errno> {
    let mut args = T::zeroed();
    let len = size_of::<T>();
    if memory.read(address, bytes_of_mut(&mut args)) < len { Err(Errno::EFAULT) } else { Ok(args) }
}

/// Writes the struct at an address.
fn write<T: Pod>(memory: &mut Memory, address: u64, args: &T) -> Result<(), Errno> {
    if memory.write(address, bytes_of(args)) < size_of::<T>() { Err(Errno::EFAULT) } else { Ok(()) }
}
