//! Devices of xe: a PAT index for each mapping, what the GPU sees by it, and what the kernel refuses.

use gem_coherency::Errno;
use gem_coherency_sim::{PREVIOUS_OWNER, Pages, SimDevice};
use gem_coherency_uapi::drm_syncobj::{DRM_IOCTL_SYNCOBJ_CREATE, drm_syncobj_create};
use gem_coherency_uapi::xe::*;

use crate::requests::caller::{ARGS, Caller, HOLE, LIST, READ_ONLY};

/// GPU addresses of a target and of a batch.
const TARGET: u64 = 0x10_0000;
const BATCH: u64 = 0x20_0000;
/// Bytes of every object: whole pages of any memory.
const SIZE: u64 = 64 << 10;
/// PAT indices of Xe2: 1-way coherent, and not coherent.
const SNOOPS: u16 = 1;
const PLAIN: u16 = 0;
/// MI_BATCH_BUFFER_END.
const END: u32 = 0x0500_0000;

/// A process with a VM, a queue of the copy engine, and a batch.
struct Xe {
    device: SimDevice,
    caller: Caller,
    vm: u32,
    queue: u32,
    batch: Bo,
    /// The extensions of the next queue.
    extensions: u64,
}

/// An object and its mapping.
#[derive(Clone, Copy)]
struct Bo {
    handle: u32,
    address: u64,
}

impl Xe {
    #[track_caller]
    fn new(name: &str) -> Self {
        let device = SimDevice::open_for_programs(&format!("sim:{name}")).unwrap();
        let caller = Caller::on_device(&device);
        let batch = Bo { handle: 0, address: 0 };
        let mut xe = Self { device, caller, vm: 0, queue: 0, batch, extensions: 0 };
        let (refused, made) = xe.caller.on(2, DRM_IOCTL_XE_VM_CREATE, drm_xe_vm_create::default());
        assert_eq!(refused, None);
        xe.vm = made.vm_id;
        xe.queue = xe.queue_of(DRM_XE_ENGINE_CLASS_COPY).unwrap();
        xe.batch = xe.create(DRM_XE_GEM_CPU_CACHING_WB, 1).unwrap();
        let (batch, vm) = (xe.batch, xe.vm);
        xe.bind(vm, op(batch, BATCH, SNOOPS)).unwrap();
        xe
    }

    fn queue_of(&mut self, engine_class: u16) -> Result<u32, Errno> {
        let instances =
            self.caller.put(LIST, &drm_xe_engine_class_instance { engine_class, ..Default::default() });
        let args = drm_xe_exec_queue_create {
            width: 1,
            num_placements: 1,
            vm_id: self.vm,
            instances,
            extensions: self.extensions,
            ..Default::default()
        };
        let (refused, made) = self.caller.on(2, DRM_IOCTL_XE_EXEC_QUEUE_CREATE, args);
        refused.map_or(Ok(made.exec_queue_id), Err)
    }

    /// Creates an object in these regions, and maps it.
    fn create(&mut self, cpu_caching: u16, placement: u32) -> Result<Bo, Errno> {
        let args = drm_xe_gem_create { size: SIZE, placement, cpu_caching, ..Default::default() };
        let (refused, made) = self.caller.on(2, DRM_IOCTL_XE_GEM_CREATE, args);
        let handle = refused.map_or(Ok(made.handle), Err)?;
        let args = drm_xe_gem_mmap_offset { handle, ..Default::default() };
        let (refused, made) = self.caller.on(2, DRM_IOCTL_XE_GEM_MMAP_OFFSET, args);
        let offset = refused.map_or(Ok(made.offset), Err)?;
        let address = self.caller.process.mmap(SIZE, Pages::ReadWrite, self.caller.fds[2], offset)?;
        Ok(Bo { handle, address })
    }

    fn bind(&mut self, vm_id: u32, bind: drm_xe_vm_bind_op) -> Result<(), Errno> {
        let args = drm_xe_vm_bind { vm_id, num_binds: 1, bind, ..Default::default() };
        self.caller.on(2, DRM_IOCTL_XE_VM_BIND, args).0.map_or(Ok(()), Err)
    }

    fn store(&mut self, bo: Bo, offset: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.caller.process.store(bo.address + offset, &bytes).unwrap();
    }

    fn load(&self, bo: Bo, offset: u64) -> u32 {
        let mut bytes = [0; 4];
        self.caller.process.load(bo.address + offset, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    /// Runs commands; the batch's stores are drained before.
    fn run(&mut self, commands: &[u32]) -> Result<(), Errno> {
        let words = [commands, &[END, 0]].concat();
        self.store(self.batch, 0, &words);
        self.exec(drm_xe_exec { address: BATCH, num_batch_buffer: 1, ..Default::default() })
    }

    fn exec(&mut self, args: drm_xe_exec) -> Result<(), Errno> {
        let args = drm_xe_exec { exec_queue_id: self.queue, ..args };
        self.caller.on(2, DRM_IOCTL_XE_EXEC, args).0.map_or(Ok(()), Err)
    }

    /// Returns the dword that the GPU reads at an address: it copies it into the batch.
    fn gpu_reads(&mut self, address: u64) -> u32 {
        let to = BATCH + SIZE - 4;
        let [low, high] = [address, to].map(|address| [address as u32, (address >> 32) as u32]);
        self.run(&[0x1700_0003, high[0], high[1], low[0], low[1]]).unwrap();
        self.load(self.batch, SIZE - 4)
    }

    /// Lets the GPU write a dword (MI_STORE_DATA_IMM).
    fn gpu_writes(&mut self, address: u64, value: u32) {
        self.run(&[0x1000_0002, address as u32, (address >> 32) as u32, value]).unwrap();
    }
}

/// Returns the operation that maps an object.
fn op(bo: Bo, addr: u64, pat_index: u16) -> drm_xe_vm_bind_op {
    drm_xe_vm_bind_op {
        obj: bo.handle,
        addr,
        range: SIZE,
        pat_index,
        op: DRM_XE_VM_BIND_OP_MAP,
        ..Default::default()
    }
}

/// The first dword of memory that another program owned.
fn secret() -> u32 {
    u32::from_le_bytes(PREVIOUS_OWNER[..4].try_into().unwrap())
}

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
    xe.gpu_writes(TARGET, 6);
    assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_MADVISE, pat).0, None);
    xe.gpu_writes(TARGET, 7);
    assert_eq!(xe.load(bo, 0), 6);
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
    advise(&mut xe, 0, TARGET);
    assert_eq!(is_wanted(&mut xe), Ok(()));
    xe.bind(vm_id, unmap(3 * TARGET)).unwrap();
    advise(&mut xe, 1, TARGET + SIZE - 4096);
    assert_eq!(is_wanted(&mut xe), Err(Errno::EBUSY), "advice about a part holds for the whole mapping");
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
