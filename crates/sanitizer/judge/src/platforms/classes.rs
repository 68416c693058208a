//! Classes of platforms: those with the same capabilities treat an object alike.

use gem_coherency::platform::{Driver, Machine};
use gem_coherency::policy::kernel::{Event, KernelRules, Refusal, Snapshot, Step, step};
use gem_coherency::vocabulary::{CacheLevel, KernelVersion};
use gem_coherency::xe;
use gem_coherency_memory_model::Hardware;
use gem_coherency_sim::{level_of, step_of_xe};

use crate::judging::JudgingPlatform;

/// A set of classes; bit n is class n.
pub(super) type Mask = u64;

/// Platforms with the same capabilities under one kernel.
#[derive(Debug)]
pub(super) struct Class {
    /// The first of them.
    pub(super) machine: Machine,
    /// Its device of xe; `None` under i915.
    pub(super) xe: Option<xe::Device>,
    platforms: Vec<JudgingPlatform>,
}

impl Class {
    /// Returns whether a platform is one of them.
    pub(super) fn has(&self, platform: JudgingPlatform) -> bool {
        self.platforms.contains(&platform)
    }

    /// Returns the hardware.
    pub(super) fn hardware(&self) -> Hardware {
        Hardware::new(self.machine.caps)
    }

    /// Returns the level of the GPU's accesses through a mapping with a PAT index, of an object as xe created it there; `None` for the object's own.
    pub(super) fn level_of_mapping(
        &self,
        created: Option<xe::Object>,
        pat_index: Option<u16>,
    ) -> Option<CacheLevel> {
        level_of(self.xe.as_ref()?, &created?, pat_index?)
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
    /// The rule that xe of the run's kernel lacks.
    pub(super) without: Option<xe::Rule>,
    /// The run's own device judges alone.
    pub(super) are_own: bool,
    pub(super) all: Vec<Class>,
}

impl Classes {
    /// Groups `platforms` as they are under `kernel`, whose rules are `rules`; its xe may lack a rule. A platform of xe, with a PAT table of its
    /// own, is a class of its own. One that the driver of the kernel does not claim judges nothing.
    pub(super) fn new(
        kernel: KernelVersion,
        rules: KernelRules,
        without: Option<xe::Rule>,
        platforms: &[JudgingPlatform],
    ) -> Self {
        let mut all: Vec<Class> = Vec::new();
        for &platform in platforms {
            let Ok(machine) = platform.machine(kernel) else { continue };
            let same = |class: &&mut Class| {
                (class.machine.driver, class.machine.caps) == (Driver::I915, machine.caps)
            };
            match all.iter_mut().find(|class| platform.driver() == Driver::I915 && same(class)) {
                Some(class) => class.platforms.push(platform),
                None => {
                    let xe = platform.device_of_xe(kernel);
                    all.push(Class { machine, xe, platforms: vec![platform] });
                }
            }
        }
        debug_assert!(all.len() <= Mask::BITS as usize, "a set has {} bits", Mask::BITS);
        Self { rules, without, are_own: false, all }
    }

    /// Makes one class of a machine, whose kernel has `rules`.
    pub(super) fn of_machine(machine: Machine, rules: KernelRules) -> Self {
        let platform = JudgingPlatform::of(machine);
        let xe = platform.device_of_xe(machine.kernel);
        let all = vec![Class { machine, xe, platforms: vec![platform] }];
        Self { rules, without: None, are_own: true, all }
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
    pub(super) fn platforms(&self, set: Mask) -> Vec<JudgingPlatform> {
        let of_set = self.with_bits().filter(|(bit, _)| set & bit != 0);
        of_set.flat_map(|(_, class)| class.platforms.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_is_in_one_class() {
        let kernel = KernelVersion::new(7, 2);
        let all = [Driver::I915, Driver::Xe].map(|driver| JudgingPlatform::all(driver, kernel)).concat();
        let classes = Classes::new(kernel, KernelRules::of(kernel).unwrap(), None, &all);
        let mut names: Vec<_> = classes.platforms(!0).iter().map(|platform| platform.name()).collect();
        names.sort_unstable();
        let mut wanted: Vec<_> = all.iter().map(|platform| platform.name()).collect();
        wanted.sort_unstable();
        assert_eq!(names, wanted);
        assert!(classes.all.len() <= Mask::BITS as usize);
        for (bit, class) in classes.with_bits() {
            let alike = classes.platforms(bit);
            assert!(alike.iter().all(|one| one.machine(kernel).unwrap().caps == class.machine.caps));
            assert_eq!(class.xe.is_some(), class.machine.driver == Driver::Xe);
        }
    }
}
