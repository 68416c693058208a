//! Mappings of a BO, and which component flushes the stores made through them.

use std::ptr::NonNull;

use gem_coherency_policy::Errno;

use super::Bo;
use crate::backend::Mapping;
use crate::engine::Object as _;
use crate::error::{Error, Result};
use crate::object::shared::Origin;
use crate::policy::needs_flush_of_import;
use crate::policy::{Path, Rule};
use crate::vocabulary::{Access, MmapMode, MocsClass, words};

words! {
    /// The component that makes the CPU's stores to a BO visible to other agents.
    FlushOwner, "flush owner" {
        /// The kernel, for the whole object, which userspace cannot map.
        Kernel = "kernel",
        /// This library, which tracks the written lines.
        Library = "library",
        /// The exporter of an imported buffer, because this kernel flushes nothing at an import.
        Exporter = "exporter",
        /// None: no flush or drain is required.
        None = "none",
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

    /// Releases the BO's mappings: unmaps the library's, and no longer uses one of the caller's
    /// ([`crate::device::AdoptRequest::mapped`]), which the caller may then unmap. Pointers into them ([`Bo::as_ptr`],
    /// [`CpuAccess::as_ptr`]) are no longer valid from the start of the call on. The next access maps the BO again.
    ///
    /// Submissions and shows go on meanwhile, in other threads and in this one; accesses are refused.
    ///
    /// Nothing is lost: stores around the cache are drained, and dirty lines of an adopted BO that its readers would miss
    /// ([`crate::device::AdoptRequest::readers`]) are flushed. All others stay marked, and a flush maps the BO again. Report
    /// stores ([`Bo::mark_written`]) before the call.
    ///
    /// [`CpuAccess::as_ptr`]: crate::object::access::CpuAccess::as_ptr
    ///
    /// # Errors
    /// [`Error::InUse`] while guards are open; [`Error::Closed`], [`Error::Purged`], [`Error::DontNeed`],
    /// [`Error::LevelChanging`]; those of flushing. Then the mappings stay.
    pub fn unmap(&self) -> Result<()> {
        self.shared().unmap(None)
    }

    /// As [`Bo::unmap`], for the CPU's loads through `mapping`, too; then uses it for accesses and flushes. It must exist
    /// until the next such call or as long as the BO. The BO is never reused.
    ///
    /// # Errors
    /// [`Error::BadSize`] for a mapping that is not of the whole BO; as [`Bo::unmap`].
    pub fn remap(&self, mapping: Mapping) -> Result<()> {
        if mapping.len() != self.size() {
            return Err(Error::BadSize {
                size: mapping.len(),
                why: "the mapping has another size than the BO",
            });
        }
        self.shared().unmap(Some(mapping))
    }

    /// Returns the address of the BO's mapping, after creating it if there is none. The address is valid as
    /// long as a clone of the BO exists, or until [`Bo::unmap`].
    ///
    /// The library does not see stores through this pointer: report each with [`Bo::mark_written`]. Loads,
    /// and stores to part of a line, may use stale data; to avoid that, hold a guard and use
    /// [`CpuAccess::as_ptr`].
    ///
    /// [`CpuAccess::as_ptr`]: crate::object::access::CpuAccess::as_ptr
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
        if shared.origin == Origin::Imported && shared.maps.current().is_none() {
            if shared.device.is_xe() {
                // The GPU snoops what another driver's CPU may cache.
                return Ownership { owner: FlushOwner::None, rule: Rule::Snooped };
            }
            let flush = needs_flush_of_import(shared.device.caps(), &shared.device.rules);
            let owner = if !flush.is_needed() {
                FlushOwner::None
            } else if flush.rule == Rule::ImportWbinvd {
                FlushOwner::Kernel
            } else {
                FlushOwner::Exporter
            };
            return Ownership { owner, rule: flush.rule };
        }
        let mode = shared.mode();
        let decide = |reader| shared.decisions(reader, Access::Read).after_store(mode);
        let gpu = decide(Path::Gpu(MocsClass::PageTable));
        let others = [Path::Gpu(MocsClass::BypassLlc), Path::Display].map(decide);
        match std::iter::once(gpu).chain(others).find(|decision| decision.is_needed()) {
            Some(decision) => Ownership { owner: FlushOwner::Library, rule: decision.rule },
            None => Ownership { owner: FlushOwner::None, rule: gpu.rule },
        }
    }
}
