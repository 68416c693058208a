//! Exec queues and their properties, and the hangs of their batches.

use std::time::{Duration, Instant};

use gem_coherency_sim::{GpuTimes, deliver_events};

use super::*;

#[test]
fn a_hang_bans_its_queue_and_no_other() {
    let mut xe = Xe::new("lnl");
    // A command that no engine has.
    xe.run(&[0xe000_0000]).unwrap();
    let ban = |xe: &mut Xe| {
        let args = drm_xe_exec_queue_get_property { exec_queue_id: xe.queue, ..Default::default() };
        xe.caller.on(2, DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY, args).1.value
    };
    assert_eq!((ban(&mut xe), xe.run(&[])), (1, Err(Errno::ECANCELED)));
    xe.queue = xe.queue_of(DRM_XE_ENGINE_CLASS_RENDER).unwrap();
    assert_eq!((ban(&mut xe), xe.run(&[])), (0, Ok(())));
    assert_eq!(xe.queue_of(DRM_XE_ENGINE_CLASS_VIDEO_DECODE), Err(Errno::EINVAL), "fused off");
}

#[test]
fn a_queue_takes_a_thousand_submissions_that_wait() {
    let mut xe = Xe::new("lnl,gpu=timed");
    // MI_SEMAPHORE_WAIT until a dword of the batch is 1.
    let flag = (BATCH + 4096) as u32;
    let batch = xe.batch;
    xe.store(batch, 0, &[0x0e00_c002, 1, flag, 0, END, 0]);
    let args = drm_xe_exec { address: BATCH, num_batch_buffer: 1, ..Default::default() };
    for _ in 0..1000 {
        xe.exec(args).unwrap();
    }
    assert_eq!(xe.exec(args), Err(Errno::EAGAIN));
    xe.store(batch, 4096, &[1]);
    assert_eq!(xe.exec(args), Ok(()));
}

#[test]
fn a_property_is_refused_where_the_engine_or_the_kernel_lacks_it() {
    let ask = |name, class, property: u32, value: u64| {
        let mut xe = Xe::new(name);
        let extensions = xe.caller.put(ARGS + 2048, &[0, 0, u64::from(property), value]);
        xe.extensions = extensions;
        xe.queue_of(class).map(drop)
    };
    let (render, copy) = (DRM_XE_ENGINE_CLASS_RENDER, DRM_XE_ENGINE_CLASS_COPY);
    assert_eq!(ask("lnl", render, 6, 9), Ok(()));
    assert_eq!(ask("lnl", copy, 6, 1), Err(Errno::EOPNOTSUPP));
    assert_eq!(ask("lnl,kernel=6.12", render, 6, 1), Err(Errno::EINVAL));
    assert_eq!([ask("lnl", copy, 2, 0), ask("lnl", copy, 2, 1)], [Ok(()), Err(Errno::ENODEV)]);
    assert_eq!(ask("lnl", copy, 4, 1 << 63), Err(Errno::ENODEV));
}

#[test]
fn the_queue_of_a_bind_is_looked_for_before_its_vm_in_6_12() {
    for (name, wanted) in [("lnl", Errno::EINVAL), ("lnl,kernel=6.12", Errno::ENOENT)] {
        let mut xe = Xe::new(name);
        let args = drm_xe_vm_bind { vm_id: 99, exec_queue_id: 99, ..Default::default() };
        assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_VM_BIND, args).0, Some(wanted), "{name}");
    }
}

#[test]
fn properties_are_set_and_read_from_7_2_on() {
    let mut xe = Xe::new("lnl");
    let mut set = |exec_queue_id, property| {
        let args = drm_xe_exec_queue_set_property { exec_queue_id, property, ..Default::default() };
        xe.caller.on(2, DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY, args).0
    };
    let priority = DRM_XE_EXEC_QUEUE_SET_PROPERTY_MULTI_QUEUE_PRIORITY;
    assert_eq!(set(99, priority), Some(Errno::ENOENT));
    assert_eq!(set(99, 0), Some(Errno::EINVAL));
    for (name, wanted) in [
        ("lnl", [None, Some(Errno::EINVAL), Some(Errno::ENOENT)]),
        ("lnl,kernel=6.12", [Some(Errno::EINVAL); 3]),
    ] {
        let mut xe = Xe::new(name);
        let mut get = |vm_id, size| {
            let args = drm_xe_vm_get_property {
                vm_id,
                size,
                property: DRM_XE_VM_GET_PROPERTY_FAULTS,
                ..Default::default()
            };
            xe.caller.on(2, DRM_IOCTL_XE_VM_GET_PROPERTY, args).0
        };
        let vm = xe.vm;
        assert_eq!([get(vm, 0), get(vm, 32), get(99, 0)], wanted, "{name}");
    }
}

#[test]
fn counters_are_refused_as_a_device_without_them_does() {
    let (inval, nodev) = (Some(Errno::EINVAL), Some(Errno::ENODEV));
    let rows = [("lnl", Some(Errno::EACCES)), ("tgl,driver=xe", nodev), ("lnl,kernel=6.12", inval)];
    for (name, stalls) in rows {
        let device = SimDevice::open_for_programs(&format!("sim:{name}")).unwrap();
        let mut caller = Caller::on_device(&device);
        let mut observe = |extensions, observation_type, observation_op| {
            let args = drm_xe_observation_param {
                extensions,
                observation_type,
                observation_op,
                ..Default::default()
            };
            caller.on(2, DRM_IOCTL_XE_OBSERVATION, args).0
        };
        assert_eq!([0, 1, 2, 3].map(|operation| observe(0, 0, operation)), [nodev, nodev, nodev, inval]);
        assert_eq!([observe(1, 0, 0), observe(0, 2, 0), observe(0, 1, 1)], [inval; 3], "{name}");
        assert_eq!(observe(0, 1, 0), stalls, "{name}");
    }
}

#[test]
fn a_batch_that_waits_is_ended_after_the_time_of_a_job_unless_its_vm_is_long_running() {
    let soon = Duration::from_millis(20);
    for flags in [0, DRM_XE_VM_CREATE_FLAG_LR_MODE] {
        let mut xe = Xe::new("lnl,gpu=timed");
        xe.device.set_gpu_times(GpuTimes { job: soon, ..GpuTimes::default() });
        let args = drm_xe_vm_create { flags, ..Default::default() };
        xe.vm = xe.caller.on(2, DRM_IOCTL_XE_VM_CREATE, args).1.vm_id;
        xe.queue = xe.queue_of(DRM_XE_ENGINE_CLASS_COPY).unwrap();
        let target = xe.create(DRM_XE_GEM_CPU_CACHING_WB, 1).unwrap();
        let (batch, vm) = (xe.batch, xe.vm);
        xe.bind(vm, op(batch, BATCH, SNOOPS)).unwrap();
        xe.bind(vm, op(target, TARGET, SNOOPS)).unwrap();
        // MI_SEMAPHORE_WAIT until the dword is 1, then a store.
        let at = TARGET as u32;
        xe.run(&[0x0e00_c002, 1, at, 0, 0x1000_0002, at + 4, 0, 7]).unwrap();
        assert!(deliver_events(Instant::now()).is_some(), "it runs between requests");
        std::thread::sleep(2 * soon);
        deliver_events(Instant::now());
        xe.store(target, 0, &[1]);
        deliver_events(Instant::now());
        let goes_on = flags != 0;
        assert_eq!(xe.load(target, 4), if goes_on { 7 } else { 0 });
        let banned = xe.run(&[]).is_err();
        assert_eq!(banned, !goes_on);
    }
}
