//! System calls, made directly: hooks of the C library's functions do not see them, and errno is left alone.
//!
//! # Safety
//! The assembly follows the kernel's calling convention (syscall(2)): RAX is the number and the result, RCX and R11 are
//! lost. Each caller states why its arguments are sound.
#![allow(unsafe_code)]

use std::arch::asm;
use std::ffi::CStr;

use crate::Error;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Makes a system call with up to six arguments. Returns its result, or the errno.
///
/// # Safety
/// The call must be sound with these arguments: addresses among them must be valid for what the call does.
pub(super) unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> Result<usize, i32> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: isize;
    // SAFETY: the convention of the system call instruction; the rest is the caller's obligation.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _, options(nostack),
        );
    }
    // The last page of addresses is errno, negated.
    if (-4095..0).contains(&result) { Err(-result as i32) } else { Ok(result as usize) }
}

/// Changes the protection of whole pages.
///
/// # Safety
/// The program must not rely on the former protection of these pages, or it must be restored before it does.
pub(super) unsafe fn protect(address: usize, length: usize, protection: i32) -> Result<(), Error> {
    // SAFETY: the caller's obligation.
    let done = unsafe { call(libc::SYS_mprotect, [address, length, protection as usize, 0, 0, 0]) };
    done.map(drop).map_err(|errno| Error::Protect { address, length, errno })
}

/// Maps zeroes. Pages take memory when they are first stored to.
pub(super) fn map_zeroes(length: usize) -> Result<usize, Error> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: the kernel chooses an unused address.
    unsafe { call(libc::SYS_mmap, [0, length, protection as usize, flags as usize, usize::MAX, 0]) }
        .map_err(|errno| Error::Memory { length, errno })
}

/// Returns memory of [`map_zeroes`].
///
/// # Safety
/// Nothing may refer to it any more.
pub(super) unsafe fn unmap(address: usize, length: usize) {
    // SAFETY: the caller's obligation. A failure leaves the memory mapped.
    let _ = unsafe { call(libc::SYS_munmap, [address, length, 0, 0, 0, 0]) };
}

/// True if the eight bytes at `address` can be read. Async-signal-safe.
///
/// rt_sigprocmask(2) reads the new mask before it checks `how`: EFAULT says that it cannot, EINVAL that it can.
pub(super) fn is_readable(address: usize) -> bool {
    // SAFETY: no mask has the number -1, so that the call changes nothing. It writes no old mask to address 0.
    let result = unsafe { call(libc::SYS_rt_sigprocmask, [usize::MAX, address, 0, 8, 0, 0]) };
    // Address 0 stands for no mask.
    address != 0 && result != Err(libc::EFAULT)
}

/// Lets other threads run.
pub(super) fn give_way() {
    // SAFETY: sched_yield(2) takes nothing.
    let _ = unsafe { call(libc::SYS_sched_yield, [0; 6]) };
}

/// Returns the number of this thread. Async-signal-safe.
pub(super) fn thread() -> usize {
    // SAFETY: gettid(2) takes nothing, and cannot fail.
    unsafe { call(libc::SYS_gettid, [0; 6]) }.unwrap_or(0)
}

/// Returns the base of FS (`ARCH_GET_FS`) or GS (`ARCH_GET_GS`) of this thread.
pub(super) fn segment_base(which: i32) -> u64 {
    let mut base = 0_u64;
    // SAFETY: the call writes eight bytes to `base`.
    let done = unsafe {
        call(libc::SYS_arch_prctl, [which as usize, (&raw mut base).expose_provenance(), 0, 0, 0, 0])
    };
    done.map_or(0, |_| base)
}

/// Reads a file to its end. Returns `None` for any failure.
pub(super) fn read_file(path: &CStr) -> Option<Vec<u8>> {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the path ends in a zero byte.
    let file = unsafe {
        call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr().expose_provenance(), flags, 0, 0, 0])
    }
    .ok()?;
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; PAGE_BYTES];
    let complete = loop {
        // SAFETY: the call writes at most the buffer's length to the buffer.
        match unsafe {
            call(libc::SYS_read, [file, buffer.as_mut_ptr().expose_provenance(), buffer.len(), 0, 0, 0])
        } {
            Ok(0) => break true,
            Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(libc::EINTR) => {}
            Err(_) => break false,
        }
    };
    // SAFETY: the file was opened above, and nothing else has its number.
    let _ = unsafe { call(libc::SYS_close, [file, 0, 0, 0, 0, 0]) };
    complete.then_some(bytes)
}

/// Reads a symbolic link of at most a page. Returns `None` for any failure.
pub(super) fn read_link(path: &CStr) -> Option<Vec<u8>> {
    let mut buffer = [0_u8; PAGE_BYTES];
    let (link, to) = (path.as_ptr().expose_provenance(), buffer.as_mut_ptr().expose_provenance());
    // SAFETY: the path ends in a zero byte, and the call writes at most the buffer's length to the buffer.
    let count =
        unsafe { call(libc::SYS_readlinkat, [libc::AT_FDCWD as usize, link, to, buffer.len(), 0, 0]) }
            .ok()?;
    buffer.get(..count).map(<[u8]>::to_vec)
}
