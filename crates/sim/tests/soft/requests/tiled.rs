//! Tiled objects in the aperture, which shows their bytes in linear order.

use gem_coherency::Errno;
use gem_coherency_sim::Pages;
use gem_coherency_uapi::i915::*;

use crate::requests::caller::{Caller, LIST};

const SIZE: u64 = 4 * 4096;

/// Creates a tiled object; returns its handle and the address of its mapping.
#[track_caller]
fn tiled(caller: &mut Caller, tiling_mode: u32, stride: u32) -> (u32, u64) {
    let create = drm_i915_gem_create { size: SIZE, ..Default::default() };
    let handle = caller.on(0, DRM_IOCTL_I915_GEM_CREATE, create).1.handle;
    let map = drm_i915_gem_mmap_offset { handle, flags: I915_MMAP_OFFSET_GTT, ..Default::default() };
    let offset = caller.on(0, DRM_IOCTL_I915_GEM_MMAP_OFFSET, map).1.offset;
    let address = caller.process.mmap(SIZE, Pages::ReadWrite, caller.fds[0], offset).unwrap();
    let set = drm_i915_gem_set_tiling { handle, tiling_mode, stride, ..Default::default() };
    assert_eq!(caller.on(0, DRM_IOCTL_I915_GEM_SET_TILING, set).0, None);
    (handle, address)
}

/// Loads four bytes of the object, which is not reordered.
#[track_caller]
fn read(caller: &mut Caller, handle: u32, offset: u64) -> [u8; 4] {
    let (read_domains, write_domain) = (I915_GEM_DOMAIN_GTT, I915_GEM_DOMAIN_GTT);
    let domain = drm_i915_gem_set_domain { handle, read_domains, write_domain };
    assert_eq!(caller.on(0, DRM_IOCTL_I915_GEM_SET_DOMAIN, domain).0, None);
    let read = drm_i915_gem_pread { handle, offset, size: 4, data_ptr: LIST, ..Default::default() };
    assert_eq!(caller.on(0, DRM_IOCTL_I915_GEM_PREAD, read).0, None);
    load(caller, LIST)
}

#[track_caller]
fn write(caller: &mut Caller, handle: u32, offset: u64, bytes: &[u8; 4]) {
    let data_ptr = caller.put(LIST, bytes);
    let write = drm_i915_gem_pwrite { handle, offset, size: 4, data_ptr, ..Default::default() };
    assert_eq!(caller.on(0, DRM_IOCTL_I915_GEM_PWRITE, write).0, None);
}

fn load<const N: usize>(caller: &Caller, address: u64) -> [u8; N] {
    let mut bytes = [0; N];
    caller.process.load(address, &mut bytes).unwrap();
    bytes
}

#[test]
fn loads_and_stores_through_the_aperture_are_reordered() {
    for (platform, mode, width, places) in [
        ("glk", I915_TILING_X, 512, [512 - 4, 4096]),
        ("tgl", I915_TILING_Y, 128, [7 * 512 + 12, 4096]),
        ("i915g", I915_TILING_Y, 512, [15 * 256 + 28, 4096]),
        ("i830", I915_TILING_X, 128, [128 - 4, 2048]),
    ] {
        let mut caller = Caller::new(platform);
        let (handle, address) = tiled(&mut caller, mode, 2 * width);
        // The last four bytes of a tile's first row, and the first four of the tile on its right.
        let address = address + u64::from(width) - 4;
        caller.process.store(address, b"leftrite").unwrap();
        assert_eq!(places.map(|at| read(&mut caller, handle, at)), [*b"left", *b"rite"], "{platform}");
        write(&mut caller, handle, places[0], b"both");
        assert_eq!(&load(&caller, address), b"bothrite", "{platform}");
    }
}

#[test]
fn the_aperture_swizzles_bit_6_as_get_tiling_says() {
    let mut caller = Caller::new("ilk");
    let (handle, address) = tiled(&mut caller, I915_TILING_X, 512);
    let get = drm_i915_gem_get_tiling { handle, ..Default::default() };
    assert_eq!(caller.on(0, DRM_IOCTL_I915_GEM_GET_TILING, get).1.swizzle_mode, I915_BIT_6_SWIZZLE_9_10);
    caller.process.store(address + 512, b"bit9").unwrap();
    caller.process.store(address + 1536, b"both").unwrap();
    assert_eq!([512 + 64, 1536].map(|at| read(&mut caller, handle, at)), [*b"bit9", *b"both"]);
}

#[test]
fn a_request_reads_its_operands_through_the_aperture() {
    let mut caller = Caller::new("glk");
    let (handle, address) = tiled(&mut caller, I915_TILING_X, 1024);
    write(&mut caller, handle, 4096, b"tile");
    let target = caller.create(0);
    let copy = drm_i915_gem_pwrite { handle: target, size: 4, data_ptr: address + 512, ..Default::default() };
    assert_eq!(caller.on(0, DRM_IOCTL_I915_GEM_PWRITE, copy).0, None);
    assert_eq!(&read(&mut caller, target, 0), b"tile");
}

#[test]
fn bytes_of_the_last_row_of_tiles_after_the_object_are_lost() {
    let mut caller = Caller::new("glk");
    // A row of tiles is twice the object.
    let (handle, address) = tiled(&mut caller, I915_TILING_X, 4096);
    caller.process.store(address + 2044, b"lastlost").unwrap();
    assert_eq!(&load(&caller, address + 2044), b"last\0\0\0\0");
    assert_eq!(&read(&mut caller, handle, 3 * 4096 + 508), b"last");
}

#[test]
fn no_file_has_the_bytes_of_a_tiled_object_in_the_order_of_the_aperture() {
    let mut caller = Caller::new("glk");
    let (handle, address) = tiled(&mut caller, I915_TILING_Y, 128);
    assert_eq!(caller.process.views(address).unwrap_err(), Errno::EOPNOTSUPP);
    let set = drm_i915_gem_set_tiling { handle, ..Default::default() };
    assert_eq!(caller.on(0, DRM_IOCTL_I915_GEM_SET_TILING, set).0, None);
    assert!(caller.process.views(address).is_ok());
}
