//! A child of fork(2) uses watched pages, whatever its parent's threads did.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use gem_coherency_trap::watch;
use libraries::*;

const PAGE: usize = 4096;

/// Maps pages of zeroes.
fn map(pages: usize) -> usize {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel chooses the address.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), pages * PAGE, protection, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at.expose_provenance()
}

#[test]
fn a_child_does_not_wait_for_changes_by_its_parents_threads() {
    const PAGES: usize = 64;
    let _alone = alone();
    install();
    let at = map(PAGES + 1);
    let own = at + PAGES * PAGE;
    // SAFETY: the pages stay mapped until they are forgotten.
    unsafe { watch::protect(at, (PAGES + 1) * PAGE).unwrap() };
    let (is_over, rounds) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    let change = move || {
        while !is_over.load(SeqCst) {
            watch::release(at, PAGES * PAGE).unwrap();
            // SAFETY: as above.
            unsafe { watch::protect(at, PAGES * PAGE).unwrap() };
            rounds.fetch_add(1, SeqCst);
        }
    };
    let ended = std::thread::scope(|scope| {
        scope.spawn(change);
        let forked = (0..40).map(|_| {
            watch::pause();
            let status = child(|| {
                watch::resume();
                let limit = libc::rlimit { rlim_cur: 2, rlim_max: 2 };
                // SAFETY: ends a child that waits for ever, with SIGKILL.
                assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_CPU, &raw const limit) }, 0);
                watch::forget_threads();
                watch::forget(own, PAGE).unwrap();
            });
            watch::resume();
            let before = rounds.load(SeqCst);
            while rounds.load(SeqCst) == before {
                std::thread::yield_now();
            }
            status
        });
        let ended = forked.take_while(|&status| status == 0).count();
        is_over.store(true, SeqCst);
        ended
    });
    assert_eq!(ended, 40);
    watch::forget(at, (PAGES + 1) * PAGE).unwrap();
}

#[test]
fn signals_are_as_before_when_pages_may_be_watched_again() {
    let mask = || {
        // SAFETY: a null pointer changes nothing, and the set is written.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut set), 0);
            libc::sigismember(&raw const set, libc::SIGUSR1)
        }
    };
    let _alone = alone();
    assert_eq!(mask(), 0);
    watch::pause();
    assert_eq!(mask(), 1, "a handler could wait for the lock");
    watch::resume();
    assert_eq!(mask(), 0);
    watch::resume();
    assert_eq!(mask(), 0, "once is enough");
}
