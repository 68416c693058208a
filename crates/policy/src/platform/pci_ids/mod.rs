//! The platform and the revision of a PCI ID.

pub(super) mod ids;
pub(super) mod lookup;
pub(super) mod revisions;
mod xe;
