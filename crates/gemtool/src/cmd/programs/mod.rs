//! Programs on software devices, judged, and on a real one, traced.

#[cfg(feature = "programs")]
pub mod sim;
pub mod trace;
