//! Pages that are hidden from the program, because lines in them are stale, or until their first load.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use gem_coherency_trap::watch;

use super::line::{self, LINE_BYTES};
use super::mappings::{self, Mapping, PAGE_BYTES};
use super::sites;

/// Lines of a page, a bit each.
pub(crate) type Set = usize;
const _: () = assert!(PAGE_BYTES / LINE_BYTES == Set::BITS as usize);

/// The server wants the first load of each line of a hidden page: lines count as stale until they are reported.
static EACH: AtomicBool = AtomicBool::new(false);

/// Lets lines count as stale until they are reported, if many platforms judge the run.
pub(crate) fn judge_by_many(each: bool) {
    // Relaxed, here and below: set before the program runs.
    EACH.store(each, Ordering::Relaxed);
}

/// Returns whether many platforms judge the run.
pub(crate) fn is_judged_by_many() -> bool {
    EACH.load(Ordering::Relaxed)
}

/// Hides the pages of an object's lines, where they are stale and the program sees the cached bytes.
pub(crate) fn hide(object: u64, first: u64, end: u64) {
    each_part(object, first, end, |mapping, pages| {
        // A system call would fail.
        if sites::is_transferring() {
            return;
        }
        for page in pages.step_by(PAGE_BYTES).filter(|page| stale(mapping, *page) != 0) {
            // A page that cannot be hidden is not looked at.
            let _ = watch::hide(page, PAGE_BYTES);
        }
    });
}

/// Hides the pages of an object's lines until they are loaded from, and logs which cannot be.
pub(crate) fn see_first(object: u64, first: u64, end: u64) {
    each_part(object, first, end, |mapping, pages| {
        let is_closed = |page: &usize| !sites::is_transferring() && !watch::is_writable(*page);
        let mut start = pages.start;
        let all = pages.clone().step_by(PAGE_BYTES);
        for page in all.filter(|page| !is_closed(page)).chain([pages.end]) {
            if start < page {
                // Those that cannot be hidden are logged.
                let _ = watch::hide(start, page - start);
            }
            start = page + PAGE_BYTES;
        }
        for page in pages.step_by(PAGE_BYTES).filter(|page| !watch::is_hidden(*page, 1)) {
            sites::log_shown(mapping, page);
        }
    });
}

/// Calls `act` with each mapping of the cached bytes of an object's lines, and the part of it that the lines' pages are.
fn each_part(object: u64, first: u64, end: u64, mut act: impl FnMut(&Mapping, Range<usize>)) {
    if !sites::is_collecting() {
        return;
    }
    let bytes = |line: u64| line.saturating_mul(LINE_BYTES as u64);
    mappings::each_cached(|mapping| {
        let all = mapping.offset..mapping.offset + mapping.len as u64;
        let (from, to) = (all.start.max(bytes(first)), all.end.min(bytes(end)));
        if mapping.object == object && from < to {
            let at = |offset: u64| mapping.start + (offset - mapping.offset) as usize;
            act(mapping, at(from) & !(PAGE_BYTES - 1)..at(to).next_multiple_of(PAGE_BYTES));
        }
    });
}

/// Returns the stale lines of a page.
pub(crate) fn stale(mapping: &Mapping, page: usize) -> Set {
    let each = is_judged_by_many();
    set(page, page, PAGE_BYTES, |line| each || line::is_stale(mapping, line))
}

/// Returns the lines of `len` bytes in a page for which `is` holds, by their addresses.
pub(crate) fn set(page: usize, start: usize, len: usize, is: impl Fn(usize) -> bool) -> Set {
    let lines = (page..page + PAGE_BYTES).step_by(LINE_BYTES).enumerate();
    let touched = lines.filter(|(_, line)| *line < start + len && start < line + LINE_BYTES);
    touched.filter(|(_, line)| is(*line)).fold(0, |set, (n, _)| set | 1 << n)
}
