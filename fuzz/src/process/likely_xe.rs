//! Calls on a device of xe that will probably succeed, with what earlier calls gave back.

use bytemuck::{bytes_of, cast_slice};
use gem_coherency_sim::Pages;
use gem_coherency_uapi::drm::{
    DRM_CLOEXEC, DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_PRIME_FD_TO_HANDLE, DRM_IOCTL_PRIME_HANDLE_TO_FD, DRM_RDWR,
    drm_gem_close, drm_prime_handle,
};
use gem_coherency_uapi::xe::*;

use crate::input::Input;
use crate::process::arena::{DATA, LARGE};
use crate::process::batches::some_commands;
use crate::process::likely::DEVICE;
use crate::process::world::{MOST_FILES, World};

const PAGE: u64 = 4096;
/// VMs and queues that are remembered.
const MOST: usize = 4;
/// Where the calls bind: the addresses of the batches' operands are among them.
const PLACES: &[u64] = &[0, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 1 << 40, (1 << 47) - 0x1_0000];

/// What calls on a device of xe made.
#[derive(Debug, Default)]
pub(crate) struct LeftOfXe {
    vms: Vec<u32>,
    queues: Vec<u32>,
}

fn keep(ids: &mut Vec<u32>, id: u32) {
    if ids.len() == MOST {
        ids.remove(0);
    }
    ids.push(id);
}

impl World {
    /// Does something with a VM, an object or a queue, or makes them.
    pub(crate) fn likely_of_xe(&mut self, input: &mut Input<'_>) {
        let pick = usize::from(input.byte());
        let one = |ids: &[u32]| ids.get(pick.checked_rem(ids.len()).unwrap_or(0)).copied();
        let object = self.left.objects.get(pick % self.left.objects.len().max(1)).copied();
        let (Some(vm), Some(object)) = (one(&self.left_of_xe.vms), object) else {
            return self.make_of_xe(input);
        };
        let Some(queue) = one(&self.left_of_xe.queues) else { return self.queue_of_xe(input, vm) };
        match input.byte() % 24 {
            0..3 => self.make_of_xe(input),
            3..9 => self.bind_of_xe(input, vm, object.handle),
            9..14 => self.submit_of_xe(input, queue, object.handle),
            14 | 15 => {
                let kind = input.byte() % 4;
                let value = u32::from(input.byte() % 4);
                let args = drm_xe_madvise {
                    vm_id: vm,
                    start: input.of(PLACES),
                    range: input.of(&[PAGE, 16 * PAGE]),
                    r#type: kind.into(),
                    pat_index: [value, 0, 0, 0],
                    ..Default::default()
                };
                self.ask(DEVICE, DRM_IOCTL_XE_MADVISE, args);
            }
            16 => {
                let args = drm_xe_vm_query_mem_range_attr {
                    vm_id: vm,
                    range: 1 << 47,
                    num_mem_ranges: 8,
                    sizeof_mem_range_attr: 64,
                    vector_of_mem_attr: DATA,
                    ..Default::default()
                };
                self.ask(DEVICE, DRM_IOCTL_XE_VM_QUERY_MEM_RANGE_ATTRS, args);
            }
            17 => {
                let args = drm_xe_wait_user_fence {
                    addr: DATA,
                    op: u16::from(input.byte() % 6),
                    value: u64::from(input.byte()),
                    mask: u64::MAX,
                    timeout: input.of(&[0, 1000]),
                    exec_queue_id: input.of(&[0, queue]),
                    ..Default::default()
                };
                self.ask(DEVICE, DRM_IOCTL_XE_WAIT_USER_FENCE, args);
            }
            18 if self.opened < MOST_FILES => {
                self.opened += 1;
                let args = drm_prime_handle { handle: object.handle, flags: DRM_CLOEXEC | DRM_RDWR, fd: -1 };
                let Some(shared) = self.ask(DEVICE, DRM_IOCTL_PRIME_HANDLE_TO_FD, args) else { return };
                self.keep_dma_buf(shared.fd);
                let args = drm_prime_handle { fd: shared.fd, ..Default::default() };
                self.ask(DEVICE, DRM_IOCTL_PRIME_FD_TO_HANDLE, args);
            }
            19 => self.map_of_xe(input, object.handle, object.size),
            20 => {
                self.left_of_xe.queues.retain(|&id| id != queue);
                let args = drm_xe_exec_queue_destroy { exec_queue_id: queue, ..Default::default() };
                self.ask(DEVICE, DRM_IOCTL_XE_EXEC_QUEUE_DESTROY, args);
            }
            21 => {
                self.left_of_xe.vms.retain(|&id| id != vm);
                let args = drm_xe_vm_destroy { vm_id: vm, ..Default::default() };
                self.ask(DEVICE, DRM_IOCTL_XE_VM_DESTROY, args);
            }
            _ => {
                self.left.objects.retain(|one| one.handle != object.handle);
                self.ask(DEVICE, DRM_IOCTL_GEM_CLOSE, drm_gem_close { handle: object.handle, pad: 0 });
            }
        }
    }

    /// Makes a VM or an object.
    fn make_of_xe(&mut self, input: &mut Input<'_>) {
        if self.left_of_xe.vms.is_empty() || input.one_in(6) {
            let flags = input.of(&[
                DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE,
                0,
                DRM_XE_VM_CREATE_FLAG_LR_MODE,
                DRM_XE_VM_CREATE_FLAG_LR_MODE | DRM_XE_VM_CREATE_FLAG_FAULT_MODE,
            ]);
            let args = drm_xe_vm_create { flags, ..Default::default() };
            if let Some(made) = self.ask(DEVICE, DRM_IOCTL_XE_VM_CREATE, args) {
                keep(&mut self.left_of_xe.vms, made.vm_id);
            }
            return;
        }
        let args = drm_xe_gem_create {
            size: input.of(&[16 * PAGE, PAGE, 32 * PAGE]),
            placement: input.of(&[1, 2, 3]),
            flags: input.of(&[0, 0, 0, 2]),
            vm_id: if input.one_in(3) { self.left_of_xe.vms[0] } else { 0 },
            cpu_caching: input.of(&[DRM_XE_GEM_CPU_CACHING_WB, DRM_XE_GEM_CPU_CACHING_WC]),
            ..Default::default()
        };
        if let Some(made) = self.ask(DEVICE, DRM_IOCTL_XE_GEM_CREATE, args) {
            self.keep(made.handle, args.size);
        }
    }

    fn queue_of_xe(&mut self, input: &mut Input<'_>, vm_id: u32) {
        let engine_class = input.of(&[0, 1, 1, 4, 5]);
        let instances =
            self.put(bytes_of(&drm_xe_engine_class_instance { engine_class, ..Default::default() }));
        let args =
            drm_xe_exec_queue_create { width: 1, num_placements: 1, vm_id, instances, ..Default::default() };
        if let Some(made) = self.ask(DEVICE, DRM_IOCTL_XE_EXEC_QUEUE_CREATE, args) {
            keep(&mut self.left_of_xe.queues, made.exec_queue_id);
        }
    }

    /// Maps an object, the process's own pages or nothing in a VM, or unmaps, prefetches.
    fn bind_of_xe(&mut self, input: &mut Input<'_>, vm_id: u32, handle: u32) {
        let op = input.of(&[
            DRM_XE_VM_BIND_OP_MAP,
            DRM_XE_VM_BIND_OP_MAP,
            DRM_XE_VM_BIND_OP_UNMAP,
            DRM_XE_VM_BIND_OP_MAP_USERPTR,
            DRM_XE_VM_BIND_OP_UNMAP_ALL,
            DRM_XE_VM_BIND_OP_PREFETCH,
        ]);
        let takes_object = matches!(op, DRM_XE_VM_BIND_OP_MAP | DRM_XE_VM_BIND_OP_UNMAP_ALL);
        let bind = drm_xe_vm_bind_op {
            obj: if takes_object { handle } else { 0 },
            obj_offset: if op == DRM_XE_VM_BIND_OP_MAP_USERPTR { LARGE } else { 0 },
            pat_index: u16::from(input.byte() % 6),
            range: if op == DRM_XE_VM_BIND_OP_UNMAP_ALL { 0 } else { input.of(&[16 * PAGE, PAGE, 4 * PAGE]) },
            addr: input.of(PLACES),
            op,
            ..Default::default()
        };
        let sync = drm_xe_sync { r#type: 2, flags: 1, addr: DATA, timeline_value: 7, ..Default::default() };
        let has_sync = input.one_in(4);
        let syncs = if has_sync { self.put(bytes_of(&sync)) } else { 0 };
        let args = drm_xe_vm_bind {
            vm_id,
            num_binds: 1,
            bind,
            num_syncs: has_sync.into(),
            syncs,
            ..Default::default()
        };
        self.ask(DEVICE, DRM_IOCTL_XE_VM_BIND, args);
    }

    /// Maps an object, and touches it; returns the address.
    fn map_of_xe(&mut self, input: &mut Input<'_>, handle: u32, size: u64) {
        let args = drm_xe_gem_mmap_offset { handle, ..Default::default() };
        let Some(at) = self.ask(DEVICE, DRM_IOCTL_XE_GEM_MMAP_OFFSET, args) else { return };
        if let Some(address) = self.mmap(size, Pages::ReadWrite, DEVICE, at.offset) {
            let commands = some_commands(input);
            let _ = self.process.store(address, cast_slice(&commands));
            let _ = self.process.load(address + 30, &mut [0; 100]);
        }
    }

    /// Submits what is bound somewhere, mostly after commands were stored in an object.
    fn submit_of_xe(&mut self, input: &mut Input<'_>, exec_queue_id: u32, handle: u32) {
        if !input.one_in(4) {
            self.map_of_xe(input, handle, PAGE);
        }
        let address = input.of(PLACES);
        let args = drm_xe_exec { exec_queue_id, address, num_batch_buffer: 1, ..Default::default() };
        self.ask(DEVICE, DRM_IOCTL_XE_EXEC, args);
    }
}
