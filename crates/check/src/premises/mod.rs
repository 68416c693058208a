//! What a search assumes: its setting, conditions of callers, deliberate changes.

pub(super) mod condition;
pub(super) mod mutant;
pub(super) mod setting;
