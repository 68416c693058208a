//! Instructions before they have registers.

pub(crate) mod draft;
pub(crate) mod encode;
pub(crate) mod regions;
pub(crate) mod rules;
