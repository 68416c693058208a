//! Loads of stale lines: the CPU's cache has old bytes of them, and memory has newer ones that an agent wrote.
//!
//! The pages of such lines are hidden from the program. Each load of them is looked at, and reported to the server if it gets
//! other bytes than memory has, once a line. In a run that many platforms judge, the server knows which lines are stale on which
//! platform: the first load of each line is reported, whatever it gets. A page is shown again when none of its lines is left to be
//! reported, when the program stores to it, and when the kernel accesses it.
//!
//! Other pages are hidden until their first load, because verdicts on flushes depend on whether there is one.

use gem_coherency_protocol::Request;
use gem_coherency_trap::watch::{self, Load, Seen};

use crate::mapped::hidden::{self, Set, set, stale};
use crate::mapped::line::{self, LINE_BYTES};
use crate::mapped::mappings::{self, Mapping, PAGE_BYTES};
use crate::mapped::sites::{self, Lines, Transfer};
use crate::server::{connection, requests};

/// Most bytes that a system call loads (`MAX_RW_COUNT`).
const MOST_BYTES: usize = 0x7fff_f000;

/// Begins to look at loads of hidden pages, with `each` at the first one of each line.
pub(crate) fn start(each: bool) {
    hidden::judge_by_many(each);
    watch::on_load(see);
}

/// Returns the lines of `len` bytes in a page, whose bytes a load of them misses.
fn missed(mapping: &Mapping, page: usize, start: usize, len: usize) -> Set {
    let each = hidden::is_judged_by_many();
    if mapping.evicts {
        let (first, end) = (start.max(page), (start + len).min(page + PAGE_BYTES));
        line::evict(mapping, first, end.saturating_sub(first));
    }
    set(page, start, len, |line| {
        let (from, to) = (line.max(start), (line + LINE_BYTES).min(start + len));
        each || line::misses(mapping, from, to - from)
    })
}

/// Looks at a load, and reads its bytes. Its page's mark is the set of lines that were reported.
fn see(load: &Load<'_>, bytes: &mut [u8]) -> Seen {
    let page = load.address & !(PAGE_BYTES - 1);
    let found = mappings::at(load.address, |mapping| {
        sites::log_shown(mapping, page);
        let missed = missed(mapping, page, load.address, load.length) & !load.mark;
        let is_read = line::read(mapping, load.address, bytes);
        (place(mapping, page), missed, stale(mapping, page), is_read)
    });
    let Some((place, missed, stale, is_read)) = found else { return Seen::Enough };
    if missed != 0 {
        let mut frames = [0; sites::MOST_FRAMES];
        let depth = load.callers(&mut frames);
        report(place, missed, &sites::lines(frames.get(..depth).unwrap_or_default()));
    }
    let reported = load.mark | missed;
    if stale & !reported == 0 {
        Seen::Enough
    } else if is_read {
        Seen::Read(reported)
    } else {
        Seen::More(reported)
    }
}

/// Looks at a system call that loads `len` bytes, and shows it their pages, which are not hidden again until it ends.
pub(crate) fn by_kernel(transfer: &mut Transfer, start: usize, len: usize) {
    show(transfer, start, len, true);
}

/// Shows pages to a system call that loads nothing from them.
pub(crate) fn show_to_kernel(transfer: &mut Transfer, start: usize, len: usize) {
    show(transfer, start, len, false);
}

fn show(transfer: &mut Transfer, start: usize, len: usize, loads: bool) {
    if !sites::is_collecting() {
        return;
    }
    transfer.begin(start, len, || {});
    let len = len.min(MOST_BYTES);
    if !watch::is_hidden(start, len) {
        return;
    }
    let end = start.saturating_add(len);
    for page in (start & !(PAGE_BYTES - 1)..end).step_by(PAGE_BYTES).filter(|page| watch::is_hidden(*page, 1))
    {
        let found = mappings::at(page, |mapping| {
            sites::log_shown(mapping, page);
            let (from, to) = (start.max(page), end.min(page + PAGE_BYTES));
            (place(mapping, page), missed(mapping, page, from, to - from))
        });
        if let Some((place, missed @ 1..)) = found.filter(|_| loads) {
            report(place, missed, &sites::stack());
        }
        // A page that cannot be shown is EFAULT.
        let _ = watch::reveal(page, PAGE_BYTES);
    }
}

/// A page of an object: the object's number, and the page's first line.
type Place = (u64, u64);

fn place(mapping: &Mapping, page: usize) -> Place {
    (mapping.object, (mapping.offset + (page - mapping.start) as u64) / LINE_BYTES as u64)
}

/// Tells the server that a load with a call stack missed lines of a page.
fn report((object, first): Place, lines: Set, stack: &Lines) {
    let Some(server) = connection::found() else { return };
    let mut rest = lines;
    let mut at = first;
    while rest != 0 {
        let clean = rest.trailing_zeros();
        let count = (rest >> clean).trailing_ones();
        at += u64::from(clean);
        let request = Request::Loaded.with([object, at, at + u64::from(count)]);
        // A server that is gone has no findings.
        let _ = requests::tell(server, &request, stack.as_bytes());
        at += u64::from(count);
        rest = rest.checked_shr(clean + count).unwrap_or(0);
    }
}
