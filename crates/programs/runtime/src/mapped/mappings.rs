//! The program's mappings of objects, by address.

use std::ffi::c_void;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::system::lock::{Held, Lock};
use crate::system::sys;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Most mappings; the kernel allows 65530 areas in a process.
const MOST: usize = 1 << 16;

/// The address that is wished for the next view: far from those that the kernel chooses for the program, which may unmap
/// a range with holes that it made itself.
static NEXT: AtomicUsize = AtomicUsize::new(0x2000_0000_0000);

/// The three files of an object, mapped where the program does not see them.
#[derive(Clone, Copy)]
pub(crate) struct Views {
    /// The bytes that the CPU sees through its caches.
    pub(crate) cached: *mut u8,
    /// The bytes in memory.
    pub(crate) memory: *mut u8,
    /// The bytes that the cached lines were filled with.
    pub(crate) filled: *mut u8,
}

impl Views {
    /// Maps `len` bytes of the files from `offset` on.
    ///
    /// # Errors
    /// ENOMEM, and others of mmap(2).
    pub(crate) fn map(len: usize, files: [RawFd; 3], offset: u64) -> Result<Self, i32> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let one = |file: RawFd| {
            // Relaxed: the address is a wish.
            let wish = NEXT.fetch_add(len, Ordering::Relaxed) as *mut c_void;
            // SAFETY: a new mapping; nothing is replaced.
            let mapped = unsafe { sys::mmap(wish, len, protection, libc::MAP_SHARED, file, offset) };
            mapped.map(<*mut c_void>::cast::<u8>)
        };
        let [cached, memory, filled] = files;
        let (cached, memory, filled) = (one(cached), one(memory), one(filled));
        if let (Ok(cached), Ok(memory), Ok(filled)) = (cached, memory, filled) {
            return Ok(Self { cached, memory, filled });
        }
        let mut errno = libc::ENOMEM;
        for view in [cached, memory, filled] {
            match view {
                // SAFETY: it was mapped here, and nobody else has it.
                Ok(view) => drop(unsafe { sys::munmap(view.cast(), len) }),
                Err(reason) => errno = reason,
            }
        }
        Err(errno)
    }

    /// Returns the views from `offset` on.
    fn from(self, offset: usize) -> Self {
        Self {
            cached: self.cached.wrapping_add(offset),
            memory: self.memory.wrapping_add(offset),
            filled: self.filled.wrapping_add(offset),
        }
    }

    /// Unmaps `len` bytes.
    pub(crate) fn unmap(self, len: usize) {
        for view in [self.cached, self.memory, self.filled] {
            // SAFETY: only this library uses them, and no longer.
            let _ = unsafe { sys::munmap(view.cast(), len) };
        }
    }
}

/// A mapping of an object.
#[derive(Clone, Copy)]
pub(crate) struct Mapping {
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// `None` for a mapping that shows nothing, or a tiled object in linear order: it shows no line.
    pub(crate) views: Option<Views>,
    /// The server's number of the object, and the offset of the first byte in it.
    pub(crate) object: u64,
    pub(crate) offset: u64,
    /// The program sees the cached bytes, not memory's.
    pub(crate) shows_cache: bool,
    /// A load drops a clean line first.
    pub(crate) evicts: bool,
}

impl Mapping {
    /// Returns whether stores are write-combining.
    pub(crate) fn combines(&self) -> bool {
        !self.shows_cache || self.evicts
    }

    fn end(&self) -> usize {
        self.start + self.len
    }

    /// Unmaps the views.
    fn drop_views(&self) {
        if let Some(views) = self.views {
            views.unmap(self.len);
        }
    }

    /// Returns the part from `start` to `end`, which lies in it.
    fn part(&self, start: usize, end: usize) -> Self {
        let skipped = start - self.start;
        let (views, offset) = (self.views.map(|views| views.from(skipped)), self.offset + skipped as u64);
        Self { start, len: end - start, views, offset, ..*self }
    }
}

/// The mappings in order of their addresses, in memory that is allocated once.
struct Table {
    room: *mut Mapping,
    count: usize,
}

// SAFETY: the table owns its memory.
unsafe impl Send for Table {}

static TABLE: Lock<Table> = Lock::new(Table { room: std::ptr::null_mut(), count: 0 });

impl Table {
    fn all(&self) -> &[Mapping] {
        // SAFETY: the first `count` have been written.
        if self.room.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(self.room, self.count) } }
    }

    /// Returns the index of the first mapping that ends after `address`.
    fn after(&self, address: usize) -> usize {
        self.all().partition_point(|mapping| mapping.end() <= address)
    }

    /// Inserts a mapping at its place; returns whether there was room.
    fn insert(&mut self, mapping: Mapping) -> bool {
        if self.room.is_null() {
            let len = MOST * size_of::<Mapping>();
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a new mapping; nothing is replaced.
            let room = unsafe { sys::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
            let Ok(room) = room else { return false };
            self.room = room.cast();
        }
        if self.count == MOST {
            return false;
        }
        let at = self.after(mapping.start);
        // SAFETY: there is room for one more, and `at` is one of them.
        unsafe {
            let place = self.room.add(at);
            place.copy_to(place.add(1), self.count - at);
            place.write(mapping);
        }
        self.count += 1;
        true
    }

    fn remove(&mut self, at: usize) -> Option<Mapping> {
        let mapping = *self.all().get(at)?;
        // SAFETY: `at` is one of `count`.
        unsafe {
            let place = self.room.add(at);
            place.add(1).copy_to(place, self.count - at - 1);
        }
        self.count -= 1;
        Some(mapping)
    }

    /// Takes the mappings' parts from `start` to `end` out of the table, and passes each to `taken`.
    fn cut(&mut self, start: usize, end: usize, mut taken: impl FnMut(Mapping)) {
        loop {
            let at = self.after(start);
            match self.all().get(at) {
                Some(mapping) if mapping.start < end => {}
                Some(_) | None => return,
            }
            let Some(mapping) = self.remove(at) else { return };
            let (from, to) = (mapping.start.max(start), mapping.end().min(end));
            if mapping.start < from {
                self.insert(mapping.part(mapping.start, from));
            }
            if to < mapping.end() {
                self.insert(mapping.part(to, mapping.end()));
            }
            taken(mapping.part(from, to));
        }
    }
}

/// Adds a mapping in place of what was mapped there.
pub(crate) fn add(mapping: Mapping) {
    put(TABLE.hold(), mapping);
}

fn put(mut table: Held<'_, Table>, mapping: Mapping) {
    table.cut(mapping.start, mapping.end(), |old| old.drop_views());
    if !table.insert(mapping) {
        drop(table);
        sys::give_up(&[b"more mappings of objects than a process can have"]);
    }
}

/// Replaces a mapping by one of the same object that `map` makes there, unless the program unmapped or moved part of it.
///
/// # Errors
/// Those of `map`.
pub(crate) fn replace(mapping: Mapping, map: impl FnOnce() -> Result<(), i32>) -> Result<(), i32> {
    let table = TABLE.hold();
    let old = table.all().get(table.after(mapping.start));
    let is_there = |old: &Mapping| {
        old.object == mapping.object && old.start <= mapping.start && mapping.end() <= old.end()
    };
    if old.is_some_and(is_there) {
        map()?;
        put(table, mapping);
    } else {
        mapping.drop_views();
    }
    Ok(())
}

/// Returns whether an object is mapped in the `len` bytes at `start`.
pub(crate) fn overlap(start: usize, len: usize) -> bool {
    let mut found = false;
    if_overlap(start, len, || found = true);
    found
}

/// Calls `act` if an object is mapped in the `len` bytes at `start`; no mapping changes during the call, and
/// [`each_cached`] waits.
pub(crate) fn if_overlap(start: usize, len: usize, act: impl FnOnce()) {
    let table = TABLE.hold();
    let at = table.after(start);
    if table.all().get(at).is_some_and(|mapping| mapping.start < start.saturating_add(len)) {
        act();
    }
}

/// Forgets the `len` bytes at `start`, which are unmapped.
pub(crate) fn remove(start: usize, len: usize) {
    TABLE.hold().cut(start, start.saturating_add(len), |old| old.drop_views());
}

/// Notes that the `len` bytes at `from` are now the `new_len` bytes at `to`, of which there are not more.
pub(crate) fn shift(from: usize, len: usize, to: usize, new_len: usize) {
    let mut table = TABLE.hold();
    let mut moved = None;
    table.cut(from, from + len, |old| {
        if old.start == from && moved.is_none() {
            moved = Some(old);
        } else {
            old.drop_views();
        }
    });
    table.cut(to, to + new_len, |old| old.drop_views());
    if let Some(old) = moved {
        let kept = old.len.min(new_len);
        if kept < old.len {
            old.part(old.start + kept, old.end()).drop_views();
        }
        table.insert(Mapping { start: to, len: kept, ..old });
    }
}

/// Calls `see` with the mapping at an address; returns its result.
pub(crate) fn at<T>(address: usize, see: impl FnOnce(&Mapping) -> T) -> Option<T> {
    let table = TABLE.hold();
    let mapping = table.all().get(table.after(address))?;
    (mapping.start <= address).then(|| see(mapping))
}

/// Calls `see` with each mapping of cached bytes.
pub(crate) fn each_cached(see: impl FnMut(&Mapping)) {
    let table = TABLE.hold();
    table.all().iter().filter(|mapping| mapping.shows_cache).for_each(see);
}

/// Calls `see` with each mapping through which stores are write-combining.
pub(crate) fn each_combining(see: impl FnMut(&Mapping)) {
    let table = TABLE.hold();
    table.all().iter().filter(|mapping| mapping.combines() && mapping.views.is_some()).for_each(see);
}

/// Releases the table's lock in a child process.
///
/// # Safety
/// As [`Lock::reset`].
pub(crate) unsafe fn reset() {
    // SAFETY: the caller's obligation.
    unsafe { TABLE.reset() };
}
