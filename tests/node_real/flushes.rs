//! The kernel's own flushes compared with the rules: random calls, traced.
//!
//! The flushes of every call are observed through `kernel_trace` and compared with the prediction of `step`.
//! The test requires tracefs, which root has in the virtual machines of `crates/vm`.

use std::cell::RefCell;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use gem_coherency::Errno;
use gem_coherency::backend::node::Node;
use gem_coherency::backend::{Advice, Created, Drm, ExecObject, Extras, Mapping, Param};
use gem_coherency::platform::{Call, Caps, Facts, Machine};
use gem_coherency::policy::kernel::{Action, Creation, Event, KernelRules, Refusal, Snapshot, Step, step};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Domains, Handle, MmapMode};
use gemtool::kernel_trace::{Attribution, Kind, Toucher, Tracer};

use super::display::Scanout;
use super::{Bench, Skip, Test, shown, test, tracers};

pub(super) const TESTS: &[Test] = &[test!(the_kernel_flushes_when_the_rules_say_and_only_then)];

/// The flushes of one object that the trace shows during one call.
#[derive(Debug, Default, PartialEq, Eq)]
struct Flushes {
    /// `drm_clflush_sg` of the object's pages, before the call continued.
    whole: usize,
    /// The same, by a worker.
    queued: usize,
    /// Set if there was a `drm_clflush_virt_range`.
    ranges: bool,
    /// `wbinvd_on_all_cpus`.
    wbinvd: usize,
}

/// An object on which events are run, on the device and by the rules.
pub(super) struct Subject<'a> {
    node: &'a Node,
    tracer: &'a RefCell<Tracer>,
    attribution: Attribution,
    handle: Handle,
    /// The kernel's address of the object.
    object: u64,
    size_bytes: u64,
    /// Set if the device determines how objects are mapped.
    discrete: bool,
    mapping: Option<Mapping>,
    dma_buf: Option<OwnedFd>,
    scanout: Option<Scanout<'a>>,
}

/// A call, with the rules' prediction and the observed effects.
#[derive(Debug)]
pub(super) struct Done {
    before: Snapshot,
    event: Event,
    expected: Result<Step, Refusal>,
    result: Result<(), Errno>,
    /// The mode that GET_CACHING reports after the call; `None` if the platform lacks the request.
    caching: Option<CachingMode>,
    seen: Flushes,
}

/// The number of bytes that PREAD and PWRITE copy, for partial lines; otherwise they copy three whole lines.
const PART: usize = 100;
const WHOLE: usize = 192;

const SIZE: u64 = 3 * 4096;

impl<'a> Subject<'a> {
    fn new(node: &'a Node, tracer: &'a RefCell<Tracer>, discrete: bool) -> Self {
        Self::made(node, tracer, discrete, || (node.create(SIZE).unwrap(), None))
    }

    /// Returns the object that `make` creates, with its scanout.
    pub(super) fn made(
        node: &'a Node,
        tracer: &'a RefCell<Tracer>,
        discrete: bool,
        make: impl FnOnce() -> (Created, Option<Scanout<'a>>),
    ) -> Self {
        let mut attribution = Attribution::new();
        tracer.borrow_mut().take().unwrap();
        let (Created { handle, size_bytes }, scanout) = make();
        tracer.borrow_mut().take().unwrap().iter().for_each(|seen| attribution.feed(seen));
        let created = attribution.finish();
        // If another device made the buffer, its object is named first.
        let &[.., object] = &created[0].named[..] else { panic!("an object is named: {created:?}") };
        let (mapping, dma_buf) = (None, None);
        Self { node, tracer, attribution, handle, object, size_bytes, discrete, mapping, dma_buf, scanout }
    }

    /// Makes the call for `event`; returns `None` if there is no such call here.
    fn perform(&mut self, event: Event, state: &Snapshot) -> Option<Result<(), Errno>> {
        let (node, handle) = (self.node, self.handle);
        let domains = |access, domain| match access {
            Access::Read => node.set_domain(handle, domain, Domains::empty()),
            Access::Write => node.set_domain(handle, domain, domain),
        };
        if has_no_call(event, state, self.scanout.as_ref()) {
            return None;
        }
        let mut bytes = [0; WHOLE];
        self.tracer.borrow().mark(event.name()).unwrap();
        let result = match event {
            Event::SetDomainCpu(access) => domains(access, Domains::CPU),
            Event::SetDomainGtt(access) => domains(access, Domains::GTT),
            Event::SetDomainWc(access) => domains(access, Domains::WC),
            Event::SetCaching(mode) => node.set_caching(handle, mode),
            Event::Pread => node.pread(handle, 60, &mut bytes[..PART]),
            Event::Pwrite { partial: false, awake: true } => node.pwrite(handle, 4096, &bytes),
            Event::Pwrite { partial: true, awake: true } => node.pwrite(handle, 4100, &bytes[..PART]),
            Event::Exec(access) => {
                let done = node.execute(&[ExecObject { handle, access }]);
                node.wait(handle, -1).unwrap();
                done
            }
            Event::SwFinish => node.sw_finish(handle),
            Event::Fault => {
                let mode = if self.discrete { MmapMode::Fixed } else { MmapMode::Wb };
                let mapping = self.mapping.take().unwrap_or_else(|| node.map(handle, mode, SIZE).unwrap());
                let done = mapping.copy_out(0, &mut bytes);
                self.mapping = Some(mapping);
                done
            }
            Event::DmaBufBegin(access) => node.begin_dma_buf_access(self.dma_buf(), access),
            Event::DmaBufEnd => node.end_dma_buf_access(self.dma_buf(), Access::Write),
            Event::Release => {
                self.mapping = None;
                self.dma_buf = None;
                let purgeable = node.madvise(handle, Advice::DontNeed);
                drop_pages();
                purgeable.map(drop)
            }
            Event::AddFramebuffer
            | Event::RemoveFramebuffer
            | Event::PinDisplay
            | Event::UnpinDisplay
            | Event::DirtyFb => self.scanout.as_mut()?.perform(event),
            Event::Acquire
            | Event::Pwrite { .. }
            | Event::Suspend
            | Event::Hibernate
            | Event::Resume { .. } => unreachable!("{event} has no call"),
        };
        Some(result.map_err(|error| error.errno()))
    }

    /// Returns the mode that GET_CACHING reports now.
    pub(super) fn caching(&self) -> Option<CachingMode> {
        self.node.caching(self.handle).ok()
    }

    pub(super) fn close(mut self) {
        self.mapping = None;
        self.scanout = None;
        self.node.close(self.handle).unwrap();
    }

    /// Returns a dma-buf of the object.
    fn dma_buf(&mut self) -> BorrowedFd<'_> {
        let dma_buf = self.dma_buf.get_or_insert_with(|| self.node.export(self.handle).unwrap());
        OwnedFd::as_fd(dma_buf)
    }

    /// Returns the kernel's flushes of the object during each call since its creation.
    fn flushes(&mut self) -> Vec<Flushes> {
        let seen = self.tracer.borrow_mut().take().unwrap();
        seen.iter().for_each(|seen| self.attribution.feed(seen));
        let calls = self.attribution.finish();
        calls
            .into_iter()
            .filter(|call| call.mark.is_some())
            .map(|call| {
                assert_eq!(call.lost, 0, "events of the trace were lost");
                let mut flushes = Flushes::default();
                for flush in call.flushes.iter().filter(|flush| flush.object == Some(self.object)) {
                    match flush.kind {
                        Kind::Whole { bytes } => {
                            assert_eq!(bytes, Some(self.size_bytes), "the object's size");
                            *if flush.asynchronous { &mut flushes.queued } else { &mut flushes.whole } += 1;
                        }
                        Kind::Range { toucher: Toucher::Transfer, .. } => flushes.ranges = true,
                        Kind::Range { toucher, .. } => panic!("{toucher:?}"),
                        Kind::Wbinvd => flushes.wbinvd += 1,
                    }
                }
                flushes
            })
            .collect()
    }
}

/// Returns whether no call here causes `event`. Without pages nothing is released, and the advice that makes
/// the kernel release them would purge the object. A shown object keeps its pages.
fn has_no_call(event: Event, state: &Snapshot, scanout: Option<&Scanout<'_>>) -> bool {
    match event {
        Event::Release => !state.pages || state.pinned,
        Event::AddFramebuffer => scanout.is_none() || state.framebuffer,
        Event::RemoveFramebuffer | Event::PinDisplay | Event::DirtyFb => !state.framebuffer,
        Event::UnpinDisplay => !state.pinned,
        Event::Acquire
        | Event::Pwrite { awake: false, .. }
        | Event::Suspend
        | Event::Hibernate
        | Event::Resume { .. } => true,
        Event::Fault
        | Event::SetDomainCpu(_)
        | Event::SetDomainGtt(_)
        | Event::SetDomainWc(_)
        | Event::SetCaching(_)
        | Event::Pread
        | Event::Pwrite { awake: true, .. }
        | Event::Exec(_)
        | Event::SwFinish
        | Event::DmaBufBegin(_)
        | Event::DmaBufEnd => false,
    }
}

/// Makes the kernel release the pages of every object that it may release: without swap, those that are not
/// needed. This purges them, so a release is the last event of an object.
fn drop_pages() {
    const SHRINK: &str = "0x27"; // unbound, bound, retire, shrink all
    for card in ["0", "1"] {
        let file = Path::new("/sys/kernel/debug/dri").join(card).join("i915_gem_drop_caches");
        if file.exists() {
            fs::write(file, SHRINK).unwrap();
        }
    }
}

/// Returns the flushes that the trace should show, by the rules.
fn predicted(actions: impl Iterator<Item = Action>) -> Flushes {
    let mut flushes = Flushes::default();
    for action in actions {
        match action {
            Action::FlushSync => flushes.whole += 1,
            Action::FlushAsync => flushes.queued += 1,
            Action::FlushBefore | Action::FlushAfter => flushes.ranges = true,
            Action::Wbinvd => flushes.wbinvd += 1,
            Action::Barrier | Action::WriteBarrier | Action::FlushGgtt | Action::FlushChipset => {}
        }
    }
    flushes
}

/// Returns the events for which the platform has a call.
pub(super) fn possible(machine: &Machine) -> Vec<Event> {
    let copies = machine.refusal(Call::PreadPwrite).is_none();
    let is_copy = |event: &Event| matches!(event, Event::Pread | Event::Pwrite { .. });
    Event::ALL.iter().copied().filter(|event| copies || !is_copy(event)).collect()
}

/// Returns the seed of random events.
pub(super) fn seed() -> u64 {
    std::env::var("GEM_COHERENCY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(42)
}

/// Returns the next number of a small pseudo-random generator (xorshift).
pub(super) fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

pub(super) fn machine(node: &Node) -> Machine {
    let fact = |param| node.param(param).ok();
    let facts = Facts {
        chipset_id: fact(Param::ChipsetId).unwrap() as u16,
        has_llc: fact(Param::HasLlc).map(|value| value != 0),
        has_wt: fact(Param::HasWt).map(|value| value != 0),
        coherent_ggtt: fact(Param::MmapGttCoherent).map(|value| value != 0),
    };
    Machine::from_facts(&facts, node.kernel()).unwrap()
}

/// Runs `events` as far as possible and compares; returns the calls that were made.
pub(super) fn drive(
    subject: &mut Subject<'_>,
    machine: &Machine,
    rules: &KernelRules,
    creation: Creation,
    events: impl IntoIterator<Item = Event>,
) -> Vec<Done> {
    let mut state = Snapshot::created(machine.caps, rules, creation).unwrap();
    let mut done = Vec::new();
    for event in events {
        let expected = step(machine.caps, rules, state, event);
        // A call that never returns is not made.
        if expected.is_err_and(|refusal| refusal.errno.is_none()) {
            continue;
        }
        let Some(result) = subject.perform(event, &state) else { continue };
        let caching = subject.node.caching(subject.handle).ok();
        done.push(Done { before: state, event, expected, result, caching, seen: Flushes::default() });
        let Ok(step) = expected else { continue };
        if step.effects.actions().any(|action| action == Action::FlushAsync) {
            std::thread::sleep(Duration::from_millis(5));
        }
        state = step.next;
        if event == Event::Release {
            break;
        }
    }
    let seen = subject.flushes();
    assert_eq!(seen.len(), done.len(), "calls in the trace");
    for (call, seen) in done.iter_mut().zip(seen) {
        call.seen = seen;
    }
    done
}

impl Done {
    /// Returns the observed effects as letters of the table of `tests/shown`; `before` is the caching mode
    /// before the call.
    pub(super) fn letters(&self, before: Option<CachingMode>) -> String {
        shown::letters(self.seen.wbinvd, self.seen.whole, self.seen.queued, before, self.caching)
    }

    /// Returns the mode that GET_CACHING reported after the call.
    pub(super) fn caching(&self) -> Option<CachingMode> {
        self.caching
    }

    /// Returns whether the observed effects equal the prediction.
    fn agrees(&self) -> bool {
        match self.expected {
            Ok(step) => {
                let mode = match step.next.level {
                    CacheLevel::None => CachingMode::None,
                    CacheLevel::Llc | CacheLevel::L3Llc => CachingMode::Cached,
                    CacheLevel::Wt => CachingMode::Display,
                };
                self.result.is_ok()
                    && predicted(step.effects.actions()) == self.seen
                    && self.caching.is_none_or(|caching| caching == mode)
            }
            Err(refusal) => self.result.err() == refusal.errno && self.seen == Flushes::default(),
        }
    }

    /// Returns whether other rules would predict other effects.
    pub(super) fn refutes(&self, machine: &Machine, other: &KernelRules) -> bool {
        step(machine.caps, other, self.before, self.event)
            .is_ok_and(|step| predicted(step.effects.actions()) != self.seen && self.result.is_ok())
    }

    pub(super) fn flushes(&self) -> usize {
        self.seen.whole + self.seen.queued + self.seen.wbinvd + usize::from(self.seen.ranges)
    }
}

/// Returns the first call that differs from the rules, with the calls before it.
pub(super) fn difference(done: &[Done]) -> Option<String> {
    let index = done.iter().position(|call| !call.agrees())?;
    let history: Vec<_> = done[..=index].iter().map(|call| call.event.name()).collect();
    Some(format!("{history:?}\n  {:?}", done[index]))
}

fn the_kernel_flushes_when_the_rules_say_and_only_then(bench: &Bench) -> Skip {
    let trace = match Tracer::start() {
        Ok(tracer) => RefCell::new(tracer),
        Err(why) => return Some(why.to_string()),
    };
    let node = bench.open();
    assert_eq!(tracers::missing(&trace.borrow(), node.kernel()), [""; 0], "what cannot be probed");
    let machine = machine(&node);
    let rules = KernelRules::of(node.kernel()).unwrap();
    let discrete = machine.caps.contains(Caps::DISCRETE);
    let (events, mut seed) = (possible(&machine), seed());
    // The first submission also brings in the kernel's own objects.
    let mut warm = Subject::new(&node, &trace, discrete);
    let done = drive(&mut warm, &machine, &rules, Creation::User, [Event::Exec(Access::Read)]);
    assert_eq!(done[0].result, Ok(()), "a first submission");
    let (mut calls, mut flushed, mut differences) = (0, 0, Vec::new());
    // The negative twin: rules without the acquire flush must differ where the flush exists.
    let old = KernelRules { bypass_acquire_flush: false, ..rules };
    let mut missed_by_old = 0;
    for _ in 0..100 {
        let mut subject = Subject::new(&node, &trace, discrete);
        let random = (0..30).map(|_| events[(next(&mut seed) % events.len() as u64) as usize]);
        let done = drive(&mut subject, &machine, &rules, Creation::User, random);
        calls += done.len();
        flushed += done.iter().map(Done::flushes).sum::<usize>();
        missed_by_old += done.iter().filter(|call| call.refutes(&machine, &old)).count();
        differences.extend(difference(&done));
        subject.close();
    }
    let (platform, kernel, count) = (machine.platform, node.kernel(), differences.len());
    println!("{platform} under {kernel}: {calls} calls, {flushed} flushes, {count} differences");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(calls > 500, "only {calls} calls");
    let has_flush = machine.caps.contains(Caps::LLC_BYPASS_MOCS) && rules.bypass_acquire_flush;
    assert_eq!(missed_by_old > 0, has_flush, "rules without the flush");
    None
}
