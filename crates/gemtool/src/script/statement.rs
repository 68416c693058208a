//! The statements of a script, as data.

use std::fmt;

use gem_coherency::Errno;

use super::Pattern;
use super::error::Place;
use super::shader::{Dispatch, Touch};
use super::values::count::Count;
use gem_coherency::platform::{Caps, Driver, Platform};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{
    Access, CacheLevel, CachingMode, Domains, KernelVersion, MmapMode, MocsClass,
};

/// A name that a script gives to a BO, a dma-buf or a device file; [`Script::name`] returns its letters.
///
/// [`Script::name`]: super::Script::name
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub(super) usize);

/// A non-empty line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The place of its verb.
    pub place: Place,
    /// Its words, separated by single blanks, without a comment.
    pub text: String,
    /// The whole line, unchanged.
    pub line: &'a str,
    /// Its conditions: unless all of them hold, the step is skipped.
    pub conditions: Vec<Condition>,
    /// Its action.
    pub action: Action,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Skips the rest of the script unless all of these conditions hold.
    Needs(Vec<Condition>),
    /// Performs a statement.
    Do(Statement),
    /// Creates an object, and names it.
    Make(Name, Making),
    /// Expects a claim to be true.
    Expect {
        /// The claim is expected to be false.
        negated: bool,
        /// The claim.
        claim: Claim,
    },
    /// Expects a statement to be refused.
    ExpectError {
        /// The expected errno.
        errno: Errno,
        /// The statement.
        attempt: Attempt,
    },
}

/// An object to create, or a device file to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Making {
    /// A BO.
    Alloc {
        /// Size in bytes.
        size: u64,
        /// The caching mode, if it is not the platform's default.
        caching: Option<CachingMode>,
        /// The PAT index, if the script chooses it.
        pat: Option<u32>,
        /// The map mode, if it is not the library's choice.
        map: Option<MmapMode>,
        /// The device file, if it is not the script's first one.
        on: Option<Name>,
    },
    /// A BO of the process's own pages.
    Userptr {
        /// Size in bytes.
        size: u64,
        /// The device file, if it is not the script's first one.
        on: Option<Name>,
    },
    /// A dma-buf of a BO.
    Export(Name),
    /// The BO behind a dma-buf.
    Import {
        /// The dma-buf.
        dma_buf: Name,
        /// The device file, if it is not the script's first one.
        on: Option<Name>,
    },
    /// Another file of the script's device, or a file of the device that this names.
    Open(Option<String>),
}

/// A statement that is expected to be refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// A statement without a new object.
    Do(Statement),
    /// The creation of an object; it is released if the creation is not refused.
    Make(Making),
}

/// The path by which the CPU accesses a BO's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through a guard: the library tracks the access, flushes and invalidates.
    Guard,
    /// Through a separate mapping that the library does not track; `None` is the BO's map mode.
    Raw(Option<MmapMode>),
    /// By PREAD or PWRITE.
    Request,
}

/// Bytes of a BO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Every byte.
    All,
    /// `len` bytes at `offset`; the sum fits into 64 bits.
    Bytes {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        len: u64,
    },
}

/// The access of a batch to one BO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The BO.
    pub bo: Name,
    /// The GPU's access.
    pub access: Access,
    /// Its MOCS class.
    pub mocs: MocsClass,
}

/// A power transition of the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Sleep (S3).
    Suspend,
    /// Hibernation (S4).
    Hibernate,
    /// Wake-up.
    Resume,
}

/// An end of a CPU access to a dma-buf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The access begins.
    Start,
    /// The access ends.
    End,
}

/// A statement that changes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Changes the BO's map mode.
    Map(Name, MmapMode),
    /// Writes by the CPU.
    Write {
        /// The BO.
        bo: Name,
        /// The bytes.
        range: Range,
        /// Their new contents.
        fill: Pattern,
        /// The path.
        way: Way,
    },
    /// Reads by the CPU.
    Read {
        /// The BO.
        bo: Name,
        /// The bytes.
        range: Range,
        /// Their expected contents, if given.
        expect: Option<Pattern>,
        /// The path.
        way: Way,
    },
    /// Writes by the GPU, on a software device.
    GpuWrite {
        /// The BO.
        bo: Name,
        /// The bytes.
        range: Range,
        /// Their new contents.
        fill: Pattern,
        /// The GPU's MOCS class.
        mocs: MocsClass,
    },
    /// Submits BOs with an empty batch.
    Submit(Vec<Use>),
    /// Runs a shader on BOs.
    Dispatch(Box<Dispatch>),
    /// Prepares the BO for the display engine.
    Scanout(Name),
    /// Takes the BO off the screen.
    OffScreen(Name),
    /// Shows the BO on a screen.
    Show(Name),
    /// DIRTYFB, for the BO's framebuffer.
    DirtyFb(Name),
    /// Changes the caching mode.
    SetCaching(Name, CachingMode),
    /// SET_DOMAIN.
    Domain {
        /// The BO.
        bo: Name,
        /// The domain.
        domain: Domains,
        /// Read for reading only, write for both.
        access: Access,
    },
    /// SW_FINISH.
    SwFinish(Name),
    /// DMA_BUF_IOCTL_SYNC.
    Sync {
        /// The dma-buf.
        dma_buf: Name,
        /// Whether the access begins or ends.
        edge: Edge,
        /// Read for reading only, write for both.
        access: Access,
    },
    /// Flushes all dirty lines.
    Flush(Name),
    /// Waits for the GPU.
    Wait(Name),
    /// Closes the BO or the dma-buf.
    Close(Name),
    /// Suspends or resumes the machine, on a software device.
    Power(Power),
}

/// A claim about the current state or the last statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The library's decision on a BO at the last statement.
    Verdict {
        /// The BO.
        bo: Name,
        /// The verdict.
        verdict: Verdict,
        /// The number of lines, if given.
        lines: Option<u64>,
        /// The rule, if given.
        rule: Option<Rule>,
    },
    /// The mode that GET_CACHING returns.
    Caching(Name, CachingMode),
    /// The BO's level in the library's tracked state.
    Level(Name, CacheLevel),
    /// The number of lines tracked as dirty.
    Dirty(Name, Count),
    /// The number of lines tracked as stale.
    Stale(Name, Count),
    /// The number of flushes of a BO by the kernel at the last statement, on a software device.
    KernelFlushes {
        /// The BO.
        bo: Name,
        /// The number.
        count: Count,
        /// The rule, if given.
        rule: Option<Rule>,
    },
    /// The bytes that the GPU reads, on a software device.
    GpuReads {
        /// The BO.
        bo: Name,
        /// The bytes.
        range: Range,
        /// Their contents.
        pattern: Pattern,
        /// The GPU's MOCS class.
        mocs: MocsClass,
    },
    /// The bytes that the display engine reads, on a software device.
    DisplayReads {
        /// The BO.
        bo: Name,
        /// The bytes.
        range: Range,
        /// Their contents.
        pattern: Pattern,
    },
    /// The number of lines of a BO that the last statement's shader accessed, on a software device.
    Lines {
        /// The BO.
        bo: Name,
        /// The kind of access.
        touch: Touch,
        /// The number.
        count: Count,
    },
    /// The two names belong to the same BO.
    Same(Name, Name),
}

/// A condition on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The fact must be false.
    pub negated: bool,
    /// The fact.
    pub fact: Fact,
}

/// A fact about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// It is a software device.
    Software,
    /// It has the capability.
    Cap(Caps),
    /// It is this platform.
    Platform(&'static Platform),
    /// The kernel is this version or a later one.
    KernelFrom(KernelVersion),
    /// New BOs can be mapped in this mode.
    Map(MmapMode),
    /// This driver drives it.
    Driver(Driver),
}

/// Returns the name of a capability in lower case with hyphens.
pub(super) fn cap_word(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negated {
            f.write_str("!")?;
        }
        match self.fact {
            Fact::Software => f.write_str("software"),
            Fact::Cap(cap) => cap.iter_names().try_for_each(|(name, _)| f.write_str(&cap_word(name))),
            Fact::Platform(platform) => write!(f, "platform={platform}"),
            Fact::KernelFrom(version) => write!(f, "kernel>={version}"),
            Fact::Map(mode) => write!(f, "map={mode}"),
            Fact::Driver(driver) => write!(f, "driver={driver}"),
        }
    }
}

impl Statement {
    /// Returns whether only a software device can perform it.
    pub fn is_for_software(&self) -> bool {
        match self {
            Self::GpuWrite { .. } | Self::Power(_) => true,
            Self::Dispatch(dispatch) => dispatch.is_raw,
            Self::Map(..)
            | Self::Write { .. }
            | Self::Read { .. }
            | Self::Submit(_)
            | Self::Scanout(_)
            | Self::OffScreen(_)
            | Self::Show(_)
            | Self::DirtyFb(_)
            | Self::SetCaching(..)
            | Self::Domain { .. }
            | Self::SwFinish(_)
            | Self::Sync { .. }
            | Self::Flush(_)
            | Self::Wait(_)
            | Self::Close(_) => false,
        }
    }
}

impl Claim {
    /// Returns whether only a software device can check it.
    pub fn is_for_software(&self) -> bool {
        match self {
            Self::KernelFlushes { .. }
            | Self::GpuReads { .. }
            | Self::DisplayReads { .. }
            | Self::Lines { .. } => true,
            Self::Verdict { .. }
            | Self::Caching(..)
            | Self::Level(..)
            | Self::Dirty(..)
            | Self::Stale(..)
            | Self::Same(..) => false,
        }
    }
}

impl Action {
    /// Returns whether only a software device can perform or check it.
    pub fn is_for_software(&self) -> bool {
        match self {
            Self::Do(statement) | Self::ExpectError { attempt: Attempt::Do(statement), .. } => {
                statement.is_for_software()
            }
            Self::Expect { claim, .. } => claim.is_for_software(),
            Self::Needs(_) | Self::Make(..) | Self::ExpectError { attempt: Attempt::Make(_), .. } => false,
        }
    }
}
