//! The measured object, and accesses to it by every path, with or without flushes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use gem_coherency::backend::Mapping;
use gem_coherency::device::{AllocRequest, Submission};
use gem_coherency::object::Bo;
use gem_coherency::object::FlushReport;
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, CachingMode, Domains, MmapMode, MocsClass};
use gem_coherency_exercise::Result;
use gem_coherency_exercise::commands::shaders::{self, COPY_BYTES, SCATTER_STORES};
use gem_coherency_exercise::commands::{Bytes, Extent};
use gem_coherency_exercise::{Batch, Region, Walker};
use serde::Serialize;

use super::paths::Mocs;
use super::setup::{Buffers, Setup, surface};
use super::shuffle::Store;
use crate::args::Via;

/// Size of a store.
pub(super) const DWORD: Extent = Extent { width: 4, height: 1 };
/// Bytes of a row that is copied out.
pub(super) const ROW: u32 = 4096;

/// The side that flushes for an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flushing {
    /// The library flushes, invalidates and drains.
    Library,
    /// The kernel flushes; SET_DOMAIN announces each access of the CPU.
    Kernel,
    /// No side flushes.
    None,
}

/// The measured object.
#[derive(Debug)]
pub struct Object<'a> {
    setup: &'a Setup,
    bo: Bo,
    mocs: Mocs,
    /// Mappings that the library does not track.
    untracked: RefCell<BTreeMap<MmapMode, Mapping>>,
}

impl<'a> Object<'a> {
    /// Allocates an object that copies and shaders access through `mocs`.
    ///
    /// # Errors
    /// The errors of allocating a BO.
    pub fn new(setup: &'a Setup, caching: Option<CachingMode>, mocs: Mocs) -> Result<Self> {
        let bo = setup.device().alloc(AllocRequest { caching, ..AllocRequest::new(setup.size) })?;
        Ok(Self { setup, bo, mocs, untracked: RefCell::default() })
    }

    /// Returns the library's BO.
    pub fn bo(&self) -> &Bo {
        &self.bo
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.bo.size()
    }

    /// Makes memory and all caches agree, and submits the object once, so that no work of the kernel remains.
    ///
    /// # Errors
    /// The errors of flushing and submitting.
    pub fn settle(&self) -> Result<()> {
        self.bo.flush()?;
        let submission = Submission { bo: &self.bo, access: Access::Read, mocs: MocsClass::PageTable };
        self.setup.device().submit(&[submission])?;
        Ok(self.bo.wait(None)?)
    }

    /// Simulates evictions, which may happen at any time: writes back and drops every line, and drains
    /// buffered stores.
    ///
    /// # Errors
    /// The errors of mapping the object.
    pub fn evict(&self) -> Result<()> {
        for mapping in self.untracked.borrow().values() {
            mapping.drain()?;
        }
        let cached = [MmapMode::Wb, MmapMode::Fixed].into_iter();
        let mode = cached.into_iter().find(|&mode| {
            let call = gem_coherency::platform::Call::MmapOffset(mode);
            self.setup.device().machine().refusal(call).is_none()
        });
        let Some(mode) = mode else { return Ok(()) };
        let lines = ByteRange::within(0, self.size(), self.size())?.lines();
        self.with_mapping(mode, |mapping| {
            use gem_coherency::cacheops::{CacheLines as _, LineOp, fence_for};
            fence_for(LineOp::Invalidate);
            mapping.perform(LineOp::Invalidate, lines)?;
            fence_for(LineOp::Invalidate);
            Ok(())
        })
    }

    /// Stores by the path `via`; returns the library's flush report, if any.
    ///
    /// # Errors
    /// The errors of the library or the device.
    pub fn write(&self, via: Via, flushing: Flushing, stores: &[Store]) -> Result<Option<FlushReport>> {
        match (via, flushing) {
            (Via::CpuWb | Via::CpuWc | Via::CpuGtt | Via::CpuFixed, Flushing::Library) => {
                self.map(via)?;
                let mut guard = self.bo.write(0, self.size())?;
                for store in stores {
                    guard.write_at(store.offset, &store.value.to_le_bytes())?;
                }
                Ok(Some(guard.finish()))
            }
            (Via::CpuWb | Via::CpuWc | Via::CpuGtt | Via::CpuFixed, Flushing::Kernel | Flushing::None) => {
                self.announce(via, flushing, Access::Write)?;
                self.with_mapping(via.mode().unwrap_or(MmapMode::Wb), |mapping| {
                    let mut stores = stores.iter();
                    stores
                        .try_for_each(|store| Ok(mapping.copy_in(store.offset, &store.value.to_le_bytes())?))
                })?;
                Ok(None)
            }
            (Via::Transfer, Flushing::Library) => self.pwrite_tracked(stores).map(Some),
            (Via::Transfer, Flushing::Kernel | Flushing::None) => self.pwrite(stores).map(|()| None),
            (Via::GpuStore, Flushing::Library) => {
                let mut batch = Batch::new(self.setup.device())?;
                for store in stores {
                    batch.store(&self.bo, store.offset, store.value)?;
                }
                let submitted = batch.submit()?;
                submitted.wait(None)?;
                Ok(submitted.reports().first().copied())
            }
            (Via::GpuStore, Flushing::Kernel | Flushing::None) => {
                let written = self.setup.blits(|builder| {
                    stores.iter().try_for_each(|store| builder.store(0, store.offset, store.value))
                })?;
                self.setup.run(&self.bo, Access::Write, None, written).map(|()| None)
            }
            (Via::GpuBlit, Flushing::Library) => {
                stage(&self.setup.tracked.staging, stores)?;
                let mut batch = Batch::new(self.setup.device())?;
                for store in stores {
                    let from = Region::new(&self.setup.tracked.staging, store.offset);
                    batch.copy(self.region(Via::GpuBlit, store.offset), from, DWORD)?;
                }
                let submitted = batch.submit()?;
                submitted.wait(None)?;
                Ok(submitted.reports().first().copied())
            }
            (Via::GpuBlit, Flushing::Kernel | Flushing::None) => {
                stage(&self.setup.untracked.staging, stores)?;
                let staging = Some((&self.setup.untracked.staging, Access::Read));
                let written = self.setup.blits(|builder| {
                    stores.iter().try_for_each(|store| {
                        let to = surface(0, store.offset, self.entry(Via::GpuBlit));
                        builder.copy(to, surface(1, store.offset, None), DWORD)
                    })
                })?;
                self.setup.run(&self.bo, Access::Write, staging, written).map(|()| None)
            }
            (Via::GpuShader, Flushing::Library) => {
                let groups = tabulate(&self.setup.tracked, stores, self.size())?;
                let mut walker =
                    Walker::new(self.setup.device(), &shaders::scatter(self.setup.device().machine())?)?;
                let table = Region::new(&self.setup.tracked.staging, 0);
                walker.surface(table, u64::from(groups) * COPY_BYTES, Access::Read)?;
                walker.surface(self.region(Via::GpuShader, 0), self.size(), Access::Write)?;
                let submitted = walker.submit(groups)?;
                submitted.wait(None)?;
                Ok(submitted.reports().get(1).copied())
            }
            (Via::GpuShader, Flushing::Kernel | Flushing::None) => {
                let groups = tabulate(&self.setup.untracked, stores, self.size())?;
                let staging = Some((&self.setup.untracked.staging, Access::Read));
                let shader = shaders::scatter(self.setup.device().machine())?;
                let written = self.setup.shader(&shader, [self.bytes(1), self.bytes(0)], groups)?;
                self.setup.run(&self.bo, Access::Write, staging, written).map(|()| None)
            }
        }
    }

    /// Reads the whole object by the path `via`; returns the bytes and the library's flush report, if any.
    ///
    /// # Errors
    /// The errors of the library or the device.
    pub fn read(&self, via: Via, flushing: Flushing) -> Result<(Vec<u8>, Option<FlushReport>)> {
        let mut bytes = vec![0; self.size() as usize];
        let report = match (via, flushing) {
            (Via::CpuWb | Via::CpuWc | Via::CpuGtt | Via::CpuFixed, Flushing::Library) => {
                self.map(via)?;
                let guard = self.bo.read(0, self.size())?;
                guard.read_at(0, &mut bytes)?;
                Some(guard.finish())
            }
            (Via::CpuWb | Via::CpuWc | Via::CpuGtt | Via::CpuFixed, Flushing::Kernel | Flushing::None) => {
                self.announce(via, flushing, Access::Read)?;
                let mode = via.mode().unwrap_or(MmapMode::Wb);
                self.with_mapping(mode, |mapping| Ok(mapping.copy_out(0, &mut bytes)?))?;
                None
            }
            (Via::Transfer, Flushing::Library) => {
                // PREAD may find its bytes in the cache, like a mapping.
                self.bo.map(MmapMode::Wb)?;
                let guard = self.bo.read(0, self.size())?;
                self.setup.device().drm().extras()?.pread(self.bo.handle(), 0, &mut bytes)?;
                Some(guard.finish())
            }
            (Via::Transfer, Flushing::Kernel | Flushing::None) => {
                self.setup.device().drm().extras()?.pread(self.bo.handle(), 0, &mut bytes)?;
                None
            }
            (Via::GpuBlit, Flushing::Library) => {
                let scratch = &self.setup.tracked.scratch;
                let mut batch = Batch::new(self.setup.device())?;
                batch.copy_range(Region::new(scratch, 0), self.region(Via::GpuBlit, 0), self.size())?;
                let submitted = batch.submit()?;
                submitted.wait(None)?;
                load(scratch, &mut bytes)?;
                submitted.reports().get(1).copied()
            }
            (Via::GpuBlit, Flushing::Kernel | Flushing::None) => {
                let scratch = &self.setup.untracked.scratch;
                let rows = Extent { width: ROW, height: (self.size() / u64::from(ROW)) as u32 };
                let written = self.setup.blits(|builder| {
                    builder.copy(surface(1, 0, None), surface(0, 0, self.entry(Via::GpuBlit)), rows)
                })?;
                self.setup.run(&self.bo, Access::Read, Some((scratch, Access::Write)), written)?;
                load(scratch, &mut bytes)?;
                None
            }
            (Via::GpuShader, Flushing::Library) => {
                let scratch = &self.setup.tracked.scratch;
                let mut walker =
                    Walker::new(self.setup.device(), &shaders::copy(self.setup.device().machine())?)?;
                walker.surface(self.region(Via::GpuShader, 0), self.size(), Access::Read)?;
                walker.surface(Region::new(scratch, 0), self.size(), Access::Write)?;
                let submitted = walker.submit(self.groups())?;
                submitted.wait(None)?;
                load(scratch, &mut bytes)?;
                submitted.reports().first().copied()
            }
            (Via::GpuShader, Flushing::Kernel | Flushing::None) => {
                let scratch = &self.setup.untracked.scratch;
                let shader = shaders::copy(self.setup.device().machine())?;
                let written = self.setup.shader(&shader, [self.bytes(0), self.bytes(1)], self.groups())?;
                self.setup.run(&self.bo, Access::Read, Some((scratch, Access::Write)), written)?;
                load(scratch, &mut bytes)?;
                None
            }
            // The plan never requests it.
            (Via::GpuStore, _) => None,
        };
        Ok((bytes, report))
    }

    /// Runs PWRITE with the library's tracking. Only the kernel knows whether it goes through the cache or
    /// the aperture, so no line is left dirty or stale before it, and its bytes are then treated as written
    /// by the CPU.
    fn pwrite_tracked(&self, stores: &[Store]) -> Result<FlushReport> {
        self.bo.map(MmapMode::Wb)?;
        let report = self.bo.flush()?;
        self.bo.read(0, self.size())?.finish();
        self.pwrite(stores)?;
        self.setup.device().drm().set_domain(self.bo.handle(), Domains::CPU, Domains::empty())?;
        stores.iter().try_for_each(|store| self.bo.mark_written(store.offset, 4))?;
        Ok(report)
    }

    fn pwrite(&self, stores: &[Store]) -> Result<()> {
        let requests = self.setup.device().drm().extras()?;
        let mut stores = stores.iter();
        Ok(stores.try_for_each(|store| {
            requests.pwrite(self.bo.handle(), store.offset, &store.value.to_le_bytes())
        })?)
    }

    /// Announces an access through a mapping to the kernel, if the kernel flushes for it.
    fn announce(&self, via: Via, flushing: Flushing, access: Access) -> Result<()> {
        let domain = match (via, flushing) {
            (_, Flushing::Library | Flushing::None) => return Ok(()),
            (Via::CpuWc, Flushing::Kernel) => Domains::WC,
            (Via::CpuGtt, Flushing::Kernel) => Domains::GTT,
            (_, Flushing::Kernel) => Domains::CPU,
        };
        let write = if access == Access::Write { domain } else { Domains::empty() };
        Ok(self.setup.device().drm().set_domain(self.bo.handle(), domain, write)?)
    }

    /// Makes the library's accesses use the mapping of `via`.
    fn map(&self, via: Via) -> Result<()> {
        via.mode().map_or(Ok(()), |mode| Ok(self.bo.map(mode)?))
    }

    /// Returns the MOCS entry of the accesses by a path.
    fn entry(&self, via: Via) -> Option<u8> {
        self.setup.mocs(via, self.mocs).entry
    }

    /// Returns a region of the object for the library's batches.
    fn region(&self, via: Via, offset: u64) -> Region<'_> {
        let region = Region::new(&self.bo, offset);
        self.entry(via).map_or(region, |entry| region.mocs(entry))
    }

    /// Returns a surface for a shader: of the object (buffer 0), or of the other buffer.
    fn bytes(&self, buffer: u32) -> Bytes {
        let mocs = if buffer == 0 { self.entry(Via::GpuShader) } else { None };
        Bytes { buffer, offset: 0, len: self.size(), mocs }
    }

    /// Returns the number of groups that copy the object.
    fn groups(&self) -> u32 {
        (self.size() / COPY_BYTES) as u32
    }

    /// Runs `access` on a mapping that the library does not track.
    fn with_mapping<T>(&self, mode: MmapMode, access: impl FnOnce(&Mapping) -> Result<T>) -> Result<T> {
        if let Some(mapping) = self.untracked.borrow().get(&mode) {
            return access(mapping);
        }
        let mapping = self.setup.device().drm().map(self.bo.handle(), mode, self.size())?;
        let done = access(&mapping);
        self.untracked.borrow_mut().insert(mode, mapping);
        done
    }
}

/// Writes the values that the GPU copies into the object to the same offsets of the staging buffer.
pub(super) fn stage(staging: &Bo, stores: &[Store]) -> Result<()> {
    let mut guard = staging.write(0, staging.size())?;
    for store in stores {
        guard.write_at(store.offset, &store.value.to_le_bytes())?;
    }
    guard.finish();
    Ok(())
}

/// Writes a table of stores for [`shaders::scatter`] to the staging buffer; returns the number of its groups. The last group has stores after the
/// end of the object, of `size` bytes.
fn tabulate(tracked: &Buffers, stores: &[Store], size: u64) -> Result<u32> {
    let mut groups = 0;
    let mut guard = tracked.staging.write(0, tracked.staging.size())?;
    for group in stores.chunks(SCATTER_STORES) {
        let at = u64::from(groups) * COPY_BYTES;
        for lane in 0..SCATTER_STORES {
            let (offset, value) = group.get(lane).map_or((size, 0), |store| (store.offset, store.value));
            let place = at + 4 * lane as u64;
            guard.write_at(place, &(offset as u32).to_le_bytes())?;
            guard.write_at(place + COPY_BYTES / 2, &value.to_le_bytes())?;
        }
        groups += 1;
    }
    guard.finish();
    Ok(groups)
}

/// Reads the bytes that the GPU copied out of the object.
pub(super) fn load(scratch: &Bo, bytes: &mut [u8]) -> Result<()> {
    Ok(scratch.read(0, scratch.size())?.read_at(0, bytes)?)
}
