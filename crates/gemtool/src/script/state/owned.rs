//! BOs of objects that the script creates and closes itself.

use gem_coherency::backend::{Created, Mapping};
use gem_coherency::device::{AdoptRequest, Contents};
use gem_coherency::error::Error;
use gem_coherency::object::Bo;
use gem_coherency::policy::kernel::{Creation, Snapshot};
use gem_coherency::vocabulary::{CacheLevel, Handle};

use super::{DeviceFile, Refused, State};

impl State<'_> {
    /// Creates a BO with a PAT index (CREATE_EXT with SET_PAT).
    pub(super) fn alloc_with_pat(&mut self, on: DeviceFile, size: u64, index: u32) -> Result<Bo, Refused> {
        let device = self.target_of_file(on).device();
        let created = device.drm().create_with_pat(size, index)?;
        // The kernel refuses an index beyond its table, which has less than 256.
        let creation = Creation::UserWithPat(u8::try_from(index).unwrap_or(u8::MAX));
        let new = Snapshot::created(device.machine().caps, device.rules(), creation);
        let level = new.map_or(CacheLevel::None, |new| new.level);
        self.own(on, created, None, |request| request.fixed_level(level).contents(Contents::New))
    }

    /// Creates a BO of new pages of this process (USERPTR).
    pub(super) fn userptr(&mut self, on: DeviceFile, size: u64) -> Result<Bo, Refused> {
        let (created, [mapping, pages]) =
            self.target_of_file(on).device().drm().extras()?.create_userptr(size)?;
        // The kernel's zeroes may be in the cache alone.
        self.own(on, created, Some(pages), |request| request.mapped(mapping).contents(Contents::Unknown))
    }

    /// Tracks a new object, and closes its handle at the end, or if it cannot be tracked.
    fn own(
        &mut self,
        on: DeviceFile,
        created: Created,
        pages: Option<Mapping>,
        known: impl FnOnce(AdoptRequest) -> AdoptRequest,
    ) -> Result<Bo, Refused> {
        let device = self.target_of_file(on).device();
        match device.adopt(known(AdoptRequest::new(created.handle, created.size_bytes))) {
            Ok(bo) => {
                self.owned.insert((on, created.handle), pages);
                Ok(bo)
            }
            Err(error) => {
                device.drm().close(created.handle)?;
                Err(error.into())
            }
        }
    }

    /// Closes the handle of a BO that was released, if the script created the object.
    pub(super) fn disown(&mut self, file: DeviceFile, handle: Handle) -> Result<(), Error> {
        match self.owned.remove(&(file, handle)) {
            Some(_pages) => self.target_of_file(file).device().drm().close(handle),
            None => Ok(()),
        }
    }
}
