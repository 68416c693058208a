//! Facts about the device: `DRM_IOCTL_XE_DEVICE_QUERY`, 0xc0286440.

use std::mem::offset_of;
use std::os::fd::BorrowedFd;

use gem_coherency_policy::Errno;

use crate::backend::MemoryRegion;
use crate::backend::node::facts::bytes;
use crate::backend::node::request::call;
use crate::error::{Error, Result};
use crate::platform::GraphicsVersion;
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_DEVICE_QUERY, DRM_XE_DEVICE_QUERY_CONFIG, DRM_XE_DEVICE_QUERY_GT_LIST,
    DRM_XE_DEVICE_QUERY_MEM_REGIONS, DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID, drm_xe_device_query, drm_xe_gt,
    drm_xe_mem_region, drm_xe_query_config, drm_xe_query_gt_list, drm_xe_query_mem_regions,
};

/// Largest accepted result, in bytes.
const LONGEST: u32 = 1 << 16;

/// The facts that the library uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// The PCI ID.
    pub(super) id: u16,
    /// The PCI revision.
    pub(super) revision: u8,
    /// The version of the graphics IP; devices before Meteor Lake report none.
    pub(super) graphics: Option<GraphicsVersion>,
    /// The memory regions.
    pub(super) regions: Vec<MemoryRegion>,
}

/// Asks the device. All files may, on primary and render nodes.
///
/// # Errors
/// EBADMSG for a result that is shorter than it says; ENODEV after the device was unplugged.
pub(super) fn ask(fd: BorrowedFd<'_>) -> Result<Facts> {
    let config = query(fd, DRM_XE_DEVICE_QUERY_CONFIG)?;
    let gts = query(fd, DRM_XE_DEVICE_QUERY_GT_LIST)?;
    let regions = query(fd, DRM_XE_DEVICE_QUERY_MEM_REGIONS)?;
    parse(&config, &gts, &regions)
        .ok_or(Error::Ioctl { request: DRM_IOCTL_XE_DEVICE_QUERY.name, errno: Errno::EBADMSG })
}

/// Makes a query twice: for its size, and for the result.
fn query(fd: BorrowedFd<'_>, number: u32) -> Result<Vec<u8>> {
    let mut args = drm_xe_device_query { query: number, ..Default::default() };
    // SAFETY: no address in it is other than 0, with no bytes; integers only.
    unsafe { call(fd, DRM_IOCTL_XE_DEVICE_QUERY, None, &mut args)? };
    if args.size > LONGEST {
        return Err(Error::Ioctl { request: DRM_IOCTL_XE_DEVICE_QUERY.name, errno: Errno::EMSGSIZE });
    }
    let mut answer = vec![0_u8; args.size as usize];
    args.data = answer.as_mut_ptr() as u64;
    // SAFETY:
    // - `data`: a live vector of `size` bytes, which is what the kernel stores at most (another size is EINVAL);
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_XE_DEVICE_QUERY, None, &mut args)? };
    Ok(answer)
}

/// Parses the results of the three queries; `None` for one that is shorter than it says.
fn parse(config: &[u8], gts: &[u8], regions: &[u8]) -> Option<Facts> {
    let value =
        offset_of!(drm_xe_query_config, info) + DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID * size_of::<u64>();
    let value = u64::from_ne_bytes(bytes(config, value)?);
    // The primary GT is the first.
    let gt = items::<drm_xe_gt>(
        gts,
        offset_of!(drm_xe_query_gt_list, num_gt),
        offset_of!(drm_xe_query_gt_list, gt_list),
    )?
    .next();
    let number = |gt: &[u8], at| bytes(gt, at).map(u16::from_ne_bytes);
    let graphics = gt.and_then(|gt| {
        let major = u8::try_from(number(gt, offset_of!(drm_xe_gt, ip_ver_major))?).ok()?;
        let minor = u8::try_from(number(gt, offset_of!(drm_xe_gt, ip_ver_minor))?).ok()?;
        Some(GraphicsVersion::new(major, minor)).filter(|_| major != 0)
    });
    let (count, first) = (
        offset_of!(drm_xe_query_mem_regions, num_mem_regions),
        offset_of!(drm_xe_query_mem_regions, mem_regions),
    );
    let region = |region: &[u8]| {
        Some(MemoryRegion {
            class: number(region, offset_of!(drm_xe_mem_region, mem_class))?,
            instance: number(region, offset_of!(drm_xe_mem_region, instance))?,
            probed_bytes: u64::from_ne_bytes(bytes(region, offset_of!(drm_xe_mem_region, total_size))?),
        })
    };
    Some(Facts {
        id: value as u16,
        revision: (value >> 16) as u8,
        graphics,
        regions: items::<drm_xe_mem_region>(regions, count, first)?.map(region).collect::<Option<_>>()?,
    })
}

/// Returns the items of a list, each as its bytes; `None` if there are fewer than the count at `count` says.
fn items<T>(from: &[u8], count: usize, first: usize) -> Option<impl Iterator<Item = &[u8]>> {
    let count = u32::from_ne_bytes(bytes(from, count)?) as usize;
    let items = from.get(first..)?.chunks_exact(size_of::<T>());
    (items.len() >= count).then(|| items.take(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(value: u64) -> Vec<u8> {
        [[1, 0, 0, 0, 0, 0, 0, 0], value.to_ne_bytes()].concat()
    }

    fn gts(major: u16, minor: u16) -> Vec<u8> {
        let mut list = vec![0; size_of::<drm_xe_query_gt_list>() + size_of::<drm_xe_gt>()];
        list[0] = 1;
        let at = size_of::<drm_xe_query_gt_list>();
        let put = |list: &mut Vec<u8>, to: usize, value: u16| {
            list[at + to..at + to + 2].copy_from_slice(&value.to_ne_bytes())
        };
        put(&mut list, offset_of!(drm_xe_gt, ip_ver_major), major);
        put(&mut list, offset_of!(drm_xe_gt, ip_ver_minor), minor);
        list
    }

    #[test]
    fn facts_are_those_of_the_three_lists() {
        let facts = parse(&config(0x0003_64a0), &gts(20, 4), &[0; 8]).unwrap();
        assert_eq!((facts.id, facts.revision), (0x64a0, 3));
        assert_eq!((facts.graphics, facts.regions), (Some(GraphicsVersion::new(20, 4)), vec![]));
        assert_eq!(parse(&config(0x9a49), &gts(0, 0), &[0; 8]).unwrap().graphics, None);
    }

    #[test]
    fn a_list_that_is_shorter_than_it_says_is_an_error() {
        assert_eq!(parse(&config(1)[..12], &gts(0, 0), &[0; 8]), None);
        assert_eq!(parse(&config(1), &gts(0, 0)[..40], &[0; 8]), None);
        assert_eq!(parse(&config(1), &gts(0, 0), &[1, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(parse(&config(1), &[], &[0; 8]), None);
    }
}
