//! SYNCOBJ_*: synchronization objects, by handle and as files.
//!
//! A wait for a fence that does not exist ends when another request submits it. A request that blocks its thread
//! ([`Patience::Blocks`]) belongs to a process with one thread, which can submit nothing meanwhile: it fails at once
//! with the kernel's timeout error.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::injected_faults::Needs;
use crate::process::files::File;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::eventfd::Waiter;
use crate::sync::fence::{Fence, now_ns};
use crate::sync::progress::Patience;
use crate::sync::syncobj::Syncobj;
use gem_coherency::error::Result;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::drm_syncobj::*;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_SYNCOBJ_CREATE, Everyone => create;
    DRM_IOCTL_SYNCOBJ_DESTROY, Everyone => destroy;
    DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, Everyone => handle_to_fd;
    DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, Everyone => fd_to_handle;
    DRM_IOCTL_SYNCOBJ_WAIT, Everyone => wait;
    DRM_IOCTL_SYNCOBJ_RESET, Everyone => reset;
    DRM_IOCTL_SYNCOBJ_SIGNAL, Everyone => signal;
    DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, Everyone => timeline_wait;
    DRM_IOCTL_SYNCOBJ_QUERY, Everyone => query;
    DRM_IOCTL_SYNCOBJ_TRANSFER, Everyone => transfer;
    DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, Everyone => timeline_signal;
};

/// Requests that older kernels lack.
pub(in crate::requests) static SINCE_6_6: &[Entry] = entries! {
    DRM_IOCTL_SYNCOBJ_EVENTFD, Everyone => eventfd;
};

/// The first kernel with EVENTFD and with wait deadlines.
pub(in crate::requests) const EVENTS: KernelVersion = KernelVersion::new(6, 6);
/// The first kernel that accepts a wait for nothing, and checks TRANSFER's flags (seen on 6.12, not on 6.1).
const CHECKS_FLAGS: KernelVersion = KernelVersion::new(6, 12);
/// Largest numbers of handles, and of syncobjs or points, that the kernel allocates (`KMALLOC_MAX_SIZE`).
const MOST_HANDLES: u32 = 1 << 20;
const MOST_OBJECTS: u32 = 1 << 19;
/// The time for which TRANSFER waits for a fence (`DRM_SYNCOBJ_WAIT_FOR_SUBMIT_TIMEOUT`).
const TRANSFER_WAIT: Duration = Duration::from_secs(5);

/// Flags of a wait.
const ALL: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
const FOR_SUBMIT: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
const AVAILABLE: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;

/// `drm_syncobj_create_ioctl`.
fn create(caller: &mut Caller<'_>, args: &mut drm_syncobj_create) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_CREATE.name;
    caller.device.system.enter(request, Needs::Memory)?;
    if args.flags & !DRM_SYNCOBJ_CREATE_SIGNALED != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let syncobj = Arc::new(Syncobj::default());
    if args.flags != 0 {
        syncobj.replace(Some(Fence::default()));
    }
    args.handle = caller.device.syncobjs().insert(syncobj);
    Ok(())
}

/// `drm_syncobj_destroy_ioctl`.
fn destroy(caller: &mut Caller<'_>, args: &mut drm_syncobj_destroy) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_DESTROY.name;
    caller.device.system.enter(request, Needs::Nothing)?;
    let closed = if args.pad == 0 { caller.device.syncobjs().remove(args.handle) } else { None };
    if closed.is_some() { Ok(()) } else { refuse(request, Errno::EINVAL) }
}

/// `drm_syncobj_handle_to_fd_ioctl`.
fn handle_to_fd(caller: &mut Caller<'_>, args: &mut drm_syncobj_handle) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD.name;
    caller.device.system.enter(request, Needs::Memory)?;
    let syncobj = caller.device.syncobj(args.handle);
    let file = match ways(caller, request, args)? {
        (true, point) => {
            syncobj.and_then(|syncobj| syncobj.find(point).map(File::Fence).ok_or(Errno::EINVAL))
        }
        (false, _) => syncobj.map(File::Syncobj).or(Err(Errno::EINVAL)),
    };
    let installed = file.and_then(|file| caller.files.install(file, true));
    args.fd = installed.or_else(|errno| refuse(request, errno))?;
    Ok(())
}

/// `drm_syncobj_fd_to_handle_ioctl`.
fn fd_to_handle(caller: &mut Caller<'_>, args: &mut drm_syncobj_handle) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE.name;
    caller.device.system.enter(request, Needs::Memory)?;
    match (ways(caller, request, args)?, caller.files.get(args.fd)) {
        ((false, _), Ok(File::Syncobj(syncobj))) => {
            args.handle = caller.device.syncobjs().insert(syncobj);
            Ok(())
        }
        ((true, point), Ok(File::Fence(fence))) => {
            let syncobj = caller.device.syncobj(args.handle).or_else(|errno| refuse(request, errno))?;
            match point {
                0 => syncobj.replace(Some(fence)),
                point => syncobj.add(point, fence),
            }
            Ok(())
        }
        (_, _) => refuse(request, Errno::EINVAL),
    }
}

/// Returns whether the file is one of a fence, and its point, 0 without a timeline.
///
/// # Errors
/// EINVAL for unknown flags, padding, and a point of a whole syncobj.
fn ways(caller: &Caller<'_>, request: &'static str, args: &drm_syncobj_handle) -> Result<(bool, u64)> {
    // The same bits in both directions.
    const FENCE: u32 = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE;
    const TIMELINE: u32 = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_TIMELINE;
    let has_points = caller.device.system.machine.kernel >= LINUX_7_2;
    let known = if has_points { FENCE | TIMELINE } else { FENCE };
    let of_fence = args.flags & FENCE != 0;
    let is_right = args.pad == 0 && args.flags & !known == 0 && (of_fence || !has_points || args.point == 0);
    let point = if args.flags & TIMELINE == 0 { 0 } else { args.point };
    if is_right { Ok((of_fence, point)) } else { refuse(request, Errno::EINVAL) }
}

/// `drm_syncobj_reset_ioctl`.
fn reset(caller: &mut Caller<'_>, args: &mut drm_syncobj_array) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_RESET.name;
    for syncobj in caller.syncobjs(request, args.handles, args.count_handles, args.pad)? {
        syncobj.replace(None);
    }
    Ok(())
}

/// `drm_syncobj_signal_ioctl`.
fn signal(caller: &mut Caller<'_>, args: &mut drm_syncobj_array) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_SIGNAL.name;
    for syncobj in caller.syncobjs(request, args.handles, args.count_handles, args.pad)? {
        syncobj.replace(Some(Fence::default()));
    }
    Ok(())
}

/// `drm_syncobj_timeline_signal_ioctl`.
fn timeline_signal(caller: &mut Caller<'_>, args: &mut drm_syncobj_timeline_array) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL.name;
    let syncobjs = caller.syncobjs(request, args.handles, args.count_handles, args.flags)?;
    let points = caller.points(request, args.points, syncobjs.len())?;
    for (syncobj, point) in syncobjs.iter().zip(points) {
        syncobj.add(point, Fence::default());
    }
    Ok(())
}

/// `drm_syncobj_query_ioctl`.
fn query(caller: &mut Caller<'_>, args: &mut drm_syncobj_timeline_array) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_QUERY.name;
    let unknown = args.flags & !DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED;
    let syncobjs = caller.syncobjs(request, args.handles, args.count_handles, unknown)?;
    for (number, syncobj) in (0..).zip(&syncobjs) {
        let (signalled, last) = syncobj.points();
        let point: u64 = if args.flags == 0 { signalled } else { last };
        caller.put(request, args.points.wrapping_add(8 * number), &point.to_le_bytes())?;
    }
    Ok(())
}

/// `drm_syncobj_transfer_ioctl`.
fn transfer(caller: &mut Caller<'_>, args: &mut drm_syncobj_transfer) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_TRANSFER.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    if args.pad != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let to = device.syncobj(args.dst_handle).or_else(|errno| refuse(request, errno))?;
    let from = device.syncobj(args.src_handle).or_else(|errno| refuse(request, errno))?;
    if args.flags & !FOR_SUBMIT != 0 && device.system.machine.kernel >= CHECKS_FLAGS {
        return refuse(request, Errno::EINVAL);
    }
    if args.flags & FOR_SUBMIT != 0 && matches!(caller.patience, Patience::Restarts { .. }) {
        let until = caller.patience.since().checked_add(TRANSFER_WAIT);
        caller.patience.wait(request, until, || from.find(args.src_point).is_some())?;
    }
    let Some(fence) = from.find(args.src_point) else {
        let errno = if args.flags & FOR_SUBMIT == 0 { Errno::EINVAL } else { Errno::ETIME };
        return refuse(request, errno);
    };
    match args.dst_point {
        0 => to.replace(Some(fence)),
        point => to.add(point, fence),
    }
    Ok(())
}

/// `drm_syncobj_wait_ioctl`.
fn wait(caller: &mut Caller<'_>, args: &mut drm_syncobj_wait) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_WAIT.name;
    let (count, flags) = (args.count_handles, args.flags);
    if !caller.waits(request, count, flags, ALL | FOR_SUBMIT)? {
        return Ok(());
    }
    let syncobjs = caller.syncobjs(request, args.handles, count, 0)?;
    let points = vec![0; syncobjs.len()];
    let awaited = Awaited { syncobjs: &syncobjs, points: &points, flags };
    args.first_signaled = awaited.first(request, args.timeout_nsec, caller.patience)?;
    Ok(())
}

/// `drm_syncobj_timeline_wait_ioctl`.
fn timeline_wait(caller: &mut Caller<'_>, args: &mut drm_syncobj_timeline_wait) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT.name;
    let (count, flags) = (args.count_handles, args.flags);
    if !caller.waits(request, count, flags, ALL | FOR_SUBMIT | AVAILABLE)? {
        return Ok(());
    }
    let syncobjs = caller.syncobjs(request, args.handles, count, 0)?;
    let points = caller.points(request, args.points, syncobjs.len())?;
    let awaited = Awaited { syncobjs: &syncobjs, points: &points, flags };
    args.first_signaled = awaited.first(request, args.timeout_nsec, caller.patience)?;
    Ok(())
}

/// `drm_syncobj_eventfd_ioctl`.
fn eventfd(caller: &mut Caller<'_>, args: &mut drm_syncobj_eventfd) -> Result<()> {
    let request = DRM_IOCTL_SYNCOBJ_EVENTFD.name;
    caller.device.system.enter(request, Needs::Memory)?;
    if args.flags & !AVAILABLE != 0 || args.pad != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let syncobj = caller.device.syncobj(args.handle).or_else(|errno| refuse(request, errno))?;
    let event = caller.files.event(args.fd).or_else(|errno| refuse(request, errno))?;
    syncobj.notify(Waiter { point: args.point, for_submit: args.flags != 0, event });
    Ok(())
}

/// The points that a request waits for: all of them, or one.
struct Awaited<'a> {
    syncobjs: &'a [Arc<Syncobj>],
    points: &'a [u64],
    flags: u32,
}

/// The state of a wait.
enum Found {
    /// It is over: the index of the first signalled point.
    First(u32),
    /// Points without a fence are waited for, or not all are signalled.
    Pending {
        /// A submission by another request is needed.
        submission: bool,
    },
}

impl Awaited<'_> {
    /// Returns the state of the wait.
    ///
    /// # Errors
    /// EINVAL if a point has no fence and the flags do not say to wait for it.
    fn look(&self) -> Result<Found, Errno> {
        let (all, available) = (self.flags & ALL != 0, self.flags & AVAILABLE != 0);
        let fences: Vec<_> =
            self.syncobjs.iter().zip(self.points).map(|(syncobj, &point)| syncobj.find(point)).collect();
        let is_missing = fences.iter().any(Option::is_none);
        if is_missing && self.flags & (FOR_SUBMIT | AVAILABLE) == 0 {
            return Err(Errno::EINVAL);
        }
        let is_ready =
            |fence: &Option<Fence>| fence.as_ref().is_some_and(|fence| available || fence.is_signalled());
        let ready: Vec<_> = fences.iter().map(is_ready).collect();
        match ready.iter().position(|&ready| ready) {
            Some(first) if !all || ready.iter().all(|&ready| ready) => Ok(Found::First(first as u32)),
            Some(_) | None => {
                let has_fence = fences.iter().any(Option::is_some);
                Ok(Found::Pending { submission: is_missing && (all || !has_fence) })
            }
        }
    }

    /// Waits until a time of the monotonic clock (`drm_syncobj_array_wait_timeout`); returns the index of the first
    /// signalled point.
    fn first(&self, request: &'static str, until_ns: i64, patience: &Patience) -> Result<u32> {
        let is_over = || match (self.look(), patience) {
            (Ok(Found::First(_)) | Err(_), _) => true,
            (Ok(Found::Pending { submission }), Patience::Blocks) => submission,
            (Ok(Found::Pending { .. }), Patience::Restarts { .. }) => false,
        };
        let left = u64::try_from(until_ns.saturating_sub(now_ns())).unwrap_or(0);
        let until = Instant::now().checked_add(Duration::from_nanos(left));
        patience.wait(request, until, is_over)?;
        match self.look() {
            Ok(Found::First(first)) => Ok(first),
            Ok(Found::Pending { .. }) => refuse(request, Errno::ETIME),
            Err(errno) => refuse(request, errno),
        }
    }
}

impl SimDevice {
    /// Returns the syncobj of a handle.
    ///
    /// # Errors
    /// ENOENT.
    pub(in crate::requests) fn syncobj(&self, handle: u32) -> Result<Arc<Syncobj>, Errno> {
        self.syncobjs().get(handle).ok_or(Errno::ENOENT)
    }
}

impl Caller<'_> {
    /// Checks the flags of a wait; returns whether there is anything to wait for.
    fn waits(&self, request: &'static str, count: u32, flags: u32, known: u32) -> Result<bool> {
        let kernel = self.device.system.machine.kernel;
        let hints = if kernel < EVENTS { 0 } else { DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE };
        if flags & !(known | hints) != 0 || (count == 0 && kernel < CHECKS_FLAGS) {
            return refuse(request, Errno::EINVAL);
        }
        Ok(count != 0)
    }

    /// Returns the syncobjs of several handles (`drm_syncobj_array_find`); `zero` must be 0.
    fn syncobjs(
        &self,
        request: &'static str,
        handles: u64,
        count: u32,
        zero: u32,
    ) -> Result<Vec<Arc<Syncobj>>> {
        self.device.system.enter(request, Needs::Memory)?;
        if zero != 0 || count == 0 {
            return refuse(request, Errno::EINVAL);
        }
        if count > MOST_HANDLES {
            return refuse(request, Errno::ENOMEM);
        }
        let mut bytes = vec![0; count as usize * 4];
        if self.memory.read(handles, &mut bytes) < bytes.len() {
            return refuse(request, Errno::EFAULT);
        }
        if count > MOST_OBJECTS {
            return refuse(request, Errno::ENOMEM);
        }
        let handles = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let found: Result<_, Errno> = handles.map(|handle| self.device.syncobj(handle)).collect();
        found.or_else(|errno| refuse(request, errno))
    }

    /// Reads the points of several syncobjs; all are 0 without an address.
    fn points(&self, request: &'static str, address: u64, count: usize) -> Result<Vec<u64>> {
        let mut bytes = vec![0; count * 8];
        if address != 0 && self.memory.read(address, &mut bytes) < bytes.len() {
            return refuse(request, Errno::EFAULT);
        }
        Ok(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }
}
