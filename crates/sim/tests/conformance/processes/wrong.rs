//! Deliberate faults, to see that they are found.

use gem_coherency::Errno;
use gem_coherency_uapi::i915::DRM_IOCTL_I915_GEM_SET_CACHING;

use super::target::Done;

/// Two devices, whether the second answers one call with another errno, and whether they differ.
pub const TWINS: &[(&str, &str, bool, bool)] = &[
    ("sim:jsl", "sim:jsl", false, false),
    ("sim:glk,kernel=6.1", "sim:glk,kernel=6.1", false, false),
    ("sim:mtl", "sim:mtl", false, false),
    ("sim:dg2", "sim:dg2", false, false),
    ("sim:tgl", "sim:tgl", true, true),
    ("sim:jsl", "sim:jsl,without=bypass-acquire", false, true),
    ("sim:glk", "sim:glk,without=enter-cpu-stale", false, true),
    ("sim:hsw", "sim:bdw,edram=1", false, true),
];

/// Replaces ENOENT by EINVAL for SET_CACHING of an unknown handle, as a faulty device would.
pub fn answer(code: u32, done: Done<i32>) -> Done<i32> {
    match done {
        Err(Errno::ENOENT) if code == DRM_IOCTL_I915_GEM_SET_CACHING.code => Err(Errno::EINVAL),
        done => done,
    }
}
