//! A trace to a violation, step by step, in words.

use gem_coherency::policy::kernel::{self, Action, Event, Snapshot};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency_check::{
    Action as ModelAction, Actor, Buffer, Caller, LineSet, LoggedAction, Property, Setting,
    State as ModelState, Trace, TraceStep, Value,
};
use gem_coherency_memory_model::Line;
use serde::{Serialize, Serializer};

use super::report::MachineLine;
use super::wrong::Wrong;
use crate::args::Object;
use crate::cmd::model::explain::kernel::State;

/// The granules of each line: line 0 is written whole, line 1 in halves.
const GRANULES: [&[usize]; 2] = [&[0], &[1, 2]];

/// A trace to a violation.
#[derive(Clone, Debug, Serialize)]
pub struct TraceView {
    /// The violated property.
    pub property: Property,
    /// The property in words.
    pub statement: &'static str,
    /// The platform under the kernel.
    #[serde(flatten)]
    pub machine: MachineLine,
    /// The platform's title.
    pub title: &'static str,
    /// The caller.
    pub caller: Caller,
    /// The kind of object.
    pub object: Object,
    /// The initial state.
    pub first: StateView,
    /// The steps; the last one violates the property.
    pub steps: Vec<StepView>,
    /// The violation at the end.
    pub wrong: Wrong,
}

/// One step.
#[derive(Clone, Debug, Serialize)]
pub struct StepView {
    /// The step in words.
    pub step: String,
    /// The agent of the step.
    pub actor: Actor,
    /// The actions performed or spared at the step, each with its rule.
    pub actions: Vec<ActionView>,
    /// The state after the step.
    pub after: StateView,
}

/// The side that flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The kernel.
    Kernel,
    /// The library.
    Library,
}

/// An action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepAction {
    /// The kernel issued this action.
    Issued(Action),
    /// The library performed this on so many lines; 0 for a drain.
    Performed(Verdict, u32),
    /// The library marked so many fresh lines dirty, because it does not trust them.
    Marked(u32),
    /// No flush.
    Nothing,
    /// The action that the rule requires was left out, because the rule was removed.
    LeftOut,
}

/// An action that was performed or spared, and its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ActionView {
    /// The side that performs it.
    pub by: Side,
    /// The action.
    #[serde(flatten)]
    pub what: StepAction,
    /// The rule.
    pub rule: Rule,
    /// The rule's reason, in one sentence.
    pub reason: &'static str,
}

/// One state.
#[derive(Clone, Debug, Serialize)]
pub struct StateView {
    /// The object has memory whose lines caches can hold.
    pub resident: bool,
    /// The lines.
    pub lines: [LineView; 2],
    /// The kernel's state of the object.
    pub kernel: State,
    /// The library's tracked state; null if the library is not used.
    pub tracked: Option<TrackedView>,
    /// The open access to the object.
    pub open: String,
    /// Lines whose flush was issued and is not complete; only a planted fault leaves one behind.
    pub in_flight: Vec<usize>,
}

/// Copies of a line: one of line 0, two halves of line 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineView {
    /// State of the line in the CPU's caches.
    pub cache: Line,
    /// The cached copies; empty if the line is absent.
    pub cached: Vec<Value>,
    /// The copies in memory; before memory exists, the contents with which it will be filled.
    pub memory: Vec<Value>,
    /// Stores in the write-combining buffers.
    pub write_combining: Vec<Option<Value>>,
    /// In-flight stores through the aperture.
    pub aperture: Vec<Option<Value>>,
    /// Copies that the GPU kept from earlier batches.
    pub gpu: Vec<Option<Value>>,
}

/// The library's tracked state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackedView {
    /// The dirty map.
    pub dirty: Vec<usize>,
    /// The stale map.
    pub stale: Vec<usize>,
    /// Other pending work.
    pub pending: Vec<&'static str>,
}

impl TraceView {
    /// Describes a trace in words.
    pub fn new(trace: &Trace) -> Self {
        let setting = &trace.setting;
        let library = setting.caller.uses_library();
        let befores = std::iter::once(trace.kernel).chain(trace.steps.iter().map(|step| step.kernel));
        let steps = trace.steps.iter().zip(befores).map(|(step, before)| StepView {
            step: step.step.to_string(),
            actor: step.step.actor(),
            actions: actions(setting, step, before),
            after: StateView::new(&step.after, step.kernel, library),
        });
        Self {
            property: trace.property,
            statement: trace.property.statement(),
            machine: (&setting.machine).into(),
            title: setting.machine.platform.title,
            caller: setting.caller,
            object: Object(setting.creation),
            first: StateView::new(&trace.first, trace.kernel, library),
            steps: steps.collect(),
            wrong: Wrong::of(trace),
        }
    }

    /// Returns the rules of the steps, each once, in the order in which they decide.
    pub fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        for action in self.steps.iter().flat_map(|step| &step.actions) {
            if !rules.contains(&action.rule) {
                rules.push(action.rule);
            }
        }
        rules
    }
}

/// Returns the actions of a step without duplicates; `before` is the kernel's state before it.
fn actions(setting: &Setting, step: &TraceStep, before: Snapshot) -> Vec<ActionView> {
    let mutation = setting.mutation;
    let mut views: Vec<ActionView> = Vec::new();
    let view = |by, what, rule: Rule| ActionView { by, what, rule, reason: rule.reason() };
    let mut push = |by, what, rule: Rule| {
        let view = view(by, what, rule);
        if !views.contains(&view) {
            views.push(view);
        }
    };
    for action in &step.actions {
        match *action {
            LoggedAction::Kernel(effect) => {
                push(Side::Kernel, StepAction::Issued(effect.action), effect.rule)
            }
            LoggedAction::KernelSpared(rule) if mutation.lacks(rule) => {
                push(Side::Kernel, StepAction::LeftOut, rule)
            }
            LoggedAction::KernelSpared(rule) => push(Side::Kernel, StepAction::Nothing, rule),
            LoggedAction::Library(decision, lines) if step.step == ModelAction::HandOver => {
                push(Side::Library, StepAction::Marked(lines), decision.rule);
            }
            // Without the rule that spares a flush, the flush is performed.
            LoggedAction::Library(decision, lines) if !decision.is_needed() => {
                push(Side::Library, StepAction::Performed(Verdict::Flush, lines), decision.rule);
            }
            LoggedAction::Library(decision, lines) => {
                push(Side::Library, StepAction::Performed(decision.verdict, lines), decision.rule);
            }
            LoggedAction::LibrarySpared(decision) if mutation.lacks(decision.rule) => {}
            LoggedAction::LibrarySpared(decision) => push(Side::Library, StepAction::Nothing, decision.rule),
        }
    }
    if let Some(rule) = unflushed_acquire(setting, step, before) {
        let what = if mutation.lacks(rule) { StepAction::LeftOut } else { StepAction::Nothing };
        let acquire = view(Side::Kernel, what, rule);
        let place = views.iter().position(|action| action.by == Side::Kernel).unwrap_or(views.len());
        if !views.contains(&acquire) {
            views.insert(place, acquire);
        }
    }
    views
}

/// Returns the rule by which acquired pages are not flushed, if this step acquires pages.
///
/// The step itself reports the call that acquires them, and whether that call flushes.
fn unflushed_acquire(setting: &Setting, step: &TraceStep, before: Snapshot) -> Option<Rule> {
    if before.pages || !step.kernel.pages {
        return None;
    }
    let acquire = kernel::step(setting.machine.caps, &setting.rules, before, Event::Acquire).ok()?;
    let flush = acquire.effects.iter().find(|effect| effect.action.is_flush());
    match flush {
        None => Some(acquire.rule),
        Some(effect) => setting.mutation.lacks(effect.rule).then_some(effect.rule),
    }
}

impl Side {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Library => "library",
        }
    }
}

impl StepAction {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issued(action) => action.name(),
            Self::Performed(verdict, _) => verdict.name(),
            Self::Marked(_) => "mark-dirty",
            Self::Nothing => "nothing",
            Self::LeftOut => "left-out",
        }
    }

    /// Returns the number of lines concerned, if known.
    pub const fn lines(self) -> Option<u32> {
        match self {
            Self::Performed(_, lines) | Self::Marked(lines) => Some(lines),
            Self::Issued(_) | Self::Nothing | Self::LeftOut => None,
        }
    }
}

impl Serialize for StepAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("What", 2)?;
        fields.serialize_field("done", self.name())?;
        fields.serialize_field("lines", &self.lines())?;
        fields.end()
    }
}

impl StateView {
    fn new(state: &ModelState, kernel: Snapshot, library: bool) -> Self {
        Self {
            resident: state.resident,
            lines: [0, 1].map(|line| LineView::new(state, line)),
            kernel: kernel.into(),
            tracked: library.then(|| TrackedView::new(state)),
            open: state.window.to_string(),
            in_flight: lines(state.in_flight.lines),
        }
    }
}

impl LineView {
    fn new(state: &ModelState, line: usize) -> Self {
        let granules = GRANULES[line];
        let buffered = |buffer: Buffer| {
            granules.iter().map(|&granule| state.buffered[buffer as usize][granule]).collect()
        };
        Self {
            cache: state.lines[line],
            cached: granules.iter().filter_map(|&granule| state.cached(granule)).collect(),
            memory: granules.iter().map(|&granule| state.memory[granule]).collect(),
            write_combining: buffered(Buffer::Combining),
            aperture: buffered(Buffer::Aperture),
            gpu: granules.iter().map(|&granule| state.gpu[granule]).collect(),
        }
    }
}

impl TrackedView {
    fn new(state: &ModelState) -> Self {
        let tracked = state.tracked;
        let pending = [
            (tracked.wc_stores, "wc-stores"),
            (tracked.gtt_stores, "gtt-stores"),
            (tracked.gpu_write, "gpu-write"),
            (tracked.cached_map, "cached-map"),
            (tracked.written_around, "written-around"),
        ];
        Self {
            dirty: lines(tracked.dirty),
            stale: lines(tracked.stale),
            pending: pending.iter().filter(|(is_pending, _)| *is_pending).map(|(_, name)| *name).collect(),
        }
    }
}

/// Returns the indices of the lines in a set.
fn lines(set: LineSet) -> Vec<usize> {
    set.iter().collect()
}
