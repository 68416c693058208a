//! Objects: how they are made, named for all files, given up and tiled.

use gem_coherency::Errno;
use gem_coherency::backend::{Extras, Placement};
use gem_coherency_sim::SimDevice;
use gem_coherency_uapi::drm::{DRM_IOCTL_GEM_CLOSE, drm_gem_close};
use gem_coherency_uapi::i915::*;

use crate::requests::caller::{Caller, HOLE, LIST};

/// Calls GEM_CREATE_EXT with a chain at `extensions`; returns its errno and the size.
fn create_ext(caller: &mut Caller, size: u64, flags: u32, extensions: u64) -> (Option<Errno>, u64) {
    let args = drm_i915_gem_create_ext { size, flags, extensions, ..Default::default() };
    let (errno, args) = caller.on(2, DRM_IOCTL_I915_GEM_CREATE_EXT, args);
    (errno, args.size)
}

/// A list of regions at [`LIST`], which ends the chain.
fn regions(caller: &mut Caller, regions: &[[u16; 2]]) -> u64 {
    let at = LIST + 0x100;
    for (index, region) in regions.iter().enumerate() {
        caller.put(at + 4 * index as u64, region);
    }
    let base = i915_user_extension { name: I915_GEM_CREATE_EXT_MEMORY_REGIONS, ..Default::default() };
    let num_regions = regions.len() as u32;
    caller.put(LIST, &drm_i915_gem_create_ext_memory_regions { base, pad: 0, num_regions, regions: at })
}

#[test]
fn an_object_lives_where_its_regions_say() {
    #[track_caller]
    fn case(name: &str, places: &[[u16; 2]], flags: u32, expected: Result<u64, Errno>) {
        let mut caller = Caller::new(name);
        let at = regions(&mut caller, places);
        let (errno, size) = create_ext(&mut caller, 5000, flags, at);
        assert_eq!(errno.map_or(Ok(size), Err), expected, "{name} {places:?}");
    }
    const CPU: u32 = I915_GEM_CREATE_EXT_FLAG_NEEDS_CPU_ACCESS;
    let invalid = Err(Errno::EINVAL);
    case("tgl", &[[0, 0]], 0, Ok(8192));
    case("tgl", &[[1, 0]], 0, invalid);
    case("dg1", &[[1, 0]], 0, Ok(8192));
    case("dg2", &[[1, 0]], 0, Ok(65536));
    case("dg2", &[[0, 0], [1, 0]], 0, Ok(65536));
    case("dg2", &[[1, 0], [1, 0]], 0, invalid);
    case("dg2", &[[1, 1]], 0, invalid);
    case("dg2", &[], 0, invalid);
    case("dg2", &[[1, 0], [0, 0]], CPU, Ok(65536));
    case("dg2", &[[1, 0]], CPU, invalid);
    case("tgl", &[[0, 0]], CPU, invalid);
    case("tgl", &[[0, 0]], 2, invalid);
}

#[test]
fn a_chain_of_extensions_ends_in_time() {
    let mut caller = Caller::new("mtl");
    let base =
        i915_user_extension { next_extension: LIST, name: I915_GEM_CREATE_EXT_SET_PAT, ..Default::default() };
    let set_pat = drm_i915_gem_create_ext_set_pat { base, pat_index: 3, rsvd: 0 };
    let at = caller.put(LIST, &set_pat);
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::E2BIG), "it leads to itself");
    let ends = i915_user_extension { next_extension: 0, ..base };
    caller.put(LIST, &drm_i915_gem_create_ext_set_pat { base: ends, ..set_pat });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, None);
    caller.put(LIST, &drm_i915_gem_create_ext_set_pat { base: ends, pat_index: 5, rsvd: 0 });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::EINVAL));
    let hole = i915_user_extension { next_extension: HOLE, ..base };
    caller.put(LIST, &drm_i915_gem_create_ext_set_pat { base: hole, ..set_pat });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::EFAULT));
    caller.put(LIST, &i915_user_extension { name: 3, ..ends });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::EINVAL), "an unknown one");
    caller.put(LIST, &i915_user_extension { flags: 1, ..ends });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::EINVAL), "a reserved field");
}

#[test]
fn the_typed_way_reaches_local_memory() {
    let dg2 = SimDevice::open("sim:dg2").unwrap();
    assert_eq!(dg2.create_in(1, &[Placement::LOCAL]).unwrap().size_bytes, 65536);
    assert_eq!(dg2.create_in(1, &[Placement::SYSTEM]).unwrap().size_bytes, 4096);
    let tgl = SimDevice::open("sim:tgl").unwrap();
    assert_eq!(tgl.create_in(1, &[Placement::LOCAL]).unwrap_err().errno(), Errno::EINVAL);
}

#[test]
fn a_name_for_all_files_is_gone_with_the_last_handle() {
    let mut caller = Caller::new("tgl");
    let handle = caller.create(0);
    assert_eq!(caller.flink(0, handle), (None, 1));
    assert_eq!(caller.flink(0, handle), (None, 1), "the same again");
    let (errno, opened) = caller.open(1, 1);
    assert_eq!((errno, opened.handle, opened.size), (None, 1, 4096));
    assert_eq!(caller.open(1, 1).1.handle, 2, "another handle every time");
    let close = |handle| drm_gem_close { handle, pad: 0 };
    assert_eq!(caller.on(0, DRM_IOCTL_GEM_CLOSE, close(handle)).0, None);
    assert_eq!(caller.open(0, 1).0, None, "the second file holds it");
    for (file, handle) in [(0, 1), (1, 1), (1, 2)] {
        assert_eq!(caller.on(file, DRM_IOCTL_GEM_CLOSE, close(handle)).0, None);
    }
    assert_eq!(caller.open(0, 1).0, Some(Errno::ENOENT));
    assert_eq!(caller.on(0, DRM_IOCTL_GEM_CLOSE, close(1)).0, Some(Errno::EINVAL));
}

#[test]
fn the_render_node_knows_no_names_for_all_files() {
    let mut caller = Caller::new("tgl");
    let handle = caller.create(2);
    assert_eq!(caller.flink(2, handle).0, Some(Errno::EACCES));
    assert_eq!(caller.open(2, 1).0, Some(Errno::EACCES));
    assert_eq!(caller.flink(0, 5).0, Some(Errno::ENOENT));
}

#[test]
fn madvise_checks_the_advice_before_the_handle() {
    let mut caller = Caller::new("tgl");
    let handle = caller.create(2);
    let mut advise = |handle, madv| {
        let args = drm_i915_gem_madvise { handle, madv, retained: 9 };
        let (errno, args) = caller.on(2, DRM_IOCTL_I915_GEM_MADVISE, args);
        (errno, args.retained)
    };
    assert_eq!(advise(77, 2), (Some(Errno::EINVAL), 9));
    assert_eq!(advise(77, 0), (Some(Errno::ENOENT), 9));
    assert_eq!(advise(handle, 0), (None, 1));
    assert_eq!(advise(handle, 1), (None, 0), "without pages it is purged at once");
    assert_eq!(advise(handle, 0), (None, 0), "and stays so");
}

#[test]
fn strides_are_what_fence_registers_take() {
    #[track_caller]
    fn case(name: &str, mode: u32, stride: u32, expected: Result<[u32; 3], Errno>) {
        let mut caller = Caller::new(name);
        let handle = caller.create(2);
        let args = drm_i915_gem_set_tiling { handle, tiling_mode: mode, stride, swizzle_mode: 9 };
        let (errno, args) = caller.on(2, DRM_IOCTL_I915_GEM_SET_TILING, args);
        let back = [args.tiling_mode, args.stride, args.swizzle_mode];
        assert_eq!(errno.map_or(Ok(back), Err), expected, "{name} {mode} {stride}");
    }
    case("tgl", 1, 512, Ok([1, 512, 0]));
    case("tgl", 2, 128, Ok([2, 128, 0]));
    case("tgl", 1, 128, Err(Errno::EINVAL));
    case("tgl", 1, 262144, Ok([1, 262144, 0]));
    case("tgl", 1, 262656, Err(Errno::EINVAL));
    case("snb", 1, 131072, Ok([1, 131072, 0]));
    case("snb", 1, 131584, Err(Errno::EINVAL));
    case("i915g", 2, 512, Ok([2, 512, 0]));
    case("i915g", 2, 128, Err(Errno::EINVAL));
    case("i915g", 1, 1536, Err(Errno::EINVAL));
    case("ilk", 1, 512, Ok([1, 512, 2]));
    case("tgl", 0, 77, Ok([0, 0, 0]));
    case("tgl", 3, 512, Err(Errno::EINVAL));
    case("dg2", 1, 512, Err(Errno::EOPNOTSUPP));
}
