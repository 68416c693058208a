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

            /// Why the rules do not cover it.
            pub const fn why(self) -> &'static str {
                match self { $(Self::$variant => $why,)+ }
            }

            /// How the explorer decides whether the condition applies: from a history of calls, accesses and
            /// flushes, never from the results of the rules under test.
            pub const fn basis(self) -> &'static str {
                match self { $(Self::$variant => $basis,)+ }
            }
        }
    };
}

conditions! {
    DomainBeforeLevel = "domain-before-level", "U1":
        "Before SET_CACHING the object is moved to the CPU domain.",
        "SET_CACHING keeps the domains and flushes nothing; where the new level counts as coherent for read, lines \
         that went stale before are never dropped.",
        "The caller makes one more call.";
    SubmitAfterLevel = "submit-after-level", "U2":
        "After SET_CACHING and after a resume the object is submitted before anything else.",
        "Both leave the object dirty without a write domain; PWRITE then leaves its flush to a write domain that \
         nobody is in, and SET_DOMAIN reads old memory.",
        "The caller makes one more call.";
    NoUncachedOfSnooped = "no-uncached-of-snooped", "U3":
        "Without an LLC a snooped object is not accessed around the cache: neither through WC and UC mappings, nor, \
         as a framebuffer, with PWRITE, which takes the aperture then.",
        "A snooped object counts as coherent for read, so no domain change flushes or drops its lines.",
        "The level, the mapping's mode, and whether ADDFB was called.";
    NoSwapWhileAccessed = "no-swap-while-accessed", "U4":
        "Pages are not swapped out between SET_DOMAIN and the accesses that it is for.",
        "The fault that brings them back flushes them and enters no domain, so what is stored afterwards is dirty \
         and the kernel does not know.",
        "Whether the caller's access is open.";
    NoSwapWhileStale = "no-swap-while-stale", "U5":
        "Pages are not swapped out while lines of them are stale because the CPU stored around the cache without \
         SET_DOMAIN, or because the GPU wrote by a PAT index that userspace chose.",
        "The kernel takes the lines for clean or for coherent, drops none of them when it releases the pages, and \
         saves what the cache holds; every driver that maps WC and never calls SET_DOMAIN relies on this.",
        "Who stored to each stale line, and by what mapping.";
    WtShownClean = "wt-shown-clean", "U6":
        "On eDRAM parts an object that has the level WT already is not shown while lines of it are dirty because the \
         CPU's turn to write began, or the pages were swapped out, before the object was a framebuffer.",
        "At WT the CPU's writes and swapped-in bytes count as coherent unless the object is a framebuffer already; \
         one that becomes it later is shown without a flush.",
        "The order of SET_CACHING, ADDFB, the CPU's turns, swap, and the flushes that were issued.";
}

/// The set of conditions that are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Conditions(u8);

impl Conditions {
    /// All conditions.
    pub const ALL: Self = Self(!0);

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
