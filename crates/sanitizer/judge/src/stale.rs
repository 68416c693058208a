//! Lines that agents made stale: by object, and by the last write.

use std::collections::BTreeMap;

use gem_coherency::backend::Drm as _;
use gem_coherency::sync::Mutex;
use gem_coherency::units::LineRange;
use gem_coherency_protocol::Frame;
use gem_coherency_server::StaleLines;
use gem_coherency_sim::{MadeStale, SimDevice};

/// The objects of which lines became stale.
#[derive(Debug, Default)]
pub(crate) struct StaleObjects {
    objects: Mutex<BTreeMap<u64, Written>>,
    lines: Mutex<StaleLines>,
}

/// The last write by which an object's lines became stale.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) device: String,
    pub(crate) stale: MadeStale,
    /// The call stack of the request that showed it.
    pub(crate) request: Vec<Frame>,
    /// The loads since then.
    pub(crate) found: Vec<FoundLoad>,
}

/// Loads of stale lines by one place.
#[derive(Debug)]
pub(crate) struct FoundLoad {
    /// The call stack.
    pub(crate) load: Vec<Frame>,
    /// As [`Finding::platforms`](crate::findings::Finding::platforms).
    pub(crate) platforms: Vec<&'static str>,
    /// The finding's index if it was new.
    pub(crate) finding: Option<usize>,
}

impl StaleObjects {
    /// Returns the lines of an object that became stale so far.
    pub(crate) fn lines_of(&self, object: u64) -> Vec<LineRange> {
        self.lines.lock().of(object)
    }

    /// Notes a write by which lines became stale, and the call stack of the request that showed it.
    pub(crate) fn wrote(&self, device: &SimDevice, stale: MadeStale, request: Vec<Frame>) {
        self.lines.lock().add(stale.object, &stale.lines);
        let (object, device) = (stale.object, device.name().to_owned());
        self.objects.lock().insert(object, Written { device, stale, request, found: Vec::new() });
    }

    /// Calls `act` with the last write to an object, if there is one.
    pub(crate) fn with_write(&self, object: u64, act: impl FnOnce(&mut Written)) {
        if let Some(written) = self.objects.lock().get_mut(&object) {
            act(written);
        }
    }
}
