//! Objects: their mappings and offsets, sharing and reservations.

use super::*;

#[test]
fn an_object_is_mapped_from_its_start() {
    let mut xe = Xe::new("lnl");
    let args = drm_xe_gem_create { size: SIZE, placement: 1, cpu_caching: 1, ..Default::default() };
    let handle = xe.caller.on(2, DRM_IOCTL_XE_GEM_CREATE, args).1.handle;
    let args = drm_xe_gem_mmap_offset { handle, ..Default::default() };
    let offset = xe.caller.on(2, DRM_IOCTL_XE_GEM_MMAP_OFFSET, args).1.offset;
    let fd = xe.caller.fds[2];
    let mut map = |offset| xe.caller.process.mmap(4096, Pages::ReadWrite, fd, offset).map(drop);
    assert_eq!((map(offset), map(offset + 4096)), (Ok(()), Err(Errno::EINVAL)));
}

#[test]
fn the_barrier_page_is_in_7_2_alone() {
    for (name, wanted) in
        [("dg2,driver=xe,kernel=7.2", Ok(())), ("dg2,driver=xe,kernel=6.12", Err(Errno::EINVAL))]
    {
        let mut caller = Caller::on_device(&SimDevice::open_for_programs(&format!("sim:{name}")).unwrap());
        let fd = caller.fds[2];
        let mapped = caller.process.mmap(4096, Pages::ReadWrite, fd, 0x50 << 12).map(drop);
        assert_eq!(mapped, wanted, "{name}");
    }
}

#[test]
fn an_object_beyond_the_range_of_offsets_has_no_space() {
    let mut xe = Xe::new("lnl");
    let mut create = |size| {
        let args = drm_xe_gem_create { size, placement: 1, cpu_caching: 1, ..Default::default() };
        xe.caller.on(2, DRM_IOCTL_XE_GEM_CREATE, args).0
    };
    assert_eq!((create(1 << 63), create(1 << 39)), (Some(Errno::ENOSPC), Some(Errno::ENOMEM)));
}

#[test]
fn an_object_that_is_not_wanted_is_not_shared() {
    use gem_coherency_uapi::drm::{DRM_IOCTL_PRIME_HANDLE_TO_FD, drm_prime_handle};
    let mut xe = Xe::new("lnl");
    let (bo, vm_id) = (xe.create(1, 1).unwrap(), xe.vm);
    xe.bind(vm_id, op(bo, TARGET, SNOOPS)).unwrap();
    let mut exports = |is_wanted: bool| {
        let args = drm_xe_madvise {
            vm_id,
            start: TARGET,
            range: SIZE,
            r#type: 3,
            pat_index: [u32::from(!is_wanted), 0, 0, 0],
            ..Default::default()
        };
        assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_MADVISE, args).0, None);
        let args = drm_prime_handle { handle: bo.handle, ..Default::default() };
        xe.caller.on(2, DRM_IOCTL_PRIME_HANDLE_TO_FD, args).0
    };
    assert_eq!([exports(false), exports(true)], [Some(Errno::EBUSY), None]);
}

#[test]
fn a_dumb_buffer_of_xe_has_pixels_of_any_size() {
    use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_CREATE_DUMB, drm_mode_create_dumb};
    for (name, wanted) in [("tgl,driver=xe", (None, 192, 12288)), ("tgl", (Some(Errno::EINVAL), 0, 0))] {
        let device = SimDevice::open_for_programs(&format!("sim:{name}")).unwrap();
        let args = drm_mode_create_dumb { width: 64, height: 64, bpp: 17, ..Default::default() };
        let (refused, made) = Caller::on_device(&device).on(0, DRM_IOCTL_MODE_CREATE_DUMB, args);
        assert_eq!((refused, made.pitch, made.size), wanted, "{name}");
    }
}

#[test]
fn an_object_of_a_vm_shares_its_reservation() {
    use gem_coherency_uapi::drm::{DRM_IOCTL_PRIME_HANDLE_TO_FD, drm_prime_handle};
    let mut xe = Xe::new("lnl");
    let (vm, args) = (xe.vm, drm_xe_vm_create::default());
    let other = xe.caller.on(2, DRM_IOCTL_XE_VM_CREATE, args).1.vm_id;
    let create =
        drm_xe_gem_create { size: SIZE, placement: 1, cpu_caching: 2, vm_id: other, ..Default::default() };
    let handles = [(); 2].map(|()| xe.caller.on(2, DRM_IOCTL_XE_GEM_CREATE, create).1.handle);
    let export = drm_prime_handle { handle: handles[0], ..Default::default() };
    assert_eq!(xe.caller.on(2, DRM_IOCTL_PRIME_HANDLE_TO_FD, export).0, Some(Errno::EPERM));
    let bo = |handle| Bo { handle, address: 0 };
    xe.bind(other, op(bo(handles[0]), TARGET, PLAIN)).unwrap();
    xe.bind(vm, op(bo(handles[0]), TARGET, PLAIN)).unwrap();
    xe.run(&[]).unwrap();
    // Two objects of one other VM would lock its reservation twice.
    xe.bind(vm, op(bo(handles[1]), 2 * TARGET + SIZE, PLAIN)).unwrap();
    assert_eq!(xe.run(&[]), Err(Errno::EALREADY));
}
