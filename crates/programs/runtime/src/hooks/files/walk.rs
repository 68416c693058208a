//! glob(3) and nftw(3), which look at folders by functions inside of libc.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};

use super::folders::without_root;
use super::stat::replaced;
use crate::hooks::replace;
use crate::paths::Redirected;
use crate::real::real;
use crate::start;
use crate::system::sys;

/// The values that nftw(3) passes with a path: the offset of its last name, and the depth.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Place {
    base: c_int,
    level: c_int,
}

/// The function that the program passed to nftw(3).
type Visit = unsafe extern "C" fn(*const c_char, *mut libc::stat, c_int, *mut Place) -> c_int;

/// The function that the program passed to ftw(3).
type ShortVisit = unsafe extern "C" fn(*const c_char, *mut libc::stat, c_int) -> c_int;

/// The function that this thread's walk calls.
#[derive(Clone, Copy)]
enum Visitor {
    None,
    Long(Visit),
    Short(ShortVisit),
}

thread_local! {
    static VISITOR: Cell<Visitor> = const { Cell::new(Visitor::None) };
}

/// Calls the program's function with a path and a file as the program sees them.
unsafe extern "C" fn visit(
    path: *const c_char,
    stat: *mut libc::stat,
    kind: c_int,
    place: *mut Place,
) -> c_int {
    // SAFETY: libc passes a C string, a stat that is filled in, and a place.
    unsafe {
        let text = sys::bytes(path);
        let root = start::server().map_or(b"".as_slice(), |server| server.root.as_bytes());
        let hidden = if text.starts_with(root) { root.len() } else { 0 };
        if kind != FTW_NS {
            replaced(0, stat, None);
        }
        let mut shown = *place;
        shown.base -= hidden as c_int;
        let path = path.add(hidden);
        match VISITOR.get() {
            Visitor::None => 0,
            Visitor::Long(visit) => visit(path, stat, kind, &raw mut shown),
            Visitor::Short(visit) => visit(path, stat, kind),
        }
    }
}

/// There is no stat.
const FTW_NS: c_int = 3;

/// The flag of nftw(3) that does not follow links; ftw(3) follows them.
const FOLLOWING: c_int = 0;

/// Walks the folders below a path.
///
/// # Safety
/// As nftw(3).
unsafe fn walk(path: *const c_char, visitor: Visitor, most: c_int, flags: c_int) -> c_int {
    let before = VISITOR.replace(visitor);
    // SAFETY: the caller's obligation.
    let done = unsafe {
        let path = Redirected::new(path);
        real!(nftw64: fn(
            path.as_ptr() => *const c_char, visit => Visit, most => c_int, flags => c_int
        ) -> c_int)
    };
    VISITOR.set(before);
    done
}

replace! {
    /// Walks the folders below a path.
    fn nftw | nftw64 (path: *const c_char, visit: Visit, most: c_int, flags: c_int) -> c_int {
        walk(path, Visitor::Long(visit), most, flags)
    }

    /// Walks the folders below a path.
    fn ftw | ftw64 (path: *const c_char, visit: ShortVisit, most: c_int) -> c_int {
        walk(path, Visitor::Short(visit), most, FOLLOWING)
    }

    /// Finds the paths of a pattern.
    fn glob | glob64 (
        pattern: *const c_char, flags: c_int, error: *mut c_void, found: *mut libc::glob_t
    ) -> c_int {
        let pattern = Redirected::new(pattern);
        let done = real!(glob64: fn(
            pattern.as_ptr() => *const c_char, flags => c_int, error => *mut c_void, found => *mut libc::glob_t
        ) -> c_int);
        if done == 0 && pattern.is_ours() {
            let offset = if flags & libc::GLOB_DOOFFS != 0 { (*found).gl_offs } else { 0 };
            for n in offset..offset + (*found).gl_pathc {
                let path = *(*found).gl_pathv.add(n);
                let text = std::slice::from_raw_parts_mut(path.cast::<u8>(), libc::strlen(path));
                let len = without_root(text);
                path.add(len).write(0);
            }
        }
        done
    }
}
