//! The kernel's own flushes against the rules: random calls, traced.
//!
//! Every call's `drm_clflush_sg`, `drm_clflush_virt_range` and `wbinvd_on_all_cpus` are seen through
//! kprobes, attributed to the object by its page list, and compared with what `step` predicted. Needs
//! tracefs, as root has it in the virtual machines of `ci/i915-vm`.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gem_coherency::drm::node::Node;
use gem_coherency::drm::{Advice, Drm, ExecObject, Mapping, Param};
use gem_coherency::platform::{Call, Caps, Facts, Machine};
use gem_coherency::policy::kernel::{Action, Creation, Event, KernelRules, Snapshot, step};
use gem_coherency::vocabulary::{Access, Domains, Handle, MmapMode};

use super::{Bench, Skip, Test, test};

pub(super) const TESTS: &[Test] = &[test!(the_kernel_flushes_when_the_rules_say_and_only_then)];

/// The kernel's trace, reduced to what flushes.
struct Trace {
    directory: PathBuf,
}

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

impl Trace {
    fn open() -> Result<Self, String> {
        let directory = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
            .into_iter()
            .map(PathBuf::from)
            .find(|directory| directory.join("kprobe_events").exists())
            .ok_or("no tracefs")?;
        let trace = Self { directory };
        trace.write("options/hash-ptr", "0")?;
        trace.write(
            "kprobe_events",
            "p:gemco_pages __i915_gem_object_set_pages obj=$arg1:x64 pages=$arg2:x64\n\
             p:gemco_sg drm_clflush_sg pages=$arg1:x64\n\
             p:gemco_virt drm_clflush_virt_range len=$arg2:u64\n\
             p:gemco_wbinvd wbinvd_on_all_cpus\n",
        )?;
        trace.write("events/kprobes/enable", "1")?;
        trace.write("events/i915/i915_gem_object_create/enable", "1")?;
        Ok(trace)
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.directory.join(file);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// What was traced since the last time.
    fn take(&self) -> String {
        let path = self.directory.join("trace");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, "").unwrap();
        text
    }
}

/// The value of `key=` in a line of the trace.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let start = line.find(&format!("{key}="))? + key.len() + 1;
    let rest = &line[start..];
    Some(rest.split([' ', ',', '\n']).next().unwrap_or(rest).trim_start_matches("0x").trim_start_matches('0'))
}

/// One object, driven on the device and by the rules alike.
struct Subject<'a> {
    node: &'a Node,
    trace: &'a Trace,
    handle: Handle,
    /// The kernel's address of the object.
    object: String,
    /// Whether the device decides how objects are mapped.
    discrete: bool,
    mapping: Option<Mapping>,
    dma_buf: Option<OwnedFd>,
}

/// How many bytes PREAD and PWRITE copy: parts of lines, or three whole ones. The kernel flushes
/// bytes of its own by address, too, but never so many.
const PART: usize = 100;
const WHOLE: usize = 192;

/// What stands in the trace before each call.
const MARK: &str = "gemco call";

const SIZE: u64 = 3 * 4096;

impl<'a> Subject<'a> {
    fn new(node: &'a Node, trace: &'a Trace, discrete: bool) -> Self {
        trace.take();
        let handle = node.create(SIZE).unwrap().handle;
        let text = trace.take();
        let create =
            text.lines().rfind(|line| line.contains("i915_gem_object_create")).expect("a create event");
        let object = field(create, "obj").unwrap().to_owned();
        Self { node, trace, handle, object, discrete, mapping: None, dma_buf: None }
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
        self.trace.write("trace_marker", MARK).unwrap();
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
    fn flushes(&self) -> Vec<Flushes> {
        let mut calls: Vec<Flushes> = Vec::new();
        let mut pages = String::new();
        for line in self.trace.take().lines().filter(|line| !line.starts_with('#')) {
            if line.contains(MARK) {
                calls.push(Flushes::default());
            }
            let Some(call) = calls.last_mut() else { continue };
            if line.contains("gemco_pages:") && field(line, "obj") == Some(&self.object) {
                field(line, "pages").unwrap().clone_into(&mut pages);
            } else if line.contains("gemco_sg:") && field(line, "pages") == Some(&pages) {
                call.whole += 1;
            } else if line.contains("gemco_virt:") {
                let len = field(line, "len").and_then(|len| len.parse().ok());
                call.ranges |= len == Some(PART) || len == Some(WHOLE);
            } else if line.contains("gemco_wbinvd:") {
                call.wbinvd += 1;
            }
        }
        calls
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
    let trace = match Trace::open() {
        Ok(trace) => trace,
        Err(why) => return Some(why),
    };
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
