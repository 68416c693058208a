//! The files of an object's bytes, which other processes map.
//!
//! # Flushes by a client
//!
//! A client that maps the three files performs CLFLUSH and CLFLUSHOPT of a line as follows, and CLWB by the first
//! half alone:
//!
//! 1. If `cached` and `filled` differ, it reads the line of `cached` once, stores these bytes to `memory`, then to
//!    `filled`.
//! 2. Otherwise, if `filled` and `memory` differ, it reads the line of `memory` once, stores those bytes to `cached`
//!    that differ from `filled`, then all to `filled`.
//!
//! [`Process::maintain`](crate::Process::maintain) leaves the same bytes. The device does nothing else when it writes a
//! line back or fills it, under a lock that clients do not have. These races are benign:
//!
//! - A store during a write-back: `filled` gets the bytes that `memory` got, so the line is still dirty.
//! - A store during a fill to other bytes of the line: the fill does not store to them, and the line becomes dirty.
//!   A store to the filled bytes themselves races with the write by the agent, as on hardware.
//! - A flush or an access between the two stores of a write-back or of a fill: `filled` comes last, so the line is dirty
//!   with the newer bytes, and is written back once more.
//!
//! Flushes of one line by clients exclude each other: a client holds a lock of its own, which its other processes
//! share, while it flushes. A flush that found the line clean and stores memory's bytes to `cached` would otherwise
//! replace a store that came after another flush in between. The same can happen if the device writes the line back
//! in between, which is not excluded: the line must be dirtied, written back and stored to again during one flush.

use std::os::fd::OwnedFd;

use gem_coherency_memory_model::Place;

/// Files of an object's bytes, which other processes map; they cannot be shortened or extended.
///
/// The files' positions belong to the device: read and write at offsets, or map the files.
///
/// A line is dirty if `cached` and `filled` differ, and otherwise stale if `filled` and `memory` differ. The client flushes
/// a dirty line by storing its bytes in `cached`, read once, to `memory`, then to `filled`. It flushes another line by
/// storing the bytes of `memory` that differ from `filled` to `cached`, then to `filled`; CLWB leaves such a line
/// alone. Flushes of one line by clients exclude each other; in this order they may race with accesses by the device. A client that sees
/// a store of the bytes that are there makes `filled` other bytes: the line is dirty then, as on hardware.
#[derive(Debug)]
pub struct Views {
    /// The bytes that the CPU sees through its caches.
    pub cached: OwnedFd,
    /// The bytes that memory holds.
    pub memory: OwnedFd,
    /// The bytes that each cached line had when it was last filled or written back.
    pub filled: OwnedFd,
    /// The offset, in each file, of the byte at the address.
    pub offset: u64,
    /// Size of the object, and of each file, in bytes.
    pub size: u64,
    /// The bytes that the mapping shows: [`Self::cached`] or [`Self::memory`].
    pub shows: Place,
    /// The object's number on the device, which is never reused; above `1 << 63` for memory of no device.
    pub object: u64,
    /// The mapping shows the cached bytes, and a load through it drops a clean line first: it gets memory's bytes, as a WC load that
    /// snoops. Where a WB mapping shows the object, too, the client does that at the load.
    pub evicts: bool,
}
