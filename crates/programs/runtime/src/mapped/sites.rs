//! Where the program is: its call stacks, and the counts of its flush instructions for the server.

use std::ffi::{c_char, c_void};
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use gem_coherency_protocol::{
    self as protocol, Flushed, Found, LOG_BYTES, LogEntryKind, MOST_PAYLOAD, MOST_SITES, SITE_BYTES,
    SiteRecord,
};
use gem_coherency_trap::watch::{self, Store};
use gem_coherency_trap::{Event, NEAREST, callers};

use super::line::{self, LINE_BYTES, Place};
use super::mappings::{self, Mapping, PAGE_BYTES};
use super::{epochs, stores};
use crate::system::path::Path;
use crate::system::sys;

/// Most frames of a call stack.
pub(crate) const MOST_FRAMES: usize = 16;

/// The records, in a memory file that the server reads, too.
static RECORDS: AtomicPtr<SiteRecord> = AtomicPtr::new(std::ptr::null_mut());

/// The log of flushes after the records.
static LOG: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

/// The server collects findings.
static COLLECTING: AtomicBool = AtomicBool::new(false);

/// Returns whether the server collects findings.
pub(crate) fn is_collecting() -> bool {
    // Relaxed: set before the program runs.
    COLLECTING.load(Ordering::Relaxed)
}

/// Begins to count and to log flushes; returns the file of the records.
///
/// # Errors
/// ENOMEM, EMFILE.
pub(crate) fn collect() -> Result<i32, i32> {
    let records = MOST_SITES * SITE_BYTES;
    let len = records + LOG_BYTES;
    let fd = sys::memory_file(c"flush sites", len)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping; nothing is replaced.
    let room = unsafe { sys::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, 0) };
    let room = room.inspect_err(|_| sys::close(fd))?;
    RECORDS.store(room.cast(), Ordering::Release);
    LOG.store(room.wrapping_byte_add(records).cast(), Ordering::Release);
    watch::on_store(see_store, see_stored);
    COLLECTING.store(true, Ordering::Relaxed);
    Ok(fd)
}

/// Returns the records; none before [`collect`].
fn records() -> &'static [SiteRecord] {
    let room = RECORDS.load(Ordering::Acquire);
    if room.is_null() {
        return &[];
    }
    // SAFETY: the file was mapped with this size and stays mapped; a record is made of atomics, for which all bytes are
    // valid.
    unsafe { std::slice::from_raw_parts(room, MOST_SITES) }
}

/// The number of no record.
pub(crate) const NO_SITE: u32 = u32::MAX;

/// Returns the number of the record of a place that flushes, which is its nearest callers; [`NO_SITE`] if there are too many.
pub(crate) fn of(event: &Event<'_>) -> u32 {
    let mut nearest = [0; NEAREST];
    let depth = event.nearest_callers(&mut nearest);
    let mix = |hash: u64, frame: &usize| (hash ^ *frame as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = nearest.iter().take(depth).fold(0xcbf2_9ce4_8422_2325, mix);
    match SiteRecord::find(records(), key) {
        None => NO_SITE,
        Some((number, record, is_new)) => {
            if is_new {
                let mut frames = [0; MOST_FRAMES];
                let depth = event.callers(&mut frames);
                let frames = frames.get(..depth).unwrap_or_default();
                // The text takes more than the alternate stack may have, on which this runs in some programs.
                // SAFETY: the work looks up loaded objects, and stores to the records.
                unsafe {
                    gem_coherency_trap::on_own_stack(|| record.describe(lines(frames).as_bytes()));
                }
            }
            number as u32
        }
    }
}

/// Logs an instruction of a site for a line, which it found in some state.
pub(crate) fn log(site: u32, place: &Place, found: Found, effect: LogEntryKind) {
    let &Place { object, line, bytes } = place;
    append(&Flushed { object, line, site, effect, found, bytes });
}

/// Logs an instruction of a site for memory of a userptr object.
pub(crate) fn log_user_memory(site: u32, effect: LogEntryKind) {
    let (object, found) = (protocol::USER_MEMORY, Found::Clean);
    append(&Flushed { object, line: 0, site, effect, found, bytes: [0; protocol::LINE_WORDS] });
}

fn append(flushed: &Flushed) {
    let log = LOG.load(Ordering::Acquire);
    if log.is_null() {
        return;
    }
    // SAFETY: the log was mapped with this size and stays mapped; words are atomics, for which all bytes are valid.
    let words = unsafe { std::slice::from_raw_parts(log, LOG_BYTES / size_of::<u64>()) };
    protocol::append(words, flushed);
}

/// Logs what becomes of the page of an address; `stored` has a bit for each line that the
/// first store goes to.
fn log_page(mapping: &Mapping, address: usize, effect: LogEntryKind, stored: u64) {
    let offset = mapping.offset + (address - mapping.start) as u64;
    let line = offset / PAGE_BYTES as u64 * (PAGE_BYTES / LINE_BYTES) as u64;
    let bytes = [stored, 0, 0, 0, 0, 0, 0, 0];
    append(&Flushed { object: mapping.object, line, site: NO_SITE, effect, found: Found::Clean, bytes });
}

/// Sees the next store to the page of an address, which is about to be flushed.
pub(crate) fn close(mapping: &Mapping, address: usize) {
    if mapping.shows_cache && !is_transferring() && watch::is_writable(address) && watch::close(address) {
        log_page(mapping, address, LogEntryKind::Closed, 0);
    }
}

/// Logs that loads of the page of an address are not seen from now on.
pub(crate) fn log_shown(mapping: &Mapping, address: usize) {
    log_page(mapping, address, LogEntryKind::Shown, 0);
}

/// Looks at a store that opens a page. In a mapping of the cached bytes, its lines are
/// dirty, and later stores to the page are not seen; the place is recorded if the page was clean, or has no record.
fn see_store(store: &Store<'_>) {
    if store.drains {
        epochs::drain();
    }
    mappings::at(store.address, |mapping| {
        let page = store.address & !(PAGE_BYTES - 1);
        if epochs::records(mapping, page) {
            epochs::stored(mapping, store);
        }
        if !mapping.shows_cache {
            return;
        }
        let was_clean = !line::is_dirty(mapping, page, PAGE_BYTES);
        let first = store.address & !(LINE_BYTES - 1);
        let end = store.address + store.length;
        let mut stored = 0;
        for address in (first..end).step_by(LINE_BYTES).take_while(|_| store.length > 0) {
            line::soil(mapping, address);
            stored |= 1 << ((address - page) / LINE_BYTES);
        }
        let effect = if store.opens { LogEntryKind::Opened } else { LogEntryKind::Shown };
        log_page(mapping, store.address, effect, stored);
        if store.length > 0 && (was_clean || !stores::is_known(mapping, store.address)) {
            stores::stored(mapping, store);
        }
    });
}

/// Looks at what a store left that opened a page: behind one of the bytes that were there, the next one is to be seen, too.
fn see_stored(address: usize) {
    mappings::at(address, |mapping| {
        if line::is_silent(mapping, address) {
            close(mapping, address);
        }
    });
}

/// Logs that the pages of a mapping in `len` bytes are opened or closed, which are not so yet.
fn log_pages(mapping: &Mapping, start: usize, len: usize, effect: LogEntryKind) {
    let end = start.saturating_add(len).min(mapping.start + mapping.len);
    let closes = effect == LogEntryKind::Closed;
    for page in (start.max(mapping.start)..end).step_by(PAGE_BYTES) {
        if watch::is_writable(page) == closes {
            log_page(mapping, page, effect, 0);
        }
    }
}

/// Counts a flush by a site; without a place, it is one of no object's line.
pub(crate) fn count(site: u32, place: Option<&Place>) {
    let Some(record) = records().get(site as usize) else { return };
    match place {
        Some(place) => record.add_line(place.object, place.line),
        // Relaxed: a statistic.
        None => {
            record.elsewhere.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Lines of text in a payload.
pub(crate) struct Lines {
    bytes: [u8; MOST_PAYLOAD],
    len: usize,
}

impl Lines {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Write for Lines {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        let room = self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Writes a call stack, without the frames of this library.
pub(crate) fn lines(frames: &[usize]) -> Lines {
    let mut lines = Lines { bytes: [0; MOST_PAYLOAD], len: 0 };
    for &frame in frames {
        let mut info: libc::Dl_info = unsafe_zeroed();
        let mut map: *mut c_void = std::ptr::null_mut();
        // SAFETY: both have room; the address is only looked up.
        let known = unsafe { dladdr1(frame as *const c_void, &raw mut info, &raw mut map, LINK_MAP) };
        if known == 0 || map.is_null() || info.dli_fbase == own() {
            continue;
        }
        // SAFETY: a link map begins with the difference of addresses in the process and in the file, and the name, which is
        // empty for the program; the names are C strings.
        let (base, is_program, name) = unsafe {
            let words = map.cast::<usize>();
            let name = std::ptr::with_exposed_provenance::<c_char>(*words.add(1));
            (*words, sys::bytes(name).is_empty(), sys::bytes(info.dli_fname))
        };
        // `dli_fname` is what the program was started by, in the folder of that time.
        let program = PROGRAM.get().map(Path::as_bytes).filter(|path| is_program && !path.is_empty());
        let Ok(name) = std::str::from_utf8(program.unwrap_or(name)) else { continue };
        let before = lines.len;
        if writeln!(lines, "{:x} {name}", frame - base).is_err() {
            lines.len = before;
            break;
        }
    }
    lines
}

/// The path of the program's file.
static PROGRAM: OnceLock<Path> = OnceLock::new();

/// Finds the path when the library is loaded, before a filter of the program may refuse it.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = find_program;

extern "C" fn find_program() {
    PROGRAM.get_or_init(|| {
        let mut path = Path::EMPTY;
        // Without it, the name that the linker has is used.
        let _ = sys::read_link(c"/proc/self/exe", &mut path);
        path
    });
}

/// `RTLD_DL_LINKMAP` of dlfcn.h.
const LINK_MAP: i32 = 2;

unsafe extern "C" {
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: i32) -> i32;
}

/// Returns information about nothing.
fn unsafe_zeroed() -> libc::Dl_info {
    // SAFETY: null pointers.
    unsafe { std::mem::zeroed() }
}

/// Returns where this library begins.
fn own() -> *mut c_void {
    let mut info = unsafe_zeroed();
    // SAFETY: `info` has room.
    unsafe { libc::dladdr(own as *const c_void, &raw mut info) };
    info.dli_fbase
}

/// Returns the call stack of this request.
pub(crate) fn stack() -> Lines {
    let mut frames = [0; MOST_FRAMES];
    // SAFETY: all zeroes is a context.
    let mut context: libc::ucontext_t = unsafe { std::mem::zeroed() };
    // SAFETY: the context has room, and describes this function, which does not return before `callers`.
    let depth = unsafe {
        libc::getcontext(&raw mut context);
        callers((&raw mut context).cast(), &mut frames)
    };
    lines(frames.get(..depth).unwrap_or_default())
}

/// Watches the pages of a new mapping to which the program may store.
pub(crate) fn watch(start: usize, len: usize) {
    if is_collecting() {
        // SAFETY: the pages were mapped readable and writable; they are forgotten when they are unmapped.
        let watched = unsafe { watch::protect(start, len) };
        if watched.is_err() {
            open(start, len);
        }
    }
}

/// The same with one from which the program may only load.
pub(crate) fn watch_loads(start: usize, len: usize) {
    if is_collecting() {
        // SAFETY: the pages were mapped readable; they are forgotten when they are unmapped.
        let _ = unsafe { watch::add_read_only(start, len) };
    }
}

/// Watches the pages anew that are writable and have no dirty line any more. The first store to another page is still
/// the one that its dirty lines are owed to. During a [`Transfer`] it does nothing.
pub(crate) fn watch_again() {
    if is_collecting() {
        mappings::each_cached(|mapping| {
            if is_transferring() {
                return;
            }
            for page in (mapping.start..mapping.start + mapping.len).step_by(PAGE_BYTES) {
                if watch::was_stored(page) && !line::is_dirty(mapping, page, PAGE_BYTES) {
                    let was_open = watch::is_writable(page);
                    stores::forget_record(mapping, page);
                    // SAFETY: as in `watch`.
                    if unsafe { watch::protect(page, PAGE_BYTES) }.is_ok() && was_open {
                        log_page(mapping, page, LogEntryKind::Closed, 0);
                    }
                }
            }
        });
    }
}

/// Ends the watch of pages that are unmapped.
pub(crate) fn forget(start: usize, len: usize) {
    if is_collecting() {
        // Fails for no whole pages.
        let _ = watch::forget(start, len);
    }
}

/// Ends the watch of pages whose protection the program has changed.
pub(crate) fn lose(start: usize, len: usize) {
    if is_collecting() {
        open(start, len);
        forget(start, len);
    }
}

/// Ends the watch of pages that are moved: they get the protection that the program has given them.
pub(crate) fn unwatch(start: usize, len: usize) {
    if is_collecting() {
        open(start, len);
        // Fails for no whole pages.
        let _ = watch::release(start, len);
        forget(start, len);
    }
}

/// Logs that stores to pages are not seen from now on.
fn open(start: usize, len: usize) {
    mappings::each_cached(|mapping| log_pages(mapping, start, len, LogEntryKind::Opened));
}

/// Logs that pages are about to be unmapped: nothing is stored there any more.
pub(crate) fn end(start: usize, len: usize) {
    if is_collecting() {
        mappings::each_cached(|mapping| log_pages(mapping, start, len, LogEntryKind::Closed));
    }
}

/// Number of transfers to and from mappings that have not ended. Increased under the lock of the mappings.
static TRANSFERS: AtomicUsize = AtomicUsize::new(0);

/// Returns whether a transfer has not ended. None begins while the lock of the mappings is held.
pub(crate) fn is_transferring() -> bool {
    // Acquire: the transfers that are not counted any more have ended.
    TRANSFERS.load(Ordering::Acquire) > 0
}

/// A system call that accesses buffers of the program. No page is watched again or hidden until it ends. Its stores are not
/// recorded.
///
/// A thread that is cancelled during the call, or leaves it by longjmp, does not end it: no page is watched again.
#[derive(Default)]
pub(crate) struct Transfer {
    /// A buffer is in a mapping of an object.
    counts: bool,
}

impl Transfer {
    /// Begins a transfer to one buffer.
    pub(crate) fn to(start: usize, len: usize) -> Self {
        let mut transfer = Self::default();
        transfer.add(start, len);
        transfer
    }

    /// Counts the transfer and calls `open` if a buffer is in a mapping of an object, under the lock of the mappings.
    pub(crate) fn begin(&mut self, start: usize, len: usize, open: impl FnOnce()) {
        mappings::if_overlap(start, len, || {
            if !self.counts {
                self.counts = true;
                // Relaxed: under the lock, which those that look at it hold.
                TRANSFERS.fetch_add(1, Ordering::Relaxed);
            }
            open();
        });
    }

    /// Makes the pages of another buffer writable.
    pub(crate) fn add(&mut self, start: usize, len: usize) {
        if !is_collecting() {
            return;
        }
        let first = start & !(PAGE_BYTES - 1);
        let len_of_pages = (start - first).saturating_add(len);
        if mappings::overlap(start, len) {
            open(first, len_of_pages);
            epochs::open_others();
        }
        self.begin(start, len, || {
            // Fails for pages that are not watched.
            let _ = watch::release(first, len_of_pages);
        });
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if self.counts {
            // Release: `watch_again` sees that the transfer has ended. After a fork in a signal handler, the child does not
            // count it.
            let fewer = |count: usize| count.checked_sub(1);
            let _ = TRANSFERS.fetch_update(Ordering::Release, Ordering::Relaxed, fewer);
        }
    }
}

/// Forgets the transfers and the faults of the parent's threads in a child process.
pub(crate) fn reset() {
    // Relaxed: the process has one thread.
    TRANSFERS.store(0, Ordering::Relaxed);
    watch::forget_threads();
    if is_collecting() {
        // The parent may close its own pages now.
        mappings::each_cached(|mapping| {
            for page in (mapping.start..mapping.start + mapping.len).step_by(PAGE_BYTES) {
                if watch::is_writable(page) {
                    log_page(mapping, page, LogEntryKind::Opened, 0);
                }
            }
        });
    }
}
