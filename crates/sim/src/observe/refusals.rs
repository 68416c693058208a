//! The log of requests of xe that a rule of caching refused.

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::Handle;
use gem_coherency::xe::Rule;

/// Number of entries that are kept; later ones are dropped.
const KEPT: usize = 1 << 12;

/// A request that a rule of caching refused ([`Rule::is_of_caching`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedRequest {
    /// The request, by its name in the uAPI header.
    pub request: &'static str,
    /// The errno.
    pub errno: Errno,
    /// The rule.
    pub rule: Rule,
    /// The object's number on the device; `None` for GEM_CREATE, and for the process's own pages.
    pub object: Option<u64>,
    /// The object's first handle.
    pub handle: Option<Handle>,
    /// Bytes of the object, or of the pages.
    pub size: u64,
}

/// The refusals on a device, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Vec<RefusedRequest>>);

impl Refusals {
    /// Adds a refusal, if a rule of caching is its reason.
    pub(crate) fn add(&self, refused: RefusedRequest) {
        let mut all = self.0.lock();
        if refused.rule.is_of_caching() && all.len() < KEPT {
            all.push(refused);
        }
    }

    /// Returns and clears the refusals.
    pub(crate) fn take(&self) -> Vec<RefusedRequest> {
        std::mem::take(&mut *self.0.lock())
    }
}
