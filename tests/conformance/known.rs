//! Differences that are known, each with its reason.

use super::replay::Difference;

/// A known difference.
#[derive(Debug)]
pub struct Known {
    /// What differs, in a few words.
    pub name: &'static str,
    /// Why it is left.
    pub why: &'static str,
    /// Whether a difference is this one.
    pub is: fn(&Difference) -> bool,
}

/// All of them.
pub const ALL: &[Known] = &[];
