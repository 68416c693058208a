//! A program in another process: its mapping of an object, and a client that flushes lines in the object's files.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};

use gem_coherency::backend::Drm as _;
use gem_coherency::cacheops::LineOp;
use gem_coherency::vocabulary::{Handle, MocsClass};
use gem_coherency_sim::{Pages, Place, SimDevice, Views};
use gem_coherency_uapi::i915::*;

use crate::requests::caller::Caller;

/// A process with an object, and its mapping's address.
pub struct Mapped {
    pub caller: Caller,
    pub handle: Handle,
    pub address: u64,
    size: u64,
}

impl Mapped {
    /// An object of `size` bytes that was never flushed.
    #[track_caller]
    pub fn new(platform: &str, mode: u64, size: u64) -> Self {
        let mut caller = Caller::new(platform);
        let create = drm_i915_gem_create { size, ..Default::default() };
        let handle = caller.on(0, DRM_IOCTL_I915_GEM_CREATE, create).1.handle;
        let mut mapped = Self { caller, handle: Handle::new(handle).unwrap(), address: 0, size };
        mapped.address = mapped.map(mode);
        mapped
    }

    /// An object of two pages that are zeroes in memory.
    #[track_caller]
    pub fn flushed(platform: &str, mode: u64) -> Self {
        let mapped = Self::new(platform, mode, 8192);
        mapped.maintain(LineOp::Flush);
        mapped
    }

    /// An object of a page with a PAT index, on a device for programs.
    #[track_caller]
    pub fn with_pat(name: &str, pat: u32, mode: u64) -> Self {
        let caller = Caller::on_device(&SimDevice::open_for_programs(&format!("sim:{name}")).unwrap());
        let device = caller.process.device(caller.fds[0]).unwrap();
        let handle = device.create_with_pat(4096, pat).unwrap().handle;
        let mut mapped = Self { caller, handle, address: 0, size: 4096 };
        mapped.address = mapped.map(mode);
        mapped
    }

    /// Maps the object once more.
    #[track_caller]
    pub fn map(&mut self, mode: u64) -> u64 {
        self.map_handle(self.handle.get(), mode, self.size)
    }

    /// Creates another object of `size` bytes and maps it WB.
    #[track_caller]
    pub fn object(&mut self, size: u64) -> u64 {
        let create = drm_i915_gem_create { size, ..Default::default() };
        let handle = self.caller.on(0, DRM_IOCTL_I915_GEM_CREATE, create).1.handle;
        self.map_handle(handle, I915_MMAP_OFFSET_WB, size)
    }

    #[track_caller]
    fn map_handle(&mut self, handle: u32, flags: u64, size: u64) -> u64 {
        let request = drm_i915_gem_mmap_offset { handle, flags, ..Default::default() };
        let (errno, answer) = self.caller.on(0, DRM_IOCTL_I915_GEM_MMAP_OFFSET, request);
        assert_eq!(errno, None);
        self.caller.process.mmap(size, Pages::ReadWrite, self.caller.fds[0], answer.offset).unwrap()
    }

    /// The file that another process maps in place of the mapping at `address`, and the offset in it.
    #[track_caller]
    pub fn shown(&self, address: u64) -> (File, u64) {
        let views = self.caller.process.views(address).unwrap();
        let file = match views.shows {
            Place::Cache => views.cached,
            Place::Memory => views.memory,
        };
        (file.into(), views.offset)
    }

    pub fn soft(&self) -> &SimDevice {
        self.caller.process.device(self.caller.fds[0]).unwrap()
    }

    pub fn maintain(&self, op: LineOp) {
        self.caller.process.maintain(self.address, self.size, op).unwrap();
    }

    pub fn gpu_reads(&self, mocs: MocsClass, offset: u64) -> [u8; 4] {
        let mut bytes = [0; 4];
        self.soft().gpu_read(self.handle, mocs, offset, &mut bytes).unwrap();
        bytes
    }

    pub fn display_reads(&self, offset: u64) -> [u8; 4] {
        let mut bytes = [0; 4];
        self.soft().display_read(self.handle, offset, &mut bytes).unwrap();
        bytes
    }

    pub fn gpu_writes(&self, offset: u64, bytes: &[u8]) {
        self.soft().gpu_write(self.handle, MocsClass::PageTable, offset, bytes).unwrap();
    }
}

/// The files of an object.
pub struct Client {
    pub cached: File,
    pub memory: File,
    pub filled: File,
}

impl Client {
    pub fn new(views: Views) -> Self {
        Self { cached: views.cached.into(), memory: views.memory.into(), filled: views.filled.into() }
    }

    /// Returns which files the views are.
    pub fn inodes(views: Views) -> [u64; 3] {
        let client = Self::new(views);
        [client.cached, client.memory, client.filled].map(|file| file.metadata().unwrap().ino())
    }

    /// Flushes lines, or writes them back, as the protocol says.
    pub fn maintain(&self, lines: Range<u64>, op: LineOp) {
        let line = |file: &File, at| {
            let mut bytes = [0; 64];
            file.read_exact_at(&mut bytes, at).unwrap();
            bytes
        };
        for at in lines.map(|line| line * 64) {
            let (cached, filled) = (line(&self.cached, at), line(&self.filled, at));
            if cached != filled {
                self.memory.write_all_at(&cached, at).unwrap();
                self.filled.write_all_at(&cached, at).unwrap();
            } else if op != LineOp::WriteBack {
                let memory = line(&self.memory, at);
                for (byte, (new, _)) in
                    (at..).zip(memory.iter().zip(&filled)).filter(|(_, (new, old))| new != old)
                {
                    self.cached.write_all_at(&[*new], byte).unwrap();
                }
                self.filled.write_all_at(&memory, at).unwrap();
            }
        }
    }

    /// Returns the bytes of every file.
    pub fn bytes(&self, size: usize) -> [Vec<u8>; 3] {
        [&self.cached, &self.memory, &self.filled].map(|file| {
            let mut bytes = vec![0; size];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        })
    }
}

pub fn load(file: &File, offset: u64) -> [u8; 4] {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, offset).unwrap();
    bytes
}
