//! Every rule by name; what it means stands in `docs/coherency.md`.

use crate::error::Error;
use crate::vocabulary::words;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

words! {
    /// Why something is or is not flushed.
    Rule, "rule" {
        /// placeholder
        LlcCoherent = "llc-coherent",
    }
}

impl Rule {
    /// Why, in one sentence.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::LlcCoherent => "",
        }
    }

    /// Where the rule comes from: kernel function, commit, or header.
    pub const fn source(self) -> &'static str {
        match self {
            Self::LlcCoherent => "",
        }
    }
}
