//! Files of tracefs, with errors that name them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use gem_coherency::Errno;

use super::error::{Error, Result};

/// Usual mount points of tracefs.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Returns the mounted tracefs.
///
/// # Errors
/// [`Error`] if there is none, if access to it is denied, or if it has no kprobes.
pub(super) fn find() -> Result<PathBuf> {
    let mut denied = None;
    for mount in MOUNTS {
        let path = Path::new(mount).join("kprobe_events");
        match fs::metadata(&path) {
            Ok(_) => return Ok(PathBuf::from(mount)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => denied = Some((path, error)),
            Err(_) => {}
        }
    }
    Err(match denied {
        Some((path, error)) => failed("find", &path, &error),
        None => {
            Error { action: "find", path: Path::new(MOUNTS[0]).join("kprobe_events"), errno: Errno::ENOENT }
        }
    })
}

/// Writes `text` to the file in one call: tracefs takes one command per call.
///
/// # Errors
/// [`Error`].
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let written =
        OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| failed("write", path, &error))
}

/// Appends the command `text`; a write from the start would remove other processes' definitions.
///
/// # Errors
/// [`Error`].
pub(super) fn append(path: &Path, text: &str) -> Result<()> {
    let written =
        OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| failed("write", path, &error))
}

/// Returns the file's text.
///
/// # Errors
/// [`Error`].
pub(super) fn read(path: &Path) -> Result<String> {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|error| failed("read", path, &error))
}

/// Opens a file for nonblocking reads.
///
/// # Errors
/// [`Error`].
pub(super) fn open_nonblocking(path: &Path) -> Result<File> {
    let opened = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    opened.map_err(|error| failed("read", path, &error))
}

/// Waits for the lock on the directory, which excludes other processes as long as the file is open.
///
/// # Errors
/// [`Error`].
pub(super) fn lock(directory: &Path) -> Result<File> {
    let locked = File::open(directory).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| failed("lock", directory, &error))
}

/// Takes the lock without waiting; `None` if another process holds it.
///
/// # Errors
/// [`Error`].
pub(super) fn try_lock(directory: &Path) -> Result<Option<File>> {
    let file = File::open(directory).map_err(|error| failed("lock", directory, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed("lock", directory, &error)),
    }
}

/// Creates the error of `action` on `path`.
pub(super) fn failed(action: &'static str, path: &Path, error: &io::Error) -> Error {
    let errno = error.raw_os_error().map_or(Errno::EIO, Errno::new);
    Error { action, path: path.to_owned(), errno }
}
