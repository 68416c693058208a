//! Programs on software devices, judged, and on a real one, traced.

pub mod sim;
pub mod trace;
