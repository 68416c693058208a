//! The check that the dynamic linker would load this library into a program.

use std::ffi::{CStr, c_int};

use gem_coherency_protocol::{call, close};

use crate::system::path::Path;
use crate::system::sys;

/// Most scripts that start each other (the kernel's limit is 5).
const MOST_SCRIPTS: usize = 5;

/// Bytes that the kernel reads of a program to tell its kind (`BINPRM_BUF_SIZE`).
const HEAD_BYTES: usize = 256;

/// Bytes of a program header, and those of ELF's numbers that are read here.
const SEGMENT_BYTES: usize = 56;
const ELF_64: u8 = 2;
const X86_64: u16 = 62;
const PT_INTERP: u32 = 3;

/// Returns why a program cannot be intercepted; `None` for one that can, and for a file that cannot be executed.
pub(super) fn obstacle(program: &CStr) -> Option<&'static [u8]> {
    let mut path = Path::EMPTY;
    if !path.push(program.to_bytes()) {
        return None;
    }
    for _ in 0..MOST_SCRIPTS {
        let file = File::open(&path)?;
        let mut head = [0; HEAD_BYTES];
        let head = file.read(&mut head, 0);
        match interpreter(head) {
            Some(next) => {
                path = Path::EMPTY;
                if !path.push(next) {
                    return None;
                }
            }
            None => return file.obstacle(head),
        }
    }
    None
}

/// Returns the interpreter of a script.
fn interpreter(head: &[u8]) -> Option<&[u8]> {
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    line.split(|&byte| byte == b' ' || byte == b'\t').find(|word| !word.is_empty())
}

/// A program that is open.
struct File(c_int);

impl File {
    /// Opens a program; `None` if it cannot be opened: then it is not checked.
    fn open(path: &Path) -> Option<Self> {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: the path ends with a zero.
        let fd = unsafe { call!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
        fd.ok().map(|fd| Self(fd as c_int))
    }

    /// Reads bytes from a position on; returns those that there are.
    fn read<'a>(&self, bytes: &'a mut [u8], at: u64) -> &'a [u8] {
        // SAFETY: `bytes` has this length.
        let count = unsafe { call!(libc::SYS_pread64, self.0, bytes.as_mut_ptr(), bytes.len(), at) };
        count.ok().and_then(|count| bytes.get(..count)).unwrap_or_default()
    }

    fn obstacle(&self, head: &[u8]) -> Option<&'static [u8]> {
        if !head.starts_with(b"\x7fELF") {
            return None;
        }
        if self.gains_privileges() {
            return Some(b"it has privileges of its own (set-user-id), with which LD_PRELOAD does nothing");
        }
        if head.get(4) != Some(&ELF_64) || u16_at(head, 18) != Some(X86_64) {
            return Some(b"it is not a 64-bit program for x86-64");
        }
        let (first, count) = (u64_at(head, 32)?, u16_at(head, 56)?);
        for n in 0..u64::from(count) {
            let mut segment = [0; SEGMENT_BYTES];
            let segment = self.read(&mut segment, first.saturating_add(n * SEGMENT_BYTES as u64));
            if u32_at(segment, 0)? == PT_INTERP {
                return None;
            }
        }
        Some(b"it is linked statically")
    }

    /// Returns whether executing the program changes the user or the group, for which the linker ignores LD_PRELOAD.
    fn gains_privileges(&self) -> bool {
        let Ok(stat) = sys::stat(self.0, c"".as_ptr(), libc::AT_EMPTY_PATH) else { return false };
        // SAFETY: no operands.
        let (user, group) = unsafe { (call!(libc::SYS_geteuid), call!(libc::SYS_getegid)) };
        (stat.st_mode & libc::S_ISUID != 0 && user != Ok(stat.st_uid as usize))
            || (stat.st_mode & libc::S_ISGID != 0 && group != Ok(stat.st_gid as usize))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        close(self.0);
    }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}
