//! Faults of the targets' own, planted on request: a fuzzer that finds none would prove nothing.
//!
//! `FUZZ_PLANT=panic` (or another of [`Plant`]'s words) in the environment plants one. It shows in a
//! state that only a certain sequence of calls leads to.

use std::sync::OnceLock;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// The target panics.
    Panic,
    /// An object is never given back.
    Leak,
    /// A call never returns.
    Hang,
    /// Memory is taken without bound.
    Memory,
    /// Somebody writes behind the library's back.
    Stale,
}

impl Plant {
    /// Each with its word.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("panic", Self::Panic),
        ("leak", Self::Leak),
        ("hang", Self::Hang),
        ("memory", Self::Memory),
        ("stale", Self::Stale),
    ];
}

/// The fault that is planted, if any.
///
/// # Panics
/// If the environment names an unknown one.
pub fn planted() -> Option<Plant> {
    static PLANTED: OnceLock<Option<Plant>> = OnceLock::new();
    *PLANTED.get_or_init(|| {
        let word = std::env::var("FUZZ_PLANT").ok()?;
        let plant = Plant::ALL.iter().find(|(name, _)| *name == word);
        Some(plant.unwrap_or_else(|| panic!("FUZZ_PLANT={word}: there is no such fault")).1)
    })
}
