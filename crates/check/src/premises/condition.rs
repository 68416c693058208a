//! Conditions that callers must keep because the rules alone do not ensure coherency.

use std::fmt;

use gem_coherency::vocabulary::words;

/// Declares the conditions: variant = name, number: statement, why, basis.
macro_rules! conditions {
    ($($variant:ident = $name:literal, $id:literal: $statement:literal, $why:literal, $basis:literal;)+) => {
        words! {
            /// A condition that is the responsibility of the object's user.
            Condition, "condition" { $(#[doc = $statement] $variant = $name,)+ }
        }

        impl Condition {
            /// Its number in the documentation: `U1`.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }

            /// The condition, in one sentence.
            pub const fn statement(self) -> &'static str {
                match self { $(Self::$variant => $statement,)+ }
            }

            /// Returns the reason why the rules do not cover it.
            pub const fn why(self) -> &'static str {
                match self { $(Self::$variant => $why,)+ }
            }

            /// Returns how the explorer decides whether the condition applies: from a history of calls,
            /// accesses and flushes, never from the results of the rules under test.
            pub const fn basis(self) -> &'static str {
                match self { $(Self::$variant => $basis,)+ }
            }
        }
    };
}

conditions! {
    DomainBeforeLevel = "domain-before-level", "U1":
        "Before SET_CACHING the object is moved to the CPU domain.",
        "SET_CACHING keeps the domains and flushes nothing. If the new level counts as coherent for read, \
         lines that are already stale are never dropped.",
        "The caller makes one more call.";
    SubmitAfterLevel = "submit-after-level", "U2":
        "After SET_CACHING and after a resume, the object is submitted before any other use.",
        "Both leave the object dirty and in no write domain. PWRITE then relies on the flush of a write \
         domain, and there is none; after SET_DOMAIN the CPU reads old memory.",
        "The caller makes one more call.";
    NoUncachedOfSnooped = "no-uncached-of-snooped", "U3":
        "Without an LLC a snooped object is accessed only through the cache: not through WC or UC mappings, \
         and not with PWRITE while it is a framebuffer, because PWRITE then uses the aperture.",
        "A snooped object counts as coherent for read, so no domain change flushes or drops its lines.",
        "The level, the mapping's mode, and whether ADDFB was called.";
    NoSwapWhileAccessed = "no-swap-while-accessed", "U4":
        "Pages are not swapped out between SET_DOMAIN and the accesses that it prepares.",
        "The page fault that brings them back flushes them and enters no domain, so later stores are dirty \
         and the kernel does not know it.",
        "Whether the caller's access is open.";
    NoSwapWhileStale = "no-swap-while-stale", "U5":
        "Pages are not swapped out while lines of them are stale because the CPU's stores bypassed the \
         cache without SET_DOMAIN, or because the GPU wrote by a PAT index that userspace chose.",
        "The kernel treats the lines as clean or coherent, drops none of them when it releases the pages, \
         and saves the cache's contents. Every driver that maps WC and never calls SET_DOMAIN relies on \
         this condition.",
        "The agent that stored to each stale line, and its mapping.";
    WtShownClean = "wt-shown-clean", "U6":
        "On eDRAM parts an object that already has the level WT is not shown with dirty lines from before \
         ADDFB: from a CPU write that began before it, or from a swap-out before it.",
        "At WT the CPU's writes and swapped-in bytes count as coherent unless the object is already a \
         framebuffer. An object that becomes one later is shown without a flush.",
        "The order of SET_CACHING, ADDFB, the CPU's writes, swap, and the flushes that were issued.";
}

/// The set of conditions that are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Conditions(u8);

impl Conditions {
    /// All conditions.
    pub const ALL: Self = Self(!0);

    /// No condition.
    pub const NONE: Self = Self(0);

    /// Returns the set without `condition`.
    pub const fn without(self, condition: Condition) -> Self {
        Self(self.0 & !(1 << condition as u8))
    }

    /// Returns whether `condition` is kept.
    pub const fn keep(self, condition: Condition) -> bool {
        self.0 & 1 << condition as u8 != 0
    }
}

impl fmt::Debug for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(Condition::ALL.iter().filter(|&&one| self.keep(one)).map(|one| one.id()))
            .finish()
    }
}
