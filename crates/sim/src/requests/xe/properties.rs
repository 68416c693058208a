//! Extensions of requests that set properties (`struct drm_xe_ext_set_property`).

use gem_coherency::Errno;

use crate::requests::Caller;

/// The largest number of extensions of a request (`MAX_USER_EXTENSIONS`).
const MOST_EXTENSIONS: u32 = 16;
/// The name of an extension that sets a property (`DRM_XE_EXEC_QUEUE_EXTENSION_SET_PROPERTY`, `DRM_XE_GEM_CREATE_EXTENSION_SET_PROPERTY`).
const SET_PROPERTY: u32 = 0;
/// The values of the property PXP_TYPE (`DRM_XE_PXP_TYPE_NONE`, `_HWDRM`).
const PXP_NONE: u64 = 0;
const PXP_HWDRM: u64 = 1;

/// Calls `set` with the property and the value of each extension of a chain, in order.
///
/// # Errors
/// EFAULT for unreadable memory; EINVAL for another extension, and fields that are not 0; E2BIG for too many; those of `set`.
pub(super) fn walk(
    caller: &Caller<'_>,
    first: u64,
    set: impl Fn(u32, u64) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut address = first;
    for _ in 0..MOST_EXTENSIONS {
        if address == 0 {
            return Ok(());
        }
        let mut words = [0_u64; 4];
        let bytes = bytemuck::bytes_of_mut(&mut words);
        if caller.memory.read(address, bytes) < bytes.len() {
            return Err(Errno::EFAULT);
        }
        let [next, name, property, value] = words;
        let low = |word: u64| (word as u32, (word >> 32) as u32);
        let ((SET_PROPERTY, 0), (property, 0)) = (low(name), low(property)) else {
            return Err(Errno::EINVAL);
        };
        set(property, value)?;
        address = next;
    }
    if address == 0 { Ok(()) } else { Err(Errno::E2BIG) }
}

/// Sets the property PXP_TYPE: no device here has protected content.
pub(super) fn set_pxp_type(value: u64) -> Result<(), Errno> {
    match value {
        PXP_NONE => Ok(()),
        PXP_HWDRM => Err(Errno::ENODEV),
        _ => Err(Errno::EINVAL),
    }
}
