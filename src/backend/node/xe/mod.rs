//! An open `/dev/dri` file of the xe driver.
//!
//! xe keeps no state of caches that a program can ask for: what GET_CACHING answers under i915, [`XeNode`] remembers of the objects that it
//! created, and finds out of imports by binding them with a PAT index that does not snoop, which the kernel refuses for what the CPU caches.
//! There are no domains and no GEM_WAIT: the node waits for its own submissions, and a driver for its own.

mod extras;
mod facts;
mod objects;
mod space;

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use gem_coherency_policy::Errno;

use super::card::Card;
use super::display::DisplayNode;
use super::{access, facts as drm_facts, objects as gem};
use crate::backend::display::Display;
use crate::backend::mapping::{Mapping, PciBarrier};
use crate::backend::{
    Advice, Busy, Created, DriverVersion, Drm, ExecObject, Extras, MemoryRegion, OpenCounts, Param, Retained,
};
use crate::error::{Error, Result, room};
use crate::platform::{Call, EngineClass};
use crate::sync::{Mutex, MutexGuard};
use crate::units::PAGE_BYTES;
use crate::vocabulary::{CachingMode, Domains, Handle, KernelVersion, MmapMode};
use crate::xe::{self, CpuCaching, Create, CreateFlags, LOCAL, MapFlags, Object, Use};
use space::Space;

/// An open xe device file; closing it closes every handle that is still open on it.
///
/// In a child of fork(2) every request fails with [`crate::Error::OtherProcess`].
#[derive(Debug)]
pub struct XeNode {
    card: Card,
    facts: facts::Facts,
    device: xe::Device,
    /// The open handles, and what is known of the objects.
    objects: Mutex<HashMap<Handle, Object>>,
    /// The node's address space, created at first use.
    space: Mutex<Option<Space>>,
    /// Queues that were banned, and are destroyed.
    hangs: AtomicU32,
}

impl XeNode {
    /// Creates the node of a file of xe.
    ///
    /// # Errors
    /// [`crate::Unknown`] for a device, a version of graphics or a kernel without rules; those of DEVICE_QUERY.
    pub(super) fn of_card(card: Card) -> Result<Self> {
        let facts = facts::ask(card.fd()?)?;
        let device = xe::by_id(facts.id)?.device(card.kernel)?;
        let device = match facts.graphics {
            Some(graphics) => device.with_graphics(graphics)?,
            None => device,
        };
        tracing::debug!(name = card.name, kernel = %card.kernel, platform = device.platform.name(), "open");
        Ok(Self {
            card,
            facts,
            device,
            objects: Default::default(),
            space: Default::default(),
            hangs: Default::default(),
        })
    }

    /// Returns the file, for a request; see [`Card::fd`].
    fn fd(&self) -> Result<BorrowedFd<'_>> {
        self.card.fd()
    }

    fn objects(&self) -> MutexGuard<'_, HashMap<Handle, Object>> {
        self.objects.lock()
    }

    /// Returns what is known of an open object.
    ///
    /// # Errors
    /// ENOENT for an unknown handle.
    fn object(&self, request: &'static str, handle: Handle) -> Result<Object> {
        self.card.owner.check()?;
        self.objects().get(&handle).copied().ok_or(Error::Ioctl { request, errno: Errno::ENOENT })
    }

    /// Returns the request that creates an object of a caching mode.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] for DISPLAY without a display.
    fn creation(&self, size_bytes: u64, mode: CachingMode) -> Result<Create> {
        let create = self.device.choose_mode(mode, size_bytes).and_then(|choice| choice.create);
        create.ok_or_else(|| {
            self.not_available(format!("caching mode {mode}"), xe::Rule::NoDisplay.reason(), Errno::EINVAL)
        })
    }

    /// Returns the PAT index by which the node binds an object.
    fn pat_index(&self, object: &Object) -> u16 {
        let choice = match mode_of(object) {
            Some(mode) => self.device.choose_mode(mode, object.size),
            None => self.device.choose(Use::Import, object.size),
        };
        choice.map_or(self.device.pat.own.wb, |choice| choice.pat_index)
    }

    fn not_available(&self, what: String, why: &'static str, errno: Errno) -> Error {
        Error::NotAvailable { what, platform: self.device.platform.name(), why, errno }
    }

    /// Returns the error of a request of i915 that xe lacks. It is not made: its number is that of another request.
    fn no_request(&self, what: &str, why: &'static str) -> Error {
        self.not_available(what.to_owned(), why, Errno::ENODEV)
    }

    /// Returns the same error with the reason of [`Machine::refusal`](crate::platform::Machine::refusal).
    fn refused(&self, what: &str, call: Call) -> Error {
        let refusal = self.device.machine().refusal(call);
        self.no_request(what, refusal.map_or("xe has no such request", |refusal| refusal.why))
    }

    /// Creates an object.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] with the check that xe's GEM_CREATE would fail; GEM_CREATE's.
    fn create_object(&self, create: &Create) -> Result<Created> {
        let object = self.device.create(create).map_err(|refusal| {
            self.not_available(
                format!("an object of {} bytes", create.size),
                refusal.rule.reason(),
                refusal.errno,
            )
        })?;
        let handle = objects::create(self.fd()?, create)?;
        self.objects().insert(handle, object);
        Ok(Created { handle, size_bytes: object.size })
    }

    /// Runs `operation` in the node's address space, which it creates first.
    fn in_space<T>(&self, operation: impl FnOnce(BorrowedFd<'_>, &mut Space) -> Result<T>) -> Result<T> {
        let fd = self.fd()?;
        let mut space = self.space.lock();
        let space = match &mut *space {
            Some(space) => space,
            none => none.insert(Space::new(fd)?),
        };
        operation(fd, space)
    }

    /// Runs a submission of the objects that are `used` in the node's address space.
    ///
    /// # Errors
    /// Those of VM_BIND and EXEC.
    fn submit(
        &self,
        used: impl Fn(Handle) -> bool,
        run: impl Fn(BorrowedFd<'_>, &mut Space) -> Result<()>,
    ) -> Result<()> {
        let Err(error) = self.in_space(&run) else { return Ok(()) };
        match error.errno() {
            // All that is bound has to fit, whether this batch uses it or not.
            Errno::ENOMEM | Errno::ENOSPC => self.in_space(|fd, space| {
                space.unbind_others(fd, used)?;
                run(fd, space)
            }),
            Errno::ECANCELED => {
                let (fd, mut space) = (self.fd()?, self.space.lock());
                let dropped = space.as_mut().map_or(Ok(0), |space| space.drop_banned(fd))?;
                // Relaxed: a statistic; it publishes no other data.
                self.hangs.fetch_add(dropped, Ordering::Relaxed);
                // No queue is banned, so it is the address space: the next submission gets another.
                let banned = if dropped == 0 { space.take() } else { None };
                if let Some(space) = banned {
                    space.destroy(fd);
                }
                Err(error)
            }
            _ => Err(error),
        }
    }

    /// Returns how the CPU maps an imported object; `None` if another driver decides that.
    ///
    /// VM_BIND accepts a PAT index that does not snoop for a write-combining object alone, and a page fault of the CPU's succeeds for the device's
    /// own objects alone (`xe_bo_cpu_fault`).
    fn import_caching(&self, handle: Handle, size_bytes: u64) -> Result<Option<CpuCaching>> {
        let plain = |(_, entry): &(u16, &xe::PatEntry)| !entry.compressed && !entry.coherency.snoops();
        let not_snooping = self.device.pat.indices().find(plain).map(|(index, _)| index);
        if let Some(index) = not_snooping {
            let bound = self.in_space(|fd, space| space.try_bind(fd, handle, size_bytes, index));
            match bound {
                Ok(()) => return Ok(Some(CpuCaching::Wc)),
                // Only the index may be wrong.
                Err(error) if error.errno() == Errno::EINVAL => {
                    let snooping = self.pat_index(&Object::imported(size_bytes));
                    self.in_space(|fd, space| space.try_bind(fd, handle, size_bytes, snooping))?;
                }
                Err(error) => return Err(error),
            }
        }
        let offset = objects::mmap_offset(self.fd()?, handle)?;
        let pages = access::mmap(self.fd()?, offset, PAGE_BYTES)?;
        Ok(objects::can_be_read(&pages)?.then_some(CpuCaching::Wb))
    }
}

impl Drop for XeNode {
    fn drop(&mut self) {
        if !self.card.owner.is_here() {
            // Closes only this process's copy of the file.
            return;
        }
        tracing::debug!(name = self.card.name, handles = self.objects().len(), "close");
        // The file may be a duplicate, which stays open elsewhere.
        if let Some(space) = self.space.lock().take() {
            space.destroy(self.card.file());
        }
    }
}

/// Returns the caching mode of an object; `None` if another driver decides how its pages are cached.
fn mode_of(object: &Object) -> Option<CachingMode> {
    match object.caching? {
        CpuCaching::Wb => Some(CachingMode::Cached),
        CpuCaching::Wc if object.flags.contains(CreateFlags::SCANOUT) => Some(CachingMode::Display),
        CpuCaching::Wc => Some(CachingMode::None),
    }
}

impl DisplayNode for XeNode {
    fn card(&self) -> &Card {
        &self.card
    }

    fn record_dumb(&self, created: Created) {
        self.learn(created.handle, self.device.dumb(created.size_bytes));
    }

    fn no_framebuffer(&self, handle: Handle, error: Error) -> Error {
        let known = self.objects().get(&handle).copied();
        match known.filter(|object| !object.flags.contains(CreateFlags::SCANOUT)) {
            // `xe_display_bo_framebuffer_init`.
            Some(_) if error.errno() == Errno::EINVAL => self.not_available(
                format!("a framebuffer of object {}", handle.get()),
                "it was bound before, and created without SCANOUT, which the caching mode DISPLAY has",
                Errno::EINVAL,
            ),
            _ => error,
        }
    }
}

impl Drm for XeNode {
    fn name(&self) -> &str {
        &self.card.name
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.card.file())
    }

    fn kernel(&self) -> KernelVersion {
        self.card.kernel
    }

    fn xe(&self) -> Option<xe::Device> {
        Some(self.device)
    }

    fn version(&self) -> Result<DriverVersion> {
        drm_facts::version(self.fd()?)
    }

    fn param(&self, param: Param) -> Result<i32> {
        self.card.owner.check()?;
        match param {
            Param::ChipsetId => Ok(i32::from(self.facts.id)),
            Param::Revision => Ok(i32::from(self.facts.revision)),
            Param::HasLlc
            | Param::HasWt
            | Param::MmapVersion
            | Param::MmapGttVersion
            | Param::MmapGttCoherent => Err(self.no_request(param.name(), "xe has no request for it")),
        }
    }

    fn memory_regions(&self) -> Result<Vec<MemoryRegion>> {
        self.card.owner.check()?;
        Ok(self.facts.regions.clone())
    }

    fn create(&self, size_bytes: u64) -> Result<Created> {
        self.create_cached(size_bytes, CachingMode::Cached)
    }

    fn create_with_pat(&self, _: u64, _: u32) -> Result<Created> {
        Err(self.no_request("SET_PAT", "under xe a PAT index belongs to a mapping of the GPU"))
    }

    fn create_cached(&self, size_bytes: u64, mode: CachingMode) -> Result<Created> {
        let size = size_bytes.checked_next_multiple_of(PAGE_BYTES).unwrap_or(size_bytes);
        self.create_object(&self.creation(size, mode)?)
    }

    fn learn(&self, handle: Handle, object: Object) {
        self.objects().insert(handle, object);
    }

    fn known(&self, handle: Handle) -> Option<Object> {
        self.objects().get(&handle).copied()
    }

    fn forget(&self, handle: Handle) -> Result<()> {
        let fd = self.fd()?;
        self.objects().remove(&handle);
        self.space.lock().as_mut().map_or(Ok(()), |space| space.unbind(fd, handle))
    }

    fn close(&self, handle: Handle) -> Result<()> {
        // Forgotten first: after the close the kernel may return the same handle to another thread. The object is closed even if it stays bound.
        let forgotten = self.forget(handle);
        gem::close(self.fd()?, handle).and(forgotten)
    }

    fn set_caching(&self, _: Handle, _: CachingMode) -> Result<()> {
        Err(self.refused("SET_CACHING", Call::SetCaching))
    }

    fn caching(&self, handle: Handle) -> Result<CachingMode> {
        let object = self.object("the caching of an object that the node did not create", handle)?;
        mode_of(&object).ok_or_else(|| {
            self.no_request("the caching of an import", "another driver decides how its pages are cached")
        })
    }

    fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        let object = self.object("DRM_IOCTL_XE_GEM_MMAP_OFFSET", handle)?;
        let has = self.device.map_mode(&object).ok_or_else(|| {
            self.no_request("a mapping of an import", "xe maps no pages of another driver (SIGBUS)")
        })?;
        if mode != has {
            let why = "xe maps an object as its creation says: write-back (cached) or write-combining (none), fixed on a discrete device";
            return Err(self.no_request(&format!("map mode {mode}"), why));
        }
        let offset = objects::mmap_offset(self.fd()?, handle)?;
        self.card.map(handle, mode, offset, size_bytes)
    }

    fn pci_barrier(&self) -> Result<PciBarrier> {
        let foreseen = self.device.map_offset(0, MapFlags::PCI_BARRIER, false);
        foreseen.map_err(|refusal| {
            self.not_available("the barrier page".to_owned(), refusal.rule.reason(), refusal.errno)
        })?;
        let offset = objects::barrier_offset(self.fd()?)?;
        access::mmap_barrier(self.fd()?, offset, self.card.counted())
    }

    fn set_domain(&self, _: Handle, _: Domains, _: Domains) -> Result<()> {
        Err(self.refused("SET_DOMAIN", Call::SetDomain))
    }

    fn busy(&self, handle: Handle) -> Result<Busy> {
        match self.wait(handle, 0) {
            Ok(()) => Ok(Busy(0)),
            Err(error) if error.errno() == Errno::ETIME => Ok(Busy(1)),
            Err(error) => Err(error),
        }
    }

    fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()> {
        let fd = self.fd()?;
        self.object("a wait", handle)?;
        let last = self.space.lock().as_ref().and_then(|space| space.last_use(handle));
        last.map_or(Ok(()), |point| space::wait(fd, point, timeout_ns))
    }

    fn madvise(&self, handle: Handle, _: Advice) -> Result<Retained> {
        self.object("MADVISE", handle)?;
        // The advice of xe's MADVISE is about a range of an address space, from Linux 7.2 on; an object that is not advised keeps its contents.
        Ok(Retained::Yes)
    }

    fn export(&self, handle: Handle) -> Result<OwnedFd> {
        gem::export(self.fd()?, handle)
    }

    fn import(&self, dma_buf: BorrowedFd<'_>) -> Result<Created> {
        let fd = self.fd()?;
        let handle = gem::import(fd, dma_buf)?;
        if let Some(known) = self.objects().get(&handle) {
            return Ok(Created { handle, size_bytes: known.size });
        }
        let learn = || -> Result<_> {
            let size_bytes = gem::dma_buf_size(dma_buf)?;
            Ok((size_bytes, self.import_caching(handle, size_bytes)?))
        };
        let (size, caching) = learn().inspect_err(|_| {
            // The caller gets the first error.
            let _ = gem::close(fd, handle);
        })?;
        // Local memory is never write-back.
        let local = self.device.platform.discrete && caching == Some(CpuCaching::Wc);
        let imported = Object::imported(size);
        let placement = if local { LOCAL } else { imported.placement };
        self.objects().insert(handle, Object { caching, placement, ..imported });
        Ok(Created { handle, size_bytes: size })
    }

    fn execute(&self, objects: &[ExecObject]) -> Result<()> {
        let mut bound = room("submissions", objects.len())?;
        for one in objects {
            let object = self.object("DRM_IOCTL_XE_VM_BIND", one.handle)?;
            bound.push((one.handle, object.size, self.pat_index(&object)));
        }
        let batch = Create::new(PAGE_BYTES, CpuCaching::Wb);
        let snooped =
            self.pat_index(&Object { caching: Some(CpuCaching::Wb), ..Object::imported(PAGE_BYTES) });
        let used = |handle| bound.iter().any(|&(one, ..)| one == handle);
        self.submit(used, |fd, space| {
            space.bind_all(fd, &bound)?;
            let batch = space.empty_batch(fd, &batch, snooped)?;
            space.execute(fd, EngineClass::Copy, batch, bound.iter().map(|(handle, ..)| *handle))
        })
    }

    fn extras(&self) -> Result<&dyn Extras> {
        Ok(self)
    }

    fn display(&self) -> Result<&dyn Display> {
        Ok(self)
    }

    fn open_counts(&self) -> OpenCounts {
        self.card.open_counts(|| self.objects().len())
    }
}
