//! Named assumptions about the hardware.

use std::fmt;

use gem_coherency_policy::vocabulary::words;

/// Declares the assumptions: variant = name, number: statement, source.
macro_rules! assumptions {
    ($($variant:ident = $name:literal, $id:literal: $statement:literal, $source:literal;)+) => {
        words! {
            /// An assumption about hardware that the model does not derive.
            Assumption, "assumption" { $(#[doc = $statement] $variant = $name,)+ }
        }

        impl Assumption {
            /// Its number in the documentation: `A1`.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }

            /// The assumption, in one sentence.
            pub const fn statement(self) -> &'static str {
                match self { $(Self::$variant => $statement,)+ }
            }

            /// Its source: a manual, a kernel comment, or code that relies on it.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)+ }
            }
        }
    };
}

assumptions! {
    CleanNeverWrittenBack = "clean-never-written-back", "A1":
        "A clean line is dropped, never written back.",
        "Intel SDM volume 3, 12.4 (MESI: only M lines are written back); kernel-doc of cache_dirty (3821cc7fc0b9)";
    LlcGpuWritesCoherent = "llc-gpu-writes-coherent", "A2":
        "On LLC parts every GPU write keeps the LLC coherent, at any level and with any MOCS entry.",
        "kernel-doc of cache_coherent (3821cc7fc0b9): with an LLC only reads can be non-coherent";
    BypassIsForReads = "bypass-is-for-reads", "A3":
        "On JSL and EHL only reads bypass the LLC with the bypassing MOCS entries; writes stay coherent.",
        "kernel-doc of cache_dirty (13d29c823738): userspace can bypass the GTT caching bits for reads";
    LlcUncachedSnoops = "llc-uncached-snoops", "A4":
        "On LLC parts the CPU's WC and UC accesses snoop its own caches: they find dirty lines and drop \
         stale ones.",
        "i915_gem_clflush_object skips the flush for objects that are coherent for read; Intel SDM volume 3, 12.12.4";
    LlcApertureSnoops = "llc-aperture-snoops", "A5":
        "On LLC parts accesses through the aperture are GPU accesses and look up the LLC.",
        "i915_gem_clflush_object skips the flush when an object goes to the GTT domain";
    DisplayNeverLooksUp = "display-never-looks-up", "A6":
        "The display engine reads memory and never looks up a cache.",
        "comment in i915_gem_object_pin_to_display_plane";
    SnoopedWriteStaysCached = "snooped-write-stays-cached", "A7":
        "Where the GPU snoops, its writes may stay dirty in the CPU's caches.",
        "gpu_write_needs_clflush requires a flush at every cached level";
    CleanNotSupplied = "clean-not-supplied", "A8":
        "Where the GPU snoops, a snoop that hits a clean line is served from memory.",
        "Intel SDM volume 3, 12.4 (MESI: a snoop is answered from M lines, with HITM#)";
    FlushReachesMemory = "flush-reaches-memory", "A9":
        "A flush of a line writes it back from every cache of the coherence domain, the LLC included, and drops it.",
        "Intel SDM volume 2, CLFLUSH and CLFLUSHOPT";
    GpuCachesEndWithBatch = "gpu-caches-end-with-batch", "A10":
        "Between batches, the GPU's own caches hold none of an object's bytes.",
        "intel_engine emit_flush, emit_fini_breadcrumb: every request invalidates before and flushes after";
    OwnUncachedSnoops = "own-uncached-snoops", "A11":
        "On Meteor Lake the CPU's WC and UC accesses snoop its own caches, although the GPU shares none of \
         them: they find dirty lines and drop stale ones.",
        "objects start cached there, and their acquired pages are not flushed, although they can be mapped WC \
         (0fbcf57077c4); Intel SDM volume 3, 12.12.4";
}

/// The set of assumptions that are held.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Assumptions(u16);

impl Assumptions {
    /// All assumptions.
    pub const ALL: Self = Self(!0);

    /// The assumptions of this library: all but [`Assumption::OwnUncachedSnoops`], on which only the kernel
    /// relies.
    pub const LIBRARY: Self = Self::ALL.without(Assumption::OwnUncachedSnoops);

    /// Returns the set without `assumption`.
    pub const fn without(self, assumption: Assumption) -> Self {
        Self(self.0 & !(1 << assumption as u16))
    }

    /// Returns the intersection.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns whether `assumption` is held.
    pub const fn hold(self, assumption: Assumption) -> bool {
        self.0 & 1 << assumption as u16 != 0
    }
}

impl fmt::Debug for Assumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(Assumption::ALL.iter().filter(|&&one| self.hold(one)).map(|one| one.id()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_assumption_has_its_number_a_sentence_and_a_source() {
        for (index, assumption) in Assumption::ALL.iter().enumerate() {
            assert_eq!(assumption.id(), format!("A{}", index + 1));
            assert!(assumption.statement().ends_with('.') && !assumption.source().is_empty(), "{assumption}");
        }
    }

    #[test]
    fn dropping_one_keeps_the_others() {
        for &dropped in Assumption::ALL {
            let held = Assumptions::ALL.without(dropped);
            for &other in Assumption::ALL {
                assert_eq!(held.hold(other), other != dropped);
            }
        }
    }
}
