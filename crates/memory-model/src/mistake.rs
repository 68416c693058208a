//! The mistakes of programs: accesses that miss newer bytes, or destroy them, and requests that the kernel refuses because they would.

use gem_coherency_policy::vocabulary::words;

words! {
    /// A mistake of a program, by its effect. The word is that of reports and suppressions.
    Mistake, "mistake" {
        /// An agent read memory, and the CPU's cache had newer bytes.
        StaleRead = "stale read",
        /// An agent wrote memory under lines that were dirty in the CPU's cache: their write-back destroys what it wrote.
        LostWrite = "lost write",
        /// The CPU, or an agent that looks its cache up, read clean cached bytes, and memory had newer ones.
        StaleCpuRead = "stale CPU read",
        /// The program loaded old bytes of a stale line through its mapping: an invalidate was missing.
        MissingInvalidate = "missing invalidate",
        /// A shown line was dirty in the CPU's cache, and the program had not told the kernel, when two vertical blanks had passed, the
        /// plane showed other lines, or the program ended.
        DirtyOnScreen = "dirty on screen",
        /// A draw or a dispatch had a surface with lines that were dirty in the CPU's cache, on a route by which the GPU does not
        /// see them, and a shader that is not executed: whether it read them, or wrote memory under them, is not known.
        DirtySurface = "dirty surface",
        /// An object of a batch had dirty lines that the GPU did not see; whether it read them is not known.
        DirtyAtSubmission = "dirty at submission",
        /// The command streamer of a copy engine read what a fill or a copy of its batch wrote, without a flush in between.
        UnflushedGpuWrite = "unflushed GPU write",
        /// A batch that polled memory read stores to a write-combining mapping, of which no fence had drained the CPU's buffers before the store that
        /// the batch waited for.
        UndrainedStore = "undrained store",
        /// The kernel (xe) refused how memory was to be cached: by `cpu_caching`, or by a PAT index.
        RefusedRequest = "refused request",
    }
}

impl Mistake {
    /// Returns whether the agent is known to have accessed the lines, or the kernel to have refused the request.
    #[must_use]
    pub const fn is_certain(self) -> bool {
        !matches!(self, Self::DirtySurface | Self::DirtyAtSubmission)
    }
}
