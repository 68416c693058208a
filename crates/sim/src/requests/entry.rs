//! An entry of the table of requests: struct, permission and function of one request.

use bytemuck::{Pod, bytes_of, pod_read_unaligned};
use gem_coherency::Errno;
use gem_coherency::error::Result;

use super::caller::Caller;
use crate::display::masters::Allowed;
use crate::refuse::refuse;

/// A request.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its code, with the kernel's size and directions.
    pub(super) code: u32,
    pub(super) allowed: Allowed,
    pub(super) run: fn(&mut Caller<'_>, &mut [u8]) -> Result<()>,
}

/// Builds a module's entries from `REQUEST, allowed => function`.
macro_rules! entries {
    ($($request:ident, $allowed:ident => $run:path;)+) => {
        &[$(crate::requests::entry::Entry {
            code: $request.code,
            allowed: crate::display::masters::Allowed::$allowed,
            run: |caller, bytes| crate::requests::entry::with(caller, bytes, $run),
        },)+]
    };
}

pub(super) use entries;

/// Calls `run` with the struct at the start of `bytes` and writes it back, also after an error.
pub(super) fn with<T: Pod>(
    caller: &mut Caller<'_>,
    bytes: &mut [u8],
    run: impl FnOnce(&mut Caller<'_>, &mut T) -> Result<()>,
) -> Result<()> {
    let Some(bytes) = bytes.get_mut(..size_of::<T>()) else { return refuse("ioctl", Errno::EFAULT) };
    let mut args = pod_read_unaligned(bytes);
    let done = run(caller, &mut args);
    bytes.copy_from_slice(bytes_of(&args));
    done
}
