//! Loads of hidden pages.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use gem_coherency_trap::watch::{self, Load, MOST_STEPS, Seen};
use libraries::*;

const PAGE: usize = 4096;

const LOADS: &str = r#"
#include <immintrin.h>
#include <signal.h>
#include <string.h>
__attribute__((noinline)) int load(const char *from) { return *(const volatile char *)from; }
__attribute__((noinline)) long load8(const long *from) { return *(const volatile long *)from; }
__attribute__((noinline)) int calls_load(const char *from) { return load(from) + 1; }
__attribute__((noinline)) int vector(const char *from) {
    __m128i loaded;
    __asm__ volatile("movdqu %1, %0" : "=x"(loaded) : "m"(*(const __m128i_u *)from));
    return _mm_cvtsi128_si32(loaded);
}
__attribute__((noinline)) int store(char *to, int value) { *(volatile char *)to = value; return 1; }
__attribute__((noinline)) int add(char *to, int value) { return *(volatile char *)to += value; }
__attribute__((noinline)) int flush(char *at) { _mm_clflush(at); return 1; }
__attribute__((noinline)) int copy8(long *to, const long *from) {
    __asm__ volatile("movsq" : "+D"(to), "+S"(from) : : "memory");
    return 1;
}
__attribute__((noinline)) int copy(char *to, const char *from, long bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    return 1;
}
// A loop with all flags and several loads an iteration.
__attribute__((noinline)) long sum(const long *from, long count) {
    long sum = 0;
    for (long n = 0; n < count; n++) sum = sum * 31 + ((const volatile long *)from)[n];
    return sum;
}
"#;

/// A load that was seen: address, length, mark, and the two innermost functions.
type Row = (usize, usize, usize, String, String);
static SEEN: Mutex<Vec<Row>> = Mutex::new(Vec::new());
/// Loads after which the page is opened.
static ENOUGH: AtomicUsize = AtomicUsize::new(0);
static LOADED: AtomicUsize = AtomicUsize::new(0);

/// Records the load. The tests hold no lock of the allocator or the list during a load.
fn see(load: &Load<'_>, _: &mut [u8]) -> Seen {
    let mut frames = [0; 4];
    let depth = load.callers(&mut frames);
    assert!(depth >= 2);
    LOADED.fetch_add(1, SeqCst);
    let row = (load.address, load.length, load.mark, name(frames[0]), name(frames[1] - 1));
    SEEN.lock().unwrap().push(row);
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = 4711 };
    if load.mark + 1 == ENOUGH.load(SeqCst) { Seen::Enough } else { Seen::More(load.mark + 1) }
}

fn seen() -> Vec<Row> {
    std::mem::take(&mut SEEN.lock().unwrap())
}

/// Addresses that were loaded from.
fn addresses() -> Vec<usize> {
    seen().into_iter().map(|row| row.0).collect()
}

/// Maps watched pages, each filled with its number.
fn pages(count: usize) -> usize {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel chooses the address; the pages stay mapped.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), count * PAGE, protection, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        for page in 0..count {
            at.cast::<u8>().add(page * PAGE).write_bytes(page as u8 + 1, PAGE);
        }
        watch::protect(at.expose_provenance(), count * PAGE).unwrap();
        at.expose_provenance()
    }
}

/// Begins a test.
fn library(name: &str) -> Library {
    let library = Library::open(&compile(name, "c", LOADS, &["-O2", "-fno-optimize-sibling-calls"]));
    install();
    PERFORM.store(true, SeqCst);
    ENOUGH.store(usize::MAX, SeqCst);
    watch::on_load(see);
    seen();
    library
}

#[test]
fn each_load_of_a_hidden_page_is_seen() {
    let _alone = alone();
    let library = library("loads_each");
    let at = pages(2);
    library.call("load", [at, 0, 0]);
    assert_eq!(seen(), [], "not hidden");
    watch::hide(at, PAGE).unwrap();
    assert!(watch::is_hidden(at + 5, 1) && watch::is_hidden(at, 2 * PAGE) && !watch::is_hidden(at + PAGE, 1));
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = 17 };
    assert_eq!(library.call("calls_load", [at + 3, 0, 0]) as u32, 2);
    // SAFETY: as above.
    assert_eq!(unsafe { *libc::__errno_location() }, 17);
    assert_eq!(library.call("load8", [at + 64, 0, 0]), 0x0101_0101_0101_0101);
    assert_eq!(library.call("vector", [at + 4088, 0, 0]) as u32, 0x0101_0101);
    library.call("load", [at + PAGE, 0, 0]);
    let row = |at, length, mark, inner: &str, outer: &str| (at, length, mark, inner.into(), outer.into());
    let mut rows = seen();
    // The test's own functions have no names.
    rows[1].4.clear();
    rows[2].4.clear();
    assert_eq!(
        rows,
        [
            row(at + 3, 1, 0, "load", "calls_load"),
            row(at + 64, 8, 1, "load8", ""),
            // The vector ends in the next page, which is not hidden.
            row(at + 4088, 8, 2, "vector", ""),
        ]
    );
    // The function has seen enough; hidden again, it begins anew.
    ENOUGH.store(5, SeqCst);
    for _ in 0..4 {
        library.call("load", [at, 0, 0]);
    }
    assert_eq!(addresses(), [at, at]);
    assert!(!watch::is_hidden(at, 1) && !watch::is_writable(at));
    watch::hide(at, PAGE).unwrap();
    library.call("load", [at + 9, 0, 0]);
    assert_eq!(seen()[0].2, 0);
    watch::release(at, 2 * PAGE).unwrap();
    watch::forget(at, 2 * PAGE).unwrap();
}

#[test]
fn a_store_opens_the_page_and_is_recorded() {
    let _alone = alone();
    let library = library("loads_store");
    let at = pages(2);
    watch::hide(at, 2 * PAGE).unwrap();
    library.call("store", [at + 7, 9, 0]);
    assert_eq!(name(watch::first_store(at).unwrap().callers[0]), "store");
    assert!(watch::is_writable(at) && !watch::is_hidden(at, 1));
    assert_eq!(library.call("load", [at + 7, 0, 0]), 9);
    assert_eq!(seen(), []);
    // An instruction that loads and stores is a store (the CPU asks for both rights at once).
    assert_eq!(library.call("add", [at + PAGE + 7, 9, 0]), 11);
    assert!(watch::is_writable(at + PAGE));
    // A page that was stored to before it was hidden is writable after that.
    watch::hide(at, PAGE).unwrap();
    assert!(!watch::is_writable(at));
    ENOUGH.store(1, SeqCst);
    library.call("load", [at, 0, 0]);
    assert!(watch::is_writable(at));
    // `protect` leaves a hidden page hidden.
    watch::hide(at, PAGE).unwrap();
    // SAFETY: the pages stay mapped.
    unsafe { watch::protect(at, 2 * PAGE).unwrap() };
    seen();
    library.call("load", [at, 0, 0]);
    assert_eq!(addresses(), [at]);
    watch::release(at, 2 * PAGE).unwrap();
    watch::forget(at, 2 * PAGE).unwrap();
}

#[test]
fn an_instruction_may_load_from_several_pages() {
    let _alone = alone();
    let library = library("loads_several");
    let at = pages(4);
    watch::hide(at, 4 * PAGE).unwrap();
    // Unaligned, in two pages.
    assert_eq!(library.call("load8", [at + PAGE - 4, 0, 0]), 0x0202_0202_0101_0101);
    assert_eq!(addresses(), [at + PAGE - 4, at + PAGE]);
    // Both are hidden again.
    library.call("load8", [at + PAGE - 4, 0, 0]);
    assert_eq!(addresses(), [at + PAGE - 4, at + PAGE]);
    // From one to another: the first one is loaded, the other one stored to.
    library.call("copy8", [at + 2 * PAGE, at + 3 * PAGE, 0]);
    assert_eq!(addresses(), [at + 3 * PAGE]);
    assert!(watch::is_hidden(at + 3 * PAGE, 1) && watch::is_writable(at + 2 * PAGE));
    assert_eq!(library.call("load8", [at + 2 * PAGE, 0, 0]), 0x0404_0404_0404_0404);
    // A repeated instruction is one load of each page.
    seen();
    let mut to = [0_u8; 2 * PAGE];
    library.call("copy", [to.as_mut_ptr().expose_provenance(), at + 10, 2 * PAGE - 10]);
    let rows: Vec<_> = seen().into_iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(rows, [(at + 10, PAGE - 10), (at + PAGE, PAGE)]);
    assert_eq!((to[0], to[PAGE - 11], to[PAGE - 10], to[2 * PAGE - 11]), (1, 1, 2, 2));
    watch::release(at, 4 * PAGE).unwrap();
    watch::forget(at, 4 * PAGE).unwrap();
}

#[test]
fn results_are_those_without_the_watch() {
    let _alone = alone();
    let library = library("loads_results");
    let at = pages(3);
    let plain = library.call("sum", [at, 3 * PAGE / 8, 0]);
    watch::hide(at, 3 * PAGE).unwrap();
    assert_eq!(library.call("sum", [at, 3 * PAGE / 8, 0]), plain);
    assert_eq!(seen().len(), 3 * PAGE / 8, "each one");
    // More than the limit.
    for _ in 0..3 {
        assert_eq!(library.call("sum", [at, PAGE / 8, 0]), plain_of_one_page(&library));
    }
    assert!(!watch::is_hidden(at, 1) && watch::is_hidden(at + PAGE, 1));
    assert_eq!(seen().len(), MOST_STEPS - PAGE / 8);
    watch::release(at, 3 * PAGE).unwrap();
    watch::forget(at, 3 * PAGE).unwrap();
}

/// The sum of a page of ones, from one that is not watched.
fn plain_of_one_page(library: &Library) -> usize {
    let page = [1_u8; PAGE];
    library.call("sum", [page.as_ptr().expose_provenance(), PAGE / 8, 0])
}

#[test]
fn a_trapped_flush_of_a_hidden_page_is_performed() {
    let _alone = alone();
    let library = library("loads_flush");
    let at = pages(1);
    watch::hide(at, PAGE).unwrap();
    let before = COUNT.load(SeqCst);
    library.call("flush", [at + 128, 0, 0]);
    assert_eq!(COUNT.load(SeqCst), before + 1);
    assert_eq!(addresses(), [at + 128], "CLFLUSH needs the right to load");
    assert!(watch::is_hidden(at, 1));
    watch::release(at, PAGE).unwrap();
    watch::forget(at, PAGE).unwrap();
}

#[test]
fn pages_that_are_read_only_stay_so() {
    let _alone = alone();
    let library = library("loads_read_only");
    let at = pages(1);
    watch::forget(at, PAGE).unwrap();
    // SAFETY: the page stays mapped.
    unsafe { watch::add_read_only(at, PAGE).unwrap() };
    watch::hide(at, PAGE).unwrap();
    ENOUGH.store(2, SeqCst);
    library.call("load", [at, 0, 0]);
    library.call("load", [at, 0, 0]);
    assert_eq!(seen().len(), 2);
    assert_eq!((watch::first_store(at), watch::is_writable(at)), (None, false));
    // SAFETY: zeroes are an action; the function takes an address and a byte.
    let store: extern "C" fn(usize, usize) = unsafe {
        gem_coherency_trap::set_program_action(libc::SIGSEGV, &std::mem::zeroed()).unwrap();
        std::mem::transmute(library.symbol("store"))
    };
    assert_eq!(child(|| store(at, 1)), libc::SIGSEGV);
    watch::hide(at, PAGE).unwrap();
    assert_eq!(child(|| store(at, 1)), libc::SIGSEGV);
    watch::release(at, PAGE).unwrap();
    assert_eq!(child(|| store(at, 1)), libc::SIGSEGV);
    watch::forget(at, PAGE).unwrap();
}

#[test]
fn threads_load_and_store_at_once() {
    let _alone = alone();
    let library = &library("loads_threads");
    let at = pages(8);
    let plain = plain_of_one_page(library);
    for turn in 0..10 {
        watch::hide(at, 8 * PAGE).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                scope.spawn(move || {
                    for page in 0..4 {
                        let sum = library.call("sum", [at + (page + thread) % 4 * PAGE, 16, 0]);
                        assert_ne!(sum, 0);
                    }
                });
            }
            scope.spawn(move || {
                for page in 4..8 {
                    library.call("store", [at + page * PAGE, turn, 0]);
                    assert_eq!(library.call("load", [at + page * PAGE, 0, 0]), turn);
                }
            });
        });
        assert!((4..8).all(|page| watch::is_writable(at + page * PAGE)));
    }
    watch::release(at, 8 * PAGE).unwrap();
    watch::forget(at, 8 * PAGE).unwrap();
    assert_eq!(library.call("sum", [at, PAGE / 8, 0]), plain);
    seen();
}

/// A page that the handler of the program's signal loads from.
static PAGE_OF_HANDLER: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn on_signal(_: i32) {
    let at = PAGE_OF_HANDLER.load(SeqCst);
    // SAFETY: the page is mapped.
    unsafe { std::ptr::with_exposed_provenance::<u8>(at).read_volatile() };
}

#[test]
fn signals_arrive_between_the_load_and_its_end() {
    let _alone = alone();
    let library = &library("loads_signals");
    let at = pages(2);
    PAGE_OF_HANDLER.store(at + PAGE, SeqCst);
    let plain = plain_of_one_page(library);
    let mut timer = std::ptr::null_mut();
    // SAFETY: the handler only loads. The timer signals this thread: another one may be in the allocator, which `see` uses.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()), 0);
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGALRM;
        event.sigev_notify_thread_id = libc::gettid();
        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer), 0);
        let every = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
        let times = libc::itimerspec { it_interval: every, it_value: every };
        assert_eq!(libc::timer_settime(timer, 0, &raw const times, std::ptr::null_mut()), 0);
    }
    let before = LOADED.load(SeqCst);
    for _ in 0..3 {
        watch::hide(at, 2 * PAGE).unwrap();
        assert_eq!(library.call("sum", [at, PAGE / 8, 0]), plain);
    }
    // SAFETY: the timer was created here.
    unsafe {
        assert_eq!(libc::timer_delete(timer), 0);
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
    }
    assert!(LOADED.load(SeqCst) - before > 3 * PAGE / 8, "the handler's loads are seen, too");
    watch::release(at, 2 * PAGE).unwrap();
    watch::forget(at, 2 * PAGE).unwrap();
    seen();
}
