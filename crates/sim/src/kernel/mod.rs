//! Objects, their handles and address spaces, as the kernel keeps them, and the state that all of a device's objects share.

pub(crate) mod accounting;
pub(crate) mod counterpart;
pub(crate) mod hardware;
pub(crate) mod holes;
pub(crate) mod injected_faults;
pub(crate) mod limits;
pub(crate) mod mappings;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod offsets;
pub(crate) mod spaces;
pub(crate) mod spec;
