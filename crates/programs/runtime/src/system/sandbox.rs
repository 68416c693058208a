//! Seccomp filters that refuse system calls of this library.
//!
//! A filter that the program loads is run here for each call that the library needs. The library makes none of those that are
//! refused, because some filters end the process for it: where it needs one, it ends the program with the reason. Filters that
//! another program loaded before exec(3) are known by the errors of calls.

use std::cell::Cell;
use std::ffi::{c_int, c_long, c_uint, c_ulong};
use std::sync::atomic::{AtomicU32, Ordering};

use gem_coherency_protocol::call;

use super::{filter, sys};

/// A system call of this library.
struct Needed {
    number: c_long,
    name: &'static [u8],
    /// Operands that the library passes; 1 for an address or a descriptor.
    operands: [u64; 6],
}

impl Needed {
    const fn new(number: c_long, name: &'static [u8], operands: [u64; 6]) -> Self {
        Self { number, name, operands }
    }
}

const SOCKET_KIND: u64 = (libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC) as u64;
const COOKIE: [u64; 6] = [1, libc::SOL_SOCKET as u64, libc::SO_COOKIE as u64, 1, 1, 0];
const SHARED: [u64; 6] = [0, 4096, libc::PROT_READ as u64, libc::MAP_SHARED as u64, 1, 0];

/// The calls without which no device can be used. The first ones are made for each request ([`EACH`]).
const NEEDED: [Needed; 11] = [
    Needed::new(libc::SYS_getpid, b"getpid(2)", [0; 6]),
    Needed::new(libc::SYS_rt_sigprocmask, b"rt_sigprocmask(2)", [libc::SIG_SETMASK as u64, 1, 1, 8, 0, 0]),
    Needed::new(libc::SYS_sendmsg, b"sendmsg(2)", [1, 1, libc::MSG_NOSIGNAL as u64, 0, 0, 0]),
    Needed::new(libc::SYS_recvmsg, b"recvmsg(2)", [1, 1, libc::MSG_CMSG_CLOEXEC as u64, 0, 0, 0]),
    Needed::new(libc::SYS_getsockopt, b"getsockopt(2)", COOKIE),
    Needed::new(libc::SYS_socket, b"socket(2)", [libc::AF_UNIX as u64, SOCKET_KIND, 0, 0, 0, 0]),
    Needed::new(libc::SYS_connect, b"connect(2)", [1, 1, size_of::<libc::sockaddr_un>() as u64, 0, 0, 0]),
    Needed::new(libc::SYS_newfstatat, b"newfstatat(2)", [libc::AT_FDCWD as u64, 1, 1, 0, 0, 0]),
    Needed::new(libc::SYS_mmap, b"mmap(2)", SHARED),
    Needed::new(libc::SYS_memfd_create, b"memfd_create(2)", [1, libc::MFD_CLOEXEC as u64, 0, 0, 0, 0]),
    Needed::new(libc::SYS_ftruncate, b"ftruncate(2)", [1, 4096, 0, 0, 0, 0]),
];

/// Number of calls at the beginning of [`NEEDED`] that each request makes.
const EACH: u32 = 4;

/// The calls that a filter of all threads refuses: one bit for each of [`NEEDED`].
static REFUSED: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The calls that a filter of this thread refuses.
    static OWN: Cell<u32> = const { Cell::new(0) };
}

/// Returns the calls that a known filter refuses.
fn refused() -> u32 {
    // Relaxed: a thread that loads a filter for all others knows nothing of their calls.
    REFUSED.load(Ordering::Relaxed) | OWN.get()
}

/// Returns whether a known filter refuses a call.
pub(crate) fn refuses(number: c_long) -> bool {
    let all = refused();
    all != 0 && NEEDED.iter().zip(0..).any(|(needed, bit)| needed.number == number && all & 1 << bit != 0)
}

/// Returns whether a known filter refuses calls that each request makes.
pub(crate) fn refuses_requests() -> bool {
    refused() & ((1 << EACH) - 1) != 0
}

/// Ends the program if a known filter refuses calls that each request makes.
pub(crate) fn require_requests() {
    let each = refused() & ((1 << EACH) - 1);
    if let Some(needed) = NEEDED.get(each.trailing_zeros() as usize) {
        give_up(needed.name);
    }
}

/// Makes a call that a device cannot be used without, by `make`.
///
/// # Errors
/// Those of `make`. If a filter refuses the call, the program ends.
pub(crate) fn needs<T>(number: c_long, make: impl FnOnce() -> Result<T, c_int>) -> Result<T, c_int> {
    let name =
        || NEEDED.iter().find(|needed| needed.number == number).map_or(b"".as_slice(), |needed| needed.name);
    if refuses(number) {
        give_up(name());
    }
    make().inspect_err(|&errno| {
        if is_by_filter(number, errno) {
            give_up(name());
        }
    })
}

/// Returns whether a call failed because of a filter.
fn is_by_filter(number: c_long, errno: c_int) -> bool {
    let is_of_path = [libc::SYS_connect, libc::SYS_newfstatat].contains(&number);
    let may_be = match errno {
        // It depends on the program's operands; without any mapping, no program is executed.
        _ if number == libc::SYS_mmap => false,
        libc::EPERM | libc::ENOSYS => true,
        // The path's permissions.
        libc::EACCES => !is_of_path,
        _ => false,
    };
    may_be && has_filter()
}

/// Returns whether this thread has a filter.
fn has_filter() -> bool {
    /// The mode of a thread with filters (seccomp(2)).
    const FILTER: usize = 2;
    // SAFETY: numbers.
    match unsafe { call!(libc::SYS_prctl, libc::PR_GET_SECCOMP, 0, 0, 0, 0) } {
        Ok(mode) => mode == FILTER,
        // The filter refuses this, too; EINVAL is a kernel without seccomp.
        Err(errno) => errno != libc::EINVAL,
    }
}

/// Ends the program because a filter refuses a call.
fn give_up(name: &[u8]) -> ! {
    sys::give_up(&[
        b"a seccomp filter refuses ",
        name,
        b", which a program on a software device needs: allow it, or switch the program's sandbox off",
    ])
}

/// Carries out a prctl(2) or seccomp(2) that loads a filter, and notes what it refuses; `None` if the call is another one.
pub(crate) fn load(number: c_long, operands: [usize; 6]) -> Option<Result<usize, c_int>> {
    let [first, second, third, fourth, fifth, _] = operands;
    let (mode, flags) = match (number, first as c_int) {
        (libc::SYS_prctl, libc::PR_SET_SECCOMP) => match second as c_uint {
            libc::SECCOMP_MODE_STRICT => (libc::SECCOMP_SET_MODE_STRICT, 0),
            libc::SECCOMP_MODE_FILTER => (libc::SECCOMP_SET_MODE_FILTER, 0),
            _ => return None,
        },
        (libc::SYS_seccomp, _) => (first as c_uint, second as c_ulong),
        _ => return None,
    };
    let refused = match mode {
        // All but read(2), write(2), exit(2) and rt_sigreturn(2).
        libc::SECCOMP_SET_MODE_STRICT => u32::MAX,
        libc::SECCOMP_SET_MODE_FILTER => refused_by(third),
        _ => return None,
    };
    let is_for_all = flags & libc::SECCOMP_FILTER_FLAG_TSYNC != 0 || is_only_thread();
    // SAFETY: the program's call, of which the kernel checks the operands.
    let done = unsafe { call!(number, first, second, third, fourth, fifth) };
    // Without a listener, a positive number is a thread that kept all from the filter.
    let has_listener = flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0;
    if done.is_ok_and(|result| result == 0 || has_listener) {
        if is_for_all {
            REFUSED.fetch_or(refused, Ordering::Relaxed);
        } else {
            OWN.set(OWN.get() | refused);
        }
    }
    Some(done)
}

/// Returns the calls that a filter refuses, by the address of its `struct sock_fprog`.
fn refused_by(program: usize) -> u32 {
    let runs = |needed: &Needed| filter::refuses(program, needed.number, &needed.operands);
    NEEDED.iter().zip(0..).filter(|(needed, _)| runs(needed)).fold(0, |all, (_, bit)| all | 1 << bit)
}

/// Returns whether the process has one thread.
fn is_only_thread() -> bool {
    // The kernel counts two links of a folder, and one for each thread (proc_task_getattr).
    sys::stat(libc::AT_FDCWD, c"/proc/self/task".as_ptr(), 0).is_ok_and(|folder| folder.st_nlink == 3)
}
