//! A count of the requests of all programs, with the errnos that they got.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use gem_coherency::{Errno, uapi};

/// Bits of a code that the size of its struct does not change: type, number.
const IDENTITY: u32 = 0xffff;

/// A request, how often it was made, and how often it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCount {
    /// The code that ioctl(2) takes.
    pub code: u32,
    /// The name in the kernel's headers; `None` for a request that no header has.
    pub name: Option<&'static str>,
    /// How often it was made.
    pub count: u64,
    /// The errnos that it got, with their numbers.
    pub errors: Vec<(Errno, u64)>,
}

/// The counts of one request.
#[derive(Clone, Debug, Default)]
struct Row {
    count: u64,
    errors: BTreeMap<i32, u64>,
}

/// The counts by code.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<BTreeMap<u32, Row>>);

impl Requests {
    /// Counts a request.
    pub(crate) fn count(&self, code: u32, done: Result<i32, Errno>) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.entry(code).or_default();
        row.count += 1;
        if let Err(errno) = done {
            *row.errors.entry(errno.get()).or_default() += 1;
        }
    }

    /// Returns the counts, by code.
    pub(crate) fn all(&self) -> Vec<RequestCount> {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter()
            .map(|(&code, row)| RequestCount {
                code,
                name: name(code),
                count: row.count,
                errors: row.errors.iter().map(|(&errno, &count)| (Errno::new(errno), count)).collect(),
            })
            .collect()
    }
}

/// Returns the name of a request; programs of older headers pass shorter structs.
pub(crate) fn name(code: u32) -> Option<&'static str> {
    let exact = uapi::ioctls().find(|&(_, known)| known == code);
    let similar = || uapi::ioctls().find(|&(_, known)| (known ^ code) & IDENTITY == 0);
    exact.or_else(similar).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_beside_all() {
        let requests = Requests::default();
        let code = uapi::i915::DRM_IOCTL_I915_GEM_CREATE.code;
        requests.count(code, Ok(0));
        requests.count(code, Err(Errno::ENOMEM));
        requests.count(code, Err(Errno::ENOMEM));
        requests.count(7, Err(Errno::ENOTTY));
        let [unknown, create] = &requests.all()[..] else { panic!("two codes") };
        assert_eq!((create.name, create.count), (Some("DRM_IOCTL_I915_GEM_CREATE"), 3));
        assert_eq!(create.errors, [(Errno::ENOMEM, 2)]);
        assert_eq!((unknown.name, &unknown.errors[..]), (None, &[(Errno::ENOTTY, 1)][..]));
    }
}
