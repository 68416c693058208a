//! The memory system as data: the effect of every route to memory on one cache line.
//!
//! A line of the CPU's caches, which include the LLC on LLC parts, is absent, clean or dirty; memory holds
//! bytes of its own. For an access on a route, [`effect`] returns where a read takes the bytes from, where a
//! write puts them, and the line's next state. [`maintain`] does so for flushes, and [`CacheMove::on`] for
//! spontaneous cache activity. Nothing here depends on the bytes, so a software device can use it with real
//! bytes and an explorer with abstract values.
//!
//! Each [`Assumption`] about the hardware can be dropped.
//!
//! # Layers
//!
//! ```text
//! L1  moves   route
//! L0  assumption   mistake
//! ```
//!
//! * `moves`: effects of flushes and of the caches' own activity. Not accesses.
//! * `route`: the ways of an access to memory, and how each meets the caches. Not what a driver does about it.
//! * `assumption`: what is taken for granted of hardware, by name. Not its consequences.
//! * `mistake`: names of what goes wrong if a flush is missing. Not whether it does.

#![deny(unsafe_code)]

mod assumption;
mod mistake;
mod moves;
mod route;

pub use assumption::{Assumption, Assumptions};
pub use mistake::Mistake;
pub use moves::{CacheMove, Maintenance, maintain};
pub use route::Route;

use gem_coherency_policy::platform::Caps;
use gem_coherency_policy::vocabulary::{Access, CacheLevel, words};
use route::View;

words! {
    /// The state of a line in the CPU's caches.
    Line, "line state" {
        /// Not cached.
        Absent = "absent",
        /// A copy; it is stale if memory has changed since.
        Clean = "clean",
        /// The newest bytes; memory is older.
        Dirty = "dirty",
    }
}

words! {
    /// A place that holds a line's bytes.
    Place, "place" {
        /// The CPU's caches.
        Cache = "cache",
        /// Memory.
        Memory = "memory",
    }
}

words! {
    /// The transfer of a whole line between the two places.
    Transfer, "transfer" {
        /// No transfer.
        Nothing = "nothing",
        /// Memory to cache.
        Fill = "fill",
        /// Cache to memory.
        WriteBack = "write-back",
    }
}

/// The effect of an access on a line, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Effect {
    /// The transfer before the access.
    pub before: Transfer,
    /// The place where the access reads or writes its own bytes.
    pub at: Place,
    /// The line's state afterwards.
    pub next: Line,
}

impl Effect {
    const fn new(before: Transfer, at: Place, next: Line) -> Self {
        Self { before, at, next }
    }
}

/// The hardware's capabilities that affect the memory system, and the assumptions about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// The platform's capabilities.
    pub caps: Caps,
    /// The assumptions.
    pub held: Assumptions,
}

impl Hardware {
    /// Creates hardware with these capabilities and this library's assumptions.
    pub const fn new(caps: Caps) -> Self {
        Self { caps, held: Assumptions::LIBRARY }
    }

    /// Returns the same hardware without `assumption`.
    pub const fn without(self, assumption: Assumption) -> Self {
        Self { caps: self.caps, held: self.held.without(assumption) }
    }

    const fn has(self, cap: Caps) -> bool {
        self.caps.contains(cap)
    }
}

/// Returns the effect of `access` on `route` on a line of an object of this level. `None` if there is no such
/// access: the display engine never writes, and a non-temporal store is not a load.
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

/// Returns the effect of a read.
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

/// Returns the effect of a write, which may be partial: the rest of the line is transferred with it.
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
    use gem_coherency_policy::vocabulary::{CacheLevel as Level, MocsClass};

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
