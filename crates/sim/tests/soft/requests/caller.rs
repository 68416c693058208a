//! A process that asks with numbers.

use bytemuck::{Pod, bytes_of, try_pod_read_unaligned};
use gem_coherency::Errno;
use gem_coherency_sim::{Minor, Pages, Process, SimDevice};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::drm::*;
use gem_coherency_uapi::i915::*;
use gem_coherency_uapi::i915_context::*;
use gem_coherency_uapi::i915_facts::*;

/// Addresses of a struct, of the data that it points to, of a page that can only be read, and of a hole.
pub const ARGS: u64 = 0x1_0000;
pub const LIST: u64 = ARGS + 0x1000;
pub const READ_ONLY: u64 = ARGS + 0x2000;
pub const HOLE: u64 = ARGS + 0x3000;

/// A process with two files of the primary node, of which the first is the master's, and one of the
/// render node.
pub struct Caller {
    pub process: Process,
    pub fds: [i32; 3],
}

impl Caller {
    #[track_caller]
    pub fn new(name: &str) -> Self {
        Self::on_device(&SimDevice::open(&format!("sim:{name}")).unwrap())
    }

    pub fn on_device(device: &SimDevice) -> Self {
        let mut process = Process::default();
        let fds = [Minor::Primary, Minor::Primary, Minor::Render].map(|minor| process.open(device, minor));
        process.allocate(ARGS, 0x2000, Pages::ReadWrite).unwrap();
        process.allocate(READ_ONLY, 0x1000, Pages::ReadOnly).unwrap();
        Self { process, fds }
    }

    pub fn on<T: Pod>(&mut self, file: usize, request: Ioctl<T>, mut args: T) -> (Option<Errno>, T) {
        self.process.store(ARGS, bytes_of(&args)).unwrap();
        let done = self.process.ioctl(self.fds[file], request.code, ARGS);
        let mut bytes = vec![0; size_of::<T>()];
        self.process.load(ARGS, &mut bytes).unwrap();
        if let Ok(back) = try_pod_read_unaligned(&bytes) {
            args = back;
        }
        (done.err(), args)
    }

    pub fn put(&mut self, at: u64, value: &impl Pod) -> u64 {
        self.process.store(at, bytes_of(value)).unwrap();
        at
    }

    pub fn create(&mut self, file: usize) -> u32 {
        let create = drm_i915_gem_create { size: 4096, ..Default::default() };
        let (errno, create) = self.on(file, DRM_IOCTL_I915_GEM_CREATE, create);
        assert_eq!(errno, None);
        create.handle
    }

    pub fn param(&mut self, param: i32) -> Result<i32, Errno> {
        let args = drm_i915_getparam { param, value: LIST, ..Default::default() };
        let mut value = [0; 4];
        match self.on(2, DRM_IOCTL_I915_GETPARAM, args).0 {
            Some(errno) => Err(errno),
            None => {
                self.process.load(LIST, &mut value).unwrap();
                Ok(i32::from_le_bytes(value))
            }
        }
    }

    pub fn flink(&mut self, file: usize, handle: u32) -> (Option<Errno>, u32) {
        let (errno, args) = self.on(file, DRM_IOCTL_GEM_FLINK, drm_gem_flink { handle, name: 0 });
        (errno, args.name)
    }

    pub fn open(&mut self, file: usize, name: u32) -> (Option<Errno>, drm_gem_open) {
        self.on(file, DRM_IOCTL_GEM_OPEN, drm_gem_open { name, ..Default::default() })
    }

    pub fn context_param(&mut self, ctx_id: u32, param: u64) -> (Option<Errno>, u64) {
        let args = drm_i915_gem_context_param { ctx_id, param, ..Default::default() };
        let (errno, args) = self.on(2, DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM, args);
        (errno, args.value)
    }

    pub fn set_context_param(&mut self, ctx_id: u32, size: u32, param: u64, value: u64) -> Option<Errno> {
        let args = drm_i915_gem_context_param { ctx_id, size, param, value };
        self.on(2, DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM, args).0
    }

    pub fn new_context(&mut self) -> u32 {
        let args = drm_i915_gem_context_create::default();
        let (errno, args) = self.on(2, DRM_IOCTL_I915_GEM_CONTEXT_CREATE, args);
        assert_eq!(errno, None);
        args.ctx_id
    }
}
