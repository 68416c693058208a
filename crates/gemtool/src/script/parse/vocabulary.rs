//! The language's own words.

use gem_coherency::vocabulary::words;

words! {
    /// The first word of a line of a script, or the first after `NAME =`.
    Verb, "statement" {
        /// `NAME = alloc SIZE [caching=MODE] [map=MODE] [pat=INDEX] [on=FILE]`
        Alloc = "alloc",
        /// `NAME = userptr SIZE [on=FILE]`
        Userptr = "userptr",
        /// `NAME = export BO`
        Export = "export",
        /// `NAME = import DMABUF [on=FILE]`
        Import = "import",
        /// `NAME = open [DEVICE]`
        Open = "open",
        /// `map BO MODE`
        Map = "map",
        /// `write BO RANGE fill=PATTERN [raw[=MODE]]`
        Write = "write",
        /// `read BO RANGE [expect=PATTERN] [raw[=MODE]]`
        Read = "read",
        /// `pwrite BO RANGE fill=PATTERN`
        Pwrite = "pwrite",
        /// `pread BO RANGE [expect=PATTERN]`
        Pread = "pread",
        /// `gpu-write BO RANGE fill=PATTERN [mocs=CLASS]`
        GpuWrite = "gpu-write",
        /// `submit BO [access=ACCESS] [mocs=CLASS] [BO ...]`
        Submit = "submit",
        /// `dispatch MODULE BINDING=BO [mocs=CLASS] ... [groups=X,Y,Z] [extent=WxH] [entry=NAME] [spec=ID=VALUE] [no-hoist-discard] [raw]`
        Dispatch = "dispatch",
        /// `scanout BO`
        Scanout = "scanout",
        /// `off-screen BO`
        OffScreen = "off-screen",
        /// `show BO`
        Show = "show",
        /// `dirtyfb BO`
        DirtyFb = "dirtyfb",
        /// `set-caching BO MODE`
        SetCaching = "set-caching",
        /// `domain BO DOMAIN ACCESS`
        Domain = "domain",
        /// `sw-finish BO`
        SwFinish = "sw-finish",
        /// `sync DMABUF EDGE ACCESS`
        Sync = "sync",
        /// `flush BO`
        Flush = "flush",
        /// `wait BO`
        Wait = "wait",
        /// `close NAME`
        Close = "close",
        /// `suspend`
        Suspend = "suspend",
        /// `hibernate`
        Hibernate = "hibernate",
        /// `resume`
        Resume = "resume",
        /// `expect [not] CLAIM`, `expect error ERRNO: STATEMENT`
        Expect = "expect",
        /// `where CONDITION...: STATEMENT`
        Where = "where",
        /// `needs CONDITION...`
        Needs = "needs",
    }
}

/// The kind of statement that a verb makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Creates an object and names it.
    Makes,
    /// Performs a statement.
    Does,
    /// Checks an expectation.
    Expects,
    /// Restricts one statement.
    Guards,
    /// Restricts the rest of the script.
    Needs,
}

impl Verb {
    /// Returns the kind of statement.
    pub(super) const fn role(self) -> Role {
        match self {
            Self::Alloc | Self::Userptr | Self::Export | Self::Import | Self::Open => Role::Makes,
            Self::Map
            | Self::Write
            | Self::Read
            | Self::Pwrite
            | Self::Pread
            | Self::GpuWrite
            | Self::Submit
            | Self::Dispatch
            | Self::Scanout
            | Self::OffScreen
            | Self::Show
            | Self::DirtyFb
            | Self::SetCaching
            | Self::Domain
            | Self::SwFinish
            | Self::Sync
            | Self::Flush
            | Self::Wait
            | Self::Close
            | Self::Suspend
            | Self::Hibernate
            | Self::Resume => Role::Does,
            Self::Expect => Role::Expects,
            Self::Where => Role::Guards,
            Self::Needs => Role::Needs,
        }
    }
}

words! {
    /// The subject of a claim.
    Subject, "claim" {
        /// `verdict BO VERDICT [lines=N] [rule=RULE]`
        Verdict = "verdict",
        /// `caching BO MODE`
        Caching = "caching",
        /// `level BO LEVEL`
        Level = "level",
        /// `dirty BO COMPARISON N`
        Dirty = "dirty",
        /// `stale BO COMPARISON N`
        Stale = "stale",
        /// `same BO BO`
        Same = "same",
        /// `kernel-flushes BO COMPARISON N [rule=RULE]`
        KernelFlushes = "kernel-flushes",
        /// `lines-read BO COMPARISON N`
        LinesRead = "lines-read",
        /// `lines-written BO COMPARISON N`
        LinesWritten = "lines-written",
        /// `lines-stale BO COMPARISON N`
        LinesStale = "lines-stale",
        /// `gpu-reads BO RANGE PATTERN [mocs=CLASS]`
        GpuReads = "gpu-reads",
        /// `display-reads BO RANGE PATTERN`
        DisplayReads = "display-reads",
    }
}
