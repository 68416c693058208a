//! The entries `dri` of /dev and `drm` of /sys/class, which a machine without a GPU lacks. libudev looks for them.

use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::start;
use crate::system::sys;

/// The most open folders of a kind that get their entry; a further one is listed without it.
const MOST: usize = 8;

/// The open folders of which the entry was not read yet, by kind.
static OPEN: [[AtomicPtr<libc::DIR>; MOST]; 2] =
    [const { [const { AtomicPtr::new(ptr::null_mut()) }; MOST] }; 2];

/// The paths of the folders and of their entries, and the entries' names.
const FOLDERS: [(&[u8], &[u8], &[u8]); 2] =
    [(b"/dev", b"/dev/dri\0", b"dri"), (b"/sys/class", b"/sys/class/drm\0", b"drm")];

/// An entry of an open folder. The program may change it, as it may change what readdir(3) returns.
struct Entry(UnsafeCell<libc::dirent64>);

// SAFETY: a folder is read by one thread at a time, and each place has an entry of its own.
unsafe impl Sync for Entry {}

/// The entries, by kind and place.
static ENTRIES: [[Entry; MOST]; 2] = [
    [const { Entry(UnsafeCell::new(entry(FOLDERS[0].2))) }; MOST],
    [const { Entry(UnsafeCell::new(entry(FOLDERS[1].2))) }; MOST],
];

const fn entry(name: &[u8]) -> libc::dirent64 {
    let mut bytes = [0 as c_char; 256];
    let mut at = 0;
    while at < name.len() {
        bytes[at] = name[at] as c_char;
        at += 1;
    }
    libc::dirent64 { d_ino: 1, d_off: i64::MAX, d_reclen: 280, d_type: libc::DT_DIR, d_name: bytes }
}

/// Notes that a folder was opened by a path.
pub(super) fn opened(folder: *mut libc::DIR, path: &[u8]) {
    closed(folder);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let kind = FOLDERS.iter().position(|(folder, ..)| *folder == path);
    let is_missing = |name: &[u8]| {
        sys::stat(libc::AT_FDCWD, name.as_ptr().cast(), 0).is_err_and(|errno| errno == libc::ENOENT)
    };
    let is_wanted =
        |&kind: &usize| !folder.is_null() && start::server().is_some() && is_missing(FOLDERS[kind].1);
    let Some(kind) = kind.filter(is_wanted) else { return };
    for place in &OPEN[kind] {
        // Relaxed: a folder is read by one thread at a time.
        if place.compare_exchange(ptr::null_mut(), folder, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// Notes that a folder is closed, or that its address now belongs to one that was opened by a descriptor.
pub(super) fn closed(folder: *mut libc::DIR) {
    take(folder);
}

/// Returns the entry that comes after the last one of a folder, once.
pub(super) fn last(folder: *mut libc::DIR) -> Option<*mut libc::dirent64> {
    let (kind, place) = take(folder)?;
    let entry = ENTRIES[kind][place].0.get();
    // SAFETY: the entry is this folder's; a former one of the place is closed, or read to its end.
    unsafe { entry.write(self::entry(FOLDERS[kind].2)) };
    Some(entry)
}

/// Forgets a folder; returns its kind and its place if it was known.
fn take(folder: *mut libc::DIR) -> Option<(usize, usize)> {
    let mut found = None;
    for (kind, places) in OPEN.iter().enumerate() {
        for (number, place) in places.iter().enumerate() {
            // Relaxed: as in `opened`.
            let was = place.compare_exchange(folder, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed);
            if !folder.is_null() && was.is_ok() {
                found = Some((kind, number));
            }
        }
    }
    found
}
