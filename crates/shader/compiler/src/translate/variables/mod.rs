//! Variables of lanes, inputs and buffers, and accesses to them.

pub(super) mod atomics;
pub(super) mod interface;
pub(super) mod layout;
pub(super) mod memory;
