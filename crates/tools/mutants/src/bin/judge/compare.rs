//! Compares the answers of a mutant with those of the rules, without a search: every step from every state that an object can
//! reach, and every answer about an access.

use std::fmt;

use gem_coherency::Result;
use gem_coherency::platform::{Call, Caps, Machine};
use gem_coherency::policy::driver::{CpuMemory, Drain, cpu_memory, default_mode, path_refusal, table};
use gem_coherency::policy::kernel::{Creation, Event, KernelRules, Refusal, Snapshot, Step, step};
use gem_coherency::policy::pending::{
    cached_mode, cached_path, combining_path, flush_op, pending_after_gpu_write, pending_after_store,
    required_work,
};
use gem_coherency::policy::{Decision, Path, Rule, Verdict, coherency};
use gem_coherency::policy::{needs_flush_any, needs_flush_of_import, needs_flush_of_zeroes};
use gem_coherency::vocabulary::{Access, CacheLevel, KernelVersion, MmapMode, MocsClass};
use gem_coherency_check::{CREATIONS, all_machines};
use gem_coherency_check::{Transition, transitions};

/// The kernel's own objects, which the explorer does not search.
const OWN: [Creation; 3] = [Creation::Internal, Creation::Stolen, Creation::Phys];

/// The kind of result that a mutant changes; each class counts for more than those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// No answer differs.
    Nothing,
    /// Only the rule that is named differs.
    Reasons,
    /// Only the default map mode differs.
    Defaults,
    /// Other calls are refused; what is done is the same.
    Refusals,
    /// More is flushed, drained, noted or taken for dirty, and never less.
    More,
    /// The behaviour differs, but only of the kernel's own objects.
    OwnObjects,
    /// The behaviour differs.
    Behaviour,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Reasons => "reasons",
            Self::Defaults => "defaults",
            Self::Refusals => "refusals",
            Self::More => "more",
            Self::OwnObjects => "own-objects",
            Self::Behaviour => "behaviour",
        })
    }
}

/// The largest of some changes; those after the first that can be no larger are not made.
pub fn largest(changes: impl IntoIterator<Item = Change>) -> Change {
    let mut largest = Change::Nothing;
    for change in changes {
        largest = largest.max(change);
        if largest == Change::Behaviour {
            break;
        }
    }
    largest
}

/// The kernel's side of one machine: objects of one kind.
struct Objects {
    creation: Creation,
    created: std::result::Result<Snapshot, Refusal>,
    rows: Vec<Transition>,
}

/// The driver's side of some hardware.
#[derive(Default)]
struct Driver {
    refused: Vec<Option<Rule>>,
    /// The required or noted work, if any, with its rule.
    needs: Vec<(Option<Verdict>, Option<Rule>)>,
    /// Choices that are neither more nor less.
    choices: Vec<u32>,
    /// The map mode of each level, if nobody chooses one.
    defaults: Vec<MmapMode>,
}

/// All answers about one machine.
struct Answers {
    machine: Machine,
    rules: KernelRules,
    objects: Vec<Objects>,
    driver: Driver,
}

/// All answers under one kernel.
pub struct Baseline(Vec<Answers>);

impl Baseline {
    /// The answers of the rules as they are now, but for machines that are like one in `others`.
    pub fn new(version: KernelVersion, others: &[Self]) -> Result<Self> {
        let mut all: Vec<Answers> = Vec::new();
        for machine in all_machines(&[version]) {
            let rules = KernelRules::of(machine.kernel)?;
            let mut known = others.iter().flat_map(|other| &other.0).chain(&all);
            if known.any(|other| other.machine.caps == machine.caps && other.rules == rules) {
                continue;
            }
            let objects = CREATIONS.into_iter().chain(OWN).map(|creation| Objects {
                creation,
                created: Snapshot::created(machine.caps, &rules, creation),
                rows: transitions(&machine, &rules, creation),
            });
            let objects: Vec<_> = objects.collect();
            let driver = Driver::new(machine.caps, &rules, &objects);
            all.push(Answers { machine, rules, objects, driver });
        }
        Ok(Self(all))
    }

    /// An answer that differs now.
    pub fn change(&self) -> Change {
        largest(self.0.iter().map(Answers::change))
    }
}

impl Answers {
    fn change(&self) -> Change {
        let Ok(rules) = KernelRules::of(self.machine.kernel) else { return Change::Refusals };
        let objects = self.objects.iter().map(|objects| objects.change(&self.machine, &rules));
        let driver = Driver::new(self.machine.caps, &rules, &self.objects);
        largest([self.driver.change(&driver)].into_iter().chain(objects))
    }
}

impl Objects {
    fn change(&self, machine: &Machine, rules: &KernelRules) -> Change {
        let created = match (&self.created, &Snapshot::created(machine.caps, rules, self.creation)) {
            (Ok(before), Ok(now)) if before == now => Change::Nothing,
            (Ok(_), Ok(_)) => Change::Behaviour,
            (Err(before), Err(now)) => refusal_change(before, now),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => Change::Refusals,
        };
        let transfers = machine.refusal(Call::PreadPwrite).is_none();
        let asked = self
            .rows
            .iter()
            .filter(|row| transfers || !matches!(row.event, Event::Pread | Event::Pwrite { .. }));
        let changes =
            asked.map(|row| row_change(&row.outcome, &step(machine.caps, rules, row.before, row.event)));
        match (largest([created].into_iter().chain(changes)), self.creation) {
            (Change::Behaviour, creation) if OWN.contains(&creation) => Change::OwnObjects,
            (change, _) => change,
        }
    }
}

fn row_change(
    before: &std::result::Result<Step, Refusal>,
    now: &std::result::Result<Step, Refusal>,
) -> Change {
    match (before, now) {
        (Err(before), Err(now)) => refusal_change(before, now),
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => Change::Refusals,
        (Ok(before), Ok(now)) if before == now => Change::Nothing,
        (Ok(before), Ok(now)) if before.next != now.next && dirtied(before.next) != now.next => {
            Change::Behaviour
        }
        (Ok(before), Ok(now)) => {
            let (actions, mut more) = (before.effects.actions(), now.effects.actions());
            let (old, new) = (before.effects.iter().count(), now.effects.iter().count());
            match actions.into_iter().all(|action| more.any(|other| other == action)) {
                true if old == new && before.next == now.next => Change::Reasons,
                true => Change::More,
                false => Change::Behaviour,
            }
        }
    }
}

/// The state, but for sure dirty.
fn dirtied(state: Snapshot) -> Snapshot {
    Snapshot { dirty: true, ..state }
}

fn refusal_change(before: &Refusal, now: &Refusal) -> Change {
    if before == now {
        Change::Nothing
    } else if before.errno == now.errno {
        Change::Reasons
    } else {
        Change::Refusals
    }
}

impl Driver {
    fn new(caps: Caps, rules: &KernelRules, objects: &[Objects]) -> Self {
        let mut all = Self::default();
        for row in table(caps) {
            all.decided(row.flush);
            all.decided(row.invalidate);
        }
        for &level in CacheLevel::ALL {
            all.defaults.push(default_mode(caps, level));
            all.choices.push(coherency(caps, level).bits().into());
            for &mode in MmapMode::ALL {
                all.choices.push(cpu_memory(level, mode) as u32);
            }
            for &path in Path::ALL {
                all.refused.push(path_refusal(caps, level, path));
                for &access in Access::ALL {
                    all.access(caps, level, path, access);
                }
            }
        }
        all.choices.push(cached_mode(caps) as u32);
        all.choices.extend([cached_path(caps), combining_path(caps)].map(|path| path.index() as u32));
        // The objects that a driver allocates.
        let allocated =
            |creation| matches!(creation, Creation::User | Creation::UserWithPat(_) | Creation::Local);
        let fresh = objects.iter().filter(|one| allocated(one.creation)).filter_map(|one| one.created.ok());
        all.new_pages(caps, rules, fresh);
        // It leaves pages that the compared kernels flush.
        if let Ok(oldest) = KernelRules::of(KernelRules::OLDEST) {
            all.new_pages(caps, &oldest, Snapshot::created(caps, &oldest, Creation::User));
        }
        all.drains(caps);
        all.strongest(caps);
        all
    }

    /// Adds a decision. `Decision::is_needed` has mutants, so that it is not asked here.
    fn decided(&mut self, decision: Decision) {
        let (refused, needed) = match decision.verdict {
            Verdict::Flush | Verdict::Invalidate | Verdict::Drain => (false, Some(decision.verdict)),
            Verdict::NotNeeded => (false, None),
            Verdict::Refused => (true, None),
        };
        self.refused.push(refused.then_some(decision.rule));
        self.needs.push((needed, (!refused).then_some(decision.rule)));
    }

    /// Adds what the pages of new objects and of imports require, and whether an import's exporter has to do it.
    fn new_pages(&mut self, caps: Caps, rules: &KernelRules, fresh: impl IntoIterator<Item = Snapshot>) {
        fresh.into_iter().for_each(|fresh| self.decided(needs_flush_of_zeroes(caps, rules, fresh)));
        let import = needs_flush_of_import(caps, rules);
        self.decided(import);
        let by_exporter = import.rule == Rule::ImportUntracked;
        self.needs.push((by_exporter.then_some(Verdict::Flush), None));
    }

    /// Adds the drain of stores through each kind of mapping. A read back includes a fence.
    fn drains(&mut self, caps: Caps) {
        for memory in [CpuMemory::Cached, CpuMemory::Combining, CpuMemory::Aperture, CpuMemory::Uncached] {
            let drain = Drain::of(caps, memory);
            for drains in [drain != Drain::Nothing, drain == Drain::ReadBack] {
                self.needs.push((drains.then_some(Verdict::Drain), None));
            }
        }
    }

    /// Adds which verdicts need something, the stronger one of each two, and the strongest one of several readers.
    fn strongest(&mut self, caps: Caps) {
        for &verdict in Verdict::ALL {
            let one = Decision::new(verdict, Rule::WcDrain);
            self.needs.push((one.is_needed().then_some(verdict), None));
            for &verdict in Verdict::ALL {
                self.decided(one.stronger(Decision::new(verdict, Rule::GttDrain)));
            }
        }
        for &level in CacheLevel::ALL {
            for &writer in Path::ALL {
                for &access in Access::ALL {
                    let forward = needs_flush_any(caps, level, writer, Path::ALL.iter().copied(), access);
                    let backward =
                        needs_flush_any(caps, level, writer, Path::ALL.iter().rev().copied(), access);
                    let none = needs_flush_any(caps, level, writer, [], access);
                    for strongest in [forward, backward, none] {
                        self.choices.push(strongest.is_some().into());
                        strongest.into_iter().for_each(|one| self.decided(one));
                    }
                }
            }
        }
    }

    fn access(&mut self, caps: Caps, level: CacheLevel, path: Path, access: Access) {
        self.choices.push(flush_op(path, access) as u32);
        let required = required_work(caps, level, path, access);
        let decisions =
            [required.dirty, required.gpu_write, required.stale, required.wc_stores, required.gtt_stores];
        for decision in decisions {
            self.needs.push((decision.map(|one| one.verdict), decision.map(|one| one.rule)));
        }
        let notes = match path {
            Path::Cpu(mode) => pending_after_store(caps, level, mode),
            Path::Gpu(mocs) => pending_after_gpu_write(caps, level, mocs),
            Path::Display => pending_after_gpu_write(caps, level, MocsClass::PageTable),
        };
        for noted in [notes.dirty, notes.stale, notes.wc_stores, notes.gtt_stores, notes.gpu_write] {
            self.needs.push((noted.then_some(Verdict::Flush), None));
        }
    }

    fn change(&self, now: &Self) -> Change {
        if self.choices != now.choices || self.needs.len() != now.needs.len() {
            return Change::Behaviour;
        }
        let refused = self.refused.iter().zip(&now.refused).map(|(before, now)| match (before, now) {
            (Some(before), Some(now)) if before != now => Change::Reasons,
            (Some(_), None) | (None, Some(_)) => Change::Refusals,
            (Some(_), Some(_)) | (None, None) => Change::Nothing,
        });
        let needs = self.needs.iter().zip(&now.needs).map(|(before, now)| match (before, now) {
            (before, now) if before == now => Change::Nothing,
            ((one, _), (other, _)) if one == other => Change::Reasons,
            ((None, _), (Some(_), _)) => Change::More,
            _ => Change::Behaviour,
        });
        let defaults = if self.defaults == now.defaults { Change::Nothing } else { Change::Defaults };
        largest(refused.chain(needs).chain([defaults]))
    }
}
