//! System calls, by their numbers: libc's functions may be the ones of this library.

use std::ffi::{CStr, c_char, c_int, c_void};

use gem_coherency_protocol::call;

use super::path::{PATH_BYTES, Path};
use super::sandbox;

/// Returns the errno of this thread.
pub(crate) fn errno() -> c_int {
    // SAFETY: the address of this thread's errno.
    unsafe { *libc::__errno_location() }
}

/// Sets the errno of this thread; returns -1, as libc's functions do.
pub(crate) fn fail(errno: c_int) -> c_int {
    // SAFETY: the address of this thread's errno.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// Returns the result of a system call as libc's functions do.
pub(crate) fn done(result: Result<usize, c_int>) -> c_int {
    result.map_or_else(fail, |done| done as c_int)
}

/// Keeps the errno that the program had, while it lives.
pub(crate) struct KeepErrno(c_int);

impl KeepErrno {
    pub(crate) fn new() -> Self {
        Self(errno())
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        fail(self.0);
    }
}

/// Returns the process id; 0 if a filter of the program refuses it.
pub(crate) fn getpid() -> c_int {
    if sandbox::refuses(libc::SYS_getpid) {
        return 0;
    }
    // SAFETY: getpid(2) has no operands.
    unsafe { call!(libc::SYS_getpid) }.map_or(0, |pid| pid as c_int)
}

/// Reads a value of this process; `None` if its pages cannot be read.
///
/// # Safety
/// Every sequence of bytes is a value of `T`.
pub(crate) unsafe fn read_own<T: Copy>(from: *const T) -> Option<T> {
    let mut value = std::mem::MaybeUninit::<T>::uninit();
    let to = libc::iovec { iov_base: value.as_mut_ptr().cast(), iov_len: size_of::<T>() };
    let from = libc::iovec { iov_base: from.cast_mut().cast(), iov_len: size_of::<T>() };
    // SAFETY: the kernel stores to `value` alone, and only reads at `from`, if it can.
    let done = unsafe {
        let (to, from) = (&raw const to, &raw const from);
        call!(libc::SYS_process_vm_readv, getpid(), to, 1, from, 1, 0)
    };
    // SAFETY: all bytes were stored, and are a value.
    (done == Ok(size_of::<T>())).then(|| unsafe { value.assume_init() })
}

/// Writes a value of this process; returns whether its pages can be written.
///
/// # Safety
/// The program asked for the value there.
pub(crate) unsafe fn write_own<T: Copy>(to: *mut T, value: &T) -> bool {
    // SAFETY: the caller's obligation.
    unsafe { store((&raw const *value).cast(), size_of::<T>(), to.cast()) }
}

/// Writes bytes of this process; returns whether their pages can be written.
///
/// # Safety
/// The program asked for the bytes there.
pub(crate) unsafe fn write_own_bytes(to: *mut u8, bytes: &[u8]) -> bool {
    // SAFETY: the caller's obligation.
    unsafe { store(bytes.as_ptr().cast(), bytes.len(), to.cast()) }
}

/// Copies memory of this process; returns whether it can be written.
///
/// # Safety
/// There are `len` bytes at `from`. The caller may store to `to`.
unsafe fn store(from: *const c_void, len: usize, to: *mut c_void) -> bool {
    let from = libc::iovec { iov_base: from.cast_mut(), iov_len: len };
    let to = libc::iovec { iov_base: to, iov_len: len };
    // SAFETY: the kernel only reads at `from`, and stores where the caller may store.
    let done = unsafe {
        let (to, from) = (&raw const to, &raw const from);
        call!(libc::SYS_process_vm_writev, getpid(), from, 1, to, 1, 0)
    };
    done == Ok(len)
}

/// Returns whether a C string that is short enough for a path can be read.
pub(crate) fn is_string(start: *const c_char) -> bool {
    const PIECE: usize = 64;
    let mut at = start.addr();
    let end = at.saturating_add(libc::PATH_MAX as usize);
    while at != 0 && at < end {
        // A piece lies in one page.
        let first = at & !(PIECE - 1);
        // SAFETY: any bytes are such an array.
        let piece = unsafe { read_own(std::ptr::with_exposed_provenance::<[u8; PIECE]>(first)) };
        let Some(bytes) = piece.as_ref().and_then(|piece| piece.get(at - first..)) else { return false };
        if bytes.contains(&0) {
            return true;
        }
        at = first + PIECE;
    }
    false
}

/// Returns a value of which all bytes are zero.
///
/// # Safety
/// They are a value of `T`.
pub(crate) unsafe fn zeroed<T>() -> T {
    // SAFETY: the caller's obligation.
    unsafe { std::mem::zeroed() }
}

/// Sets the signals that the thread has blocked.
pub(crate) fn set_mask(mask: u64) {
    mask_signals(libc::SIG_SETMASK, mask, &mut 0);
}

/// Lets other threads run.
pub(crate) fn give_way() {
    // SAFETY: sched_yield(2) has no operands.
    let _ = unsafe { call!(libc::SYS_sched_yield) };
}

/// Closes a descriptor.
pub(crate) fn close(fd: c_int) {
    gem_coherency_protocol::close(fd);
}

/// fcntl(2) with a number.
///
/// # Errors
/// Its errno.
pub(crate) fn fcntl(fd: c_int, command: c_int, argument: c_int) -> Result<c_int, c_int> {
    // SAFETY: the commands that are used here take a number.
    unsafe { call!(libc::SYS_fcntl, fd, command, argument) }.map(|done| done as c_int)
}

/// fstatat(2).
///
/// # Errors
/// Its errno; EFAULT for a bad pointer; EPERM, without a call, if a filter of the program refuses it.
pub(crate) fn stat(folder: c_int, path: *const c_char, flags: c_int) -> Result<libc::stat, c_int> {
    if sandbox::refuses(libc::SYS_newfstatat) {
        return Err(libc::EPERM);
    }
    // SAFETY: all zeroes is a stat.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel checks `path`, and `stat` has room.
    unsafe { call!(libc::SYS_newfstatat, folder, path, &raw mut stat, flags) }?;
    Ok(stat)
}

/// Reads where a symbolic link leads into an empty path.
///
/// # Errors
/// Those of readlink(2); ENAMETOOLONG.
pub(crate) fn read_link(link: &CStr, path: &mut Path) -> Result<(), c_int> {
    let mut bytes = [0_u8; PATH_BYTES];
    // SAFETY: the link is a C string, and there is room for `bytes`.
    let len = unsafe { call!(libc::SYS_readlink, link.as_ptr(), bytes.as_mut_ptr(), bytes.len()) }?;
    if path.push(bytes.get(..len).unwrap_or_default()) { Ok(()) } else { Err(libc::ENAMETOOLONG) }
}

/// Returns the cookie of a socket.
///
/// # Errors
/// Those of [`gem_coherency_protocol::cookie`]; EPERM, without a call, if a filter of the program refuses it.
pub(crate) fn cookie(fd: c_int) -> Result<u64, c_int> {
    if sandbox::refuses(libc::SYS_getsockopt) {
        return Err(libc::EPERM);
    }
    gem_coherency_protocol::cookie(fd)
}

/// Returns the cookie of a descriptor in a call that programs make on files of devices, and on no other sockets.
///
/// # Errors
/// Those of [`cookie`]. If a filter refuses a socket's cookie, or what a request needs, the program ends.
pub(crate) fn cookie_of_file(fd: c_int) -> Result<u64, c_int> {
    let cookie = cookie(fd).or_else(|errno| {
        let refused = ![libc::EBADF, libc::ENOTSOCK].contains(&errno);
        let is_socket = |stat: libc::stat| stat.st_mode & libc::S_IFMT == libc::S_IFSOCK;
        if refused && stat(fd, c"".as_ptr(), libc::AT_EMPTY_PATH).is_ok_and(is_socket) {
            return sandbox::needs(libc::SYS_getsockopt, || gem_coherency_protocol::cookie(fd));
        }
        Err(errno)
    });
    cookie.inspect(|_| sandbox::require_requests())
}

/// Opens a connection to a UNIX socket.
///
/// # Errors
/// Those of socket(2) and connect(2); ENAMETOOLONG.
pub(crate) fn connect(path: &[u8]) -> Result<c_int, c_int> {
    // SAFETY: all zeroes is an address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The last byte ends the name.
    if path.len() >= address.sun_path.len() {
        return Err(libc::ENAMETOOLONG);
    }
    address.sun_path.iter_mut().zip(path).for_each(|(to, &from)| *to = from as c_char);
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: numbers.
    let fd = sandbox::needs(libc::SYS_socket, || unsafe { call!(libc::SYS_socket, libc::AF_UNIX, kind, 0) })?
        as c_int;
    let len = size_of_val(&address);
    // SAFETY: `address` has `len` bytes.
    let connect = || unsafe { call!(libc::SYS_connect, fd, &raw const address, len) };
    let connected = sandbox::needs(libc::SYS_connect, connect);
    connected.map(|_| fd).inspect_err(|_| close(fd))
}

/// Creates a memory file of `len` bytes.
///
/// # Errors
/// Those of memfd_create(2) and ftruncate(2).
pub(crate) fn memory_file(name: &CStr, len: usize) -> Result<c_int, c_int> {
    // SAFETY: the name is a C string.
    let create = || unsafe { call!(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) };
    let fd = sandbox::needs(libc::SYS_memfd_create, create)? as c_int;
    // SAFETY: numbers.
    let resize = || unsafe { call!(libc::SYS_ftruncate, fd, len) };
    sandbox::needs(libc::SYS_ftruncate, resize).map(|_| fd).inspect_err(|_| close(fd))
}

/// mmap(2).
///
/// # Errors
/// Its errno.
///
/// # Safety
/// With MAP_FIXED, what was mapped there is not used any more.
pub(crate) unsafe fn mmap(
    address: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: u64,
) -> Result<*mut c_void, c_int> {
    // SAFETY: the caller's obligation.
    let done = unsafe { call!(libc::SYS_mmap, address, len, protection, flags, fd, offset) };
    done.map(std::ptr::with_exposed_provenance_mut)
}

/// Maps a page of which a child of fork(2) gets zeroes.
///
/// # Errors
/// Those of mmap(2) and madvise(2).
pub(crate) fn page_that_is_wiped() -> Result<*mut c_void, c_int> {
    let (len, protection) = (4096, libc::PROT_READ | libc::PROT_WRITE);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping; nothing is replaced.
    unsafe {
        let page = mmap(std::ptr::null_mut(), len, protection, flags, -1, 0)?;
        call!(libc::SYS_madvise, page, len, libc::MADV_WIPEONFORK).map(|_| page)
    }
}

/// munmap(2).
///
/// # Errors
/// Its errno.
///
/// # Safety
/// The pages are not used any more.
pub(crate) unsafe fn munmap(address: *mut c_void, len: usize) -> Result<(), c_int> {
    // SAFETY: the caller's obligation.
    unsafe { call!(libc::SYS_munmap, address, len) }.map(drop)
}

/// The signals that the thread had blocked; the others are blocked, too, while this lives.
///
/// Those that an instruction raises stay: the kernel kills a thread that blocks them.
pub(crate) struct Blocked(u64);

impl Blocked {
    pub(crate) fn new() -> Self {
        let raised = [libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP, libc::SIGFPE, libc::SIGILL, libc::SIGSYS];
        let mask = !raised.iter().fold(0_u64, |mask, signal| mask | 1 << (signal - 1));
        let mut before = 0_u64;
        mask_signals(libc::SIG_BLOCK, mask, &mut before);
        Self(before)
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        mask_signals(libc::SIG_SETMASK, self.0, &mut 0);
    }
}

/// rt_sigprocmask(2) with the kernel's set of 64 signals; none if a filter of the program refuses it.
fn mask_signals(how: c_int, mask: u64, before: &mut u64) {
    if sandbox::refuses(libc::SYS_rt_sigprocmask) {
        return;
    }
    let size = size_of::<u64>();
    // SAFETY: both sets have the 8 bytes of a kernel's set.
    let _ = unsafe { call!(libc::SYS_rt_sigprocmask, how, &raw const mask, &raw mut *before, size) };
}

/// Writes pieces of a message to standard error.
pub(crate) fn say(pieces: &[&[u8]]) {
    let prefix = b"gem-coherency: ".as_slice();
    for piece in std::iter::once(&prefix).chain(pieces).chain([&b"\n".as_slice()]) {
        // SAFETY: the piece has these bytes.
        let _ = unsafe { call!(libc::SYS_write, 2, piece.as_ptr(), piece.len()) };
    }
}

/// Ends the process with a message, because it could not be intercepted.
pub(crate) fn give_up(pieces: &[&[u8]]) -> ! {
    say(pieces);
    exit(2)
}

/// Ends the process, without the functions that it gave to atexit(3).
pub(crate) fn exit(status: c_int) -> ! {
    loop {
        // SAFETY: ends the process.
        let _ = unsafe { call!(libc::SYS_exit_group, status) };
    }
}

/// Raises SIGABRT in this thread; ends the process also if the program handles the signal and goes on.
pub(crate) fn abort() {
    let abort = 1_u64 << (libc::SIGABRT - 1);
    // SAFETY: numbers.
    let raise = || unsafe {
        let thread = call!(libc::SYS_gettid).unwrap_or(0);
        let _ = call!(libc::SYS_tgkill, getpid(), thread, libc::SIGABRT);
    };
    mask_signals(libc::SIG_UNBLOCK, abort, &mut 0);
    raise();
    // SAFETY: all zeroes is the kernel's `struct sigaction` of SIG_DFL.
    let default = [0_u64; 4];
    // SAFETY: the struct has four words, and the set 8 bytes.
    let _ = unsafe {
        let none = std::ptr::null_mut::<u64>();
        call!(libc::SYS_rt_sigaction, libc::SIGABRT, default.as_ptr(), none, size_of::<u64>())
    };
    raise();
}

/// Returns the bytes of a C string; empty for null.
///
/// # Safety
/// `string` is null, or a C string that lives as long as the result.
pub(crate) unsafe fn bytes<'a>(string: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's obligation.
    if string.is_null() { b"" } else { unsafe { CStr::from_ptr(string) }.to_bytes() }
}
