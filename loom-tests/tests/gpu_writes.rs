//! A write of the GPU against who makes memory or the cache right for a reader.
//!
//! The GPU writes some time after it was told to, at the latest when somebody waits for it. Invariant: who
//! reads after a submission has ended waits for its write, and finds the lines that the write made dirty
//! in the LLC, or stale in the cache, still to be flushed or invalidated, also if somebody else flushed or
//! invalidated between the ioctl and the write; who does not wait because somebody did sees the write.
//! Preemption bound: none; 3 where a thread reads during the race what it must find. Time: 35 s.
#![cfg(loom)]

use std::convert::Infallible;

use gem_coherency::policy::Path;
use gem_coherency::tracking::{Completion, GpuWrites, State, WasPending, complete};
use gem_coherency::vocabulary::MmapMode;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use loom_tests::{Agent, Object, On, Unfenced, check, make_current, race};

/// The destination of the GPU's writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// Into the LLC: memory is old until somebody flushes.
    Llc,
    /// To memory: the CPU's cache is old until somebody invalidates.
    Memory,
}

/// An object of one line, and a GPU that was given a batch or not.
struct Bo {
    object: Object,
    to: To,
    batch: AtomicU64,
}

impl Bo {
    fn new(to: To) -> Self {
        Self { object: Object::new(1), to, batch: AtomicU64::new(0) }
    }

    /// The notes about a write.
    fn note(&self) {
        match self.to {
            To::Llc => {
                self.object.tracked.word().update(State::note_gpu_write);
            }
            To::Memory => self.object.tracked.stale().mark_all(),
        }
    }

    /// EXECBUFFER2; orders nothing by itself.
    fn ioctl(&self) {
        self.batch.store(1, Ordering::Relaxed);
    }

    /// GEM_WAIT: what was submitted is written now.
    fn kernel_wait(&self) -> Result<(), Infallible> {
        if self.batch.load(Ordering::Relaxed) == 1 {
            match self.to {
                To::Llc => self.object.memory.store(0, 1),
                To::Memory => self.object.memory.gpu_store(0, 1),
            }
        }
        Ok(())
    }

    /// Performs `access` through the engine.
    fn by_engine<T>(&self, access: impl FnOnce(Agent<'_>) -> T) -> T {
        let unfenced = Unfenced::default();
        let on = match self.to {
            To::Llc => On::BypassedLlc,
            To::Memory => On::NoLlc,
        };
        let wait = || {
            let Ok(()) = self.kernel_wait();
        };
        access(Agent { on, wait: &wait, ..Agent::new(&self.object, &unfenced) })
    }

    /// A submission as [`gem_coherency::device::Device::submit_with`] has it.
    fn submit(&self) {
        self.by_engine(|agent| agent.note_gpu_write());
        self.ioctl();
        self.by_engine(|agent| agent.note_gpu_write());
    }

    /// Makes everything right for a reader; returns what it reads.
    fn read(&self) -> u64 {
        let next = match self.to {
            To::Llc => Path::Display,
            To::Memory => Path::Cpu(MmapMode::Wb),
        };
        self.by_engine(|agent| make_current(&[agent], next).map(drop)).expect("nothing fails");
        match self.to {
            To::Llc => self.object.memory.gpu_load(0),
            To::Memory => self.object.memory.load(0),
        }
    }
}

/// One thread submits by `submit`, the other one reads by `read`; then both are done, and it reads again.
fn model(to: To, submit: fn(&Bo), read: fn(&Bo)) {
    let after = |bo: &Bo| assert_eq!(bo.read(), 1, "the write was forgotten");
    race(None, move || Bo::new(to), submit, read, after);
}

fn reads(bo: &Bo) {
    // 0 or 1: nothing orders it.
    bo.read();
}

#[test]
fn a_flush_between_the_ioctl_and_the_write_leaves_the_note() {
    model(To::Llc, Bo::submit, reads);
}

#[test]
fn an_invalidate_between_the_ioctl_and_the_write_leaves_the_marks() {
    model(To::Memory, Bo::submit, reads);
}

/// One thread submits and then reads what the GPU wrote; the other one reads at any time.
fn submits_and_reads(to: To, read: fn(&Bo) -> u64) {
    let submits = move |bo: &Bo| {
        bo.submit();
        assert_eq!(read(bo), 1, "the write was forgotten");
    };
    race(Some(3), move || Bo::new(to), submits, reads, |_| ());
}

#[test]
fn a_thread_that_submits_reads_the_write_while_another_one_flushes() {
    submits_and_reads(To::Llc, Bo::read);
}

#[test]
fn a_thread_that_submits_reads_the_write_while_another_one_invalidates() {
    submits_and_reads(To::Memory, Bo::read);
}

#[test]
fn a_thread_that_looks_while_another_flush_has_the_note_finds_it_after_that_one_failed() {
    let setup = || {
        let bo = Bo::new(To::Llc);
        bo.submit();
        bo
    };
    let fails = |bo: &Bo| {
        let Ok(()) = bo.object.tracked.gpu_writes().wait_if_told(|| bo.kernel_wait());
        let mut in_flight = bo.object.begin_flush();
        let _ = in_flight.take_gpu_write();
    };
    race(Some(3), setup, fails, |bo| assert_eq!(bo.read(), 1, "the write was forgotten"), |_| ());
}

#[test]
#[should_panic(expected = "the write was forgotten")]
fn a_look_before_the_flush_alone_misses_a_note_that_is_made_again() {
    submits_and_reads(To::Llc, |bo| {
        let tracked = &bo.object.tracked;
        let is_noted = tracked.word().state().has_gpu_write();
        if is_noted {
            let Ok(()) = tracked.gpu_writes().wait_if_told(|| bo.kernel_wait());
        }
        let mut in_flight = bo.object.begin_flush();
        if is_noted && in_flight.take_gpu_write() == WasPending::Yes {
            bo.object.memory.flush(in_flight.range());
        }
        let _ = complete([in_flight]);
        bo.object.memory.gpu_load(0)
    });
}

#[test]
#[should_panic(expected = "the write was forgotten")]
fn an_invalidate_that_does_not_start_over_misses_marks_that_are_made_again() {
    submits_and_reads(To::Memory, |bo| {
        let Ok(()) = bo.object.tracked.gpu_writes().wait_if_told(|| bo.kernel_wait());
        let mut in_flight = bo.object.begin_flush();
        in_flight.take_stale(|run| bo.object.memory.invalidate(run));
        let _ = complete([in_flight]);
        bo.object.memory.load(0)
    });
}

/// As [`Bo::submit`], but what is counted comes after what is noted.
fn note_first(bo: &Bo) {
    bo.ioctl();
    bo.note();
    bo.object.tracked.gpu_writes().tell();
}

#[test]
#[should_panic(expected = "the write was forgotten")]
fn a_flush_takes_a_note_whose_write_was_not_told_yet() {
    model(To::Llc, note_first, reads);
}

#[test]
#[should_panic(expected = "the write was forgotten")]
fn an_invalidate_takes_marks_whose_write_was_not_told_yet() {
    model(To::Memory, note_first, reads);
}

#[test]
#[should_panic(expected = "the write was forgotten")]
fn taking_marks_without_a_look_at_the_gpu_forgets_the_write() {
    model(To::Memory, Bo::submit, |bo| {
        let Ok(()) = bo.object.tracked.gpu_writes().wait_if_told(|| bo.kernel_wait());
        let in_flight = bo.object.begin_flush();
        bo.object.tracked.stale().take(in_flight.range(), |run| bo.object.memory.invalidate(run));
        assert_eq!(complete([in_flight]), Completion::InMemory);
    });
}

#[test]
#[should_panic(expected = "the write was forgotten")]
fn a_submission_that_notes_before_the_ioctl_alone_is_forgotten() {
    let submit = |bo: &Bo| {
        bo.object.tracked.gpu_writes().tell();
        bo.note();
        bo.ioctl();
    };
    model(To::Llc, submit, reads);
}

/// The counters, as the library has them and as twins.
trait Counters: Default + Send + Sync + 'static {
    fn tell(&self);
    fn are_over(&self) -> bool;
    fn wait(&self, wait: impl FnOnce());
}

impl Counters for GpuWrites {
    fn tell(&self) {
        self.tell();
    }

    fn are_over(&self) -> bool {
        self.are_over()
    }

    fn wait(&self, wait: impl FnOnce()) {
        let waited = || {
            wait();
            Ok::<_, Infallible>(())
        };
        let Ok(()) = self.wait(waited);
    }
}

/// The same protocol; `RELAXED` says which counter has lost its ordering: 0 told, 1 waited.
struct Weak<const RELAXED: usize>([AtomicU64; 2]);

impl<const RELAXED: usize> Default for Weak<RELAXED> {
    fn default() -> Self {
        Self([AtomicU64::new(0), AtomicU64::new(0)])
    }
}

impl<const RELAXED: usize> Weak<RELAXED> {
    fn load(&self, which: usize) -> u64 {
        let ordering = if which == RELAXED { Ordering::Relaxed } else { Ordering::Acquire };
        self.0[which].load(ordering)
    }

    fn raise(&self, which: usize, value: u64) {
        let ordering = if which == RELAXED { Ordering::Relaxed } else { Ordering::Release };
        self.0[which].fetch_max(value, ordering);
    }
}

impl<const RELAXED: usize> Counters for Weak<RELAXED> {
    fn tell(&self) {
        self.raise(0, 1);
    }

    fn are_over(&self) -> bool {
        self.load(1) >= self.load(0)
    }

    fn wait(&self, wait: impl FnOnce()) {
        let told = self.load(0);
        wait();
        self.raise(1, told);
    }
}

/// One thread submits; the other one waits once it knows of the write.
fn counted<C: Counters>() {
    check(None, || {
        let shared = Arc::new((C::default(), Bo::new(To::Memory)));
        let submitter = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.1.ioctl();
                shared.0.tell();
            }
        });
        if !shared.0.are_over() {
            shared.0.wait(|| {
                let Ok(()) = shared.1.kernel_wait();
            });
            let seen = shared.1.object.memory.gpu_load(0);
            assert_eq!(seen, 1, "the kernel did not know what to wait for");
        }
        submitter.join().unwrap();
    });
}

#[test]
fn a_thread_that_counts_a_write_waits_for_it() {
    counted::<GpuWrites>();
}

#[test]
#[should_panic(expected = "the kernel did not know what to wait for")]
fn a_relaxed_count_of_writes_waits_before_the_ioctl() {
    counted::<Weak<0>>();
}

/// Of a write that was submitted, one thread waits; the other one waits or need not.
fn waited<C: Counters>() {
    check(None, || {
        let shared = Arc::new((C::default(), Bo::new(To::Memory)));
        shared.1.ioctl();
        shared.0.tell();
        let waiter = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.0.wait(|| {
                    let Ok(()) = shared.1.kernel_wait();
                });
            }
        });
        if shared.0.are_over() {
            assert_eq!(shared.1.object.memory.gpu_load(0), 1, "over, and not to be seen");
        }
        waiter.join().unwrap();
    });
}

#[test]
fn a_thread_that_finds_the_write_waited_for_sees_it() {
    waited::<GpuWrites>();
}

#[test]
#[should_panic(expected = "over, and not to be seen")]
fn a_relaxed_count_of_waits_goes_on_before_the_write() {
    waited::<Weak<1>>();
}
