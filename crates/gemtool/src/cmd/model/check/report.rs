//! The report of `gemtool check`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use gem_coherency::platform::{Caps, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_check::{Caller, Outcome, Property, Search, Size, Trace};
use serde::Serialize;

use super::scope::ScopeLine;
use super::view::TraceView;
use crate::args::{Object, Shard};

/// The report of a check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The scope of the searches.
    pub scope: ScopeLine,
    /// Every property holds.
    pub holds: bool,
    /// The run.
    pub run: Run,
    /// The properties, and the callers for which each was checked.
    pub properties: Vec<PropertyLine>,
    /// All searches together.
    pub totals: Group,
    /// The searches by caller and kind of object.
    pub groups: Vec<Group>,
    /// Every search.
    pub searches: Vec<SearchLine>,
    /// Index in `searches` of the search with the shortest violation.
    pub shortest: Option<usize>,
    /// The requested picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub svg: Option<Svg>,
    /// The text form lists every search.
    #[serde(skip)]
    pub detail: bool,
}

/// The run of a check.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// Number of concurrent searches.
    pub jobs: NonZeroUsize,
    /// The part of the searches that was made; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Wall time of all searches.
    pub wall_seconds: f64,
}

/// A property, and the callers for which it was checked.
#[derive(Clone, Debug, Serialize)]
pub struct PropertyLine {
    /// The property.
    pub property: Property,
    /// The property in words.
    pub statement: &'static str,
    /// The callers.
    pub callers: Vec<Caller>,
}

/// Searches of one caller and kind of object.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The caller; null for all.
    pub caller: Option<Caller>,
    /// The kind of object; null for all.
    pub object: Option<Object>,
    /// Number of searches.
    pub searches: usize,
    /// Number of cases that they cover: platforms under kernels, with and without eDRAM, for each caller and
    /// kind of object.
    pub cases: usize,
    /// Number of searches that found a violation.
    pub violations: usize,
    /// Total size.
    #[serde(flatten)]
    pub size: SizeLine,
}

/// Size of a search.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SizeLine {
    /// Distinct states.
    pub states: u64,
    /// Transitions between them.
    pub transitions: u64,
    /// Moves to the farthest state.
    pub depth: u32,
    /// Peak memory of the states; for several searches the maximum.
    pub bytes: u64,
    /// Duration; for several searches the sum.
    pub seconds: f64,
    /// States found per second.
    pub states_per_second: f64,
}

/// One machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MachineLine {
    /// The platform's name.
    pub platform: &'static str,
    /// The kernel version.
    pub kernel: KernelVersion,
    /// eDRAM is fused on.
    pub edram: bool,
}

/// The machines that one search covers.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Machines(pub Vec<MachineLine>);

/// One search.
#[derive(Clone, Debug, Serialize)]
pub struct SearchLine {
    /// The caller.
    pub caller: Caller,
    /// The kind of object.
    pub object: Object,
    /// The machines that the search cannot tell apart; the first one was searched.
    pub machines: Machines,
    /// Size of the search.
    #[serde(flatten)]
    pub size: SizeLine,
    /// Rules that required an action.
    pub required_by: Vec<Rule>,
    /// Rules that made an action unnecessary.
    pub exempted_by: Vec<Rule>,
    /// The shortest trace to a violation.
    pub violation: Option<TraceView>,
}

/// A requested picture.
#[derive(Clone, Debug, Serialize)]
pub struct Svg {
    /// Its path.
    pub path: PathBuf,
    /// The picture was written; false without a violation, or after an error.
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
    /// Creates the group of the searches that match.
    fn new(found: &[(&Search, &Outcome)], caller: Option<Caller>, object: Option<Object>) -> Self {
        let matches = |search: &Search| {
            caller.is_none_or(|caller| caller == search.setting.caller)
                && object.is_none_or(|object| object.0 == search.setting.creation)
        };
        let matching = || found.iter().filter(|(search, _)| matches(search));
        Self {
            caller,
            object,
            searches: matching().count(),
            cases: matching().map(|(search, _)| search.machines.len()).sum(),
            violations: matching().filter(|(_, outcome)| outcome.violation.is_some()).count(),
            size: matching().fold(Size::default(), |sum, (_, outcome)| sum.and(outcome.size)).into(),
        }
    }
}

impl CheckReport {
    /// Creates the report on `searches` and their outcomes.
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
            holds: shortest.is_none(),
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

    /// Returns the shortest violation.
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
            required_by: outcome.used.required.iter().collect(),
            exempted_by: outcome.used.exempted.iter().collect(),
            violation: outcome.violation.as_ref().map(TraceView::new),
        }
    }
}

/// Ranks traces for display: wrong bytes before wrong tracked state, then fewer steps first, then traces that
/// do not use the library.
fn rank(trace: &Trace) -> (bool, usize, bool) {
    let is_tracking = match trace.property {
        Property::NewestRead | Property::NoLostWrite | Property::NoLeak => false,
        Property::Marked | Property::KernelInvariants => true,
    };
    (is_tracking, trace.steps.len(), trace.setting.caller.uses_library())
}

/// Returns the properties that the callers of a scope must have.
fn properties(scope: &ScopeLine) -> Vec<PropertyLine> {
    let line = |&property: &Property| {
        // With a change the tracked state may be wrong although no read is: only reads count.
        let is_checked =
            (property != Property::Marked || scope.change.is_none()) && scope.ignored != Some(property);
        let of = |caller: &&Caller| is_checked && caller.properties().contains(&property);
        let callers: Vec<_> = scope.callers.iter().filter(of).copied().collect();
        (!callers.is_empty()).then_some(PropertyLine { property, statement: property.statement(), callers })
    };
    Property::ALL.iter().filter_map(line).collect()
}
