//! Applies calls to the followed objects.

use crate::kernel_trace::{Call, CallEvent, TraceEvent};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Creation, Event, Step, step};

use super::follower::Follower;
use super::object::State;
use super::row::{Row, Shape, Verdict};
use super::window::{Expected, SeenOne, Window};

impl Follower {
    /// Handles the beginning, the end and the inner events of a call.
    pub(super) fn call(&mut self, seen: &TraceEvent, event: &CallEvent) {
        let tid = seen.tid;
        match event {
            CallEvent::Begin(call) => {
                self.counts.calls += 1;
                self.threads.entry(tid).or_default().calls.push(Window::of(*call));
            }
            CallEvent::End { call, result } if call == "framebuffer" => {
                if let Some((framebuffer, object)) = self.framing.remove(&tid).filter(|_| *result == 0) {
                    self.framebuffers.insert(framebuffer, object);
                    self.frame(tid, object, Event::AddFramebuffer);
                }
            }
            CallEvent::End { call, result } => {
                // The call may have begun before the trace.
                let is_this = |window: &mut Window| window.name() == Some(call);
                let window = self.threads.get_mut(&tid).and_then(|thread| thread.calls.pop_if(is_this));
                if let Some(window) = window {
                    self.close(window, *result, tid, &seen.comm, seen.time_ns);
                }
            }
            // A submission waits for an object only to access its bytes, through the CPU's cache or the
            // aperture.
            CallEvent::Prepared { object } | CallEvent::Waited { object } if self.is_submitting(tid) => {
                self.stop_following(*object, "a submission read it or wrote relocations into it");
            }
            CallEvent::Prepared { .. } => {}
            CallEvent::Waited { object } | CallEvent::IfDisplay { object } => {
                let window = self.window(tid);
                if window.call.is_some_and(|call| !call.events().is_empty()) {
                    window.subject.get_or_insert(*object);
                }
            }
            CallEvent::Unpaged { object } => {
                if let Some(object) = self.objects.get_mut(object) {
                    object.paged = false;
                }
                let mut window = std::mem::take(self.window(tid));
                self.apply(&mut window, *object, Event::Release);
                *self.window(tid) = window;
            }
            CallEvent::Binding { object } => {
                self.binding.insert(tid, *object);
            }
            CallEvent::Bound { binding } => {
                if let Some(object) = self.binding.remove(&tid) {
                    self.bindings.insert(*binding, object);
                }
            }
            CallEvent::Used { binding, access } => {
                let is_submission = self.is_submitting(tid);
                let object = self.bindings.get(binding).copied();
                let window = self.window(tid);
                // A submission to several engines uses each object several times.
                if let Some(object) = object.filter(|_| is_submission)
                    && !window.used.iter().any(|&(used, _)| used == object)
                {
                    window.used.push((object, *access));
                }
            }
            CallEvent::Shown { object } => self.stop_following(*object, "it was on screen"),
            CallEvent::Framebuffer { framebuffer, object } => {
                self.framing.insert(tid, (*framebuffer, *object));
            }
            CallEvent::FramebufferGone { framebuffer } => {
                if let Some(object) = self.framebuffers.remove(framebuffer) {
                    self.frame(tid, object, Event::RemoveFramebuffer);
                }
            }
            CallEvent::Pat { object, index } => {
                let index = u8::try_from(*index);
                if let Some(object) = self.objects.get_mut(object)
                    && let State::NoHandle { creation } = &mut object.state
                {
                    *creation = index.map(Creation::UserWithPat).map_err(|_| "its PAT index is out of range");
                }
            }
            CallEvent::Closed { object, handle } => {
                if let Some(object) = self.objects.get_mut(object) {
                    object.handle = Some(*handle);
                }
            }
            CallEvent::Suspended => self.lose_all("the device was suspended"),
        }
    }

    /// Returns whether the thread's innermost call is EXECBUFFER2.
    fn is_submitting(&mut self, tid: u32) -> bool {
        matches!(self.window(tid).call, Some(Call::Execbuffer { .. }))
    }

    /// Handles that an object got its first framebuffer, or lost its last one.
    fn frame(&mut self, tid: u32, address: u64, event: Event) {
        let Some(object) = self.objects.get_mut(&address) else { return };
        let before = object.framebuffers;
        object.framebuffers =
            if event == Event::AddFramebuffer { before.saturating_add(1) } else { before.saturating_sub(1) };
        if before == 0 || object.framebuffers == 0 {
            let mut window = std::mem::take(self.window(tid));
            self.apply(&mut window, address, event);
            *self.window(tid) = window;
        }
    }

    /// Applies `event` to the object, if it is followed; its flushes are then expected in `window`.
    fn apply(&mut self, window: &mut Window, address: u64, event: Event) -> bool {
        let Some(object) = self.objects.get_mut(&address) else { return true };
        let State::Followed(before) = object.state else { return true };
        let Ok(Step { next, effects, rule }) = step(self.caps, &self.rules, before, event) else {
            return false;
        };
        object.state = State::Followed(next);
        window.decided.push((address, event, rule));
        for effect in effects.iter() {
            if let Some(shape) = Shape::of(effect.action) {
                let call = window.name();
                window.expected.push(Expected { object: address, shape, event, rule: effect.rule, call });
            }
        }
        true
    }

    /// Ends a call: applies its events to the objects, and compares the flushes.
    pub(super) fn close(&mut self, mut window: Window, result: i32, tid: u32, comm: &str, time_ns: u64) {
        let shared = |object: u64| {
            let mut others = self.threads.iter().filter(|&(&other, _)| other != tid);
            others.any(|(_, thread)| thread.calls.iter().any(|window| window.touches(object)))
        };
        let touched =
            window.subject.iter().chain(&window.acquired).chain(window.used.iter().map(|(used, _)| used));
        let lost: Vec<_> = touched.copied().filter(|&object| shared(object)).collect();
        for object in lost {
            self.stop_following(object, "two threads used it at once");
        }
        let about = window.subject.zip(window.call);
        if let Some((subject, call)) = about.filter(|_| result != 0)
            && self.may_have_begun(subject, call)
        {
            self.stop_following(subject, "a PREAD or PWRITE of it failed half-way");
        }
        let about = about.filter(|_| result == 0);
        if let Some((subject, call)) = about {
            if let Some(object) = self.objects.get_mut(&subject)
                && let Some(handle) = call.handle()
            {
                object.handle = Some(handle);
            }
            self.happen(&mut window, subject, &call.events(), (tid, comm, time_ns));
        }
        for (object, access) in window.used.clone() {
            self.apply(&mut window, object, Event::Exec(access));
        }
        for object in window.acquired.clone() {
            let is_done = about.is_some_and(|(subject, call)| subject == object && !call.events().is_empty())
                || window.used.iter().any(|&(used, _)| used == object);
            if !is_done {
                self.apply(&mut window, object, Event::Acquire);
            }
        }
        self.compare(window, tid, comm, time_ns);
    }

    /// Returns whether a failed call may have had a part of its effects.
    ///
    /// A transfer copies in pieces, each with its own flushes, and tries another path after one fails.
    /// A failed transfer has no effect only if the rules refuse it, or if it uses the page cache.
    fn may_have_begun(&self, subject: u64, call: Call) -> bool {
        let Some(State::Followed(before)) = self.objects.get(&subject).map(|object| &object.state) else {
            return false;
        };
        let begins = |event| {
            step(self.caps, &self.rules, *before, event).is_ok_and(|step| step.rule != Rule::PwritePageCache)
        };
        matches!(call, Call::Pread { .. } | Call::Pwrite { .. }) && call.events().into_iter().any(begins)
    }

    /// Applies one of `events` to the object that a call concerns: the one that was seen, or else the first.
    fn happen(&mut self, window: &mut Window, subject: u64, events: &[Event], at: (u32, &str, u64)) {
        let State::Followed(before) =
            self.objects.get(&subject).map_or(State::NotFollowed(""), |it| it.state.clone())
        else {
            return;
        };
        let seen =
            |shape| window.seen.iter().any(|flush| flush.object == Some(subject) && flush.shape == shape);
        let fits = |event: &&Event| {
            step(self.caps, &self.rules, before, **event).is_ok_and(|step| {
                let shapes: Vec<_> = step.effects.actions().filter_map(Shape::of).collect();
                [Shape::Whole, Shape::Bytes].iter().all(|&shape| shapes.contains(&shape) == seen(shape))
            })
        };
        let Some(&event) = events.iter().find(fits).or(events.first()) else { return };
        if self.apply(window, subject, event) {
            return;
        }
        let (tid, comm, time_ns) = at;
        let rule = step(self.caps, &self.rules, before, event).err().map(|refusal| refusal.rule);
        let done = SeenOne {
            object: Some(subject),
            shape: Shape::Done,
            bytes: 0,
            time_ns,
            tid,
            comm: comm.to_owned(),
        };
        let row = self.row(done, window.name());
        self.push(None, Row { event: Some(event), rule, verdict: Verdict::Unpredicted, ..row });
        self.stop_following(subject, "the kernel made a call that the rules refuse");
    }
}
