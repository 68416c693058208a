//! Measures the cost of a trapped flush, alone and in a loop, beside that of a signal whose handler is empty; of a first
//! store to a watched page; of a load of a hidden page; and the speed of the search.
//!
//! ```console
//! $ cargo run --release -p gem-coherency-trap --example costs [-- LIBRARY]
//! ```
//! The library is loaded and searched; without one, the program's own libraries are.
#![cfg_attr(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")), allow(unused))]

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
fn main() -> Result<(), gem_coherency_trap::Error> {
    measured::run()
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
fn main() {}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod measured {
    use std::arch::x86_64::_mm_clflush;
    use std::ffi::CString;
    use std::hint::black_box;
    use std::os::unix::ffi::OsStringExt;
    use std::time::Instant;

    use gem_coherency_trap::scan::Search;
    use gem_coherency_trap::{Error, Event, NEAREST, Options, Outcome, install, remove, watch};

    const TURNS: u32 = 200_000;
    const LINES: usize = 4096;
    const PAGES: usize = 4096;
    const PAGE_BYTES: usize = 4096;
    const LINE_BYTES: usize = 64;
    const LOADS: usize = 100_000;

    /// Returns at once.
    fn nothing(_: &Event<'_>) -> Outcome {
        Outcome::Done
    }

    /// Finds the call stack first.
    fn stack(event: &Event<'_>) -> Outcome {
        let mut frames = [0; 16];
        black_box(event.callers(&mut frames));
        Outcome::Done
    }

    /// Finds the nearest callers first.
    fn nearest(event: &Event<'_>) -> Outcome {
        black_box(event.nearest_callers(&mut [0; NEAREST]));
        Outcome::Done
    }

    /// Nanoseconds of one flush.
    #[inline(never)]
    fn flush(line: &[u8; 64]) -> f64 {
        let start = Instant::now();
        for _ in 0..TURNS {
            // SAFETY: the line is mapped.
            unsafe { _mm_clflush(black_box(line.as_ptr())) };
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS)
    }

    /// Nanoseconds of one flush of a loop over lines, as drivers have it.
    #[inline(never)]
    fn flush_all(lines: &[[u8; 64]]) -> f64 {
        let start = Instant::now();
        for line in lines {
            // SAFETY: the line is mapped.
            unsafe { _mm_clflush(line.as_ptr()) };
        }
        start.elapsed().as_secs_f64() * 1e9 / lines.len() as f64
    }

    extern "C" fn empty(_: i32) {}

    /// Nanoseconds of INT3 with an empty handler of SIGTRAP: the kernel's part of a trapped instruction.
    fn signal() -> f64 {
        // SAFETY: the handler does nothing, and the crate's own replaces it in `install`.
        unsafe { libc::signal(libc::SIGTRAP, empty as *const () as usize) };
        let start = Instant::now();
        for _ in 0..TURNS {
            // SAFETY: the signal that this instruction raises is handled.
            unsafe { std::arch::asm!("int3") };
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS)
    }

    pub fn run() -> Result<(), Error> {
        if let Some(library) = std::env::args_os().nth(1) {
            let path = CString::new(library.into_vec()).unwrap_or_default();
            // SAFETY: loading runs the library's constructors; the user chose it.
            let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
            if handle.is_null() {
                eprintln!("{path:?} cannot be loaded; the program's own libraries are searched");
            }
        }
        let line = [0; 64];
        let lines = vec![[0; 64]; LINES];
        println!("a flush, bare:               {:8.0} ns", flush(&line));
        println!("a flush of a loop, bare:     {:8.0} ns", flush_all(&lines));
        println!("a signal, empty handler:     {:8.0} ns", signal());
        // The program itself is searched: its own flushes are the subject. Address 0 is in no object.
        let start = Instant::now();
        let report = install(nothing, Options { own: 0, search: Search::FlushesAndStores })?;
        let seconds = start.elapsed().as_secs_f64();
        let megabytes = report.bytes as f64 / 1e6;
        println!(
            "the search: {megabytes:.1} MB of code in {:.1} ms ({:.0} MB/s), {} trapped, {} doubtful",
            seconds * 1e3,
            megabytes / seconds,
            report.trapped,
            report.doubtful
        );
        println!("a flush, trapped:            {:8.0} ns", flush(&line));
        println!("a flush of a loop, trapped:  {:8.0} ns", flush_all(&lines));
        install(stack, Options { own: 0, search: Search::FlushesAndStores })?;
        println!("a flush, with its callers:   {:8.0} ns", flush(&line));
        install(nearest, Options { own: 0, search: Search::FlushesAndStores })?;
        println!("a flush, with the nearest:   {:8.0} ns", flush(&line));
        println!("a flush of a loop, the same: {:8.0} ns", flush_all(&lines));
        remove()?;
        println!("a flush, put back:           {:8.0} ns", flush(&line));

        let mut memory = vec![0_u8; (PAGES + 1) * PAGE_BYTES];
        memory.fill(1);
        let offset = memory.as_ptr().align_offset(PAGE_BYTES);
        let pages = memory.get_mut(offset..offset + PAGES * PAGE_BYTES).unwrap_or_default();
        let (at, length) = (pages.as_mut_ptr().expose_provenance(), pages.len());
        // SAFETY: the pages are mapped until the end, writable, and SIGSEGV is not blocked.
        unsafe { watch::protect(at, length)? };
        let start = Instant::now();
        for page in pages.chunks_exact_mut(PAGE_BYTES) {
            if let Some(first) = page.first_mut() {
                *black_box(first) = 2;
            }
        }
        println!(
            "a first store, with callers: {:8.0} ns",
            start.elapsed().as_secs_f64() * 1e9 / PAGES as f64
        );
        let start = Instant::now();
        // SAFETY: as above.
        unsafe { watch::protect(at, length)? };
        println!("protecting {} MiB again:     {:8.0} ns", length >> 20, start.elapsed().as_secs_f64() * 1e9);
        let load = |name: &str, handler| -> Result<(), Error> {
            watch::on_load(handler);
            watch::hide(at, length)?;
            let start = Instant::now();
            let sum: u64 = pages
                .chunks_exact(LINE_BYTES)
                .take(LOADS)
                .map(|line| u64::from(line.first().copied().unwrap_or(0)))
                .sum();
            println!("{name} {:8.0} ns", start.elapsed().as_secs_f64() * 1e9 / LOADS as f64);
            black_box(sum);
            Ok(())
        };
        load("a load of a hidden page:    ", |_, _| watch::Seen::More(1))?;
        load("the same, by the handler:   ", |_, _| watch::Seen::Read(1))?;
        watch::release(at, length)?;
        watch::forget(at, length)?;
        Ok(())
    }
}
