//! The library's errors, with their operands.
//!
//! Each error names the value that caused it. If the caller can fix the problem, the text says how. Its
//! `errno` is the kernel's, or the one that the kernel returns for the same mistake.

mod hints;
mod open;
mod room;

use std::fmt;

use gem_coherency_policy::{Errno, Unknown};

use crate::vocabulary::CacheLevel;
use hints::request_hint;
pub use open::OpenError;
pub use room::{Few, grow, grow_few, room};

/// The result of the crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of a failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A name, number or version that the rules do not know.
    Unknown(Unknown),

    /// A device that cannot be opened.
    Open(OpenError),

    /// Cache instructions that cannot be used as requested.
    CacheOps(gem_coherency_cacheops::Error),

    /// A feature that no device of the platform has.
    NotAvailable {
        /// The feature.
        what: String,
        /// The platform's name.
        platform: &'static str,
        /// The reason.
        why: &'static str,
        /// The kernel's errno for the same request.
        errno: Errno,
    },

    /// A request that the device refused.
    Ioctl {
        /// The request, as the uAPI header names it.
        request: &'static str,
        /// The device's errno.
        errno: Errno,
    },

    /// A size that no object can have.
    BadSize {
        /// The size, in bytes.
        size: u64,
        /// The reason why it is invalid.
        why: &'static str,
    },

    /// An allocation that failed.
    NoMemory {
        /// The purpose of the memory.
        what: &'static str,
        /// The size of the allocation.
        bytes: u64,
    },

    /// A range that exceeds the object.
    RangeOutOfBounds {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        len: u64,
        /// The object's size.
        size: u64,
    },

    /// A range that exceeds the guard's.
    RangeOutOfGuard {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        len: u64,
        /// The guard's first byte.
        start: u64,
        /// One past the guard's last byte.
        end: u64,
    },

    /// A stream to a BO to which another one is open.
    StreamOpen {
        /// The object.
        handle: u32,
        /// The first byte of the refused stream.
        offset: u64,
        /// The number of its bytes.
        len: u64,
    },

    /// A store through a guard that was opened for reading.
    WriteThroughReadGuard {
        /// The object.
        handle: u32,
    },

    /// A BO that was closed.
    Closed {
        /// The object.
        handle: u32,
    },

    /// A BO whose contents the kernel discarded.
    Purged {
        /// The object.
        handle: u32,
    },

    /// A BO whose contents are marked as not needed.
    DontNeed {
        /// The object.
        handle: u32,
    },

    /// A BO with open guards or submissions.
    InUse {
        /// The object.
        handle: u32,
        /// Open write guards.
        writers: u32,
        /// Open read guards.
        readers: u32,
        /// Submissions in progress.
        submits: u32,
    },

    /// A BO that is on screen.
    Pinned {
        /// The object.
        handle: u32,
    },

    /// A BO whose level or mappings another thread is changing.
    LevelChanging {
        /// The object.
        handle: u32,
    },

    /// A handle to be adopted whose object the library created or imported.
    HandleInUse {
        /// The handle.
        handle: u32,
    },

    /// A handle that was adopted before, with other facts.
    AdoptedOtherwise {
        /// The handle.
        handle: u32,
        /// The fact that differs.
        what: &'static str,
        /// Its value for the BO.
        adopted: String,
        /// Its value in the request.
        asked: String,
    },

    /// A BO that belongs to another device.
    OtherDevice {
        /// The object, on the other device.
        handle: u32,
    },

    /// More open guards than the object's word can count.
    TooManyGuards {
        /// The object.
        handle: u32,
        /// The limit.
        limit: u32,
    },

    /// A change of caching that would hang the caller in the kernel.
    OnScreen {
        /// The object.
        handle: u32,
        /// The object's level.
        from: CacheLevel,
        /// The requested level.
        to: CacheLevel,
    },

    /// A device that was opened before this process was forked.
    OtherProcess,

    /// A wait that timed out.
    Timeout {
        /// The object.
        handle: u32,
        /// The timeout, in nanoseconds.
        timeout_ns: i64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => error.fmt(f),
            Self::Open(error) => error.fmt(f),
            Self::CacheOps(error) => error.fmt(f),
            Self::NotAvailable { what, platform, why, errno } => {
                write!(f, "{what} is not available on {platform}: {why} ({errno})")
            }
            Self::Ioctl { request, errno } => write!(f, "{request}: {errno}{}", request_hint(*errno)),
            Self::BadSize { size, why } => write!(f, "invalid size {size}: {why}"),
            Self::NoMemory { what, bytes } => {
                write!(f, "cannot allocate {bytes} bytes for {what}: not enough memory")
            }
            Self::RangeOutOfBounds { offset, len, size } => {
                write!(f, "{len} bytes at offset {offset} do not fit in the object of {size} bytes")
            }
            Self::RangeOutOfGuard { offset, len, start, end } => {
                write!(f, "{len} bytes at offset {offset} do not fit in the guarded range {start}..{end}")
            }
            Self::StreamOpen { handle, offset, len } => write!(
                f,
                "no stream to {len} bytes at offset {offset} of BO {handle}: another one is open, end it first"
            ),
            Self::WriteThroughReadGuard { handle } => {
                write!(f, "write to BO {handle} through a read guard: open it with `Bo::write`")
            }
            Self::Closed { handle } => write!(f, "BO {handle} is closed"),
            Self::Purged { handle } => {
                write!(f, "BO {handle} was purged: its contents are gone, and it cannot be used again")
            }
            Self::DontNeed { handle } => {
                write!(f, "BO {handle} is marked as not needed: mark it as needed before using it")
            }
            Self::InUse { handle, writers, readers, submits } => write!(
                f,
                "BO {handle} is in use: {writers} write and {readers} read guards are open, {submits} submissions in progress"
            ),
            Self::Pinned { handle } => write!(f, "BO {handle} is on screen: flip away and unpin it first"),
            Self::LevelChanging { handle } => write!(
                f,
                "another thread is changing the caching mode or the mapping of BO {handle}, or whether it is needed: try again when it is done"
            ),
            Self::HandleInUse { handle } => {
                write!(
                    f,
                    "handle {handle} has a BO already, which owns it: clone that one, or release it first"
                )
            }
            Self::AdoptedOtherwise { handle, what, adopted, asked } => {
                write!(
                    f,
                    "handle {handle} is adopted already, with {what} {adopted}, not {asked}: release that BO first"
                )
            }
            Self::OtherDevice { handle } => {
                write!(f, "BO {handle} was opened on another device: export it there and import it here")
            }
            Self::TooManyGuards { handle, limit } => {
                write!(f, "BO {handle} already has {limit} open guards, the most possible: drop one first")
            }
            Self::OnScreen { handle, from, to } => write!(
                f,
                "cannot set BO {handle} to level {to}: it is on screen at level {from}, and SET_CACHING would block until it is flipped away; flip away first"
            ),
            Self::OtherProcess => write!(
                f,
                "the device was opened before fork(2), by the parent process: open it again in this process"
            ),
            Self::Timeout { handle, timeout_ns } => {
                write!(f, "BO {handle} is still busy after {timeout_ns} ns")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<Unknown> for Error {
    fn from(error: Unknown) -> Self {
        Self::Unknown(error)
    }
}

impl From<gem_coherency_cacheops::Error> for Error {
    fn from(error: gem_coherency_cacheops::Error) -> Self {
        Self::CacheOps(error)
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

/// The failure of an ioctl that a driver makes itself ([`crate::device::Device::submit_with`]).
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Ioctl {
            request: "the caller's execbuf",
            errno: error.raw_os_error().map_or(Errno::EINVAL, Errno::new),
        }
    }
}

impl Error {
    /// Returns the kernel's errno, or the one that the kernel returns for the same mistake.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Unknown(
                Unknown::DeviceId { .. } | Unknown::Platform { .. } | Unknown::DrivenByXe { .. },
            ) => Errno::ENODEV,
            Self::Open(error) => error.errno(),
            Self::CacheOps(error) => error.errno(),
            Self::NotAvailable { errno, .. } | Self::Ioctl { errno, .. } => *errno,
            Self::Unknown(_)
            | Self::BadSize { .. }
            | Self::RangeOutOfBounds { .. }
            | Self::RangeOutOfGuard { .. }
            | Self::AdoptedOtherwise { .. }
            | Self::OtherDevice { .. } => Errno::EINVAL,
            Self::WriteThroughReadGuard { .. } => Errno::EACCES,
            Self::Closed { .. } => Errno::ENOENT,
            Self::Purged { .. } | Self::DontNeed { .. } => Errno::EFAULT,
            Self::HandleInUse { .. }
            | Self::InUse { .. }
            | Self::Pinned { .. }
            | Self::LevelChanging { .. }
            | Self::StreamOpen { .. }
            | Self::OnScreen { .. } => Errno::EBUSY,
            Self::NoMemory { .. } => Errno::ENOMEM,
            Self::TooManyGuards { .. } => Errno::EOVERFLOW,
            Self::Timeout { .. } => Errno::ETIME,
            Self::OtherProcess => Errno::ECHILD,
        }
    }
}
