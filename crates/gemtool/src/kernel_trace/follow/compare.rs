//! Compares the flushes seen with the flushes predicted.

use crate::kernel_trace::TraceEvent;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Event;

use super::follower::Follower;
use super::object::State;
use super::row::{Row, Shape, Verdict};
use super::window::{Expected, SeenOne, Window};

impl Follower {
    /// Handles a `drm_clflush_sg`.
    pub(super) fn flush_pages(&mut self, seen: &TraceEvent, pages: u64, caller: &str) {
        let Some(address) = self.owners.get(&pages).copied() else {
            return self.see(seen, None, Shape::Whole, 0);
        };
        let is_deferred = caller == "clflush_work" && seen.comm.starts_with("kworker");
        if !is_deferred {
            return self.see(seen, Some(address), Shape::Whole, 0);
        }
        let Some(object) = self.objects.get_mut(&address).filter(|object| object.has_handle()) else {
            return;
        };
        let flush = one(seen, Some(address), Shape::Deferred, 0);
        match (object.awaited.pop_front(), &object.state) {
            (Some(expected), _) => self.fulfilled(flush, &expected),
            (None, State::NotFollowed(_)) => self.unpredicted(flush, None, None),
            // The call that requested it may not have returned yet.
            (None, State::Followed(_) | State::NoHandle { .. }) => object.early.push_back(flush),
        }
    }

    /// Adds a flush to the thread's window, unless it concerns the driver's own objects.
    pub(super) fn see(&mut self, seen: &TraceEvent, object: Option<u64>, shape: Shape, bytes: u64) {
        let found = object.and_then(|address| self.objects.get(&address));
        if found.is_some_and(|object| !object.has_handle()) {
            return;
        }
        self.window(seen.tid).see(one(seen, object, shape, bytes));
    }

    /// Compares the flushes that were seen with the expected ones.
    pub(super) fn compare(&mut self, mut window: Window, tid: u32, comm: &str, time_ns: u64) {
        for flush in std::mem::take(&mut window.seen) {
            let expected = flush.object.and_then(|object| window.fulfil(object, flush.shape));
            match expected {
                Some(expected) => self.fulfilled(flush, &expected),
                None => {
                    let decision = flush.object.and_then(|object| window.decision(object));
                    self.unpredicted(flush, window.name(), decision);
                }
            }
        }
        for expected in std::mem::take(&mut window.expected) {
            let Some(object) = self.objects.get_mut(&expected.object) else { continue };
            match object.state {
                State::Followed(_) => {}
                State::NoHandle { .. } | State::NotFollowed(_) => continue,
            }
            if expected.shape == Shape::Deferred {
                match object.early.pop_front() {
                    Some(flush) => self.fulfilled(flush, &expected),
                    None => object.awaited.push_back(expected),
                }
            } else {
                self.unseen(&expected, tid, comm, time_ns);
            }
        }
    }

    /// Decides on the worker's flushes at the end of the object or of the trace.
    pub(super) fn settle(&mut self, address: u64, time_ns: u64) {
        let Some(object) = self.objects.get_mut(&address) else { return };
        let (early, awaited) = (std::mem::take(&mut object.early), std::mem::take(&mut object.awaited));
        for flush in early {
            self.unpredicted(flush, None, None);
        }
        for expected in awaited {
            self.unseen(&expected, 0, "", time_ns);
        }
    }

    fn fulfilled(&mut self, flush: SeenOne, expected: &Expected) {
        let (event, rule, predicted) = (Some(expected.event), Some(expected.rule), Some(expected.shape));
        let object = flush.object;
        let row = self.row(flush, expected.call);
        self.push(object, Row { predicted, event, rule, ..row });
    }

    fn unpredicted(&mut self, flush: SeenOne, call: Option<&'static str>, decision: Option<(Event, Rule)>) {
        let why = match flush.object.and_then(|object| self.objects.get(&object)).map(|object| &object.state)
        {
            Some(State::Followed(_)) => None,
            Some(State::NotFollowed(why) | State::NoHandle { creation: Err(why) }) => Some(*why),
            Some(State::NoHandle { creation: Ok(_) }) => Some("it has no handle"),
            None if flush.shape == Shape::Wbinvd => {
                Some("not of one object: the device was suspended or resumed")
            }
            None => Some("it is older than the trace, or the driver's own"),
        };
        let verdict = if why.is_some() { Verdict::NotFollowed } else { Verdict::Unpredicted };
        let object = flush.object;
        let row = self.row(flush, call);
        let (event, rule) = decision.unzip();
        self.push(object, Row { event, rule, verdict, why, ..row });
    }

    fn unseen(&mut self, expected: &Expected, tid: u32, comm: &str, time_ns: u64) {
        let nothing = SeenOne {
            object: Some(expected.object),
            shape: expected.shape,
            bytes: 0,
            time_ns,
            tid,
            comm: comm.to_owned(),
        };
        let row = self.row(nothing, expected.call);
        let object = Some(expected.object);
        let (predicted, event, rule) = (Some(expected.shape), Some(expected.event), Some(expected.rule));
        self.push(object, Row { seen: None, predicted, event, rule, verdict: Verdict::Unseen, ..row });
    }

    /// Returns the row of a flush, with the object's data.
    pub(super) fn row(&self, flush: SeenOne, call: Option<&'static str>) -> Row {
        let object = flush.object.and_then(|object| self.objects.get(&object));
        let size = object.map(|object| object.size_bytes);
        Row {
            time_ns: flush.time_ns,
            tid: flush.tid,
            comm: flush.comm,
            call,
            object: object.map(|object| object.number),
            handle: object.and_then(|object| object.handle),
            bytes: if flush.shape == Shape::Bytes { Some(flush.bytes) } else { size },
            seen: Some(flush.shape),
            predicted: None,
            event: None,
            rule: None,
            verdict: Verdict::Predicted,
            why: None,
        }
    }

    /// Adds a row. After a mismatch the object's state is unknown, so later verdicts would be meaningless.
    pub(super) fn push(&mut self, object: Option<u64>, row: Row) {
        if let Some(object) = object.filter(|_| row.verdict.is_mismatch()) {
            self.stop_following(object, "there was a mismatch before");
        }
        self.counts.add(&row);
        self.rows.push(row);
    }
}

/// Describes a flush that was seen.
fn one(seen: &TraceEvent, object: Option<u64>, shape: Shape, bytes: u64) -> SeenOne {
    SeenOne { object, shape, bytes, time_ns: seen.time_ns, tid: seen.tid, comm: seen.comm.clone() }
}
