//! Fences and what holds them (requests of the GPU, syncobjs and eventfds), and the waits of requests.

pub(crate) mod eventfd;
pub(crate) mod fence;
pub(crate) mod progress;
pub(crate) mod request;
pub(crate) mod syncobj;
