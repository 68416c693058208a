//! The table of results equals the rules: every entry, for every set of capabilities.

use gem_coherency_rules::platform::{self, Caps};
use gem_coherency_rules::policy::driver::{default_mode, path_refusal};
use gem_coherency_rules::policy::pending::{
    Notes, demands, notes_of_gpu_write, notes_of_store, pending_flush,
};
use gem_coherency_rules::policy::{Answers, Path, needs_invalidate};
use gem_coherency_rules::vocabulary::{Access, CacheLevel, KernelVersion, MmapMode, MocsClass};

/// Returns how many entries of `answers` differ from the rules for `caps`.
fn differences(answers: &Answers, caps: Caps) -> usize {
    let questions = CacheLevel::ALL.iter().flat_map(|&level| {
        Path::ALL.iter().flat_map(move |&path| Access::ALL.iter().map(move |&access| (level, path, access)))
    });
    let wrong =
        questions.filter(|&(level, path, access)| !is_as_the_rules_say(answers, caps, level, path, access));
    let modes =
        CacheLevel::ALL.iter().filter(|&&level| answers.default_mode(level) != default_mode(caps, level));
    wrong.count() + modes.count()
}

fn is_as_the_rules_say(answers: &Answers, caps: Caps, level: CacheLevel, path: Path, access: Access) -> bool {
    let answer = answers.get(level, path, access);
    let gpu = Path::Gpu(MocsClass::PageTable);
    let notes = match (path, access) {
        (Path::Cpu(mode), Access::Write) => notes_of_store(caps, level, mode),
        (Path::Gpu(mocs), Access::Write) => notes_of_gpu_write(caps, level, mocs),
        (Path::Cpu(_) | Path::Gpu(_), Access::Read) | (Path::Display, _) => Notes::default(),
    };
    answer.refusal == path_refusal(caps, level, path)
        && answer.demands == demands(caps, level, path, access)
        && answer.notes == notes
        && answer.after_gpu_write == pending_flush(caps, level, gpu, path, access)
        && answer.invalidate_after_gpu_write == needs_invalidate(caps, level, gpu, path, access)
        && MmapMode::ALL.iter().all(|&mode| {
            answer.after_store(mode) == pending_flush(caps, level, Path::Cpu(mode), path, access)
        })
}

#[test]
fn every_answer_is_the_rules_for_every_set_of_capabilities() {
    // Includes capabilities that decide nothing: the test checks that, too.
    for bits in 0..=Caps::all().bits() {
        let caps = Caps::from_bits_truncate(bits);
        assert_eq!(differences(&Answers::of(caps), caps), 0, "{caps:?}");
    }
}

#[test]
fn answers_for_other_hardware_differ() {
    let caps = |name| platform::by_name(name).unwrap().machine(KernelVersion::new(6, 12), false).caps;
    for (name, other) in [("tgl", "jsl"), ("jsl", "tgl"), ("glk", "tgl"), ("glk", "i965g"), ("dg2", "mtl")] {
        assert_ne!(differences(&Answers::of(caps(name)), caps(other)), 0, "{name} for {other}");
    }
}
