//! The flushes of an object's lines by programs, until it is known on each class whether they were needed.
//!
//! A flush of a dirty line is judged by what happens until the line is written back for another reason: without it memory would have
//! stayed old all that time, since no cache has to evict a line. An agent that accesses memory makes the flush needed, also where
//! the program has stored again meanwhile: what it gets is old, but not that old. Where no agent does, the flush is useless if each one that can reach the object sees the cache,
//! and otherwise precautionary.
//!
//! A flush of a clean line is judged alike: without it the line would have stayed in the cache. An agent that writes memory then leaves an old
//! copy there. The flush is needed if a load of that copy is seen. It is useless if none can have been made, because the page was hidden
//! from the program from the write on, and precautionary otherwise.
//!
//! A store of the bytes that are there may not have been seen. The lines of a page that was open since their last flush
//! may be dirty, so that a flush of them is judged in the same way, but is never certainly needed.

use std::collections::BTreeMap;

use gem_coherency::units::{LineRange, PAGE_LINES};

use super::classes::Mask;
use crate::judging::need::{Counts, Need};

/// The lines that each place flushed, by class and verdict.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger(BTreeMap<u64, BTreeMap<u32, Counts>>);

impl Ledger {
    /// Adds a line on a set of classes.
    pub(super) fn add(&mut self, site: u64, need: Need, on: Mask) {
        let mut rest = on;
        while rest != 0 {
            let class = rest.trailing_zeros();
            self.0.entry(site).or_default().entry(class).or_default().add(need);
            rest &= rest - 1;
        }
    }

    /// Returns the lines of a place on a class.
    pub(super) fn of(&self, site: u64, class: u32) -> Counts {
        self.0.get(&site).and_then(|classes| classes.get(&class)).copied().unwrap_or_default()
    }

    /// Returns the classes on which the lines of a place have at least a verdict.
    pub(super) fn on(&self, site: u64, least: Need) -> Mask {
        let classes = self.0.get(&site).into_iter().flatten();
        let is = |counts: &Counts| counts.worst().is_some_and(|worst| worst >= least);
        classes.filter(|(_, counts)| is(counts)).fold(0, |set, (&class, _)| set | 1 << class)
    }
}

/// A flush of a line that is not judged yet on some classes.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// The line in its page.
    line: u64,
    site: u64,
    /// The line was dirty.
    dirty: Mask,
    /// The line may have been dirty.
    possible: Mask,
    /// The line was clean.
    clean: Mask,
    /// The same, and memory was written since: the program may have loaded an old copy.
    aged: Mask,
    /// Those of them where the page can still be hidden before the program goes on.
    fresh: Mask,
    /// As `aged`, but the page is hidden from the program: it has loaded nothing.
    unloaded: Mask,
    /// An access that was not simulated may have missed the line.
    doubted: Mask,
    /// Agents of other devices could reach the object.
    foreign: bool,
    /// Vertical blanks since, at which a plane showed the line.
    blanks: u32,
}

/// The flushes of a page's lines, and what is not known of the lines, a bit each.
#[derive(Debug, Default)]
struct Page {
    pending: Vec<Pending>,
    /// Mappings in which the page is open: a store there is not seen.
    open: u32,
    /// The page was open since the line's last flush.
    stored: u64,
    /// The GPU may have written the line, by commands that were not simulated, since its last flush.
    written: u64,
}

/// The flushes of an object's lines.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    pages: BTreeMap<u64, Page>,
    /// A flush is [`Pending::fresh`].
    is_fresh: bool,
    /// Agents of other devices can reach the object.
    foreign: bool,
}

/// The state in which a flush found a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// The classes on which the object exists.
    pub(super) all: Mask,
    /// Those on which the line was dirty.
    pub(super) dirty: Mask,
    /// Those on which it was an old copy, which the flush drops.
    pub(super) old: Mask,
    /// Those on which a store by the program, which was not seen, may have left it dirty.
    pub(super) storable: Mask,
    /// Those on which a write by the GPU leaves an old copy in the cache, which the flush would drop.
    pub(super) leaves_old: Mask,
    /// Those on which such a write leaves a dirty line.
    pub(super) leaves_dirty: Mask,
    /// Those on which an agent of another device may have written it.
    pub(super) foreign: Mask,
    /// Those on which the program's loads bring it into the cache.
    pub(super) mapped: Mask,
}

impl Pending {
    /// Returns the classes on which it is not judged yet.
    fn open(&self) -> Mask {
        self.dirty | self.possible | self.clean | self.old()
    }

    /// Returns the classes on which there would be an old copy without it.
    fn old(&self) -> Mask {
        self.aged | self.unloaded
    }

    /// Decides on a set of classes.
    fn decide(&mut self, ledger: &mut Ledger, need: Need, on: Mask) {
        ledger.add(self.site, need, on & self.open());
        let Self { dirty, possible, clean, aged, fresh, unloaded, .. } = self;
        for of in [dirty, possible, clean, aged, fresh, unloaded] {
            *of &= !on;
        }
    }

    /// Takes note of a flush by the kernel, which would have flushed the line without the program's flush, too, unless that made the request
    /// useless for which it flushes.
    fn kernel_flush(&mut self, ledger: &mut Ledger, on: Mask) {
        let newer = on & (self.dirty | self.possible);
        self.decide(ledger, Need::Precautionary, newer);
        self.settle(ledger, on, 0);
    }

    /// Decides on a set of classes, where the line is from now on as it would be without the flush, and nothing was seen to miss it:
    /// `reach` are those on which an agent that can reach the object may miss a dirty line. The program may have loaded an old copy.
    fn settle(&mut self, ledger: &mut Ledger, on: Mask, reach: Mask) {
        let reach = if self.foreign { !0 } else { reach };
        let doubted = self.doubted | reach & (self.dirty | self.possible) | self.aged;
        self.decide(ledger, Need::Precautionary, on & doubted);
        self.decide(ledger, Need::Useless, on & !doubted);
    }
}

/// An access to lines that was simulated, by classes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Touch {
    /// It accesses memory, whatever the cache has.
    pub(super) missed: Mask,
    /// It reads the cache.
    pub(super) sees: Mask,
    /// A dirty line is written back.
    pub(super) merged: Mask,
    /// It writes memory and leaves a copy in the cache, which is old then.
    pub(super) leaves_old: Mask,
    /// It writes, and leaves no old copy.
    pub(super) renews: Mask,
}

impl Flushes {
    /// Adds a flush of a line; with `keep`, one that leaves the line in the cache. `reach` is as in [`Pending::settle`].
    pub(super) fn flush(
        &mut self,
        ledger: &mut Ledger,
        (site, keep): (u64, bool),
        line: u64,
        found: Found,
        reach: Mask,
    ) {
        let Found { all, dirty, old, storable, leaves_old, leaves_dirty, foreign, mapped } = found;
        let page = self.pages.entry(line / PAGE_LINES).or_default();
        let (line, bit) = (line % PAGE_LINES, 1 << (line % PAGE_LINES));
        let mut rest = all & !dirty;
        let mut part = |of: Mask| {
            let part = rest & of;
            rest &= !part;
            part
        };
        let needed = part(if keep { 0 } else { old });
        let is_written = page.written & bit != 0;
        let written = |on: Mask| if is_written { on } else { 0 };
        let stored = if page.open > 0 || page.stored & bit != 0 { storable } else { 0 };
        let possible = part(stored | written(leaves_dirty));
        let doubted = part(if keep { 0 } else { foreign | written(leaves_old) });
        ledger.add(site, Need::Needed, needed);
        ledger.add(site, Need::Precautionary, doubted);
        let clean = if keep { 0 } else { rest & mapped };
        ledger.add(site, Need::Useless, rest & !clean);
        page.pending.retain_mut(|before| {
            if before.line == line {
                // Where the line was not dirty again, this flush does nothing that an earlier one has not done.
                before.settle(ledger, dirty | possible, reach);
                let copies = if keep { 0 } else { before.clean | before.old() };
                before.settle(ledger, copies, reach);
            }
            before.open() != 0
        });
        if dirty | possible | clean != 0 {
            let foreign = self.foreign;
            page.pending.push(Pending { line, site, dirty, possible, clean, foreign, ..Pending::default() });
        }
        page.stored &= !bit;
        if !keep {
            page.written &= !bit;
        }
    }

    /// Takes note of an access to lines.
    pub(super) fn access(&mut self, ledger: &mut Ledger, lines: LineRange, touch: Touch, reach: Mask) {
        let Touch { missed, sees, merged, leaves_old, renews } = touch;
        let mut is_fresh = false;
        self.each(lines, |flush| {
            let wrong = flush.dirty & missed | flush.old() & sees;
            flush.decide(ledger, Need::Needed, wrong);
            flush.decide(ledger, Need::Precautionary, missed & flush.possible);
            flush.settle(ledger, merged & (flush.dirty | flush.possible), reach);
            flush.settle(ledger, renews & (flush.clean | flush.old()), reach);
            let ages = flush.clean & leaves_old;
            flush.aged |= ages;
            flush.fresh |= ages;
            flush.clean &= !ages;
            is_fresh |= ages != 0;
        });
        self.is_fresh |= is_fresh;
    }

    /// Takes note that planes showed lines at a number of vertical blanks: with `most` since a flush, the display engine has read the line, and would
    /// have missed it on `missed` if it was dirty.
    pub(super) fn blanks_passed(
        &mut self,
        ledger: &mut Ledger,
        lines: LineRange,
        (count, most): (u32, u32),
        missed: Mask,
    ) {
        self.each(lines, |flush| {
            flush.blanks = flush.blanks.saturating_add(count);
            if flush.blanks >= most {
                let (dirty, possible) = (flush.dirty & missed, flush.possible & missed);
                flush.decide(ledger, Need::Needed, dirty);
                flush.decide(ledger, Need::Precautionary, possible);
            }
        });
    }

    /// Takes note of a store through the cache that was seen on the classes `on`; on those of `around` it writes the line back and leaves the
    /// cache.
    pub(super) fn store(
        &mut self,
        ledger: &mut Ledger,
        lines: LineRange,
        (on, around): (Mask, Mask),
        reach: Mask,
    ) {
        self.each(lines, |flush| {
            // A part of an old copy becomes newer than memory.
            let mixed = flush.old() & on;
            flush.decide(ledger, Need::Precautionary, mixed);
            flush.settle(ledger, flush.clean & on, 0);
            flush.settle(ledger, around, reach);
        });
    }

    /// Takes note that nothing more is judged on the classes `on`.
    pub(super) fn give_up(&mut self, ledger: &mut Ledger, on: Mask) {
        for page in self.pages.values_mut() {
            page.pending.retain_mut(|flush| {
                flush.decide(ledger, Need::Precautionary, on);
                flush.open() != 0
            });
        }
    }

    /// Takes note of a load that found lines to be old copies.
    pub(super) fn load(&mut self, ledger: &mut Ledger, lines: LineRange) {
        self.each(lines, |flush| {
            let wrong = flush.old();
            flush.decide(ledger, Need::Needed, wrong);
        });
    }

    /// Takes note whether agents of other devices can reach the object from now on.
    pub(super) fn reach(&mut self, foreign: bool) {
        self.foreign = foreign;
        if foreign {
            self.pages.values_mut().flat_map(|page| &mut page.pending).for_each(|flush| flush.foreign = true);
        }
    }

    /// Returns the pages of the fresh flushes, which from now on are hidden with `hides`.
    pub(super) fn take_fresh(&mut self, hides: bool) -> Vec<LineRange> {
        let mut fresh = Vec::new();
        if !std::mem::take(&mut self.is_fresh) {
            return fresh;
        }
        for (&number, page) in &mut self.pages {
            for flush in page.pending.iter_mut().filter(|flush| flush.fresh != 0) {
                page_of(number * PAGE_LINES).push_to(&mut fresh);
                let of = std::mem::take(&mut flush.fresh);
                if hides {
                    flush.unloaded |= of;
                    flush.aged &= !of;
                }
            }
        }
        fresh
    }

    /// Takes note that loads of lines are not seen.
    pub(super) fn show(&mut self, lines: LineRange) {
        self.each(lines, |flush| flush.aged |= std::mem::take(&mut flush.unloaded));
    }

    /// Returns whether a flush has another verdict if the program loads an old copy that it has not loaded yet.
    pub(super) fn is_hidden(&self) -> bool {
        self.pages.values().flat_map(|page| &page.pending).any(|flush| flush.unloaded != 0)
    }

    /// Takes note of a flush of all lines by the kernel, on a set of classes of all of those on which the object exists.
    pub(super) fn kernel_flush(&mut self, ledger: &mut Ledger, on: Mask, all: Mask) {
        for page in self.pages.values_mut() {
            page.pending.retain_mut(|flush| {
                flush.kernel_flush(ledger, on);
                flush.open() != 0
            });
            if on & all == all {
                (page.stored, page.written) = (0, 0);
            }
        }
    }

    /// Takes note of a flush of lines by the kernel, for a copy of its own.
    pub(super) fn kernel_flush_lines(&mut self, ledger: &mut Ledger, lines: LineRange, on: Mask) {
        if on != 0 {
            self.each(lines, |flush| flush.kernel_flush(ledger, on));
        }
    }

    /// Takes note that commands which were not simulated may have accessed lines, on the classes `missed` as [`Self::access`] says.
    pub(super) fn doubt(&mut self, lines: LineRange, missed: Mask) {
        let end = lines.end().div_ceil(PAGE_LINES);
        for number in lines.first() / PAGE_LINES..end {
            let page = self.pages.entry(number).or_default();
            let in_page = bits(lines, number);
            page.written |= in_page;
            for flush in &mut page.pending {
                if in_page >> flush.line & 1 != 0 {
                    flush.doubted |= missed;
                }
            }
        }
    }

    /// Takes note that stores to a page are not seen, or, with `false`, that they are seen again.
    pub(super) fn open(&mut self, line: u64, opens: bool) {
        let page = self.pages.entry(line / PAGE_LINES).or_default();
        page.stored = !0;
        page.open = if opens { page.open.saturating_add(1) } else { page.open.saturating_sub(1) };
        if opens {
            self.show(page_of(line));
        }
    }

    /// Returns the lines of a range that may have been stored to unseen.
    pub(super) fn possibly_stored(&self, lines: LineRange) -> impl Iterator<Item = u64> {
        let pages = self.pages.range(lines.first() / PAGE_LINES..lines.end().div_ceil(PAGE_LINES));
        let stored = |page: &Page| if page.open > 0 { !0 } else { page.stored };
        pages.flat_map(move |(&number, page)| {
            let set = stored(page) & bits(lines, number);
            (0..PAGE_LINES).filter(move |bit| set >> bit & 1 != 0).map(move |bit| number * PAGE_LINES + bit)
        })
    }

    /// Decides on what is left, at the end of the object or of the run.
    pub(super) fn end(&self, ledger: &mut Ledger, reach: Mask) {
        for mut flush in self.pages.values().flat_map(|page| page.pending.iter().copied()) {
            flush.settle(ledger, !0, reach);
        }
    }

    /// Calls `act` with the flushes of lines that are not judged yet.
    fn each(&mut self, lines: LineRange, mut act: impl FnMut(&mut Pending)) {
        for (&number, page) in
            self.pages.range_mut(lines.first() / PAGE_LINES..lines.end().div_ceil(PAGE_LINES))
        {
            let in_page = bits(lines, number);
            page.pending.retain_mut(|flush| {
                if in_page >> flush.line & 1 != 0 {
                    act(flush);
                }
                flush.open() != 0
            });
        }
    }
}

/// Returns the lines of the page of a line.
pub(super) fn page_of(line: u64) -> LineRange {
    let first = line / PAGE_LINES * PAGE_LINES;
    LineRange::new(first, first + PAGE_LINES)
}

/// Returns a bit for each line of a page that is in a range.
fn bits(lines: LineRange, page: u64) -> u64 {
    let within = |line: u64| line.saturating_sub(page * PAGE_LINES).min(PAGE_LINES);
    let below = |line: u64| if line == PAGE_LINES { !0 } else { (1 << line) - 1 };
    below(within(lines.end())) & !below(within(lines.first()))
}
