//! An entry of the table of requests: struct, permission and function of one request.

use gem_coherency::Errno;
use gem_coherency::error::Result;
use zerocopy::{FromBytes, Immutable, IntoBytes};

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
pub(super) fn with<T: FromBytes + IntoBytes + Immutable>(
    caller: &mut Caller<'_>,
    bytes: &mut [u8],
    run: impl FnOnce(&mut Caller<'_>, &mut T) -> Result<()>,
) -> Result<()> {
    let Ok((mut args, _)) = T::read_from_prefix(bytes) else { return refuse("ioctl", Errno::EFAULT) };
    let done = run(caller, &mut args);
    // Cannot fail: the struct was read from the same bytes.
    let _ = args.write_to_prefix(bytes);
    done
}
