//! WAIT_USER_FENCE: waits until a number in memory compares with a value.

use std::time::{Duration, Instant};

use gem_coherency::Errno;
use gem_coherency::error::Result;
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_WAIT_USER_FENCE, DRM_XE_UFENCE_WAIT_FLAG_ABSTIME, DRM_XE_UFENCE_WAIT_OP_EQ,
    DRM_XE_UFENCE_WAIT_OP_GT, DRM_XE_UFENCE_WAIT_OP_GTE, DRM_XE_UFENCE_WAIT_OP_LT, DRM_XE_UFENCE_WAIT_OP_LTE,
    DRM_XE_UFENCE_WAIT_OP_NEQ, drm_xe_wait_user_fence,
};

use crate::kernel::injected_faults::Needs;
use crate::process::memory::Memory;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::fence::now_ns;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_XE_WAIT_USER_FENCE, Everyone => wait;
};

/// `xe_wait_user_fence_ioctl`.
fn wait(caller: &mut Caller<'_>, args: &mut drm_xe_wait_user_fence) -> Result<()> {
    let request = DRM_IOCTL_XE_WAIT_USER_FENCE.name;
    let device = caller.device;
    device.system.enter(request, Needs::Gpu)?;
    let is_reserved = args.extensions != 0 || args.pad != 0 || args.pad2 != 0 || args.reserved != [0; 2];
    let is_unknown =
        args.flags & !DRM_XE_UFENCE_WAIT_FLAG_ABSTIME != 0 || args.op > DRM_XE_UFENCE_WAIT_OP_LTE;
    if is_reserved || is_unknown || !args.addr.is_multiple_of(8) {
        return refuse(request, Errno::EINVAL);
    }
    let queue = match args.exec_queue_id {
        0 => None,
        id => match device.tables().queue(id) {
            Some(queue) => Some(queue),
            None => return refuse(request, Errno::ENOENT),
        },
    };
    let is_absolute = args.flags & DRM_XE_UFENCE_WAIT_FLAG_ABSTIME != 0;
    let since = caller.patience.since();
    // A negative time, also an absolute one, has no end, and becomes the longest (`to_jiffies_timeout`).
    let time = if args.timeout < 0 { i64::MAX } else { args.timeout };
    let until = match time {
        _ if args.timeout < 0 => None,
        time if is_absolute => Instant::now().checked_add(nanoseconds(time.saturating_sub(now_ns()))),
        time => since.checked_add(nanoseconds(time)),
    };
    let is_reset = || queue.as_ref().is_some_and(|queue| queue.is_reset());
    let memory = &*caller.memory;
    let found = || match holds(memory, args) {
        Ok(false) if is_reset() => Err(Errno::EIO),
        found => found,
    };
    caller.patience.wait(request, until, || found() != Ok(false))?;
    let done = match found() {
        Ok(true) => Ok(()),
        Ok(false) => refuse(request, Errno::ETIME),
        Err(errno) => refuse(request, errno),
    };
    if !is_absolute {
        let passed = i64::try_from(since.elapsed().as_nanos()).unwrap_or(i64::MAX);
        args.timeout = time.saturating_sub(passed).max(0);
    } else {
        args.timeout = time;
    }
    done
}

/// Returns the duration of so many nanoseconds; zero if they are negative.
fn nanoseconds(count: i64) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(0))
}

/// Returns whether the number in memory compares as it is waited for (`do_compare`).
///
/// # Errors
/// EFAULT.
fn holds(memory: &Memory, args: &drm_xe_wait_user_fence) -> Result<bool, Errno> {
    let mut bytes = [0; 8];
    if memory.read(args.addr, &mut bytes) < bytes.len() {
        return Err(Errno::EFAULT);
    }
    let (found, value) = (u64::from_le_bytes(bytes) & args.mask, args.value & args.mask);
    Ok(match args.op {
        DRM_XE_UFENCE_WAIT_OP_EQ => found == value,
        DRM_XE_UFENCE_WAIT_OP_NEQ => found != value,
        DRM_XE_UFENCE_WAIT_OP_GT => found > value,
        DRM_XE_UFENCE_WAIT_OP_GTE => found >= value,
        DRM_XE_UFENCE_WAIT_OP_LT => found < value,
        _ => found <= value,
    })
}
