//! The first store to each page.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use gem_coherency_trap::watch::Store;
use gem_coherency_trap::{Error, keep_trap_unblocked, owns_signal, set_program_action, watch};
use libraries::*;

const PAGE: usize = 4096;

const STORES: &str = r#"
#include <emmintrin.h>
__attribute__((noinline)) int store(char *target, int value) { *(volatile char *)target = value; return 1; }
__attribute__((noinline)) int calls_store(char *target, int value) { return store(target, value) + 1; }
__attribute__((noinline)) int other(char *target, int value) { *(volatile char *)target = value; return 2; }
__attribute__((noinline)) int streams(int *target, int value) { _mm_stream_si32(target, value); return 3; }
"#;

/// Maps pages of zeroes.
fn map(pages: usize) -> usize {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel chooses the address.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), pages * PAGE, protection, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at.expose_provenance()
}

fn byte(address: usize) -> u8 {
    // SAFETY: the tests pass mapped addresses.
    unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() }
}

fn library(name: &str) -> Library {
    Library::open(&compile(name, "c", STORES, &["-O2", "-fno-optimize-sibling-calls"]))
}

/// The calls of [`tell`]: the address and the depth of the last one, and their number.
static TOLD: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

fn tell(store: &Store<'_>) {
    let [last, depth, count] = &TOLD;
    last.store(store.address, SeqCst);
    depth.store(store.callers(&mut [0; watch::MOST_CALLERS]), SeqCst);
    count.fetch_add(1, SeqCst);
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = libc::EINVAL };
}

#[test]
fn a_first_store_is_told_once() {
    let _alone = alone();
    let library = library("told");
    install();
    watch::on_store(tell, |_| {});
    let at = map(2);
    // SAFETY: the pages stay mapped until they are forgotten.
    unsafe { watch::protect(at, 2 * PAGE).unwrap() };
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = libc::ENOENT };
    let before = TOLD[2].load(SeqCst);
    library.call("calls_store", [at + 100, 7, 0]);
    library.call("store", [at + 200, 7, 0]);
    // SAFETY: as above.
    assert_eq!(unsafe { *libc::__errno_location() }, libc::ENOENT, "errno stays");
    assert_eq!((TOLD[0].load(SeqCst), TOLD[2].load(SeqCst)), (at + 100, before + 1));
    let first = watch::first_store(at).expect("a store was recorded");
    assert_eq!(TOLD[1].load(SeqCst), first.callers.len());
    library.call("store", [at + PAGE, 7, 0]);
    assert_eq!((TOLD[0].load(SeqCst), TOLD[2].load(SeqCst)), (at + PAGE, before + 2));
    watch::forget(at, 2 * PAGE).unwrap();
}

#[test]
fn the_first_store_to_each_page_is_recorded() {
    let _alone = alone();
    let library = library("first");
    install();
    let at = map(4);
    // The twin: what is not watched is not recorded.
    library.call("store", [at, 1, 0]);
    assert_eq!(watch::first_store(at), None);
    // SAFETY: the pages stay mapped until they are forgotten.
    unsafe { watch::protect(at, 4 * PAGE).unwrap() };
    assert_eq!((0..4).find_map(|page| watch::first_store(at + page * PAGE)), None);
    library.call("calls_store", [at + 100, 7, 0]);
    library.call("other", [at + 200, 8, 0]);
    library.call("other", [at + 3 * PAGE + 5, 9, 0]);
    let first = watch::first_store(at).expect("a store was recorded");
    assert_eq!((first.page, first.address), (at, at + 100));
    assert_eq!(name(first.callers[0]), "store");
    assert_eq!(name(first.callers[1] - 1), "calls_store");
    assert_eq!(watch::first_store(at + PAGE), None);
    let last = watch::first_store(at + 4 * PAGE - 1).expect("a store was recorded");
    assert_eq!((last.address, name(last.callers[0])), (at + 3 * PAGE + 5, "other".into()));
    assert_eq!([byte(at + 100), byte(at + 200), byte(at + 3 * PAGE + 5)], [7, 8, 9]);

    // Part of the range again: the other part keeps its records.
    // SAFETY: as above.
    unsafe { watch::protect(at, 2 * PAGE).unwrap() };
    assert_eq!(watch::first_store(at), None);
    assert!(watch::first_store(at + 3 * PAGE).is_some());
    library.call("other", [at, 1, 0]);
    assert_eq!(name(watch::first_store(at).unwrap().callers[0]), "other");

    // A system call fails until the page is released; that is not recorded.
    // SAFETY: as above.
    unsafe { watch::protect(at, 2 * PAGE).unwrap() };
    let zero = std::fs::File::open("/dev/zero").unwrap();
    let read = |to| {
        // SAFETY: the bytes are mapped.
        unsafe {
            libc::read(std::os::fd::AsRawFd::as_raw_fd(&zero), std::ptr::with_exposed_provenance_mut(to), 8)
        }
    };
    assert_eq!(read(at), -1);
    assert!(!watch::is_writable(at));
    watch::release(at, PAGE).unwrap();
    assert_eq!(read(at), 8);
    assert_eq!(watch::first_store(at), None);
    assert!(watch::is_writable(at) && !watch::is_writable(at + PAGE));
    library.call("store", [at + PAGE, 1, 0]);
    assert!(watch::is_writable(at + PAGE));

    // A released page is watched again by the next protect.
    // SAFETY: as above.
    unsafe { watch::protect(at, PAGE).unwrap() };
    assert!(!watch::is_writable(at));
    library.call("other", [at, 1, 0]);
    assert_eq!(name(watch::first_store(at).unwrap().callers[0]), "other");
    // The record of a store outlives a release.
    watch::release(at, PAGE).unwrap();
    assert_eq!(name(watch::first_store(at).unwrap().callers[0]), "other");

    watch::release(at, 4 * PAGE).unwrap();
    assert!(watch::first_store(at).is_some());
    watch::forget(at, 4 * PAGE).unwrap();
    library.call("store", [at, 1, 0]);
    assert_eq!(watch::first_store(at), None);
}

#[test]
fn parts_of_ranges_are_forgotten() {
    let _alone = alone();
    let library = library("parts");
    install();
    let at = map(5);
    // SAFETY: the pages stay mapped until they are forgotten; they are never unmapped.
    unsafe { watch::protect(at, 5 * PAGE).unwrap() };
    watch::forget(at + PAGE, PAGE).unwrap();
    watch::forget(at + 4 * PAGE, 3 * PAGE).unwrap();
    for page in [0, 2, 3] {
        library.call("store", [at + page * PAGE, 1, 0]);
        assert!(watch::first_store(at + page * PAGE).is_some(), "page {page} is watched");
    }
    // The others can be watched anew, as parts of a new mapping.
    for page in [1, 4] {
        assert_eq!(watch::first_store(at + page * PAGE), None);
        // SAFETY: as above.
        unsafe { watch::protect(at + page * PAGE, PAGE).unwrap() };
        library.call("store", [at + page * PAGE, 1, 0]);
        assert!(watch::first_store(at + page * PAGE).is_some());
    }
    // Pages that were added one by one are protected at once, with others.
    // SAFETY: as above.
    unsafe { watch::protect(at, 5 * PAGE).unwrap() };
    assert_eq!((0..5).find_map(|page| watch::first_store(at + page * PAGE)), None);
    watch::forget(at, 5 * PAGE).unwrap();
    assert_eq!(watch::first_store(at), None);
}

#[test]
fn a_trapped_store_to_a_protected_page_is_the_programs() {
    let _alone = alone();
    let library = library("streams");
    install();
    PERFORM.store(true, SeqCst);
    let at = map(1);
    // SAFETY: the page stays mapped.
    unsafe { watch::protect(at, PAGE).unwrap() };
    let before = COUNT.load(SeqCst);
    assert_eq!(library.call("streams", [at + 8, 0x55, 0]), 3);
    assert_eq!(COUNT.load(SeqCst), before + 1);
    assert_eq!(byte(at + 8), 0x55);
    let first = watch::first_store(at).expect("a store was recorded");
    assert_eq!((first.callers[0], first.address), (SITE.load(SeqCst), at + 8));
    assert_eq!(name(first.callers[0]), "streams");
    watch::forget(at, PAGE).unwrap();
}

#[test]
fn wrong_ranges_are_errors() {
    let _alone = alone();
    watch::prepare().unwrap();
    assert!(owns_signal(libc::SIGSEGV));
    let at = map(4);
    // SAFETY: the pages stay mapped; the wrong ranges are refused.
    unsafe {
        assert_eq!(watch::protect(at + 1, PAGE), Err(Error::Range { address: at + 1, length: PAGE }));
        assert_eq!(watch::protect(at, 0), Err(Error::Range { address: at, length: 0 }));
        assert!(matches!(watch::protect(at, usize::MAX), Err(Error::Range { .. })));
        // An address that four levels of page tables lack.
        let far = 1 << 47;
        assert_eq!(watch::protect(far, PAGE), Err(Error::Range { address: far, length: PAGE }));
        // 4097 bytes are two pages.
        watch::protect(at + PAGE, PAGE + 1).unwrap();
    }
    watch::release(at, 4 * PAGE).unwrap();
    let writable: Vec<_> = (0..4).map(|page| watch::is_writable(at + page * PAGE)).collect();
    assert_eq!(writable, [false, true, true, false]);
    watch::forget(at + PAGE, 2 * PAGE).unwrap();
}

#[test]
fn a_fault_of_the_program_ends_it() {
    let _alone = alone();
    let library = library("fatal");
    install();
    let at = map(2);
    // SAFETY: the first page stays mapped; the second one is the program's, without rights; zeroes are an action.
    unsafe {
        watch::protect(at, PAGE).unwrap();
        libc::mprotect(std::ptr::with_exposed_provenance_mut(at + PAGE), PAGE, libc::PROT_NONE);
        set_program_action(libc::SIGSEGV, &std::mem::zeroed()).unwrap();
    }
    // SAFETY: the function takes an address and a byte.
    let store: extern "C" fn(usize, usize) = unsafe { std::mem::transmute(library.symbol("store")) };
    assert_eq!(child(|| store(at, 1)), 0);
    assert_eq!(child(|| store(at + PAGE, 1)), libc::SIGSEGV);
    PERFORM.store(true, SeqCst);
    // SAFETY: as above.
    let streams: extern "C" fn(usize, usize) = unsafe { std::mem::transmute(library.symbol("streams")) };
    assert_eq!(child(|| streams(at + PAGE, 1)), libc::SIGSEGV);
    watch::forget(at, PAGE).unwrap();
}

static FAULTS: AtomicUsize = AtomicUsize::new(0);
static FAULT_AT: AtomicUsize = AtomicUsize::new(0);

/// Maps the page that was missing.
unsafe extern "C" fn on_fault(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel's information of a fault.
    let at = unsafe { (*info).si_addr() }.expose_provenance();
    FAULT_AT.store(at, SeqCst);
    FAULTS.fetch_add(1, SeqCst);
    let page = std::ptr::with_exposed_provenance_mut(at & !(PAGE - 1));
    // SAFETY: the tests have mapped the page without rights.
    unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) };
}

#[test]
fn other_faults_reach_the_program() {
    let _alone = alone();
    let library = library("faults");
    install();
    let at = map(2);
    // SAFETY: the first page stays mapped; the second one is the program's, without rights.
    unsafe {
        watch::protect(at, PAGE).unwrap();
        let second = std::ptr::with_exposed_provenance_mut(at + PAGE);
        assert_eq!(libc::mprotect(second, PAGE, libc::PROT_NONE), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        set_program_action(libc::SIGSEGV, &action).unwrap();
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        keep_trap_unblocked(&mut set);
        assert_eq!(libc::sigismember(&raw const set, libc::SIGSEGV), 0);
    }
    library.call("store", [at, 3, 0]);
    assert_eq!(FAULTS.load(SeqCst), 0);
    library.call("store", [at + PAGE + 17, 4, 0]);
    assert_eq!((FAULTS.load(SeqCst), FAULT_AT.load(SeqCst)), (1, at + PAGE + 17));
    // One that a trapped store makes.
    PERFORM.store(true, SeqCst);
    let second = std::ptr::with_exposed_provenance_mut(at + PAGE);
    // SAFETY: the page is mapped.
    unsafe { assert_eq!(libc::mprotect(second, PAGE, libc::PROT_NONE), 0) };
    library.call("streams", [at + PAGE + 32, 0x77, 0]);
    assert_eq!((FAULTS.load(SeqCst), FAULT_AT.load(SeqCst)), (2, at + PAGE + 32));
    assert_eq!([byte(at), byte(at + PAGE + 17), byte(at + PAGE + 32)], [3, 4, 0x77]);
    watch::forget(at, PAGE).unwrap();
}

#[test]
fn many_threads_store_to_the_same_pages() {
    let _alone = alone();
    let library = &library("threads");
    install();
    let at = map(64);
    for _ in 0..20 {
        // SAFETY: the pages stay mapped.
        unsafe { watch::protect(at, 64 * PAGE).unwrap() };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for page in 0..64 {
                        library.call("store", [at + page * PAGE + thread, 1, 0]);
                    }
                });
            }
        });
        for page in 0..64 {
            let first = watch::first_store(at + page * PAGE).expect("each page was stored to");
            assert_eq!(name(first.callers[0]), "store");
        }
    }
    watch::forget(at, 64 * PAGE).unwrap();
}

#[test]
fn many_mappings_are_watched() {
    const MAPPINGS: usize = 20_000;
    let _alone = alone();
    let library = library("many");
    install();
    // Each second page is one: neighbours would be one area for the kernel.
    let at = map(2 * MAPPINGS);
    let pages = || (0..MAPPINGS).map(|mapping| at + 2 * mapping * PAGE);
    for page in pages() {
        // SAFETY: the pages stay mapped until they are forgotten.
        unsafe { watch::protect(page, PAGE).unwrap() };
    }
    for page in pages() {
        library.call(if page / PAGE % 3 == 0 { "other" } else { "store" }, [page + 8, 1, 0]);
    }
    for page in pages() {
        let first = watch::first_store(page).expect("each mapping is watched");
        assert_eq!(first.address, page + 8);
        assert_eq!(name(first.callers[0]), if page / PAGE % 3 == 0 { "other" } else { "store" });
        assert_eq!(watch::first_store(page + PAGE), None, "the twin: not the page after");
    }
    watch::forget(at, 2 * MAPPINGS * PAGE).unwrap();
    assert_eq!(pages().find_map(watch::first_store), None);
    // SAFETY: the pages were mapped here, and nothing refers to them.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(at), 2 * MAPPINGS * PAGE) };
}

#[test]
fn a_child_does_not_wait_for_faults_of_its_parents_threads() {
    const PAGES: usize = 50_000;
    let _alone = alone();
    let library = &library("forks");
    install();
    let at = map(PAGES + 1);
    let own = at + PAGES * PAGE;
    // SAFETY: the pages stay mapped until they are forgotten.
    unsafe { watch::protect(at, (PAGES + 1) * PAGE).unwrap() };
    let is_over = &AtomicBool::new(false);
    let stores = move || {
        let stored = (0..PAGES).take_while(|_| !is_over.load(SeqCst));
        stored.filter(|page| library.call("store", [at + page * PAGE, 1, 0]) == 1).count()
    };
    let (ended, count) = std::thread::scope(|scope| {
        let stores = scope.spawn(stores);
        let forked = (0..100).map(|_| {
            child(|| {
                let limit = libc::rlimit { rlim_cur: 2, rlim_max: 2 };
                // SAFETY: ends a child that waits for ever, with SIGKILL.
                assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_CPU, &raw const limit) }, 0);
                watch::forget_threads();
                watch::forget(own, PAGE).unwrap();
            })
        });
        let ended = forked.take_while(|&status| status == 0).count();
        is_over.store(true, SeqCst);
        (ended, stores.join().unwrap())
    });
    assert_eq!(ended, 100, "beside {count} faults");
    assert!(count > 0);
    watch::forget(at, (PAGES + 1) * PAGE).unwrap();
}

#[test]
fn stores_succeed_when_the_process_can_have_no_more_areas() {
    // The kernel's limit, as its documentation says (vm.max_map_count).
    let limit: usize = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    let _alone = alone();
    let library = library("areas");
    install();
    if limit > 1 << 18 {
        eprintln!("vm.max_map_count is {limit}: too large for this test");
        return;
    }
    // SAFETY: the function takes an address and a byte.
    let store: extern "C" fn(usize, usize) = unsafe { std::mem::transmute(library.symbol("store")) };
    let ended = child(|| {
        let (at, other) = (map(2000), map(2 * limit));
        // SAFETY: the pages stay mapped.
        unsafe { watch::protect(at, 2000 * PAGE).unwrap() };
        // Each store divides an area.
        let stored = || (0..2000).step_by(2).map(|page| at + page * PAGE);
        stored().take(100).for_each(|page| store(page, 7));
        // Then no area is left. SAFETY: nothing uses these pages.
        let divided = (0..limit).take_while(|page| unsafe {
            let page = std::ptr::with_exposed_provenance_mut(other + 2 * page * PAGE);
            libc::mprotect(page, PAGE, libc::PROT_READ) == 0
        });
        let is_full = divided.count() < limit;
        stored().skip(100).for_each(|page| store(page, 7));
        let is_opened = stored().all(|page| byte(page) == 7 && watch::is_writable(page));
        let known = stored().filter(|&page| watch::first_store(page).is_some()).count();
        // Before the limit each store is recorded; after it, the first one.
        // SAFETY: ends the child.
        unsafe { libc::_exit(if is_full && is_opened && known == 101 { 42 } else { 43 }) };
    });
    assert_eq!(ended, 42);
}
