//! Obsolete requests.
//!
//! Some still succeed, because programs check the result; the others are refused. Their structs are copied in
//! and back unchanged.

use gem_coherency::Errno;

use super::entry::Entry;
use super::refuse;
use crate::display::masters::Allowed::{self, Master, Primary};
use gem_coherency::error::Result;

/// `_IO`: no struct.
const IO: u32 = 0;
/// `_IOW`: the struct is copied in.
const IOW: u32 = 1;
/// `_IOR`: the struct is copied back.
const IOR: u32 = 2;
/// `_IOWR`: both.
const IOWR: u32 = 3;

/// Creates the entry of a request that succeeds (`drm_noop`).
const fn noop(number: u32, direction: u32, allowed: Allowed) -> Entry {
    Entry { code: code(number, direction), allowed, run: |_, _| Ok(()) }
}

/// Creates the entry of a request that fails with EINVAL (`drm_invalid_op`).
const fn invalid(number: u32, direction: u32, allowed: Allowed) -> Entry {
    Entry { code: code(number, direction), allowed, run: |_, _| refuse("drm_invalid_op", Errno::EINVAL) }
}

/// Creates the entry of a request that fails with ENODEV (`i915_gem_reject_pin_ioctl`).
const fn pin(number: u32, direction: u32) -> Entry {
    Entry {
        code: code(number, direction),
        allowed: Primary,
        run: |_, _| refuse("i915_gem_reject_pin_ioctl", Errno::ENODEV),
    }
}

/// Returns a request's code without a size; the size in the caller's code counts.
const fn code(number: u32, direction: u32) -> u32 {
    direction << 30 | (b'd' as u32) << 8 | number
}

/// Clears the struct of GET_STATS.
fn clear(bytes: &mut [u8]) -> Result<()> {
    bytes.fill(0);
    Ok(())
}

/// The requests by number, from `drm_ioctls` and `i915_ioctls`.
pub(super) static ENTRIES: &[Entry] = &[
    // GET_STATS; its struct has 248 bytes.
    Entry { code: code(0x06, IOR) | 248 << 16, allowed: Primary, run: |_, bytes| clear(bytes) },
    invalid(0x10, IOW, Master),  // SET_UNIQUE
    noop(0x12, IOWR, Master),    // BLOCK
    noop(0x13, IOWR, Master),    // UNBLOCK
    noop(0x27, IOWR, Master),    // ADD_DRAW
    noop(0x28, IOWR, Master),    // RM_DRAW
    noop(0x2c, IOW, Primary),    // FINISH
    noop(0x3f, IOW, Master),     // UPDATE_DRAW
    noop(0xa8, IOWR, Master),    // MODE_ATTACHMODE
    noop(0xa9, IOWR, Master),    // MODE_DETACHMODE
    noop(0x40, IOW, Master),     // I915_INIT
    noop(0x41, IO, Primary),     // I915_FLUSH
    noop(0x42, IO, Primary),     // I915_FLIP
    noop(0x43, IOW, Primary),    // I915_BATCHBUFFER
    noop(0x44, IOWR, Primary),   // I915_IRQ_EMIT
    noop(0x45, IOW, Primary),    // I915_IRQ_WAIT
    noop(0x47, IOW, Master),     // I915_SETPARAM
    noop(0x48, IOWR, Primary),   // I915_ALLOC
    noop(0x49, IOW, Primary),    // I915_FREE
    noop(0x4a, IOW, Master),     // I915_INIT_HEAP
    noop(0x4b, IOW, Primary),    // I915_CMDBUFFER
    noop(0x4c, IOW, Master),     // I915_DESTROY_HEAP
    noop(0x4d, IOW, Master),     // I915_SET_VBLANK_PIPE
    noop(0x4e, IOR, Primary),    // I915_GET_VBLANK_PIPE
    noop(0x4f, IOWR, Primary),   // I915_VBLANK_SWAP
    noop(0x51, IOW, Master),     // I915_HWS_ADDR
    noop(0x53, IOW, Master),     // I915_GEM_INIT
    invalid(0x54, IOW, Primary), // I915_GEM_EXECBUFFER
    pin(0x55, IOWR),             // I915_GEM_PIN
    pin(0x56, IOW),              // I915_GEM_UNPIN
    noop(0x59, IO, Master),      // I915_GEM_ENTERVT
    noop(0x5a, IO, Master),      // I915_GEM_LEAVEVT
    noop(0x6a, IOWR, Master),    // I915_GET_SPRITE_COLORKEY
    noop(0xa8, IOWR, Master),    // MODE_ATTACHMODE
    noop(0xa9, IOWR, Master),    // MODE_DETACHMODE
];

/// Requests that kernels before 6.8 still list and refuse (`DRM_LEGACY_IOCTL_DEF` without
/// `CONFIG_DRM_LEGACY`); later kernels do not know the numbers.
pub(super) static BEFORE_6_8: &[Entry] = &[
    invalid(0x03, IOWR, Master),  // IRQ_BUSID
    invalid(0x04, IOWR, Primary), // GET_MAP
    noop(0x08, IOW, Primary),     // MODESET_CTL
    invalid(0x14, IOW, Master),   // CONTROL
    invalid(0x15, IOWR, Master),  // ADD_MAP
    invalid(0x16, IOWR, Master),  // ADD_BUFS
    invalid(0x17, IOW, Master),   // MARK_BUFS
    invalid(0x18, IOWR, Primary), // INFO_BUFS
    invalid(0x19, IOWR, Primary), // MAP_BUFS
    invalid(0x1a, IOW, Primary),  // FREE_BUFS
    invalid(0x1b, IOW, Primary),  // RM_MAP
    invalid(0x1c, IOW, Master),   // SET_SAREA_CTX
    invalid(0x1d, IOWR, Primary), // GET_SAREA_CTX
    invalid(0x20, IOWR, Primary), // ADD_CTX
    invalid(0x21, IOWR, Master),  // RM_CTX
    invalid(0x22, IOW, Master),   // MOD_CTX
    invalid(0x23, IOWR, Primary), // GET_CTX
    invalid(0x24, IOW, Master),   // SWITCH_CTX
    invalid(0x25, IOW, Master),   // NEW_CTX
    invalid(0x26, IOWR, Primary), // RES_CTX
    invalid(0x29, IOWR, Primary), // DMA
    invalid(0x2a, IOW, Primary),  // LOCK
    invalid(0x2b, IOW, Primary),  // UNLOCK
    invalid(0x30, IO, Master),    // AGP_ACQUIRE
    invalid(0x31, IO, Master),    // AGP_RELEASE
    invalid(0x32, IOW, Master),   // AGP_ENABLE
    invalid(0x33, IOR, Primary),  // AGP_INFO
    invalid(0x34, IOWR, Master),  // AGP_ALLOC
    invalid(0x35, IOW, Master),   // AGP_FREE
    invalid(0x36, IOW, Master),   // AGP_BIND
    invalid(0x37, IOW, Master),   // AGP_UNBIND
    invalid(0x38, IOWR, Master),  // SG_ALLOC
    invalid(0x39, IOW, Master),   // SG_FREE
];
