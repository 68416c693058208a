//! The flushes of an object by programs, and the agents that can reach it.

use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::Event;
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_memory_model::Route;
use gem_coherency_sim::FlushKind;

use super::classes::{Classes, Mask};
use super::flushes::{Found, Ledger, Touch};
use super::line::Effects;
use super::object::Object;
use crate::judging::need::Need;

/// What an object's history lets access it, beside the GPU and the program's mappings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    /// The display may read it: it was in a framebuffer.
    framed: bool,
    /// Open files of its dma-buf, by which agents that are not known may access it. There are two while one is closed and the next one
    /// opened.
    exported: u32,
    /// Other devices that have attached its dma-buf.
    attached: u32,
    /// One did at some time.
    was_attached: bool,
}

impl Reach {
    /// Returns whether it was in a framebuffer.
    pub(super) fn is_framed(&self) -> bool {
        self.framed
    }

    /// Takes note of an event.
    pub(super) fn happen(&mut self, event: Event) {
        self.framed |= event == Event::AddFramebuffer;
    }
}

impl Object {
    /// Returns the classes on which an agent that can reach the object may miss a dirty line: the GPU, the display if the object was
    /// in a framebuffer, and the CPU if a mapping goes past its caches, whose accesses are not seen. Other devices are
    /// [`super::flushes::Flushes::reach`]'s.
    pub(super) fn reach(&self, classes: &Classes) -> Mask {
        let levels = self.levels();
        let read = |route| Effects::new(classes, &levels, route, Access::Read).miss_dirty();
        let bypass = classes.set(|class| class.machine.caps.contains(Caps::LLC_BYPASS_MOCS));
        let display = if self.reached.framed { read(Route::Display) } else { 0 };
        read(Route::Gpu(MocsClass::PageTable)) | bypass | display | self.past_cache(classes).0
    }

    /// Returns the classes on which an access through a mapping past the cache misses a dirty line, and those on which a store leaves an
    /// old copy.
    fn past_cache(&self, classes: &Classes) -> (Mask, Mask) {
        let levels = self.levels();
        self.other_routes.iter().fold((0, 0), |(missed, old), &(route, on)| {
            let of = |access| Effects::new(classes, &levels, route, access);
            let store = of(Access::Write);
            let misses = store.miss_dirty() | of(Access::Read).miss_dirty();
            (missed | misses & on, old | store.leaves_old() & on)
        })
    }

    /// Returns the classes on which a store by the program may leave a dirty line: not through mappings past the cache alone.
    fn storable(&self, classes: &Classes) -> Mask {
        if self.other_routes.is_empty() {
            return !0;
        }
        let levels = self.levels();
        let store = |&(route, on)| Effects::new(classes, &levels, route, Access::Write).leaves_dirty() & on;
        self.other_routes.iter().map(store).fold(self.write_back, |all, on| all | on)
    }

    /// Takes note that the object's dma-buf is opened, or, with `false`, closed.
    pub(super) fn export(&mut self, opens: bool) {
        count(&mut self.reached.exported, opens);
        self.reach_others();
    }

    /// Takes note that another device attaches the object's dma-buf, or, with `false`, detaches it.
    pub(super) fn attach(&mut self, attaches: bool) {
        count(&mut self.reached.attached, attaches);
        self.reached.was_attached = true;
        self.reach_others();
    }

    fn reach_others(&mut self) {
        self.flushes.reach(self.reached.exported > 0 || self.reached.attached > 0);
    }

    /// Takes note that stores to a page are not seen, or, with `false`, that they are seen again.
    pub(super) fn open(&mut self, line: u64, opens: bool) {
        if line < self.size / LINE_BYTES {
            self.flushes.open(line, opens);
        }
    }

    /// Takes note of an access by another device's agent, which accesses memory; without one, of what may be one.
    pub(super) fn foreign(
        &mut self,
        classes: &Classes,
        ledger: &mut Ledger,
        access: Option<Access>,
        lines: LineRange,
    ) {
        let reach = self.reach(classes);
        match access {
            None => self.flushes.doubt(lines, !0),
            Some(Access::Read) => {
                let touch = Touch { missed: !0, ..Touch::default() };
                self.flushes.access(ledger, lines, touch, reach);
            }
            Some(Access::Write) => {
                let touch = Touch { missed: !0, leaves_old: !0, ..Touch::default() };
                self.flushes.access(ledger, lines, touch, reach);
            }
        }
    }

    /// Takes note that commands which were not simulated may have accessed any line.
    pub(super) fn doubt_all(&mut self, classes: &Classes) {
        let lines = LineRange::new(0, self.size / LINE_BYTES);
        self.doubt(classes, lines, Route::Gpu(MocsClass::PageTable));
    }

    /// Takes note that an access on a route to lines, or none, was not simulated.
    pub(super) fn doubt(&mut self, classes: &Classes, lines: LineRange, route: Route) {
        let missed = Effects::new(classes, &self.levels(), route, Access::Read).miss_dirty();
        self.flushes.doubt(lines, missed);
    }

    /// Decides on the flushes that are not judged yet, as at the end of the object.
    pub(super) fn end(&self, classes: &Classes, ledger: &mut Ledger) {
        self.flushes.end(ledger, self.reach(classes));
    }

    /// Returns the number of lines of a range that a write on `route` may destroy on the first class: it goes to memory, and the program may have
    /// stored to them unseen.
    pub(super) fn possibly_lost(
        &self,
        classes: &Classes,
        (route, pat_index): (Route, Option<u16>),
        lines: LineRange,
    ) -> u64 {
        let levels = self.levels_through(classes, route, pat_index);
        let effects = Effects::new(classes, &levels, route, Access::Write);
        if effects.miss_dirty() & 1 == 0 {
            return 0;
        }
        self.flushes.possibly_stored(lines).filter(|&line| self.line(line).dirty & 1 == 0).count() as u64
    }

    /// Applies an instruction of a place for a line, which was an old copy if it is `stale`.
    pub(super) fn maintain(
        &mut self,
        classes: &Classes,
        ledger: &mut Ledger,
        (kind, site): (FlushKind, u64),
        line: u64,
        stale: bool,
    ) {
        if line >= self.size / LINE_BYTES {
            return;
        }
        let (levels, mapped, reach) = (self.levels(), self.mapped(classes), self.reach(classes));
        let lines = LineRange::new(line, line + 1);
        if kind == FlushKind::NonTemporal {
            let around = Effects::new(classes, &levels, Route::CpuNonTemporal, Access::Write);
            self.flushes.store(ledger, lines, (!0, !0), reach);
            return self.lines(lines, |_, line| {
                line.access(&around, mapped);
            });
        }
        let keep = kind == FlushKind::WriteBack;
        let before = self.line(line);
        let all = self.exists();
        let write = Effects::new(classes, &levels, Route::Gpu(MocsClass::PageTable), Access::Write);
        let found = Found {
            all,
            dirty: before.dirty & all,
            old: (before.old | if stale { !0 } else { 0 }) & all,
            storable: self.storable(classes),
            leaves_old: write.leaves_old(),
            leaves_dirty: write.leaves_dirty(),
            foreign: if self.reached.was_attached { !0 } else { self.past_cache(classes).1 & mapped },
            mapped,
        };
        self.flushes.flush(ledger, (site, keep), line, found, reach);
        ledger.add(site, Need::Precautionary, self.unjudged);
        self.lines(lines, |_, line| if keep { line.write_back(mapped) } else { line.flush(!0, mapped) });
    }
}

/// Counts one more or one less.
fn count(number: &mut u32, more: bool) {
    *number = if more { number.saturating_add(1) } else { number.saturating_sub(1) };
}
