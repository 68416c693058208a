//! dma-bufs as files of this process, for the typed requests.
//!
//! A dma-buf is the writing end of a pipe. The other end, kept here, tells two things that a file of
//! another kind would not: which pipe it is, for as long as the dma-buf is open anywhere, and when
//! its last copy is closed, which is when the object loses that reference. A simulated process needs
//! no such files: its descriptors hold the dma-buf itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::fstat;
use nix::unistd::pipe2;

use super::dma_buf::DmaBuf;
use gem_coherency::error::{Error, Result};
use gem_coherency::fork::PerProcess;
use gem_coherency::uapi::drm::DRM_IOCTL_PRIME_HANDLE_TO_FD;

/// A dma-buf that is open, as far as is known.
#[derive(Debug)]
struct Exported {
    /// The reading end: at its end of file once the dma-buf is closed everywhere.
    closed: File,
    dma_buf: Arc<DmaBuf>,
}

impl Exported {
    fn is_open(&self) -> bool {
        // No data ever comes: EAGAIN as long as there is a writer.
        !matches!((&self.closed).read(&mut [0]), Ok(0))
    }
}

/// What tells pipes apart: device and inode. A pipe whose reading end is here keeps its inode.
type Pipe = (u64, u64);

/// The dma-bufs of the process's software devices.
#[derive(Debug, Default)]
struct Exports {
    files: BTreeMap<Pipe, Exported>,
    /// How many there are when closed ones are looked for again: twice as many as were open, so that a request
    /// does not pay for each.
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

    /// Lets those go that were closed, and their objects with them.
    fn forget_closed(&mut self) {
        self.files.retain(|_, exported| exported.is_open());
        self.look_at = 2 * self.files.len() + 1;
    }
}

fn exports() -> MutexGuard<'static, Exports> {
    EXPORTS.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the objects of dma-bufs go that were closed.
pub(super) fn forget_closed() {
    exports().forget_closed();
}

/// A file that stands for `dma_buf`.
///
/// # Errors
/// [`Error::Ioctl`] with what pipe2(2) and fstat(2) say: EMFILE, ENFILE.
pub(super) fn open(dma_buf: Arc<DmaBuf>) -> Result<OwnedFd> {
    let refuse = |errno| Error::Ioctl { request: DRM_IOCTL_PRIME_HANDLE_TO_FD.name, errno };
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

/// The dma-buf that a file stands for, or `otherwise` for a file that is none.
pub(super) fn find(file: BorrowedFd<'_>, request: &'static str, otherwise: Errno) -> Result<Arc<DmaBuf>> {
    let refuse = |errno| Error::Ioctl { request, errno };
    let stat = fstat(file).map_err(refuse)?;
    let found =
        exports().files.get(&(stat.st_dev, stat.st_ino)).map(|exported| Arc::clone(&exported.dma_buf));
    found.ok_or(refuse(otherwise))
}
