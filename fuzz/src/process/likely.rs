//! Calls that will probably succeed, with what earlier calls gave back. From a fuzzer's bytes alone a
//! submission, say, hardly ever comes together: its struct, its list and its handles must all be right.

use bytemuck::{Pod, bytes_of, cast_slice, try_pod_read_unaligned};
use gem_coherency_sim::Pages;
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::dma_buf::*;
use gem_coherency_uapi::drm::*;
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_CREATE_DUMB, drm_mode_create_dumb};
use gem_coherency_uapi::i915::*;
use gem_coherency_uapi::i915_context::*;
use gem_coherency_uapi::i915_exec::*;

use crate::input::Input;
use crate::process::arena::{ARGS, DATA, LARGE, LISTS, LISTS_LEN};
use crate::process::batches::some_commands;
use crate::process::world::{MOST_FILES, Owned, World};

const PAGE: u64 = 4096;
/// The device's file that is open from the start.
pub(super) const DEVICE: i32 = 0;
/// Objects that are remembered.
const MOST_OWNED: usize = 8;
/// Contexts, and dma-bufs, that are remembered.
const MOST_OTHERS: usize = 4;
/// The parts of the process's own memory that userptr objects take.
const USER_PAGES: &[(u64, u64)] =
    &[(LARGE, PAGE), (LARGE, 4 * PAGE), (LARGE + PAGE, 2 * PAGE), (LARGE + 8 * PAGE, PAGE), (DATA, PAGE)];

impl World {
    /// Does something with an object, or makes one.
    pub(crate) fn likely(&mut self, input: &mut Input<'_>) {
        let pick = usize::from(input.byte());
        let len = self.left.objects.len();
        let Some(&object) = self.left.objects.get(pick.checked_rem(len).unwrap_or(0)) else {
            return self.make(input);
        };
        match input.byte() % 32 {
            0..4 => self.make(input),
            4..7 => self.map_likely(input, object),
            7..12 => self.submit(input),
            12 | 13 => self.share(input, object),
            14 => self.import(input),
            15 | 16 => self.use_contexts(input),
            17..20 => self.transfer(input, object),
            20..22 => {
                let domain = input.of(&[I915_GEM_DOMAIN_CPU, I915_GEM_DOMAIN_GTT, I915_GEM_DOMAIN_WC]);
                let write_domain = if input.one_in(2) { domain } else { 0 };
                let args =
                    drm_i915_gem_set_domain { handle: object.handle, read_domains: domain, write_domain };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_SET_DOMAIN, args);
            }
            22 | 23 => {
                let caching = input.of(&[I915_CACHING_NONE, I915_CACHING_CACHED, I915_CACHING_DISPLAY]);
                let args = drm_i915_gem_caching { handle: object.handle, caching };
                match input.one_in(4) {
                    true => self.ask(DEVICE, DRM_IOCTL_I915_GEM_GET_CACHING, args),
                    false => self.ask(DEVICE, DRM_IOCTL_I915_GEM_SET_CACHING, args),
                };
            }
            24 => {
                let madv = input.of(&[I915_MADV_DONTNEED, I915_MADV_WILLNEED]);
                let args = drm_i915_gem_madvise { handle: object.handle, madv, retained: 0 };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_MADVISE, args);
            }
            25 => {
                let timeout_ns = input.of(&[0, 1000, -1]);
                let args = drm_i915_gem_wait { bo_handle: object.handle, flags: 0, timeout_ns };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_WAIT, args);
                let args = drm_i915_gem_busy { handle: object.handle, busy: 0 };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_BUSY, args);
            }
            26 => self.tile(input, object),
            27 => {
                let args = drm_gem_flink { handle: object.handle, name: 0 };
                let Some(named) = self.ask(DEVICE, DRM_IOCTL_GEM_FLINK, args) else { return };
                let args = drm_gem_open { name: named.name, ..Default::default() };
                if let Some(opened) = self.ask(DEVICE, DRM_IOCTL_GEM_OPEN, args) {
                    self.keep(opened.handle, opened.size);
                }
            }
            28 => {
                let args = drm_i915_gem_sw_finish { handle: object.handle };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_SW_FINISH, args);
            }
            _ => {
                self.left.objects.retain(|one| one.handle != object.handle);
                let args = drm_gem_close { handle: object.handle, pad: 0 };
                self.ask(DEVICE, DRM_IOCTL_GEM_CLOSE, args);
            }
        }
    }

    /// A request with its struct; the struct as it comes back if the request succeeds.
    pub(super) fn ask<T>(&mut self, fd: i32, request: Ioctl<T>, args: T) -> Option<T>
    where
        T: Pod,
    {
        self.send(fd, request.name, request.code, ARGS, bytes_of(&args)).ok()?;
        let mut bytes = vec![0; size_of::<T>()];
        self.process.load(ARGS, &mut bytes).ok()?;
        try_pod_read_unaligned(&bytes).ok()
    }

    /// Remembers an object.
    pub(crate) fn keep(&mut self, handle: u32, size: u64) {
        if self.left.objects.len() == MOST_OWNED {
            self.left.objects.remove(0);
        }
        self.left.objects.push(Owned { handle, size });
    }

    /// Puts what a struct points to somewhere; returns the address.
    pub(super) fn put(&mut self, bytes: &[u8]) -> u64 {
        let len = (bytes.len() as u64).next_multiple_of(64);
        if self.next_slot % LISTS_LEN + len > LISTS_LEN {
            self.next_slot = 0;
        }
        let address = LISTS + self.next_slot % LISTS_LEN;
        self.next_slot += len;
        let _ = self.process.store(address, bytes);
        address
    }

    fn make(&mut self, input: &mut Input<'_>) {
        let size = input.of(&[PAGE, 2 * PAGE, 16 * PAGE, 3 * PAGE]);
        let made = match input.byte() % 8 {
            0..4 => {
                let args = drm_i915_gem_create { size, ..Default::default() };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_CREATE, args).map(|made| (made.handle, made.size))
            }
            4 => {
                let args = drm_i915_gem_create_ext { size, ..Default::default() };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_CREATE_EXT, args).map(|made| (made.handle, made.size))
            }
            5 => {
                let args = drm_mode_create_dumb { height: 16, width: 64, bpp: 32, ..Default::default() };
                self.ask(DEVICE, DRM_IOCTL_MODE_CREATE_DUMB, args).map(|made| (made.handle, made.size))
            }
            _ => {
                let (user_ptr, user_size) = input.of(USER_PAGES);
                let flags = input.of(&[0, 0, I915_USERPTR_PROBE, I915_USERPTR_READ_ONLY]);
                let args = drm_i915_gem_userptr { user_ptr, user_size, flags, handle: 0 };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_USERPTR, args).map(|made| (made.handle, user_size))
            }
        };
        if let Some((handle, size)) = made {
            self.keep(handle, size);
        }
    }

    /// Maps an object, and touches it.
    fn map_likely(&mut self, input: &mut Input<'_>, object: Owned) {
        let handle = object.handle;
        let flags = input.of(&[
            I915_MMAP_OFFSET_WB,
            I915_MMAP_OFFSET_WC,
            I915_MMAP_OFFSET_GTT,
            I915_MMAP_OFFSET_UC,
            I915_MMAP_OFFSET_FIXED,
        ]);
        let address = match input.byte() % 4 {
            0 => {
                let args = drm_i915_gem_mmap { handle, size: object.size, ..Default::default() };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_MMAP, args).map(|mapped| mapped.addr_ptr)
            }
            _ => {
                let mut offset = None;
                // Discrete devices take only the second mode.
                for flags in [flags, I915_MMAP_OFFSET_FIXED] {
                    let args = drm_i915_gem_mmap_offset { handle, flags, ..Default::default() };
                    offset = self.ask(DEVICE, DRM_IOCTL_I915_GEM_MMAP_OFFSET, args);
                    if offset.is_some() {
                        break;
                    }
                }
                offset.and_then(|at| self.mmap(object.size, Pages::ReadWrite, DEVICE, at.offset))
            }
        };
        if let Some(address) = address {
            self.touch(input, address);
        }
    }

    fn touch(&mut self, input: &mut Input<'_>, address: u64) {
        let mut bytes = [input.byte(); 100];
        let _ = self.process.store(address + 60, &bytes);
        let _ = self.process.load(address + 30, &mut bytes);
    }

    /// Submits some objects, the last one as the batch.
    fn submit(&mut self, input: &mut Input<'_>) {
        let owned = self.left.objects.len();
        let count = 1 + usize::from(input.byte()) % owned.min(3);
        let first = usize::from(input.byte());
        let mut list: Vec<_> = (0..count)
            .map(|index| drm_i915_gem_exec_object2 {
                handle: self.left.objects[(first + index) % owned].handle,
                flags: input.of(&[0, EXEC_OBJECT_WRITE, EXEC_OBJECT_SUPPORTS_48B_ADDRESS, EXEC_OBJECT_ASYNC]),
                ..Default::default()
            })
            .collect();
        let target = list[0].handle;
        let batch = &mut list[count - 1];
        batch.flags &= !EXEC_OBJECT_WRITE;
        let handle = batch.handle;
        if input.one_in(2) {
            // The device refuses them where its generation does.
            let write_domain = input.of(&[0, I915_GEM_DOMAIN_RENDER]);
            let relocation = drm_i915_gem_relocation_entry {
                target_handle: target,
                offset: 64 * u64::from(input.byte() % 8),
                presumed_offset: u64::MAX,
                read_domains: I915_GEM_DOMAIN_RENDER,
                write_domain,
                ..Default::default()
            };
            let relocs_ptr = self.put(bytes_of(&relocation));
            let relocated = input.byte();
            let entry = &mut list[usize::from(relocated) % count];
            (entry.relocation_count, entry.relocs_ptr) = (1, relocs_ptr);
        }
        if !input.one_in(4) {
            let commands = some_commands(input);
            let _ = self.process.store(DATA, cast_slice(&commands));
            let size = size_of_val(commands.as_slice()) as u64;
            let args = drm_i915_gem_pwrite { handle, size, data_ptr: DATA, ..Default::default() };
            self.ask(DEVICE, DRM_IOCTL_I915_GEM_PWRITE, args);
        }
        let context = match input.one_in(4) {
            true => self.left.contexts.last().copied().unwrap_or(0),
            false => 0,
        };
        let engine = input.of(&[I915_EXEC_RENDER, I915_EXEC_DEFAULT, I915_EXEC_BLT, I915_EXEC_BSD]);
        let more = input.of(&[0, 0, I915_EXEC_NO_RELOC, I915_EXEC_FENCE_OUT]);
        let args = drm_i915_gem_execbuffer2 {
            buffers_ptr: self.put(cast_slice(list.as_slice())),
            buffer_count: count as u32,
            batch_len: input.of(&[0, 0, 8]),
            flags: engine | more,
            rsvd1: context.into(),
            ..Default::default()
        };
        match input.one_in(2) {
            true => self.ask(DEVICE, DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args),
            false => self.ask(DEVICE, DRM_IOCTL_I915_GEM_EXECBUFFER2, args),
        };
    }

    /// Makes a dma-buf of an object, and uses it.
    fn share(&mut self, input: &mut Input<'_>, object: Owned) {
        if self.opened == MOST_FILES {
            return;
        }
        self.opened += 1;
        let flags = DRM_CLOEXEC | if input.one_in(8) { 0 } else { DRM_RDWR };
        let args = drm_prime_handle { handle: object.handle, flags, fd: -1 };
        let Some(shared) = self.ask(DEVICE, DRM_IOCTL_PRIME_HANDLE_TO_FD, args) else { return };
        self.keep_dma_buf(shared.fd);
        if input.one_in(2)
            && let Some(address) = self.mmap(object.size, Pages::ReadWrite, shared.fd, 0)
        {
            let direction = input.of(&[DMA_BUF_SYNC_READ, DMA_BUF_SYNC_WRITE, DMA_BUF_SYNC_RW]);
            for end in [DMA_BUF_SYNC_START, DMA_BUF_SYNC_END] {
                self.ask(shared.fd, DMA_BUF_IOCTL_SYNC, dma_buf_sync { flags: direction | end });
                self.touch(input, address);
            }
        }
    }

    /// Remembers a dma-buf.
    pub(crate) fn keep_dma_buf(&mut self, fd: i32) {
        if self.left.dma_bufs.len() == MOST_OTHERS {
            self.left.dma_bufs.remove(0);
        }
        self.left.dma_bufs.push(fd);
    }

    /// Imports a dma-buf: the file's own, another device's, or ordinary memory.
    fn import(&mut self, input: &mut Input<'_>) {
        let Some(&fd) = self.left.dma_bufs.get(usize::from(input.byte()) % self.left.dma_bufs.len().max(1))
        else {
            return self.receive(input);
        };
        // A file of the second device, if there is one.
        let device = i32::from(input.byte() % 4 == 0);
        let args = drm_prime_handle { fd, ..Default::default() };
        let Some(imported) = self.ask(device, DRM_IOCTL_PRIME_FD_TO_HANDLE, args) else { return };
        if device == DEVICE
            && let Ok(size) = self.process.lseek(fd, 0, 2)
        {
            self.keep(imported.handle, size);
        }
    }

    fn use_contexts(&mut self, input: &mut Input<'_>) {
        let Some(&ctx_id) = self.left.contexts.last().filter(|_| !input.one_in(4)) else {
            if self.left.contexts.len() < MOST_OTHERS
                && let Some(made) = self.ask(
                    DEVICE,
                    DRM_IOCTL_I915_GEM_CONTEXT_CREATE,
                    drm_i915_gem_context_create::default(),
                )
            {
                self.left.contexts.push(made.ctx_id);
            }
            return;
        };
        let (param, value) = input.of(&[
            (I915_CONTEXT_PARAM_PRIORITY, 0),
            (I915_CONTEXT_PARAM_RECOVERABLE, 0),
            (I915_CONTEXT_PARAM_BANNABLE, 1),
            (I915_CONTEXT_PARAM_PERSISTENCE, 1),
            (I915_CONTEXT_PARAM_NO_ERROR_CAPTURE, 1),
            (I915_CONTEXT_PARAM_GTT_SIZE, 0),
            (I915_CONTEXT_PARAM_VM, 0),
        ]);
        let args = drm_i915_gem_context_param { ctx_id, size: 0, param, value };
        match input.byte() % 4 {
            0 => drop(self.ask(DEVICE, DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM, args)),
            1 | 2 => drop(self.ask(DEVICE, DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM, args)),
            _ => {
                self.left.contexts.pop();
                let args = drm_i915_gem_context_destroy { ctx_id, pad: 0 };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_CONTEXT_DESTROY, args);
            }
        }
    }

    fn transfer(&mut self, input: &mut Input<'_>, object: Owned) {
        let handle = object.handle;
        let offset = u64::from(input.short()) % object.size.max(1);
        let size = u64::min(input.of(&[1, 64, 100, PAGE, 2 * PAGE]), object.size - offset);
        let data_ptr = input.of(&[DATA, DATA + 60, LARGE]);
        match input.one_in(2) {
            true => {
                let args = drm_i915_gem_pread { handle, pad: 0, offset, size, data_ptr };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_PREAD, args);
            }
            false => {
                let args = drm_i915_gem_pwrite { handle, pad: 0, offset, size, data_ptr };
                self.ask(DEVICE, DRM_IOCTL_I915_GEM_PWRITE, args);
            }
        }
    }

    fn tile(&mut self, input: &mut Input<'_>, object: Owned) {
        let handle = object.handle;
        let (tiling_mode, stride) =
            input.of(&[(I915_TILING_X, 512), (I915_TILING_Y, 128), (I915_TILING_NONE, 0)]);
        let args = drm_i915_gem_set_tiling { handle, tiling_mode, stride, swizzle_mode: 0 };
        self.ask(DEVICE, DRM_IOCTL_I915_GEM_SET_TILING, args);
        let args = drm_i915_gem_get_tiling { handle, ..Default::default() };
        self.ask(DEVICE, DRM_IOCTL_I915_GEM_GET_TILING, args);
    }
}
