//! Plants mutants in the rules of gem-coherency; see `ci/mutants`.

pub mod plant;
