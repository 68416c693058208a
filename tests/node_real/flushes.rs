//! The kernel's own flushes against the rules: random calls, traced.
//!
//! Every call's flushes are seen through `kernel_trace` and compared with what `step` predicted. Needs
//! tracefs, as root has it in the virtual machines of `ci/i915-vm`.

use std::cell::RefCell;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use gem_coherency::drm::node::Node;
use gem_coherency::drm::{Advice, Drm, ExecObject, Mapping, Param};
use gem_coherency::kernel_trace::{Attribution, Kind, Toucher, Tracer};
use gem_coherency::platform::{Call, Caps, Facts, Machine};
use gem_coherency::policy::kernel::{Action, Creation, Event, KernelRules, Snapshot, step};
use gem_coherency::vocabulary::{Access, Domains, Handle, MmapMode};

use super::{Bench, Skip, Test, test};

pub(super) const TESTS: &[Test] = &[test!(the_kernel_flushes_when_the_rules_say_and_only_then)];

/// What the trace showed of one object during one call.
#[derive(Debug, Default, PartialEq, Eq)]
struct Flushes {
    /// `drm_clflush_sg` of the object's pages.
    whole: usize,
    /// Whether there was a `drm_clflush_virt_range`.
    ranges: bool,
    /// `wbinvd_on_all_cpus`.
    wbinvd: usize,
}

/// One object, driven on the device and by the rules alike.
struct Subject<'a> {
    node: &'a Node,
    tracer: &'a RefCell<Tracer>,
    attribution: Attribution,
    handle: Handle,
    /// The kernel's address of the object.
    object: u64,
    /// Whether the device decides how objects are mapped.
    discrete: bool,
    mapping: Option<Mapping>,
    dma_buf: Option<OwnedFd>,
}

/// How many bytes PREAD and PWRITE copy: parts of lines, or three whole ones.
const PART: usize = 100;
const WHOLE: usize = 192;

const SIZE: u64 = 3 * 4096;

impl<'a> Subject<'a> {
    fn new(node: &'a Node, tracer: &'a RefCell<Tracer>, discrete: bool) -> Self {
        let mut attribution = Attribution::new();
        tracer.borrow_mut().take().unwrap();
        let handle = node.create(SIZE).unwrap().handle;
        tracer.borrow_mut().take().unwrap().iter().for_each(|seen| attribution.feed(seen));
        let created = attribution.finish();
        let &[object] = &created[0].named[..] else { panic!("one object is named: {created:?}") };
        Self { node, tracer, attribution, handle, object, discrete, mapping: None, dma_buf: None }
    }

    /// Does the call that stands for `event`; `None` if there is none here.
    fn perform(&mut self, event: Event, has_pages: bool) -> Option<Result<(), nix::errno::Errno>> {
        let (node, handle) = (self.node, self.handle);
        let domains = |access, domain| match access {
            Access::Read => node.set_domain(handle, domain, Domains::empty()),
            Access::Write => node.set_domain(handle, domain, domain),
        };
        if has_no_call(event, has_pages) {
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
            Event::Acquire
            | Event::Pwrite { .. }
            | Event::AddFramebuffer
            | Event::RemoveFramebuffer
            | Event::PinDisplay
            | Event::UnpinDisplay
            | Event::DirtyFb
            | Event::Suspend
            | Event::Hibernate
            | Event::Resume { .. } => unreachable!("{event} has no call"),
        };
        Some(result.map_err(|error| error.errno()))
    }

    /// A dma-buf of the object.
    fn dma_buf(&mut self) -> BorrowedFd<'_> {
        let dma_buf = self.dma_buf.get_or_insert_with(|| self.node.export(self.handle).unwrap());
        OwnedFd::as_fd(dma_buf)
    }

    /// What the kernel did to the object during each call since its creation.
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
                            assert_eq!(bytes, Some(SIZE), "the object's size");
                            flushes.whole += 1;
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

/// Whether nothing here makes `event` happen; without pages nothing is released, and the advice that
/// makes the kernel release them would purge the object.
fn has_no_call(event: Event, has_pages: bool) -> bool {
    match event {
        Event::Release => !has_pages,
        Event::Acquire
        | Event::Pwrite { awake: false, .. }
        | Event::AddFramebuffer
        | Event::RemoveFramebuffer
        | Event::PinDisplay
        | Event::UnpinDisplay
        | Event::DirtyFb
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

/// Makes the kernel give back the pages of every object that it may: without swap, of those that are
/// not needed. They are purged by it, so a release is the last thing that happens to an object.
fn drop_pages() {
    const SHRINK: &str = "0x27"; // unbound, bound, retire, shrink all
    for card in ["0", "1"] {
        let file = Path::new("/sys/kernel/debug/dri").join(card).join("i915_gem_drop_caches");
        if file.exists() {
            fs::write(file, SHRINK).unwrap();
        }
    }
}

/// What the rules say the trace will show.
fn predicted(actions: impl Iterator<Item = Action>) -> Flushes {
    let mut flushes = Flushes::default();
    for action in actions {
        match action {
            Action::FlushSync | Action::FlushAsync => flushes.whole += 1,
            Action::FlushBefore | Action::FlushAfter => flushes.ranges = true,
            Action::Wbinvd => flushes.wbinvd += 1,
            Action::Barrier | Action::WriteBarrier | Action::FlushGgtt | Action::FlushChipset => {}
        }
    }
    flushes
}

/// A small generator of pseudo-random numbers (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn machine(node: &Node) -> Machine {
    let fact = |param| node.param(param).ok();
    let facts = Facts {
        chipset_id: fact(Param::ChipsetId).unwrap() as u16,
        has_llc: fact(Param::HasLlc).map(|value| value != 0),
        has_wt: fact(Param::HasWt).map(|value| value != 0),
        coherent_ggtt: fact(Param::MmapGttCoherent).map(|value| value != 0),
    };
    Machine::from_facts(&facts, node.kernel()).unwrap().0
}

fn the_kernel_flushes_when_the_rules_say_and_only_then(bench: &Bench) -> Skip {
    let trace = match Tracer::start() {
        Ok(tracer) => RefCell::new(tracer),
        Err(why) => return Some(why.to_string()),
    };
    assert_eq!(trace.borrow().missing(), [""; 0], "what cannot be probed");
    let node = bench.open();
    let machine = machine(&node);
    let rules = KernelRules::of(node.kernel()).unwrap();
    let discrete = machine.caps.contains(Caps::DISCRETE);
    let events: Vec<_> = Event::ALL
        .iter()
        .copied()
        .filter(|event| {
            !matches!(event, Event::Pread | Event::Pwrite { .. })
                || machine.refusal(Call::PreadPwrite).is_none()
        })
        .collect();
    let mut seed =
        std::env::var("GEM_COHERENCY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(42_u64);
    // The first submission brings in objects of the kernel's own.
    let warm = Subject::new(&node, &trace, discrete).perform(Event::Exec(Access::Read), false);
    assert_eq!(warm, Some(Ok(())), "a first submission");
    let (mut calls, mut flushed, mut differences) = (0, 0, Vec::new());
    // The negative twin: rules without the acquire flush must be caught where it exists.
    let old = KernelRules { bypass_acquire_flush: false, ..rules };
    let mut missed_by_old = 0;
    for _ in 0..100 {
        let mut subject = Subject::new(&node, &trace, discrete);
        let mut state = Snapshot::created(machine.caps, &rules, Creation::User).unwrap();
        let mut done = Vec::new();
        for _ in 0..30 {
            let event = events[(next(&mut seed) % events.len() as u64) as usize];
            let Some(result) = subject.perform(event, state.pages) else { continue };
            let expected = step(machine.caps, &rules, state, event);
            done.push((state, event, expected, result));
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
        calls += done.len();
        for (index, ((state, event, expected, result), seen)) in done.iter().zip(seen).enumerate() {
            flushed += seen.whole + seen.wbinvd + usize::from(seen.ranges);
            if let Ok(step) = step(machine.caps, &old, *state, *event) {
                missed_by_old += usize::from(predicted(step.effects.actions()) != seen && result.is_ok());
            }
            let agree = match expected {
                Ok(step) => result.is_ok() && predicted(step.effects.actions()) == seen,
                Err(refusal) => result.err() == refusal.errno && seen == Flushes::default(),
            };
            if !agree {
                let history: Vec<_> = done[..=index].iter().map(|(_, event, _, _)| event.name()).collect();
                differences.push(format!(
                    "{history:?}\n  in {state:?}\n  expected {expected:?}\n  seen {seen:?}, {result:?}"
                ));
                break;
            }
        }
        subject.mapping = None;
        node.close(subject.handle).unwrap();
    }
    println!(
        "{} under {}: {calls} calls, {flushed} flushes, {} differences",
        machine.platform,
        node.kernel(),
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(calls > 500, "only {calls} calls");
    assert_eq!(missed_by_old > 0, machine.caps.contains(Caps::LLC_BYPASS_MOCS), "rules without the flush");
    None
}
