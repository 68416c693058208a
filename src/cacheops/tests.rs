//! The instructions on real memory, with pages on either side that fault.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::support::Support;
use super::*;

const PAGE: usize = 4096;
const PAGES: usize = 2;
const OPS: [LineOp; 3] = [LineOp::WriteBack, LineOp::Flush, LineOp::Invalidate];

/// Two pages of memory between two that fault.
struct Fenced(NonNull<c_void>);

impl Fenced {
    fn new() -> Self {
        let len = NonZeroUsize::new((PAGES + 2) * PAGE).unwrap();
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe { mmap_anonymous(None, len, access, MapFlags::MAP_PRIVATE) }.unwrap();
        for page in [0, PAGES + 1] {
            // SAFETY: the page lies in the mapping above, and nothing uses it.
            unsafe { mprotect(base.byte_add(page * PAGE), PAGE, ProtFlags::PROT_NONE) }.unwrap();
        }
        let fenced = Self(base);
        for at in 0..PAGES * PAGE {
            // SAFETY: `at` lies in the accessible pages.
            unsafe { fenced.byte(at).write_volatile(Self::pattern(at)) };
        }
        fenced
    }

    fn pattern(at: usize) -> u8 {
        (at as u8).wrapping_mul(31) ^ (at >> 8) as u8
    }

    /// Byte `at` of the accessible pages.
    fn byte(&self, at: usize) -> *mut u8 {
        self.0.as_ptr().cast::<u8>().wrapping_add(PAGE + at)
    }

    #[track_caller]
    fn assert_untouched(&self) {
        for at in 0..PAGES * PAGE {
            // SAFETY: `at` lies in the accessible pages.
            let byte = unsafe { self.byte(at).read_volatile() };
            assert_eq!(byte, Self::pattern(at), "byte {at}");
        }
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no pointer into it is left.
        unsafe { munmap(self.0, (PAGES + 2) * PAGE) }.unwrap();
    }
}

/// Every start and end within a line of the memory's edges and of the page boundary between.
fn edges() -> impl Iterator<Item = (usize, usize)> {
    let near = |edge: usize| edge.saturating_sub(65)..=(edge + 65).min(PAGES * PAGE);
    let starts = [0, PAGE, PAGES * PAGE].into_iter().flat_map(near);
    starts.flat_map(move |start| {
        let ends = [0, PAGE, PAGES * PAGE].into_iter().flat_map(near);
        ends.filter(move |&end| end >= start).map(move |end| (start, end - start))
    })
}

/// The instructions that this CPU has; says which it has not.
fn available(support: &Support) -> Vec<Instruction> {
    let mut available = vec![Instruction::Clflush];
    for (has, instruction) in
        [(support.clflushopt, Instruction::Clflushopt), (support.clwb, Instruction::Clwb)]
    {
        if has {
            available.push(instruction);
        } else {
            eprintln!("skipped: this CPU has no {instruction}");
        }
    }
    available
}

#[test]
fn no_operation_reaches_into_another_page_or_changes_a_byte() {
    let memory = Fenced::new();
    for instruction in available(&support().unwrap()) {
        for op in OPS {
            for (start, len) in edges() {
                // SAFETY:
                // - `start..start + len` lies in the accessible pages;
                // - the CPU has the instruction.
                unsafe { lines_by(memory.byte(start), len, op, instruction) };
            }
            fence();
            memory.assert_untouched();
        }
    }
}

#[test]
fn fenced_ranges_change_no_byte() {
    let memory = Fenced::new();
    for (start, len) in [(0, 0), (0, 1), (63, 2), (PAGE - 1, 2), (1, PAGES * PAGE - 2), (0, PAGES * PAGE)] {
        // SAFETY: `start..start + len` lies in the accessible pages.
        unsafe {
            write_back_range(memory.byte(start), len);
            flush_range(memory.byte(start), len);
            invalidate_range(memory.byte(start), len);
        }
        store_fence();
        memory.assert_untouched();
    }
}

#[test]
fn an_empty_range_touches_no_line_even_where_nothing_is_mapped() {
    let memory = Fenced::new();
    for op in OPS {
        // SAFETY: no byte, so nothing needs to be mapped.
        unsafe { lines(memory.byte(PAGES * PAGE), 0, op) };
    }
    memory.assert_untouched();
}

/// Tells the child process of the next test that it is the child.
const FAULTS: &str = "GEM_COHERENCY_TEST_FAULTS";

#[test]
fn a_line_in_the_fenced_page_faults() {
    use std::os::unix::process::ExitStatusExt;
    if std::env::var_os(FAULTS).is_some() {
        let memory = Fenced::new();
        // SAFETY: none: the byte is in a page that faults, which ends this process.
        unsafe { lines(memory.byte(PAGES * PAGE), 1, LineOp::Flush) };
        return;
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cacheops::tests::a_line_in_the_fenced_page_faults"])
        .env(FAULTS, "1")
        .output()
        .unwrap();
    assert_eq!(child.status.signal(), Some(nix::libc::SIGSEGV), "{child:?}");
}
