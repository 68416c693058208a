//! Requests for facts about the device, which the kernel alone answers: GETPARAM, REG_READ, QUERY.

use std::mem::offset_of;

use bytemuck::try_pod_read_unaligned;
use gem_coherency::Errno;
use gem_coherency_uapi::i915_exec::{DRM_IOCTL_I915_QUERY, drm_i915_query, drm_i915_query_item};
use gem_coherency_uapi::i915_facts::{
    DRM_IOCTL_I915_GETPARAM, DRM_IOCTL_I915_REG_READ, drm_i915_getparam, drm_i915_reg_read,
};

use super::request::Forwarded;
use super::{Mirror, file, kernel};

/// Largest data of a question of QUERY.
const MOST_DATA: usize = 1 << 20;

/// Most questions of a QUERY; the software device answers longer ones.
const MOST_ITEMS: u32 = 64;

/// Size of a question.
const ITEM: usize = size_of::<drm_i915_query_item>();

impl Mirror {
    /// Returns the kernel's answer to a request for facts; `None` for another request, and for questions that the software
    /// device has to answer.
    pub(crate) fn fact(&self, request: &Forwarded<'_>) -> Option<Result<i32, Errno>> {
        let done = if request.is(DRM_IOCTL_I915_GETPARAM.code) {
            self.param(request)
        } else if request.is(DRM_IOCTL_I915_REG_READ.code) {
            self.register(request)
        } else if request.is(DRM_IOCTL_I915_QUERY.code) {
            let items = items(request)?;
            self.query(request, items)
        } else {
            return None;
        };
        Some(done.map(|()| 0))
    }

    fn param(&self, request: &Forwarded<'_>) -> Result<(), Errno> {
        let number = request.u32(offset_of!(drm_i915_getparam, param))?;
        let at = request.u64(offset_of!(drm_i915_getparam, value))?;
        let value = kernel::param(file(&self.device)?, number.cast_signed())?;
        request.write_at(at, &value.to_le_bytes())
    }

    fn register(&self, request: &Forwarded<'_>) -> Result<(), Errno> {
        let offset = request.u64(offset_of!(drm_i915_reg_read, offset))?;
        let value = kernel::register(file(&self.device)?, offset)?;
        let at = request.argument.wrapping_add(offset_of!(drm_i915_reg_read, val) as u64);
        request.write_at(at, &value.to_le_bytes())
    }

    /// Asks each question with the program's data.
    fn query(&self, request: &Forwarded<'_>, items: Vec<(u64, drm_i915_query_item)>) -> Result<(), Errno> {
        for (at, item) in items {
            let mut data = vec![0; usize::try_from(item.length).unwrap_or(0).min(MOST_DATA)];
            let length = if request.memory.read(item.data_ptr, &mut data) < data.len() {
                -Errno::EFAULT.get()
            } else {
                let length = kernel::query(file(&self.device)?, item.query_id, item.flags, &mut data)?;
                let answer = data.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
                request.write_at(item.data_ptr, answer)?;
                length
            };
            let at = at.wrapping_add(offset_of!(drm_i915_query_item, length) as u64);
            request.write_at(at, &length.to_le_bytes())?;
        }
        Ok(())
    }
}

/// Returns the questions of a QUERY with their addresses; `None` if the software device has to answer one of them, or to
/// refuse the request.
fn items(request: &Forwarded<'_>) -> Option<Vec<(u64, drm_i915_query_item)>> {
    let count = request.u32(offset_of!(drm_i915_query, num_items)).ok()?;
    let flags = request.u32(offset_of!(drm_i915_query, flags)).ok()?;
    let first = request.u64(offset_of!(drm_i915_query, items_ptr)).ok()?;
    if flags != 0 || count > MOST_ITEMS {
        return None;
    }
    let item = |number: u32| {
        let at = first.wrapping_add(u64::from(number) * ITEM as u64);
        let bytes = request.read_at::<ITEM>(at).ok()?;
        let item = try_pod_read_unaligned::<drm_i915_query_item>(&bytes).ok()?;
        (kernel::is_plain(item.query_id) && item.length >= 0).then_some((at, item))
    };
    (0..count).map(item).collect()
}
