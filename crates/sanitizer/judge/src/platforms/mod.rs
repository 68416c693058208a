//! Judges one run by the rules of many platforms.
//!
//! The device of the run is traced ([`SimDevice::trace`](gem_coherency_sim::SimDevice::trace)): it reports stores, flushes, requests and
//! accesses. Each platform's kernel and hardware are applied to that: [`step`] to the object's state, [`effect`] to its lines. Where
//! several platforms judge, the device's agents see every byte at once, so that the answer is that of a program that does on each platform what it did in the
//! run. A driver that asks for the platform may do something else there. Where the device's own platform judges alone, it
//! judges flushes and domain changes; the device itself tells the mistakes, by their bytes.
//!
//! [`step`]: gem_coherency::policy::kernel::step
//! [`effect`]: gem_coherency_memory_model::effect

mod asked;
mod classes;
mod counterpart;
mod domain_calls;
mod flushes;
mod line;
mod object;
mod pending_calls;
mod reach;
mod screen;
mod under_xe;

use std::collections::{BTreeMap, BTreeSet};

use gem_coherency::platform::{Call, Caps, Driver, Machine};
use gem_coherency::policy::kernel::{Event, KernelRules};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CacheLevel, Handle, KernelVersion, MocsClass};
use gem_coherency::xe;
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_sim::{AskedOfXe, MadeCall, MadeStale, RefusedRequest, TraceEvent, Traced};

use crate::domain_calls::DomainChange;
use crate::judging::need::{Counts, Need};
use crate::judging::{JudgingPlatform, NotAlike};
use classes::{Classes, Mask};
use counterpart::ByXe;
use domain_calls::OpenCalls;
use flushes::Ledger;
use object::{Object, PlatformMistake, SHOWS_LOCAL};

/// A mistake of a run, on some platforms.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) kind: Mistake,
    pub(crate) object: u64,
    pub(crate) handle: Option<Handle>,
    pub(crate) size: u64,
    /// The level on the first platform.
    pub(crate) level: CacheLevel,
    pub(crate) route: Option<Route>,
    pub(crate) lines: Vec<LineRange>,
    /// The request of [`Mistake::RefusedRequest`].
    pub(crate) refused: Option<RefusedRequest>,
    pub(crate) platforms: Vec<JudgingPlatform>,
}

/// The judge of one device's run.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The run's kernel, and its driver.
    kernel: KernelVersion,
    driver: Driver,
    classes: Classes,
    platforms: Vec<JudgingPlatform>,
    objects: BTreeMap<u64, Object>,
    /// Objects that are not in local memory were shown.
    shows_system_memory: bool,
    /// What the lines needed that each place flushed.
    ledger: Ledger,
    /// Lines that the GPU wrote on the first class without looking into the cache, where the program may have stored unseen.
    possibly_lost: u64,
    /// The flushes of each place of objects that are not traced: userptr and imported ones, and those that are gone.
    unjudged: BTreeMap<u64, u64>,
    open_calls: OpenCalls,
    /// The requests of xe that the trace has not come to yet, by number.
    asked: BTreeMap<u64, AskedOfXe>,
    /// What is not the same on a class, by its number.
    not_alike: BTreeMap<usize, NotAlike>,
    /// The objects that the last part of the trace wrote to.
    written: BTreeSet<u64>,
    // What became known since it was taken.
    verdicts: Vec<Verdict>,
    domain_changes: Vec<DomainChange>,
    made_stale: Vec<MadeStale>,
    dropped: u64,
}

impl Judge {
    /// Creates the judge of a run on `machine`, whose kernel has `rules`, and whose xe may lack a rule, by `platforms`.
    pub(crate) fn new(
        machine: Machine,
        (rules, without): (KernelRules, Option<xe::Rule>),
        platforms: &[JudgingPlatform],
    ) -> Self {
        let classes = Classes::new(machine.kernel, rules, without, platforms);
        Self::of(machine, classes, platforms.to_vec())
    }

    /// Creates the judge of a run on `machine`, whose kernel has `rules`, by that machine alone.
    pub(crate) fn own(machine: Machine, rules: KernelRules) -> Self {
        Self::of(machine, Classes::of_machine(machine, rules), vec![JudgingPlatform::of(machine)])
    }

    fn of(machine: Machine, classes: Classes, platforms: Vec<JudgingPlatform>) -> Self {
        Self {
            kernel: machine.kernel,
            driver: machine.driver,
            classes,
            platforms,
            objects: BTreeMap::new(),
            shows_system_memory: false,
            ledger: Ledger::default(),
            possibly_lost: 0,
            unjudged: BTreeMap::new(),
            open_calls: OpenCalls::default(),
            asked: BTreeMap::new(),
            not_alike: BTreeMap::new(),
            written: BTreeSet::new(),
            verdicts: Vec::new(),
            domain_changes: Vec::new(),
            made_stale: Vec::new(),
            dropped: 0,
        }
    }

    /// Takes the requests of xe that the next part of the trace refers to.
    pub(crate) fn hear_asked(&mut self, asked: Vec<AskedOfXe>) {
        self.asked.extend(asked.into_iter().map(|asked| (asked.number, asked)));
    }

    /// Takes note of what is not the same on these classes: a refusal, or what is not judged.
    fn note(&mut self, on: Mask, is_refusal: bool, why: String) {
        let why = vec![why.trim_end_matches('.').to_owned()];
        let new = match is_refusal {
            true => NotAlike { refused: why, not_judged: Vec::new() },
            false => NotAlike { refused: Vec::new(), not_judged: why },
        };
        for number in (0..self.classes.all.len()).filter(|number| on >> number & 1 != 0) {
            self.not_alike.entry(number).or_default().merge(new.clone());
        }
    }

    /// Takes note of what an object says is not the same.
    fn note_of(&mut self, number: u64) {
        let notes = self.objects.get_mut(&number).map(Object::take_notes).unwrap_or_default();
        for (on, is_refusal, why) in notes {
            self.note(on, is_refusal, why.to_owned());
        }
    }

    /// Applies a part of the trace.
    pub(crate) fn feed(&mut self, (traced, dropped): (Vec<Traced>, u64)) {
        self.dropped += dropped;
        // What was not taken of the part before: the program has gone on.
        drop(self.take_fresh(false));
        let mut accesses = Vec::new();
        let mut surfaces = Vec::new();
        let mut submissions = Vec::new();
        let mut requests = Vec::new();
        for Traced { object: number, event } in traced {
            self.shows_system_memory |=
                self.driver == Driver::I915 && event == TraceEvent::Event(Event::AddFramebuffer);
            if let TraceEvent::Created { size, creation } = event {
                self.objects.insert(number, Object::new(&self.classes, size, creation));
                continue;
            }
            if let TraceEvent::CreatedByXe { size, snapshot, zeroed_by, created, is_dumb } = event {
                let by_xe = ByXe { snapshot, zeroed_by, created, is_dumb };
                self.objects.insert(number, Object::of_xe(&self.classes, size, &by_xe));
                self.note_of(number);
                continue;
            }
            if let TraceEvent::Asked { number } = event {
                requests.extend(self.ask(number));
                continue;
            }
            let Some(object) = self.objects.get_mut(&number) else {
                if let TraceEvent::Called { made, .. } = event {
                    self.domain_changes.push(unjudged(&made, &self.platforms));
                } else if let TraceEvent::Maintained { site, .. } = event {
                    *self.unjudged.entry(site).or_default() += 1;
                }
                continue;
            };
            let (classes, ledger) = (&self.classes, &mut self.ledger);
            match event {
                TraceEvent::Created { .. } | TraceEvent::CreatedByXe { .. } | TraceEvent::Asked { .. } => {}
                TraceEvent::Moved(to) => object.relocate(classes, ledger, to),
                TraceEvent::Mapped(route) => {
                    object.map(classes, ledger, route);
                    self.note_of(number);
                }
                TraceEvent::Event(kernel) | TraceEvent::Called { event: kernel, .. } => {
                    let (flushed, judged) = object.happen(classes, ledger, kernel, made(&event));
                    self.domain_changes.extend(self.open_calls.add(classes, &judged));
                    if flushed != 0 {
                        for object in self.objects.values_mut() {
                            object.flush(&self.classes, &mut self.ledger, flushed);
                        }
                    }
                    self.note_of(number);
                }
                TraceEvent::Stored(lines) => object.store(classes, ledger, lines),
                TraceEvent::Maintained { line, kind, site, stale } => {
                    object.maintain(classes, ledger, (kind, site), line, stale);
                }
                TraceEvent::Opened { line } => object.open(line, true),
                TraceEvent::Shown { line } => object.flushes.show(flushes::page_of(line)),
                TraceEvent::Closed { line } => object.open(line, false),
                TraceEvent::Exported => object.export(true),
                TraceEvent::Unexported => object.export(false),
                TraceEvent::Attached => object.attach(true),
                TraceEvent::Detached => object.attach(false),
                TraceEvent::Foreign { access, lines } => object.foreign(classes, ledger, access, lines),
                TraceEvent::Posted { lines, handle } => {
                    let found = object.posted(classes, lines);
                    let about = (number, handle, Some(Route::Gpu(MocsClass::PageTable)));
                    accesses.extend(found.into_iter().map(|found| verdict(classes, object, about, found)));
                }
                TraceEvent::Accessed { route, access, lines, handle, pat_index } => {
                    if access == Access::Write {
                        self.written.insert(number);
                        self.possibly_lost += object.possibly_lost(classes, (route, pat_index), lines);
                    }
                    let found = object.access(classes, ledger, (route, pat_index), access, lines);
                    let about = (number, handle, Some(route));
                    accesses.extend(found.into_iter().map(|found| verdict(classes, object, about, found)));
                    let old = if access == Access::Write { object.old(lines) } else { Vec::new() };
                    if !old.is_empty() {
                        let (size, level) = (object.size, object.level(1).unwrap_or(CacheLevel::None));
                        let stale = MadeStale { object: number, handle, size, level, route, lines: old };
                        add_stale(&mut self.made_stale, stale);
                    }
                    self.note_of(number);
                }
                TraceEvent::Rewritten { route, lines } => object.rewrite(classes, route, lines),
                TraceEvent::Bound { route, lines, handle } => {
                    let found = object.bind(classes, route, lines);
                    let about = (number, handle, Some(route));
                    surfaces.extend(found.into_iter().map(|found| verdict(classes, object, about, found)));
                }
                TraceEvent::Unfollowed { .. } => object.doubt_all(classes),
                TraceEvent::Submitted { handle } => {
                    let found = object.submit(classes);
                    let about = (number, handle, None);
                    submissions.extend(found.into_iter().map(|found| verdict(classes, object, about, found)));
                }
                TraceEvent::OnScreen { lines, handle } => object.on_screen(classes, lines, handle),
                TraceEvent::BlanksPassed { lines, count, handle } => {
                    let found = object.blanks_passed(classes, ledger, lines, count);
                    let about = (number, handle, Some(Route::Display));
                    accesses.extend(found.into_iter().map(|found| verdict(classes, object, about, found)));
                }
                TraceEvent::LeftScreen { lines, handle } => {
                    let found = object.left_screen(classes, ledger, lines);
                    let about = (number, handle, Some(Route::Display));
                    accesses.extend(found.into_iter().map(|found| verdict(classes, object, about, found)));
                }
                TraceEvent::Discarded => object.discard(classes),
                TraceEvent::Freed => {
                    object.end(classes, ledger);
                    self.objects.remove(&number);
                }
            }
        }
        // xe has no domains: DMA_BUF_IOCTL_SYNC changes no cache there, and programs make it for other exporters.
        let are_of_xe = self.classes.all.iter().all(|class| class.machine.driver == Driver::Xe);
        if self.driver == Driver::Xe || are_of_xe {
            self.domain_changes.clear();
        }
        merge(&mut accesses);
        merge(&mut surfaces);
        self.verdicts.extend(requests.into_iter().chain(accesses).chain(surfaces).chain(submissions));
    }

    /// Returns and clears the mistakes.
    pub(crate) fn take_verdicts(&mut self) -> Vec<Verdict> {
        std::mem::take(&mut self.verdicts)
    }

    /// Returns and clears the lines of which a write made old copies that a program can load.
    pub(crate) fn take_made_stale(&mut self) -> Vec<MadeStale> {
        std::mem::take(&mut self.made_stale)
    }

    /// Returns the mistakes of a program's load of an object's lines, which are reported as old copies.
    pub(crate) fn load(&mut self, number: u64, lines: LineRange) -> Vec<Verdict> {
        let Some(object) = self.objects.get_mut(&number) else { return Vec::new() };
        let found = object.load_old(&mut self.ledger, lines);
        let about = (number, None, Some(Route::CpuCached));
        let object = &*object;
        found.into_iter().map(|found| verdict(&self.classes, object, about, found)).collect()
    }

    /// Returns the mistakes of a program that ends now, as far as they are dirty lines of screens.
    pub(crate) fn dirty_screens(&mut self) -> Vec<Verdict> {
        for object in self.objects.values_mut() {
            object.all_displayed(&self.classes, &mut self.ledger);
        }
        let of = |(&number, object): (&u64, &Object)| {
            let about = (number, object.screen.handle, Some(Route::Display));
            let found = object.dirty_on_screen().into_iter();
            found.map(|found| verdict(&self.classes, object, about, found)).collect::<Vec<_>>()
        };
        self.objects.iter().flat_map(of).collect()
    }

    /// Returns and clears what became known of domain changes. A call that every platform refuses is none.
    pub(crate) fn take_domain_changes(&mut self) -> Vec<DomainChange> {
        std::mem::take(&mut self.domain_changes)
    }

    /// Takes note of a flush of memory of a userptr object: the GPU snoops it on each platform unless it bypasses the LLC, and no other agent
    /// gets it, because it is neither shown nor exported.
    pub(crate) fn user_flush(&mut self, site: u64) {
        let bypass = self.classes.set(|class| class.machine.caps.contains(Caps::LLC_BYPASS_MOCS));
        self.ledger.add(site, Need::Precautionary, bypass);
        self.ledger.add(site, Need::Useless, self.classes.set(|_| true) & !bypass);
    }

    /// Returns the verdicts on the flushes of all places, as if the run ended now.
    pub(crate) fn flushed(&self) -> Flushed<'_> {
        let mut ledger = self.ledger.clone();
        self.objects.values().for_each(|object| object.end(&self.classes, &mut ledger));
        Flushed { judge: self, ledger }
    }

    /// Returns the lines of objects to which the last part of the trace wrote, and of which a program has yet to load the old copies that flushes
    /// dropped. With `hides` they are hidden before the program goes on, unless [`Self::show`] follows.
    pub(crate) fn take_fresh(&mut self, hides: bool) -> Vec<(u64, Vec<LineRange>)> {
        let written = std::mem::take(&mut self.written);
        let fresh = |number: u64| Some((number, self.objects.get_mut(&number)?.flushes.take_fresh(hides)));
        written.into_iter().filter_map(fresh).filter(|(_, lines)| !lines.is_empty()).collect()
    }

    /// Takes note that these lines of an object are not hidden.
    pub(crate) fn show(&mut self, object: u64, lines: &[LineRange]) {
        if let Some(object) = self.objects.get_mut(&object) {
            lines.iter().for_each(|lines| object.flushes.show(*lines));
        }
    }

    /// Returns whether lines of an object are hidden from programs, so that a new mapping is to be, too.
    pub(crate) fn is_hidden(&self, object: u64) -> bool {
        self.objects.get(&object).is_some_and(|object| object.flushes.is_hidden())
    }

    /// Returns the number of lines that the GPU wrote on the first platform without looking into the cache, where the program may have stored the
    /// bytes that were there.
    pub(crate) fn possibly_lost(&self) -> u64 {
        self.possibly_lost
    }

    /// Returns what is not the same on a platform; the run's device accepted `calls`.
    pub(crate) fn not_alike(&self, calls: &[Call]) -> Vec<(JudgingPlatform, NotAlike)> {
        let of = |platform: JudgingPlatform| {
            let Ok(machine) = platform.machine(self.kernel) else { return (platform, NotAlike::default()) };
            let mut all = NotAlike::default();
            // Calls that only the run's driver has are those of objects that are not judged, which say so.
            let calls = calls.iter().filter(|_| machine.driver == self.driver);
            for refusal in calls.filter_map(|&call| machine.refusal(call)) {
                all.merge(NotAlike { refused: vec![refusal.why.to_owned()], not_judged: Vec::new() });
            }
            let is_of_i915 = machine.driver == Driver::I915;
            if is_of_i915 && self.shows_system_memory && machine.caps.contains(Caps::DISCRETE) {
                all.refused.push(SHOWS_LOCAL.to_owned());
            }
            let class = self.classes.all.iter().position(|class| class.has(platform));
            if let Some(known) = class.and_then(|number| self.not_alike.get(&number)) {
                all.merge(known.clone());
            }
            (platform, all)
        };
        let all = self.platforms.iter().map(|&platform| of(platform));
        all.filter(|(_, all)| *all != NotAlike::default()).collect()
    }

    /// Returns the number of events that were lost.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// The verdicts on the flushes of a run.
pub(crate) struct Flushed<'a> {
    judge: &'a Judge,
    ledger: Ledger,
}

impl Flushed<'_> {
    /// Returns the lines of a place by their verdicts on the first platform.
    pub(crate) fn counts(&self, site: u64) -> Counts {
        let mut counts = self.ledger.of(site, 0);
        counts.precautionary += self.judge.unjudged.get(&site).copied().unwrap_or(0);
        counts
    }

    /// Returns the platforms on which a line of a place has at least a verdict.
    pub(crate) fn on(&self, site: u64, least: Need) -> Vec<JudgingPlatform> {
        let unjudged = least <= Need::Precautionary && self.judge.unjudged.contains_key(&site);
        self.judge.classes.platforms(if unjudged { !0 } else { self.ledger.on(site, least) })
    }
}

fn verdict(
    classes: &Classes,
    object: &Object,
    (number, handle, route): (u64, Option<Handle>, Option<Route>),
    PlatformMistake { kind, on, lines }: PlatformMistake,
) -> Verdict {
    Verdict {
        kind,
        object: number,
        handle,
        size: object.size,
        level: object.level(on).unwrap_or(CacheLevel::None),
        route,
        lines,
        refused: None,
        platforms: classes.platforms(on),
    }
}

/// Adds lines of which a write made old copies; those of one object that follow each other are one.
fn add_stale(all: &mut Vec<MadeStale>, stale: MadeStale) {
    match all.last_mut() {
        Some(last) if last.object == stale.object => last.lines.extend(stale.lines),
        Some(_) | None => all.push(stale),
    }
}

/// Makes one verdict of those that differ in their lines alone.
fn merge(verdicts: &mut Vec<Verdict>) {
    let mut merged: Vec<Verdict> = Vec::new();
    for verdict in verdicts.drain(..) {
        let same = |other: &&mut Verdict| {
            (other.kind, other.object, other.route) == (verdict.kind, verdict.object, verdict.route)
                && other.platforms == verdict.platforms
        };
        match merged.iter_mut().rev().find(same) {
            Some(other) => other.lines.extend(verdict.lines),
            None => merged.push(verdict),
        }
    }
    merged.iter_mut().for_each(|verdict| LineRange::unite(&mut verdict.lines));
    *verdicts = merged;
}

/// Returns the call that moves an object between domains.
fn made(event: &TraceEvent) -> Option<&MadeCall> {
    if let TraceEvent::Called { made, .. } = event { Some(made) } else { None }
}

/// Returns a call for an object that is not judged: it may be needed wherever there are such calls.
fn unjudged(made: &MadeCall, platforms: &[JudgingPlatform]) -> DomainChange {
    let &MadeCall { number, call, thread, .. } = made;
    DomainChange {
        number,
        call,
        thread,
        needed_on: Vec::new(),
        precautionary_on: platforms.iter().filter(|it| it.driver() == Driver::I915).copied().collect(),
        is_open: false,
    }
}

#[cfg(test)]
mod tests;
