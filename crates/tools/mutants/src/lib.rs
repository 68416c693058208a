//! Plants mutants in the rules of gem-coherency; see `ci/mutants`.

#![deny(unsafe_code)]

pub mod plant;
