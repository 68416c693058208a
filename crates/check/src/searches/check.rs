//! Runs the searches of many platforms, kernels, kinds of objects and callers, each distinct one once.

use std::time::Duration;

use crate::premises::condition::Conditions;
use crate::premises::mutant::Mutation;
use crate::premises::setting::{Caller, Setting};
use crate::property::Property;
use crate::searches::search::{Size, search};
use crate::searches::trace::Trace;
use crate::steps::log::Used;
use crate::steps::system::System;
use gem_coherency::error::Result;
use gem_coherency::platform::{self, BypassEntries, Call, Caps, Machine, Platform};
use gem_coherency::policy::kernel::{Creation, KernelRules};
use gem_coherency::vocabulary::{KernelVersion, MmapMode};
use gem_coherency_memory_model::Assumptions;

/// The scope of a check.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The platforms, each with a kernel.
    pub machines: Vec<Machine>,
    /// The users of the object.
    pub callers: Vec<Caller>,
    /// The assumptions about the hardware.
    pub held: Assumptions,
    /// The conditions that callers keep, apart from the hostile one.
    pub kept: Conditions,
    /// The conditions that the hostile caller keeps. It promises none. To show what a change of the rules breaks, it has to
    /// keep those without which it breaks a property anyway.
    pub kept_by_hostile: Conditions,
    /// The kernel whose MOCS table is assumed in place of each kernel's own.
    pub mocs_table: Option<KernelVersion>,
    /// The change to the rules or the model.
    pub mutation: Mutation,
    /// The property of tracked state that is not checked.
    pub ignored: Option<Property>,
}

/// One search and all machines that it covers.
#[derive(Clone, Debug)]
pub struct Search {
    /// The setting, with the first machine.
    pub setting: Setting,
    /// The machines that are equivalent for this search.
    pub machines: Vec<Machine>,
}

/// The result of one search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The size of the search.
    pub size: Size,
    /// The rules that made a decision.
    pub used: Used,
    /// The shortest trace to a violation, if there is one.
    pub violation: Option<Trace>,
}

/// Every kind of object that a caller can create.
pub const CREATIONS: [Creation; 9] = [
    Creation::User,
    Creation::UserWithPat(0),
    Creation::UserWithPat(1),
    Creation::UserWithPat(2),
    Creation::UserWithPat(3),
    Creation::UserWithPat(4),
    Creation::Userptr,
    Creation::Import,
    Creation::Local,
];

/// The kernels checked by default: two with long-term support, and the newest.
pub const KERNELS: [KernelVersion; 3] =
    [KernelVersion::new(6, 1), KernelVersion::new(6, 12), KernelVersion::new(7, 3)];

/// Returns a platform with a kernel, with and without eDRAM if it may have eDRAM.
pub fn machines(platform: &'static Platform, kernel: KernelVersion) -> Vec<Machine> {
    let machine = platform.machine(kernel, false);
    let with_edram = platform.machine(kernel, true);
    let can_have = platform.edram_probed && machine.caps.contains(Caps::LLC);
    if can_have && with_edram.caps != machine.caps { vec![machine, with_edram] } else { vec![machine] }
}

/// Returns every platform with these kernels.
pub fn all_machines(kernels: &[KernelVersion]) -> Vec<Machine> {
    let of = |&kernel: &KernelVersion| {
        let claimed = platform::all().iter().filter_map(move |platform| platform.claimed_by(kernel).ok());
        claimed.flat_map(move |platform| machines(platform, kernel))
    };
    kernels.iter().flat_map(of).collect()
}

/// Returns whether the model has the rules by which the caller uses objects of that kind.
fn applies(caller: Caller, creation: Creation) -> bool {
    match (caller, creation) {
        (Caller::Hostile, _) => true,
        // Coherency is userspace's responsibility with a PAT index it chose, and the exporter's for an
        // import.
        (Caller::Protocol, Creation::UserWithPat(_) | Creation::Import) => false,
        // The library creates no userptr objects.
        (Caller::Library | Caller::Unknown, Creation::Userptr) => false,
        (Caller::Protocol | Caller::Library | Caller::Unknown, _) => true,
    }
}

/// Everything by which a search can distinguish machines.
#[derive(PartialEq, Eq)]
struct Likeness {
    caller: Caller,
    creation: Creation,
    caps: Caps,
    rules: KernelRules,
    refusals: Vec<bool>,
}

impl Likeness {
    fn of(setting: &Setting) -> Self {
        let Setting { machine, creation, caller, .. } = *setting;
        let caps = machine.caps;
        let import = creation == Creation::Import;
        let with_pat = matches!(creation, Creation::UserWithPat(_));
        let bypass = caps.contains(Caps::LLC_BYPASS_MOCS) || with_pat;
        let shown = !import && creation != Creation::Userptr && !caller.uses_library();
        let pat = caps.contains(Caps::PAT_AT_CREATE) || (import && caps.contains(Caps::GEN12));
        // The version itself does not matter, only the behaviour that it implies.
        let rules = KernelRules {
            version: KernelRules::OLDEST,
            bypass_acquire_flush: setting.rules.bypass_acquire_flush && bypass,
            shmem_is_user: setting.rules.shmem_is_user && bypass,
            foreign_acquire_flush: setting.rules.foreign_acquire_flush && (import || bypass),
            release_marks_dirty: setting.rules.release_marks_dirty && !caps.contains(Caps::LLC),
            discrete_never_dirty: setting.rules.discrete_never_dirty && caps.contains(Caps::DISCRETE),
            pat_index: setting.rules.pat_index && pat,
            dirtyfb_needs_plane: setting.rules.dirtyfb_needs_plane && shown,
            userptr_is_proxy: setting.rules.userptr_is_proxy && creation == Creation::Userptr,
            pin_acquires_first: setting.rules.pin_acquires_first && shown,
            bypass_entries: setting.rules.bypass_entries && setting.depends_on_bypass_entries(),
            without: setting.rules.without,
            ..setting.rules
        };
        let only_import = if import { Caps::empty() } else { Caps::GEN12.union(Caps::DG1) };
        let calls = MmapMode::ALL.iter().map(|&mode| Call::MmapOffset(mode));
        let refusals = calls
            .chain((!caller.uses_library()).then_some(Call::PreadPwrite))
            .map(|call| machine.refusal(call).is_some())
            .collect();
        Self { caller, creation, caps: caps.difference(only_import), rules, refusals }
    }
}

impl Scope {
    /// Returns the scope of these machines and callers, with every assumption and condition, and without a change.
    pub fn new(machines: Vec<Machine>, callers: Vec<Caller>) -> Self {
        Self {
            machines,
            callers,
            held: Assumptions::ALL,
            kept: Conditions::ALL,
            kept_by_hostile: Conditions::ALL,
            mocs_table: None,
            mutation: Mutation::None,
            ignored: None,
        }
    }

    /// Returns the distinct searches, by caller.
    ///
    /// # Errors
    /// [`gem_coherency::Unknown::KernelWithoutRules`].
    pub fn searches(&self) -> Result<Vec<Search>> {
        let mut searches: Vec<(Likeness, Search)> = Vec::new();
        for &caller in &self.callers {
            for &machine in &self.machines {
                for creation in CREATIONS.into_iter().filter(|&creation| applies(caller, creation)) {
                    let setting = self.setting(machine, caller, creation)?;
                    if !System::exists(&setting) {
                        continue;
                    }
                    let likeness = Likeness::of(&setting);
                    match searches.iter_mut().find(|(other, _)| *other == likeness) {
                        Some((_, search)) => search.machines.push(machine),
                        None => searches.push((likeness, Search { setting, machines: vec![machine] })),
                    }
                }
            }
        }
        Ok(searches.into_iter().map(|(_, search)| search).collect())
    }

    fn setting(&self, machine: Machine, caller: Caller, creation: Creation) -> Result<Setting> {
        // The library relies on fewer assumptions than the kernel.
        let held = match caller {
            Caller::Library | Caller::Unknown => self.held.and(Assumptions::LIBRARY),
            Caller::Protocol | Caller::Hostile => self.held,
        };
        let kept = match caller {
            Caller::Hostile => self.kept_by_hostile,
            Caller::Protocol | Caller::Library | Caller::Unknown => self.kept,
        };
        let mut rules = KernelRules::for_search(machine.kernel)?;
        if let Some(kernel) = self.mocs_table {
            rules.bypass_entries = BypassEntries::of(kernel).present;
        }
        Ok(Setting {
            machine,
            rules,
            creation,
            caller,
            held,
            kept,
            mutation: self.mutation,
            ignored: self.ignored,
        })
    }
}

impl Caller {
    /// Returns the properties that must hold for objects of this caller.
    pub const fn properties(self) -> &'static [Property] {
        match self {
            Self::Protocol => {
                &[Property::NewestRead, Property::NoLostWrite, Property::NoLeak, Property::KernelInvariants]
            }
            Self::Library | Self::Unknown => Property::ALL,
            Self::Hostile => &[Property::NoLeak, Property::KernelInvariants],
        }
    }
}

impl Search {
    /// Searches all states, up to the first violation; calls `progress` with the number of states found so
    /// far.
    ///
    /// # Errors
    /// [`gem_coherency::Error::BadSize`] for more states than can be numbered.
    pub fn run(&self, mut progress: impl FnMut(u64)) -> Result<Outcome> {
        let system = System::new(self.setting)?;
        let found = search(&system, &mut progress)?;
        let violation = found.violation.as_ref().map(|violation| Trace::new(&system, violation));
        Ok(Outcome { size: found.size, used: found.used, violation })
    }
}

impl Size {
    /// Combines two sizes: sums, and the maximum of depth and of memory.
    pub fn and(self, other: Self) -> Self {
        Self {
            states: self.states + other.states,
            transitions: self.transitions + other.transitions,
            depth: self.depth.max(other.depth),
            bytes: self.bytes.max(other.bytes),
            time: self.time + other.time,
        }
    }

    /// Returns the number of states found per second.
    pub fn states_per_second(self) -> f64 {
        if self.time == Duration::ZERO { 0.0 } else { self.states as f64 / self.time.as_secs_f64() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Transition, transitions};

    fn setting(machine: Machine, creation: Creation) -> Setting {
        let scope = Scope::new(vec![machine], vec![Caller::Hostile]);
        scope.setting(machine, Caller::Hostile, creation).unwrap()
    }

    /// Returns the kernel's table, without the creator of the object, which alone changes nothing, and without
    /// framebuffers of kinds that the model does not show.
    fn table(machine: &Machine, rules: &KernelRules, creation: Creation) -> Vec<Transition> {
        let mut rows = transitions(machine, rules, creation);
        if matches!(creation, Creation::Userptr | Creation::Import) {
            rows.retain(|row| !row.before.framebuffer);
        }
        for row in &mut rows {
            row.before.user = false;
            if let Ok(step) = &mut row.outcome {
                step.next.user = false;
            }
        }
        rows
    }

    /// Compares the kernel's table of a machine with that of its likeness; returns how many differ in rules or
    /// capabilities.
    #[track_caller]
    fn compare(machine: Machine, creation: Creation, alter: impl Fn(&mut Likeness)) -> usize {
        let setting = setting(machine, creation);
        let mut likeness = Likeness::of(&setting);
        alter(&mut likeness);
        let alike = Machine { caps: likeness.caps, ..machine };
        let name = (machine.platform.name, machine.kernel, creation);
        let own = table(&machine, &setting.rules, creation);
        let others = table(&alike, &likeness.rules, creation);
        let difference = own.iter().zip(&others).find(|(own, other)| own != other);
        assert!(difference.is_none() && own.len() == others.len(), "{name:?}: {difference:?}");
        let version = KernelRules { version: KernelRules::OLDEST, ..setting.rules };
        usize::from(likeness.caps != machine.caps || likeness.rules != version)
    }

    #[test]
    fn likeness_leaves_out_only_facts_that_change_no_transition() {
        let mut left_out = 0;
        for machine in all_machines(&KERNELS) {
            for creation in CREATIONS {
                left_out += compare(machine, creation, |_| ());
            }
        }
        assert!(left_out > 100, "{left_out}");
    }

    #[test]
    #[should_panic(expected = "BypassAcquire")]
    fn a_rule_that_matters_is_noticed() {
        let machine = platform::by_name("jsl").unwrap().machine(KernelVersion::new(6, 12), false);
        compare(machine, Creation::User, |likeness| likeness.rules.bypass_acquire_flush = false);
    }
}
