//! The routes to memory, and how each interacts with the CPU's caches.

use super::{Assumption, Hardware};
use gem_coherency_policy::platform::Caps;
use gem_coherency_policy::vocabulary::{Access, CacheLevel, MocsClass};

/// A route to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// The CPU through its caches: WB mappings and the kernel's own copies.
    CpuCached,
    /// The CPU's non-temporal stores through WB mappings: the line is evicted from all of its caches.
    CpuNonTemporal,
    /// The CPU around its caches: WC and UC mappings.
    CpuUncached,
    /// The CPU through the GGTT aperture.
    Aperture,
    /// The GPU with a MOCS entry of this class.
    Gpu(MocsClass),
    /// The display engine.
    Display,
}

impl Route {
    /// Every route.
    pub const ALL: &'static [Self] = &[
        Self::CpuCached,
        Self::CpuNonTemporal,
        Self::CpuUncached,
        Self::Aperture,
        Self::Gpu(MocsClass::PageTable),
        Self::Gpu(MocsClass::Uncached),
        Self::Gpu(MocsClass::BypassLlc),
        Self::Display,
    ];
}

/// The interaction of an access with the CPU's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Looks up the line and allocates it.
    Allocating,
    /// Snoops for dirty lines only; a write makes the line dirty.
    Snooping,
    /// Reads look the line up without changing it; writes go to memory and drop it.
    LookUp,
    /// The line is evicted first, then the access goes to memory.
    Evicting,
    /// The access goes to memory, and cached lines stay unchanged.
    Around,
}

impl Route {
    /// Returns how `access` on this route interacts with the caches; `None` if there is no such access.
    pub(super) const fn view(self, hardware: Hardware, level: CacheLevel, access: Access) -> Option<View> {
        let held = hardware.held;
        let llc = hardware.has(Caps::LLC);
        match (self, access) {
            (Self::CpuCached, _) => Some(View::Allocating),
            (Self::CpuNonTemporal, Access::Write) => Some(View::Evicting),
            (Self::CpuNonTemporal, Access::Read) => None,
            (Self::CpuUncached, _) if llc && held.hold(Assumption::LlcUncachedSnoops) => Some(View::Evicting),
            (Self::Aperture, _) if llc && held.hold(Assumption::LlcApertureSnoops) => Some(View::Evicting),
            (Self::CpuUncached, _)
                if hardware.has(Caps::PAT_AT_CREATE) && held.hold(Assumption::OwnUncachedSnoops) =>
            {
                Some(View::Evicting)
            }
            (Self::CpuUncached | Self::Aperture, _) => Some(View::Around),
            (Self::Gpu(mocs), _) if llc => Some(shared_cache(hardware, level, mocs, access)),
            (Self::Gpu(_), _) => Some(own_cache(hardware, level, access)),
            (Self::Display, Access::Write) => None,
            (Self::Display, Access::Read) if held.hold(Assumption::DisplayNeverLooksUp) => Some(View::Around),
            (Self::Display, Access::Read) => Some(View::LookUp),
        }
    }
}

/// The GPU on parts where it shares the LLC: coherent at every level, except for bypassing reads.
const fn shared_cache(hardware: Hardware, level: CacheLevel, mocs: MocsClass, access: Access) -> View {
    let held = hardware.held;
    let bypasses = match mocs {
        MocsClass::BypassLlc => hardware.has(Caps::LLC_BYPASS_MOCS),
        MocsClass::PageTable | MocsClass::Uncached => false,
    };
    let allocates = match (mocs, level) {
        (MocsClass::PageTable, CacheLevel::Llc | CacheLevel::L3Llc) => true,
        (MocsClass::PageTable, CacheLevel::None | CacheLevel::Wt)
        | (MocsClass::Uncached | MocsClass::BypassLlc, _) => false,
    };
    match access {
        Access::Read if bypasses => View::Around,
        Access::Write if bypasses && !held.hold(Assumption::BypassIsForReads) => View::Around,
        Access::Read | Access::Write if allocates => View::Allocating,
        Access::Write if !held.hold(Assumption::LlcGpuWritesCoherent) => View::Around,
        Access::Read | Access::Write => View::LookUp,
    }
}

/// The GPU on parts where it shares no cache with the CPU: only the level matters.
const fn own_cache(hardware: Hardware, level: CacheLevel, access: Access) -> View {
    let snoops = match level {
        CacheLevel::None => false,
        CacheLevel::Llc | CacheLevel::L3Llc => true,
        // PAT indices 0 and 1 of graphics 12.70 are write-back and write-through, both without coherency.
        CacheLevel::Wt => !hardware.has(Caps::PAT_AT_CREATE),
    };
    let held = hardware.held;
    let stays_cached = match level {
        CacheLevel::Llc | CacheLevel::L3Llc => held.hold(Assumption::SnoopedWriteStaysCached),
        CacheLevel::None | CacheLevel::Wt => false,
    };
    let looks_for_dirty = held.hold(Assumption::CleanNotSupplied);
    match access {
        Access::Read | Access::Write if !snoops => View::Around,
        Access::Write if !stays_cached => View::LookUp,
        Access::Read | Access::Write if looks_for_dirty => View::Snooping,
        Access::Read => View::LookUp,
        Access::Write => View::Allocating,
    }
}
