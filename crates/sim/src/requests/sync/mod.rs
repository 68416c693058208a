//! Requests for fences: syncobjs, sync files, and waits for objects.

pub(super) mod sync_file;
pub(super) mod syncobj;
pub(super) mod wait;
