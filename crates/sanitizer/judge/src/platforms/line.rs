//! A cache line on every class at once, and the effects of accesses and flushes on it.

use gem_coherency::vocabulary::{Access, CacheLevel};
use gem_coherency_memory_model::{Line, Place, Route, Transfer, effect};

use super::classes::{Classes, Mask};
use super::flushes::Touch;

/// A line's state on each class. In a traced run every agent gets the newest bytes. So they are in the cache where the line is
/// dirty, and in memory elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct States {
    /// Dirty: memory is older.
    pub(super) dirty: Mask,
    /// Clean: a copy.
    clean: Mask,
    /// Of the clean ones, those that are older than memory.
    pub(super) old: Mask,
}

/// The mistakes of an access to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mistakes {
    /// Memory was read under a dirty line.
    pub(super) stale_read: Mask,
    /// Memory was written under a dirty line.
    pub(super) lost_write: Mask,
    /// An old copy was read.
    pub(super) stale_cpu_read: Mask,
}

/// The effects of an access, by the line's state before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effects {
    access: Access,
    dirty: Column,
    clean: Column,
    absent: Column,
}

/// The effects on a line that is in one state before.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    /// There is such an access.
    possible: Mask,
    /// The line is transferred before.
    transferred: Mask,
    in_cache: Mask,
    next_dirty: Mask,
    next_clean: Mask,
}

impl Effects {
    /// Collects the effects of `access` on `route` for an object with these levels, one for each class.
    pub(super) fn new(
        classes: &Classes,
        levels: &[Option<CacheLevel>],
        route: Route,
        access: Access,
    ) -> Self {
        Self::of(classes, access, |number| Some((levels.get(number).copied().flatten()?, route)))
    }

    /// Collects the effects of `access` at the level and on the route that `of` returns for each class, by number; `None`: there is no access.
    pub(super) fn of(
        classes: &Classes,
        access: Access,
        of: impl Fn(usize) -> Option<(CacheLevel, Route)>,
    ) -> Self {
        let column = |line| {
            let mut column = Column::default();
            for (number, (bit, class)) in classes.with_bits().enumerate() {
                let Some((level, route)) = of(number) else { continue };
                let Some(done) = effect(class.hardware(), level, route, access, line) else { continue };
                column.possible |= bit;
                let set = |is: bool| if is { bit } else { 0 };
                column.transferred |= set(done.before != Transfer::Nothing);
                column.in_cache |= set(done.at == Place::Cache);
                column.next_dirty |= set(done.next == Line::Dirty);
                column.next_clean |= set(done.next == Line::Clean);
            }
            column
        };
        Self { access, dirty: column(Line::Dirty), clean: column(Line::Clean), absent: column(Line::Absent) }
    }

    /// Returns the classes where the access does not find the bytes of a dirty line.
    pub(super) fn miss_dirty(&self) -> Mask {
        self.dirty.possible & !self.dirty.in_cache & !self.dirty.transferred
    }

    /// Returns the classes where the access writes memory and leaves a copy in the cache, which is old then.
    pub(super) fn leaves_old(&self) -> Mask {
        match self.access {
            Access::Read => 0,
            Access::Write => self.clean.possible & !self.clean.in_cache & self.clean.next_clean,
        }
    }

    /// Returns the classes where the access leaves a dirty line.
    pub(super) fn leaves_dirty(&self) -> Mask {
        self.clean.next_dirty | self.absent.next_dirty
    }

    /// Returns what the access is to lines whose flushes are not judged yet.
    pub(super) fn touch(&self) -> Touch {
        let (missed, leaves_old) = (self.miss_dirty(), self.leaves_old());
        let seen = self.dirty.possible & !missed;
        let is_write = self.access == Access::Write;
        let merged = seen & self.dirty.transferred;
        Touch {
            missed,
            sees: if is_write {
                0
            } else {
                self.clean.possible & self.clean.in_cache & !self.clean.transferred
            },
            merged,
            leaves_old,
            renews: if is_write { self.clean.possible & !leaves_old } else { 0 },
        }
    }
}

impl States {
    /// A line that the kernel has zeroed through the cache on these classes, and that is in no cache on the others.
    pub(super) const fn zeroed(dirty: Mask) -> Self {
        Self { dirty, clean: 0, old: 0 }
    }

    /// Applies an access. On the classes `mapped` a program may load the line at any time, so it counts as cached.
    pub(super) fn access(&mut self, effects: &Effects, mapped: Mask) -> Mistakes {
        let Self { dirty, clean, old } = *self;
        let absent = !(dirty | clean);
        let mut mistakes = Mistakes::default();
        let mut next = Self::default();
        let columns = [(dirty, &effects.dirty), (clean, &effects.clean), (absent, &effects.absent)];
        for (before, column) in columns {
            let on = before & column.possible;
            next.dirty |= on & column.next_dirty | before & !column.possible & dirty;
            next.clean |= on & column.next_clean | before & !column.possible & clean;
            let around = on & !column.in_cache & !column.transferred;
            match effects.access {
                Access::Read => {
                    mistakes.stale_read |= around & dirty;
                    mistakes.stale_cpu_read |= on & column.in_cache & !column.transferred & old;
                    next.old |= before & old & !(on & column.transferred);
                }
                Access::Write => {
                    mistakes.lost_write |= around & dirty;
                    // A write to memory leaves a copy behind.
                    next.old |= on & !column.in_cache & column.next_clean | before & !column.possible & old;
                }
            }
        }
        // Each mistake is reported once: the write wins.
        next.dirty &= !mistakes.lost_write;
        *self = next;
        self.settle(mapped);
        mistakes
    }

    /// Writes a dirty line back and drops it, on the classes `on`.
    pub(super) fn flush(&mut self, on: Mask, mapped: Mask) {
        self.dirty &= !on;
        self.clean &= !on;
        self.old &= !on;
        self.settle(mapped);
    }

    /// Writes a dirty line back and keeps it, on all classes.
    pub(super) fn write_back(&mut self, mapped: Mask) {
        self.clean |= self.dirty;
        self.dirty = 0;
        self.settle(mapped);
    }

    /// Fills absent lines where a program may load them.
    fn settle(&mut self, mapped: Mask) {
        self.clean |= mapped;
        self.clean &= !self.dirty;
        self.old &= self.clean;
    }
}

/// The effect of one access on the last line, because neighbours are in equal states.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last(Option<(States, States, Mistakes)>);

impl Last {
    /// Applies an access, the same one at each call, as [`States::access`] does.
    pub(super) fn access(&mut self, line: &mut States, effects: &Effects, mapped: Mask) -> Mistakes {
        if let Self(Some((before, after, mistakes))) = *self
            && before == *line
        {
            *line = after;
            return mistakes;
        }
        let before = *line;
        let mistakes = line.access(effects, mapped);
        self.0 = Some((before, *line, mistakes));
        mistakes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::JudgingPlatform;
    use gem_coherency::platform::Driver;
    use gem_coherency::policy::kernel::KernelRules;
    use gem_coherency::vocabulary::{KernelVersion, MocsClass};
    use gem_coherency_memory_model::{Hardware, maintain};

    /// Every class, at every level, from every state: the same as the hierarchy says of one line alone.
    #[test]
    fn a_set_of_classes_changes_as_each_class_alone() {
        let kernel = KernelVersion::new(6, 12);
        let all = JudgingPlatform::all(Driver::I915, kernel);
        let classes = Classes::new(kernel, KernelRules::of(kernel).unwrap(), None, &all);
        let every = classes.set(|_| true);
        let mut compared = 0;
        for &level in CacheLevel::ALL {
            let levels = vec![Some(level); classes.all.len()];
            for &route in Route::ALL {
                for access in [Access::Read, Access::Write] {
                    let effects = Effects::new(&classes, &levels, route, access);
                    for &line in Line::ALL {
                        let mut states = match line {
                            Line::Dirty => States { dirty: every, ..States::default() },
                            Line::Clean => States { clean: every, ..States::default() },
                            Line::Absent => States::default(),
                        };
                        let mistakes = states.access(&effects, 0);
                        for (bit, class) in classes.with_bits() {
                            let hardware = Hardware::new(class.machine.caps);
                            let Some(done) = effect(hardware, level, route, access, line) else { continue };
                            let around = done.at == Place::Memory && done.before == Transfer::Nothing;
                            let wrong = line == Line::Dirty && around;
                            let found = (mistakes.stale_read | mistakes.lost_write) & bit != 0;
                            assert_eq!(
                                found, wrong,
                                "{:?} {level} {route:?} {access:?} {line}",
                                class.machine
                            );
                            let lost = wrong && access == Access::Write;
                            let next = if lost { Line::Absent } else { done.next };
                            let is = (states.dirty & bit != 0, states.clean & bit != 0);
                            assert_eq!(
                                is,
                                (next == Line::Dirty, next == Line::Clean),
                                "{level} {route:?} {line}"
                            );
                            compared += 1;
                        }
                    }
                }
            }
        }
        assert!(compared > 1000, "{compared}");
    }

    #[test]
    fn a_copy_is_old_after_a_write_to_memory_until_it_is_dropped() {
        let kernel = KernelVersion::new(6, 12);
        let glk = JudgingPlatform::by_name("glk").unwrap();
        let classes = Classes::new(kernel, KernelRules::of(kernel).unwrap(), None, &[glk]);
        let levels = [Some(CacheLevel::None)];
        let of = |route, access| Effects::new(&classes, &levels, route, access);
        let gpu = of(Route::Gpu(MocsClass::PageTable), Access::Write);
        let cpu = of(Route::CpuCached, Access::Read);
        let mut line = States::default();
        line.settle(1);
        assert_eq!(line.access(&cpu, 1), Mistakes::default());
        assert_eq!(line.access(&gpu, 1), Mistakes::default());
        assert_eq!(line.access(&cpu, 1).stale_cpu_read, 1);
        line.write_back(1);
        assert_eq!(line.access(&cpu, 1).stale_cpu_read, 1, "CLWB keeps a copy");
        assert_eq!(maintain(gem_coherency::cacheops::LineOp::Flush, Line::Clean).next, Line::Absent);
        line.flush(1, 1);
        assert_eq!(line.access(&cpu, 1), Mistakes::default());
    }
}
