//! The error of a refused request.

use gem_coherency::Errno;
use gem_coherency::error::{Error, Result};

/// Returns `errno` as the error of `request`.
pub(crate) fn refuse<T>(request: &'static str, errno: Errno) -> Result<T> {
    Err(Error::Ioctl { request, errno })
}
