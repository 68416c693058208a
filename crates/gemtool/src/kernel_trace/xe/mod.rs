//! The events of xe: requests with their arguments, and the memory of objects.

mod event;
mod parse;
mod probes;
mod request;

pub use event::{XeCall, XeEvent};
pub use request::{Bind, Field, Operation, Request, Sent, Untold};

pub(super) use parse::parse;
pub(super) use probes::{PREFIX, PROBES};
