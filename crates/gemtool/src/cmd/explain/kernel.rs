//! What the kernel does to an object at an event.

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{
    Action, Backing, Creation, Effect, Event, Refusal, Snapshot, Step, step,
};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Coherency, Domains, KernelVersion};
use gem_coherency_check::{Transition, transitions};
use serde::Serialize;

use crate::args::{self, Object};
use crate::cmd::machine::Ruled;
use crate::failure::Failure;

/// An object's state, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// What the pages come from.
    pub backing: Backing,
    /// Whether it is a framebuffer.
    pub framebuffer: bool,
    /// Whether the display engine shows it.
    pub pinned: bool,
    /// The cache level.
    pub level: CacheLevel,
    /// The PAT index that userspace chose.
    pub user_pat: Option<u8>,
    /// Which CPU accesses agree with the GPU.
    pub coherent: Vec<Access>,
    /// Whether pages are present.
    pub pages: bool,
    /// The read domains.
    pub read_domains: Vec<&'static str>,
    /// The write domain.
    pub write_domain: Option<&'static str>,
    /// Whether the kernel holds the CPU's cache for dirty.
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

/// The accesses that a coherency covers.
pub fn accesses(coherent: Coherency) -> Vec<Access> {
    let read = coherent.contains(Coherency::READ).then_some(Access::Read);
    let write = coherent.contains(Coherency::WRITE).then_some(Access::Write);
    read.into_iter().chain(write).collect()
}

/// The domains' names.
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

/// What the kernel does in one state at one event: one line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct KernelRow {
    /// The platform's name.
    pub platform: &'static str,
    /// The kernel.
    pub kernel: KernelVersion,
    /// How the object came to be.
    pub object: Object,
    /// The state before.
    #[serde(flatten)]
    pub state: State,
    /// What happens.
    pub event: Event,
    /// Flushes and barriers, in order.
    pub actions: Vec<Action>,
    /// The same, each with the rule that demands it.
    pub effects: Vec<Effect>,
    /// The errno of a refused event; null if the call never returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<Option<String>>,
    /// The rule that decided.
    pub rule: Rule,
    /// Why.
    pub reason: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// The state after.
    pub next: State,
}

impl KernelRow {
    /// The line for `outcome`.
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

/// Every state that can be reached from creation, with every event.
pub fn rows(ruled: &Ruled, object: Object) -> impl Iterator<Item = KernelRow> + '_ {
    let rows = transitions(&ruled.machine, &ruled.rules, object.0);
    rows.into_iter().map(move |row| KernelRow::new(ruled, object, &row))
}

/// The one decision that was asked for.
///
/// # Errors
/// What the arguments lack, and events of the state's that the kernel refuses.
pub fn one(ruled: &Ruled, args: &args::Explain) -> Result<KernelRow, Failure> {
    let others = [
        ("--map", args.map.is_some()),
        ("--writer", args.writer.is_some()),
        ("--reader", args.reader.is_some()),
        ("--mocs", args.mocs.is_some()),
        ("--access", args.access.is_some()),
    ];
    super::refuse(&others, "asks about a driver's duty: use it with --who driver")?;
    let event = args.event.ok_or(Failure::flag("--event", "needed with --who kernel"))?;
    let object = args.object.unwrap_or(Object(Creation::User));
    let before = before(ruled, object, args)?;
    let outcome = step(ruled.machine.caps, &ruled.rules, before, event);
    Ok(KernelRow::new(ruled, object, &Transition { before, event, outcome }))
}

/// The state in which the event finds the object.
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

/// The caching mode that asks for `level`.
fn caching_for(level: CacheLevel) -> Option<CachingMode> {
    match level {
        CacheLevel::None => Some(CachingMode::None),
        CacheLevel::Llc => Some(CachingMode::Cached),
        CacheLevel::Wt => Some(CachingMode::Display),
        CacheLevel::L3Llc => None,
    }
}
