//! The counts of the object word: guards that begin and end at once, the limit, and who waits for zero.
//!
//! Invariant: no begin and no end is lost, none changes another count, and no count passes its limit or
//! goes below zero; who finds that the last writer has ended sees what it stored; who closes or changes
//! the level comes after every load of the readers that have ended.
//! Preemption bound: 4 where three threads meet (without one it takes more than 50 s), none elsewhere. Time: 5 s.
#![cfg(loom)]

use gem_coherency::tracking::{Blocked, ObjectWord, State};
use gem_coherency::vocabulary::CacheLevel;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use loom_tests::{Kernel, Memory, check, race};

/// The counts that are modelled: of the library's word, and of twins.
trait Counts: Send + Sync + 'static {
    /// A word with `writers` open write guards and `readers` open read guards.
    fn with(writers: u64, readers: u64) -> Self;
    /// The open writers and readers.
    fn open(&self) -> (u64, u64);
    /// One writer more; `None` at the limit.
    fn begin_write(&self) -> Option<u64>;
    fn end_write(&self);
    /// One reader more; the writers then.
    fn begin_read(&self) -> u64;
    fn end_read(&self);
    /// Closes the word if no guard is open, so that none can begin; returns whether it did.
    fn close(&self) -> bool;
}

impl Counts for ObjectWord {
    fn with(writers: u64, readers: u64) -> Self {
        let mut state = State::new(CacheLevel::None);
        for _ in 0..writers {
            state = state.begin_write().expect("below the limit");
        }
        for _ in 0..readers {
            state = state.begin_read().expect("below the limit");
        }
        Self::from(state)
    }

    fn open(&self) -> (u64, u64) {
        let state = self.state();
        assert_eq!((state.submits(), state.screen_pins()), (0, 0), "a count ran into its neighbour");
        (state.writers().into(), state.readers().into())
    }

    fn begin_write(&self) -> Option<u64> {
        match self.try_update(State::begin_write) {
            Ok(to) => Some(to.after.writers().into()),
            Err(blocked) => {
                assert_eq!(blocked, Blocked::TooManyGuards { limit: LIMIT as u32 });
                None
            }
        }
    }

    fn end_write(&self) {
        self.end(State::end_write);
    }

    fn begin_read(&self) -> u64 {
        self.try_update(State::begin_read).expect("nothing blocks it").after.writers().into()
    }

    fn end_read(&self) {
        self.end(State::end_read);
    }

    fn close(&self) -> bool {
        self.try_update(State::close).is_ok()
    }
}

/// The greatest count of writers, and of readers.
const LIMIT: u64 = 4095;
const READER: u64 = LIMIT + 1;

/// The error in a twin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A begin publishes nothing and learns nothing.
    RelaxedBegin = 0,
    /// An end publishes nothing.
    RelaxedEnd = 1,
    /// The limit is looked at, and passed.
    LooseLimit = 2,
    /// Ends subtract without a look.
    LooseEnd = 3,
    /// Ends are a load and a store.
    TornEnd = 4,
    /// Nothing.
    None = 5,
}

/// Two counts in a word, with one fault.
struct Twin<const FAULT: u8>(AtomicU64);

impl<const FAULT: u8> Twin<FAULT> {
    fn has(fault: Fault) -> bool {
        fault as u8 == FAULT
    }

    fn begin(&self, one: u64) -> u64 {
        let ordering = if Self::has(Fault::RelaxedBegin) { Ordering::Relaxed } else { Ordering::AcqRel };
        self.0.fetch_add(one, ordering) + one
    }

    fn end(&self, one: u64) {
        let ordering = if Self::has(Fault::RelaxedEnd) { Ordering::Relaxed } else { Ordering::AcqRel };
        if Self::has(Fault::TornEnd) {
            let now = self.0.load(Ordering::Acquire);
            self.0.store(now.wrapping_sub(one), Ordering::Release);
        } else if Self::has(Fault::LooseEnd) {
            self.0.fetch_sub(one, ordering);
        } else {
            let fewer = |word: u64| (!(word / one).is_multiple_of(READER)).then(|| word - one);
            let _ = self.0.fetch_update(ordering, Ordering::Relaxed, fewer);
        }
    }
}

impl<const FAULT: u8> Counts for Twin<FAULT> {
    fn with(writers: u64, readers: u64) -> Self {
        Self(AtomicU64::new(writers + readers * READER))
    }

    fn open(&self) -> (u64, u64) {
        let word = self.0.load(Ordering::Acquire);
        (word % READER, word / READER)
    }

    fn begin_write(&self) -> Option<u64> {
        if Self::has(Fault::LooseLimit) {
            return (self.open().0 < LIMIT).then(|| self.begin(1) % READER);
        }
        let one_more = |word: u64| (word % READER < LIMIT).then_some(word + 1);
        let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        before.ok().map(|word| (word + 1) % READER)
    }

    fn end_write(&self) {
        self.end(1);
    }

    fn begin_read(&self) -> u64 {
        self.begin(READER) % READER
    }

    fn end_read(&self) {
        self.end(READER);
    }

    fn close(&self) -> bool {
        self.0.compare_exchange(0, 1 << 63, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A writer ends, a second one comes and goes, and a reader looks.
fn writers_and_a_reader<C: Counts>() {
    check(Some(4), || {
        let shared = Arc::new((C::with(1, 0), Memory::new(1)));
        let spawn = |run: fn(&C, &Memory)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || run(&shared.0, &shared.1))
        };
        let first = spawn(|counts, memory| {
            memory.store(0, 1);
            counts.end_write();
        });
        let second = spawn(|counts, _| {
            let writers = counts.begin_write().expect("below the limit");
            assert!((1..=2).contains(&writers), "{writers} writers");
            counts.end_write();
        });
        let (counts, memory) = &*shared;
        if counts.begin_read() == 0 {
            assert_eq!(memory.load(0), 1, "the reader came after the writer and sees old data");
        }
        counts.end_read();
        first.join().unwrap();
        second.join().unwrap();
        assert_eq!(counts.open(), (0, 0), "a begin or an end was lost");
    });
}

#[test]
fn guards_that_begin_and_end_at_once_are_all_counted() {
    writers_and_a_reader::<ObjectWord>();
}

#[test]
#[should_panic(expected = "sees old data")]
fn a_relaxed_begin_sees_old_data() {
    writers_and_a_reader::<Twin<{ Fault::RelaxedBegin as u8 }>>();
}

#[test]
#[should_panic(expected = "sees old data")]
fn a_relaxed_end_shows_old_data() {
    writers_and_a_reader::<Twin<{ Fault::RelaxedEnd as u8 }>>();
}

#[test]
#[should_panic(expected = "a begin or an end was lost")]
fn an_end_by_load_and_store_loses_another_one() {
    writers_and_a_reader::<Twin<{ Fault::TornEnd as u8 }>>();
}

/// Two threads want the last place among the writers.
fn the_last_place<C: Counts>() {
    check(None, || {
        let counts = Arc::new(C::with(LIMIT - 1, 0));
        let other = thread::spawn({
            let counts = Arc::clone(&counts);
            move || counts.begin_write()
        });
        let begun = [counts.begin_write(), other.join().unwrap()];
        let places = begun.into_iter().flatten().collect::<Vec<_>>();
        assert_eq!((places, counts.open()), (vec![LIMIT], (LIMIT, 0)), "the limit was passed");
    });
}

#[test]
fn one_of_two_gets_the_last_place() {
    the_last_place::<ObjectWord>();
}

#[test]
#[should_panic(expected = "the limit was passed")]
fn a_look_at_the_limit_before_the_begin_lets_both_in() {
    the_last_place::<Twin<{ Fault::LooseLimit as u8 }>>();
}

/// An end too many, of a writer, while a reader comes and goes.
fn an_end_too_many<C: Counts>() {
    let reader = |counts: &C| {
        counts.begin_read();
        counts.end_read();
    };
    race(
        None,
        || C::with(0, 1),
        C::end_write,
        reader,
        |counts| {
            assert_eq!(counts.open(), (0, 1), "an end too many went to another count");
        },
    );
}

#[test]
fn an_end_without_a_begin_changes_nothing() {
    an_end_too_many::<ObjectWord>();
}

#[test]
#[should_panic(expected = "an end too many went to another count")]
fn an_end_that_does_not_look_borrows_from_the_neighbour() {
    an_end_too_many::<Twin<{ Fault::LooseEnd as u8 }>>();
}

/// A reader uses the handle and ends; another thread closes if nobody is there.
fn a_reader_and_a_close<C: Counts>() {
    let setup = || {
        let handle = Kernel::default();
        handle.change(1);
        (C::with(0, 1), handle)
    };
    let reader = |(counts, handle): &(C, Kernel)| {
        assert_eq!(handle.get(), 1, "a guard on a closed handle");
        counts.end_read();
    };
    let closer = |(counts, handle): &(C, Kernel)| {
        if counts.close() {
            handle.change(0);
        }
    };
    race(None, setup, reader, closer, |_| ());
}

#[test]
fn a_close_comes_after_the_last_access_of_every_guard() {
    a_reader_and_a_close::<ObjectWord>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_relaxed_end_lets_the_close_overtake_the_access() {
    a_reader_and_a_close::<Twin<{ Fault::RelaxedEnd as u8 }>>();
}

#[test]
fn a_twin_without_a_fault_passes() {
    writers_and_a_reader::<Twin<{ Fault::None as u8 }>>();
    the_last_place::<Twin<{ Fault::None as u8 }>>();
    an_end_too_many::<Twin<{ Fault::None as u8 }>>();
    a_reader_and_a_close::<Twin<{ Fault::None as u8 }>>();
}
