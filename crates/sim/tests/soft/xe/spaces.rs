//! Address spaces: what is bound in a VM, also of the process's own memory.

use super::*;

#[test]
fn a_change_of_a_vm_splits_what_it_covers() {
    let mut xe = Xe::new("lnl");
    let (one, other) = (xe.create(2, 1).unwrap(), xe.create(2, 1).unwrap());
    let vm = xe.vm;
    xe.bind(vm, op(one, TARGET, PLAIN)).unwrap();
    let middle = drm_xe_vm_bind_op { range: 4096, obj_offset: 8192, ..op(other, TARGET + 4096, PLAIN) };
    xe.bind(vm, middle).unwrap();
    for (address, value) in [(0, 1), (4096, 2), (8192, 3)] {
        xe.gpu_writes(TARGET + address, value);
    }
    assert_eq!([xe.load(one, 0), xe.load(one, 4096), xe.load(one, 8192)], [1, 0, 3]);
    assert_eq!(xe.load(other, 8192), 2);
    let unmap = drm_xe_vm_bind_op { op: DRM_XE_VM_BIND_OP_UNMAP_ALL, obj: one.handle, ..Default::default() };
    xe.bind(vm, unmap).unwrap();
    assert_eq!(
        [xe.gpu_reads(TARGET), xe.gpu_reads(TARGET + 4096)],
        [0, 2],
        "what is not bound reads as zero"
    );
}

#[test]
fn a_file_has_its_own_vms_and_the_requests_of_its_driver_alone() {
    use gem_coherency_uapi::i915::{DRM_IOCTL_I915_GEM_CREATE, drm_i915_gem_create};
    let mut xe = Xe::new("lnl");
    let foreign = drm_xe_vm_destroy { vm_id: xe.vm, ..Default::default() };
    assert_eq!(xe.caller.on(1, DRM_IOCTL_XE_VM_DESTROY, foreign).0, Some(Errno::ENOENT));
    // The number of GEM_CREATE of i915 is one that xe does not have.
    let create = drm_i915_gem_create { size: 4096, ..Default::default() };
    assert_eq!(xe.caller.on(2, DRM_IOCTL_I915_GEM_CREATE, create).0, Some(Errno::EINVAL));
    assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_VM_DESTROY, foreign).0, None);
    assert_eq!(xe.run(&[]), Err(Errno::ECANCELED), "the queue's VM is gone");
}

#[test]
fn pages_of_the_process_are_refused_by_what_is_wrong_with_them() {
    let mut xe = Xe::new("lnl");
    let vm = xe.vm;
    let mut bind = |obj_offset, flags| {
        let op = DRM_XE_VM_BIND_OP_MAP_USERPTR;
        let args = drm_xe_vm_bind_op {
            op,
            obj_offset,
            flags,
            range: 4096,
            addr: TARGET,
            pat_index: SNOOPS,
            ..Default::default()
        };
        xe.bind(vm, args)
    };
    assert_eq!(bind(HOLE, 0), Err(Errno::EFAULT));
    assert_eq!(bind(READ_ONLY, 0), Err(Errno::EPERM));
    assert_eq!(bind(READ_ONLY, DRM_XE_VM_BIND_FLAG_READONLY), Ok(()));
    assert_eq!(bind(u64::MAX - 4095, 0), Err(Errno::EINVAL));
    let args = drm_xe_vm_bind_op {
        op: DRM_XE_VM_BIND_OP_MAP_USERPTR,
        obj_offset: u64::MAX - 4095,
        range: 8192,
        addr: TARGET,
        pat_index: SNOOPS,
        ..Default::default()
    };
    assert_eq!(xe.bind(vm, args), Err(Errno::EOVERFLOW));
}

#[test]
fn pages_that_were_gone_at_a_submission_are_not_mapped_again() {
    const PAGES: u64 = ARGS + 0x10_0000;
    for is_submitted in [true, false] {
        let mut xe = Xe::new("lnl");
        xe.caller.process.allocate(PAGES, 4096, Pages::ReadWrite).unwrap();
        let vm = xe.vm;
        let args = drm_xe_vm_bind_op {
            op: DRM_XE_VM_BIND_OP_MAP_USERPTR,
            obj_offset: PAGES,
            range: 4096,
            addr: TARGET,
            pat_index: SNOOPS,
            ..Default::default()
        };
        xe.bind(vm, args).unwrap();
        xe.gpu_writes(TARGET, 3);
        let mut bytes = [0; 4];
        xe.caller.process.load(PAGES, &mut bytes).unwrap();
        assert_eq!(bytes, [3, 0, 0, 0]);
        xe.caller.process.munmap(PAGES).unwrap();
        if is_submitted {
            xe.run(&[]).unwrap();
        }
        xe.caller.process.allocate(PAGES, 4096, Pages::ReadWrite).unwrap();
        xe.gpu_writes(TARGET, 4);
        xe.caller.process.load(PAGES, &mut bytes).unwrap();
        assert_eq!(bytes, [if is_submitted { 0 } else { 4 }, 0, 0, 0]);
    }
}

#[test]
fn a_vm_with_page_faults_may_have_a_scratch_page_up_to_xe3() {
    let flags =
        DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE | DRM_XE_VM_CREATE_FLAG_LR_MODE | DRM_XE_VM_CREATE_FLAG_FAULT_MODE;
    for (name, wanted) in [("ptl", None), ("lnl", None), ("lnl,kernel=6.12", Some(Errno::EINVAL))] {
        let mut xe = Xe::new(name);
        let args = drm_xe_vm_create { flags, ..Default::default() };
        assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_VM_CREATE, args).0, wanted, "{name}");
    }
}

#[test]
fn a_vm_describes_its_mappings_and_the_advice_about_them() {
    let mut xe = Xe::new("bmg");
    let vm_id = xe.vm;
    let bo = xe.create(DRM_XE_GEM_CPU_CACHING_WC, 3).unwrap();
    xe.bind(vm_id, op(bo, TARGET, PLAIN)).unwrap();
    let atomic = |xe: &mut Xe, start, value| {
        let args = drm_xe_madvise {
            vm_id,
            start,
            range: 4096,
            r#type: DRM_XE_MEM_RANGE_ATTR_ATOMIC,
            pat_index: [value, 0, 0, 0],
            ..Default::default()
        };
        xe.caller.on(2, DRM_IOCTL_XE_MADVISE, args).0
    };
    assert_eq!(atomic(&mut xe, TARGET + 4096, 2), None);
    assert_eq!(atomic(&mut xe, BATCH, 2), Some(Errno::EINVAL), "the batch is in system memory alone");
    let ask = |xe: &mut Xe, number, vector| {
        let size = if number == 0 { 0 } else { 64 };
        let args = drm_xe_vm_query_mem_range_attr {
            vm_id,
            num_mem_ranges: number,
            start: TARGET + 8192,
            range: BATCH - TARGET,
            sizeof_mem_range_attr: size,
            vector_of_mem_attr: vector,
            ..Default::default()
        };
        let (refused, made) = xe.caller.on(2, DRM_IOCTL_XE_VM_QUERY_MEM_RANGE_ATTRS, args);
        refused.map_or(Ok((made.num_mem_ranges, made.sizeof_mem_range_attr)), Err)
    };
    assert_eq!(ask(&mut xe, 0, 0), Ok((2, 64)));
    let list = xe.caller.put(LIST, &[drm_xe_mem_range_attr::default(); 3]);
    assert_eq!(ask(&mut xe, 1, list), Err(Errno::ENOSPC));
    assert_eq!(ask(&mut xe, 0, list), Err(Errno::EINVAL));
    assert_eq!(ask(&mut xe, 3, list), Ok((2, 64)));
    let mut found = [drm_xe_mem_range_attr::default(); 2];
    xe.caller.process.load(list, bytemuck::cast_slice_mut(&mut found)).unwrap();
    let facts = found.map(|one| (one.start, one.end, one.pat_index, one.atomic));
    let plain = u32::from(PLAIN);
    assert_eq!(
        facts,
        [(TARGET, TARGET + SIZE, plain, 2), (BATCH, BATCH + SIZE, SNOOPS.into(), 0)],
        "advice about a part is about the whole mapping"
    );
}
