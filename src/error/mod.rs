//! Everything that can go wrong, with its operands.
//!
//! An error names the value that caused it and, where the caller can do something, what. `errno`
//! is what the kernel said, or what it would have said.

mod hints;

use std::path::PathBuf;

use hints::{open_hint, request_hint, screen_hint, trace_hint};
use nix::errno::Errno;

/// What the crate's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A word that is none of the known ones.
    #[error("unknown {what} '{word}' (known: {})", known.join(", "))]
    UnknownWord {
        /// What the word should have named.
        what: &'static str,
        /// The word.
        word: String,
        /// The words that would have been right.
        known: &'static [&'static str],
    },

    /// A kernel version that is not `major.minor`.
    #[error("'{text}' is not a kernel version (expected major.minor, e.g. 6.12)")]
    BadKernelVersion {
        /// The text.
        text: String,
    },

    /// A kernel older than the rules that are known.
    #[error("kernel {version} is not supported: the rules cover {oldest} and later")]
    KernelTooOld {
        /// The version asked for.
        version: crate::vocabulary::KernelVersion,
        /// The oldest version with rules.
        oldest: crate::vocabulary::KernelVersion,
    },

    /// A device name that is neither a path nor `sim:...`.
    #[error("bad device '{spec}': {why}")]
    BadDeviceSpec {
        /// The name.
        spec: String,
        /// What is wrong with it.
        why: String,
    },

    /// No i915 device was found.
    #[error("no i915 device in {directory} ({found}); name a device file or a software device")]
    NoDevice {
        /// Where devices were looked for.
        directory: PathBuf,
        /// What was there instead.
        found: String,
    },

    /// A device path that cannot be opened.
    #[error("cannot open {path}: {errno}{}", open_hint(*errno))]
    Open {
        /// The path.
        path: PathBuf,
        /// What open(2) said.
        errno: Errno,
    },

    /// A path that is not a device.
    #[error("{path} is not a character device; DRM nodes are, e.g. /dev/dri/renderD128")]
    NotADevice {
        /// The path.
        path: PathBuf,
    },

    /// A device that is not DRM.
    #[error("{path} is not a DRM device ({errno})")]
    NotDrm {
        /// The path.
        path: PathBuf,
        /// What it says, or would say, to DRM_IOCTL_VERSION; [`Error::errno`] is ENODEV all the same.
        errno: Errno,
    },

    /// A DRM device of another driver.
    #[error("{path} belongs to the driver '{driver}', not to i915")]
    NotI915 {
        /// The path.
        path: PathBuf,
        /// The driver's name.
        driver: String,
    },

    /// A device that shows nothing.
    #[error("{device} has no screen to show on: {errno}{}", screen_hint(*errno))]
    NoScreen {
        /// The device's name.
        device: String,
        /// What it said; ENXIO if it has a display without a connector to show on.
        errno: Errno,
    },

    /// Another program has the display.
    #[error(
        "{request} requires DRM master, which another program holds: switch to a text console, or stop that \
         program"
    )]
    NotMaster {
        /// The request, as the uAPI header names it.
        request: &'static str,
    },

    /// A PCI id that no platform claims.
    #[error("unknown i915 PCI ID 8086:{id:04x}")]
    UnknownDeviceId {
        /// The id.
        id: u16,
    },

    /// A platform name that is not known.
    #[error("unknown platform '{name}' (expected a name such as jsl, or a PCI ID such as 0x4e61)")]
    UnknownPlatform {
        /// The name.
        name: String,
    },

    /// The platform has no such thing, on any device.
    #[error("{what} is not available on {platform}: {why} ({errno})")]
    NotAvailable {
        /// What was asked for.
        what: String,
        /// The platform's name.
        platform: &'static str,
        /// Why not.
        why: &'static str,
        /// What the kernel says to it.
        errno: Errno,
    },

    /// A request that the device refused.
    #[error("{request}: {errno}{}", request_hint(*errno))]
    Ioctl {
        /// The request, as the uAPI header names it.
        request: &'static str,
        /// What it said.
        errno: Errno,
    },

    /// A size that no object can have.
    #[error("invalid size {size}: {why}")]
    BadSize {
        /// The size, in bytes.
        size: u64,
        /// What is wrong with it.
        why: &'static str,
    },

    /// Memory that there is not.
    #[error("cannot allocate {bytes} bytes for {what}: not enough memory")]
    NoMemory {
        /// What it is for.
        what: &'static str,
        /// How much was wanted.
        bytes: u64,
    },

    /// A cache instruction that was asked for and that the CPU lacks.
    #[error("{variable} requests {instruction}, which this CPU does not have")]
    NoCacheInstruction {
        /// The environment variable that asks for it.
        variable: &'static str,
        /// The instruction.
        instruction: &'static str,
    },

    /// Two cache instructions that were asked for and that do the same.
    #[error("{variable} names {instruction} and another instruction of the same kind: name one of each kind")]
    TwoCacheInstructions {
        /// The environment variable that asks for them.
        variable: &'static str,
        /// The second one.
        instruction: &'static str,
    },

    /// A CPU whose cache lines are of an unexpected size.
    #[error("this CPU's cache lines have {bytes} bytes; only lines of 64 bytes are supported")]
    CacheLineSize {
        /// The size, in bytes.
        bytes: u64,
    },

    /// A range that leaves the object.
    #[error("{len} bytes at offset {offset} do not fit in the object of {size} bytes")]
    RangeOutOfBounds {
        /// The first byte.
        offset: u64,
        /// How many bytes.
        len: u64,
        /// The object's size.
        size: u64,
    },

    /// A range that leaves the guard's.
    #[error("{len} bytes at offset {offset} do not fit in the guarded range {start}..{end}")]
    RangeOutOfGuard {
        /// The first byte.
        offset: u64,
        /// How many bytes.
        len: u64,
        /// The guard's first byte.
        start: u64,
        /// One past the guard's last byte.
        end: u64,
    },

    /// A store through a guard that was opened for reading.
    #[error("write to BO {handle} through a read guard: open it with `Bo::write`")]
    WriteThroughReadGuard {
        /// The object.
        handle: u32,
    },

    /// A BO that was closed.
    #[error("BO {handle} is closed")]
    Closed {
        /// The object.
        handle: u32,
    },

    /// A BO whose contents the kernel took back.
    #[error("BO {handle} was purged: its contents are gone, and it cannot be used again")]
    Purged {
        /// The object.
        handle: u32,
    },

    /// A BO whose contents were given up.
    #[error("BO {handle} is marked as not needed: mark it as needed before using it")]
    DontNeed {
        /// The object.
        handle: u32,
    },

    /// A BO that is still accessed.
    #[error(
        "BO {handle} is in use: {writers} write and {readers} read guards are open, {submits} submissions \
         in progress"
    )]
    InUse {
        /// The object.
        handle: u32,
        /// Open write guards.
        writers: u32,
        /// Open read guards.
        readers: u32,
        /// Submissions under way.
        submits: u32,
    },

    /// A BO that the display reads.
    #[error("BO {handle} is on screen: flip away and unpin it first")]
    Pinned {
        /// The object.
        handle: u32,
    },

    /// A BO whose level another thread is changing.
    #[error("another thread is changing the caching mode of BO {handle}: try again when it is done")]
    LevelChanging {
        /// The object.
        handle: u32,
    },

    /// A BO that belongs to another device.
    #[error("BO {handle} was opened on another device: export it there and import it here")]
    OtherDevice {
        /// The object, on the other device.
        handle: u32,
    },

    /// More guards than the object's word can count.
    #[error("BO {handle} already has {limit} open guards, the most possible: drop one first")]
    TooManyGuards {
        /// The object.
        handle: u32,
        /// The limit.
        limit: u32,
    },

    /// A change of caching that would hang the caller in the kernel.
    #[error(
        "cannot set BO {handle} to level {to}: it is on screen at level {from}, and SET_CACHING would block \
         until it is flipped away; flip away first"
    )]
    OnScreen {
        /// The object.
        handle: u32,
        /// The level it has.
        from: crate::vocabulary::CacheLevel,
        /// The level asked for.
        to: crate::vocabulary::CacheLevel,
    },

    /// A file of tracefs that cannot be found, read or written.
    #[error("cannot {action} {path}: {errno}{}", trace_hint(*errno))]
    Tracing {
        /// What was being done: find, read, write, make or remove.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the kernel said.
        errno: Errno,
    },

    /// Part of a command that its bits cannot say.
    #[error("{what} {value} cannot be encoded in a batch: {why}")]
    NotEncodable {
        /// Which part of it.
        what: &'static str,
        /// What was asked for.
        value: u64,
        /// What is wrong with it.
        why: &'static str,
    },

    /// No room in the GPU's address space.
    #[error("no room for {bytes} bytes in the GPU's address space")]
    NoAddress {
        /// How much was wanted.
        bytes: u64,
    },

    /// A batch of the device hung the GPU while another was waited for, or that one itself.
    #[error("the GPU hung and was reset: {hangs} batches of this device have hung since it was opened")]
    Hung {
        /// How many did, since the device was opened.
        hangs: u32,
    },

    /// A device that was opened before this process was forked.
    #[error("the device was opened before fork(2), by the parent process: open it again in this process")]
    OtherProcess,

    /// A wait that ran out.
    #[error("BO {handle} is still busy after {timeout_ns} ns")]
    Timeout {
        /// The object.
        handle: u32,
        /// How long was waited, in nanoseconds.
        timeout_ns: i64,
    },
}

/// A vector with room for `len` elements, whose number the caller of the library decides.
///
/// # Errors
/// [`Error::NoMemory`], where a vector that grows by itself would end the process.
#[doc(hidden)]
pub fn room<T>(what: &'static str, len: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    grow(&mut elements, what, len)?;
    Ok(elements)
}

/// Makes room for `more` elements.
///
/// # Errors
/// As [`room`].
#[doc(hidden)]
pub fn grow<T>(elements: &mut Vec<T>, what: &'static str, more: usize) -> Result<()> {
    let bytes = (elements.len() as u64).saturating_add(more as u64).saturating_mul(size_of::<T>() as u64);
    elements.try_reserve(more).map_err(|_| Error::NoMemory { what, bytes })
}

impl Error {
    /// What the kernel said, or would say, to the same mistake.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Open { errno, .. }
            | Self::NotAvailable { errno, .. }
            | Self::NoScreen { errno, .. }
            | Self::Tracing { errno, .. }
            | Self::Ioctl { errno, .. } => *errno,
            Self::UnknownWord { .. }
            | Self::TwoCacheInstructions { .. }
            | Self::BadKernelVersion { .. }
            | Self::KernelTooOld { .. }
            | Self::BadDeviceSpec { .. }
            | Self::BadSize { .. }
            | Self::NotEncodable { .. }
            | Self::RangeOutOfBounds { .. }
            | Self::RangeOutOfGuard { .. }
            | Self::OtherDevice { .. } => Errno::EINVAL,
            Self::NoDevice { .. }
            | Self::NotADevice { .. }
            | Self::NotDrm { .. }
            | Self::NotI915 { .. }
            | Self::UnknownDeviceId { .. }
            | Self::UnknownPlatform { .. } => Errno::ENODEV,
            Self::NoCacheInstruction { .. } | Self::CacheLineSize { .. } => Errno::EOPNOTSUPP,
            Self::WriteThroughReadGuard { .. } | Self::NotMaster { .. } => Errno::EACCES,
            Self::Closed { .. } => Errno::ENOENT,
            Self::Purged { .. } | Self::DontNeed { .. } => Errno::EFAULT,
            Self::InUse { .. } | Self::Pinned { .. } | Self::LevelChanging { .. } | Self::OnScreen { .. } => {
                Errno::EBUSY
            }
            Self::NoMemory { .. } => Errno::ENOMEM,
            Self::TooManyGuards { .. } => Errno::EOVERFLOW,
            Self::Timeout { .. } => Errno::ETIME,
            Self::NoAddress { .. } => Errno::ENOSPC,
            Self::Hung { .. } => Errno::EIO,
            Self::OtherProcess => Errno::ECHILD,
        }
    }
}
/// The failure of an ioctl that a driver makes itself ([`crate::device::Device::submit_with`]).
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let errno = error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw);
        Self::Ioctl { request: "the caller's execbuf", errno }
    }
}
