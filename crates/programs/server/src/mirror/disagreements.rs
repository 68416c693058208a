//! A count of the requests that the kernel answers otherwise than the software device.

use std::collections::BTreeMap;

use gem_coherency::Errno;
use gem_coherency::platform::Driver;
use gem_coherency::sync::Mutex;

use crate::requests::name;

/// A request that the kernel and the software device answered differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The code that ioctl(2) takes.
    pub code: u32,
    /// The name in the kernel's headers; `None` for a request that no header has.
    pub name: Option<&'static str>,
    /// The errno of the software device; `None` if it accepted the request.
    pub software: Option<Errno>,
    /// The errno of the kernel; `None` if it accepted the request.
    pub kernel: Option<Errno>,
    /// How often this happened.
    pub count: u64,
}

/// A code, and the errnos of the software device and of the kernel; 0 for success.
type Key = (u32, i32, i32);

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Disagreements(Mutex<BTreeMap<Key, u64>>);

impl Disagreements {
    /// Counts the answers of the software device and of the kernel, if they differ.
    pub(super) fn count(&self, code: u32, software: Result<(), Errno>, kernel: Result<(), Errno>) {
        if software == kernel {
            return;
        }
        let number = |answer: Result<(), Errno>| answer.err().map_or(0, Errno::get);
        tracing::debug!(code = %format_args!("{code:#010x}"), ?software, ?kernel, "disagreement");
        let mut counts = self.0.lock();
        *counts.entry((code, number(software), number(kernel))).or_default() += 1;
    }

    /// Returns the counts, by code.
    pub(super) fn all(&self) -> Vec<Disagreement> {
        let errno = |number: i32| Some(number).filter(|&number| number != 0).map(Errno::new);
        let counts = self.0.lock();
        let row = |(&(code, software, kernel), &count): (&Key, &u64)| Disagreement {
            code,
            // A real device is one of i915.
            name: name(Driver::I915, code),
            software: errno(software),
            kernel: errno(kernel),
            count,
        };
        counts.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency_uapi::i915::DRM_IOCTL_I915_GEM_CREATE;

    #[test]
    fn only_different_answers_are_counted() {
        let (counts, code) = (Disagreements::default(), DRM_IOCTL_I915_GEM_CREATE.code);
        counts.count(code, Ok(()), Ok(()));
        counts.count(code, Err(Errno::EINVAL), Err(Errno::EINVAL));
        assert_eq!(counts.all(), []);
        counts.count(code, Err(Errno::EINVAL), Ok(()));
        counts.count(code, Ok(()), Err(Errno::ENOMEM));
        counts.count(code, Ok(()), Err(Errno::ENOMEM));
        let [accepted, refused] = &counts.all()[..] else { panic!("two rows") };
        assert_eq!((accepted.software, accepted.kernel, accepted.count), (None, Some(Errno::ENOMEM), 2));
        assert_eq!((refused.software, refused.kernel, refused.count), (Some(Errno::EINVAL), None, 1));
        assert_eq!(refused.name, Some("DRM_IOCTL_I915_GEM_CREATE"));
    }
}
