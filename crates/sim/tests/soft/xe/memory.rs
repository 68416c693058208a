//! What the GPU and the CPU see of memory, by the index of its mapping, and what the kernel refuses and takes away.

use super::*;
use gem_coherency::vocabulary::Access;
use gem_coherency_sim::{AskedRequest, NamedObject, TraceEvent};

#[test]
fn the_index_of_a_mapping_decides_whether_the_gpu_sees_the_cpus_cache() {
    let mut xe = Xe::new("lnl");
    let bo = xe.create(DRM_XE_GEM_CPU_CACHING_WB, 1).unwrap();
    let vm = xe.vm;
    xe.store(bo, 0, &[7]);
    xe.bind(vm, op(bo, TARGET, SNOOPS)).unwrap();
    assert_eq!(xe.gpu_reads(TARGET), 7);
    xe.gpu_writes(TARGET, 8);
    assert_eq!(xe.load(bo, 0), 8);
    assert_eq!(xe.bind(vm, op(bo, TARGET, PLAIN)), Err(Errno::EINVAL));

    // A kernel without that check: the GPU reads memory below the cache, and what the previous owner left there.
    let mut xe = Xe::new("lnl,without=cached-not-snooped");
    let bo = xe.create(DRM_XE_GEM_CPU_CACHING_WB, 1).unwrap();
    xe.store(bo, 0, &[7]);
    xe.bind(vm, op(bo, TARGET, PLAIN)).unwrap();
    assert_eq!([xe.gpu_reads(TARGET), xe.gpu_reads(TARGET + 4096)], [secret(); 2]);
    // The same object by another index, at another address.
    xe.bind(vm, op(bo, 2 * TARGET + SIZE, SNOOPS)).unwrap();
    assert_eq!(xe.gpu_reads(2 * TARGET + SIZE), 7);
}

#[test]
fn new_write_combining_pages_are_zeroes_unless_the_kernel_forgets_to_flush_them() {
    for (name, wanted) in [("lnl", 0), ("lnl,without=no-cpu-lines", secret())] {
        let mut xe = Xe::new(name);
        let bo = xe.create(DRM_XE_GEM_CPU_CACHING_WC, 1).unwrap();
        let vm = xe.vm;
        xe.bind(vm, op(bo, TARGET, PLAIN)).unwrap();
        assert_eq!(xe.gpu_reads(TARGET), wanted, "{name}");
    }
}

#[test]
fn system_memory_of_a_discrete_device_is_snooped_by_every_index() {
    let mut xe = Xe::new("bmg");
    let vm = xe.vm;
    assert_eq!(
        xe.create(DRM_XE_GEM_CPU_CACHING_WB, 2).map(drop),
        Err(Errno::EINVAL),
        "local memory is write-combining"
    );
    for placement in [1, 2] {
        let bo = xe.create(DRM_XE_GEM_CPU_CACHING_WC, placement).unwrap();
        xe.bind(vm, op(bo, TARGET, 3)).unwrap();
        assert_eq!(xe.gpu_reads(TARGET), 0);
        xe.gpu_writes(TARGET, 9);
        assert_eq!(xe.load(bo, 0), 9);
    }
}

#[test]
fn what_programs_ask_for_is_told_for_other_platforms() {
    let mut xe = Xe::new("lnl");
    // The batch is there already.
    xe.device.trace();
    let (bo, vm) = (xe.create(DRM_XE_GEM_CPU_CACHING_WB, 1).unwrap(), xe.vm);
    assert_eq!(
        xe.create(DRM_XE_GEM_CPU_CACHING_WC, 2).map(drop),
        Err(Errno::EINVAL),
        "it has no local memory"
    );
    for (index, wanted) in [(SNOOPS, Ok(())), (PLAIN, Err(Errno::EINVAL))] {
        assert_eq!(xe.bind(vm, op(bo, TARGET, index)), wanted);
    }
    let pat = drm_xe_madvise { vm_id: vm, start: TARGET, range: 4096, r#type: 2, ..Default::default() };
    let pat = drm_xe_madvise { pat_index: [PLAIN.into(), 0, 0, 0], ..pat };
    assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_MADVISE, pat).0, Some(Errno::EINVAL));
    xe.gpu_writes(TARGET, 5);
    let (traced, dropped) = xe.device.take_trace();
    let asked = xe.device.take_asked();
    let numbers = traced
        .iter()
        .filter_map(|one| if let TraceEvent::Asked { number } = one.event { Some(number) } else { None });
    assert!(numbers.eq(asked.iter().map(|asked| asked.number)) && dropped == 0);
    let told: Vec<(String, _)> = asked
        .iter()
        .map(|asked| {
            let request = match &asked.request {
                AskedRequest::Create(create) => format!("create {}", create.placement),
                AskedRequest::Bind { operations, reaches_objects, .. } => {
                    let known = matches!(operations[0].object, Some(NamedObject::Known(object)) if object.size == SIZE);
                    format!("bind {} {known} {reaches_objects}", operations[0].pat_index)
                }
                AskedRequest::Advise { pat_index, found, .. } => format!("advise {pat_index} {}", found.len()),
            };
            (request, asked.refused.map(|refusal| refusal.rule.name()))
        })
        .collect();
    let told: Vec<_> = told.iter().map(|(request, rule)| (&**request, *rule)).collect();
    assert_eq!(
        told,
        [
            ("create 1", None),
            ("create 2", Some("create-placement")),
            ("bind 1 true true", None),
            ("bind 0 true true", Some("cached-not-snooped")),
            ("advise 0 1", Some("cached-not-snooped")),
        ]
    );
    let written = traced.iter().any(|one| {
        matches!(one.event, TraceEvent::Accessed { access: Access::Write, pat_index: Some(SNOOPS), .. })
    });
    assert!(written, "{traced:?}");
    assert!(xe.device.take_asked().is_empty());
}

#[test]
fn madvise_takes_the_mapping_away_and_nothing_brings_it_back() {
    let mut xe = Xe::new("lnl");
    let bo = xe.create(2, 1).unwrap();
    let vm_id = xe.vm;
    xe.bind(vm_id, op(bo, TARGET, PLAIN)).unwrap();
    xe.gpu_writes(TARGET, 5);
    let pat = drm_xe_madvise { vm_id, start: TARGET, range: 4096, r#type: 2, ..Default::default() };
    assert_eq!(
        xe.caller.on(2, DRM_IOCTL_XE_MADVISE, drm_xe_madvise { range: 0, ..pat }).0,
        Some(Errno::EINVAL)
    );
    assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_MADVISE, pat).0, None);
    for address in [TARGET, TARGET + 8192] {
        xe.gpu_writes(address, 6);
    }
    assert_eq!([0, 8192].map(|offset| xe.load(bo, offset)), [6, 6], "the index that it has is no news");
    let other = drm_xe_madvise { pat_index: [SNOOPS.into(), 0, 0, 0], ..pat };
    assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_MADVISE, other).0, None);
    for address in [TARGET, TARGET + 8192] {
        xe.gpu_writes(address, 7);
    }
    assert_eq!([0, 8192].map(|offset| xe.load(bo, offset)), [6, 6], "the mapping is taken away as a whole");
    let mut old = Xe::new("lnl,kernel=6.12");
    assert_eq!(old.caller.on(2, DRM_IOCTL_XE_MADVISE, pat).0, Some(Errno::EINVAL), "not in 6.12");
}

#[test]
fn refusals_for_caching_are_logged_with_their_objects() {
    let mut xe = Xe::new("lnl");
    let bo = xe.create(DRM_XE_GEM_CPU_CACHING_WB, 1).unwrap();
    let vm = xe.vm;
    assert_eq!(xe.bind(vm, op(bo, TARGET, PLAIN)), Err(Errno::EINVAL));
    assert_eq!(xe.bind(vm, op(bo, TARGET, 20_000)), Err(Errno::EINVAL));
    assert_eq!(
        xe.bind(vm, drm_xe_vm_bind_op { range: 2 * SIZE, ..op(bo, TARGET, SNOOPS) }),
        Err(Errno::EINVAL)
    );
    assert_eq!(xe.create(3, 1).map(|bo| bo.handle), Err(Errno::EINVAL));
    xe.bind(vm, op(bo, TARGET, SNOOPS)).unwrap();
    let logged: Vec<_> = xe
        .device
        .refused_requests()
        .into_iter()
        .map(|refused| {
            assert_eq!((refused.errno, refused.size), (Errno::EINVAL, SIZE));
            (refused.request, refused.rule.name(), refused.handle.map(|handle| handle.get()))
        })
        .collect();
    let bind = "DRM_IOCTL_XE_VM_BIND";
    assert_eq!(
        logged,
        [
            (bind, "cached-not-snooped", Some(bo.handle)),
            (bind, "pat-index-beyond", Some(bo.handle)),
            ("DRM_IOCTL_XE_GEM_CREATE", "caching-unknown", None),
        ]
    );
    assert_eq!(xe.device.refused_requests(), []);
}

#[test]
fn an_object_is_needed_until_its_last_mapping_does_not_need_it() {
    let mut xe = Xe::new("lnl");
    let (bo, vm_id) = (xe.create(1, 1).unwrap(), xe.vm);
    let advise = |xe: &mut Xe, value, start| {
        let pat_index = [value, 0, 0, 0];
        let args = drm_xe_madvise { vm_id, start, range: SIZE, r#type: 3, pat_index, ..Default::default() };
        assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_MADVISE, args).0, None);
    };
    // A wanted object can be bound.
    let is_wanted = |xe: &mut Xe| xe.bind(vm_id, op(bo, 3 * TARGET, SNOOPS));
    let unmap =
        |addr| drm_xe_vm_bind_op { op: DRM_XE_VM_BIND_OP_UNMAP, addr, range: SIZE, ..Default::default() };
    xe.bind(vm_id, op(bo, TARGET, SNOOPS)).unwrap();
    xe.bind(vm_id, op(bo, TARGET + SIZE, SNOOPS)).unwrap();
    advise(&mut xe, 1, TARGET);
    assert_eq!(is_wanted(&mut xe), Ok(()), "the other mapping needs it");
    xe.bind(vm_id, unmap(3 * TARGET)).unwrap();
    xe.bind(vm_id, unmap(TARGET + SIZE)).unwrap();
    assert_eq!(is_wanted(&mut xe), Err(Errno::EBUSY), "the last one does not");
    assert_eq!(xe.map(bo.handle), Err(Errno::EBUSY));
    advise(&mut xe, 0, TARGET);
    xe.map(bo.handle).unwrap();
    assert_eq!(is_wanted(&mut xe), Ok(()));
    xe.bind(vm_id, unmap(3 * TARGET)).unwrap();
    advise(&mut xe, 1, TARGET + SIZE - 4096);
    assert_eq!(is_wanted(&mut xe), Err(Errno::EBUSY), "advice about a part holds for the whole mapping");
}

#[test]
fn memory_is_prefetched_to_where_it_may_be() {
    let mut xe = Xe::new("bmg");
    let vm = xe.vm;
    for (placement, refused) in [(1, None), (2, Some(Errno::EINVAL)), (3, None)] {
        let bo = xe.create(DRM_XE_GEM_CPU_CACHING_WC, placement).unwrap();
        xe.bind(vm, op(bo, TARGET, SNOOPS)).unwrap();
        let prefetch = drm_xe_vm_bind_op { obj: 0, op: DRM_XE_VM_BIND_OP_PREFETCH, ..op(bo, TARGET, SNOOPS) };
        assert_eq!(xe.bind(vm, prefetch).err(), refused, "placement {placement}");
    }
}
