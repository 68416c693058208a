//! GEM_MADVISE.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::kernel::objects::state::Changes;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::backend::{Advice, Retained};
use gem_coherency::error::Result;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_MADVISE, I915_MADV_DONTNEED, I915_MADV_WILLNEED, drm_i915_gem_madvise,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_MADVISE, Everyone => madvise;
};

/// `i915_gem_madvise_ioctl`.
fn madvise(caller: &mut Caller<'_>, args: &mut drm_i915_gem_madvise) -> Result<()> {
    args.retained = match caller.device.madvise_ioctl(args.handle, args.madv)? {
        Retained::Yes => 1,
        Retained::Purged => 0,
    };
    Ok(())
}

/// Returns the uAPI's number of an advice.
pub(crate) fn number(advice: Advice) -> u32 {
    match advice {
        Advice::WillNeed => I915_MADV_WILLNEED,
        Advice::DontNeed => I915_MADV_DONTNEED,
    }
}

impl SimDevice {
    /// Records whether the contents are needed; if not, an object without pages is purged at once.
    pub(crate) fn madvise_ioctl(&self, handle: u32, madv: u32) -> Result<Retained> {
        let request = DRM_IOCTL_I915_GEM_MADVISE.name;
        self.system.enter(request, Needs::Nothing)?;
        let advice = match madv {
            I915_MADV_WILLNEED => Advice::WillNeed,
            I915_MADV_DONTNEED => Advice::DontNeed,
            _ => return refuse(request, Errno::EINVAL),
        };
        let object = self.find(request, handle)?;
        object.settle();
        let mut state = object.state();
        if !state.purged && state.advice != advice {
            state.advice = advice;
            if advice == Advice::WillNeed {
                Changes::happened();
            }
        }
        if state.advice == Advice::DontNeed && !state.purged && !state.snapshot.pages {
            // Nothing is attached, so there is nothing to release first.
            object.purge(&mut state);
        }
        Ok(if state.purged { Retained::Purged } else { Retained::Yes })
    }
}
