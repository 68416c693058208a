//! The events of a thread from the beginning of a call to its end.

use crate::kernel_trace::Call;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::Access;

use super::row::Shape;

/// A flush that was seen.
#[derive(Clone, Debug)]
pub(super) struct SeenOne {
    pub object: Option<u64>,
    pub shape: Shape,
    /// For copied bytes, the number of bytes.
    pub bytes: u64,
    pub time_ns: u64,
    pub tid: u32,
    pub comm: String,
}

/// A flush that the rules predict.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub object: u64,
    pub shape: Shape,
    pub event: Event,
    pub rule: Rule,
    pub call: Option<&'static str>,
}

/// A call in progress, or a moment outside of all calls in which pages are acquired or released.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The call; `None` outside of all calls.
    pub call: Option<Call>,
    /// The object that it concerns.
    pub subject: Option<u64>,
    /// Objects that got pages.
    pub acquired: Vec<u64>,
    /// Objects passed to the GPU.
    pub used: Vec<(u64, Access)>,
    /// The predictions so far.
    pub expected: Vec<Expected>,
    /// The last decision on each object.
    pub decided: Vec<(u64, Event, Rule)>,
    /// The flushes seen.
    pub seen: Vec<SeenOne>,
}

impl Window {
    /// Creates the window of a call.
    pub(super) fn of(call: Call) -> Self {
        Self { call: Some(call), ..Self::default() }
    }

    /// Returns the call's name.
    pub(super) fn name(&self) -> Option<&'static str> {
        self.call.map(Call::name)
    }

    /// Returns whether it concerns `object`, too.
    pub(super) fn touches(&self, object: u64) -> bool {
        self.subject == Some(object)
            || self.acquired.contains(&object)
            || self.used.iter().any(|&(used, _)| used == object)
    }

    /// Returns whether nothing happened in it.
    pub(super) fn is_empty(&self) -> bool {
        self.acquired.is_empty() && self.expected.is_empty() && self.seen.is_empty()
    }

    /// Adds a flush; the pieces of copied bytes count as one.
    pub(super) fn see(&mut self, seen: SeenOne) {
        match self.seen.last_mut() {
            Some(last)
                if seen.shape == Shape::Bytes && (last.shape, last.object) == (seen.shape, seen.object) =>
            {
                last.bytes = last.bytes.saturating_add(seen.bytes);
            }
            Some(_) | None => self.seen.push(seen),
        }
    }

    /// Takes the prediction that a seen flush fulfils.
    pub(super) fn fulfil(&mut self, object: u64, shape: Shape) -> Option<Expected> {
        let is = |expected: &Expected| expected.object == object && expected.shape == shape;
        let at = self.expected.iter().position(is)?;
        let found = self.expected.remove(at);
        // Bytes are flushed before and after the copy; both are seen as one flush.
        if shape == Shape::Bytes {
            self.expected.retain(|expected| !is(expected));
        }
        Some(found)
    }

    /// Returns the last decision on `object`.
    pub(super) fn decision(&self, object: u64) -> Option<(Event, Rule)> {
        let found = self.decided.iter().rfind(|&&(decided, _, _)| decided == object);
        found.map(|&(_, event, rule)| (event, rule))
    }
}
