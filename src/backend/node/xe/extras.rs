//! Implements [`Extras`] on an xe node: objects and mappings of the caller's choice, and batches.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use gem_coherency_policy::Errno;
use gem_coherency_uapi::dma_buf::{DMA_BUF_SYNC_END, DMA_BUF_SYNC_START};

use super::space::{CALLERS_END, PatChoice};
use super::{XeNode, objects};
use crate::backend::node::objects as gem;
use crate::backend::{Addresses, Created, Extras, Mapping, Placement, Run};
use crate::error::{Error, Result, room};
use crate::platform::Call;
use crate::vocabulary::{Access, Handle, MmapMode};
use crate::xe::{CpuCaching, Create, LOCAL, Object, SYSTEM};

impl XeNode {
    /// Checks an address of the caller's for an object of `size_bytes`.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] for an address that is the node's.
    fn check_address(&self, address: u64, size_bytes: u64) -> Result<()> {
        match address.checked_add(size_bytes) {
            Some(end) if end <= CALLERS_END => Ok(()),
            _ => Err(self.not_available(
                format!("address {address:#x} for {size_bytes} bytes"),
                "from 2^46 on, the library chooses the addresses",
                Errno::EINVAL,
            )),
        }
    }
}

impl Extras for XeNode {
    fn create_in(&self, size_bytes: u64, placements: &[Placement]) -> Result<Created> {
        let bit = |one: &Placement| if one.class == Placement::SYSTEM.class { SYSTEM } else { LOCAL };
        let placement = placements.iter().map(bit).fold(0, |bits, bit| bits | bit);
        let caching = if placement & LOCAL != 0 { CpuCaching::Wc } else { CpuCaching::Wb };
        self.create_object(&Create { placement, ..Create::new(size_bytes, caching) })
    }

    fn create_by(&self, create: &Create) -> Result<Created> {
        let handle = objects::create(self.fd()?, create)?;
        let caching = CpuCaching::ALL.iter().copied().find(|it| it.number() == create.cpu_caching);
        let Create { size, placement, flags, .. } = *create;
        self.objects().insert(handle, Object { caching, size, placement, flags });
        Ok(Created { handle, size_bytes: size })
    }

    fn bind(&self, handle: Handle, address: u64, pat_index: u16) -> Result<()> {
        let size_bytes = self.object("DRM_IOCTL_XE_VM_BIND", handle)?.size;
        self.check_address(address, size_bytes)?;
        self.in_space(|fd, space| space.pin(fd, handle, size_bytes, address, PatChoice::Caller(pat_index)))
    }

    fn create_userptr(&self, _: u64) -> Result<(Created, [Mapping; 2])> {
        Err(self.refused("USERPTR", Call::Userptr))
    }

    fn map_legacy(&self, _: Handle, _: MmapMode, _: u64) -> Result<Mapping> {
        Err(self.refused("GEM_MMAP", Call::MmapLegacy))
    }

    fn sw_finish(&self, _: Handle) -> Result<()> {
        Err(self.no_request("SW_FINISH", "xe has no domains, and flushes nothing for the display"))
    }

    fn pread(&self, _: Handle, _: u64, _: &mut [u8]) -> Result<()> {
        Err(self.refused("PREAD", Call::PreadPwrite))
    }

    fn pwrite(&self, _: Handle, _: u64, _: &[u8]) -> Result<()> {
        Err(self.refused("PWRITE", Call::PreadPwrite))
    }

    fn begin_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        gem::sync(dma_buf, DMA_BUF_SYNC_START, access)
    }

    fn end_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        gem::sync(dma_buf, DMA_BUF_SYNC_END, access)
    }

    fn run(&self, run: &Run<'_>) -> Result<()> {
        let Addresses::Pinned(addresses) = run.addresses else {
            return Err(self.refused("a relocation", Call::Relocations));
        };
        let handles = || run.objects.iter().map(|one| one.handle).chain([run.batch]);
        let missing = Error::Ioctl { request: "DRM_IOCTL_XE_EXEC", errno: Errno::EINVAL };
        let start = addresses.get(run.objects.len()).copied().ok_or(missing)?;
        let mut pinned = room("submissions", run.objects.len() + 1)?;
        for (handle, &address) in handles().zip(addresses) {
            let object = self.object("DRM_IOCTL_XE_VM_BIND", handle)?;
            self.check_address(address, object.size)?;
            pinned.push((handle, object.size, address, PatChoice::Node(self.pat_index(&object))));
        }
        let used = |handle| handles().any(|one| one == handle);
        self.submit(used, |fd, space| {
            for &(handle, size_bytes, address, pat_index) in &pinned {
                space.pin(fd, handle, size_bytes, address, pat_index)?;
            }
            space.execute(fd, run.engine, start, handles())
        })
    }

    fn hangs(&self) -> Result<u32> {
        let fd = self.fd()?;
        let now = self.space.lock().as_ref().map_or(Ok(0), |space| space.banned(fd))?;
        // Relaxed: a statistic; it publishes no other data.
        Ok(self.hangs.load(Ordering::Relaxed) + now)
    }
}
