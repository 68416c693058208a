//! Objects, their handles and address spaces, as the kernel keeps them, and the state that all of a device's objects share.

pub(crate) mod facts;
pub(crate) mod faults;
pub(crate) mod mappings;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod spaces;
pub(crate) mod spec;
#[path = "objects/system.rs"]
pub(crate) mod system;
