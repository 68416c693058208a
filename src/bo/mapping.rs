//! Mappings of a BO, and which component flushes the stores made through them.

use std::ptr::NonNull;

use gem_coherency_rules::Errno;

use super::{Bo, Origin, Shared};
use crate::drm::Mapping;
use crate::engine::{self, Object as _};
use crate::error::{Error, Result};
use crate::platform::{Call, Caps};
use crate::policy::driver::{CpuMemory, cpu_memory};
use crate::policy::{Path, Rule};
use crate::units::LineRange;
use crate::vocabulary::{Access, MmapMode, MocsClass, words};

words! {
    /// The component that makes the CPU's stores to a BO visible to other agents.
    FlushOwner, "flush owner" {
        /// The kernel, for the whole object, which userspace cannot map.
        Kernel = "kernel",
        /// This library, which tracks the written lines.
        Library = "library",
        /// None: no flush or drain is required.
        Nobody = "nobody",
    }
}

/// The component that flushes a BO, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Ownership {
    /// The component.
    pub owner: FlushOwner,
    /// The rule that determines it.
    pub rule: Rule,
}

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

impl Shared {
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
    pub(crate) fn mapping(&self) -> Result<&Mapping> {
        if let Some(mapping) = self.maps.current() {
            return Ok(mapping);
        }
        self.confirm_level()?;
        let mode = self.default_mode();
        let mapping = self.map_in(mode)?;
        self.maps.choose_if_none(mode);
        // Another thread may have chosen a mapping meanwhile.
        Ok(self.maps.current().unwrap_or(mapping))
    }

    /// Returns the default map mode at the object's level.
    pub(super) fn default_mode(&self) -> MmapMode {
        self.device.decisions.default_mode(self.level())
    }

    /// Returns the mapping in `mode`, after creating it if there is none.
    pub(super) fn map_in(&self, mode: MmapMode) -> Result<&Mapping> {
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
    pub(super) fn note_written_around(&self, lines: LineRange) {
        let is_cached = |mode| cpu_memory(self.level(), mode) == CpuMemory::Cached;
        self.maps.note_written_around(lines, self.tracked.stale(), is_cached);
    }

    /// Records that this thread stored to `lines` of the object through a mapping of `mode`.
    pub(crate) fn note_stored(&self, mode: MmapMode, lines: LineRange) {
        if !lines.is_empty() {
            engine::note(&mut &*self, self.pending_after(Path::Cpu(mode)), lines);
        }
    }
}

impl Bo {
    /// Maps the BO in `mode`, and uses this mapping from now on. Other mappings stay.
    ///
    /// A BO that is not mapped explicitly is mapped at its first access: write-back if the GPU is coherent
    /// with the CPU's caches, write-combining otherwise, fixed on discrete devices.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] if the platform lacks the mode, or the first access would raise SIGBUS;
    /// [`Error::Closed`], [`Error::Purged`]; those of MMAP_OFFSET and mmap(2).
    pub fn map(&self, mode: MmapMode) -> Result<()> {
        self.check_open()?;
        self.shared().map_in(mode)?;
        self.shared().maps.choose(mode);
        Ok(())
    }

    /// Returns the mode that accesses use, or will use if the BO is not mapped yet.
    pub fn map_mode(&self) -> MmapMode {
        self.shared().mode()
    }

    /// Returns the address of the BO's mapping, after creating it if there is none. The address is valid as
    /// long as a clone of the BO exists.
    ///
    /// The library does not see stores through this pointer: report each with [`Bo::mark_written`]. Loads,
    /// and stores to part of a line, may use stale data; to avoid that, hold a guard and use
    /// [`CpuAccess::as_ptr`].
    ///
    /// [`CpuAccess::as_ptr`]: crate::access::CpuAccess::as_ptr
    ///
    /// # Errors
    /// As [`Bo::map`].
    pub fn as_ptr(&self) -> Result<NonNull<u8>> {
        self.check_open()?;
        let pointer = NonNull::new(self.shared().mapping()?.as_ptr());
        pointer.ok_or(Error::Ioctl { request: "page fault", errno: Errno::EFAULT })
    }

    /// Returns which component makes the CPU's stores visible, and by which rule, for the mapping that
    /// accesses use.
    pub fn flush_owner(&self) -> Ownership {
        let shared = self.shared();
        let caps = shared.device.caps();
        if shared.origin == Origin::Imported && shared.maps.current().is_none() {
            let reads_caches = caps.contains(Caps::LLC) && !caps.contains(Caps::LLC_BYPASS_MOCS);
            return if reads_caches || caps.contains(Caps::DG1) {
                Ownership { owner: FlushOwner::Nobody, rule: Rule::ImportCoherent }
            } else {
                Ownership { owner: FlushOwner::Kernel, rule: Rule::ImportWbinvd }
            };
        }
        let mode = shared.mode();
        let decide = |reader| shared.decisions(reader, Access::Read).after_store(mode);
        let gpu = decide(Path::Gpu(MocsClass::PageTable));
        let others = [Path::Gpu(MocsClass::BypassLlc), Path::Display].map(decide);
        match std::iter::once(gpu).chain(others).find(|decision| decision.is_needed()) {
            Some(decision) => Ownership { owner: FlushOwner::Library, rule: decision.rule },
            None => Ownership { owner: FlushOwner::Nobody, rule: gpu.rule },
        }
    }
}
