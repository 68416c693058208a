//! dma-bufs as files of this process, for the typed requests.
//!
//! A dma-buf is the writing end of a pipe. The other end, kept here, tells two things that a file of
//! another kind would not: which pipe it is, for as long as the dma-buf is open anywhere, and when
//! its last copy is closed, which is when the object loses that reference. A simulated process needs
//! no such files: its descriptors hold the dma-buf itself.

use std::fs::File;
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::fstat;
use nix::unistd::pipe2;

use super::share::DmaBuf;
use crate::error::{Error, Result};
use crate::uapi::drm::DRM_IOCTL_PRIME_HANDLE_TO_FD;

/// A dma-buf that is open, as far as is known.
#[derive(Debug)]
struct Exported {
    device: u64,
    inode: u64,
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

/// Every dma-buf of the process's software devices.
static EXPORTED: Mutex<Vec<Exported>> = Mutex::new(Vec::new());

/// The dma-bufs that are still open; the others give their objects up.
fn exported() -> MutexGuard<'static, Vec<Exported>> {
    let mut exported = EXPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    exported.retain(Exported::is_open);
    exported
}

/// Lets the objects of dma-bufs go that were closed.
pub(super) fn forget_closed() {
    drop(exported());
}

/// A file that stands for `dma_buf`.
///
/// # Errors
/// [`Error::Ioctl`] with what pipe2(2) and fstat(2) say: EMFILE, ENFILE.
pub(super) fn open(dma_buf: Arc<DmaBuf>) -> Result<OwnedFd> {
    let refuse = |errno| Error::Ioctl { request: DRM_IOCTL_PRIME_HANDLE_TO_FD.name, errno };
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).map_err(refuse)?;
    let stat = fstat(&reader).map_err(refuse)?;
    exported().push(Exported {
        device: stat.st_dev,
        inode: stat.st_ino,
        closed: File::from(reader),
        dma_buf,
    });
    Ok(writer)
}

/// The dma-buf that a file stands for, or `otherwise` for a file that is none.
pub(super) fn find(file: BorrowedFd<'_>, request: &'static str, otherwise: Errno) -> Result<Arc<DmaBuf>> {
    let refuse = |errno| Error::Ioctl { request, errno };
    let stat = fstat(file).map_err(refuse)?;
    exported()
        .iter()
        .find(|one| one.device == stat.st_dev && one.inode == stat.st_ino)
        .map(|one| Arc::clone(&one.dma_buf))
        .ok_or(refuse(otherwise))
}
