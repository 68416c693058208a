//! PREAD and PWRITE.

use std::borrow::Cow;
use std::sync::Arc;

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::objects::object::Object;
use crate::kernel::objects::transfer::{self, Sink, Source};
use crate::process::memory::{Memory, USER_END};
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency::platform::Call;
use gem_coherency::units::{ByteRange, PAGE_BYTES};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_PREAD, DRM_IOCTL_I915_GEM_PWRITE, drm_i915_gem_pread, drm_i915_gem_pwrite,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_PREAD, Everyone => pread;
    DRM_IOCTL_I915_GEM_PWRITE, Everyone => pwrite;
};

/// `i915_gem_pread_ioctl`.
pub(in crate::requests) fn pread(caller: &mut Caller<'_>, args: &mut drm_i915_gem_pread) -> Result<()> {
    let memory = Some(args.data_ptr);
    let request = DRM_IOCTL_I915_GEM_PREAD.name;
    match caller.device.transfer_ioctl(request, args.handle, args.offset, args.size, memory)? {
        None => Ok(()),
        Some((object, range)) => {
            let mut user = User { memory: caller.memory, first: args.data_ptr };
            transfer::pread(&object, range, &mut user, caller.patience)
        }
    }
}

/// `i915_gem_pwrite_ioctl`.
pub(in crate::requests) fn pwrite(caller: &mut Caller<'_>, args: &mut drm_i915_gem_pwrite) -> Result<()> {
    let memory = Some(args.data_ptr);
    let request = DRM_IOCTL_I915_GEM_PWRITE.name;
    match caller.device.transfer_ioctl(request, args.handle, args.offset, args.size, memory)? {
        None => Ok(()),
        Some((object, range)) => {
            object.settle();
            let mut user = User { memory: caller.memory, first: args.data_ptr };
            transfer::pwrite(&object, range, &mut user, caller.patience)
        }
    }
}

impl SimDevice {
    /// Checks a copy from or to `address`; returns the object and the range, or `None` for an empty copy.
    pub(crate) fn transfer_ioctl(
        &self,
        request: &'static str,
        handle: u32,
        offset: u64,
        size: u64,
        address: Option<u64>,
    ) -> Result<Option<(Arc<Object>, ByteRange)>> {
        self.system.enter(request, crate::kernel::injected_faults::Needs::Memory)?;
        self.check(request, Call::PreadPwrite)?;
        if size == 0 {
            return Ok(None);
        }
        if address.is_some_and(|address| !access_ok(self, address, size)) {
            return refuse(request, Errno::EFAULT);
        }
        let object = self.find(request, handle)?;
        match ByteRange::within(offset, size, object.size()) {
            Ok(range) => Ok(Some((object, range))),
            Err(_) => refuse(request, Errno::EINVAL),
        }
    }
}

/// The first kernel that accepts every address of the lower half as a user's (6014bc27561f).
const HALVES: KernelVersion = KernelVersion::new(6, 4);
/// The first kernel that checks against the actual end of user memory again (86e6b1547b3d).
const ENDS_AGAIN: KernelVersion = KernelVersion::new(6, 12);

/// Returns whether the range can be user memory (`access_ok`).
pub(super) fn access_ok(device: &SimDevice, address: u64, len: u64) -> bool {
    let kernel = device.system.machine.kernel;
    let end = if (HALVES..ENDS_AGAIN).contains(&kernel) { i64::MAX as u64 } else { USER_END };
    address.checked_add(len).is_some_and(|sum| sum <= end)
}

/// A process's memory, starting at an address.
struct User<'a> {
    memory: &'a mut Memory,
    first: u64,
}

impl Sink for User<'_> {
    const AT_ONCE: u64 = PAGE_BYTES;

    fn put(&mut self, at: u64, len: usize, fill: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<usize> {
        let mut bytes = vec![0; len];
        fill(&mut bytes)?;
        Ok(self.memory.write(self.first.saturating_add(at), &bytes))
    }
}

impl Source for User<'_> {
    const AT_ONCE: u64 = PAGE_BYTES;

    fn get(&mut self, at: u64, len: usize) -> Cow<'_, [u8]> {
        let mut bytes = vec![0; len];
        let read = self.memory.read(self.first.saturating_add(at), &mut bytes);
        bytes.truncate(read);
        Cow::Owned(bytes)
    }
}
