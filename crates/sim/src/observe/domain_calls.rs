//! The calls by which programs move objects to a domain of the CPU, as a trace has them.
//!
//! A call may only have waited if the GPU has used the object since a request waited for this object. On the software GPU
//! most batches are done at once, and on hardware they are not; so the state of the GPU says nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::Access;
use gem_coherency_uapi::dma_buf::DMA_BUF_IOCTL_SYNC;
use gem_coherency_uapi::i915::{DRM_IOCTL_I915_GEM_SET_DOMAIN, DRM_IOCTL_I915_GEM_SW_FINISH};

/// A call of a program that moves an object to a domain of the CPU, or ends its accesses there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeCall {
    /// The call's number, which no other call in this process has.
    pub number: u64,
    /// The request, by its name in the uAPI header.
    pub call: &'static str,
    /// The thread that made the call.
    pub thread: ThreadId,
    /// It may have waited for the GPU.
    pub waited: bool,
    /// Other devices use the object's pages.
    pub attached: bool,
}

impl MadeCall {
    /// Returns the call of a program after an event of an object; `None` if the program did not make it for the event.
    pub(crate) fn new(
        call: &'static str,
        event: Event,
        unwaited: &mut Unwaited,
        attached: bool,
    ) -> Option<Self> {
        is_domain_call(call).then(|| Self {
            // Relaxed: a unique number; it publishes no other data.
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            call,
            thread: thread::current().id(),
            waited: awaited(event).is_some_and(|access| unwaited.waited(access)),
            attached,
        })
    }
}

/// The number of the next call.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The uses of an object by the GPU that no request has waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unwaited {
    read: bool,
    written: bool,
}

impl Unwaited {
    /// Notes that the GPU uses the object.
    pub(crate) fn used(&mut self, access: Access) {
        match access {
            Access::Read => self.read = true,
            Access::Write => self.written = true,
        }
    }

    /// Notes that a request waited as for an access; returns whether there was anything to wait for.
    pub(crate) fn waited(&mut self, access: Access) -> bool {
        let written = std::mem::take(&mut self.written);
        match access {
            Access::Read => written,
            Access::Write => written | std::mem::take(&mut self.read),
        }
    }
}

/// Returns whether programs make this call to move an object to a domain of the CPU; other calls do so on their way.
fn is_domain_call(call: &str) -> bool {
    [DRM_IOCTL_I915_GEM_SET_DOMAIN.name, DRM_IOCTL_I915_GEM_SW_FINISH.name, DMA_BUF_IOCTL_SYNC.name]
        .contains(&call)
}

/// Returns the access for which the call of an event waits; `None` if it does not wait.
fn awaited(event: Event) -> Option<Access> {
    if event == Event::DmaBufEnd {
        return Some(Access::Read);
    }
    let (Event::SetDomainCpu(access)
    | Event::SetDomainGtt(access)
    | Event::SetDomainWc(access)
    | Event::DmaBufBegin(access)) = event
    else {
        return None;
    };
    Some(access)
}
