//! The kernel's rules, row by row, on every class of platform.

mod creation;
mod display;
mod exec;
mod levels;
mod pages;
mod power;
mod tables;
mod transfer;

use gem_coherency_policy::platform::{self, Caps, Machine};
use gem_coherency_policy::policy::Rule;
use gem_coherency_policy::policy::kernel::{Action, Creation, Event, KernelRules, Snapshot, Step, step};
use gem_coherency_policy::vocabulary::{Access, CacheLevel, CachingMode, Coherency, Domains, KernelVersion};

/// The platforms that represent each class. The first class has snooping and no LLC.
const NON_LLC: &[&str] = &["i945gm", "gm45", "ilk", "vlv", "chv", "bxt", "glk"];
/// Platforms with neither LLC nor snooping.
const NEITHER: &[&str] = &["i965g", "i965gm"];
/// Platforms with an LLC that MOCS entries cannot bypass.
const LLC: &[&str] = &["snb", "ivb", "bdw", "skl", "icl", "tgl", "rkl", "adls"];
/// Platforms with an LLC that MOCS entries can bypass.
const BYPASS: &[&str] = &["ehl", "jsl"];
/// Platforms with LLC and eDRAM.
const WT: &[&str] = &["hsw"];
/// Platforms with a PAT index at creation, tested under the kernel that has it.
const PAT: &[&str] = &["mtl"];
/// Discrete devices.
const DISCRETE: &[&str] = &["dg1", "dg2"];

const NONE: CacheLevel = CacheLevel::None;
const LLC_LEVEL: CacheLevel = CacheLevel::Llc;
const WT_LEVEL: CacheLevel = CacheLevel::Wt;
const NO: Domains = Domains::empty();
const CPU: Domains = Domains::CPU;
const GTT: Domains = Domains::GTT;
const WC: Domains = Domains::WC;
const GPU: Domains = Domains::GPU;
const RENDER: Domains = Domains::RENDER;
const READ: Access = Access::Read;
const WRITE: Access = Access::Write;

/// Returns a platform under a kernel; eDRAM is fused on for Haswell only.
fn machine(name: &str, kernel: KernelVersion) -> Machine {
    let platform = platform::by_name(name).unwrap();
    platform.machine(kernel, WT.contains(&name))
}

/// A platform under a kernel.
#[derive(Clone, Copy)]
struct Under {
    name: &'static str,
    caps: Caps,
    rules: KernelRules,
}

impl Under {
    fn new(name: &'static str, major: u16, minor: u16) -> Self {
        let kernel = KernelVersion::new(major, minor);
        Self { name, caps: machine(name, kernel).caps, rules: KernelRules::of(kernel).unwrap() }
    }

    fn created(&self, creation: Creation) -> Snapshot {
        Snapshot::created(self.caps, &self.rules, creation).unwrap()
    }

    /// Returns a state of an ordinary object with pages that is not on screen.
    fn state(&self, level: CacheLevel, read: Domains, write: Domains, dirty: bool) -> Snapshot {
        Snapshot {
            level,
            coherent: gem_coherency_policy::policy::coherency(self.caps, level),
            dirty,
            read_domains: read,
            write_domain: write,
            pages: true,
            ..self.created(Creation::User)
        }
    }

    #[track_caller]
    fn step(&self, before: Snapshot, event: Event) -> Step {
        step(self.caps, &self.rules, before, event)
            .unwrap_or_else(|refusal| panic!("{} {event}: refused, {}", self.name, refusal.rule))
    }

    /// Runs `event`; compares the actions and the whole state.
    #[track_caller]
    fn case(&self, before: Snapshot, event: Event, actions: &[Action], after: Snapshot) -> Rule {
        let step = self.step(before, event);
        let issued: Vec<_> = step.effects.actions().collect();
        assert_eq!(issued, actions, "{} {event} in {before:?}", self.name);
        assert_eq!(step.next, after, "{} {event} in {before:?}", self.name);
        step.rule
    }
}

/// Returns every platform of the classes under both kernels of the virtual machines. Meteor Lake is tested
/// only under the newer one, because the older one treats it as a part with an LLC.
fn every(classes: &[&[&'static str]]) -> impl Iterator<Item = Under> {
    let names: Vec<_> = classes.iter().flat_map(|class| class.iter().copied()).collect();
    let kernels = |name| if PAT.contains(&name) { &[12][..] } else { &[1, 12] };
    names.into_iter().flat_map(move |name| kernels(name).iter().map(move |&minor| Under::new(name, 6, minor)))
}
