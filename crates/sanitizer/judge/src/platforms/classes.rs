//! Classes of platforms: those with the same capabilities treat an object alike.

use gem_coherency::platform::{Driver, Machine, Platform};
use gem_coherency::policy::kernel::{Event, KernelRules, Refusal, Snapshot, Step, step};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_memory_model::Hardware;
use gem_coherency_sim::step_of_xe;

/// A set of classes; bit n is class n.
pub(super) type Mask = u64;

/// Platforms with the same capabilities under one kernel.
#[derive(Debug)]
pub(super) struct Class {
    /// The first of them.
    pub(super) machine: Machine,
    platforms: Vec<&'static Platform>,
}

impl Class {
    /// Returns the hardware.
    pub(super) fn hardware(&self) -> Hardware {
        Hardware::new(self.machine.caps)
    }

    /// Returns what the class's driver does to an object at an event; i915 has `rules`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub(super) fn step(&self, rules: &KernelRules, before: Snapshot, event: Event) -> Result<Step, Refusal> {
        match self.machine.driver {
            Driver::I915 => step(self.machine.caps, rules, before, event),
            Driver::Xe => Ok(step_of_xe(before, event)),
        }
    }
}

/// The classes by which a run is judged.
#[derive(Debug)]
pub(super) struct Classes {
    pub(super) rules: KernelRules,
    pub(super) all: Vec<Class>,
}

impl Classes {
    /// Groups `platforms` as they are under `kernel`, whose rules are `rules`.
    pub(super) fn new(kernel: KernelVersion, rules: KernelRules, platforms: &[&'static Platform]) -> Self {
        let mut all: Vec<Class> = Vec::new();
        for &platform in platforms {
            let machine = platform.machine(kernel, false);
            match all.iter_mut().find(|class| class.machine.caps == machine.caps) {
                Some(class) => class.platforms.push(platform),
                None => all.push(Class { machine, platforms: vec![platform] }),
            }
        }
        debug_assert!(all.len() <= Mask::BITS as usize, "a set has {} bits", Mask::BITS);
        Self { rules, all }
    }

    /// Makes one class of a machine, whose kernel has `rules`.
    pub(super) fn of_machine(machine: Machine, rules: KernelRules) -> Self {
        Self { rules, all: vec![Class { machine, platforms: vec![machine.platform] }] }
    }

    /// Returns the classes with their bits.
    pub(super) fn with_bits(&self) -> impl Iterator<Item = (Mask, &Class)> {
        self.all.iter().enumerate().map(|(n, class)| (1 << n, class))
    }

    /// Returns the set of the classes for which `has` is true.
    pub(super) fn set(&self, has: impl Fn(&Class) -> bool) -> Mask {
        self.with_bits().filter(|(_, class)| has(class)).fold(0, |set, (bit, _)| set | bit)
    }

    /// Returns the platforms of a set, in the order of the classes.
    pub(super) fn platforms(&self, set: Mask) -> Vec<&'static Platform> {
        let of_set = self.with_bits().filter(|(bit, _)| set & bit != 0);
        of_set.flat_map(|(_, class)| class.platforms.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform;

    #[test]
    fn every_platform_is_in_one_class() {
        let kernel = KernelVersion::new(6, 12);
        let all = platform::all().to_vec();
        let classes = Classes::new(kernel, KernelRules::of(kernel).unwrap(), &all);
        let mut names: Vec<_> = classes.platforms(!0).iter().map(|platform| platform.name).collect();
        names.sort_unstable();
        let mut wanted: Vec<_> = all.iter().map(|platform| platform.name).collect();
        wanted.sort_unstable();
        assert_eq!(names, wanted);
        for (bit, class) in classes.with_bits() {
            let alike = classes.platforms(bit);
            assert!(alike.iter().all(|one| one.machine(kernel, false).caps == class.machine.caps));
        }
    }
}
