//! An object of a traced run on every class: the kernel's state, and the lines.

use std::collections::BTreeMap;

use gem_coherency::platform::{Caps, Driver};
use gem_coherency::policy::kernel::{Action, Backing, Creation, Event, Snapshot};
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency::vocabulary::{Access, Agent, CacheLevel, CachingMode, MocsClass};
use gem_coherency::xe::{self, CpuCaching, Create};
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_sim::{MadeCall, NewObject};

use super::classes::{Class, Classes, Mask};
use super::counterpart::{ByXe, Counterpart, NOT_CACHED, UnderI915};
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

/// Why i915 makes no framebuffer of system memory on a discrete device.
pub(super) const SHOWS_LOCAL: &str = "a discrete device shows only objects in local memory";

/// What is not the same on some classes: a refusal, or what is not judged.
pub(super) type Note = (Mask, bool, &'static str);

/// An object.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) size: u64,
    /// The kernel's state on each class; `None` where the object cannot be what it is in the run.
    pub(super) snapshots: Vec<Option<Snapshot>>,
    /// How xe created it on each class; `None` under i915.
    created: Vec<Option<xe::Object>>,
    /// The classes on which the CPU's caches have the zeroes of new contents, unless they are in local memory.
    zeroed_by_cpu: Mask,
    /// The classes on which the CPU maps it through its caches, whatever the route of the run's mapping is; `None`: that route.
    cpu_cached: Option<Mask>,
    /// The classes on which a program maps it write-back.
    pub(super) write_back: Mask,
    /// The routes of its other mappings, the last one first, with their classes.
    pub(super) other_routes: Vec<(Route, Mask)>,
    /// The classes on which it is not judged, so that its flushes may be needed there.
    pub(super) unjudged: Mask,
    notes: Vec<Note>,
    /// Of an object of i915, what classes of xe judge.
    pub(super) counterpart: Counterpart,
    /// The PAT index by which it is bound on each of these.
    pat_indices: Vec<Option<u16>>,
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
        let of_class = |class: &Class| match class.machine.driver {
            Driver::I915 => created(classes, class.machine.caps, creation),
            Driver::Xe => None,
        };
        let snapshots = classes.all.iter().map(of_class).collect();
        let mut object = Self::empty(classes, size, snapshots);
        object.discard(classes);
        object.begin_counterpart(classes, creation);
        object
    }

    /// Creates an object of xe as each class does. One whose kernel refuses that does not judge the object.
    pub(super) fn of_xe(classes: &Classes, size: u64, by_xe: &ByXe) -> Self {
        let &ByXe { snapshot, zeroed_by, created, is_dumb } = by_xe;
        let mut object = Self::empty(classes, size, vec![None; classes.all.len()]);
        if classes.are_own {
            object.snapshots.fill(Some(snapshot));
            object.created.fill(Some(created));
            object.zeroed_by_cpu = if zeroed_by == Agent::Cpu { !0 } else { 0 };
            object.discard(classes);
            return object;
        }
        let mut cached = 0;
        object.zeroed_by_cpu = 0;
        for (number, (bit, class)) in classes.with_bits().enumerate() {
            if class.xe.is_none() {
                match UnderI915::of(class, &classes.rules, by_xe) {
                    Some(UnderI915 { snapshot, is_cached }) => {
                        cached |= if is_cached { bit } else { 0 };
                        object.zeroed_by_cpu |= bit;
                        object.set(number, Some(snapshot), None);
                    }
                    None => {
                        object.unjudged |= bit;
                        object.note(bit, NOT_CACHED);
                    }
                }
                continue;
            }
            let there = class.xe.as_ref().and_then(|device| {
                let there =
                    if is_dumb { Some(device.dumb(size)) } else { device.create(&asked(&created)).ok() };
                Some((device, there?))
            });
            let Some((device, there)) = there else {
                object.unjudged |= bit;
                continue;
            };
            let new = NewObject::of_xe(device, &there, classes.without);
            cached |= if new.snapshot.level == CacheLevel::None { 0 } else { bit };
            object.zeroed_by_cpu |= if new.zeroed_by == Agent::Cpu { bit } else { 0 };
            object.set(number, Some(new.in_shared_cache(device)), Some(there));
        }
        object.cpu_cached = Some(cached);
        object.discard(classes);
        object
    }

    fn set(&mut self, class: usize, snapshot: Option<Snapshot>, created: Option<xe::Object>) {
        if let (Some(to), Some(to_created)) = (self.snapshots.get_mut(class), self.created.get_mut(class)) {
            (*to, *to_created) = (snapshot, created);
        }
    }

    fn empty(classes: &Classes, size: u64, snapshots: Vec<Option<Snapshot>>) -> Self {
        Self {
            size,
            snapshots,
            created: vec![None; classes.all.len()],
            zeroed_by_cpu: !0,
            cpu_cached: None,
            write_back: 0,
            other_routes: Vec::new(),
            unjudged: 0,
            notes: Vec::new(),
            counterpart: Counterpart::default(),
            pat_indices: vec![None; classes.all.len()],
            before_copy: 0,
            after_copy: 0,
            calls: ObjectCalls::new(classes),
            flushes: Flushes::default(),
            reached: Reach::default(),
            screen: Screen::default(),
            pages: BTreeMap::new(),
            untouched: States::default(),
        }
    }

    /// Returns the object as xe created it on a class; `None` where it is not judged.
    pub(super) fn created_on(&self, class: usize) -> Option<xe::Object> {
        self.snapshots.get(class).copied().flatten()?;
        self.created.get(class).copied().flatten()
    }

    /// Does not judge the object on these classes any more.
    pub(super) fn give_up(&mut self, ledger: &mut Ledger, on: Mask) {
        self.unjudged |= on;
        self.flushes.give_up(ledger, on);
        for (number, snapshot) in self.snapshots.iter_mut().enumerate() {
            if on >> number & 1 != 0 {
                *snapshot = None;
            }
        }
    }

    /// Makes the object on a class of xe one that was created, and is bound, like that.
    pub(super) fn choose_on(
        &mut self,
        class: usize,
        snapshot: Snapshot,
        (created, pat_index): (xe::Object, u16),
    ) {
        self.set(class, Some(snapshot), Some(created));
        self.pat_indices.get_mut(class).into_iter().for_each(|index| *index = Some(pat_index));
    }

    /// Makes the lines on these classes those of a new object, whose zeroes the CPU's caches have or not.
    pub(super) fn zero(&mut self, on: Mask, are_dirty: bool) {
        self.zeroed_by_cpu = self.zeroed_by_cpu & !on | if are_dirty { on } else { 0 };
        self.each(|line| line.renew(on, are_dirty));
    }

    /// Adds what is not judged on some classes.
    pub(super) fn note(&mut self, on: Mask, why: &'static str) {
        self.notes.push((on, false, why));
    }

    /// Does not judge a framebuffer any more on the classes of xe that make none of the object, as it is created there.
    pub(super) fn refuse_framebuffer(&mut self, classes: &Classes, ledger: &mut Ledger) {
        let mut refused = 0;
        let created = self.snapshots.iter().zip(&self.created);
        for ((bit, class), (state, created)) in classes.with_bits().zip(created) {
            if let Some(rule) = state.as_ref().and_then(|state| not_shown(class, state, created.as_ref())) {
                self.notes.push((bit, true, rule.reason()));
                refused |= bit;
            }
        }
        self.give_up(ledger, refused);
    }

    /// Returns and clears what is not the same on some classes.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Makes the contents zeroes that were not flushed yet.
    pub(super) fn discard(&mut self, classes: &Classes) {
        self.pages.clear();
        let by_cpu = |snapshot: &Option<Snapshot>| snapshot.is_some_and(|it| it.backing != Backing::Local);
        let bits = classes.with_bits().zip(&self.snapshots).filter(|(_, snapshot)| by_cpu(snapshot));
        let on = bits.fold(0, |set, ((bit, _), _)| set | bit);
        self.untouched = States::zeroed(on & self.zeroed_by_cpu);
    }

    /// Takes note of a mapping.
    pub(super) fn map(&mut self, classes: &Classes, ledger: &mut Ledger, route: Route) {
        self.map_counterpart(classes, ledger, route);
        match (self.cpu_cached, route) {
            (Some(cached), _) => {
                self.write_back = cached;
                self.other_routes = vec![(Route::CpuUncached, !cached)];
            }
            (None, Route::CpuCached | Route::CpuNonTemporal) => self.write_back = !0,
            (None, Route::CpuUncached | Route::Aperture | Route::Gpu(_) | Route::Display) => {
                self.other_routes.retain(|&(known, _)| known != route);
                self.other_routes.insert(0, (route, !0));
            }
        }
        // From now on loads fill lines.
        let mapped = self.mapped(classes);
        self.each(|line| line.flush(0, mapped));
    }

    /// Moves the object under xe to other pages, of which no cache has a line; mappings end.
    ///
    /// On a platform without local memory it stays where it is.
    pub(super) fn relocate(&mut self, classes: &Classes, ledger: &mut Ledger, to: Snapshot) {
        let moved = classes.set(|class| class.xe.is_some_and(|device| device.platform.discrete));
        self.write_back &= !moved;
        self.other_routes.iter_mut().for_each(|(_, on)| *on &= !moved);
        self.other_routes.retain(|(_, on)| *on != 0);
        self.flush(classes, ledger, moved);
        for ((bit, _), snapshot) in classes.with_bits().zip(&mut self.snapshots) {
            if let Some(state) = snapshot.as_mut().filter(|_| bit & moved != 0) {
                *state = to;
            }
        }
        if let Some(cached) = &mut self.cpu_cached {
            *cached = *cached & !moved | if to.level == CacheLevel::None { 0 } else { moved };
        }
    }

    /// Returns the classes on which a mapping shows the cached bytes.
    pub(super) fn mapped(&self, classes: &Classes) -> Mask {
        let around = self.other_routes.iter().fold(0, |all, (_, on)| all | on);
        let llc = classes.set(|class| class.machine.caps.contains(Caps::LLC));
        self.write_back | around & llc
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
        self.happen_to_counterpart(classes, ledger, event);
        let (mut flushed, mut machine_flushed) = (0, 0);
        self.reached.happen(event);
        (self.before_copy, self.after_copy) = (0, 0);
        let mut steps = Vec::new();
        let mut given_up = 0;
        for (number, ((bit, class), snapshot)) in classes.with_bits().zip(&mut self.snapshots).enumerate() {
            let Some(state) = snapshot else { continue };
            let caps = class.machine.caps;
            let hidden = if event == Event::AddFramebuffer {
                not_shown(class, state, self.created.get(number).and_then(Option::as_ref))
            } else {
                None
            };
            if let Some(rule) = hidden {
                self.notes.push((bit, true, rule.reason()));
                given_up |= bit;
                continue;
            }
            // Under xe an object moves to local memory when it is shown.
            let is_here = class.machine.driver == Driver::Xe || !cannot_be_shown(caps, state);
            if event == Event::AddFramebuffer && !is_here && self.cpu_cached.is_some() {
                self.notes.push((bit, true, SHOWS_LOCAL));
                given_up |= bit;
                continue;
            }
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
        if given_up != 0 {
            self.give_up(ledger, given_up);
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
        let levels = self.levels();
        let past = |number: usize| {
            let is_there = |(_, on): &&(Route, Mask)| (on & !self.write_back) >> number & 1 != 0;
            self.other_routes.iter().find(is_there).map(|&(route, _)| route)
        };
        let level = |number: usize| levels.get(number).copied().flatten();
        let effects = Effects::of(classes, Access::Write, |number| {
            Some((level(number)?, past(number).unwrap_or(Route::CpuCached)))
        });
        let around = Effects::of(classes, Access::Write, |number| Some((level(number)?, past(number)?)));
        let cached = self.other_routes.iter().fold(!0, |all, (_, on)| all & !on) | self.write_back;
        let (mapped, reach) = (self.mapped(classes), self.reach(classes));
        self.flushes.store(ledger, lines, (cached, 0), reach);
        if cached != !0 {
            self.flushes.access(ledger, lines, around.touch(), reach);
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
        (route, pat_index): (Route, Option<u16>),
        access: Access,
        lines: LineRange,
    ) -> Vec<PlatformMistake> {
        self.screen.access(route, access, lines);
        self.access_counterpart(ledger, route);
        let levels = self.levels_through(classes, route, pat_index);
        let effects = Effects::new(classes, &levels, route, access);
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

    /// Returns the lines that a copy engine's command streamer read before the engine's writes to them were flushed. Engines that wait for no
    /// flush came with graphics 6.
    pub(super) fn posted(&self, classes: &Classes, lines: LineRange) -> Vec<PlatformMistake> {
        let on = self.exists() & classes.set(|class| class.machine.platform.graphics.major >= 6);
        let mut found = Vec::new();
        lines.indices().for_each(|line| add(&mut found, Mistake::UnflushedGpuWrite, on, line));
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
        let found = if self.write_back == 0 { Vec::new() } else { self.load(lines) };
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

    /// Returns the levels of the GPU's accesses through a mapping with a PAT index, or else of an access on another route.
    pub(super) fn levels_through(
        &self,
        classes: &Classes,
        route: Route,
        pat_index: Option<u16>,
    ) -> Vec<Option<CacheLevel>> {
        let mut levels = self.levels();
        if matches!(route, Route::Gpu(_)) {
            let of_objects = self.created.iter().zip(&self.pat_indices);
            for ((level, class), (&created, &chosen)) in levels.iter_mut().zip(&classes.all).zip(of_objects) {
                let of_mapping = class.level_of_mapping(created, pat_index.or(chosen));
                // Of an object that no cache has lines of, snooping finds none.
                *level = level.map(|level| match level {
                    CacheLevel::None => level,
                    CacheLevel::Llc | CacheLevel::L3Llc | CacheLevel::Wt => of_mapping.unwrap_or(level),
                });
            }
        }
        levels
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

/// Returns the request that created an object.
fn asked(created: &xe::Object) -> Create {
    let &xe::Object { caching, size, placement, flags } = created;
    let cpu_caching = caching.map_or(0, CpuCaching::number);
    Create { placement, flags, cpu_caching, ..Create::new(size, CpuCaching::Wb) }
}

/// Returns why a device of xe does not show an object; `None` if it does, and under i915.
pub(super) fn not_shown(class: &Class, state: &Snapshot, created: Option<&xe::Object>) -> Option<xe::Rule> {
    let platform = class.xe?.platform;
    let may_move = created.is_some_and(|created| created.placement & xe::LOCAL != 0);
    match (platform.has_display, cannot_be_shown(class.machine.caps, state) && !may_move) {
        (false, _) => Some(xe::Rule::NoDisplay),
        (true, true) => Some(xe::Rule::DisplayShowsLocal),
        (true, false) => None,
    }
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
