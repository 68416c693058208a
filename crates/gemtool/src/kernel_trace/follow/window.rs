//! What happens in a thread from the beginning of a call to its end.

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
    /// Of copied bytes: how many.
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

/// A call under way, or a moment outside of all calls in which pages come or go.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The call; `None` outside of all.
    pub call: Option<Call>,
    /// The object that it is about.
    pub subject: Option<u64>,
    /// Objects that got pages.
    pub acquired: Vec<u64>,
    /// Objects that the GPU was handed.
    pub used: Vec<(u64, Access)>,
    /// What the rules predict so far.
    pub expected: Vec<Expected>,
    /// The last decision on an object.
    pub decided: Vec<(u64, Event, Rule)>,
    /// What was seen.
    pub seen: Vec<SeenOne>,
}

impl Window {
    /// The window of a call.
    pub(super) fn of(call: Call) -> Self {
        Self { call: Some(call), ..Self::default() }
    }

    /// The call's name.
    pub(super) fn name(&self) -> Option<&'static str> {
        self.call.map(Call::name)
    }

    /// Whether it is about `object`, too.
    pub(super) fn touches(&self, object: u64) -> bool {
        self.subject == Some(object)
            || self.acquired.contains(&object)
            || self.used.iter().any(|&(used, _)| used == object)
    }

    /// Whether nothing happened in it.
    pub(super) fn is_empty(&self) -> bool {
        self.acquired.is_empty() && self.expected.is_empty() && self.seen.is_empty()
    }

    /// Adds a flush; copied bytes are flushed piece by piece, and make one.
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

    /// Takes the prediction that `seen` fulfils.
    pub(super) fn fulfil(&mut self, object: u64, shape: Shape) -> Option<Expected> {
        let is = |expected: &Expected| expected.object == object && expected.shape == shape;
        let at = self.expected.iter().position(is)?;
        let found = self.expected.remove(at);
        // Bytes are flushed before and after they are copied: seen, that is one.
        if shape == Shape::Bytes {
            self.expected.retain(|expected| !is(expected));
        }
        Some(found)
    }

    /// What was decided on `object` last.
    pub(super) fn decision(&self, object: u64) -> Option<(Event, Rule)> {
        let found = self.decided.iter().rfind(|&&(decided, _, _)| decided == object);
        found.map(|&(_, event, rule)| (event, rule))
    }
}
