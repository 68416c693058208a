//! The CPU's cache, without QEMU: RAM is a vector.

// What only QEMU's side calls is not called here.
#[allow(dead_code, unused_imports)]
#[path = "../../src/cache/mod.rs"]
mod cache;

mod adversary;
mod ignored;
mod instructions;
mod lines;

use cache::instructions::Flush;
use cache::{Cache, Ignored, Ram, Settings, Write};
use std::cell::RefCell;
use std::rc::Rc;

/// RAM as the CPU sees it, shared with the test.
#[derive(Clone)]
struct Bytes(Rc<RefCell<Vec<u8>>>);

impl Ram for Bytes {
    fn read(&self, at: u64, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.0.borrow()[at as usize..][..buffer.len()]);
    }

    fn write(&self, at: u64, data: &[u8]) {
        self.0.borrow_mut()[at as usize..][..data.len()].copy_from_slice(data);
    }
}

/// A machine with three megabytes of memory.
struct Machine {
    ram: Bytes,
    cache: Cache<Bytes>,
}

/// A line in the middle of a page that nobody has touched.
const HERE: u64 = (2 << 20) + 4096 + 5 * 64;

impl Machine {
    fn new(settings: Settings) -> Self {
        let ram = Bytes(Rc::new(RefCell::new(vec![0; 3 << 20])));
        Self { cache: Cache::new(ram.clone(), 3 << 20, settings, Ignored::default()), ram }
    }

    /// The CPU stores through a write-back mapping, as QEMU brings it: past the cache unless the page is watched.
    fn store(&mut self, at: u64, data: &[u8]) {
        self.cache.touch(at);
        if self.cache.is_watched(at) { self.cache.store(at, data) } else { self.ram.write(at, data) }
    }

    fn load(&mut self, at: u64) -> u8 {
        self.cache.touch(at);
        let mut byte = [0];
        if self.cache.is_watched(at) {
            self.cache.load(at, &mut byte)
        } else {
            self.ram.read(at, &mut byte)
        }
        byte[0]
    }

    fn flush(&mut self, at: u64) {
        self.cache.flush(at, &Flush::Strong);
    }

    /// A non-temporal store: QEMU has done it when the cache is told.
    fn store_non_temporal(&mut self, at: u64, data: &[u8]) {
        self.store(at, data);
        self.cache.store_non_temporal(at, data.len());
    }

    fn device_reads(&mut self, at: u64) -> u8 {
        let mut byte = [0];
        self.cache.device_read(at, &mut byte, false);
        byte[0]
    }

    fn device_snoops(&mut self, at: u64) -> u8 {
        let mut byte = [0];
        self.cache.device_read(at, &mut byte, true);
        byte[0]
    }

    fn device_writes(&mut self, at: u64, byte: u8) {
        self.cache.device_write(at, &[byte], Write::Bypasses);
    }

    fn uncached_load(&mut self, at: u64) -> u8 {
        let mut byte = [0];
        self.cache.uncached_load(at, &mut byte);
        byte[0]
    }
}
