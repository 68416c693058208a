//! An object of a traced run on every class: the kernel's state, and the lines.

use std::collections::BTreeMap;

use gem_coherency::platform::{Caps, Driver};
use gem_coherency::policy::kernel::{Action, Backing, Creation, Event, Snapshot};
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency::vocabulary::{Access, Agent, CacheLevel, CachingMode, MocsClass};
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_sim::MadeCall;

use super::classes::{Classes, Mask};
use super::domain_calls::ObjectCalls;
use super::flushes::{Flushes, Ledger};
use super::line::{Effects, Last, Mistakes, States};
use super::pending_calls::DomainCall;
use super::reach::Reach;
use super::screen::Screen;

type Page = [States; PAGE_LINES as usize];

/// A mistake on a set of classes of platforms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlatformMistake {
    pub(super) kind: Mistake,
    pub(super) on: Mask,
    pub(super) lines: Vec<LineRange>,
}

/// An object.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) size: u64,
    /// The kernel's state on each class; `None` where the object cannot be what it is in the run.
    snapshots: Vec<Option<Snapshot>>,
    /// The agent whose caches have the zeroes of new contents, unless they are in local memory.
    zeroed_by: Agent,
    /// A program maps it write-back.
    pub(super) write_back: bool,
    /// The routes of its other mappings, the last one first.
    pub(super) other_routes: Vec<Route>,
    /// The classes on which the kernel flushes before and after the copy of the request under way.
    before_copy: Mask,
    after_copy: Mask,
    calls: ObjectCalls,
    /// The programs' flushes.
    pub(super) flushes: Flushes,
    pub(super) reached: Reach,
    pub(super) screen: Screen,
    /// The lines of pages that differ from the untouched ones.
    pages: BTreeMap<u64, Box<Page>>,
    untouched: States,
}

impl Object {
    /// Creates an object as each class does.
    pub(super) fn new(classes: &Classes, size: u64, creation: Creation) -> Self {
        let snapshots =
            classes.all.iter().map(|class| created(classes, class.machine.caps, creation)).collect();
        Self::with(classes, size, snapshots, Agent::Cpu)
    }

    /// Creates an object of xe, whose zeroes are in the caches of an agent. Only the run's own device judges it.
    pub(super) fn of_xe(classes: &Classes, size: u64, snapshot: Snapshot, zeroed_by: Agent) -> Self {
        Self::with(classes, size, vec![Some(snapshot); classes.all.len()], zeroed_by)
    }

    fn with(classes: &Classes, size: u64, snapshots: Vec<Option<Snapshot>>, zeroed_by: Agent) -> Self {
        let mut object = Self {
            size,
            snapshots,
            zeroed_by,
            write_back: false,
            other_routes: Vec::new(),
            before_copy: 0,
            after_copy: 0,
            calls: ObjectCalls::new(classes),
            flushes: Flushes::default(),
            reached: Reach::default(),
            screen: Screen::default(),
            pages: BTreeMap::new(),
            untouched: States::default(),
        };
        object.discard(classes);
        object
    }

    /// Makes the contents zeroes that were not flushed yet.
    pub(super) fn discard(&mut self, classes: &Classes) {
        self.pages.clear();
        let is_cpu = self.zeroed_by == Agent::Cpu;
        let by_cpu =
            |snapshot: &Option<Snapshot>| is_cpu && snapshot.is_some_and(|it| it.backing != Backing::Local);
        let bits = classes.with_bits().zip(&self.snapshots).filter(|(_, snapshot)| by_cpu(snapshot));
        self.untouched = States::zeroed(bits.fold(0, |set, ((bit, _), _)| set | bit));
    }

    /// Takes note of a mapping.
    pub(super) fn map(&mut self, classes: &Classes, route: Route) {
        match route {
            Route::CpuCached | Route::CpuNonTemporal => self.write_back = true,
            Route::CpuUncached | Route::Aperture | Route::Gpu(_) | Route::Display => {
                self.other_routes.retain(|&known| known != route);
                self.other_routes.insert(0, route);
            }
        }
        // From now on loads fill lines.
        let mapped = self.mapped(classes);
        self.each(|line| line.flush(0, mapped));
    }

    /// Moves the object under xe to other pages, of which no cache has a line; mappings end.
    pub(super) fn relocate(&mut self, classes: &Classes, ledger: &mut Ledger, to: Snapshot) {
        self.write_back = false;
        self.other_routes.clear();
        self.flush(classes, ledger, !0);
        for state in self.snapshots.iter_mut().flatten() {
            *state = to;
        }
    }

    /// Returns the classes on which a mapping shows the cached bytes.
    pub(super) fn mapped(&self, classes: &Classes) -> Mask {
        match (self.write_back, self.other_routes.is_empty()) {
            (true, _) => !0,
            (false, false) => classes.set(|class| class.machine.caps.contains(Caps::LLC)),
            (false, true) => 0,
        }
    }

    /// Applies an event, after which is the call `made`; returns the classes on which the kernel flushes the caches of the
    /// whole machine, and judgements of calls.
    ///
    /// Where a kernel refuses the request nothing happens.
    pub(super) fn happen(
        &mut self,
        classes: &Classes,
        ledger: &mut Ledger,
        event: Event,
        made: Option<&MadeCall>,
    ) -> (Mask, Vec<(Mask, DomainCall)>) {
        self.screen.happen(event, made);
        let (mut flushed, mut machine_flushed) = (0, 0);
        self.reached.happen(event);
        (self.before_copy, self.after_copy) = (0, 0);
        let mut steps = Vec::new();
        for (number, ((bit, class), snapshot)) in classes.with_bits().zip(&mut self.snapshots).enumerate() {
            let Some(state) = snapshot else { continue };
            let caps = class.machine.caps;
            // Under xe an object moves to local memory when it is shown.
            let is_here = class.machine.driver == Driver::Xe || !cannot_be_shown(caps, state);
            if event == Event::AddFramebuffer && !is_here
                || event == Event::SetCaching(CachingMode::Cached) && cannot_be_cached(caps)
            {
                *snapshot = None;
                continue;
            }
            let Ok(done) = class.step(&classes.rules, *state, event) else { continue };
            let before = std::mem::replace(state, done.next);
            for action in done.effects.actions() {
                match action {
                    Action::FlushSync | Action::FlushAsync => flushed |= bit,
                    Action::FlushBefore => self.before_copy |= bit,
                    Action::FlushAfter => self.after_copy |= bit,
                    Action::Wbinvd => machine_flushed |= bit,
                    Action::Barrier | Action::WriteBarrier | Action::FlushGgtt | Action::FlushChipset => {}
                }
            }
            steps.push((number, before, done));
        }
        let all = ByteRange::within(0, self.size, self.size).map_or(LineRange::new(0, 0), |all| all.lines());
        let may_have = if self.flushes.possibly_stored(all).next().is_some() { flushed } else { 0 };
        let had_effect = self.flush(classes, ledger, flushed);
        let judged = self.calls.judge(classes, event, made, &steps, (had_effect, may_have));
        (machine_flushed, judged)
    }

    /// Flushes every line on these classes; returns those on which a line was dirty or old.
    pub(super) fn flush(&mut self, classes: &Classes, ledger: &mut Ledger, on: Mask) -> Mask {
        if on == 0 {
            return 0;
        }
        self.flushes.kernel_flush(ledger, on, self.exists());
        let mapped = self.mapped(classes);
        let mut had_effect = 0;
        let flush = |line: &mut States| {
            had_effect |= on & (line.dirty | line.old);
            line.flush(on, mapped);
        };
        self.pages.values_mut().flat_map(|page| page.iter_mut()).for_each(flush);
        if (self.pages.len() as u64) < self.size.div_ceil(PAGE_BYTES) {
            had_effect |= on & (self.untouched.dirty | self.untouched.old);
        }
        self.untouched.flush(on, mapped);
        had_effect
    }

    /// Returns the classes on which the object exists.
    pub(super) fn exists(&self) -> Mask {
        let bits = self.snapshots.iter().enumerate();
        bits.fold(0, |set, (n, snapshot)| if snapshot.is_some() { set | 1 << n } else { set })
    }

    /// Applies the program's stores to lines.
    pub(super) fn store(&mut self, classes: &Classes, ledger: &mut Ledger, lines: LineRange) {
        self.screen.store(lines);
        let route = match self.other_routes.first() {
            Some(&other) if !self.write_back => other,
            Some(_) | None => Route::CpuCached,
        };
        let effects = Effects::new(classes, &self.levels(), route, Access::Write);
        let (mapped, reach) = (self.mapped(classes), self.reach(classes));
        if route == Route::CpuCached {
            self.flushes.store(ledger, lines, 0, reach);
        } else {
            self.flushes.access(ledger, lines, effects.touch(), reach);
        }
        let mut last = Last::default();
        self.lines(lines, |_, line| {
            last.access(line, &effects, mapped);
        });
    }

    /// Applies an access; returns its mistakes.
    pub(super) fn access(
        &mut self,
        classes: &Classes,
        ledger: &mut Ledger,
        route: Route,
        access: Access,
        lines: LineRange,
    ) -> Vec<PlatformMistake> {
        self.screen.access(route, access, lines);
        let effects = Effects::new(classes, &self.levels(), route, access);
        let reach = self.reach(classes);
        let (mapped, copied) = (self.mapped(classes), route == Route::CpuCached);
        let before = if copied { self.before_copy } else { 0 };
        let after = if copied { self.after_copy } else { 0 };
        self.flushes.kernel_flush_lines(ledger, lines, before);
        self.flushes.access(ledger, lines, effects.touch(), reach);
        self.flushes.kernel_flush_lines(ledger, lines, after);
        let mut found = Vec::new();
        let mut last = Last::default();
        self.lines(lines, |number, line| {
            if before != 0 {
                line.flush(before, mapped);
            }
            let mistakes = last.access(line, &effects, mapped);
            if mistakes == Mistakes::default() && after == 0 {
                return;
            }
            if after != 0 {
                line.flush(after, mapped);
            }
            let kinds = [
                (Mistake::StaleRead, mistakes.stale_read),
                (Mistake::LostWrite, mistakes.lost_write),
                (Mistake::StaleCpuRead, mistakes.stale_cpu_read),
            ];
            for (kind, on) in kinds {
                add(&mut found, kind, on, number);
            }
        });
        found
    }

    /// Applies the flushes around a copy that changes no byte.
    pub(super) fn rewrite(&mut self, classes: &Classes, route: Route, lines: LineRange) {
        let flushed = self.before_copy | self.after_copy;
        if route == Route::CpuCached && flushed != 0 {
            let mapped = self.mapped(classes);
            self.lines(lines, |_, line| line.flush(flushed, mapped));
        }
    }

    /// Returns the dirty lines of a surface that the GPU would not see on `route`.
    pub(super) fn bind(&mut self, classes: &Classes, route: Route, lines: LineRange) -> Vec<PlatformMistake> {
        self.doubt(classes, lines, route);
        let unseen = Effects::new(classes, &self.levels(), route, Access::Read).miss_dirty();
        let mut found = Vec::new();
        self.lines(lines, |number, line| {
            add(&mut found, Mistake::DirtySurface, line.dirty & unseen, number);
        });
        found
    }

    /// Returns the dirty lines that a batch would not see.
    pub(super) fn submit(&mut self, classes: &Classes) -> Vec<PlatformMistake> {
        let gpu = Effects::new(classes, &self.levels(), Route::Gpu(MocsClass::PageTable), Access::Read);
        let unseen = gpu.miss_dirty();
        let mut found = Vec::new();
        let mut add = |number, on| add(&mut found, Mistake::DirtyAtSubmission, on, number);
        if self.untouched.dirty & unseen != 0 {
            for line in 0..self.size / LINE_BYTES {
                let states = self.line(line);
                add(line, states.dirty & unseen);
            }
            return found;
        }
        for (page, lines) in &self.pages {
            for (line, states) in (page * PAGE_LINES..).zip(lines.iter()) {
                add(line, states.dirty & unseen);
            }
        }
        found
    }

    /// Takes note of a program's load of old copies, and returns the lines that are such.
    pub(super) fn load_old(&mut self, ledger: &mut Ledger, lines: LineRange) -> Vec<PlatformMistake> {
        self.flushes.load(ledger, lines);
        self.load(lines)
    }

    /// Returns the lines of a program's load that are old copies.
    fn load(&self, lines: LineRange) -> Vec<PlatformMistake> {
        let mut found = Vec::new();
        for number in lines.first()..lines.end().min(self.size / LINE_BYTES) {
            add(&mut found, Mistake::MissingInvalidate, self.line(number).old, number);
        }
        found
    }

    /// Returns the lines that are old copies on some class, where a program can load them.
    pub(super) fn old(&self, lines: LineRange) -> Vec<LineRange> {
        let found = if self.write_back { self.load(lines) } else { Vec::new() };
        found.into_iter().flat_map(|mistake| mistake.lines).collect()
    }

    /// Returns the object's level on the first class of a set.
    pub(super) fn level(&self, on: Mask) -> Option<CacheLevel> {
        let first = self.snapshots.get(on.trailing_zeros() as usize)?;
        first.map(|snapshot| snapshot.level)
    }

    pub(super) fn levels(&self) -> Vec<Option<CacheLevel>> {
        self.snapshots.iter().map(|snapshot| snapshot.map(|it| it.level)).collect()
    }

    pub(super) fn line(&self, line: u64) -> States {
        let page = self.pages.get(&(line / PAGE_LINES));
        page.and_then(|page| page.get((line % PAGE_LINES) as usize)).copied().unwrap_or(self.untouched)
    }

    /// Changes every line.
    fn each(&mut self, mut change: impl FnMut(&mut States)) {
        change(&mut self.untouched);
        self.pages.values_mut().flat_map(|page| page.iter_mut()).for_each(change);
    }

    /// Changes lines of a range, in their order.
    pub(super) fn lines(&mut self, range: LineRange, mut change: impl FnMut(u64, &mut States)) {
        let end = range.end().min(self.size / LINE_BYTES);
        let mut line = range.first();
        while line < end {
            let page = line / PAGE_LINES;
            let behind = end.min((page + 1) * PAGE_LINES);
            match self.pages.get_mut(&page) {
                Some(states) => {
                    for (number, state) in
                        (line..behind).zip(states.iter_mut().skip((line % PAGE_LINES) as usize))
                    {
                        change(number, state);
                    }
                }
                None => {
                    let mut states = Box::new([self.untouched; PAGE_LINES as usize]);
                    for (number, state) in
                        (line..behind).zip(states.iter_mut().skip((line % PAGE_LINES) as usize))
                    {
                        change(number, state);
                    }
                    if states.iter().any(|state| *state != self.untouched) {
                        self.pages.insert(page, states);
                    }
                }
            }
            line = behind;
        }
    }
}

/// Returns an object's first state on hardware `caps`; `None` if there are none.
fn created(classes: &Classes, caps: Caps, creation: Creation) -> Option<Snapshot> {
    let rules = &classes.rules;
    let as_asked = Snapshot::created(caps, rules, creation);
    // Where there is no local memory and no PAT index, a driver asks for an ordinary object.
    as_asked.or_else(|_| Snapshot::created(caps, rules, Creation::User)).ok()
}

/// Returns whether the kernel refuses to make any object coherent: the program relies on it (`i915_gem_set_caching_ioctl`).
fn cannot_be_cached(caps: Caps) -> bool {
    !caps.intersects(Caps::LLC | Caps::SNOOP)
}

/// Returns whether the display cannot show an object: on discrete devices, one that is not in local memory
/// (`intel_fb_bo_framebuffer_init`). What a driver does there instead, the run does not tell.
pub(super) fn cannot_be_shown(caps: Caps, state: &Snapshot) -> bool {
    caps.contains(Caps::DISCRETE) && state.backing != Backing::Local
}

/// Adds a line to the mistakes; lines that follow each other with the same classes are one range.
pub(super) fn add(found: &mut Vec<PlatformMistake>, kind: Mistake, on: Mask, line: u64) {
    if on == 0 {
        return;
    }
    let lines = LineRange::new(line, line + 1);
    match found.iter_mut().find(|mistake| (mistake.kind, mistake.on) == (kind, on)) {
        None => found.push(PlatformMistake { kind, on, lines: vec![lines] }),
        Some(mistake) => lines.push_to(&mut mistake.lines),
    }
}
