//! The flushes and level changes of i915 for scanout, call by call. They were observed on the driver (6.1 and
//! 6.12, nine platforms). Tests compare them with the driver again (`tests/node_real`) and with the software
//! i915 (`tests/scanout`).
//!
//! Letters for each call: `W` a write-back of all caches, `F` a flush of the whole object during the call,
//! `A` one by a worker; `L0`, `LC` and `L3` mean that the object is uncached, cached or written through from
//! then on. No letter: no effect.

pub mod refusals;

use gem_coherency::platform::{Caps, Machine};
use gem_coherency::policy::kernel::{Creation, Event};
use gem_coherency::vocabulary::{Access, CachingMode, KernelVersion};

/// Platforms with the same behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// CPU and GPU share the LLC: skl, icl, tgl, bdw.
    Llc,
    /// As `Llc`, and GPU reads can bypass it: jsl, ehl.
    Bypass,
    /// As `Llc`, with eDRAM: hsw.
    WriteThrough,
    /// The GPU does not share the CPU's caches: glk, apl.
    Own,
}

impl Class {
    /// Returns the class of a machine.
    pub fn of(machine: &Machine) -> Self {
        let has = |cap| machine.caps.contains(cap);
        match (has(Caps::WT), has(Caps::LLC_BYPASS_MOCS), has(Caps::LLC)) {
            (true, ..) => Self::WriteThrough,
            (_, true, _) => Self::Bypass,
            (_, _, true) => Self::Llc,
            (_, _, false) => Self::Own,
        }
    }
}

/// Kernels with the same behaviour: before 6.7, and from it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    All,
    Old,
    New,
}

impl Kernels {
    fn has(self, kernel: KernelVersion) -> bool {
        let new = kernel >= KernelVersion::new(6, 7);
        match self {
            Self::All => true,
            Self::Old => !new,
            Self::New => new,
        }
    }
}

/// Calls on a new object, and the effect of each.
#[derive(Debug)]
pub struct Row {
    /// The claim that the calls demonstrate.
    pub what: &'static str,
    /// The kind of object: a dumb buffer, a process's memory, or another device's buffer.
    pub of: Creation,
    /// The kernels on which they have these effects.
    kernels: Kernels,
    /// The calls, in order.
    pub calls: &'static [Event],
    /// The effects on LLC, bypassing, written-through and other platforms.
    done: [&'static str; 4],
}

/// Returns the rows that apply to a machine.
pub fn rows(machine: &Machine) -> impl Iterator<Item = &'static Row> {
    let kernel = machine.kernel;
    TABLE.iter().filter(move |row| row.kernels.has(kernel))
}

impl Row {
    /// Returns the effects of the calls, in order, on platforms of a class.
    pub fn expected(&self, class: Class) -> Vec<String> {
        let done = self.done[class as usize];
        done.split(',').map(|call| call.trim().trim_matches('-').to_owned()).collect()
    }
}

/// Returns whether the effects are the expected ones, where `|` separates alternatives.
pub fn agrees(done: &[String], expected: &[String]) -> bool {
    let alike = |(done, expected): (&String, &String)| expected.split('|').any(|one| one == done);
    done.len() == expected.len() && done.iter().zip(expected).all(alike)
}

/// Returns the letters of one call's flushes and level change.
pub fn letters(
    wbinvd: usize,
    whole: usize,
    queued: usize,
    before: Option<CachingMode>,
    after: Option<CachingMode>,
) -> String {
    let level = match (before, after) {
        (Some(before), Some(after)) if before != after => match after {
            CachingMode::None => "L0",
            CachingMode::Cached => "LC",
            CachingMode::Display => "L3",
        },
        (_, _) => "",
    };
    let words = [vec!["W"; wbinvd], vec!["F"; whole], vec![level], vec!["A"; queued]].concat();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

pub const CPU: Event = Event::SetDomainCpu(Access::Write);
pub const GTT: Event = Event::SetDomainGtt(Access::Write);
pub const WC: Event = Event::SetDomainWc(Access::Write);
pub const GPU: Event = Event::Exec(Access::Write);
pub const COPY: Event = Event::Pwrite { partial: false, awake: true };
pub const NONE: Event = Event::SetCaching(CachingMode::None);
pub const CACHED: Event = Event::SetCaching(CachingMode::Cached);
pub const STORE: Event = Event::Fault;
pub const BEGIN: Event = Event::DmaBufBegin(Access::Write);
pub const END: Event = Event::DmaBufEnd;
pub const ADD: Event = Event::AddFramebuffer;
pub const REMOVE: Event = Event::RemoveFramebuffer;
pub const SHOW: Event = Event::PinDisplay;
pub const HIDE: Event = Event::UnpinDisplay;
pub const FINISH: Event = Event::SwFinish;
pub const DIRTY: Event = Event::DirtyFb;

const fn row(what: &'static str, calls: &'static [Event], done: [&'static str; 4]) -> Row {
    Row { what, of: Creation::User, kernels: Kernels::All, calls, done }
}

/// Returns the row with another kind of object.
const fn of(of: Creation, row: Row) -> Row {
    Row { of, ..row }
}

/// Returns the row restricted to some kernels.
const fn on(kernels: Kernels, row: Row) -> Row {
    Row { kernels, ..row }
}

/// The table.
const TABLE: &[Row] = &[
    row("a framebuffer is a name", &[ADD, REMOVE], ["-, -", "-, -", "-, -", "-, -"]),
    row(
        "the first write to a framebuffer at its default level",
        &[ADD, CPU, FINISH, FINISH],
        ["-, -, -, -", "-, F, A, -", "-, -, -, -", "-, F, A, -"],
    ),
    row(
        "the same at the level NONE",
        &[NONE, ADD, CPU, FINISH],
        ["L0, -, F, A", "L0, -, F, A", "L0, -, F, A", "-, -, F, A"],
    ),
    row(
        "a flip to what was never touched",
        &[ADD, SHOW, SHOW],
        ["-, L0 A, -", "-, F L0 A, -", "-, L3 A, -", "-, F, -"],
    ),
    row(
        "a flip to what was written",
        &[ADD, CPU, SHOW, SHOW],
        ["-, -, L0 A, -", "-, F, L0 A, -", "-, -, L3 A, -", "-, F, A, -"],
    ),
    row(
        "a flip to what is at the level NONE and clean",
        &[NONE, ADD, GTT, SHOW],
        ["L0, -, F, -", "L0, -, F, -", "L0, -, F, L3 A", "-, -, F, -"],
    ),
    row(
        "SW_FINISH after a write to what is shown",
        &[ADD, SHOW, CPU, FINISH, FINISH],
        ["-, L0 A, -, A, -", "-, F L0 A, -, A, -", "-, L3 A, -, A, -", "-, F, -, A, -"],
    ),
    row(
        "DIRTYFB after one",
        &[ADD, SHOW, CPU, DIRTY, DIRTY],
        ["-, L0 A, -, A, -", "-, F L0 A, -, A, -", "-, L3 A, -, A, -", "-, F, -, A, -"],
    ),
    row(
        "a flip after one",
        &[ADD, SHOW, CPU, SHOW, SHOW],
        ["-, L0 A, -, A, -", "-, F L0 A, -, A, -", "-, L3 A, -, A, -", "-, F, -, A, -"],
    ),
    row(
        "a write, then another domain, then SW_FINISH",
        &[ADD, SHOW, CPU, GTT, FINISH],
        ["-, L0 A, -, -, A", "-, F L0 A, -, -, A", "-, L3 A, -, -, A", "-, F, -, F, -"],
    ),
    row(
        "the same, and DIRTYFB",
        &[ADD, SHOW, CPU, WC, DIRTY],
        ["-, L0 A, -, -, A", "-, F L0 A, -, -, A", "-, L3 A, -, -, A", "-, F, -, F, -"],
    ),
    row(
        "a write through the aperture or around the caches, then the CPU's domain",
        &[ADD, SHOW, GTT, CPU, WC, CPU],
        ["-, L0 A, -, -, -, -", "-, F L0 A, -, -, -, -", "-, L3 A, -, -, -, -", "-, F, -, F, F, F"],
    ),
    row(
        "PWRITE without a write domain",
        &[ADD, SHOW, COPY, DIRTY],
        ["-, L0 A, -, -", "-, F L0 A, -, -", "-, L3 A, -, -", "-, F, -, -"],
    ),
    row(
        "PWRITE in the CPU's write domain",
        &[ADD, SHOW, CPU, COPY, DIRTY],
        ["-, L0 A, -, -, A", "-, F L0 A, -, -, A", "-, L3 A, -, -, A", "-, F, -, -, A"],
    ),
    row(
        "a write by the CPU, then one by the GPU",
        &[ADD, SHOW, CPU, GPU, FINISH],
        ["-, L0 A, -, -, A", "-, F L0 A, -, -, A", "-, L3 A, -, -, A", "-, F, -, A, -"],
    ),
    row(
        "a write by the GPU, uncached or written through",
        &[ADD, SHOW, GPU, FINISH],
        ["-, L0 A, -, -", "-, F L0 A, -, -", "-, L3 A, -, -", "-, F, -, -"],
    ),
    row(
        "a write by the GPU at the default level",
        &[ADD, GPU, FINISH],
        ["-, -, A", "-, F, A", "-, -, A", "-, F, -"],
    ),
    row(
        "stores without SET_DOMAIN",
        &[ADD, SHOW, STORE, DIRTY],
        ["-, L0 A, -, -", "-, F L0 A, -, -", "-, L3 A, -, -", "-, F, -, -"],
    ),
    row(
        "a dma-buf's end of access",
        &[ADD, SHOW, BEGIN, END, DIRTY],
        ["-, L0 A, -, -, A", "-, F L0 A, -, -, A", "-, L3 A, -, -, A", "-, F, -, F, -"],
    ),
    row(
        "the level after a flip away and RMFB",
        &[ADD, SHOW, HIDE, REMOVE],
        ["-, L0 A, -, -", "-, F L0 A, -, -", "-, L3 A, -, -", "-, F, -, -"],
    ),
    row(
        "the level after RMFB of what is shown",
        &[ADD, SHOW, REMOVE],
        ["-, L0 A, -", "-, F L0 A, -", "-, L3 A, -", "-, F, -"],
    ),
    row(
        "cached again once it is off the screen, and shown again",
        &[ADD, SHOW, HIDE, CACHED, SHOW],
        ["-, L0 A, -, LC, L0 A", "-, F L0 A, -, LC, L0 A", "-, L3 A, -, LC, L3 A", "-, F, -, LC, L0 A"],
    ),
    on(
        Kernels::Old,
        row(
            "DIRTYFB of what is not shown",
            &[ADD, CPU, DIRTY, FINISH],
            ["-, -, -, -", "-, F, A, -", "-, -, -, -", "-, F, A, -"],
        ),
    ),
    on(
        Kernels::New,
        row(
            "DIRTYFB of what is not shown",
            &[ADD, CPU, DIRTY, FINISH],
            ["-, -, -, -", "-, F, -, A", "-, -, -, -", "-, F, -, A"],
        ),
    ),
    on(
        Kernels::Old,
        row(
            "the same at the level NONE",
            &[NONE, ADD, CPU, DIRTY, FINISH],
            ["L0, -, F, A, -", "L0, -, F, A, -", "L0, -, F, A, -", "-, -, F, A, -"],
        ),
    ),
    on(
        Kernels::New,
        row(
            "the same at the level NONE",
            &[NONE, ADD, CPU, DIRTY, FINISH],
            ["L0, -, F, -, A", "L0, -, F, -, A", "L0, -, F, -, A", "-, -, F, -, A"],
        ),
    ),
    of(
        Creation::Userptr,
        row(
            "a process's memory, whose level userspace cannot choose",
            &[ADD, CPU, SHOW, FINISH, HIDE, CACHED, NONE, SHOW],
            [
                "-, -, L0 A, -, -, -, -, -",
                "-, F, L0 A, -, -, -, -, -",
                "-, -, L3 A, -, -, -, -, -",
                "-, -, L0 A, -, -, -, -, -",
            ],
        ),
    ),
    of(
        Creation::Import,
        row(
            "another device's memory, which nobody flushes by lines; its first level is the kernel's choice",
            &[CACHED, ADD, SHOW, CPU, FINISH, HIDE, CACHED, SHOW],
            [
                "LC|, -, L0, -, -, -, LC, L0",
                "LC|, -, W L0, -, -, -, LC, L0",
                "LC|, -, L3, -, -, -, LC, L3",
                "LC|, -, W L0, -, -, -, LC, L0",
            ],
        ),
    ),
];
