//! Mappings that another process has: files of an object's bytes, of which the CPU's cache and memory have one each.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use gem_coherency::Errno;
use gem_coherency::cacheops::LineOp;
use gem_coherency::uapi::i915::*;
use gem_coherency::vocabulary::{Handle, MocsClass};
use gem_coherency_sim::Pages;

use super::caller::{ARGS, Caller, HOLE};

/// A process with an object of two pages, and its mapping's address.
struct Mapped {
    caller: Caller,
    handle: Handle,
    address: u64,
}

impl Mapped {
    #[track_caller]
    fn new(platform: &str, mode: u64) -> Self {
        let mut caller = Caller::new(platform);
        let create = drm_i915_gem_create { size: 8192, ..Default::default() };
        let handle = caller.on(0, DRM_IOCTL_I915_GEM_CREATE, create).1.handle;
        let mut mapped = Self { caller, handle: Handle::new(handle).unwrap(), address: 0 };
        mapped.address = mapped.map(mode);
        mapped.maintain(LineOp::Flush);
        mapped
    }

    /// Maps the object once more.
    #[track_caller]
    fn map(&mut self, mode: u64) -> u64 {
        let request =
            drm_i915_gem_mmap_offset { handle: self.handle.get(), flags: mode, ..Default::default() };
        let (errno, answer) = self.caller.on(0, DRM_IOCTL_I915_GEM_MMAP_OFFSET, request);
        assert_eq!(errno, None);
        self.caller.process.mmap(8192, Pages::ReadWrite, self.caller.fds[0], answer.offset).unwrap()
    }

    /// Another process's view of the mapping at `address`.
    #[track_caller]
    fn file(&self, address: u64) -> (File, u64) {
        let (file, offset) = self.caller.process.memory_file(address).unwrap();
        (file.into(), offset)
    }

    fn maintain(&self, op: LineOp) {
        self.caller.process.maintain(self.address, 8192, op).unwrap();
    }

    fn gpu_reads(&self, mocs: MocsClass, offset: u64) -> [u8; 4] {
        let mut bytes = [0; 4];
        let device = self.caller.process.device(self.caller.fds[0]).unwrap();
        device.gpu_read(self.handle, mocs, offset, &mut bytes).unwrap();
        bytes
    }

    fn gpu_writes(&self, offset: u64, bytes: &[u8]) {
        let device = self.caller.process.device(self.caller.fds[0]).unwrap();
        device.gpu_write(self.handle, MocsClass::PageTable, offset, bytes).unwrap();
    }
}

fn load(file: &File, offset: u64) -> [u8; 4] {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, offset).unwrap();
    bytes
}

#[test]
fn a_store_by_another_process_is_in_the_cache_until_it_is_flushed() {
    let mapped = Mapped::new("glk", I915_MMAP_OFFSET_WB);
    let (file, offset) = mapped.file(mapped.address);
    let shell = Command::new("printf").arg("new!").stdout(Stdio::from(file.try_clone().unwrap())).status();
    assert!(shell.unwrap().success());
    assert_eq!(load(&file, offset), *b"new!");
    assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 0), [0; 4], "not flushed");
    mapped.maintain(LineOp::Flush);
    assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 0), *b"new!");
    assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 64), [0; 4], "the next line");
}

#[test]
fn a_store_is_coherent_with_an_llc_except_for_reads_around_it() {
    for (platform, around) in [("tgl", *b"new!"), ("jsl", [0; 4])] {
        let mapped = Mapped::new(platform, I915_MMAP_OFFSET_WB);
        let (file, offset) = mapped.file(mapped.address + 4096);
        assert_eq!(offset, 4096);
        file.write_all_at(b"new!", offset).unwrap();
        assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 4096), *b"new!", "{platform}");
        assert_eq!(mapped.gpu_reads(MocsClass::BypassLlc, 4096), around, "{platform}");
        mapped.maintain(LineOp::WriteBack);
        assert_eq!(mapped.gpu_reads(MocsClass::BypassLlc, 4096), *b"new!", "{platform}");
    }
}

#[test]
fn a_load_by_another_process_is_old_until_the_line_is_invalidated() {
    let mapped = Mapped::new("glk", I915_MMAP_OFFSET_WB);
    let (file, offset) = mapped.file(mapped.address);
    assert_eq!(load(&file, offset), [0; 4]);
    mapped.gpu_writes(0, b"gpu!");
    assert_eq!(load(&file, offset), [0; 4], "not invalidated");
    mapped.maintain(LineOp::Invalidate);
    assert_eq!(load(&file, offset), *b"gpu!");
}

#[test]
fn write_back_and_write_combining_mappings_are_two_views_without_an_llc_and_one_with_it() {
    for (platform, shared) in [("glk", false), ("tgl", true)] {
        let mut mapped = Mapped::new(platform, I915_MMAP_OFFSET_WB);
        let around = mapped.map(I915_MMAP_OFFSET_WC);
        let ((cached, at), (memory, _)) = (mapped.file(mapped.address), mapped.file(around));
        cached.write_all_at(b"new!", at).unwrap();
        assert_eq!(load(&memory, at) == *b"new!", shared, "{platform}");
        mapped.maintain(LineOp::Flush);
        assert_eq!(load(&memory, at), *b"new!", "{platform}");
    }
}

#[test]
fn bytes_from_before_the_file_are_in_it() {
    let mut mapped = Mapped::new("glk", I915_MMAP_OFFSET_WB);
    mapped.caller.process.store(mapped.address + 100, b"old").unwrap();
    let (file, offset) = mapped.file(mapped.address);
    assert_eq!(load(&file, offset + 100), *b"old\0");
    let mut back = [0; 4];
    file.write_all_at(b"now", offset + 100).unwrap();
    mapped.caller.process.load(mapped.address + 100, &mut back).unwrap();
    assert_eq!(back, *b"now\0");
}

#[test]
fn a_file_cannot_be_shortened_and_others_have_none() {
    let mapped = Mapped::new("glk", I915_MMAP_OFFSET_WB);
    let (file, _) = mapped.file(mapped.address);
    assert!(file.set_len(4096).is_err(), "the device would get SIGBUS");
    assert_eq!(file.metadata().unwrap().len(), 8192);
    let process = &mapped.caller.process;
    assert_eq!(process.memory_file(ARGS).unwrap_err(), Errno::EINVAL, "the process's own memory");
    assert_eq!(process.memory_file(HOLE).unwrap_err(), Errno::EINVAL);
    assert_eq!(process.maintain(HOLE, 1, LineOp::Flush), Err(Errno::EFAULT));
    assert_eq!(process.maintain(u64::MAX, 2, LineOp::Flush), Err(Errno::EFAULT));
    assert_eq!(process.maintain(ARGS, 64, LineOp::Flush), Ok(()));
}
