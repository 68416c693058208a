//! The fences of a submission or of a change of a VM (`xe_sync_entry_parse`).

use std::sync::Arc;

use bytemuck::Zeroable;
use gem_coherency::Errno;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::xe::{
    DRM_XE_MAX_SYNCS, DRM_XE_SYNC_FLAG_SIGNAL, DRM_XE_SYNC_TYPE_SYNCOBJ, DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ,
    DRM_XE_SYNC_TYPE_USER_FENCE, drm_xe_sync,
};

use crate::kernel::hardware::LINUX_7_2;
use crate::requests::Caller;
use crate::sync::fence::Fence;
use crate::sync::syncobj::Syncobj;

/// A number in memory that is stored when the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UserFence {
    pub(super) address: u64,
    pub(super) value: u64,
}

/// The fences of a request.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    pub(super) waits: Vec<Fence>,
    /// The syncobjs that get the fence, each with the point of its timeline, or 0.
    signals: Vec<(Arc<Syncobj>, u64)>,
    pub(super) user_fence: Option<UserFence>,
}

/// What user fences mean to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserFences {
    /// The GPU stores them, at its addresses.
    OfGpu,
    /// The CPU stores them in the process's memory, where there must be some already (`user_fence_create`).
    OfCpu,
    /// They are refused, because there is no work.
    Refused,
}

impl Syncs {
    /// Reads the `count` entries at `address`. In a long-running VM no syncobj can be signalled.
    ///
    /// # Errors
    /// The kernel's, in its order; the count was compared with [`DRM_XE_MAX_SYNCS`] before.
    pub(super) fn read(
        caller: &Caller<'_>,
        address: u64,
        count: u32,
        is_long_running: bool,
        user_fences: UserFences,
    ) -> Result<Self, Errno> {
        let mut syncs = Self::default();
        let mut stored = 0;
        for number in 0..u64::from(count.min(DRM_XE_MAX_SYNCS)) {
            let at = address.wrapping_add(number * size_of::<drm_xe_sync>() as u64);
            let mut entry = drm_xe_sync::zeroed();
            let bytes = bytemuck::bytes_of_mut(&mut entry);
            if caller.memory.read(at, bytes) < bytes.len() {
                return Err(Errno::EFAULT);
            }
            stored += u32::from(syncs.add(caller, &entry, is_long_running, user_fences)?);
        }
        // Of several that the GPU should store, it stores the last one.
        if stored > 1 && user_fences == UserFences::OfCpu { Err(Errno::EINVAL) } else { Ok(syncs) }
    }

    /// Adds an entry; returns whether it is a user fence.
    fn add(
        &mut self,
        caller: &Caller<'_>,
        entry: &drm_xe_sync,
        is_long_running: bool,
        user_fences: UserFences,
    ) -> Result<bool, Errno> {
        if entry.flags & !DRM_XE_SYNC_FLAG_SIGNAL != 0 || entry.reserved != [0; 2] {
            return Err(Errno::EINVAL);
        }
        let signals = entry.flags & DRM_XE_SYNC_FLAG_SIGNAL != 0;
        match entry.r#type {
            DRM_XE_SYNC_TYPE_SYNCOBJ | DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ => {
                if is_long_running && signals {
                    return Err(Errno::EOPNOTSUPP);
                }
                let handle = u32::try_from(entry.addr).map_err(|_| Errno::EINVAL)?;
                let is_timeline = entry.r#type == DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ;
                let point = if is_timeline { entry.timeline_value } else { 0 };
                if is_timeline && point == 0 {
                    return Err(Errno::EINVAL);
                }
                let syncobj = caller.device.syncobj(handle)?;
                if signals {
                    self.signals.push((syncobj, point));
                } else {
                    self.waits.push(syncobj.find(point).ok_or(Errno::EINVAL)?);
                }
                Ok(false)
            }
            DRM_XE_SYNC_TYPE_USER_FENCE => {
                if user_fences == UserFences::Refused || !signals {
                    return Err(Errno::EOPNOTSUPP);
                }
                if !entry.addr.is_multiple_of(8) {
                    return Err(Errno::EINVAL);
                }
                if user_fences == UserFences::OfCpu && caller.memory.read(entry.addr, &mut [0; 8]) < 8 {
                    return Err(Errno::EFAULT);
                }
                self.user_fence = Some(UserFence { address: entry.addr, value: entry.timeline_value });
                Ok(true)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Gives the syncobjs the fence of the work.
    pub(super) fn signal(&self, fence: &Fence) {
        for (syncobj, point) in &self.signals {
            match *point {
                0 => syncobj.replace(Some(fence.clone())),
                point => syncobj.add(point, fence.clone()),
            }
        }
    }

    /// Returns whether the fences can be handled alone, without work: from 7.2 on none is waited for then (`xe_sync_in_fence_get`).
    ///
    /// # Errors
    /// EOPNOTSUPP.
    pub(super) fn alone(&self, kernel: KernelVersion) -> Result<(), Errno> {
        if kernel >= LINUX_7_2 && !self.waits.is_empty() { Err(Errno::EOPNOTSUPP) } else { Ok(()) }
    }

    /// Returns the fence of all that is waited for.
    pub(super) fn awaited(&self) -> Fence {
        let mut fence = Fence::default();
        self.waits.iter().for_each(|wait| fence.merge(wait));
        fence
    }
}
