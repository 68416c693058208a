//! Requests for facts about the driver: VERSION, GETPARAM, QUERY.

use std::mem::offset_of;
use std::os::fd::BorrowedFd;

use gem_coherency_policy::Errno;

use super::request::call;
use crate::backend::{DriverVersion, MemoryRegion};
use crate::error::{Error, Result};
use gem_coherency_uapi::drm::{DRM_IOCTL_VERSION, drm_version};

use gem_coherency_uapi::i915_exec::{
    DRM_I915_QUERY_MEMORY_REGIONS, DRM_IOCTL_I915_QUERY, drm_i915_memory_region_info, drm_i915_query,
    drm_i915_query_item, drm_i915_query_memory_regions,
};
use gem_coherency_uapi::i915_facts::{DRM_IOCTL_I915_GETPARAM, drm_i915_getparam};

/// Largest accepted text of VERSION and result of QUERY, in bytes.
const LONGEST: usize = 1 << 16;

/// Returns the driver's name and version: `DRM_IOCTL_VERSION`, 0xc0406400.
///
/// All files of every DRM driver may make this request, on primary and render nodes.
///
/// # Errors
/// ENOTTY for a file that is not a DRM device; ENODEV after it was unplugged.
pub(super) fn version(fd: BorrowedFd<'_>) -> Result<DriverVersion> {
    let mut lengths = drm_version::default();
    // SAFETY: no address in it is other than 0, with no bytes; integers only.
    unsafe { call(fd, DRM_IOCTL_VERSION, None, &mut lengths)? };
    let text = |len: u64| vec![0u8; LONGEST.min(len as usize)];
    let (mut name, mut date, mut desc) =
        (text(lengths.name_len), text(lengths.date_len), text(lengths.desc_len));
    let mut args = drm_version {
        name_len: name.len() as u64,
        name: name.as_mut_ptr() as u64,
        date_len: date.len() as u64,
        date: date.as_mut_ptr() as u64,
        desc_len: desc.len() as u64,
        desc: desc.as_mut_ptr() as u64,
        ..Default::default()
    };
    // SAFETY:
    // - the three addresses: live vectors, of as many bytes as the struct says;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_VERSION, None, &mut args)? };
    let read = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(DriverVersion {
        name: read(name),
        version: (args.version_major, args.version_minor, args.version_patchlevel),
        date: read(date),
        description: read(desc),
    })
}

/// Returns a parameter: `DRM_IOCTL_I915_GETPARAM`, 0xc0106446.
///
/// All files may make this request, on primary and render nodes.
///
/// # Errors
/// EINVAL for an unknown id; ENODEV for one without a value on this device.
pub(super) fn param(fd: BorrowedFd<'_>, param: i32) -> Result<i32> {
    let mut value = 0i32;
    let mut args =
        drm_i915_getparam { param, value: std::ptr::from_mut(&mut value) as u64, ..Default::default() };
    // SAFETY:
    // - `value`: the address of a live `int`, which is what the kernel stores;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GETPARAM, None, &mut args)? };
    Ok(value)
}

/// Lists the memory regions by two calls of `DRM_IOCTL_I915_QUERY`, 0xc0106479: one for the length, one for
/// the contents.
///
/// All files may make this request, on primary and render nodes.
///
/// # Errors
/// EINVAL if the kernel does not know the query; ENODEV. The kernel reports errors of the single query in its
/// item, while the request succeeds; they are returned as errors here.
pub(super) fn memory_regions(fd: BorrowedFd<'_>) -> Result<Vec<MemoryRegion>> {
    let len = ask(fd, DRM_I915_QUERY_MEMORY_REGIONS, &mut [])?;
    let mut answer = vec![0u8; len];
    let len = ask(fd, DRM_I915_QUERY_MEMORY_REGIONS, &mut answer)?;
    regions(answer.get(..len).unwrap_or(&answer))
}

/// Makes one query; returns the length of the result in bytes.
fn ask(fd: BorrowedFd<'_>, query_id: u64, answer: &mut [u8]) -> Result<usize> {
    let data_ptr = if answer.is_empty() { 0 } else { answer.as_mut_ptr() as u64 };
    let mut item = drm_i915_query_item { query_id, length: answer.len() as i32, flags: 0, data_ptr };
    let mut args = drm_i915_query { num_items: 1, flags: 0, items_ptr: std::ptr::from_mut(&mut item) as u64 };
    // SAFETY:
    // - `items_ptr`: the address of one live item;
    // - the item's `data_ptr`: 0, or a live slice of `length` bytes;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_QUERY, None, &mut args)? };
    answer_len(item.length)
}

/// Checks the length that the kernel stored in an item.
fn answer_len(length: i32) -> Result<usize> {
    let request = DRM_IOCTL_I915_QUERY.name;
    match usize::try_from(length) {
        Ok(len) if len <= LONGEST => Ok(len),
        Ok(_) => Err(Error::Ioctl { request, errno: Errno::EMSGSIZE }),
        Err(_) => Err(Error::Ioctl { request, errno: Errno::new(length.saturating_neg()) }),
    }
}

/// Parses a result of `DRM_I915_QUERY_MEMORY_REGIONS`.
fn regions(answer: &[u8]) -> Result<Vec<MemoryRegion>> {
    let short = Error::Ioctl { request: DRM_IOCTL_I915_QUERY.name, errno: Errno::EBADMSG };
    let count = u32::from_ne_bytes(
        bytes(answer, offset_of!(drm_i915_query_memory_regions, num_regions)).ok_or(short.clone())?,
    );
    let infos = answer
        .get(offset_of!(drm_i915_query_memory_regions, regions)..)
        .ok_or(short.clone())?
        .chunks_exact(size_of::<drm_i915_memory_region_info>());
    if infos.len() < count as usize {
        return Err(short);
    }
    let region = |info| {
        Some(MemoryRegion {
            class: u16::from_ne_bytes(bytes(
                info,
                offset_of!(drm_i915_memory_region_info, region.memory_class),
            )?),
            instance: u16::from_ne_bytes(bytes(
                info,
                offset_of!(drm_i915_memory_region_info, region.memory_instance),
            )?),
            probed_bytes: u64::from_ne_bytes(bytes(
                info,
                offset_of!(drm_i915_memory_region_info, probed_size),
            )?),
        })
    };
    infos.take(count as usize).map(region).collect::<Option<_>>().ok_or(short)
}

/// Returns the `N` bytes at `offset`.
pub(super) fn bytes<const N: usize>(from: &[u8], offset: usize) -> Option<[u8; N]> {
    from.get(offset..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a result with the given `count` and one region for each size in `probed`.
    fn answer(count: u32, probed: &[u64]) -> Vec<u8> {
        let mut answer = vec![0u8; 16];
        answer[..4].copy_from_slice(&count.to_ne_bytes());
        for (class, size) in probed.iter().enumerate() {
            let mut info = [0u8; 88];
            info[..2].copy_from_slice(&(class as u16).to_ne_bytes());
            info[8..16].copy_from_slice(&size.to_ne_bytes());
            answer.extend(info);
        }
        answer
    }

    #[test]
    fn an_answer_lists_its_regions() {
        let regions = regions(&answer(2, &[4096, 1 << 30])).unwrap();
        assert_eq!(regions.len(), 2);
        assert_eq!(regions[1], MemoryRegion { class: 1, instance: 0, probed_bytes: 1 << 30 });
    }

    #[test]
    fn an_answer_shorter_than_it_says_is_an_error() {
        for (count, probed) in [(2, &[4096][..]), (u32::MAX, &[]), (1, &[])] {
            assert_eq!(regions(&answer(count, probed)).unwrap_err().errno(), Errno::EBADMSG);
        }
        assert!(regions(&[]).is_err());
        assert!(regions(&answer(1, &[4096])[..50]).is_err());
        assert_eq!(regions(&answer(0, &[])).unwrap(), []);
    }

    #[test]
    fn an_error_in_the_item_is_an_error() {
        assert_eq!(answer_len(-libc_einval()).unwrap_err().errno(), Errno::EINVAL);
        assert_eq!(answer_len(i32::MIN).unwrap_err().errno(), Errno::new(i32::MAX));
        assert_eq!(answer_len(i32::MAX).unwrap_err().errno(), Errno::EMSGSIZE);
        assert_eq!(answer_len(192).unwrap(), 192);
    }

    fn libc_einval() -> i32 {
        Errno::EINVAL.get()
    }
}
