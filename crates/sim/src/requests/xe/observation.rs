//! OBSERVATION: refused, because no counter of the GPU counts here.
//!
//! Without OA units ([`query`](super::query)) the driver refuses what is about them. It refuses samples of stalled EUs to a process without
//! `CAP_PERFMON` while `dev.xe.observation_paranoid` is 1, its default.

use gem_coherency::Errno;
use gem_coherency::error::Result;
use gem_coherency_uapi::xe::{DRM_IOCTL_XE_OBSERVATION, drm_xe_observation_param};

use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_XE_OBSERVATION, Everyone => observe;
};

/// The types of streams (`DRM_XE_OBSERVATION_TYPE_OA`, `_EU_STALL`).
const OA: u64 = 0;
const EU_STALL: u64 = 1;
/// The operations (`DRM_XE_OBSERVATION_OP_STREAM_OPEN`, `_REMOVE_CONFIG`).
const STREAM_OPEN: u64 = 0;
const REMOVE_CONFIG: u64 = 2;

/// `xe_observation_ioctl`.
fn observe(caller: &mut Caller<'_>, args: &mut drm_xe_observation_param) -> Result<()> {
    let request = DRM_IOCTL_XE_OBSERVATION.name;
    let system = &caller.device.system;
    system.enter(request, Needs::Nothing)?;
    let samples_stalls = system.machine.platform.graphics.major >= 20;
    let errno = match (args.extensions, args.observation_type, args.observation_op) {
        (0, OA, STREAM_OPEN..=REMOVE_CONFIG) => Errno::ENODEV,
        (0, EU_STALL, STREAM_OPEN) if system.machine.kernel >= LINUX_7_2 => match samples_stalls {
            true => Errno::EACCES,
            false => Errno::ENODEV,
        },
        _ => Errno::EINVAL,
    };
    refuse(request, errno)
}
