//! Translates the arguments into the scope of the searches.

use gem_coherency::platform::{self, Basis, BypassEntries, Caps, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_check::{
    Caller, Condition, Conditions, KERNELS, Mutant, Mutation, Property, Scope, all_machines,
};
use gem_coherency_memory_model::{Assumption, Assumptions};
use serde::Serialize;

use crate::args::{self, Check, Dropped};
use crate::failure::Failure;

/// An assumption about hardware, or a condition for callers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Premise {
    /// `A3`, `U2`.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The model assumes it.
    pub assumed: bool,
    /// The premise in words.
    pub statement: &'static str,
}

/// A deliberate change of the model.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The rule that was removed.
    Without(Rule),
    /// The fault that was planted.
    Mutant(Mutant),
    /// Flushes that are left to a worker are not performed.
    NoAsyncFlush,
}

/// The MOCS table of a kernel, as far as it concerns the searches.
#[derive(Clone, Debug, Serialize)]
pub struct MocsTable {
    /// The kernels that have it in the searches.
    pub kernels: Vec<KernelVersion>,
    /// The kernel whose table it is.
    pub of: KernelVersion,
    /// It has the entries 16 and 17, which bypass the LLC.
    pub bypasses: bool,
    /// How that is known: run, read or assumed.
    pub basis: Basis,
    /// The same as a sentence.
    pub text: String,
}

impl MocsTable {
    /// Describes the tables of a scope, if a search depends on one.
    fn all(scope: &Scope, kernels: &[KernelVersion]) -> Vec<Self> {
        let bypassed = scope.machines.iter().any(|machine| machine.caps.contains(Caps::LLC_BYPASS_MOCS));
        // The protocol names no bypassing entry.
        if !bypassed || scope.callers == [Caller::Protocol] {
            return Vec::new();
        }
        let table = |kernels, of| {
            let entries = BypassEntries::of(of);
            let (bypasses, basis) = (entries.present, entries.basis);
            Self { kernels, of, bypasses, basis, text: entries.to_string() }
        };
        match scope.mocs_table {
            Some(of) => vec![table(kernels.to_vec(), of)],
            None => kernels.iter().map(|&kernel| table(vec![kernel], kernel)).collect(),
        }
    }
}

/// The scope of the searches, in words.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeLine {
    /// The platforms' names.
    pub platforms: Vec<&'static str>,
    /// The kernel versions.
    pub kernels: Vec<KernelVersion>,
    /// How the rules of each kernel are known.
    pub bases: Vec<Basis>,
    /// The MOCS tables, if a search depends on one.
    pub mocs_tables: Vec<MocsTable>,
    /// The MOCS table is not the kernels' own, but assumed.
    pub is_mocs_table_assumed: bool,
    /// The callers.
    pub callers: Vec<Caller>,
    /// The assumptions about hardware.
    pub assumptions: Vec<Premise>,
    /// IDs of the assumptions that the library does not rely on.
    pub kernel_only: Vec<&'static str>,
    /// The conditions for callers.
    pub conditions: Vec<Premise>,
    /// The hostile caller keeps them, too.
    pub is_hostile_kept: bool,
    /// The change, if any.
    pub change: Option<Change>,
    /// The property that is not checked.
    #[serde(skip)]
    pub ignored: Option<Property>,
    /// The scope includes every platform.
    #[serde(skip)]
    pub is_every_platform: bool,
}

/// Returns the scope that the arguments request: hardware that exists, and a hostile caller that keeps no condition.
///
/// # Errors
/// As [`of_changes`]; a condition that is dropped, although no caller keeps it.
pub fn of(args: &Check) -> Result<Scope, Failure> {
    let mut scope = of_changes(args)?;
    let condition = args.dropped.iter().find_map(|dropped| match dropped {
        Dropped::Condition(condition) => Some(condition.id()),
        Dropped::Assumption(_) => None,
    });
    if let (Some(id), [Caller::Hostile]) = (condition, scope.callers.as_slice()) {
        let why = format!(
            "{id} is a condition on callers, and a hostile one keeps none (leave it out, or name another caller)"
        );
        return Err(Failure::flag("--drop-assumption", why));
    }
    let exists = |machine: &Machine| !machine.caps.contains(Caps::WT) || machine.platform.has_edram_parts();
    scope.machines.retain(exists);
    scope.kept_by_hostile = Conditions::NONE;
    Ok(scope)
}

/// Returns the scope in which changes are compared: wherever i915 looks for eDRAM, with and without it, and a hostile caller
/// that keeps every condition. What it breaks without them would hide what a change breaks.
///
/// # Errors
/// An unknown platform or kernel; a platform that one of the kernels does not claim.
pub fn of_changes(args: &Check) -> Result<Scope, Failure> {
    let kernels = unique(&args.kernels, &KERNELS);
    let is_known = |flag: &'static str, &kernel: &KernelVersion| {
        KernelRules::for_search(kernel).map(drop).map_err(|error| Failure::flag(flag, error))
    };
    kernels.iter().try_for_each(|kernel| is_known("--kernel", kernel))?;
    args.mocs_table.iter().try_for_each(|kernel| is_known("--mocs-table", kernel))?;
    let mut platforms = Vec::new();
    for name in &args.platforms {
        let platform = platform::by_name(name).map_err(|error| Failure::refused("--platform", error))?;
        for &kernel in &kernels {
            platform.claimed_by(kernel).map_err(|error| Failure::refused("--platform", error))?;
        }
        if !platforms.contains(&platform.name) {
            platforms.push(platform.name);
        }
    }
    let without = args.without.as_ref().map(|name| args::rule(&name.0)).transpose();
    let without = without.map_err(|why| Failure::flag("--without", why))?;
    let is_requested = |name| platforms.is_empty() || platforms.contains(&name);
    let mut machines = all_machines(&kernels);
    machines.retain(|machine| is_requested(machine.platform.name));
    let mut scope = Scope {
        mocs_table: args.mocs_table,
        mutation: match (without, args.mutant) {
            (Some(rule), _) => Mutation::Without(rule),
            (None, Some(mutant)) => Mutation::Planted(mutant),
            (None, None) => Mutation::None,
        },
        ignored: args.ignored,
        ..Scope::new(machines, unique(&args.callers, Caller::ALL))
    };
    for dropped in &args.dropped {
        match *dropped {
            Dropped::Assumption(assumption) => scope.held = scope.held.without(assumption),
            Dropped::Condition(condition) => {
                scope.kept = scope.kept.without(condition);
                scope.kept_by_hostile = scope.kept_by_hostile.without(condition);
            }
        }
    }
    Ok(scope)
}

/// Returns the requested items without duplicates; `all` if none was requested.
pub(super) fn unique<T: Copy + PartialEq>(asked: &[T], all: &[T]) -> Vec<T> {
    let mut found = Vec::new();
    for &one in if asked.is_empty() { all } else { asked } {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

impl ScopeLine {
    /// Returns whether it includes every platform and caller.
    pub fn is_everything(&self) -> bool {
        self.is_every_platform && self.callers.len() == Caller::ALL.len()
    }

    /// Describes a scope in words.
    pub fn new(scope: &Scope) -> Self {
        let platforms: Vec<_> = scope.machines.iter().map(|machine| machine.platform.name).collect();
        let kernels: Vec<_> = scope.machines.iter().map(|machine| machine.kernel).collect();
        let (platforms, kernels) = (unique(&platforms, &[]), unique(&kernels, &[]));
        Self {
            is_every_platform: platforms.len() == platform::all().len(),
            platforms,
            mocs_tables: MocsTable::all(scope, &kernels),
            bases: kernels.iter().copied().map(Basis::of).collect(),
            is_mocs_table_assumed: scope.mocs_table.is_some(),
            kernels,
            callers: scope.callers.clone(),
            assumptions: Assumption::ALL
                .iter()
                .map(|&one| Premise {
                    id: one.id(),
                    name: one.name(),
                    assumed: scope.held.hold(one),
                    statement: one.statement(),
                })
                .collect(),
            kernel_only: Assumption::ALL
                .iter()
                .filter(|&&one| !Assumptions::LIBRARY.hold(one))
                .map(|one| one.id())
                .collect(),
            conditions: Condition::ALL
                .iter()
                .map(|&one| Premise {
                    id: one.id(),
                    name: one.name(),
                    assumed: scope.kept.keep(one),
                    statement: one.statement(),
                })
                .collect(),
            is_hostile_kept: scope.kept_by_hostile != Conditions::NONE,
            change: match scope.mutation {
                Mutation::None => None,
                Mutation::Without(rule) => Some(Change::Without(rule)),
                Mutation::Planted(mutant) => Some(Change::Mutant(mutant)),
                Mutation::NoAsyncFlush => Some(Change::NoAsyncFlush),
            },
            ignored: scope.ignored,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        check: Check,
    }

    /// Returns the conditions that the hostile caller keeps, and the platforms whose eDRAM is searched.
    fn hostile(scope: &Scope) -> (Conditions, Vec<&'static str>) {
        let with_edram = scope.machines.iter().filter(|machine| machine.caps.contains(Caps::WT));
        (scope.kept_by_hostile, with_edram.map(|machine| machine.platform.name).collect())
    }

    #[test]
    fn what_the_hostile_caller_breaks_anyway_hides_no_change() {
        let line = Line::parse_from(["check", "--kernel", "6.12", "--platform", "hsw,ehl"]);
        assert_eq!(hostile(&of(&line.check).unwrap()), (Conditions::NONE, vec!["hsw"]));
        assert_eq!(hostile(&of_changes(&line.check).unwrap()), (Conditions::ALL, vec!["hsw", "ehl"]));
        let line = Line::parse_from(["check", "--kernel", "6.12", "--drop-assumption", "U6"]);
        let kept = of_changes(&line.check).unwrap().kept_by_hostile;
        assert!(!kept.keep(Condition::WtShownClean) && kept.keep(Condition::NoSwapWhileStale));
    }
}
