//! The mappings of an object, and the stores made through them.

use gem_coherency_policy::Errno;

use super::{Origin, SharedBo};
use crate::backend::Mapping;
use crate::engine::Object as _;
use crate::error::{Error, Result};
use crate::platform::{Call, Caps};
use crate::policy::driver::{CpuMemory, cpu_memory};
use crate::policy::{Path, Rule};
use crate::units::LineRange;
use crate::vocabulary::{Access, CacheLevel, MmapMode};

/// Returns the kernel's errno for a path that it refuses.
pub(super) fn refusal_errno(rule: Rule) -> Errno {
    if rule == Rule::GttSnoopedFaults {
        // The fault handler's errno, which becomes SIGBUS.
        Errno::EFAULT
    } else if rule == Rule::DisplayNeedsLocal {
        Errno::EINVAL
    } else {
        Errno::ENODEV
    }
}

impl SharedBo {
    /// Returns the error for an access that the platform lacks.
    pub(crate) fn not_available(&self, what: String, rule: Rule) -> Error {
        Error::NotAvailable {
            what,
            platform: self.device.machine.platform.name,
            why: rule.reason(),
            errno: refusal_errno(rule),
        }
    }

    /// Returns the mapping that accesses use, after creating it if there is none.
    #[inline]
    pub(crate) fn mapping(&self) -> Result<&Mapping> {
        match self.maps.current() {
            Some(mapping) => Ok(mapping),
            None => self.first_mapping(),
        }
    }

    #[cold]
    fn first_mapping(&self) -> Result<&Mapping> {
        self.confirm_level()?;
        let mode = self.default_mode();
        let mapping = self.map_in(mode)?;
        self.maps.choose_if_none(mode);
        // Another thread may have chosen a mapping meanwhile.
        Ok(self.maps.current().unwrap_or(mapping))
    }

    /// Returns the default map mode at the object's level.
    ///
    /// The caller of an adopted object may have a mapping that the library does not know: its stores count as cached
    /// ones, whose flush includes the fence that others need.
    pub(crate) fn default_mode(&self) -> MmapMode {
        if self.device.is_xe() {
            return self.mode_at_creation();
        }
        match (self.device.decisions.default_mode(self.level()), self.origin) {
            (MmapMode::Wc, Origin::Adopted(_)) => MmapMode::Wb,
            (default, _) => default,
        }
    }

    /// Returns the mode of an object of xe, which has one, whatever its level.
    #[cold]
    fn mode_at_creation(&self) -> MmapMode {
        let drm = &self.device.drm;
        let mode = drm.xe().zip(drm.known(self.handle)).and_then(|(rules, object)| rules.map_mode(&object));
        mode.unwrap_or(match self.origin {
            _ if self.device.caps().contains(Caps::DISCRETE) => MmapMode::Fixed,
            // Another driver's CPU may cache it.
            Origin::Adopted(_) => MmapMode::Wb,
            Origin::Created(_) | Origin::Imported => MmapMode::Wc,
        })
    }

    /// Returns the mapping in `mode`, after creating it if there is none.
    pub(crate) fn map_in(&self, mode: MmapMode) -> Result<&Mapping> {
        self.confirm_level()?;
        let is_cached = |mode| cpu_memory(self.level(), mode) == CpuMemory::Cached;
        self.maps.get_or_make(mode, self.tracked.stale(), is_cached, || self.make_mapping(mode))
    }

    /// Creates a mapping in `mode`.
    fn make_mapping(&self, mode: MmapMode) -> Result<Mapping> {
        let what = || format!("map mode {mode}");
        let _request = self.begin_request()?;
        let state = self.tracked.word().state();
        if state.is_purged() {
            return Err(Error::Purged { handle: self.handle.get() });
        }
        if self.decisions(Path::Cpu(mode), Access::Read).refusal == Some(Rule::GttSnoopedFaults) {
            // The kernel would map the object, and kill the process at the first access.
            return Err(self.not_available(what(), Rule::GttSnoopedFaults));
        }
        let mapped = self.device.drm.map(self.handle, mode, self.size);
        let mapping = mapped.map_err(|error| self.device.explain(Call::MmapOffset(mode), what, error))?;
        tracing::debug!(handle = self.handle.get(), %mode, bytes = self.size, "map");
        Ok(mapping)
    }

    /// Notes that memory of `lines` was written around the CPU's caches.
    pub(crate) fn note_uncached_write(&self, lines: LineRange) {
        let is_cached = |mode| cpu_memory(self.level(), mode) == CpuMemory::Cached;
        self.maps.note_uncached_write(lines, self.tracked.stale(), is_cached);
    }

    /// Assumes nothing about the CPU's caches after an import: marks every line dirty. Stale lines are marked
    /// when a cached mapping of the import is created.
    ///
    /// A buffer of another device cannot be mapped. Then the kernel handles the caches, and no line can
    /// become dirty here.
    pub(crate) fn mark_imported_dirty(&self) -> Result<()> {
        match self.mapping() {
            // The CPU has no line of a write-combining object.
            Ok(_) if self.device.is_xe() && self.level() == CacheLevel::None => Ok(()),
            Ok(_) => {
                self.tracked.dirty().mark_all();
                Ok(())
            }
            Err(error) if error.errno() == Errno::ENODEV => {
                tracing::debug!(handle = self.handle.get(), "foreign: not to be mapped");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Uses a mapping of the caller's for accesses.
    pub(crate) fn use_mapping(&self, mapping: Mapping) -> Result<()> {
        let mode = mapping.mode();
        let is_cached = |mode| cpu_memory(self.level(), mode) == CpuMemory::Cached;
        self.maps.get_or_make(mode, self.tracked.stale(), is_cached, || Ok::<_, Error>(mapping))?;
        self.maps.choose(mode);
        Ok(())
    }

    /// Marks every line dirty: the zeroes of new pages if the kernel does not flush them, or unknown stores.
    pub(crate) fn mark_all_dirty(&self) {
        self.tracked.dirty().mark_all();
    }
}
