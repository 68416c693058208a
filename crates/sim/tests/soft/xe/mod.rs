//! Devices of xe: a PAT index for each mapping, what the GPU sees by it, and what the kernel refuses.

mod fences;
mod memory;
mod moves;
mod objects;
mod queues;
mod spaces;

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
        Ok(Bo { handle, address: self.map(handle)? })
    }

    /// Maps an object; returns its address.
    fn map(&mut self, handle: u32) -> Result<u64, Errno> {
        let args = drm_xe_gem_mmap_offset { handle, ..Default::default() };
        let (refused, made) = self.caller.on(2, DRM_IOCTL_XE_GEM_MMAP_OFFSET, args);
        let offset = refused.map_or(Ok(made.offset), Err)?;
        self.caller.process.mmap(SIZE, Pages::ReadWrite, self.caller.fds[2], offset)
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
