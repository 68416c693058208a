//! The requests by which a program moves objects between domains, by place.

use gem_coherency_serve::DomainSite;
use serde::Serialize;

use super::sanitize::{PlaceRow, Places};

/// The kind of a request that was not needed.
pub const USELESS: &str = "useless SET_DOMAIN";

/// The requests of one place.
#[derive(Clone, Debug, Serialize)]
pub struct DomainRow {
    /// The request: `SET_DOMAIN`.
    pub call: &'static str,
    /// The call stack.
    pub place: Vec<PlaceRow>,
    /// Number of requests that made a difference, or for which that is not known.
    pub needed: u64,
    /// Number of requests without which the kernel would have done the same.
    pub unneeded: u64,
    /// The platforms on which a request is among the needed ones, with several judges; `None` otherwise.
    pub needed_on: Option<Vec<&'static str>>,
    /// Every one of them was useless.
    pub useless: bool,
    /// Why that is accepted; `None` if it is not suppressed.
    pub suppressed: Option<String>,
}

/// Returns the rows of places; `judged` by several platforms.
pub(super) fn rows(places: &mut Places, sites: &[DomainSite], judged: bool) -> Vec<DomainRow> {
    let row = |site: &DomainSite| DomainRow {
        call: short(site.call),
        place: places.stack(&site.stack, true),
        needed: site.needed,
        unneeded: site.useless,
        needed_on: judged.then(|| site.needed_on.clone()),
        useless: site.needed == 0,
        suppressed: None,
    };
    sites.iter().map(row).collect()
}

/// Returns the name of a request without its prefix.
fn short(call: &'static str) -> &'static str {
    let prefixes = ["DRM_IOCTL_I915_GEM_", "DRM_IOCTL_I915_"];
    prefixes.into_iter().find_map(|prefix| call.strip_prefix(prefix)).unwrap_or(call)
}
