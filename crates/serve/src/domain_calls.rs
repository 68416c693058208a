//! The calls by which programs move objects between domains, by the place in the program, with the number of useless ones.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use gem_coherency_sim::{DomainCall, Soft};
use gem_coherency_wire::Frame;

/// Frames of a call stack that must be equal for two calls to be of one place.
const SAME_FRAMES: usize = 4;

/// The calls of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainSite {
    /// The request, by its name in the uAPI header.
    pub call: &'static str,
    /// The call stack.
    pub stack: Vec<Frame>,
    /// Number of calls that made a difference, or for which that is not known.
    pub needed: u64,
    /// Number of calls without which the kernel would have done the same.
    pub useless: u64,
}

/// The calls of all programs.
#[derive(Debug, Default)]
pub(crate) struct DomainSites(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sites: Vec<DomainSite>,
    /// The sites of calls that are not judged yet, by the call's number.
    open: BTreeMap<u64, usize>,
    /// Calls of other threads, which ask for their places themselves.
    others: Vec<DomainCall>,
}

impl DomainSites {
    /// Adds the calls that a device logged, as far as this thread made them, and the judgements of all; `ask` finds the call
    /// stack of this thread's request.
    pub(crate) fn collect(&self, device: &Soft, ask: impl Fn() -> Vec<Frame>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.others.extend(device.domain_calls());
        let mut stack = None;
        for call in std::mem::take(&mut state.others) {
            state.add(call, || stack.get_or_insert_with(&ask).clone());
        }
    }

    /// Returns the places, in the order of their first calls.
    pub(crate) fn all(&self) -> Vec<DomainSite> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sites.clone()
    }
}

impl State {
    /// Adds a call, or its judgement. `ask` finds this thread's call stack.
    fn add(&mut self, call: DomainCall, ask: impl FnOnce() -> Vec<Frame>) {
        let known = self.open.remove(&call.number);
        let at = match known {
            Some(at) => at,
            None if call.thread == thread::current().id() => self.site(call.call, ask()),
            None => return self.others.push(call),
        };
        let Some(site) = self.sites.get_mut(at) else { return };
        // A call counts as needed until it is judged.
        site.needed += u64::from(known.is_none());
        match call.useful {
            Some(true) => {}
            Some(false) => {
                site.needed -= 1;
                site.useless += 1;
            }
            None => {
                self.open.insert(call.number, at);
            }
        }
    }

    /// Returns the number of the site of a call.
    fn site(&mut self, call: &'static str, stack: Vec<Frame>) -> usize {
        let top = |frames: &[Frame]| frames.iter().take(SAME_FRAMES).cloned().collect::<Vec<_>>();
        let is_same = |site: &DomainSite| site.call == call && top(&site.stack) == top(&stack);
        self.sites.iter().position(is_same).unwrap_or_else(|| {
            self.sites.push(DomainSite { call, stack, needed: 0, useless: 0 });
            self.sites.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u64, useful: Option<bool>) -> DomainCall {
        DomainCall { number, call: "SET_DOMAIN", useful, thread: thread::current().id() }
    }

    fn at(address: u64) -> Vec<Frame> {
        vec![Frame { module: "/bin/c".to_owned(), address }]
    }

    fn counts(state: &State) -> Vec<(u64, u64)> {
        state.sites.iter().map(|site| (site.needed, site.useless)).collect()
    }

    #[test]
    fn calls_are_counted_by_place_and_needed_until_they_are_judged() {
        let mut state = State::default();
        state.add(call(1, None), || at(1));
        state.add(call(2, Some(true)), || at(2));
        state.add(call(3, Some(false)), || at(1));
        assert_eq!(counts(&state), [(1, 1), (1, 0)]);
        state.add(call(1, Some(false)), || panic!("the place is known"));
        assert_eq!(counts(&state), [(0, 2), (1, 0)]);
        assert!(state.open.is_empty());
    }

    #[test]
    fn a_call_of_another_thread_waits_for_that_thread() {
        let other = thread::spawn(|| thread::current().id()).join().unwrap();
        let mut state = State::default();
        state.add(DomainCall { thread: other, ..call(1, Some(false)) }, || panic!("another thread's"));
        assert_eq!((counts(&state).len(), state.others.len()), (0, 1));
    }
}
