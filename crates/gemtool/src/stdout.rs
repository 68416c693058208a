//! Standard output for a command's results: reports an error if it cannot be written, also if it is closed.
//!
//! Rust's runtime opens `/dev/null` in place of a closed standard output, and the standard library ignores
//! `EBADF` from standard output. Both would lose the results without an error. The runtime's file looks the
//! same as the `/dev/null` that other programs pass on (opened for reading and writing by Python's
//! `subprocess.DEVNULL` and by `daemon(3)`), so a closed file can be detected only before the runtime starts.
//!
//! # Safety
//! [`look`] runs before `main`, in the only thread. It calls `fcntl`, which libc allows there, and stores to an atomic. It
//! uses nothing else of the standard library, does not allocate and does not unwind.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::libc;

/// Standard output was closed when the process started.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Makes libc call [`look`] before the runtime starts.
// SAFETY: the section holds pointers to functions of this type. libc passes arguments, which this function
// ignores.
#[unsafe(link_section = ".init_array")]
#[used]
static LOOK: extern "C" fn() = look;

/// Records whether standard output is closed.
extern "C" fn look() {
    // SAFETY: `F_GETFD` takes no pointer, and any number may be passed as a file descriptor.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Opens standard output again, as a file that reports every error.
///
/// # Errors
/// `EBADF` if it was closed; otherwise the kernel's.
pub fn open() -> io::Result<File> {
    if WAS_CLOSED.load(Ordering::Relaxed) {
        return Err(Errno::EBADF.into());
    }
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}
