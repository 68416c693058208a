//! The requests of programs that the kernel gets, too, besides EXECBUFFER2.
//!
//! The software device carries out a request first. Where the kernel then refuses it, the program gets the kernel's errno.
//! A request that only the kernel accepts stays refused, because the software device has not carried it out.

use std::mem::offset_of;

use gem_coherency::Errno;
use gem_coherency::backend::Drm;
use gem_coherency::vocabulary::{CachingMode, Handle};
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_CREATE_DUMB, drm_mode_create_dumb};
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_CREATE, DRM_IOCTL_I915_GEM_CREATE_EXT, DRM_IOCTL_I915_GEM_SET_CACHING,
    DRM_IOCTL_I915_GEM_USERPTR, I915_CACHING_CACHED, I915_CACHING_DISPLAY, drm_i915_gem_caching,
    drm_i915_gem_create, drm_i915_gem_create_ext, drm_i915_gem_userptr,
};

use super::kernel::OnObject;
use super::request::Forwarded;
use super::{Mirror, file};

/// The struct of a request on an object, as the program passed it.
pub(crate) struct Passed(OnObject);

impl Mirror {
    /// Reads the struct of a request that changes it, before the software device carries it out.
    pub(crate) fn passed(request: &Forwarded<'_>) -> Option<Passed> {
        let mut passed = OnObject::find(|code| request.is(code))?;
        let bytes = passed.bytes_mut();
        (request.memory.read(request.argument, bytes) == bytes.len()).then_some(Passed(passed))
    }

    /// Makes a request of a program on the real device. `software` is the software device's answer; returns the answer that the
    /// program gets.
    ///
    /// # Errors
    /// The errno of the kernel, or of the software device if only that refuses.
    pub(crate) fn forward(
        &self,
        request: &Forwarded<'_>,
        passed: Option<Passed>,
        software: Result<i32, Errno>,
    ) -> Result<i32, Errno> {
        let Some(kernel) = self.answer(request, passed, software) else { return software };
        self.disagreements.count(request.code, software.map(drop), kernel);
        kernel.and(software)
    }

    /// Returns the kernel's answer; `None` for a request that it does not get.
    fn answer(
        &self,
        request: &Forwarded<'_>,
        passed: Option<Passed>,
        software: Result<i32, Errno>,
    ) -> Option<Result<(), Errno>> {
        if let Some(Passed(passed)) = passed {
            return self.on_object(request, passed);
        }
        let created = [
            (DRM_IOCTL_I915_GEM_CREATE.code, offset_of!(drm_i915_gem_create, handle)),
            (DRM_IOCTL_I915_GEM_CREATE_EXT.code, offset_of!(drm_i915_gem_create_ext, handle)),
            (DRM_IOCTL_I915_GEM_USERPTR.code, offset_of!(drm_i915_gem_userptr, handle)),
            (DRM_IOCTL_MODE_CREATE_DUMB.code, offset_of!(drm_mode_create_dumb, handle)),
        ];
        if let Some(&(_, handle)) = created.iter().find(|&&(code, _)| request.is(code)) {
            return software.is_ok().then(|| self.create(request, handle));
        }
        if request.is(DRM_IOCTL_I915_GEM_SET_CACHING.code) {
            return software.is_ok().then(|| self.set_caching(request));
        }
        None
    }

    /// Creates the real object of an object that the software device has created. If the kernel refuses, closes its handle.
    fn create(&self, request: &Forwarded<'_>, offset: usize) -> Result<(), Errno> {
        let (handle, operand) = request.operand(offset)?;
        self.object(&operand).map(drop).inspect_err(|_| {
            // The program does not get the handle.
            if let Err(error) = request.device.close(handle) {
                tracing::warn!(%error, "close");
            }
        })
    }

    /// Makes a request on the real object. An unknown handle is unknown to the kernel, too; a program's own pages have
    /// another kind of real object, which is asked nothing.
    fn on_object(&self, request: &Forwarded<'_>, mut passed: OnObject) -> Option<Result<(), Errno>> {
        let operand = Handle::new(passed.handle()).and_then(|handle| request.device.operand(handle).ok());
        let handle = match operand {
            Some(operand) if operand.is_user() => return None,
            Some(operand) => match self.object(&operand) {
                Ok(object) => object.handle().get(),
                Err(errno) => return Some(Err(errno)),
            },
            None => u32::MAX,
        };
        passed.set_handle(handle);
        Some(file(&self.device).and_then(|fd| passed.call(fd)))
    }

    fn set_caching(&self, request: &Forwarded<'_>) -> Result<(), Errno> {
        let (_, operand) = request.operand(offset_of!(drm_i915_gem_caching, handle))?;
        let mode = match request.u32(offset_of!(drm_i915_gem_caching, caching))? {
            I915_CACHING_CACHED => CachingMode::Cached,
            I915_CACHING_DISPLAY => CachingMode::Display,
            _ => CachingMode::None,
        };
        self.object(&operand)?.bo()?.set_caching(mode).map_err(|error| error.errno())
    }
}
