//! Functions for BOs: their life, their mappings, and accesses to them.

pub(super) mod access;
pub(super) mod adopt;
pub(super) mod barrier;
pub(super) mod bo;
pub(super) mod mapping;
pub(super) mod stream;
