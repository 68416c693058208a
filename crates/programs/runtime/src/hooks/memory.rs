//! mmap(2), munmap(2) and mremap(2).

use std::ffi::{c_int, c_void};

use gem_coherency_protocol::{NOT_A_FILE, Request, call};

use super::replace;
use crate::mapped::{epochs, mappings, sites, stores, traps, user_memory};
use crate::server::exchange::Wish;
use crate::server::requests;
use crate::start;
use crate::system::sys::{self, KeepErrno};

/// Tells the server that pages are unmapped, and forgets them.
fn forget(address: usize, len: usize) {
    let Some(len) = len.checked_next_multiple_of(PAGE) else { return };
    let _errno = KeepErrno::new();
    epochs::drain();
    stores::leave(address, len);
    sites::end(address, len);
    mappings::remove(address, len);
    sites::forget(address, len);
    if let Some(server) = start::server() {
        // A server that is gone has no mappings.
        let _ = requests::make(server, &Request::Unmapped.with([address as u64, len as u64]));
    }
}

const PAGE: usize = 4096;

/// One past the last address of a program (`TASK_SIZE_MAX` with five page-table levels).
const USER_END: usize = (1 << 56) - PAGE;

replace! {
    /// Maps a file.
    fn mmap | mmap64 (
        address: *mut c_void, len: libc::size_t, protection: c_int, flags: c_int, fd: c_int,
        offset: libc::off64_t
    ) -> *mut c_void {
        let before = sys::errno();
        if flags & libc::MAP_ANONYMOUS == 0
            && let Some(server) = start::server()
            && let Ok(cookie) = sys::cookie_of_file(fd)
        {
            traps::look_again();
            let is_private = flags & libc::MAP_TYPE == libc::MAP_PRIVATE;
            let operands = [cookie, len as u64, protection as u64, offset as u64, is_private.into()];
            let request = Request::Map.with(operands);
            match requests::make_with(server, &request, Wish { address, flags }) {
                Ok((reply, descriptors)) => {
                    descriptors.close();
                    sys::fail(before);
                    return std::ptr::with_exposed_provenance_mut(reply.operands[0] as usize);
                }
                Err(errno) => {
                    sys::fail(if errno == NOT_A_FILE { libc::ENODEV } else { errno });
                    return libc::MAP_FAILED;
                }
            }
        }
        match sys::mmap(address, len, protection, flags, fd, offset as u64) {
            Ok(mapped) => {
                if flags & libc::MAP_FIXED != 0 && mappings::overlap(mapped.addr(), len) {
                    forget(mapped.addr(), len);
                }
                sys::fail(before);
                mapped
            }
            Err(errno) => {
                sys::fail(errno);
                libc::MAP_FAILED
            }
        }
    }

    /// Unmaps pages.
    fn munmap(address: *mut c_void, len: libc::size_t) -> c_int {
        // Before other threads can get the addresses, but not for a range that the kernel refuses.
        let fits = address.addr().checked_add(len).is_some_and(|end| end <= USER_END);
        if fits
            && len > 0
            && address.addr().is_multiple_of(PAGE) && mappings::overlap(address.addr(), len) {
            forget(address.addr(), len);
        }
        user_memory::unmap(address.addr(), len);
        sys::munmap(address, len).map_or_else(sys::fail, |()| 0)
    }

    /// Moves or resizes a mapping.
    fn mremap(
        address: *mut c_void, len: libc::size_t, new_len: libc::size_t, flags: c_int,
        new_address: *mut c_void
    ) -> *mut c_void {
        let ours = mappings::overlap(address.addr(), len.max(1));
        if ours && flags & libc::MREMAP_DONTUNMAP != 0 {
            sys::fail(libc::EINVAL);
            return libc::MAP_FAILED;
        }
        if ours && new_len > len {
            // i915's mappings cannot grow (VM_DONTEXPAND).
            sys::fail(libc::EFAULT);
            return libc::MAP_FAILED;
        }
        if ours {
            epochs::drain();
            // The records are of the old addresses.
            sites::unwatch(address.addr(), len);
        }
        let moved: *mut c_void = match call!(libc::SYS_mremap, address, len, new_len, flags, new_address) {
            Ok(moved) => std::ptr::with_exposed_provenance_mut(moved),
            Err(errno) => {
                sys::fail(errno);
                return libc::MAP_FAILED;
            }
        };
        if ours {
            let _errno = KeepErrno::new();
            let (old_len, new_len) = (len.next_multiple_of(PAGE), new_len.next_multiple_of(PAGE));
            mappings::shift(address.addr(), old_len, moved.addr(), new_len);
            let operands = [address.addr(), old_len, moved.addr(), new_len].map(|operand| operand as u64);
            if let Some(server) = start::server() {
                let _ = requests::make(server, &Request::Moved.with(operands));
            }
        } else if mappings::overlap(moved.addr(), new_len) {
            forget(moved.addr(), new_len);
        }
        moved
    }

    /// Changes the protection of pages.
    fn mprotect(address: *mut c_void, len: libc::size_t, protection: c_int) -> c_int {
        let done = sys::done(call!(libc::SYS_mprotect, address, len, protection));
        if done == 0
            && mappings::overlap(address.addr(), len)
            && let Some(server) = start::server()
        {
            let _errno = KeepErrno::new();
            let len = len.next_multiple_of(PAGE);
            epochs::drain();
            // A store or a load that the program forbids is its own.
            sites::lose(address.addr(), len);
            let operands = [address.addr() as u64, len as u64, protection as u64];
            let _ = requests::make(server, &Request::Protected.with(operands));
        }
        done
    }

    /// Gives advice about pages; i915's mappings (VM_IO, VM_PFNMAP, VM_DONTEXPAND) refuse some.
    fn madvise(address: *mut c_void, len: libc::size_t, advice: c_int) -> c_int {
        match refusal(advice) {
            Some(errno) if mappings::overlap(address.addr(), len) => sys::fail(errno),
            Some(_) | None => sys::done(call!(libc::SYS_madvise, address, len, advice)),
        }
    }
}

/// Returns the errno that advice gets for a mapping of i915 (`madvise_vma_behavior`).
fn refusal(advice: c_int) -> Option<c_int> {
    match advice {
        // vfs_fallocate of an anonymous inode.
        libc::MADV_REMOVE => Some(libc::ENODEV),
        libc::MADV_DONTNEED
        | libc::MADV_FREE
        | libc::MADV_DOFORK
        | libc::MADV_DODUMP
        | libc::MADV_HUGEPAGE
        | libc::MADV_COLD
        | libc::MADV_PAGEOUT
        | libc::MADV_POPULATE_READ
        | libc::MADV_POPULATE_WRITE => Some(libc::EINVAL),
        _ => None,
    }
}
