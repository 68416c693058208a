//! Requests for facts about the device: its version, parameters, aperture, counters, and the items of QUERY.

pub(super) mod aperture;
pub(super) mod items;
pub(super) mod param;
pub(super) mod perf;
pub(super) mod version;
