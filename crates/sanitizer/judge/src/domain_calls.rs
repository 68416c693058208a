//! The calls by which programs move objects between domains, by the place in the program, with the verdicts on them.

use std::collections::BTreeMap;
use std::sync::MutexGuard;
use std::thread::{self, ThreadId};

use gem_coherency::sync::Mutex;
use gem_coherency_protocol::Frame;

use crate::judging::JudgingPlatform;
use crate::judging::need::{Counts, Need};

/// Frames of a call stack that must be equal for two calls to be of one place.
const SAME_FRAMES: usize = 4;

/// The calls of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainSite {
    /// The request, by its name in the uAPI header.
    pub call: &'static str,
    /// The call stack.
    pub stack: Vec<Frame>,
    /// Numbers of calls by verdict: the greatest one of all platforms.
    pub counts: Counts,
    /// The platforms on which a call was needed: of those that judge the run.
    pub needed_on: Vec<&'static str>,
    /// The other platforms on which one was precautionary.
    pub precautionary_on: Vec<&'static str>,
}

/// A call, as far as it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DomainChange {
    /// The call's number, which no other call has.
    pub(crate) number: u64,
    /// The request, by its name in the uAPI header.
    pub(crate) call: &'static str,
    /// The thread that made the call.
    pub(crate) thread: ThreadId,
    /// The platforms on which it was needed.
    pub(crate) needed_on: Vec<JudgingPlatform>,
    /// The platforms on which it was precautionary, or is not judged yet.
    pub(crate) precautionary_on: Vec<JudgingPlatform>,
    /// It is not judged on one of them: a change with the same number follows.
    pub(crate) is_open: bool,
}

/// The calls of all programs.
#[derive(Debug, Default)]
pub(crate) struct DomainSites(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sites: Vec<DomainSite>,
    /// The calls that are not judged yet, by their numbers.
    open: BTreeMap<u64, Open>,
    /// Calls of other threads, which ask for their places themselves.
    others: Vec<DomainChange>,
}

/// A call that is not judged yet, which is counted as precautionary until then.
#[derive(Debug)]
struct Open {
    site: usize,
    change: DomainChange,
}

impl DomainChange {
    /// Returns the verdict on all platforms.
    pub(crate) fn need(&self) -> Need {
        match (self.needed_on.is_empty(), self.precautionary_on.is_empty()) {
            (false, _) => Need::Needed,
            (true, false) => Need::Precautionary,
            (true, true) => Need::Useless,
        }
    }
}

impl DomainSites {
    /// Adds calls, as far as this thread made them, and the judgements of all; `ask` finds the call stack of this
    /// thread's request.
    pub(crate) fn collect(&self, changes: Vec<DomainChange>, ask: impl Fn() -> Vec<Frame>) {
        let mut state = self.state();
        state.others.extend(changes);
        let mut stack = None;
        for change in std::mem::take(&mut state.others) {
            state.add(change, || stack.get_or_insert_with(&ask).clone());
        }
    }

    /// Returns the places, in the order of their first calls.
    pub(crate) fn all(&self) -> Vec<DomainSite> {
        let state = self.state();
        let mut sites = state.sites.clone();
        for open in state.open.values() {
            if let Some(site) = sites.get_mut(open.site) {
                site.add(&open.change);
            }
        }
        // A platform is named once.
        for site in &mut sites {
            site.precautionary_on.retain(|name| !site.needed_on.contains(name));
        }
        sites
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl DomainSite {
    /// Adds the platforms of a call.
    fn add(&mut self, change: &DomainChange) {
        let lists = [
            (&mut self.needed_on, &change.needed_on),
            (&mut self.precautionary_on, &change.precautionary_on),
        ];
        for (names, platforms) in lists {
            for platform in platforms {
                if !names.contains(&platform.name()) {
                    names.push(platform.name());
                }
            }
        }
    }
}

impl State {
    /// Adds a call, or its judgement. `ask` finds this thread's call stack.
    fn add(&mut self, change: DomainChange, ask: impl FnOnce() -> Vec<Frame>) {
        let known = self.open.remove(&change.number);
        let at = match &known {
            Some(open) => open.site,
            None if change.thread == thread::current().id() => self.site(change.call, ask()),
            None => return self.others.push(change),
        };
        let Some(site) = self.sites.get_mut(at) else { return };
        if let Some(open) = known {
            site.counts.remove(open.change.need());
        }
        site.counts.add(change.need());
        if change.is_open {
            self.open.insert(change.number, Open { site: at, change });
        } else {
            site.add(&change);
        }
    }

    /// Returns the number of the site of a call.
    fn site(&mut self, call: &'static str, stack: Vec<Frame>) -> usize {
        let top = |frames: &[Frame]| frames.iter().take(SAME_FRAMES).cloned().collect::<Vec<_>>();
        let is_same = |site: &DomainSite| site.call == call && top(&site.stack) == top(&stack);
        self.sites.iter().position(is_same).unwrap_or_else(|| {
            let (needed_on, precautionary_on) = (Vec::new(), Vec::new());
            self.sites.push(DomainSite {
                call,
                stack,
                counts: Counts::default(),
                needed_on,
                precautionary_on,
            });
            self.sites.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(number: u64, needed_on: &[&str], is_open: bool) -> DomainChange {
        let on: Vec<_> = needed_on.iter().map(|name| JudgingPlatform::by_name(name).unwrap()).collect();
        let (needed_on, precautionary_on) = if is_open { (Vec::new(), on) } else { (on, Vec::new()) };
        let thread = thread::current().id();
        DomainChange { number, call: "SET_DOMAIN", thread, needed_on, precautionary_on, is_open }
    }

    fn at(address: u64) -> Vec<Frame> {
        vec![Frame { module: "/bin/c".to_owned(), address }]
    }

    fn counts(sites: &DomainSites) -> Vec<([u64; 3], Vec<&'static str>, Vec<&'static str>)> {
        let of = |site: DomainSite| {
            let Counts { needed, precautionary, useless } = site.counts;
            ([needed, precautionary, useless], site.needed_on, site.precautionary_on)
        };
        sites.all().into_iter().map(of).collect()
    }

    #[test]
    fn calls_are_counted_by_place_and_precautionary_until_they_are_judged() {
        let sites = DomainSites::default();
        sites.collect(vec![change(1, &["glk"], true)], || at(1));
        sites.collect(vec![change(2, &["glk"], false)], || at(2));
        sites.collect(vec![change(3, &[], false)], || at(1));
        let second = ([1, 0, 0], vec!["glk"], vec![]);
        assert_eq!(counts(&sites), [([0, 1, 1], vec![], vec!["glk"]), second.clone()]);
        sites.collect(vec![change(1, &[], false)], || panic!("the place is known"));
        assert_eq!(counts(&sites), [([0, 0, 2], vec![], vec![]), second]);
        assert!(sites.state().open.is_empty());
    }

    #[test]
    fn a_place_has_the_platforms_of_all_its_calls() {
        let sites = DomainSites::default();
        sites.collect(vec![change(1, &["glk", "tgl"], true), change(2, &["jsl"], false)], || at(1));
        assert_eq!(counts(&sites), [([1, 1, 0], vec!["jsl"], vec!["glk", "tgl"])]);
        sites.collect(vec![change(1, &["tgl"], false)], || panic!("the place is known"));
        assert_eq!(counts(&sites), [([2, 0, 0], vec!["jsl", "tgl"], vec![])]);
    }

    #[test]
    fn a_call_of_another_thread_waits_for_that_thread() {
        let other = thread::spawn(|| thread::current().id()).join().unwrap();
        let sites = DomainSites::default();
        let of_other = DomainChange { thread: other, ..change(1, &[], false) };
        sites.collect(vec![of_other], || panic!("another thread's"));
        assert_eq!((counts(&sites).len(), sites.state().others.len()), (0, 1));
    }
}
