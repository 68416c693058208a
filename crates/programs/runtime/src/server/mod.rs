//! The server of the devices: connections to it, and requests on them.

pub(crate) mod connection;
pub(crate) mod exchange;
pub(crate) mod pool;
pub(crate) mod requests;
