//! The kernel's part: an object's caching state, and how every event changes it.
//!
//! [`step`] is the only transition function. The software device, the tables that `gemtool explain` prints
//! and the model all call it. Functions have the names of i915's: `acquire`, `clflush_object` and
//! `flush_write_domain` can be compared with the kernel's functions.
//!
//! ```
//! use gem_coherency_policy::platform;
//! use gem_coherency_policy::policy::kernel::{Creation, Event, KernelRules, Snapshot, step};
//! use gem_coherency_policy::vocabulary::KernelVersion;
//!
//! // The flush that Jasper Lake's LLC-bypassing reads need when an object gets its pages, and the kernel that lacks it.
//! let jsl = platform::by_name("jsl")?;
//! for (kernel, flushes, rule) in [((6, 12), 1, "bypass-acquire"), ((5, 14), 0, "acquire-coherent")] {
//!     let kernel = KernelVersion::new(kernel.0, kernel.1);
//!     let (caps, rules) = (jsl.machine(kernel, false).caps, KernelRules::of(kernel)?);
//!     let fresh = Snapshot::created(caps, &rules, Creation::User).expect("there are such objects");
//!     let step = step(caps, &rules, fresh, Event::Acquire).expect("no refusal");
//!     assert_eq!((step.effects.iter().count(), step.rule.name()), (flushes, rule));
//! }
//! # Ok::<(), gem_coherency_policy::Unknown>(())
//! ```

mod create;
mod display;
mod domains;
mod event;
mod exec;
mod object;
mod pages;
mod power;
mod rules;
mod snapshot;
mod transfer;

pub use event::{Action, Effect, Effects, Event};
pub use rules::KernelRules;
pub use snapshot::{Backing, Creation, Snapshot};

use crate::errno::Errno;

use super::rules::Rule;
use crate::platform::Caps;
use object::Object;

/// The result of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The object's next state.
    pub next: Snapshot,
    /// The flushes and barriers that the kernel issues, in order.
    pub effects: Effects,
    /// The rule of the first flush, or the reason why there is none.
    pub rule: Rule,
}

/// A request that the kernel refuses; the object's state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The errno; `None` if the call never returns.
    pub errno: Option<Errno>,
    /// The rule that refuses.
    pub rule: Rule,
}

impl Refusal {
    /// Creates a refusal.
    const fn new(errno: Errno, rule: Rule) -> Self {
        Self { errno: Some(errno), rule }
    }
}

/// Returns the result of `event` for an object in state `before`, on hardware `caps`, under `rules`.
///
/// The GPU is assumed to be idle. The caller handles waits, and errors that do not concern caching.
///
/// # Errors
/// The kernel's refusal.
pub fn step(caps: Caps, rules: &KernelRules, before: Snapshot, event: Event) -> Result<Step, Refusal> {
    let mut object = Object::new(caps, rules, before);
    match event {
        Event::Acquire => object.acquire_alone(),
        Event::Fault => object.fault(),
        Event::Release => object.release(),
        Event::SetDomainCpu(access) => object.set_domain(domains::Target::Cpu, access)?,
        Event::SetDomainGtt(access) => object.set_domain(domains::Target::Gtt, access)?,
        Event::SetDomainWc(access) => object.set_domain(domains::Target::Wc, access)?,
        Event::SetCaching(mode) => object.set_caching(mode)?,
        Event::Pread => object.pread()?,
        Event::Pwrite { partial, awake } => object.pwrite(partial, awake)?,
        Event::Exec(access) => object.execute(access),
        Event::AddFramebuffer => object.add_framebuffer(),
        Event::RemoveFramebuffer => object.remove_framebuffer(),
        Event::PinDisplay => object.pin_display()?,
        Event::UnpinDisplay => object.unpin_display(),
        Event::SwFinish => object.flush_if_display(),
        Event::DirtyFb => object.dirty_fb()?,
        Event::DmaBufBegin(access) => object.dma_buf_begin(access)?,
        Event::DmaBufEnd => object.dma_buf_end()?,
        Event::Suspend => object.suspend(),
        Event::Hibernate => object.hibernate(),
        Event::Resume { bound } => object.resume(bound),
    }
    Ok(object.into_step())
}
