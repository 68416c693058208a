//! `<linux/sync_file.h>`: fences as files.

use super::{requests, structs};

structs! {
    /// The argument of SYNC_IOC_MERGE.
    sync_merge_data: 48 {
        /// The name of the new fence.
        name @ 0: [u8; 32],
        /// The other fence.
        fd2 @ 32: i32,
        /// Back: the new fence.
        fence @ 36: i32,
        /// Must be 0.
        flags @ 40: u32,
        /// Must be 0.
        pad @ 44: u32,
    }

    /// A part of a fence.
    sync_fence_info: 80 {
        /// The name of its timeline.
        obj_name @ 0: [u8; 32],
        /// The name of its driver.
        driver_name @ 32: [u8; 32],
        /// 0: active; 1: signalled; negative: an errno.
        status @ 64: i32,
        /// 0.
        flags @ 68: u32,
        /// The time of the signal, in nanoseconds of the monotonic clock.
        timestamp_ns @ 72: u64,
    }

    /// The argument of SYNC_IOC_FILE_INFO.
    sync_file_info: 56 {
        /// Back: the fence's name.
        name @ 0: [u8; 32],
        /// Back: as that of its parts.
        status @ 32: i32,
        /// Must be 0.
        flags @ 36: u32,
        /// The number of its parts.
        num_fences @ 40: u32,
        /// Must be 0.
        pad @ 44: u32,
        /// Address of [`sync_fence_info`] for each part.
        sync_fence_info @ 48: u64,
    }

    /// The argument of SYNC_IOC_SET_DEADLINE.
    sync_set_deadline: 16 {
        /// A hint for when the fence is needed, in nanoseconds of the monotonic clock.
        deadline_ns @ 0: u64,
        /// Must be 0.
        pad @ 8: u64,
    }
}

requests! {
    /// Makes a fence of two.
    SYNC_IOC_MERGE = IOWR(b'>', 3, sync_merge_data) == 0xc030_3e03;
    /// Returns a fence's state and parts.
    SYNC_IOC_FILE_INFO = IOWR(b'>', 4, sync_file_info) == 0xc038_3e04;
    /// Says when a fence is needed.
    SYNC_IOC_SET_DEADLINE = IOW(b'>', 5, sync_set_deadline) == 0x4010_3e05;
}
