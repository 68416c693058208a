//! The platform and the revision of a PCI ID.

pub(super) mod ids;
pub(crate) mod lookup;
pub(super) mod revisions;
pub(crate) mod xe;
