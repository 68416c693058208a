//! The kernel's object transitions, row by row, on every class of platform.

mod creation;
mod display;
mod exec;
mod levels;
mod pages;
mod power;
mod tables;
mod transfer;

use gem_coherency::platform::{self, Caps, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Action, Backing, Creation, Event, KernelRules, Snapshot, Step, step};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Coherency, Domains, KernelVersion};

/// The platforms that stand for their class, and the kernel they are tested under.
pub const NON_LLC: &[&str] = &["i945gm", "gm45", "ilk", "vlv", "chv", "bxt", "glk"];
/// Neither LLC nor snooping.
pub const NEITHER: &[&str] = &["i965g", "i965gm"];
/// LLC, and no way around it.
pub const LLC: &[&str] = &["snb", "ivb", "bdw", "skl", "icl", "tgl", "rkl", "adls"];
/// LLC with MOCS entries around it.
pub const BYPASS: &[&str] = &["ehl", "jsl"];
/// LLC with eDRAM.
pub const WT: &[&str] = &["hsw"];
/// Discrete.
pub const DISCRETE: &[&str] = &["dg1", "dg2"];

pub const NONE: CacheLevel = CacheLevel::None;
pub const LLC_LEVEL: CacheLevel = CacheLevel::Llc;
pub const WT_LEVEL: CacheLevel = CacheLevel::Wt;
pub const NO: Domains = Domains::empty();
pub const CPU: Domains = Domains::CPU;
pub const GTT: Domains = Domains::GTT;
pub const WC: Domains = Domains::WC;
pub const GPU: Domains = Domains::GPU;
pub const RENDER: Domains = Domains::RENDER;
pub const READ: Access = Access::Read;
pub const WRITE: Access = Access::Write;

/// A platform under a kernel; Haswell with its eDRAM fused on, as the others without.
pub fn machine(name: &str, kernel: KernelVersion) -> Machine {
    let platform = platform::by_name(name).unwrap();
    platform.machine(kernel, WT.contains(&name))
}

/// One platform under one kernel.
#[derive(Clone, Copy)]
pub struct Under {
    pub name: &'static str,
    pub caps: Caps,
    pub rules: KernelRules,
}

impl Under {
    pub fn new(name: &'static str, major: u16, minor: u16) -> Self {
        let kernel = KernelVersion::new(major, minor);
        Self { name, caps: machine(name, kernel).caps, rules: KernelRules::of(kernel).unwrap() }
    }

    pub fn created(&self, creation: Creation) -> Snapshot {
        Snapshot::created(self.caps, &self.rules, creation).unwrap()
    }

    /// A state of an ordinary object with pages, off the screen.
    pub fn state(&self, level: CacheLevel, read: Domains, write: Domains, dirty: bool) -> Snapshot {
        Snapshot {
            level,
            coherent: gem_coherency::policy::coherency(self.caps, level),
            dirty,
            read_domains: read,
            write_domain: write,
            pages: true,
            ..self.created(Creation::User)
        }
    }

    #[track_caller]
    pub fn step(&self, before: Snapshot, event: Event) -> Step {
        step(self.caps, &self.rules, before, event)
            .unwrap_or_else(|refusal| panic!("{} {event}: refused, {}", self.name, refusal.rule))
    }

    /// Runs `event` and compares everything that may change.
    #[track_caller]
    pub fn case(&self, before: Snapshot, event: Event, actions: &[Action], after: Snapshot) -> Rule {
        let step = self.step(before, event);
        let issued: Vec<_> = step.effects.actions().collect();
        assert_eq!(issued, actions, "{} {event} in {before:?}", self.name);
        assert_eq!(step.next, after, "{} {event} in {before:?}", self.name);
        step.rule
    }
}

/// Every platform of the classes under both kernels of the virtual machines.
pub fn every(classes: &[&[&'static str]]) -> impl Iterator<Item = Under> {
    let names: Vec<_> = classes.iter().flat_map(|class| class.iter().copied()).collect();
    names.into_iter().flat_map(|name| [Under::new(name, 6, 1), Under::new(name, 6, 12)])
}
