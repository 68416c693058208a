//! The system calls that the library carries out, each by the function that replaces libc's.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

use gem_coherency_protocol::call;

use super::{Call, as_kernel, process, signals};
use crate::hooks::files::{attributes, folders, open, resolve, stat, volumes};
use crate::hooks::processes::exec;
use crate::hooks::{descriptors, memory, requests};
use crate::mapped::mappings;
use crate::paths::{self, Redirected};
use crate::system::{sandbox, sys};

/// The parts of `struct open_how`.
type OpenHow = [u64; 3];

/// Returns whether a call may have to be carried out here.
pub(super) fn concerns(number: c_long) -> bool {
    const PATHS: [c_long; 20] = [
        libc::SYS_open,
        libc::SYS_creat,
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_stat,
        libc::SYS_lstat,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_access,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_readlink,
        libc::SYS_readlinkat,
        libc::SYS_chdir,
        libc::SYS_statfs,
        libc::SYS_getxattr,
        libc::SYS_lgetxattr,
        libc::SYS_listxattr,
        libc::SYS_llistxattr,
        libc::SYS_getcwd,
    ];
    const FILES: [c_long; 9] = [
        libc::SYS_close,
        libc::SYS_close_range,
        libc::SYS_dup2,
        libc::SYS_dup3,
        libc::SYS_ioctl,
        libc::SYS_lseek,
        libc::SYS_fstat,
        libc::SYS_getdents64,
        libc::SYS_fstatfs,
    ];
    const MEMORY: [c_long; 7] = [
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_pkey_mprotect,
        libc::SYS_remap_file_pages,
    ];
    const PROCESSES: [c_long; 11] = [
        libc::SYS_fork,
        libc::SYS_vfork,
        libc::SYS_clone,
        libc::SYS_clone3,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_io_uring_setup,
        libc::SYS_prctl,
        libc::SYS_seccomp,
    ];
    PATHS.contains(&number)
        || FILES.contains(&number)
        || MEMORY.contains(&number)
        || PROCESSES.contains(&number)
}

/// Carries a call out; returns its result, a negative errno for an error. `None` is a call that is the kernel's.
pub(super) fn carry_out(call: &mut Call<'_>) -> Option<isize> {
    match call.number {
        libc::SYS_open
        | libc::SYS_creat
        | libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_access
        | libc::SYS_readlink
        | libc::SYS_chdir
        | libc::SYS_statfs
        | libc::SYS_getxattr
        | libc::SYS_lgetxattr
        | libc::SYS_listxattr
        | libc::SYS_llistxattr => named(call, libc::AT_FDCWD, call.address(0)),
        libc::SYS_openat
        | libc::SYS_openat2
        | libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_faccessat
        | libc::SYS_faccessat2
        | libc::SYS_readlinkat => named(call, call.number(0), call.address(1)),
        libc::SYS_close
        | libc::SYS_close_range
        | libc::SYS_dup2
        | libc::SYS_dup3
        | libc::SYS_ioctl
        | libc::SYS_lseek
        | libc::SYS_fstat
        | libc::SYS_getdents64
        | libc::SYS_fstatfs
        | libc::SYS_getcwd => of_descriptor(call),
        libc::SYS_mmap
        | libc::SYS_munmap
        | libc::SYS_mremap
        | libc::SYS_mprotect
        | libc::SYS_madvise
        | libc::SYS_pkey_mprotect
        | libc::SYS_remap_file_pages => of_memory(call),
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => process::create(call),
        libc::SYS_execve | libc::SYS_execveat => execute(call),
        libc::SYS_rt_sigaction => signals::action(call),
        libc::SYS_rt_sigprocmask => signals::mask(call),
        libc::SYS_prctl | libc::SYS_seccomp => {
            let done = sandbox::load(call.number, call.operands)?;
            Some(done.map_or_else(|errno| -(errno as isize), |result| result as isize))
        }
        // As on a kernel without it: requests in its queues could not be seen.
        libc::SYS_io_uring_setup => Some(-(libc::ENOSYS as isize)),
        _ => None,
    }
}

/// Returns whether a path can be read, and leads to a node, a file or a folder of the server.
fn leads_here(folder: c_int, path: *const c_char) -> bool {
    if !sys::is_string(path) {
        return false;
    }
    // SAFETY: it is a C string.
    let (redirected, text) = unsafe { (Redirected::below(folder, path), sys::bytes(path)) };
    let is_node = |stat: libc::stat| stat.st_mode & libc::S_IFMT == libc::S_IFSOCK;
    redirected.is_ours()
        || paths::of_descriptor(text).is_some()
        // Nodes, and files of a device, are sockets.
        || sys::stat(folder, path, if text.is_empty() { libc::AT_EMPTY_PATH } else { 0 }).is_ok_and(is_node)
}

/// Carries a call with a path out.
fn named(call: &Call<'_>, folder: c_int, path: *const c_char) -> Option<isize> {
    if !leads_here(folder, path) {
        return None;
    }
    // SAFETY: the path is a C string; the kernel checks the other operands.
    Some(as_kernel(unsafe {
        match call.number {
            libc::SYS_open => open::open(path, call.number(1), call.number(2) as libc::mode_t) as isize,
            libc::SYS_creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                open::open(path, flags, call.number(1) as libc::mode_t) as isize
            }
            libc::SYS_openat => {
                open::openat(folder, path, call.number(2), call.number(3) as libc::mode_t) as isize
            }
            libc::SYS_openat2 => {
                let [flags, mode, resolve] = sys::read_own::<OpenHow>(call.address(2))?;
                if resolve != 0 {
                    call.refuse(b"openat2(2) with rules for the path");
                }
                open::openat(folder, path, flags as c_int, mode as libc::mode_t) as isize
            }
            libc::SYS_stat => stat::stat(path, call.address(1)) as isize,
            libc::SYS_lstat => stat::lstat(path, call.address(1)) as isize,
            libc::SYS_newfstatat => stat::fstatat(folder, path, call.address(2), call.number(3)) as isize,
            libc::SYS_statx => {
                let (flags, mask) = (call.number(2), call.number(3) as c_uint);
                stat::statx(folder, path, flags, mask, call.address(4)) as isize
            }
            libc::SYS_access => folders::access(path, call.number(1)) as isize,
            libc::SYS_faccessat => folders::faccessat(folder, path, call.number(2), 0) as isize,
            libc::SYS_faccessat2 => folders::faccessat(folder, path, call.number(2), call.number(3)) as isize,
            libc::SYS_readlink | libc::SYS_readlinkat => {
                let first = if call.number == libc::SYS_readlink { 1 } else { 2 };
                // The kernel refuses a negative size as it does 0.
                let size = call.number(first + 1).max(0) as usize;
                folders::readlinkat(folder, path, call.address(first), size)
            }
            libc::SYS_chdir => resolve::chdir(path) as isize,
            libc::SYS_statfs => volumes::statfs(path, call.address(1)) as isize,
            libc::SYS_getxattr => attributes::getxattr(path, call.address(1), call.address(2), call.word(3)),
            libc::SYS_lgetxattr => {
                attributes::lgetxattr(path, call.address(1), call.address(2), call.word(3))
            }
            libc::SYS_listxattr => attributes::listxattr(path, call.address(1), call.word(2)),
            libc::SYS_llistxattr => attributes::llistxattr(path, call.address(1), call.word(2)),
            _ => return None,
        }
    }))
}

/// Carries a call with a descriptor out.
fn of_descriptor(call: &Call<'_>) -> Option<isize> {
    let fd = call.number(0);
    // SAFETY: the kernel checks the operands.
    Some(as_kernel(unsafe {
        match call.number {
            libc::SYS_close => descriptors::close(fd) as isize,
            libc::SYS_close_range => {
                descriptors::close_range(fd as c_uint, call.number(1) as c_uint, call.number(2)) as isize
            }
            libc::SYS_dup2 => descriptors::dup2(fd, call.number(1)) as isize,
            libc::SYS_dup3 => descriptors::dup3(fd, call.number(1), call.number(2)) as isize,
            libc::SYS_ioctl if requests::is_ours(fd, call.word(1) as u64) => {
                requests::ioctl(fd, call.word(1) as u64, call.address(2)) as isize
            }
            libc::SYS_lseek if sys::cookie(fd).is_ok() => {
                requests::lseek(fd, call.word(1) as libc::off64_t, call.number(2)) as isize
            }
            libc::SYS_fstat => stat::fstat(fd, call.address(1)) as isize,
            libc::SYS_fstatfs => volumes::fstatfs(fd, call.address(1)) as isize,
            libc::SYS_getdents64 => return Some(entries(call)),
            libc::SYS_getcwd => return Some(current(call)),
            _ => return None,
        }
    }))
}

/// getdents64(2): nodes are character devices.
fn entries(call: &Call<'_>) -> isize {
    let (buffer, size): (*mut u8, _) = (call.address(1), call.number(2));
    // SAFETY: the kernel checks the buffer.
    let done = unsafe { call!(libc::SYS_getdents64, call.number(0), buffer, size) };
    let len = match done {
        // The end of the folder: the kernel has not checked the buffer.
        Ok(0) => return 0,
        Ok(len) => len,
        Err(errno) => return -(errno as isize),
    };
    // SAFETY: the kernel stored entries of so many bytes.
    let mut rest = unsafe { std::slice::from_raw_parts_mut(buffer, len) };
    while let [_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, low, high, ..] = *rest {
        let end = usize::from(u16::from_ne_bytes([low, high]));
        let Some((entry, next)) = rest.split_at_mut_checked(end).filter(|(entry, _)| !entry.is_empty())
        else {
            break;
        };
        if let Some([.., kind]) = entry.get_mut(..19) {
            let is_socket = *kind == libc::DT_SOCK;
            let name = entry.get(19..).unwrap_or_default();
            if is_socket && folders::is_node(name) {
                entry[18] = libc::DT_CHR;
            }
        }
        rest = next;
    }
    len as isize
}

/// getcwd(2): the server's folder is not shown.
fn current(call: &Call<'_>) -> isize {
    let buffer: *mut u8 = call.address(0);
    // SAFETY: the kernel checks the buffer.
    match unsafe { call!(libc::SYS_getcwd, buffer, call.word(1)) } {
        // SAFETY: the kernel stored so many bytes, with the zero at the end.
        Ok(len) => folders::without_root(unsafe { std::slice::from_raw_parts_mut(buffer, len) }) as isize,
        Err(errno) => -(errno as isize),
    }
}

/// Carries a call with pages out.
fn of_memory(call: &Call<'_>) -> Option<isize> {
    let (address, len): (*mut c_void, _) = (call.address(0), call.word(1));
    let overlaps = || mappings::overlap(address.addr(), len.max(1));
    // SAFETY: the program gives up the pages, as it says.
    Some(as_kernel(unsafe {
        match call.number {
            libc::SYS_mmap => {
                let (protection, flags) = (call.number(2), call.number(3));
                let offset = call.word(5) as libc::off64_t;
                memory::mmap(address, len, protection, flags, call.number(4), offset).addr() as isize
            }
            libc::SYS_munmap => memory::munmap(address, len) as isize,
            libc::SYS_mremap => {
                let (new_len, flags) = (call.word(2), call.number(3));
                memory::mremap(address, len, new_len, flags, call.address(4)).addr() as isize
            }
            libc::SYS_mprotect => memory::mprotect(address, len, call.number(2)) as isize,
            libc::SYS_madvise => memory::madvise(address, len, call.number(2)) as isize,
            libc::SYS_pkey_mprotect if overlaps() => call.refuse(b"pkey_mprotect(2) of an object's pages"),
            libc::SYS_remap_file_pages if overlaps() => {
                call.refuse(b"remap_file_pages(2) of an object's pages")
            }
            _ => return None,
        }
    }))
}

/// Executes a program; returns if that fails.
fn execute(call: &mut Call<'_>) -> Option<isize> {
    let is_relative = call.number == libc::SYS_execveat;
    let path: *const c_char = call.address(usize::from(is_relative));
    if !sys::is_string(path) {
        return None;
    }
    if let Some(state) = &mut call.state {
        // The new program inherits the mask. A handler that runs now and an exec that fails would leave no frame to return
        // by; the exec is the next call.
        sys::set_mask(*state.mask());
    }
    // SAFETY: the path is a C string, and the program passes arrays, as to the kernel.
    let done = unsafe {
        if is_relative {
            exec::execveat(call.number(0), path, call.address(2), call.address(3), call.number(4))
        } else {
            exec::execve(path, call.address(1), call.address(2))
        }
    };
    Some(as_kernel(done as isize))
}
