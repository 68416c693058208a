//! A GPU that can be busy (`gpu=timed`): batches that wait for memory, requests that wait for them, and fences.

mod attempts;
mod fences;
mod limits;
mod order;
mod spinners;
mod sync_files;
mod threads;

use std::time::Instant;

use bytemuck::{Pod, bytes_of, bytes_of_mut};
use gem_coherency::Errno;
use gem_coherency_sim::{Attempt, Minor, Pages, Process, SimDevice};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::drm::*;
use gem_coherency_uapi::drm_syncobj::*;
use gem_coherency_uapi::i915::*;
use gem_coherency_uapi::i915_context::*;
use gem_coherency_uapi::i915_exec::*;

/// Addresses in the process: of a request's struct, of lists, and of the entries of an array.
const ARGS: u64 = 0x1_0000;
const LIST: u64 = ARGS + 0x1000;
const ENTRIES: u64 = ARGS + 0x2000;
/// Bytes of the process's own memory.
const OWN: u64 = 0x3000;
/// MI_BATCH_BUFFER_END.
const END: u32 = 0x0500_0000;
/// MI_ARB_CHECK.
const CHECK: u32 = 0x0280_0000;

/// A process with a file of a device.
struct Program {
    process: Process,
    fd: i32,
}

/// An object, and its address in the process: WC, or WB.
#[derive(Clone, Copy)]
struct Buffer {
    handle: u32,
    at: u64,
}

impl Buffer {
    /// Returns the object's address for the GPU.
    fn gpu(self) -> u32 {
        self.handle * 0x10_0000
    }
}

impl Program {
    #[track_caller]
    fn new(name: &str) -> Self {
        Self::of(&SimDevice::open(&format!("sim:{name}")).unwrap())
    }

    fn of(device: &SimDevice) -> Self {
        let mut process = Process::default();
        let fd = process.open(device, Minor::Render);
        process.allocate(ARGS, OWN, Pages::ReadWrite).unwrap();
        Self { process, fd }
    }

    fn device(&self) -> &SimDevice {
        self.process.device(self.fd).unwrap()
    }

    fn put(&mut self, at: u64, value: &impl Pod) -> u64 {
        self.process.store(at, bytes_of(value)).unwrap();
        at
    }

    fn get<T: Pod>(&self, at: u64) -> T {
        let mut value = T::zeroed();
        self.process.load(at, bytes_of_mut(&mut value)).unwrap();
        value
    }

    /// The process's own memory.
    fn own(&self) -> Vec<u8> {
        let mut own = vec![0; OWN as usize];
        self.process.load(ARGS, &mut own).unwrap();
        own
    }

    /// Makes a request that must not wait.
    #[track_caller]
    fn on<T: Pod>(&mut self, fd: i32, request: Ioctl<T>, args: T) -> Result<T, Errno> {
        let attempt = self.attempt(fd, request, args, Instant::now())?;
        Ok(attempt.expect("does not wait"))
    }

    #[track_caller]
    fn request<T: Pod>(&mut self, request: Ioctl<T>, args: T) -> Result<T, Errno> {
        self.on(self.fd, request, args)
    }

    /// Attempts a request; `None` if it waits, in which case it left the process's memory alone.
    #[track_caller]
    fn attempt<T: Pod>(
        &mut self,
        fd: i32,
        request: Ioctl<T>,
        args: T,
        since: Instant,
    ) -> Result<Option<T>, Errno> {
        self.put(ARGS, &args);
        let before = self.own();
        match self.process.attempt(fd, request.code, ARGS, since)? {
            Attempt::Done(_) => Ok(Some(self.get(ARGS))),
            Attempt::Waits(_) => {
                assert_eq!(self.own(), before, "{} wrote while it waits", request.name);
                Ok(None)
            }
        }
    }

    #[track_caller]
    fn waits<T: Pod>(&mut self, request: Ioctl<T>, args: T) -> bool {
        self.attempt(self.fd, request, args, Instant::now()).unwrap().is_none()
    }

    /// Creates an object that is mapped in this mode (`I915_MMAP_OFFSET_*`).
    #[track_caller]
    fn buffer(&mut self, mode: u64) -> Buffer {
        let create = drm_i915_gem_create { size: 4096, ..Default::default() };
        let handle = self.request(DRM_IOCTL_I915_GEM_CREATE, create).unwrap().handle;
        let at = self.map(self.fd, handle, mode);
        Buffer { handle, at }
    }

    #[track_caller]
    fn map(&mut self, fd: i32, handle: u32, flags: u64) -> u64 {
        let args = drm_i915_gem_mmap_offset { handle, flags, ..Default::default() };
        let offset = self.on(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, args).unwrap().offset;
        self.process.mmap(4096, Pages::ReadWrite, fd, offset).unwrap()
    }

    /// Creates a batch that jumps to itself, of graphics 8 and later.
    #[track_caller]
    fn spinner(&mut self) -> Buffer {
        let buffer = self.buffer(I915_MMAP_OFFSET_WC);
        self.put(buffer.at, &[CHECK, 0x1880_0101, buffer.gpu(), 0]);
        buffer
    }

    /// Ends a spinner.
    fn end(&mut self, spinner: Buffer) {
        self.put(spinner.at, &END);
    }

    /// Creates a batch that stores 7 at the start of `target`.
    #[track_caller]
    fn store(&mut self, target: Buffer) -> Buffer {
        let buffer = self.buffer(I915_MMAP_OFFSET_WC);
        self.put(buffer.at, &[0x1000_0002, target.gpu(), 0, 7, END, 0]);
        buffer
    }

    /// Submits objects with flags, of which the last one is the batch.
    fn submit(
        &mut self,
        objects: &[(Buffer, u64)],
        mut args: drm_i915_gem_execbuffer2,
    ) -> Result<drm_i915_gem_execbuffer2, Errno> {
        for (at, (object, flags)) in (LIST..).step_by(size_of::<drm_i915_gem_exec_object2>()).zip(objects) {
            let (handle, offset, flags) = (object.handle, object.gpu().into(), flags | EXEC_OBJECT_PINNED);
            self.put(at, &drm_i915_gem_exec_object2 { handle, offset, flags, ..Default::default() });
        }
        (args.buffers_ptr, args.buffer_count) = (LIST, objects.len() as u32);
        self.request(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args)
    }

    /// Submits a batch to an engine of a context.
    #[track_caller]
    fn run(&mut self, batch: Buffer, flags: u64, context: u32) -> drm_i915_gem_execbuffer2 {
        let args = drm_i915_gem_execbuffer2 { flags, rsvd1: context.into(), ..Default::default() };
        self.submit(&[(batch, 0)], args).unwrap()
    }

    /// Submits a batch to an engine, and returns its fence.
    #[track_caller]
    fn run_with_fence(&mut self, batch: Buffer, flags: u64) -> i32 {
        (self.run(batch, flags | I915_EXEC_FENCE_OUT, 0).rsvd2 >> 32) as i32
    }

    #[track_caller]
    fn busy(&mut self, object: Buffer) -> u32 {
        let args = drm_i915_gem_busy { handle: object.handle, busy: 0 };
        self.request(DRM_IOCTL_I915_GEM_BUSY, args).unwrap().busy
    }

    /// GEM_WAIT with a timeout, in one attempt that began `since`; returns the remaining time, or nothing if it
    /// waits.
    #[track_caller]
    fn wait(&mut self, object: Buffer, timeout_ns: i64, since: Instant) -> Result<Option<i64>, Errno> {
        let args = drm_i915_gem_wait { bo_handle: object.handle, flags: 0, timeout_ns };
        let args = self.attempt(self.fd, DRM_IOCTL_I915_GEM_WAIT, args, since)?;
        Ok(args.map(|args| args.timeout_ns))
    }

    #[track_caller]
    fn word(&self, object: Buffer) -> u32 {
        self.get(object.at)
    }

    #[track_caller]
    fn context(&mut self) -> u32 {
        let args = drm_i915_gem_context_create_ext::default();
        self.request(DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, args).unwrap().ctx_id
    }

    #[track_caller]
    fn syncobj(&mut self) -> u32 {
        self.request(DRM_IOCTL_SYNCOBJ_CREATE, drm_syncobj_create::default()).unwrap().handle
    }
}
