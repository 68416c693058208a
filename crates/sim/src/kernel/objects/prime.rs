//! dma-bufs as files of this process, for the typed requests.
//!
//! A dma-buf is the write end of a pipe. The read end, kept here, identifies the pipe for as long as the
//! dma-buf is open anywhere, and reports when its last copy is closed, which drops that reference to the
//! object; other kinds of files offer neither. A simulated process needs no such files: its descriptors hold
//! the dma-buf itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, MutexGuard};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use nix::fcntl::OFlag;
use nix::libc::{dev_t, ino_t};
use nix::sys::stat::fstat;
use nix::unistd::pipe2;

use super::dma_buf::Opened;
use gem_coherency::error::{Error, Result};
use gem_coherency::fork::PerProcess;
use gem_coherency_uapi::drm::DRM_IOCTL_PRIME_HANDLE_TO_FD;

/// A dma-buf that was open when last checked.
#[derive(Debug)]
struct Exported {
    /// The read end: at end of file once the dma-buf is closed everywhere.
    closed: File,
    dma_buf: Arc<Opened>,
}

impl Exported {
    fn is_open(&self) -> bool {
        // No data is ever written: EAGAIN as long as there is a writer.
        !matches!((&self.closed).read(&mut [0]), Ok(0))
    }
}

/// Identifies a pipe by device and inode. A pipe whose read end is open here keeps its inode.
type Pipe = (dev_t, ino_t);

/// The dma-bufs of the process's software devices.
#[derive(Debug, Default)]
struct Exports {
    files: BTreeMap<Pipe, Exported>,
    /// The number of entries at which closed ones are searched for again: twice the number open after the
    /// last search, so that the cost per request stays constant.
    look_at: usize,
}

static EXPORTS: PerProcess<Mutex<Exports>> = PerProcess::new();

impl Exports {
    fn insert(&mut self, pipe: Pipe, exported: Exported) {
        if self.files.len() >= self.look_at {
            self.forget_closed();
        }
        self.files.insert(pipe, exported);
    }

    /// Removes closed dma-bufs, dropping their references to objects.
    fn forget_closed(&mut self) {
        self.files.retain(|_, exported| exported.is_open());
        self.look_at = 2 * self.files.len() + 1;
    }
}

fn exports() -> MutexGuard<'static, Exports> {
    EXPORTS.get().lock()
}

/// Drops the references that closed dma-bufs hold to objects.
pub(crate) fn forget_closed() {
    exports().forget_closed();
}

/// Opens a file for `dma_buf`.
///
/// # Errors
/// [`Error::Ioctl`] with the errno of pipe2(2) or fstat(2): EMFILE, ENFILE.
pub(crate) fn open(dma_buf: Arc<Opened>) -> Result<OwnedFd> {
    let refuse = |errno| refused(DRM_IOCTL_PRIME_HANDLE_TO_FD.name, errno);
    let pipe = || pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK);
    let (reader, writer) = pipe()
        .or_else(|_| {
            forget_closed();
            pipe()
        })
        .map_err(refuse)?;
    let stat = fstat(&reader).map_err(refuse)?;
    exports().insert((stat.st_dev, stat.st_ino), Exported { closed: File::from(reader), dma_buf });
    Ok(writer)
}

/// Returns the error of a request during which a system call failed with `errno`.
fn refused(request: &'static str, errno: nix::errno::Errno) -> Error {
    Error::Ioctl { request, errno: Errno::new(errno as i32) }
}

/// Returns the dma-buf of a file; fails with `otherwise` if the file is not a dma-buf.
pub(crate) fn find(file: BorrowedFd<'_>, request: &'static str, otherwise: Errno) -> Result<Arc<Opened>> {
    let stat = fstat(file).map_err(|errno| refused(request, errno))?;
    let found =
        exports().files.get(&(stat.st_dev, stat.st_ino)).map(|exported| Arc::clone(&exported.dma_buf));
    found.ok_or(Error::Ioctl { request, errno: otherwise })
}
