//! The requests by which a program moves objects between domains, by place.

use gem_coherency_sanitizer::DomainSite;
use serde::Serialize;

use crate::rows::flushes::VerdictRow;
use crate::rows::places::{PlaceRow, Places};

/// The kind of a request that was not needed.
pub const USELESS_SET_DOMAIN: &str = "useless SET_DOMAIN";

/// The requests of one place.
#[derive(Clone, Debug, Serialize)]
pub struct DomainRow {
    /// The request: `SET_DOMAIN`.
    pub call: &'static str,
    /// The call stack.
    pub place: Vec<PlaceRow>,
    /// Requests by verdict.
    #[serde(flatten)]
    pub requests: VerdictRow,
}

/// Returns the rows of places; `judged` by several platforms.
pub(crate) fn rows(places: &mut Places, sites: &[DomainSite], judged: bool) -> Vec<DomainRow> {
    let row = |site: &DomainSite| DomainRow {
        call: short(site.call),
        place: places.stack(&site.stack, true),
        requests: VerdictRow::new(site.counts, judged, &site.needed_on, &site.precautionary_on),
    };
    sites.iter().map(row).collect()
}

/// Returns the name of a request without its prefix.
fn short(call: &'static str) -> &'static str {
    let prefixes = ["DRM_IOCTL_I915_GEM_", "DRM_IOCTL_I915_"];
    prefixes.into_iter().find_map(|prefix| call.strip_prefix(prefix)).unwrap_or(call)
}
