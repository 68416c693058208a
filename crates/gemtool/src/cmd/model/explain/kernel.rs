//! The kernel's actions on an object at an event.

use gem_coherency::platform::Basis;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{
    Action, Backing, Creation, Effect, Event, Refusal, Snapshot, Step, step,
};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Coherency, Domains, KernelVersion};
use gem_coherency_check::{Transition, transitions};
use serde::Serialize;

use crate::args::{self, Object};
use crate::cmd::model::machine::Ruled;
use crate::failure::Failure;

/// An object's state, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// The source of its pages.
    pub backing: Backing,
    /// The object is a framebuffer.
    pub framebuffer: bool,
    /// The object is pinned for the display engine.
    pub pinned: bool,
    /// The cache level.
    pub level: CacheLevel,
    /// The PAT index that userspace chose.
    pub user_pat: Option<u8>,
    /// CPU accesses that are coherent with the GPU.
    pub coherent: Vec<Access>,
    /// The object has pages.
    pub pages: bool,
    /// The read domains.
    pub read_domains: Vec<&'static str>,
    /// The write domain.
    pub write_domain: Option<&'static str>,
    /// The kernel tracks the object as dirty in the CPU's cache.
    pub dirty: bool,
}

impl From<Snapshot> for State {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            backing: snapshot.backing,
            framebuffer: snapshot.framebuffer,
            pinned: snapshot.pinned,
            level: snapshot.level,
            user_pat: snapshot.user_pat,
            coherent: accesses(snapshot.coherent),
            pages: snapshot.pages,
            read_domains: domain_words(snapshot.read_domains),
            write_domain: domain_words(snapshot.write_domain).first().copied(),
            dirty: snapshot.dirty,
        }
    }
}

/// Returns the accesses that a coherency covers.
pub fn accesses(coherent: Coherency) -> Vec<Access> {
    let read = coherent.contains(Coherency::READ).then_some(Access::Read);
    let write = coherent.contains(Coherency::WRITE).then_some(Access::Write);
    read.into_iter().chain(write).collect()
}

/// Returns the names of domains.
fn domain_words(domains: Domains) -> Vec<&'static str> {
    const WORDS: [(Domains, &str); 8] = [
        (Domains::CPU, "cpu"),
        (Domains::RENDER, "render"),
        (Domains::SAMPLER, "sampler"),
        (Domains::COMMAND, "command"),
        (Domains::INSTRUCTION, "instruction"),
        (Domains::VERTEX, "vertex"),
        (Domains::GTT, "gtt"),
        (Domains::WC, "wc"),
    ];
    WORDS.iter().filter(|(domain, _)| domains.contains(*domain)).map(|(_, word)| *word).collect()
}

/// The kernel's actions in one state at one event: one row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct KernelRow {
    /// The platform's name.
    pub platform: &'static str,
    /// The kernel version.
    pub kernel: KernelVersion,
    /// How the rules of the kernel are known.
    pub basis: Basis,
    /// The kind of object.
    pub object: Object,
    /// The state before the event.
    #[serde(flatten)]
    pub state: State,
    /// The event.
    pub event: Event,
    /// Flushes and barriers, in order.
    pub actions: Vec<Action>,
    /// These actions, each with the rule that requires it.
    pub effects: Vec<Effect>,
    /// The errno of a refused event; null if the call never returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<Option<String>>,
    /// The rule that decided.
    pub rule: Rule,
    /// The rule's reason.
    pub reason: &'static str,
    /// The rule's source.
    pub source: &'static str,
    /// The state after the event.
    pub next: State,
}

impl KernelRow {
    /// Creates the row for an outcome.
    fn new(ruled: &Ruled, object: Object, row: &Transition) -> Self {
        let (next, effects, errno, rule) = match row.outcome {
            Ok(Step { next, effects, rule }) => (next, effects.iter().collect(), None, rule),
            Err(Refusal { errno, rule }) => {
                (row.before, Vec::new(), Some(errno.map(|errno| format!("{errno:?}"))), rule)
            }
        };
        Self {
            platform: ruled.machine.platform.name,
            kernel: ruled.machine.kernel,
            basis: Basis::of(ruled.machine.kernel),
            object,
            state: row.before.into(),
            event: row.event,
            actions: effects.iter().map(|effect| effect.action).collect(),
            effects,
            errno,
            rule,
            reason: rule.reason(),
            source: rule.source(),
            next: next.into(),
        }
    }
}

/// Returns every state that can be reached from creation, with every event.
pub fn rows(ruled: &Ruled, object: Object) -> impl Iterator<Item = KernelRow> + '_ {
    let rows = transitions(&ruled.machine, &ruled.rules, object.0);
    rows.into_iter().map(move |row| KernelRow::new(ruled, object, &row))
}

/// Returns the requested decision.
///
/// # Errors
/// A missing argument, an argument that has no meaning here, and earlier events that the kernel refuses.
pub fn one(ruled: &Ruled, args: &args::Explain) -> Result<KernelRow, Failure> {
    let others = [
        ("--map", args.map.is_some()),
        ("--reader-map", args.reader_map.is_some()),
        ("--writer", args.writer.is_some()),
        ("--reader", args.reader.is_some()),
        ("--mocs", args.mocs.is_some()),
        ("--reader-mocs", args.reader_mocs.is_some()),
        ("--access", args.access.is_some()),
    ];
    super::refuse(&others, "applies to a userspace driver: use it with --who driver")?;
    let event = args.event.ok_or_else(|| super::missing(args))?;
    let object = object(ruled, args)?;
    let before = before(ruled, object, args)?;
    let outcome = step(ruled.machine.caps, &ruled.rules, before, event);
    Ok(KernelRow::new(ruled, object, &Transition { before, event, outcome }))
}

/// Returns the object that the arguments name.
///
/// # Errors
/// A PAT index that cannot be chosen here.
pub fn object(ruled: &Ruled, args: &args::Explain) -> Result<Object, Failure> {
    let chosen = super::pat(ruled, args)?.map(|(index, _)| Object(Creation::UserWithPat(index)));
    Ok(chosen.or(args.object).unwrap_or(Object(Creation::User)))
}

/// Returns the state before the event.
fn before(ruled: &Ruled, object: Object, args: &args::Explain) -> Result<Snapshot, Failure> {
    let Ruled { machine, rules } = ruled;
    let platform = machine.platform.name;
    let refused = |what: &str, refusal: Refusal| {
        let errno = refusal.errno.map_or("the call never returns".to_owned(), |errno| format!("{errno:?}"));
        format!("{what} is refused on {platform}: {errno}, {}: {}", refusal.rule, refusal.rule.reason())
    };
    let mut state = Snapshot::created(machine.caps, rules, object.0)
        .map_err(|refusal| Failure::flag("--object", refused(&object.to_string(), refusal)))?;
    if let Some(level) = args.level
        && level != state.level
    {
        let unreachable = || format!("SET_CACHING cannot set level {level} for this object on {platform}");
        state = caching_for(level)
            .and_then(|mode| step(machine.caps, rules, state, Event::SetCaching(mode)).ok())
            .map(|step| step.next)
            .filter(|next| next.level == level)
            .ok_or_else(|| Failure::flag("--level", unreachable()))?;
    }
    for &event in args.state.iter().flat_map(|history| &history.0) {
        state = step(machine.caps, rules, state, event)
            .map_err(|refusal| Failure::flag("--state", refused(event.name(), refusal)))?
            .next;
    }
    Ok(state)
}

/// Returns the caching mode that selects `level`.
fn caching_for(level: CacheLevel) -> Option<CachingMode> {
    match level {
        CacheLevel::None => Some(CachingMode::None),
        CacheLevel::Llc => Some(CachingMode::Cached),
        CacheLevel::Wt => Some(CachingMode::Display),
        CacheLevel::L3Llc => None,
    }
}
