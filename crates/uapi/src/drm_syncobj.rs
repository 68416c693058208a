//! `<drm/drm.h>`: synchronization objects.

use super::{requests, structs, values};

structs! {
    /// A new syncobj.
    drm_syncobj_create: 8 {
        /// Back: its handle.
        handle @ 0: u32,
        /// `DRM_SYNCOBJ_CREATE_*`.
        flags @ 4: u32,
    }

    /// A handle that is closed.
    drm_syncobj_destroy: 8 {
        /// The handle.
        handle @ 0: u32,
        /// Must be 0.
        pad @ 4: u32,
    }

    /// A handle, and a file of the same syncobj or of its fence.
    drm_syncobj_handle: 24 {
        /// The handle.
        handle @ 0: u32,
        /// The file's kind: of the syncobj (0), or of its fence (1).
        flags @ 4: u32,
        /// The file's descriptor.
        fd @ 8: i32,
        /// Must be 0.
        pad @ 12: u32,
        /// The point of the timeline with the flag `TIMELINE`; otherwise 0. Kernels without that flag do not look at it.
        point @ 16: u64,
    }

    /// Point of a timeline whose fence becomes that of another.
    drm_syncobj_transfer: 32 {
        /// The syncobj whose fence it is.
        src_handle @ 0: u32,
        /// The syncobj that gets it.
        dst_handle @ 4: u32,
        /// The point there, or 0.
        src_point @ 8: u64,
        /// The point here; 0: its only fence.
        dst_point @ 16: u64,
        /// `DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT`.
        flags @ 24: u32,
        /// Must be 0.
        pad @ 28: u32,
    }

    /// A wait for syncobjs.
    drm_syncobj_wait: 40 {
        /// Address of their handles.
        handles @ 0: u64,
        /// Until when, in nanoseconds of the monotonic clock.
        timeout_nsec @ 8: i64,
        /// The number of handles.
        count_handles @ 16: u32,
        /// `DRM_SYNCOBJ_WAIT_FLAGS_*`.
        flags @ 20: u32,
        /// Back: the first that is signalled.
        first_signaled @ 24: u32,
        /// Ignored.
        pad @ 28: u32,
        /// A hint for when the fences are needed.
        deadline_nsec @ 32: u64,
    }

    /// A wait for points of timelines.
    drm_syncobj_timeline_wait: 48 {
        /// Address of the handles.
        handles @ 0: u64,
        /// Address of a point for each, or 0.
        points @ 8: u64,
        /// Until when, in nanoseconds of the monotonic clock.
        timeout_nsec @ 16: i64,
        /// The number of handles.
        count_handles @ 24: u32,
        /// `DRM_SYNCOBJ_WAIT_FLAGS_*`.
        flags @ 28: u32,
        /// Back: the first that is signalled.
        first_signaled @ 32: u32,
        /// Ignored.
        pad @ 36: u32,
        /// A hint for when the fences are needed.
        deadline_nsec @ 40: u64,
    }

    /// An event for when a point is signalled.
    drm_syncobj_eventfd: 24 {
        /// The syncobj.
        handle @ 0: u32,
        /// `DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE`.
        flags @ 4: u32,
        /// The point.
        point @ 8: u64,
        /// The eventfd.
        fd @ 16: i32,
        /// Must be 0.
        pad @ 20: u32,
    }

    /// Several syncobjs.
    drm_syncobj_array: 16 {
        /// Address of their handles.
        handles @ 0: u64,
        /// The number of handles.
        count_handles @ 8: u32,
        /// Must be 0.
        pad @ 12: u32,
    }

    /// Several timelines, with a point of each.
    drm_syncobj_timeline_array: 24 {
        /// Address of their handles.
        handles @ 0: u64,
        /// Address of the points.
        points @ 8: u64,
        /// The number of handles.
        count_handles @ 16: u32,
        /// `DRM_SYNCOBJ_QUERY_FLAGS_*`.
        flags @ 20: u32,
    }
}

values! {
    /// It begins with a fence that is signalled.
    DRM_SYNCOBJ_CREATE_SIGNALED: u32 = 1 << 0;
    /// The file is one of the fence (a sync file).
    DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE: u32 = 1 << 0;
    /// The fence becomes that of a point.
    DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_TIMELINE: u32 = 1 << 1;
    /// The file is one of the fence (a sync file).
    DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE: u32 = 1 << 0;
    /// The fence is that of a point.
    DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_TIMELINE: u32 = 1 << 1;
    /// Waits for all of them.
    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL: u32 = 1 << 0;
    /// Waits until there is a fence, too.
    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT: u32 = 1 << 1;
    /// Waits until there is a fence only.
    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE: u32 = 1 << 2;
    /// The hint counts.
    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE: u32 = 1 << 3;
    /// The last point that there is a fence for, signalled or not.
    DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED: u32 = 1 << 0;
}

requests! {
    /// Makes a syncobj.
    DRM_IOCTL_SYNCOBJ_CREATE = IOWR(b'd', 0xbf, drm_syncobj_create) == 0xc008_64bf;
    /// Closes a handle.
    DRM_IOCTL_SYNCOBJ_DESTROY = IOWR(b'd', 0xc0, drm_syncobj_destroy) == 0xc008_64c0;
    /// Makes a file of a syncobj, or of its fence.
    DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD = IOWR(b'd', 0xc1, drm_syncobj_handle) == 0xc018_64c1;
    /// Gets a handle for the syncobj of a file, or takes over a file's fence.
    DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE = IOWR(b'd', 0xc2, drm_syncobj_handle) == 0xc018_64c2;
    /// Waits for fences.
    DRM_IOCTL_SYNCOBJ_WAIT = IOWR(b'd', 0xc3, drm_syncobj_wait) == 0xc028_64c3;
    /// Drops fences.
    DRM_IOCTL_SYNCOBJ_RESET = IOWR(b'd', 0xc4, drm_syncobj_array) == 0xc010_64c4;
    /// Sets fences that are signalled.
    DRM_IOCTL_SYNCOBJ_SIGNAL = IOWR(b'd', 0xc5, drm_syncobj_array) == 0xc010_64c5;
    /// Waits for points.
    DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT = IOWR(b'd', 0xca, drm_syncobj_timeline_wait) == 0xc030_64ca;
    /// Asks how far timelines are.
    DRM_IOCTL_SYNCOBJ_QUERY = IOWR(b'd', 0xcb, drm_syncobj_timeline_array) == 0xc018_64cb;
    /// Gives a syncobj another's fence.
    DRM_IOCTL_SYNCOBJ_TRANSFER = IOWR(b'd', 0xcc, drm_syncobj_transfer) == 0xc020_64cc;
    /// Signals points.
    DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL = IOWR(b'd', 0xcd, drm_syncobj_timeline_array) == 0xc018_64cd;
    /// Signals an eventfd with a point.
    DRM_IOCTL_SYNCOBJ_EVENTFD = IOWR(b'd', 0xcf, drm_syncobj_eventfd) == 0xc018_64cf;
}
