//! The memory system as data: what every path to memory does to one cache line.
//!
//! A line of the CPU's caches (on LLC parts the LLC is one of them) is absent, clean or dirty;
//! memory holds bytes of its own. [`effect`] says for an access on a path where a read takes the
//! bytes from, where a write puts them, and what becomes of the line; [`maintain`] and
//! [`CacheMove::on`] say the same for flushes and for what the caches do unasked. Nothing here knows
//! what the bytes are, so a software device can run it on real bytes and an explorer on abstract
//! values.
//!
//! What is taken for granted about hardware is an [`Assumption`], and can be dropped.

#![deny(unsafe_code)]

mod assumption;
mod moves;
mod route;

pub use assumption::{Assumption, Assumptions};
pub use moves::{CacheMove, Maintenance, maintain};
pub use route::Route;

use gem_coherency::platform::Caps;
use gem_coherency::vocabulary::{Access, CacheLevel, words};
use route::View;

words! {
    /// What the CPU's caches hold of a line.
    Line, "line state" {
        /// Nothing.
        Absent = "absent",
        /// A copy; memory may have changed since (then it is stale).
        Clean = "clean",
        /// The only newest bytes; memory is older.
        Dirty = "dirty",
    }
}

words! {
    /// One of the two places that hold a line's bytes.
    Place, "place" {
        /// The CPU's caches.
        Cache = "cache",
        /// Memory.
        Memory = "memory",
    }
}

words! {
    /// Whole lines moving between the two places.
    Transfer, "transfer" {
        /// None does.
        Nothing = "nothing",
        /// Memory to cache.
        Fill = "fill",
        /// Cache to memory.
        WriteBack = "write-back",
    }
}

/// What an access does to a line, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Effect {
    /// What moves before the access.
    pub before: Transfer,
    /// Where the access's own bytes are read from, or put.
    pub at: Place,
    /// The line afterwards.
    pub next: Line,
}

impl Effect {
    const fn new(before: Transfer, at: Place, next: Line) -> Self {
        Self { before, at, next }
    }
}

/// The hardware as far as the memory system differs, and what is assumed of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// What the platform can do.
    pub caps: Caps,
    /// What is taken for granted.
    pub held: Assumptions,
}

impl Hardware {
    /// Hardware with these capabilities, of which is assumed what this library assumes.
    pub const fn new(caps: Caps) -> Self {
        Self { caps, held: Assumptions::LIBRARY }
    }

    /// The same hardware without `assumption`.
    pub const fn without(self, assumption: Assumption) -> Self {
        Self { caps: self.caps, held: self.held.without(assumption) }
    }

    const fn has(self, cap: Caps) -> bool {
        self.caps.contains(cap)
    }
}

/// What `access` on `route` does to a line of an object of this level; `None` if there is no such
/// access: the display engine never writes, and non-temporal stores are no loads.
pub fn effect(
    hardware: Hardware,
    level: CacheLevel,
    route: Route,
    access: Access,
    line: Line,
) -> Option<Effect> {
    let view = route.view(hardware, level, access)?;
    Some(match access {
        Access::Read => read(view, line),
        Access::Write => write(view, line),
    })
}

/// Where a read finds its bytes.
fn read(view: View, line: Line) -> Effect {
    match (view, line) {
        (View::Allocating, Line::Absent) => Effect::new(Transfer::Fill, Place::Cache, Line::Clean),
        (View::Allocating | View::LookUp, Line::Clean | Line::Dirty) => {
            Effect::new(Transfer::Nothing, Place::Cache, line)
        }
        (View::LookUp, Line::Absent) | (View::Snooping, Line::Absent | Line::Clean) => {
            Effect::new(Transfer::Nothing, Place::Memory, line)
        }
        (View::Snooping, Line::Dirty) => Effect::new(Transfer::Nothing, Place::Cache, line),
        (View::Evicting, Line::Dirty) => Effect::new(Transfer::WriteBack, Place::Memory, Line::Absent),
        (View::Evicting, Line::Clean | Line::Absent) => {
            Effect::new(Transfer::Nothing, Place::Memory, Line::Absent)
        }
        (View::Around, _) => Effect::new(Transfer::Nothing, Place::Memory, line),
    }
}

/// Where a write puts its bytes; parts of lines too, so the rest of the line comes along.
fn write(view: View, line: Line) -> Effect {
    match (view, line) {
        (View::Allocating, Line::Absent) | (View::Snooping, Line::Absent | Line::Clean) => {
            Effect::new(Transfer::Fill, Place::Cache, Line::Dirty)
        }
        (View::Allocating, Line::Clean | Line::Dirty) | (View::Snooping, Line::Dirty) => {
            Effect::new(Transfer::Nothing, Place::Cache, Line::Dirty)
        }
        (View::LookUp | View::Evicting, Line::Dirty) => {
            Effect::new(Transfer::WriteBack, Place::Memory, Line::Absent)
        }
        (View::LookUp | View::Evicting, Line::Clean | Line::Absent) => {
            Effect::new(Transfer::Nothing, Place::Memory, Line::Absent)
        }
        (View::Around, _) => Effect::new(Transfer::Nothing, Place::Memory, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::vocabulary::{CacheLevel as Level, MocsClass};

    const LLC: Caps = Caps::LLC;
    const JSL: Caps = Caps::LLC.union(Caps::LLC_BYPASS_MOCS);
    const GLK: Caps = Caps::SNOOP;
    const MTL: Caps = Caps::SNOOP.union(Caps::PAT_AT_CREATE);
    const DG2: Caps = Caps::SNOOP.union(Caps::DISCRETE);

    const PTE: Route = Route::Gpu(MocsClass::PageTable);
    const UNCACHED: Route = Route::Gpu(MocsClass::Uncached);
    const BYPASS: Route = Route::Gpu(MocsClass::BypassLlc);

    #[track_caller]
    fn case(
        caps: Caps,
        level: Level,
        route: Route,
        access: Access,
        line: Line,
        (before, at, next): (Transfer, Place, Line),
    ) {
        let got = effect(Hardware::new(caps), level, route, access, line);
        assert_eq!(got, Some(Effect::new(before, at, next)));
    }

    #[test]
    fn wb_fills_an_absent_line_and_keeps_what_it_finds() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        for caps in [LLC, JSL, GLK, MTL, DG2, Caps::empty()] {
            case(caps, Level::None, Route::CpuCached, Read, Absent, (Fill, Cache, Clean));
            case(caps, Level::None, Route::CpuCached, Read, Clean, (Nothing, Cache, Clean));
            case(caps, Level::None, Route::CpuCached, Read, Dirty, (Nothing, Cache, Dirty));
            case(caps, Level::None, Route::CpuCached, Write, Absent, (Fill, Cache, Dirty));
            case(caps, Level::None, Route::CpuCached, Write, Clean, (Nothing, Cache, Dirty));
        }
    }

    #[test]
    fn a_non_temporal_store_leaves_memory_current_and_no_line_on_all_hardware() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        for caps in [LLC, JSL, GLK, MTL, DG2, Caps::empty()] {
            let route = Route::CpuNonTemporal;
            case(caps, Level::None, route, Write, Absent, (Nothing, Memory, Absent));
            case(caps, Level::None, route, Write, Clean, (Nothing, Memory, Absent));
            case(caps, Level::None, route, Write, Dirty, (WriteBack, Memory, Absent));
            assert_eq!(effect(Hardware::new(caps), Level::None, route, Read, Clean), None);
        }
    }

    #[test]
    fn wc_snoops_the_caches_on_llc_parts_only() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        for route in [Route::CpuUncached, Route::Aperture] {
            case(LLC, Level::Llc, route, Write, Dirty, (WriteBack, Memory, Absent));
            case(LLC, Level::Llc, route, Write, Clean, (Nothing, Memory, Absent));
            case(LLC, Level::None, route, Read, Dirty, (WriteBack, Memory, Absent));
            case(GLK, Level::None, route, Write, Dirty, (Nothing, Memory, Dirty));
            case(GLK, Level::None, route, Read, Clean, (Nothing, Memory, Clean));
        }
    }

    #[test]
    fn llc_gpu_is_coherent_at_every_level() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        for route in [PTE, UNCACHED, BYPASS] {
            for level in [Level::None, Level::Llc, Level::Wt] {
                case(LLC, level, route, Read, Dirty, (Nothing, Cache, Dirty));
            }
        }
        case(LLC, Level::Llc, PTE, Write, Absent, (Fill, Cache, Dirty));
        case(LLC, Level::None, PTE, Write, Dirty, (WriteBack, Memory, Absent));
        case(LLC, Level::Wt, PTE, Write, Clean, (Nothing, Memory, Absent));
        case(LLC, Level::Llc, UNCACHED, Write, Dirty, (WriteBack, Memory, Absent));
    }

    #[test]
    fn bypass_mocs_reads_memory_on_jsl_and_writes_coherently() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        case(JSL, Level::Llc, BYPASS, Read, Dirty, (Nothing, Memory, Dirty));
        case(JSL, Level::Llc, BYPASS, Write, Dirty, (WriteBack, Memory, Absent));
        case(JSL, Level::Llc, PTE, Read, Dirty, (Nothing, Cache, Dirty));
    }

    #[test]
    fn without_llc_the_level_decides_whatever_the_mocs() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        for route in [PTE, UNCACHED, BYPASS] {
            case(GLK, Level::None, route, Read, Dirty, (Nothing, Memory, Dirty));
            case(GLK, Level::None, route, Write, Clean, (Nothing, Memory, Clean));
            case(GLK, Level::Llc, route, Read, Dirty, (Nothing, Cache, Dirty));
            case(GLK, Level::Llc, route, Read, Clean, (Nothing, Memory, Clean));
            case(GLK, Level::Llc, route, Write, Clean, (Fill, Cache, Dirty));
            case(GLK, Level::Llc, route, Write, Dirty, (Nothing, Cache, Dirty));
        }
    }

    #[test]
    fn mtl_written_through_is_not_coherent_and_discrete_system_memory_is() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        case(MTL, Level::Wt, PTE, Read, Dirty, (Nothing, Memory, Dirty));
        case(MTL, Level::Llc, PTE, Read, Dirty, (Nothing, Cache, Dirty));
        case(DG2, Level::Llc, PTE, Read, Dirty, (Nothing, Cache, Dirty));
        case(DG2, Level::None, PTE, Write, Absent, (Nothing, Memory, Absent));
    }

    #[test]
    fn display_reads_memory_and_never_writes() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        for caps in [LLC, JSL, GLK, MTL, DG2] {
            case(caps, Level::Llc, Route::Display, Read, Dirty, (Nothing, Memory, Dirty));
            assert_eq!(effect(Hardware::new(caps), Level::Llc, Route::Display, Write, Clean), None);
        }
    }

    #[test]
    fn a_dropped_assumption_changes_what_it_is_about() {
        use {Access::*, Line::*, Place::*, Transfer::*};
        let around = |line| Some(Effect::new(Nothing, Memory, line));
        let llc = Hardware::new(LLC);
        let case = |assumption, level, route, access| {
            let held = effect(llc, level, route, access, Dirty);
            let dropped = effect(llc.without(assumption), level, route, access, Dirty);
            assert_ne!(held, dropped, "{assumption}");
            dropped
        };
        assert_eq!(case(Assumption::LlcGpuWritesCoherent, Level::None, PTE, Write), around(Dirty));
        assert_eq!(case(Assumption::LlcUncachedSnoops, Level::Llc, Route::CpuUncached, Write), around(Dirty));
        assert_eq!(case(Assumption::LlcApertureSnoops, Level::Llc, Route::Aperture, Read), around(Dirty));
        assert_eq!(
            case(Assumption::DisplayNeverLooksUp, Level::Llc, Route::Display, Read),
            Some(Effect::new(Nothing, Cache, Dirty))
        );
        let jsl = Hardware::new(JSL).without(Assumption::BypassIsForReads);
        assert_eq!(effect(jsl, Level::Llc, BYPASS, Write, Dirty), around(Dirty));
        let glk = Hardware::new(GLK).without(Assumption::CleanNotSupplied);
        assert_eq!(effect(glk, Level::Llc, PTE, Read, Clean), Some(Effect::new(Nothing, Cache, Clean)));
        let glk = Hardware::new(GLK).without(Assumption::SnoopedWriteStaysCached);
        assert_eq!(effect(glk, Level::Llc, PTE, Write, Dirty), Some(Effect::new(WriteBack, Memory, Absent)));
    }
}
