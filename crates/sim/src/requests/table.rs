//! The table of requests by number: struct, permission and function of each.
//!
//! The kernel's tables are `drm_ioctls` and `i915_ioctls` or `xe_ioctls`; a number that is in neither fails with EINVAL.

use super::entry::Entry;
use super::exec::{self, context};
use super::gem::{caching, create, domain, madvise, map, names, prime, tiling, transfer, userptr};
use super::kms::{self, auth, dumb, framebuffer};
use super::legacy;
use super::query::{aperture, items, param, perf, version};
use super::sync::{syncobj, wait};
use super::xe;
use crate::kernel::hardware::{LINUX_5_10, LINUX_7_2};
use gem_coherency::platform::{Driver, Machine};
use gem_coherency::vocabulary::KernelVersion;

/// The requests by module.
static GROUPS: &[&[Entry]] = &[
    aperture::ENTRIES,
    auth::ENTRIES,
    caching::ENTRIES,
    context::ENTRIES,
    context::SPACES,
    create::ENTRIES,
    domain::ENTRIES,
    dumb::ENTRIES,
    exec::ENTRIES,
    framebuffer::ENTRIES,
    legacy::ENTRIES,
    madvise::ENTRIES,
    map::ENTRIES,
    kms::ENTRIES,
    names::ENTRIES,
    param::ENTRIES,
    perf::ENTRIES,
    perf::ADD,
    prime::ENTRIES,
    items::ENTRIES,
    syncobj::ENTRIES,
    tiling::ENTRIES,
    transfer::ENTRIES,
    userptr::ENTRIES,
    version::ENTRIES,
    wait::ENTRIES,
];

/// The requests of xe by module.
static OF_XE: &[&[Entry]] = &[
    xe::bind::ENTRIES,
    xe::exec::ENTRIES,
    xe::object::ENTRIES,
    xe::observation::ENTRIES,
    xe::query::ENTRIES,
    xe::queue::ENTRIES,
    xe::user_fence::ENTRIES,
    xe::vm::ENTRIES,
];

/// The requests of xe that 6.12 lacks.
static OF_XE_SINCE_7_2: &[&[Entry]] = &[xe::advice::SINCE_7_2, xe::queue::SINCE_7_2, xe::vm::SINCE_7_2];

/// The numbers of a driver's own requests (`DRM_COMMAND_BASE`, `DRM_COMMAND_END`).
const OF_DRIVER: std::ops::Range<u32> = 0x40..0xa0;

/// The first kernel without the requests of user-mode drivers, and with CLOSEFB (seen on 6.12, not on 6.1).
const WITHOUT_LEGACY: KernelVersion = KernelVersion::new(6, 8);

/// Returns the request with this number, if the kernel has it.
pub(super) fn find(number: u32, machine: Machine) -> Option<&'static Entry> {
    let kernel = machine.kernel;
    if machine.driver == Driver::Xe && OF_DRIVER.contains(&number) {
        let later = if kernel < LINUX_7_2 { &[] } else { OF_XE_SINCE_7_2 };
        return OF_XE.iter().chain(later).copied().flatten().find(|entry| entry.code & 0xff == number);
    }
    let legacy = if kernel < WITHOUT_LEGACY { legacy::BEFORE_6_8 } else { framebuffer::SINCE_6_8 };
    let events = if kernel < syncobj::EVENTS { &[] } else { syncobj::SINCE_6_6 };
    let extended = if kernel == LINUX_5_10 { &[] } else { create::AFTER_5_10 };
    let names = if kernel < LINUX_7_2 { &[] } else { auth::SINCE_7_2 };
    let all = GROUPS.iter().copied().chain([legacy, events, extended, names]).flatten();
    all.into_iter().find(|entry| entry.code & 0xff == number)
}
