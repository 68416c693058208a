//! Every request by number: its struct, who may make it, and what it does.
//!
//! The kernel's tables are `drm_ioctls` and `i915_ioctls`; a number that stands in neither is EINVAL.

use super::{Caller, caching, domain, map, prime, query, wait};
use crate::error::Result;

/// Which files may make a request (`DRM_RENDER_ALLOW`, `DRM_MASTER`); `DRM_AUTH` and
/// `DRM_ROOT_ONLY` ask for nothing that a primary file of root's lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// All of them.
    Everyone,
    /// Those of the primary node.
    Primary,
    /// The primary node's master.
    Master,
}

/// A request.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its code, whose size and directions are the kernel's.
    pub(super) code: u32,
    pub(super) allowed: Allowed,
    pub(super) run: fn(&mut Caller<'_>, &mut [u8]) -> Result<()>,
}

/// A module's requests: `REQUEST, who => function`.
macro_rules! entries {
    ($($request:ident, $allowed:ident => $run:path;)+) => {
        &[$(crate::drm::soft::requests::table::Entry {
            code: $request.code,
            allowed: crate::drm::soft::requests::table::Allowed::$allowed,
            run: |caller, bytes| crate::drm::soft::requests::with(caller, bytes, $run),
        },)+]
    };
}

pub(super) use entries;

/// The requests, by the module that has them.
static GROUPS: &[&[Entry]] =
    &[caching::ENTRIES, domain::ENTRIES, map::ENTRIES, prime::ENTRIES, query::ENTRIES, wait::ENTRIES];

/// The request of that number.
pub(super) fn find(number: u32) -> Option<&'static Entry> {
    GROUPS.iter().flat_map(|group| group.iter()).find(|entry| entry.code & 0xff == number)
}
