//! The decision table equals the rules, for every set of capabilities.

use gem_coherency_policy::platform::{self, Caps};
use gem_coherency_policy::policy::driver::{default_mode, path_refusal};
use gem_coherency_policy::policy::pending::{
    PendingWork, pending_after_gpu_write, pending_after_store, pending_flush, required_work,
};
use gem_coherency_policy::policy::{DecisionTable, Path, needs_invalidate};
use gem_coherency_policy::vocabulary::{Access, CacheLevel, KernelVersion, MmapMode, MocsClass};

/// Returns how many entries of `decisions` differ from the rules for `caps`.
fn differences(decisions: &DecisionTable, caps: Caps) -> usize {
    let questions = CacheLevel::ALL.iter().flat_map(|&level| {
        Path::ALL.iter().flat_map(move |&path| Access::ALL.iter().map(move |&access| (level, path, access)))
    });
    let wrong =
        questions.filter(|&(level, path, access)| !is_as_the_rules_say(decisions, caps, level, path, access));
    let modes =
        CacheLevel::ALL.iter().filter(|&&level| decisions.default_mode(level) != default_mode(caps, level));
    wrong.count() + modes.count()
}

fn is_as_the_rules_say(
    decisions: &DecisionTable,
    caps: Caps,
    level: CacheLevel,
    path: Path,
    access: Access,
) -> bool {
    let decisions = decisions.get(level, path, access);
    let gpu = Path::Gpu(MocsClass::PageTable);
    let pending = match (path, access) {
        (Path::Cpu(mode), Access::Write) => pending_after_store(caps, level, mode),
        (Path::Gpu(mocs), Access::Write) => pending_after_gpu_write(caps, level, mocs),
        (Path::Cpu(_) | Path::Gpu(_), Access::Read) | (Path::Display, _) => PendingWork::default(),
    };
    decisions.refusal == path_refusal(caps, level, path)
        && decisions.required == required_work(caps, level, path, access)
        && decisions.pending == pending
        && decisions.after_gpu_write == pending_flush(caps, level, gpu, path, access)
        && decisions.invalidate_after_gpu_write == needs_invalidate(caps, level, gpu, path, access)
        && MmapMode::ALL.iter().all(|&mode| {
            decisions.after_store(mode) == pending_flush(caps, level, Path::Cpu(mode), path, access)
        })
}

#[test]
fn every_answer_is_the_rules_for_every_set_of_capabilities() {
    // Includes capabilities that decide nothing: the test checks that, too.
    for bits in 0..=Caps::all().bits() {
        let caps = Caps::from_bits_truncate(bits);
        assert_eq!(differences(&DecisionTable::of(caps), caps), 0, "{caps:?}");
    }
}

#[test]
fn answers_for_other_hardware_differ() {
    let caps = |name| platform::by_name(name).unwrap().machine(KernelVersion::new(6, 12), false).caps;
    for (name, other) in [("tgl", "jsl"), ("jsl", "tgl"), ("glk", "tgl"), ("glk", "i965g"), ("dg2", "mtl")] {
        assert_ne!(differences(&DecisionTable::of(caps(name)), caps(other)), 0, "{name} for {other}");
    }
}
