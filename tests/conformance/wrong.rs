//! What is wrong on purpose, to see that it is found.

use gem_coherency::drm::soft::{Minor, Pages};
use gem_coherency::uapi::i915::DRM_IOCTL_I915_GEM_SET_CACHING;
use nix::errno::Errno;

use super::target::{Done, Simulated, Target};

/// Two devices, whether the second answers one call with another errno, and whether they differ.
pub const TWINS: &[(&str, &str, bool, bool)] = &[
    ("sim:jsl", "sim:jsl", false, false),
    ("sim:glk,kernel=6.1", "sim:glk,kernel=6.1", false, false),
    ("sim:mtl", "sim:mtl", false, false),
    ("sim:dg2", "sim:dg2", false, false),
    ("sim:tgl", "sim:tgl", true, true),
    ("sim:jsl", "sim:jsl,without=bypass-acquire", false, true),
    ("sim:glk", "sim:glk,without=enter-cpu-stale", false, true),
    ("sim:hsw", "sim:bdw,edram=1", false, true),
];

/// A software device that answers EINVAL where ENOENT is right: SET_CACHING of what is no object.
#[derive(Debug)]
pub struct Wrong(pub Simulated);

impl Target for Wrong {
    fn open(&mut self, minor: Minor) -> i32 {
        self.0.open(minor)
    }

    fn foreign(&mut self, len: u64) -> Option<i32> {
        self.0.foreign(len)
    }

    fn close(&mut self, fd: i32) -> Done<()> {
        self.0.close(fd)
    }

    fn ioctl(&mut self, fd: i32, code: u32, argument: u64) -> Done<i32> {
        match self.0.ioctl(fd, code, argument) {
            Err(Errno::ENOENT) if code == DRM_IOCTL_I915_GEM_SET_CACHING.code => Err(Errno::EINVAL),
            done => done,
        }
    }

    fn mmap(&mut self, len: u64, pages: Pages, fd: i32, offset: u64) -> Done<u64> {
        self.0.mmap(len, pages, fd, offset)
    }

    fn munmap(&mut self, address: u64, len: u64) -> Done<()> {
        self.0.munmap(address, len)
    }

    fn size_of(&mut self, fd: i32) -> Done<u64> {
        self.0.size_of(fd)
    }

    fn allocate(&mut self, address: u64, len: u64, pages: Pages) -> Done<()> {
        self.0.allocate(address, len, pages)
    }

    fn load(&mut self, address: u64, data: &mut [u8]) -> Done<()> {
        self.0.load(address, data)
    }

    fn store(&mut self, address: u64, data: &[u8]) -> Done<()> {
        self.0.store(address, data)
    }

    fn shrink(&mut self) {
        self.0.shrink();
    }

    fn suspend(&mut self) {
        self.0.suspend();
    }
}
