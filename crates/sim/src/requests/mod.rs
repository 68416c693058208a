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
//! * [`legacy`]: obsolete requests of any subject.
//! * [`table`]: all of these by number.
//! * [`extensions`]: the chains of extensions that several requests take.

mod exec;
mod extensions;
mod gem;
mod kms;
mod legacy;
mod query;
mod sync;
mod table;

use gem_coherency::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::SimDevice;
use crate::display::masters::permit;
use crate::process::files::Files;
use crate::process::memory::Memory;
use crate::refuse::refuse;
use crate::sync::progress::{Patience, RESTART};
pub(super) use gem::caching::number as caching_number;
pub(super) use gem::dma_buf::{ioctl as dma_buf_ioctl, lseek as lseek_dma_buf, mmap as mmap_dma_buf};
pub(super) use gem::madvise::number as madvise_number;
pub(super) use gem::map::{mmap, number as mmap_number};
use gem_coherency::error::Result;
pub(super) use kms::{CrtcChange, Cursor, Flip, modes_of};
pub(super) use sync::sync_file::ioctl as sync_file_ioctl;

/// The caller of a request: the device's file, and the process's memory and files.
#[derive(Debug)]
pub(super) struct Caller<'a> {
    pub(super) device: &'a SimDevice,
    pub(super) memory: &'a mut Memory,
    pub(super) files: &'a mut Files,
    pub(super) patience: &'a Patience,
}

impl Caller<'_> {
    /// Copies the struct at `address` in (`copy_from_user`).
    ///
    /// # Errors
    /// EFAULT.
    fn get<T: FromBytes + IntoBytes>(&self, request: &'static str, address: u64) -> Result<T> {
        let mut value = T::new_zeroed();
        let bytes = value.as_mut_bytes();
        if self.memory.read(address, bytes) < bytes.len() {
            return refuse(request, Errno::EFAULT);
        }
        Ok(value)
    }

    /// Copies `bytes` to `address` (`copy_to_user`).
    ///
    /// # Errors
    /// EFAULT.
    fn put(&mut self, request: &'static str, address: u64, bytes: &[u8]) -> Result<()> {
        if self.memory.write(address, bytes) < bytes.len() { refuse(request, Errno::EFAULT) } else { Ok(()) }
    }
}

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
    let entry = table::find(code & 0xff, caller.device.system.machine.kernel).ok_or(Errno::EINVAL)?;
    let size = |code: u32| (code >> 16 & 0x3fff) as usize;
    let copied = |way| if code & entry.code & way == 0 { 0 } else { size(code) };
    let (len_in, len_out) = (copied(IOC_IN), copied(IOC_OUT));
    let mut args = vec![0; size(entry.code).max(len_in).max(len_out)];
    if caller.memory.read(argument, &mut args[..len_in]) < len_in {
        return Err(Errno::EFAULT);
    }
    let system = &caller.device.system;
    system.gpu.look(system);
    let faults = system.faults.saved();
    let done = permit(caller.device, entry.allowed)
        .and_then(|()| (entry.run)(caller, &mut args).map_err(|error| error.errno()));
    if done == Err(RESTART) {
        caller.device.system.faults.restore(faults);
        return Err(RESTART);
    }
    if caller.memory.write(argument, &args[..len_out]) < len_out {
        return Err(Errno::EFAULT);
    }
    done.map(|()| 0)
}

/// Calls `run` with the struct at the start of `bytes` and writes it back, also after an error.
fn with<T: FromBytes + IntoBytes + Immutable>(
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
