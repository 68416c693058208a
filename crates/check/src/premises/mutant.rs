//! Deliberate changes to the model: a removed rule or a planted fault.

use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::words;

words! {
    /// A planted fault that a check must detect.
    Mutant, "mutant" {
        /// No fence before a flush: an invalidate may happen before the wait for the GPU ends.
        NoLeadingFence = "no-leading-fence",
        /// No fence after a flush: the next agent may start before it completes.
        NoTrailingFence = "no-trailing-fence",
        /// The last line of every flush is skipped.
        OneLineShort = "one-line-short",
        /// CLWB is used where lines must be dropped.
        InvalidateWithClwb = "invalidate-with-clwb",
        /// Lines are flushed before the store, not after it.
        FlushBeforeStore = "flush-before-store",
        /// Bits are cleared before the flush, and another thread trusts them meanwhile.
        BitsClearedFirst = "bits-cleared-first",
        /// A flush drops dirty lines without writing them back (INVD).
        FlushDropsDirty = "flush-drops-dirty",
        /// A partial store into a stale line does not invalidate it first.
        PartialStoreKeepsStale = "partial-store-keeps-stale",
        /// The GPU's writes are not noted.
        GpuWriteNotNoted = "gpu-write-not-noted",
        /// The GPU's writes are noted before the ioctl but not after it.
        GpuWriteNotedOnce = "gpu-write-noted-once",
        /// SET_CACHING is not preceded by SET_DOMAIN although memory was written around the cache.
        LevelWithoutDomain = "level-without-domain",
        /// A late mapping loses the record of earlier writes around the cache.
        LateMapForgets = "late-map-forgets",
        /// An upload takes the dirty marks, and leaves what it stored in the cache.
        UploadStaysInCache = "upload-stays-in-cache",
        /// A reused object starts with no tracked state.
        ReuseForgets = "reuse-forgets",
        /// The hierarchy drops the transfer before an access.
        TransferLost = "transfer-lost",
        /// The GPU misses a line that a snoop or a lookup finds.
        SnoopMisses = "snoop-misses",
        /// A write that must drop the CPU's line keeps it.
        WriteKeepsLine = "write-keeps-line",
    }
}

impl Mutant {
    /// The fault, in one sentence.
    pub const fn statement(self) -> &'static str {
        match self {
            Self::NoLeadingFence => "An invalidate happens before the wait for the GPU ends.",
            Self::NoTrailingFence => "The next agent begins before the flush completes.",
            Self::OneLineShort => "Every flush omits its last line.",
            Self::InvalidateWithClwb => "CLWB is used where lines must be dropped.",
            Self::FlushBeforeStore => "Lines are flushed before the store instead of after it.",
            Self::BitsClearedFirst => "Bits are cleared before the flush, and another thread relies on them.",
            Self::FlushDropsDirty => "A flush drops dirty lines without writing them back.",
            Self::PartialStoreKeepsStale => "A partial store to a stale line does not invalidate it first.",
            Self::GpuWriteNotNoted => "A submission's GPU writes are not recorded as pending.",
            Self::GpuWriteNotedOnce => {
                "A submission's GPU writes are recorded as pending before the ioctl but not after it."
            }
            Self::LevelWithoutDomain => {
                "SET_CACHING is not preceded by SET_DOMAIN after writes that bypassed the cache."
            }
            Self::LateMapForgets => "A late mapping loses track of earlier writes that bypassed the cache.",
            Self::UploadStaysInCache => "An upload takes the dirty marks but leaves its stores in the cache.",
            Self::ReuseForgets => "A reused object begins with empty tracked state.",
            Self::TransferLost => "The line that moves before an access is lost.",
            Self::SnoopMisses => "The GPU misses a line that a snoop or a look-up finds.",
            Self::WriteKeepsLine => "A write that should drop the CPU's line keeps it.",
        }
    }
}

/// The change to the rules or the model, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// None: the rules as they are.
    #[default]
    None,
    /// This rule's required work is skipped, and the work that it spares is done.
    Without(Rule),
    /// This fault is planted.
    Planted(Mutant),
    /// The kernel's asynchronous flushes never happen.
    NoAsyncFlush,
}

impl Mutation {
    /// Returns whether this fault is planted.
    pub fn is(self, mutant: Mutant) -> bool {
        self == Self::Planted(mutant)
    }

    /// Returns whether this rule was removed.
    pub fn lacks(self, rule: Rule) -> bool {
        self == Self::Without(rule)
    }
}
