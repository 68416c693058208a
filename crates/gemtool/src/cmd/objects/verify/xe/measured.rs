//! The measured object, bound by a PAT index, and accesses to it.

use gem_coherency::Errno;
use gem_coherency::backend::Mapping;
use gem_coherency::cacheops::{CacheLines as _, LineOp, fence_for};
use gem_coherency::device::{AdoptRequest, Contents, Device};
use gem_coherency::object::Bo;
use gem_coherency::units::{ByteRange, PAGE_BYTES};
use gem_coherency::vocabulary::{Access, Handle, MmapMode};
use gem_coherency::xe::{CpuCaching, Create, LOCAL, Object, SYSTEM};
use gem_coherency_exercise::Result;
use gem_coherency_exercise::commands::{Extent, Memory, Surface};

use super::copier::{Copier, OBJECT, Target};
use super::report::Item;
use crate::args::Via;
use crate::cmd::objects::verify::object::{DWORD, ROW, load, stage};
use crate::cmd::objects::verify::setup::surface;
use crate::cmd::objects::verify::shuffle::Store;

/// What drains an access's stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushing {
    /// The library.
    Library,
    /// Nothing: the library does not know of the access.
    None,
}

/// The bytes of objects that were freed.
const OLD: u8 = 0xe7;
/// Number of objects that are freed before a new one is read.
const FREED: usize = 4;

/// An open handle, which is closed at the end.
#[derive(Debug)]
struct Open<'a> {
    device: &'a Device,
    handle: Handle,
}

impl<'a> Open<'a> {
    /// Creates an object as `create` says.
    ///
    /// # Errors
    /// Those of GEM_CREATE.
    fn new(device: &'a Device, create: &Create) -> Result<Self> {
        let handle = device.drm().extras()?.create_by(create)?.handle;
        Ok(Self { device, handle })
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // Nothing is left to do if the kernel refuses it.
        let _ = self.device.drm().close(self.handle);
    }
}

/// The measured object.
#[derive(Debug)]
pub struct Measured<'a> {
    copier: &'a Copier,
    object: Object,
    /// A mapping that the library does not track.
    raw: Mapping,
    /// Dropped before the handle is closed.
    bo: Bo,
    open: Open<'a>,
}

impl<'a> Measured<'a> {
    /// Asks the kernel whether it creates such an object, and binds it by `pat_index` if there is one; returns its errno if it refuses.
    ///
    /// # Errors
    /// Those that are no answer to the request.
    pub fn ask(copier: &Copier, item: &Item, pat_index: Option<u16>) -> Result<Option<Errno>> {
        use gem_coherency::Error::Ioctl;
        use gem_coherency_exercise::Error::Library;
        let open = match Open::new(copier.device(), &item.create) {
            Ok(open) => open,
            Err(Library(Ioctl { errno, .. })) if is_answer(errno) => return Ok(Some(errno)),
            Err(error) => return Err(error),
        };
        let Some(index) = pat_index else { return Ok(None) };
        match copier.device().drm().extras()?.bind(open.handle, OBJECT, index) {
            Ok(()) => Ok(None),
            Err(Ioctl { errno, .. }) if is_answer(errno) => Ok(Some(errno)),
            Err(error) => Err(error.into()),
        }
    }

    /// Leaves bytes in free pages, and in lines of them in the CPU's cache.
    ///
    /// # Errors
    /// Those of creating and mapping objects.
    pub fn leave_bytes(copier: &Copier, item: &Item) -> Result<()> {
        let device = copier.device();
        let local = item.create.placement & LOCAL != 0;
        let caching = if local { CpuCaching::Wc } else { CpuCaching::Wb };
        let placement = if local { LOCAL } else { SYSTEM };
        let create = Create { placement, ..Create::new(item.create.size, caching) };
        let mut freed = Vec::new();
        for _ in 0..FREED {
            let open = Open::new(device, &create)?;
            let mapping = device.drm().map(open.handle, mode(device, caching), create.size)?;
            let page = [OLD; PAGE_BYTES as usize];
            (0..create.size).step_by(page.len()).try_for_each(|at| mapping.copy_in(at, &page))?;
            freed.push(open);
        }
        Ok(())
    }

    /// Returns the path of the CPU's mapping.
    pub fn cpu_path(device: &Device, object: &Object) -> Via {
        match mode(device, object.caching.unwrap_or(CpuCaching::Wb)) {
            MmapMode::Wb => Via::CpuWb,
            MmapMode::Wc | MmapMode::Uc | MmapMode::Gtt => Via::CpuWc,
            MmapMode::Fixed => Via::CpuFixed,
        }
    }

    /// Creates an object and binds it by `pat_index`.
    ///
    /// # Errors
    /// Those of GEM_CREATE, VM_BIND and mmap(2).
    pub fn new(copier: &'a Copier, item: &Item, pat_index: u16) -> Result<Self> {
        let device = copier.device();
        let open = Open::new(device, &item.create)?;
        device.drm().extras()?.bind(open.handle, OBJECT, pat_index)?;
        let Create { size, placement, flags, .. } = item.create;
        let object = Object { caching: Some(item.cpu_caching()), size, placement, flags };
        let map = || device.drm().map(open.handle, mode(device, item.cpu_caching()), size);
        let request = AdoptRequest::new(open.handle, size).bound(object, pat_index);
        let bo = device.adopt(request.mapped(map()?).contents(Contents::New))?;
        let raw = map()?;
        Ok(Self { copier, object, raw, bo, open })
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.object.size
    }

    /// Returns the path of its mapping.
    pub fn via(&self) -> Via {
        Self::cpu_path(self.copier.device(), &self.object)
    }

    /// Stores by the path `via`: the copy engine's, or that of the CPU's mapping.
    ///
    /// # Errors
    /// The errors of the library or the device.
    pub fn write(&self, via: Via, flushing: Flushing, stores: &[Store]) -> Result<()> {
        let target = (self.target(flushing), Access::Write);
        let mut each = stores.iter();
        match via {
            Via::GpuStore => self.copier.run(target, None, |builder| {
                each.try_for_each(|store| builder.store(0, store.offset, store.value))
            }),
            Via::GpuBlit => {
                stage(&self.copier.staging, stores)?;
                self.copier.run(target, Some((&self.copier.staging, Access::Read)), |builder| {
                    each.try_for_each(|store| {
                        builder.copy(self.surface(store.offset), surface(1, store.offset, None), DWORD)
                    })
                })
            }
            Via::CpuWb | Via::CpuWc | Via::CpuFixed | Via::CpuGtt | Via::Transfer | Via::GpuShader => {
                self.store(flushing, stores)
            }
        }
    }

    /// Stores by the CPU's mapping.
    fn store(&self, flushing: Flushing, stores: &[Store]) -> Result<()> {
        let mut stores = stores.iter().map(|store| (store.offset, store.value.to_le_bytes()));
        match flushing {
            Flushing::Library => {
                let mut guard = self.bo.write(0, self.size())?;
                stores.try_for_each(|(offset, bytes)| guard.write_at(offset, &bytes))?;
                guard.finish();
            }
            Flushing::None => stores.try_for_each(|(offset, bytes)| self.raw.copy_in(offset, &bytes))?,
        }
        Ok(())
    }

    /// Reads the whole object by the path `via`: that of copies, or of the CPU's mapping.
    ///
    /// # Errors
    /// The errors of the library or the device.
    pub fn read(&self, via: Via, flushing: Flushing) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.size() as usize];
        match via {
            Via::GpuBlit => {
                let scratch = &self.copier.scratch;
                let rows = Extent { width: ROW, height: (self.size() / u64::from(ROW)) as u32 };
                let target = (self.target(flushing), Access::Read);
                self.copier.run(target, Some((scratch, Access::Write)), |builder| {
                    builder.copy(surface(1, 0, None), self.surface(0), rows)
                })?;
                load(scratch, &mut bytes)?;
            }
            Via::CpuWb
            | Via::CpuWc
            | Via::CpuFixed
            | Via::CpuGtt
            | Via::Transfer
            | Via::GpuStore
            | Via::GpuShader => match flushing {
                Flushing::Library => self.bo.read(0, self.size())?.read_at(0, &mut bytes)?,
                Flushing::None => self.raw.copy_out(0, &mut bytes)?,
            },
        }
        Ok(bytes)
    }

    /// Simulates evictions from the CPU's caches, which may happen at any time: writes back and drops every line.
    ///
    /// # Errors
    /// Those of a CPU without CLFLUSH.
    pub fn evict(&self) -> Result<()> {
        if self.object.caching == Some(CpuCaching::Wb) {
            let lines = ByteRange::within(0, self.size(), self.size())?.lines();
            fence_for(LineOp::Invalidate);
            self.raw.perform(LineOp::Invalidate, lines)?;
            fence_for(LineOp::Invalidate);
        }
        Ok(())
    }

    fn target(&self, flushing: Flushing) -> Target<'_> {
        match flushing {
            Flushing::Library => Target::Known(&self.bo),
            Flushing::None => Target::Unknown(self.open.handle),
        }
    }

    /// Returns a piece of the object in the builder's form.
    fn surface(&self, offset: u64) -> Surface {
        let local = self.object.placement & LOCAL != 0;
        let memory = if local { Memory::Local } else { Memory::System };
        Surface { memory, ..surface(0, offset, None) }
    }
}

/// Returns whether an errno is about the request, and not about memory or a device that is gone.
fn is_answer(errno: Errno) -> bool {
    ![Errno::ENOMEM, Errno::ENOSPC, Errno::ENOBUFS, Errno::EIO, Errno::ENODEV, Errno::ECANCELED]
        .contains(&errno)
}

/// Returns the map mode of the objects of a CPU caching.
fn mode(device: &Device, caching: CpuCaching) -> MmapMode {
    match caching {
        _ if device.xe().is_some_and(|rules| rules.platform.discrete) => MmapMode::Fixed,
        CpuCaching::Wb => MmapMode::Wb,
        CpuCaching::Wc => MmapMode::Wc,
    }
}
