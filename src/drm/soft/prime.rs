//! dma-bufs: files that stand for objects, across the devices of one process.
//!
//! A dma-buf is the writing end of a pipe. The other end, kept here, tells two things that a file of
//! another kind would not: which pipe it is, for as long as the dma-buf is open anywhere, and when
//! its last copy is closed, which is when the object loses that reference.

use std::fs::File;
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::fstat;
use nix::unistd::pipe2;

use super::faults::Needs;
use super::object::Object;
use crate::error::{Error, Result};
use crate::policy::kernel::Event;
use crate::uapi::dma_buf::DMA_BUF_IOCTL_SYNC;
use crate::uapi::drm::{DRM_IOCTL_PRIME_FD_TO_HANDLE, DRM_IOCTL_PRIME_HANDLE_TO_FD};

/// A dma-buf that is open, as far as is known.
#[derive(Debug)]
struct Exported {
    device: u64,
    inode: u64,
    /// The reading end: at its end of file once the dma-buf is closed everywhere.
    closed: File,
    object: Arc<Object>,
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

/// A dma-buf of `object`.
///
/// # Errors
/// [`Error::Ioctl`] with what pipe2(2) and fstat(2) say: EMFILE, ENFILE.
pub(super) fn export(object: Arc<Object>) -> Result<OwnedFd> {
    let refuse = |errno| Error::Ioctl { request: DRM_IOCTL_PRIME_HANDLE_TO_FD.name, errno };
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).map_err(refuse)?;
    let stat = fstat(&reader).map_err(refuse)?;
    exported().push(Exported { device: stat.st_dev, inode: stat.st_ino, closed: File::from(reader), object });
    Ok(writer)
}

/// The object that a dma-buf stands for.
///
/// # Errors
/// EBADF, and EINVAL for a file that is no dma-buf of a software device.
pub(super) fn object(dma_buf: BorrowedFd<'_>) -> Result<Arc<Object>> {
    find(dma_buf, DRM_IOCTL_PRIME_FD_TO_HANDLE.name, Errno::EINVAL)
}

/// The size of the object behind a dma-buf, in bytes.
///
/// # Errors
/// ESPIPE for a file that is no dma-buf of a software device.
pub(super) fn size(dma_buf: BorrowedFd<'_>) -> Result<u64, Errno> {
    find(dma_buf, "lseek", Errno::ESPIPE).map(|object| object.size()).map_err(|error| error.errno())
}

/// Begins or ends a CPU access through a dma-buf, for the machine that exported it.
///
/// # Errors
/// ENOTTY for a file that is no dma-buf of a software device; ENOMEM, EFAULT for a purged object.
pub(super) fn sync(dma_buf: BorrowedFd<'_>, event: Event) -> Result<()> {
    let request = DMA_BUF_IOCTL_SYNC.name;
    let object = find(dma_buf, request, Errno::ENOTTY)?;
    object.system().enter(request, Needs::Memory)?;
    object.happen(&mut object.state(), request, event).map(drop)
}

/// The object behind `dma_buf`, or `otherwise`.
fn find(dma_buf: BorrowedFd<'_>, request: &'static str, otherwise: Errno) -> Result<Arc<Object>> {
    let refuse = |errno| Error::Ioctl { request, errno };
    let stat = fstat(dma_buf).map_err(refuse)?;
    exported()
        .iter()
        .find(|one| one.device == stat.st_dev && one.inode == stat.st_ino)
        .map(|one| Arc::clone(&one.object))
        .ok_or(refuse(otherwise))
}
