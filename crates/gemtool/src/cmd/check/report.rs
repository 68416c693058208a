//! What was searched and found, as data.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use gem_coherency::platform::{Caps, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_check::{Caller, Outcome, Property, Search, Size, Trace};
use serde::Serialize;

use super::scope::ScopeLine;
use super::view::TraceView;
use crate::args::Object;

/// What a check came to.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// What was searched.
    pub scope: ScopeLine,
    /// Whether every property holds.
    pub held: bool,
    /// How it was run.
    pub run: Run,
    /// The properties, and for whom each was checked.
    pub properties: Vec<PropertyLine>,
    /// All searches together.
    pub totals: Group,
    /// The searches by caller and kind of object.
    pub groups: Vec<Group>,
    /// Every search.
    pub searches: Vec<SearchLine>,
    /// The search with the shortest violation, by its place in `searches`.
    pub shortest: Option<usize>,
    /// The picture that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub svg: Option<Svg>,
    /// Whether people see every search.
    #[serde(skip)]
    pub detail: bool,
}

/// How a check was run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// How many searches went side by side.
    pub jobs: NonZeroUsize,
    /// How long all of them took.
    pub wall_seconds: f64,
}

/// A property, and for whom it was checked.
#[derive(Clone, Debug, Serialize)]
pub struct PropertyLine {
    /// The property.
    pub property: Property,
    /// What it says.
    pub statement: &'static str,
    /// For whose objects.
    pub callers: Vec<Caller>,
}

/// Searches that are alike.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Who uses the object; null for all.
    pub caller: Option<Caller>,
    /// How the object came to be; null for all.
    pub object: Option<Object>,
    /// How many searches.
    pub searches: usize,
    /// For how many machines they stand: platforms under kernels, with and without eDRAM, for each
    /// caller and kind of object.
    pub cases: usize,
    /// How many found a violation.
    pub violations: usize,
    /// How large they were together.
    #[serde(flatten)]
    pub size: SizeLine,
}

/// How large a search was.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SizeLine {
    /// Different states.
    pub states: u64,
    /// Moves made between them.
    pub transitions: u64,
    /// Moves to the farthest state.
    pub depth: u32,
    /// Memory for the states at its peak; of several searches the greatest.
    pub bytes: u64,
    /// How long it took; of several searches the sum.
    pub seconds: f64,
    /// States found in a second.
    pub states_per_second: f64,
}

/// One machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MachineLine {
    /// The platform's name.
    pub platform: &'static str,
    /// The kernel.
    pub kernel: KernelVersion,
    /// With eDRAM fused on.
    pub edram: bool,
}

/// The machines that one search stands for.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Machines(pub Vec<MachineLine>);

/// One search.
#[derive(Clone, Debug, Serialize)]
pub struct SearchLine {
    /// Who uses the object.
    pub caller: Caller,
    /// How the object came to be.
    pub object: Object,
    /// The machines that the search cannot tell apart; it was made on the first.
    pub machines: Machines,
    /// How large it was.
    #[serde(flatten)]
    pub size: SizeLine,
    /// Rules by which something was done.
    pub demanded: Vec<Rule>,
    /// Rules by which nothing was.
    pub spared: Vec<Rule>,
    /// The shortest way to a violation.
    pub violation: Option<TraceView>,
}

/// A picture that was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Svg {
    /// Where.
    pub path: PathBuf,
    /// Whether there was something to draw.
    pub written: bool,
}

impl From<&Machine> for MachineLine {
    fn from(machine: &Machine) -> Self {
        let edram = machine.caps.contains(Caps::WT);
        Self { platform: machine.platform.name, kernel: machine.kernel, edram }
    }
}

impl From<Size> for SizeLine {
    fn from(size: Size) -> Self {
        Self {
            states: size.states,
            transitions: size.transitions,
            depth: size.depth,
            bytes: size.bytes,
            seconds: size.time.as_secs_f64(),
            states_per_second: size.states_per_second().round(),
        }
    }
}

impl Group {
    /// The searches among all that are `wanted`.
    fn new(found: &[(&Search, &Outcome)], caller: Option<Caller>, object: Option<Object>) -> Self {
        let is_wanted = |search: &Search| {
            caller.is_none_or(|caller| caller == search.setting.caller)
                && object.is_none_or(|object| object.0 == search.setting.creation)
        };
        let wanted = || found.iter().filter(|(search, _)| is_wanted(search));
        Self {
            caller,
            object,
            searches: wanted().count(),
            cases: wanted().map(|(search, _)| search.machines.len()).sum(),
            violations: wanted().filter(|(_, outcome)| outcome.violation.is_some()).count(),
            size: wanted().fold(Size::default(), |sum, (_, outcome)| sum.and(outcome.size)).into(),
        }
    }
}

impl CheckReport {
    /// The report on `searches` and what they found.
    pub fn new(scope: ScopeLine, run: Run, searches: &[Search], outcomes: &[Outcome], detail: bool) -> Self {
        let found: Vec<_> = searches.iter().zip(outcomes).collect();
        let mut kinds = Vec::new();
        for (search, _) in &found {
            let kind = (search.setting.caller, Object(search.setting.creation));
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let rank = |(place, (_, outcome)): (usize, &(&Search, &Outcome))| {
            outcome.violation.as_ref().map(|trace| (rank(trace), place))
        };
        let shortest = found.iter().enumerate().filter_map(rank).min().map(|(_, place)| place);
        Self {
            held: shortest.is_none(),
            run,
            properties: properties(&scope),
            totals: Group::new(&found, None, None),
            groups: kinds
                .iter()
                .map(|&(caller, object)| Group::new(&found, Some(caller), Some(object)))
                .collect(),
            searches: found.iter().map(|(search, outcome)| SearchLine::new(search, outcome)).collect(),
            shortest,
            svg: None,
            scope,
            detail,
        }
    }

    /// The shortest violation.
    pub fn violation(&self) -> Option<(&SearchLine, &TraceView)> {
        let search = self.searches.get(self.shortest?)?;
        Some((search, search.violation.as_ref()?))
    }
}

impl SearchLine {
    fn new(search: &Search, outcome: &Outcome) -> Self {
        Self {
            caller: search.setting.caller,
            object: Object(search.setting.creation),
            machines: Machines(search.machines.iter().map(MachineLine::from).collect()),
            size: outcome.size.into(),
            demanded: outcome.used.demanded.iter().collect(),
            spared: outcome.used.spared.iter().collect(),
            violation: outcome.violation.as_ref().map(TraceView::new),
        }
    }
}

/// What is shown first: wrong bytes before wrong tracked state, then what takes fewer steps,
/// then what needs no library to happen.
fn rank(trace: &Trace) -> (bool, usize, bool) {
    let is_account = match trace.property {
        Property::NewestRead | Property::NoLostWrite | Property::NoLeak => false,
        Property::Marked | Property::KernelInvariants => true,
    };
    (is_account, trace.steps.len(), trace.setting.caller.uses_library())
}

/// The properties that the callers of a scope must have.
fn properties(scope: &ScopeLine) -> Vec<PropertyLine> {
    let line = |&property: &Property| {
        // With something changed the tracked state may be wrong and no read be: only reads count.
        let is_checked = property != Property::Marked || scope.change.is_none();
        let of = |caller: &&Caller| is_checked && caller.properties().contains(&property);
        let callers: Vec<_> = scope.callers.iter().filter(of).copied().collect();
        (!callers.is_empty()).then_some(PropertyLine { property, statement: property.statement(), callers })
    };
    Property::ALL.iter().filter_map(line).collect()
}
