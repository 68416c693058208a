//! Two writers and a submitter on one page word.
//!
//! Invariant: neither writer's mark removes the other's, and a submitter that takes a line while
//! writers are still at work flushes its data or leaves its mark.
//! Preemption bound: 4 (without one it takes minutes), none for the twins. Time: 2 s.
#![cfg(loom)]

use gem_coherency::tracking::State;
use gem_coherency::units::LineRange;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use loom_tests::{Memory, Object, check};

#[test]
fn no_line_of_two_writers_is_lost() {
    check(Some(4), || {
        let object = Arc::new(Object::new(2));
        let word = object.tracked.word();
        word.try_update(State::begin_write).expect("nothing blocks it");
        word.try_update(State::begin_write).expect("nothing blocks it");
        let writers: Vec<_> = (0..2)
            .map(|line| {
                let object = Arc::clone(&object);
                thread::spawn(move || {
                    object.write(line, 1);
                    object.tracked.word().end(State::end_write);
                })
            })
            .collect();

        let state = word.try_update(State::begin_submit).expect("nothing blocks it").after;
        object.make_current();
        if state.writers() == 0 {
            assert_eq!((object.memory.gpu_load(0), object.memory.gpu_load(1)), (1, 1));
        }
        word.end(State::end_submit);

        for writer in writers {
            writer.join().unwrap();
        }
        object.make_current();
        assert_eq!((object.memory.gpu_load(0), object.memory.gpu_load(1)), (1, 1));
    });
}

/// The same with a page word of the model's own and `whole_page`, the second way to mark lines.
fn own_page(whole_page: fn(&AtomicU64)) {
    check(None, move || {
        let page = Arc::new((AtomicU64::new(0), Memory::new(2)));
        let threads = [
            thread::spawn({
                let page = Arc::clone(&page);
                move || {
                    page.1.store(0, 1);
                    page.0.fetch_or(1, Ordering::Release);
                }
            }),
            thread::spawn({
                let page = Arc::clone(&page);
                move || {
                    page.1.store(1, 1);
                    whole_page(&page.0);
                }
            }),
        ];
        let submit = || {
            let taken = page.0.swap(0, Ordering::AcqRel);
            for line in (0..2).filter(|line| taken >> line & 1 != 0) {
                page.1.flush(LineRange::new(line, line + 1));
            }
        };
        submit();
        for thread in threads {
            thread.join().unwrap();
        }
        submit();
        assert_eq!((page.1.gpu_load(0), page.1.gpu_load(1)), (1, 1), "a line was lost");
    });
}

#[test]
fn a_whole_page_marked_by_one_read_modify_write_loses_nothing() {
    own_page(|page| {
        page.fetch_or(u64::MAX, Ordering::Release);
    });
}

#[test]
#[should_panic(expected = "a line was lost")]
fn a_whole_page_marked_by_a_plain_store_loses_the_other_writers_data() {
    own_page(|page| page.store(u64::MAX, Ordering::Release));
}

#[test]
#[should_panic(expected = "a line was lost")]
fn a_mark_by_load_and_store_loses_the_other_writers_mark() {
    own_page(|page| {
        let marked = page.load(Ordering::Acquire);
        page.store(marked | 2, Ordering::Release);
    });
}
