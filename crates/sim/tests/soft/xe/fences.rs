//! User fences.

use super::*;

#[test]
fn fences_are_stored_by_the_gpu_after_a_batch_and_by_the_cpu_after_a_bind() {
    let mut xe = Xe::new("lnl");
    let signal = |r#type, addr, timeline_value| drm_xe_sync {
        r#type,
        flags: 1,
        addr,
        timeline_value,
        ..Default::default()
    };
    let batch = xe.batch;
    xe.store(batch, 0, &[END, 0]);
    let syncs = xe.caller.put(LIST, &signal(DRM_XE_SYNC_TYPE_USER_FENCE, BATCH + 4096, 11));
    let args = drm_xe_exec { address: BATCH, num_batch_buffer: 1, num_syncs: 1, syncs, ..Default::default() };
    xe.exec(args).unwrap();
    assert_eq!(xe.load(batch, 4096), 11);
    let waits = drm_xe_wait_user_fence {
        addr: batch.address + 4096,
        value: 11,
        mask: u64::MAX,
        ..Default::default()
    };
    assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_WAIT_USER_FENCE, waits).0, None);
    let later = drm_xe_wait_user_fence { value: 12, ..waits };
    assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_WAIT_USER_FENCE, later).0, Some(Errno::ETIME));

    let syncs = xe.caller.put(LIST, &signal(DRM_XE_SYNC_TYPE_USER_FENCE, ARGS + 2048, 13));
    let bind = drm_xe_vm_bind {
        vm_id: xe.vm,
        num_binds: 1,
        bind: op(batch, TARGET, SNOOPS),
        num_syncs: 1,
        syncs,
        ..Default::default()
    };
    assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_VM_BIND, bind).0, None);
    let mut bytes = [0; 8];
    xe.caller.process.load(ARGS + 2048, &mut bytes).unwrap();
    assert_eq!(u64::from_le_bytes(bytes), 13);
    // Without work no fence is waited for.
    let (_, made) = xe.caller.on(2, DRM_IOCTL_SYNCOBJ_CREATE, drm_syncobj_create { handle: 0, flags: 1 });
    let waited = drm_xe_sync { flags: 0, ..signal(DRM_XE_SYNC_TYPE_SYNCOBJ, made.handle.into(), 0) };
    let syncs = xe.caller.put(LIST, &waited);
    assert_eq!(xe.exec(drm_xe_exec { num_syncs: 1, syncs, ..Default::default() }), Err(Errno::EOPNOTSUPP));
}

#[test]
fn a_wait_for_a_user_fence_with_a_negative_time_has_no_end() {
    let mut xe = Xe::new("lnl");
    xe.caller.put(LIST, &5_u64);
    for flags in [0, DRM_XE_UFENCE_WAIT_FLAG_ABSTIME] {
        let waits = |value, timeout| drm_xe_wait_user_fence {
            addr: LIST,
            flags,
            value,
            mask: u64::MAX,
            timeout,
            ..Default::default()
        };
        let (refused, back) = xe.caller.on(2, DRM_IOCTL_XE_WAIT_USER_FENCE, waits(5, -1));
        assert_eq!(
            (refused, back.timeout > i64::MAX / 2),
            (None, true),
            "the longest time, less what passed"
        );
        let (refused, back) = xe.caller.on(2, DRM_IOCTL_XE_WAIT_USER_FENCE, waits(6, 1));
        assert_eq!((refused, back.timeout), (Some(Errno::ETIME), i64::from(flags)));
    }
}

#[test]
fn a_bind_stores_its_user_fence_where_there_is_memory() {
    let mut xe = Xe::new("lnl");
    let batch = xe.batch;
    let mut bind = |addr| {
        let fence = drm_xe_sync { r#type: DRM_XE_SYNC_TYPE_USER_FENCE, flags: 1, addr, ..Default::default() };
        let unknown = drm_xe_sync { addr: 99, ..Default::default() };
        let syncs = xe.caller.put(LIST, &[fence, unknown]);
        let args = drm_xe_vm_bind {
            vm_id: xe.vm,
            num_binds: 1,
            bind: op(batch, TARGET, SNOOPS),
            num_syncs: 2,
            syncs,
            ..Default::default()
        };
        xe.caller.on(2, DRM_IOCTL_XE_VM_BIND, args).0
    };
    assert_eq!(bind(HOLE), Some(Errno::EFAULT));
    assert_eq!(bind(READ_ONLY), Some(Errno::ENOENT), "memory that can be read; then, the syncobj");
}

#[test]
fn the_last_user_fence_of_a_submission_counts() {
    let mut xe = Xe::new("lnl");
    let batch = xe.batch;
    xe.store(batch, 0, &[END, 0]);
    let fence = |addr, timeline_value| drm_xe_sync {
        r#type: DRM_XE_SYNC_TYPE_USER_FENCE,
        flags: 1,
        addr,
        timeline_value,
        ..Default::default()
    };
    let syncs = xe.caller.put(LIST, &[fence(BATCH + 4096, 5), fence(BATCH + 8192, 6)]);
    xe.exec(drm_xe_exec { address: BATCH, num_batch_buffer: 1, num_syncs: 2, syncs, ..Default::default() })
        .unwrap();
    assert_eq!([xe.load(batch, 4096), xe.load(batch, 8192)], [0, 6]);
}
