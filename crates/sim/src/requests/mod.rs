//! The raw requests, as ioctl(2) takes them, checked in the kernel's order.
//!
//! Each request is a function of its uAPI struct; it reads and writes the caller's memory at the addresses in
//! the struct. The typed requests of [`gem_coherency::backend::Drm`] call the same lower-level functions, so
//! every check exists once. The entry point is [`ioctl`] (`drm_ioctl`).
//!
//! * [`gem`]: objects, from their creation to their last handle.
//! * [`exec`]: submissions, and the contexts and address spaces that they use.
//! * [`kms`]: display objects, framebuffers and dumb buffers, and the device's master.
//! * [`sync`]: fences by handle and as files, and waits.
//! * [`query`]: what the device is and has.
//! * [`xe`]: the requests of xe, which has the others of DRM in common with i915.
//! * [`legacy`]: obsolete requests of any subject.
//! * [`table`]: all of these by number.
//! * [`entry`]: an entry of the table.
//! * [`caller`]: the device, memory and files of the process that makes a request.
//! * [`extensions`]: the chains of extensions that several requests take.

mod caller;
mod entry;
mod exec;
mod extensions;
mod gem;
mod kms;
mod legacy;
mod query;
mod sync;
mod table;
pub(crate) mod xe;

use gem_coherency::Errno;

use crate::display::masters::permit;
use crate::refuse::refuse;
use crate::sync::progress::RESTART;
pub(super) use caller::Caller;
pub(super) use exec::context::kept::Contexts;
pub(super) use gem::caching::number as caching_number;
pub(super) use gem::dma_buf::{ioctl as dma_buf_ioctl, lseek as lseek_dma_buf, mmap as mmap_dma_buf};
pub(super) use gem::madvise::number as madvise_number;
pub(super) use gem::map::{mmap, number as mmap_number};
pub(super) use kms::{CrtcChange, Cursor, FlipArgs, modes_of};
pub(super) use sync::sync_file::ioctl as sync_file_ioctl;
pub(super) use xe::tables::Tables;

/// `_IOC_WRITE` in a request's code: the struct is copied in.
const IOC_IN: u32 = 1 << 30;
/// `_IOC_READ`: the struct is copied back.
const IOC_OUT: u32 = 2 << 30;

/// Makes the request `code` with the struct at `argument` (`drm_ioctl`).
///
/// A struct shorter than the kernel's is extended with zeroes. If the code says so, it is copied back even if
/// the request fails.
///
/// # Errors
/// ENOTTY for another type of request; EINVAL for an unknown number; EFAULT for a bad address; EACCES without
/// permission; otherwise the request's own. [`RESTART`] if the request waits; then it changed nothing.
pub(super) fn ioctl(caller: &mut Caller<'_>, code: u32, argument: u64) -> Result<i32, Errno> {
    if (code >> 8) & 0xff != u32::from(b'd') {
        return Err(Errno::ENOTTY);
    }
    let entry = table::find(code & 0xff, caller.device.system.machine).ok_or(Errno::EINVAL)?;
    let size = |code: u32| (code >> 16 & 0x3fff) as usize;
    let copied = |way| if code & entry.code & way == 0 { 0 } else { size(code) };
    let (len_in, len_out) = (copied(IOC_IN), copied(IOC_OUT));
    let mut args = vec![0; size(entry.code).max(len_in).max(len_out)];
    if caller.memory.read(argument, &mut args[..len_in]) < len_in {
        return Err(Errno::EFAULT);
    }
    let system = &caller.device.system;
    caller.device.gpu.look();
    let faults = system.injected_faults.saved();
    let done = permit(caller.device, entry.allowed)
        .and_then(|()| (entry.run)(caller, &mut args).map_err(|error| error.errno()));
    if done == Err(RESTART) {
        caller.device.system.injected_faults.restore(faults);
        return Err(RESTART);
    }
    if caller.memory.write(argument, &args[..len_out]) < len_out {
        return Err(Errno::EFAULT);
    }
    done.map(|()| 0)
}
