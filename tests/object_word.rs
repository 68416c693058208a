//! The object word: the causes that block each transition. A blocked transition leaves the word unchanged.
#![cfg(not(loom))]

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::tracking::{Blocked, Marks, ObjectWord, State};
use gem_coherency::vocabulary::{CacheLevel, Handle};

type Transition = fn(State) -> Result<State, Blocked>;

/// The transition that undoes another one.
type Ending = fn(State) -> State;

/// Every transition that can be blocked.
const TRANSITIONS: &[(&str, Transition)] = &[
    ("begin_read", State::begin_read),
    ("begin_write", State::begin_write),
    ("begin_submit", State::begin_submit),
    ("change to none", |state| state.begin_level_change(CacheLevel::None)),
    ("change to llc", |state| state.begin_level_change(CacheLevel::Llc)),
    ("raise to llc", |state| state.raise_level(CacheLevel::Llc)),
    ("unmap", State::begin_unmap),
    ("pin at none", |state| state.pin_screen(CacheLevel::None)),
    ("pin at llc", |state| state.pin_screen(CacheLevel::Llc)),
    ("dont_need", State::begin_dont_need),
    ("will_need", State::begin_will_need),
    ("purge", State::purge),
    ("close", State::close),
];

fn llc() -> State {
    State::new(CacheLevel::Llc)
}

fn not_needed() -> State {
    llc().begin_dont_need().unwrap().end_advice(false)
}

/// Checks that in `state` exactly the transitions named in `blocked` are blocked, each by its cause.
#[track_caller]
fn case(state: State, blocked: &[(&str, Blocked)]) {
    for (name, transition) in TRANSITIONS {
        let expected = blocked.iter().find(|(blocked, _)| blocked == name).map(|(_, cause)| *cause);
        assert_eq!(transition(state).err(), expected, "{name} in {state:?}");
    }
}

#[track_caller]
fn every(cause: Blocked, but: &[&str], state: State) {
    let blocked: Vec<_> =
        TRANSITIONS.iter().filter(|(name, _)| !but.contains(name)).map(|(name, _)| (*name, cause)).collect();
    case(state, &blocked);
}

#[test]
fn nothing_blocks_a_new_object() {
    case(llc(), &[]);
}

#[test]
fn open_guards_and_submissions_block_close_level_and_dont_need() {
    for (state, writers, readers, submits) in [
        (llc().begin_write(), 1, 0, 0),
        (llc().begin_read(), 0, 1, 0),
        (llc().begin_submit(), 0, 0, 1),
        (llc().begin_read().and_then(State::begin_read).and_then(State::begin_write), 1, 2, 0),
    ] {
        let in_use = Blocked::InUse { writers, readers, submits };
        let mut blocked = vec!["change to none", "change to llc", "dont_need", "close"];
        // A submission goes on while the mappings change.
        blocked.extend((submits == 0).then_some("unmap"));
        let blocked: Vec<_> = blocked.into_iter().map(|name| (name, in_use)).collect();
        case(state.unwrap(), &blocked);
    }
}

#[test]
fn ended_accesses_block_nothing() {
    let state = llc().begin_write().unwrap().end_write().begin_read().unwrap().end_read();
    let state =
        state.begin_submit().unwrap().end_submit().pin_screen(CacheLevel::Llc).unwrap().unpin_screen();
    assert_eq!(state, llc());
}

#[test]
fn a_screen_pin_blocks_another_level_close_and_dont_need() {
    let on_screen = |asked| Blocked::OnScreen { level: CacheLevel::Llc, asked };
    let always = [
        ("change to none", on_screen(CacheLevel::None)),
        ("dont_need", Blocked::Pinned),
        ("close", Blocked::Pinned),
    ];
    case(llc().pin_screen(CacheLevel::Llc).unwrap(), &always);
    // The BO may be about to be shown, which would make it a change after all.
    let mut unconfirmed = always.to_vec();
    unconfirmed.push(("change to llc", on_screen(CacheLevel::Llc)));
    case(llc().pin_screen(CacheLevel::None).unwrap(), &unconfirmed);
}

#[test]
fn a_pin_at_another_level_leaves_the_level_to_the_kernel() {
    let pinned = llc().pin_screen(CacheLevel::Wt).unwrap();
    assert_eq!((pinned.level(), pinned.is_unconfirmed(), pinned.screen_pins()), (CacheLevel::Llc, true, 1));
    assert!(pinned.unpin_screen().is_unconfirmed(), "the show may have happened");
    assert!(!llc().pin_screen(CacheLevel::Llc).unwrap().is_unconfirmed());

    let not_yet = pinned.confirm_level(CacheLevel::Llc, CacheLevel::Wt);
    assert_eq!((not_yet.level(), not_yet.is_unconfirmed()), (CacheLevel::Llc, true), "it may still happen");
    let shown = not_yet.confirm_level(CacheLevel::Wt, CacheLevel::Wt);
    assert_eq!((shown.level(), shown.is_unconfirmed()), (CacheLevel::Wt, false));
    assert_eq!(shown.confirm_level(CacheLevel::Llc, CacheLevel::Wt), shown, "an answer that came late");
}

#[test]
fn a_level_change_confirms_its_level_or_none() {
    let unconfirmed = llc().pin_screen(CacheLevel::None).unwrap().unpin_screen();
    let changing = unconfirmed.begin_level_change(CacheLevel::None).unwrap();
    let changed = changing.end_level_change(CacheLevel::Llc);
    assert_eq!((changed.level(), changed.is_unconfirmed()), (CacheLevel::Llc, false));
    let lost = changing.end_level_change_unconfirmed();
    assert_eq!((lost.level(), lost.is_unconfirmed(), lost.is_changing()), (CacheLevel::Llc, true, false));
}

#[test]
fn a_level_rises_with_what_is_open_and_never_falls() {
    let open = State::new(CacheLevel::None).begin_write().and_then(State::begin_submit).unwrap();
    let open = open.pin_screen(CacheLevel::None).unwrap().note_wc_store();
    let raised = open.raise_level(CacheLevel::Llc).unwrap();
    assert_eq!((raised.level(), raised.is_unconfirmed()), (CacheLevel::Llc, false));
    assert_eq!((raised.writers(), raised.submits(), raised.screen_pins()), (1, 1, 1));
    assert!(raised.has_wc_stores());
    assert_eq!(raised.raise_level(CacheLevel::None).unwrap(), raised);
    // Raised between the question which level the display forces and the pin.
    let late = State::new(CacheLevel::Llc).pin_screen(CacheLevel::None).unwrap();
    assert_eq!(late.confirm_level(late.level(), late.level()).level(), CacheLevel::Llc);
}

#[test]
fn a_level_change_blocks_everything_but_purge() {
    let state = llc().begin_level_change(CacheLevel::None).unwrap();
    assert_eq!(state.level(), CacheLevel::Llc, "the old level until the change has ended");
    every(Blocked::Changing, &["purge"], state);
    assert_eq!(state.end_level_change(CacheLevel::None), State::new(CacheLevel::None));
}

#[test]
fn a_change_of_the_mappings_blocks_accesses_and_leaves_submissions_shows_and_the_level() {
    let blocked =
        ["begin_read", "begin_write", "change to none", "change to llc", "unmap", "dont_need", "close"];
    for state in [llc(), llc().note_wc_store(), llc().begin_submit().unwrap()] {
        let unmapping = state.begin_unmap().unwrap();
        case(unmapping, &blocked.map(|name| (name, Blocked::Changing)));
        assert_eq!(unmapping.end_unmap(), state);
        let shown = unmapping.pin_screen(CacheLevel::None).unwrap().begin_submit().unwrap();
        assert_eq!(shown.end_unmap().end_submit(), state.pin_screen(CacheLevel::None).unwrap());
    }
}

#[test]
fn one_thread_alone_marks_without_locked_instructions() {
    let alone = |state: Result<State, Blocked>| state.unwrap().marks();
    assert_eq!(alone(llc().begin_unmap()), Marks::Own);
    let submitted = llc().begin_submit().unwrap();
    assert_eq!(alone(submitted.begin_unmap()), Marks::Shared);
    let unmapping = llc().begin_unmap().unwrap();
    assert_eq!(alone(unmapping.begin_submit()), Marks::Shared);
}

#[test]
fn a_closed_object_blocks_everything() {
    every(Blocked::Closed, &[], llc().close().unwrap());
    every(Blocked::Closed, &[], llc().purge().unwrap().close().unwrap());
}

#[test]
fn a_purged_object_can_only_be_closed() {
    every(Blocked::Purged, &["purge", "close"], llc().purge().unwrap());
}

#[test]
fn contents_that_are_not_needed_are_not_accessed_until_they_are_needed_again() {
    let state = not_needed();
    let accesses = ["begin_read", "begin_write", "begin_submit", "unmap", "pin at none", "pin at llc"];
    case(state, &accesses.map(|name| (name, Blocked::DontNeed)));
    assert_eq!(state.begin_will_need().map(|state| state.end_advice(true)), Ok(llc()));
    assert_eq!(
        state.begin_will_need().map(|state| state.end_advice(false)),
        Ok(state),
        "the kernel may still purge"
    );
}

#[test]
fn advice_blocks_everything_but_purge_until_the_kernel_has_it() {
    for state in [llc().begin_dont_need().unwrap(), not_needed().begin_will_need().unwrap()] {
        assert!(state.is_dont_need());
        every(Blocked::Changing, &["purge"], state);
    }
    assert_eq!(llc().begin_dont_need().unwrap().end_advice(true), llc(), "the request failed");
    // Contents that are needed can be asked for at any time.
    let used = llc().begin_submit().unwrap();
    assert_eq!(used.begin_will_need(), Ok(used));
}

#[test]
fn a_request_about_the_handle_needs_nothing_but_an_open_one_and_keeps_it_open() {
    let in_use = Err(Blocked::InUse { writers: 0, readers: 0, submits: 1 });
    let changing = llc().begin_level_change(CacheLevel::None).unwrap();
    for state in [llc(), not_needed(), llc().purge().unwrap(), changing] {
        let asking = state.begin_request().unwrap();
        assert_eq!(asking.end_request(), state);
        assert!(asking.end_level_change(CacheLevel::Llc).close() == in_use);
    }
    assert_eq!(llc().close().unwrap().begin_request(), Err(Blocked::Closed));
}

#[test]
fn an_end_without_a_begin_changes_nothing() {
    let ends =
        [State::end_read, State::end_write, State::end_submit, State::end_request, State::unpin_screen];
    for end in ends {
        for state in [llc(), llc().note_gpu_write(), not_needed()] {
            assert_eq!(end(state), state);
        }
    }
}

#[test]
fn a_full_count_is_an_error_and_spills_into_no_other_field() {
    let counts: [(Transition, Ending); 5] = [
        (State::begin_read, State::end_read),
        (State::begin_write, State::end_write),
        (State::begin_submit, State::end_submit),
        (State::begin_request, State::end_request),
        (|state| state.pin_screen(CacheLevel::Llc), State::unpin_screen),
    ];
    for (begin, end) in counts {
        let mut state = llc();
        let mut open = 0;
        let limit = loop {
            match begin(state) {
                Ok(next) => (state, open) = (next, open + 1),
                Err(Blocked::TooManyGuards { limit }) => break limit,
                Err(other) => panic!("{other:?}"),
            }
        };
        assert_eq!(open, limit);
        let sum = state.readers() + state.writers() + state.submits() + state.screen_pins();
        assert_eq!(sum, limit, "{state:?}");
        assert_eq!((0..limit).fold(state, |state, _| end(state)), llc());
    }
}

#[test]
fn notes_are_kept_apart() {
    let state = llc().note_gpu_write().note_wc_store().note_gtt_store();
    assert!(state.has_gpu_write() && state.has_wc_stores() && state.has_gtt_stores());
    assert_eq!(state.take_gpu_write(), llc().note_wc_store().note_gtt_store());
    assert_eq!(state.take_wc_stores(), llc().note_gpu_write().note_gtt_store());
    assert_eq!(state.take_gtt_stores(), llc().note_gpu_write().note_wc_store());
}

#[test]
fn the_level_survives_every_other_transition() {
    for &level in CacheLevel::ALL {
        let state = State::new(level).begin_write().unwrap().note_gpu_write().begin_will_need().unwrap();
        assert_eq!(state.level(), level);
    }
}

#[test]
fn debug_lists_the_set_flags() {
    let state = llc().begin_write().unwrap().begin_read().unwrap().begin_read().unwrap().note_wc_store();
    assert_eq!(format!("{state:?}"), "llc W1 R2 WC_STORES");
    assert_eq!(format!("{:?}", llc().close().unwrap()), "llc CLOSED");
}

#[test]
fn a_blocked_transition_leaves_the_word_as_it_was() {
    let word = ObjectWord::new(CacheLevel::Llc);
    assert!(word.try_update(State::begin_write).is_ok());
    let before = word.state();
    assert!(word.try_update(State::close).is_err());
    assert!(word.try_update(|state| state.begin_level_change(CacheLevel::None)).is_err());
    assert_eq!(word.state(), before);
    word.end(State::end_write);
    assert!(word.try_update(State::close).is_ok());
    assert_eq!(word.try_update(State::close), Err(Blocked::Closed));
}

#[test]
fn every_cause_is_an_error_that_names_the_object() {
    let handle = 77;
    for (blocked, expected, errno) in [
        (Blocked::Closed, Error::Closed { handle }, Errno::ENOENT),
        (Blocked::Purged, Error::Purged { handle }, Errno::EFAULT),
        (Blocked::DontNeed, Error::DontNeed { handle }, Errno::EFAULT),
        (
            Blocked::InUse { writers: 1, readers: 2, submits: 3 },
            Error::InUse { handle, writers: 1, readers: 2, submits: 3 },
            Errno::EBUSY,
        ),
        (
            Blocked::OnScreen { level: CacheLevel::Wt, asked: CacheLevel::Llc },
            Error::OnScreen { handle, from: CacheLevel::Wt, to: CacheLevel::Llc },
            Errno::EBUSY,
        ),
        (Blocked::Pinned, Error::Pinned { handle }, Errno::EBUSY),
        (Blocked::Changing, Error::LevelChanging { handle }, Errno::EBUSY),
        (
            Blocked::TooManyGuards { limit: 4095 },
            Error::TooManyGuards { handle, limit: 4095 },
            Errno::EOVERFLOW,
        ),
    ] {
        let error = blocked.error(Handle::new(handle).unwrap());
        assert_eq!(error, expected);
        assert!(error.to_string().contains("BO 77"), "{error}");
        assert_eq!(error.errno(), errno);
    }
}
