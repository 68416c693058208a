//! What can be changed in the model on purpose: a rule taken away, or a fault planted.

use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::words;

words! {
    /// A fault that a check has to notice.
    Mutant, "mutant" {
        /// No fence before a flush: an invalidate may happen before the wait for the GPU is over.
        NoLeadingFence = "no-leading-fence",
        /// No fence after a flush: the next agent may begin before it is over.
        NoTrailingFence = "no-trailing-fence",
        /// The last line of every flush is left out.
        OneLineShort = "one-line-short",
        /// CLWB where lines have to be dropped.
        InvalidateWithClwb = "invalidate-with-clwb",
        /// Lines are flushed before the store, not after it.
        FlushBeforeStore = "flush-before-store",
        /// Bits are cleared before the flush, and another thread trusts them meanwhile.
        BitsClearedFirst = "bits-cleared-first",
        /// A flush drops dirty lines without writing them back (INVD).
        FlushDropsDirty = "flush-drops-dirty",
        /// A partial store into a stale line does not invalidate it first.
        PartialStoreKeepsStale = "partial-store-keeps-stale",
        /// What the GPU is told to write is not noted.
        GpuWriteNotNoted = "gpu-write-not-noted",
        /// What the GPU is told to write is noted before the ioctl, and not after it.
        GpuWriteNotedOnce = "gpu-write-noted-once",
        /// SET_CACHING is not preceded by SET_DOMAIN where memory was written around the cache.
        LevelWithoutDomain = "level-without-domain",
        /// A mapping that is made late forgets what was written around the cache before.
        LateMapForgets = "late-map-forgets",
        /// An upload takes the dirty marks, and leaves what it stored in the cache.
        UploadStaysInCache = "upload-stays-in-cache",
        /// An object that is used again begins with nothing tracked.
        ReuseForgets = "reuse-forgets",
        /// The hierarchy loses the line that moves before an access.
        TransferLost = "transfer-lost",
        /// The GPU misses the line that a snoop or a look-up finds.
        SnoopMisses = "snoop-misses",
        /// A write that drops the CPU's line leaves it.
        WriteKeepsLine = "write-keeps-line",
    }
}

impl Mutant {
    /// What is done wrong, in one sentence.
    pub const fn statement(self) -> &'static str {
        match self {
            Self::NoLeadingFence => "An invalidate happens before the wait for the GPU is over.",
            Self::NoTrailingFence => "The next agent begins before the flush is over.",
            Self::OneLineShort => "The last line of every flush is left out.",
            Self::InvalidateWithClwb => "CLWB is used where lines have to be dropped.",
            Self::FlushBeforeStore => "Lines are flushed before the store, not after it.",
            Self::BitsClearedFirst => "Bits are cleared before the flush, and another thread trusts them.",
            Self::FlushDropsDirty => "A flush drops dirty lines without writing them back.",
            Self::PartialStoreKeepsStale => "A partial store into a stale line does not invalidate it first.",
            Self::GpuWriteNotNoted => "What the GPU is told to write is not noted.",
            Self::GpuWriteNotedOnce => {
                "What the GPU is told to write is noted before the ioctl, and not after it."
            }
            Self::LevelWithoutDomain => {
                "SET_CACHING is not preceded by SET_DOMAIN where memory was written around the cache."
            }
            Self::LateMapForgets => "A late mapping forgets what was written around the cache before.",
            Self::UploadStaysInCache => {
                "An upload takes the dirty marks, and leaves what it stored in the cache."
            }
            Self::ReuseForgets => "An object that is used again begins with nothing tracked.",
            Self::TransferLost => "The line that moves before an access is lost.",
            Self::SnoopMisses => "The GPU misses the line that a snoop or a look-up finds.",
            Self::WriteKeepsLine => "A write that drops the CPU's line leaves it.",
        }
    }
}

/// What is changed, if anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// Nothing: the rules as they are.
    #[default]
    None,
    /// What this rule demands is not done; what it spares is done all the same.
    Without(Rule),
    /// This fault.
    Planted(Mutant),
    /// Flushes that the kernel leaves to a worker never happen.
    NoAsyncFlush,
}

impl Mutation {
    /// Returns whether this fault is planted.
    pub fn is(self, mutant: Mutant) -> bool {
        self == Self::Planted(mutant)
    }

    /// Returns whether this rule was taken away.
    pub fn lacks(self, rule: Rule) -> bool {
        self == Self::Without(rule)
    }
}
