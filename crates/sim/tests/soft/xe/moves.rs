//! Moves of objects between local and system memory: what makes room, what comes back, and how the CPU maps it.

use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use gem_coherency_sim::{Minor, Place, Process, ProgramMemory, Shown};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::dma_buf::*;
use gem_coherency_uapi::drm::*;
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_fourcc::DRM_FORMAT_XRGB8888;
use gem_coherency_uapi::i915::*;

use super::*;
use crate::kms::{Kms, SMALL, plain};

/// Placements.
const SYSTEM: u32 = 1;
const LOCAL: u32 = 2;
const BOTH: u32 = SYSTEM | LOCAL;
/// Local memory with room for two objects, for three, and for one.
const TWO: &str = "bmg,vram=128K";
const THREE: &str = "bmg,vram=192K";
const ONE: &str = "bmg,vram=64K";

impl Xe {
    /// Creates a write-combining object with these flags, for a VM or none; maps it.
    fn object(&mut self, placement: u32, flags: u32, vm_id: u32) -> Result<Bo, Errno> {
        self.object_of(SIZE, placement, flags, vm_id)
    }

    fn object_of(&mut self, size: u64, placement: u32, flags: u32, vm_id: u32) -> Result<Bo, Errno> {
        let args = drm_xe_gem_create { size, placement, flags, vm_id, cpu_caching: 2, ..Default::default() };
        let (refused, made) = self.caller.on(2, DRM_IOCTL_XE_GEM_CREATE, args);
        let handle = refused.map_or(Ok(made.handle), Err)?;
        Ok(Bo { handle, address: self.map(handle)? })
    }

    fn local(&mut self) -> Bo {
        self.object(LOCAL, 0, 0).unwrap()
    }

    /// Returns the bytes of local memory in use.
    fn local_bytes(&mut self) -> u64 {
        let args = drm_xe_device_query { query: 1, size: 8 + 2 * 88, data: LIST, ..Default::default() };
        assert_eq!(self.caller.on(2, DRM_IOCTL_XE_DEVICE_QUERY, args).0, None);
        let mut region = [0; 88];
        self.caller.process.load(LIST + 8 + 88, &mut region).unwrap();
        let region: drm_xe_mem_region = bytemuck::pod_read_unaligned(&region);
        assert_eq!((region.mem_class, region.used), (DRM_XE_MEM_REGION_CLASS_VRAM, region.cpu_visible_used));
        region.used
    }

    /// Returns whether the object is in local memory: the CPU maps it write-combining then, else write-back.
    fn is_local(&self, bo: Bo) -> bool {
        let views = self.caller.process.views(bo.address).unwrap();
        assert_eq!(views.shows, Place::Cache, "the same bytes wherever the object is");
        views.evicts
    }

    fn are_local<const N: usize>(&self, objects: [Bo; N]) -> [bool; N] {
        objects.map(|bo| self.is_local(bo))
    }

    /// Binds objects one after another; returns their addresses.
    fn bind_all<const N: usize>(&mut self, objects: [Bo; N]) -> [u64; N] {
        let mut at = TARGET;
        objects.map(|bo| {
            let vm = self.vm;
            self.bind(vm, op(bo, at, SNOOPS)).unwrap();
            at += SIZE;
            at - SIZE
        })
    }

    fn prefetch(&mut self, address: u64, region: u32) -> Result<(), Errno> {
        let vm = self.vm;
        let of = Bo { handle: 0, address: 0 };
        let prefetch = drm_xe_vm_bind_op {
            op: DRM_XE_VM_BIND_OP_PREFETCH,
            prefetch_mem_region_instance: region,
            ..op(of, address, SNOOPS)
        };
        self.bind(vm, prefetch)
    }

    /// Exports an object; returns the descriptor.
    fn export(&mut self, bo: Bo) -> i32 {
        let args = drm_prime_handle { handle: bo.handle, flags: DRM_RDWR, fd: 0 };
        let (refused, made) = self.caller.on(2, DRM_IOCTL_PRIME_HANDLE_TO_FD, args);
        assert_eq!(refused, None);
        made.fd
    }

    /// DMA_BUF_IOCTL_SYNC.
    fn sync(&mut self, fd: i32, flags: u64) {
        self.caller.put(ARGS, &dma_buf_sync { flags });
        self.caller.process.ioctl(fd, DMA_BUF_IOCTL_SYNC.code, ARGS).unwrap();
    }
}

#[test]
fn the_least_recently_used_object_makes_room_and_keeps_its_bytes() {
    for (name, wanted) in [(TWO, [false, true, true]), (THREE, [true; 3])] {
        let mut xe = Xe::new(name);
        let (first, second) = (xe.local(), xe.local());
        xe.store(first, 0, &[7]);
        xe.store(second, 0, &[8]);
        let third = xe.local();
        xe.store(third, 0, &[9]);
        let all = [first, second, third];
        assert_eq!(xe.are_local(all), wanted, "{name}");
        assert_eq!(all.map(|bo| xe.load(bo, 0)), [7, 8, 9], "{name}");
        let local = wanted.iter().filter(|&&is_local| is_local).count() as u64;
        assert_eq!(xe.local_bytes(), local * SIZE, "{name}");
    }
}

#[test]
fn an_object_that_was_moved_comes_back_when_it_is_submitted() {
    let mut xe = Xe::new(TWO);
    let objects = [xe.local(), xe.local()];
    let [address, other] = xe.bind_all(objects);
    xe.store(objects[0], 0, &[7]);
    let third = xe.local();
    assert_eq!(xe.are_local([objects[0], objects[1], third]), [false, true, true]);
    // The mapping is write-back now, and the GPU sees the store.
    xe.store(objects[0], 4, &[8]);
    assert_eq!([xe.gpu_reads(address), xe.gpu_reads(address + 4)], [7, 8]);
    assert_eq!(xe.are_local([objects[0], objects[1], third]), [true, true, false], "the VM's objects stay");
    xe.gpu_writes(address, 9);
    assert_eq!((xe.load(objects[0], 0), xe.load(objects[0], 4)), (9, 8));
    assert_eq!(xe.gpu_reads(other), 0);
}

#[test]
fn the_gpu_sees_the_cpus_cache_where_an_object_is_in_system_memory() {
    let mut xe = Xe::new(ONE);
    let bo = xe.object(BOTH, 0, 0).unwrap();
    let [address] = xe.bind_all([bo]);
    // What takes the room cannot make it: it is on no LRU list while the VM is locked.
    let shown = xe.local();
    assert_eq!(xe.are_local([bo, shown]), [false, true]);
    xe.bind(xe.vm, op(shown, address + SIZE, SNOOPS)).unwrap();
    xe.store(bo, 0, &[7]);
    assert_eq!(xe.gpu_reads(address), 7);
    xe.gpu_writes(address, 8);
    assert_eq!(xe.load(bo, 0), 8);
    assert_eq!(xe.are_local([bo, shown]), [false, true], "it returns only where there is room");
    let unmap = drm_xe_vm_bind_op {
        op: DRM_XE_VM_BIND_OP_UNMAP,
        addr: address + SIZE,
        range: SIZE,
        ..Default::default()
    };
    xe.bind(xe.vm, unmap).unwrap();
    xe.caller.process.munmap(shown.address).unwrap();
    let close = drm_gem_close { handle: shown.handle, pad: 0 };
    assert_eq!(xe.caller.on(2, DRM_IOCTL_GEM_CLOSE, close).0, None);
    assert_eq!((xe.local_bytes(), xe.is_local(bo)), (0, false));
    // Another binding validates it.
    xe.bind(xe.vm, op(bo, address + SIZE, SNOOPS)).unwrap();
    assert_eq!((xe.local_bytes(), xe.is_local(bo)), (SIZE, true));
    assert_eq!((xe.gpu_reads(address), xe.load(bo, 0)), (8, 8));
}

#[test]
fn objects_of_one_submission_make_no_room_for_each_other() {
    for (name, wanted) in [(TWO, Err(Errno::ENOMEM)), (THREE, Ok(()))] {
        let mut xe = Xe::new(name);
        let objects = [xe.local(), xe.local(), xe.local()];
        xe.bind_all(objects);
        assert_eq!(xe.run(&[]), wanted, "{name}");
    }
}

#[test]
fn an_object_that_may_be_in_system_memory_goes_there_if_nothing_makes_room() {
    // Of an array of binds none makes room for another one, nor does another object of the VM.
    for placement in [LOCAL, BOTH] {
        let mut xe = Xe::new(ONE);
        let vm_id = xe.vm;
        let own = xe.object(LOCAL, 0, vm_id).unwrap();
        xe.bind(vm_id, op(own, TARGET, SNOOPS)).unwrap();
        let late = xe.object(placement, DRM_XE_GEM_CREATE_FLAG_DEFER_BACKING, 0).unwrap();
        let ops = [op(late, TARGET + SIZE, SNOOPS), op(own, TARGET + 2 * SIZE, SNOOPS)];
        for (index, op) in (0..).zip(&ops) {
            xe.caller.put(LIST + index * size_of_val(op) as u64, op);
        }
        let mut args = drm_xe_vm_bind { vm_id, num_binds: 2, ..Default::default() };
        args.bind.extensions = LIST;
        let bound = xe.caller.on(2, DRM_IOCTL_XE_VM_BIND, args).0;
        assert_eq!(bound, (placement == LOCAL).then_some(Errno::ENOMEM));
        assert_eq!(xe.are_local([own, late]), [true, false]);
        // Alone it takes the place of the other one.
        xe.bind(vm_id, op(late, TARGET + 3 * SIZE, SNOOPS)).unwrap();
        assert_eq!(xe.are_local([own, late]), if placement == LOCAL { [false, true] } else { [true, false] });
    }
}

#[test]
fn an_object_larger_than_local_memory_is_never_there() {
    let mut xe = Xe::new(ONE);
    for placement in [LOCAL, BOTH] {
        assert_eq!(xe.object_of(2 * SIZE, placement, 0, 0).err(), Some(Errno::E2BIG));
        let flags = DRM_XE_GEM_CREATE_FLAG_DEFER_BACKING;
        let late = xe.object_of(2 * SIZE, placement, flags, 0).unwrap();
        assert_eq!(xe.bind(xe.vm, op(late, TARGET, SNOOPS)), Err(Errno::E2BIG));
        assert!(!xe.is_local(late));
    }
    assert_eq!(xe.object_of(2 * SIZE, SYSTEM, 0, 0).err(), None);
    let deferred = DRM_XE_GEM_CREATE_FLAG_DEFER_BACKING;
    let huge = [(SYSTEM, 0), (LOCAL, 0), (BOTH, deferred)]
        .map(|(placement, flags)| xe.object_of(1 << 39, placement, flags, 0).err());
    assert_eq!(huge, [Some(Errno::ENOMEM), Some(Errno::E2BIG), Some(Errno::ENOMEM)]);
}

#[test]
fn deferred_pages_are_where_they_are_needed_first() {
    let mut xe = Xe::new("bmg");
    let late = xe.object(LOCAL, DRM_XE_GEM_CREATE_FLAG_DEFER_BACKING, 0).unwrap();
    xe.store(late, 0, &[7]);
    assert_eq!((xe.local_bytes(), xe.is_local(late)), (0, false), "the CPU's fault brings system memory in");
    let [address] = xe.bind_all([late]);
    assert_eq!((xe.local_bytes(), xe.is_local(late)), (SIZE, true));
    assert_eq!((xe.gpu_reads(address), xe.gpu_reads(address + 64), xe.load(late, 0)), (7, 0, 7));
    let now = xe.object(LOCAL, 0, 0).unwrap();
    assert_eq!((xe.local_bytes(), xe.is_local(now)), (2 * SIZE, true));
}

#[test]
fn a_submission_counts_as_a_use_of_the_vms_own_objects() {
    for submits in [false, true] {
        let mut xe = Xe::new(TWO);
        let vm_id = xe.vm;
        let (own, other) = (xe.object(LOCAL, 0, vm_id).unwrap(), xe.local());
        xe.bind_all([own]);
        if submits {
            xe.run(&[]).unwrap();
        }
        xe.local();
        assert_eq!(xe.are_local([own, other]), [submits, !submits]);
    }
}

#[test]
fn a_prefetch_moves_an_object_and_its_mapping() {
    let mut xe = Xe::new("bmg");
    let bo = xe.object(BOTH, 0, 0).unwrap();
    let [address] = xe.bind_all([bo]);
    xe.store(bo, 0, &[7]);
    for (region, is_local) in [(1, true), (0, false), (0, false), (1, true), (0, false)] {
        xe.prefetch(address, region).unwrap();
        assert_eq!((xe.is_local(bo), xe.local_bytes()), (is_local, if is_local { SIZE } else { 0 }));
        assert_eq!(xe.load(bo, 0), 7);
        let number = 8 + region;
        xe.store(bo, 64, &[number]);
        assert_eq!(xe.load(bo, 64), number);
    }
    // The next submission brings it back.
    assert_eq!((xe.gpu_reads(address + 64), xe.is_local(bo)), (8, true));
    assert_eq!(xe.prefetch(address, 2), Err(Errno::EINVAL));
}

#[test]
fn a_read_of_a_dma_buf_moves_its_object_to_system_memory() {
    for (placement, flags, is_local) in [
        (BOTH, DMA_BUF_SYNC_READ, false),
        (BOTH, DMA_BUF_SYNC_RW, false),
        (BOTH, DMA_BUF_SYNC_WRITE, true),
        (BOTH, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ, true),
        (LOCAL, DMA_BUF_SYNC_READ, true),
    ] {
        let mut xe = Xe::new("bmg");
        let bo = xe.object(placement, 0, 0).unwrap();
        let [address] = xe.bind_all([bo]);
        xe.store(bo, 0, &[7]);
        let fd = xe.export(bo);
        xe.sync(fd, flags);
        assert_eq!((xe.is_local(bo), xe.load(bo, 0)), (is_local, 7), "placement {placement}, flags {flags}");
        assert_eq!((xe.gpu_reads(address), xe.is_local(bo)), (7, true));
    }
}

/// Gives the object's dma-buf to another device, as the caller's file 1; returns the handle there.
fn import(xe: &mut Xe, bo: Bo, other: &SimDevice) -> Result<u32, Errno> {
    let fd = xe.export(bo);
    xe.caller.fds[1] = xe.caller.process.open(other, Minor::Render);
    let args = drm_prime_handle { handle: 0, flags: 0, fd };
    let (refused, made) = xe.caller.on(1, DRM_IOCTL_PRIME_FD_TO_HANDLE, args);
    xe.caller.process.close(fd).unwrap();
    refused.map_or(Ok(made.handle), Err)
}

#[test]
fn another_device_imports_what_may_be_in_system_memory() {
    for (placement, wanted) in [(LOCAL, Some(Errno::EOPNOTSUPP)), (BOTH, None)] {
        let mut xe = Xe::new("bmg");
        let bo = xe.object(placement, 0, 0).unwrap();
        let other = SimDevice::open_for_programs("sim:lnl").unwrap();
        assert_eq!(import(&mut xe, bo, &other).err(), wanted);
        assert!(xe.is_local(bo), "the other device has not used it yet");
    }
}

#[test]
fn an_object_that_i915_uses_stays_in_system_memory() {
    let mut xe = Xe::new("bmg");
    let bo = xe.object(BOTH, 0, 0).unwrap();
    let [address] = xe.bind_all([bo]);
    xe.store(bo, 0, &[7]);
    let other = SimDevice::open_for_programs("sim:tgl").unwrap();
    let handle = import(&mut xe, bo, &other).unwrap();
    let domain = drm_i915_gem_set_domain { handle, read_domains: I915_GEM_DOMAIN_GTT, write_domain: 0 };
    assert_eq!(xe.caller.on(1, DRM_IOCTL_I915_GEM_SET_DOMAIN, domain).0, None);
    assert!(!xe.is_local(bo));
    assert_eq!((xe.prefetch(address, 1), xe.prefetch(address, 0)), (Err(Errno::EBUSY), Ok(())));
    assert_eq!((xe.gpu_reads(address), xe.is_local(bo), xe.local_bytes()), (7, false, 0));
    // The device gone, it moves.
    xe.caller.process.close(xe.caller.fds[1]).unwrap();
    drop(other);
    assert_eq!((xe.prefetch(address, 1), xe.is_local(bo)), (Ok(()), true));
}

#[test]
fn an_object_that_another_xe_uses_moves_back_and_forth() {
    let mut xe = Xe::new("bmg");
    let bo = xe.object(BOTH, 0, 0).unwrap();
    let [address] = xe.bind_all([bo]);
    let other = SimDevice::open_for_programs("sim:lnl").unwrap();
    let imported = import(&mut xe, bo, &other).unwrap();
    // There, a VM with the object and a batch, and a queue.
    let vm_id = xe.caller.on(1, DRM_IOCTL_XE_VM_CREATE, drm_xe_vm_create::default()).1.vm_id;
    let create = drm_xe_gem_create { size: SIZE, placement: SYSTEM, cpu_caching: 1, ..Default::default() };
    let batch = xe.caller.on(1, DRM_IOCTL_XE_GEM_CREATE, create).1.handle;
    let map = drm_xe_gem_mmap_offset { handle: batch, ..Default::default() };
    let offset = xe.caller.on(1, DRM_IOCTL_XE_GEM_MMAP_OFFSET, map).1.offset;
    let code = xe.caller.process.mmap(SIZE, Pages::ReadWrite, xe.caller.fds[1], offset).unwrap();
    for (handle, at) in [(batch, BATCH), (imported, TARGET)] {
        let bind = op(Bo { handle, address: 0 }, at, SNOOPS);
        let args = drm_xe_vm_bind { vm_id, num_binds: 1, bind, ..Default::default() };
        assert_eq!(xe.caller.on(1, DRM_IOCTL_XE_VM_BIND, args).0, None);
    }
    assert!(!xe.is_local(bo), "the other device reaches system memory");
    let engine_class = DRM_XE_ENGINE_CLASS_COPY;
    let instances = xe.caller.put(LIST, &drm_xe_engine_class_instance { engine_class, ..Default::default() });
    let args =
        drm_xe_exec_queue_create { width: 1, num_placements: 1, vm_id, instances, ..Default::default() };
    let exec_queue_id = xe.caller.on(1, DRM_IOCTL_XE_EXEC_QUEUE_CREATE, args).1.exec_queue_id;
    for number in 8..11 {
        let words = [0x1000_0002, TARGET as u32, 0, number, END];
        xe.store(Bo { handle: batch, address: code }, 0, &words);
        let exec = drm_xe_exec { exec_queue_id, address: BATCH, num_batch_buffer: 1, ..Default::default() };
        assert_eq!(xe.caller.on(1, DRM_IOCTL_XE_EXEC, exec).0, None);
        assert!(!xe.is_local(bo), "each device's submission brings it to where that device reaches it");
        assert_eq!((xe.gpu_reads(address), xe.is_local(bo), xe.load(bo, 0)), (number, true, number));
    }
}

#[test]
fn contents_that_are_not_needed_are_discarded_in_place_of_a_move() {
    for is_needed in [true, false] {
        let mut xe = Xe::new(ONE);
        let (vm_id, bo) = (xe.vm, xe.local());
        let [start] = xe.bind_all([bo]);
        xe.store(bo, 0, &[7]);
        let advise = |xe: &mut Xe, value| {
            xe.caller.put(LIST, &0_u32);
            let pat_index = [value, 0, LIST as u32, (LIST >> 32) as u32];
            let args =
                drm_xe_madvise { vm_id, start, range: SIZE, r#type: 3, pat_index, ..Default::default() };
            assert_eq!(xe.caller.on(2, DRM_IOCTL_XE_MADVISE, args).0, None);
            let mut retained = [0; 4];
            xe.caller.process.load(LIST, &mut retained).unwrap();
            u32::from_le_bytes(retained)
        };
        assert_eq!(advise(&mut xe, u32::from(!is_needed)), 1);
        xe.local();
        assert_eq!(xe.local_bytes(), SIZE);
        assert_eq!(advise(&mut xe, 0), u32::from(is_needed));
    }
}

/// A program whose memory is 8 KiB, and what the device told it to map: in place of what, and whether write-combining.
#[derive(Debug, Default)]
struct Program {
    memory: Mutex<Vec<u8>>,
    mapped: Mutex<Vec<(Option<u64>, bool)>>,
}

impl ProgramMemory for Program {
    fn read(&self, address: u64, data: &mut [u8]) -> usize {
        let memory = self.memory.lock().unwrap();
        let from = memory.get(address.wrapping_sub(ARGS) as usize..).unwrap_or_default();
        let len = from.len().min(data.len());
        data[..len].copy_from_slice(&from[..len]);
        len
    }

    fn write(&self, address: u64, data: &[u8]) -> usize {
        let mut memory = self.memory.lock().unwrap();
        let into = memory.get_mut(address.wrapping_sub(ARGS) as usize..).unwrap_or_default();
        let len = into.len().min(data.len());
        into[..len].copy_from_slice(&data[..len]);
        len
    }

    fn map(&self, shown: Shown, _len: u64, _pages: Pages, at: Option<u64>) -> Result<Option<u64>, Errno> {
        let Shown::Bytes(views) = shown else { return Err(Errno::EINVAL) };
        self.mapped.lock().unwrap().push((at, views.evicts));
        Ok(Some(at.unwrap_or(64 * TARGET)))
    }
}

#[test]
fn a_programs_mapping_changes_its_type_with_each_move_and_no_other_request() {
    let program = Arc::new(Program { memory: Mutex::new(vec![0; 0x2000]), ..Program::default() });
    let mut process = Process::of_program(Arc::clone(&program) as Arc<dyn ProgramMemory>);
    let fd = process.open(&SimDevice::open_for_programs("sim:bmg").unwrap(), Minor::Render);
    fn ask<T: bytemuck::Pod>(
        program: &Program,
        process: &mut Process,
        fd: i32,
        request: Ioctl<T>,
        args: T,
    ) -> T {
        program.write(ARGS, bytemuck::bytes_of(&args));
        process.ioctl(fd, request.code, ARGS).unwrap();
        let mut back = vec![0; size_of::<T>()];
        program.read(ARGS, &mut back);
        bytemuck::pod_read_unaligned(&back)
    }
    let vm_id = ask(&program, &mut process, fd, DRM_IOCTL_XE_VM_CREATE, drm_xe_vm_create::default()).vm_id;
    let create = drm_xe_gem_create { size: SIZE, placement: BOTH, cpu_caching: 2, ..Default::default() };
    let handle = ask(&program, &mut process, fd, DRM_IOCTL_XE_GEM_CREATE, create).handle;
    let map = drm_xe_gem_mmap_offset { handle, ..Default::default() };
    let offset = ask(&program, &mut process, fd, DRM_IOCTL_XE_GEM_MMAP_OFFSET, map).offset;
    let at = process.mmap(SIZE, Pages::ReadWrite, fd, offset).unwrap();
    let bind = |bind| drm_xe_vm_bind { vm_id, num_binds: 1, bind, ..Default::default() };
    let first = bind(op(Bo { handle, address: at }, TARGET, SNOOPS));
    ask(&program, &mut process, fd, DRM_IOCTL_XE_VM_BIND, first);
    assert_eq!(*program.mapped.lock().unwrap(), [(None, true)], "write-combining");
    for (region, told) in [(0, Some(false)), (0, None), (1, Some(true)), (1, None)] {
        program.mapped.lock().unwrap().clear();
        let prefetch = drm_xe_vm_bind_op {
            obj: 0,
            op: DRM_XE_VM_BIND_OP_PREFETCH,
            prefetch_mem_region_instance: region,
            ..first.bind
        };
        ask(&program, &mut process, fd, DRM_IOCTL_XE_VM_BIND, bind(prefetch));
        let wanted: Vec<_> = told.map(|evicts| (Some(at), evicts)).into_iter().collect();
        assert_eq!(*program.mapped.lock().unwrap(), wanted, "region {region}");
    }
}

#[test]
fn what_another_thread_stores_during_a_move_is_not_lost() {
    let mut xe = Xe::new("bmg");
    let bo = xe.object(BOTH, 0, 0).unwrap();
    let [address] = xe.bind_all([bo]);
    // The file that the program's mappings show, of any time.
    let files = xe.caller.process.views(bo.address).unwrap();
    let file = std::fs::File::from(files.cached);
    for (region, number) in [(0, 1_u32), (1, 2), (0, 3), (1, 4)] {
        xe.prefetch(address, region).unwrap();
        file.write_all_at(&number.to_le_bytes(), 0).unwrap();
        assert_eq!((xe.load(bo, 0), xe.gpu_reads(address)), (number, number));
        xe.prefetch(address, region).unwrap();
        xe.gpu_writes(address, number + 8);
        xe.prefetch(address, region).unwrap();
        let mut seen = [0; 4];
        file.read_exact_at(&mut seen, 0).unwrap();
        assert_eq!(u32::from_le_bytes(seen), number + 8);
    }
}

#[test]
fn an_object_of_a_long_running_vm_takes_the_place_of_another_one_since_7_2() {
    for (kernel, wanted) in [("7.2", None), ("6.12", Some(Errno::ENOMEM))] {
        let name = format!("sim:dg1,driver=xe,kernel={kernel},vram=64K");
        let device = SimDevice::open_for_programs(&name).unwrap();
        let (caller, batch) = (Caller::on_device(&device), Bo { handle: 0, address: 0 });
        let mut xe = Xe { device, caller, vm: 0, queue: 0, batch, extensions: 0 };
        let args = drm_xe_vm_create { flags: DRM_XE_VM_CREATE_FLAG_LR_MODE, ..Default::default() };
        let vm_id = xe.caller.on(2, DRM_IOCTL_XE_VM_CREATE, args).1.vm_id;
        let own = xe.object(LOCAL, 0, vm_id).unwrap();
        xe.bind(vm_id, op(own, TARGET, 0)).unwrap();
        assert_eq!(xe.object(LOCAL, 0, vm_id).err(), wanted);
        // A binding never takes the place of another one there.
        assert_eq!(xe.bind(vm_id, op(own, TARGET, 0)).err(), wanted.is_none().then_some(Errno::ENOMEM));
    }
}

#[test]
fn a_picture_on_screen_is_in_local_memory_and_stays_there() {
    let mut kms = Kms::on_device(SimDevice::open_for_programs("sim:bmg,vram=64K").unwrap());
    let flags = DRM_XE_GEM_CREATE_FLAG_SCANOUT;
    let create =
        drm_xe_gem_create { size: SIZE, placement: BOTH, flags, cpu_caching: 2, ..Default::default() };
    let handle = kms.ok(DRM_IOCTL_XE_GEM_CREATE, create).handle;
    let args = drm_xe_gem_mmap_offset { handle, ..Default::default() };
    let offset = kms.ok(DRM_IOCTL_XE_GEM_MMAP_OFFSET, args).offset;
    let address = kms.process.mmap(SIZE, Pages::ReadWrite, kms.files[0], offset).unwrap();
    let framebuffer = drm_mode_fb_cmd2 {
        width: 64,
        height: 16,
        pixel_format: DRM_FORMAT_XRGB8888,
        handles: [handle, 0, 0, 0],
        pitches: [256, 0, 0, 0],
        ..Default::default()
    };
    let id = kms.ok(DRM_IOCTL_MODE_ADDFB2, framebuffer).fb_id;
    // Another object takes its place, so that the CPU maps it write-back.
    let other = drm_xe_gem_create { placement: LOCAL, flags: 0, ..create };
    kms.ok(DRM_IOCTL_XE_GEM_CREATE, other);
    let is_local = |kms: &Kms| kms.process.views(address).unwrap().evicts;
    assert!(!is_local(&kms));
    kms.process.store(address, &[7; 4096]).unwrap();
    let args = kms.mode_set(id, SMALL);
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    assert!(is_local(&kms));
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 7)])), "the display sees no cache");
    kms.fails(DRM_IOCTL_XE_GEM_CREATE, other, Errno::ENOMEM);
    kms.ok(DRM_IOCTL_MODE_RMFB, id);
    kms.ok(DRM_IOCTL_XE_GEM_CREATE, other);
    assert!(!is_local(&kms), "off the screen, it makes room");
}
