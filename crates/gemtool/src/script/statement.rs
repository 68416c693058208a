//! What a script says, as data.

use std::fmt;

use gem_coherency::Errno;

use super::Pattern;
use super::error::Place;
use gem_coherency::platform::{Caps, Platform};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{
    Access, CacheLevel, CachingMode, Domains, KernelVersion, MmapMode, MocsClass,
};

/// A name that a script gives to a BO or a dma-buf; [`Script::name`] has its letters.
///
/// [`Script::name`]: super::Script::name
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub(super) usize);

/// One line of a script that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Where its verb stands.
    pub place: Place,
    /// Its words, one blank between them and no comment.
    pub text: String,
    /// The whole line, as it was written.
    pub line: &'a str,
    /// Where it is said: all of them must hold, or the step is skipped.
    pub conditions: Vec<Condition>,
    /// What it says.
    pub action: Action,
}

/// What a step says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The rest of the script is for devices of which all of this is true.
    Needs(Vec<Condition>),
    /// Something is done.
    Do(Statement),
    /// Something is made, and named.
    Make(Name, Making),
    /// Something is true now.
    Expect {
        /// Whether it is expected not to be.
        negated: bool,
        /// What.
        claim: Claim,
    },
    /// Something is refused.
    ExpectError {
        /// With this errno.
        errno: Errno,
        /// What.
        attempt: Attempt,
    },
}

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// A BO.
    Alloc {
        /// Bytes.
        size: u64,
        /// The caching mode, if not the platform's.
        caching: Option<CachingMode>,
        /// The map mode, if not the library's choice.
        map: Option<MmapMode>,
    },
    /// A dma-buf of a BO.
    Export(Name),
    /// The BO behind a dma-buf.
    Import(Name),
}

/// What is expected to be refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Something done.
    Do(Statement),
    /// Something made; it is given back if it is not refused.
    Make(Making),
}

/// How the CPU gets at a BO's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through a guard: the library tracks it, flushes and invalidates.
    Guard,
    /// Through a mapping of its own that the library does not know of; `None` is the BO's map mode.
    Raw(Option<MmapMode>),
    /// With PREAD or PWRITE.
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
        /// How many.
        len: u64,
    },
}

/// What a batch does to one BO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The BO.
    pub bo: Name,
    /// What the GPU does.
    pub access: Access,
    /// How it gets at memory.
    pub mocs: MocsClass,
}

/// What the whole machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// It goes to sleep (S3).
    Suspend,
    /// It goes to hibernation (S4).
    Hibernate,
    /// It wakes up.
    Resume,
}

/// Something that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// The BO's map mode changes.
    Map(Name, MmapMode),
    /// The CPU writes.
    Write {
        /// The BO.
        bo: Name,
        /// Which bytes.
        range: Range,
        /// What is written.
        fill: Pattern,
        /// How.
        way: Way,
    },
    /// The CPU reads.
    Read {
        /// The BO.
        bo: Name,
        /// Which bytes.
        range: Range,
        /// What is expected there, if something is.
        expect: Option<Pattern>,
        /// How.
        way: Way,
    },
    /// The GPU writes bytes, on a software device.
    GpuWrite {
        /// The BO.
        bo: Name,
        /// Which bytes.
        range: Range,
        /// What is written.
        fill: Pattern,
        /// How the GPU gets at memory.
        mocs: MocsClass,
    },
    /// BOs are handed to the GPU with an empty batch.
    Submit(Vec<Use>),
    /// The BO is made ready for the display engine.
    Scanout(Name),
    /// The display engine shows something else.
    OffScreen(Name),
    /// The caching mode changes.
    SetCaching(Name, CachingMode),
    /// SET_DOMAIN.
    Domain {
        /// The BO.
        bo: Name,
        /// Which domain.
        domain: Domains,
        /// For reading only, or for writing too.
        access: Access,
    },
    /// Whatever is dirty is flushed.
    Flush(Name),
    /// The GPU is waited for.
    Wait(Name),
    /// The BO, or the dma-buf, is closed.
    Close(Name),
    /// The machine sleeps or wakes, on a software device.
    Power(Power),
}

/// What may be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The library's decision about a BO at the last statement.
    Verdict {
        /// The BO.
        bo: Name,
        /// What was needed.
        verdict: Verdict,
        /// How many lines it was done to.
        lines: Option<u64>,
        /// By which rule.
        rule: Option<Rule>,
    },
    /// What GET_CACHING says.
    Caching(Name, CachingMode),
    /// The level that the library takes the BO to have.
    Level(Name, CacheLevel),
    /// How many lines the library holds for dirty.
    Dirty(Name, Count),
    /// How many lines the library holds for stale.
    Stale(Name, Count),
    /// How often the kernel flushed a BO at the last statement, on a software device.
    KernelFlushes {
        /// The BO.
        bo: Name,
        /// How often.
        count: Count,
        /// By which rule, if one is meant.
        rule: Option<Rule>,
    },
    /// What the GPU reads, on a software device.
    GpuReads {
        /// The BO.
        bo: Name,
        /// Which bytes.
        range: Range,
        /// What is there.
        pattern: Pattern,
        /// How the GPU gets at memory.
        mocs: MocsClass,
    },
    /// What the display engine reads, on a software device.
    DisplayReads {
        /// The BO.
        bo: Name,
        /// Which bytes.
        range: Range,
        /// What is there.
        pattern: Pattern,
    },
    /// Two names are one BO's.
    Same(Name, Name),
}

/// How a number compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `==`
    Equal,
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
}

/// A number that another is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// How.
    pub compare: Compare,
    /// With what.
    pub number: u64,
}

impl Count {
    /// Whether `seen` is as it says.
    pub fn holds(self, seen: u64) -> bool {
        match self.compare {
            Compare::Equal => seen == self.number,
            Compare::AtLeast => seen >= self.number,
            Compare::AtMost => seen <= self.number,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.compare {
            Compare::Equal => {}
            Compare::AtLeast => f.write_str("at least ")?,
            Compare::AtMost => f.write_str("at most ")?,
        }
        self.number.fmt(f)
    }
}

/// Something that is true of a device, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Whether it must not be true.
    pub negated: bool,
    /// What.
    pub fact: Fact,
}

/// What may be true of a device.
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
    /// BOs that are created can be mapped so.
    Map(MmapMode),
}

/// A capability's name as people write it.
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
        }
    }
}

impl Statement {
    /// Whether only a software device can do it.
    pub fn is_for_software(&self) -> bool {
        match self {
            Self::GpuWrite { .. } | Self::Power(_) => true,
            Self::Map(..)
            | Self::Write { .. }
            | Self::Read { .. }
            | Self::Submit(_)
            | Self::Scanout(_)
            | Self::OffScreen(_)
            | Self::SetCaching(..)
            | Self::Domain { .. }
            | Self::Flush(_)
            | Self::Wait(_)
            | Self::Close(_) => false,
        }
    }
}

impl Claim {
    /// Whether only a software device can tell.
    pub fn is_for_software(&self) -> bool {
        match self {
            Self::KernelFlushes { .. } | Self::GpuReads { .. } | Self::DisplayReads { .. } => true,
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
    /// Whether only a software device can do it, or tell.
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
