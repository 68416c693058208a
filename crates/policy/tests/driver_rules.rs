//! The driver's rules: a hand-written matrix per class of platform and level.
//!
//! A cell is the requirement of the next access (column) after a write (row): `-` nothing, `F` flush, `I`
//! invalidate, `D` drain, `DI` both, `x` impossible access.

use std::collections::BTreeSet;

use gem_coherency_policy::platform::{self, Caps, by_name};
use gem_coherency_policy::policy::driver::{CpuMemory, Drain, table};
use gem_coherency_policy::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency_policy::policy::{
    Decision, Path, Rule, Verdict, needs_flush, needs_flush_any, needs_flush_of_zeroes, needs_invalidate,
};
use gem_coherency_policy::vocabulary::{Access, CacheLevel, KernelVersion, MmapMode, MocsClass};

const COLUMNS: [(Path, Access); 13] = [
    (Path::Cpu(MmapMode::Wb), Access::Read),
    (Path::Cpu(MmapMode::Wb), Access::Write),
    (Path::Cpu(MmapMode::Wc), Access::Read),
    (Path::Cpu(MmapMode::Uc), Access::Write),
    (Path::Cpu(MmapMode::Gtt), Access::Read),
    (Path::Cpu(MmapMode::Fixed), Access::Read),
    (Path::Gpu(MocsClass::PageTable), Access::Read),
    (Path::Gpu(MocsClass::PageTable), Access::Write),
    (Path::Gpu(MocsClass::Uncached), Access::Read),
    (Path::Gpu(MocsClass::Uncached), Access::Write),
    (Path::Gpu(MocsClass::BypassLlc), Access::Read),
    (Path::Gpu(MocsClass::BypassLlc), Access::Write),
    (Path::Display, Access::Read),
];

const ROWS: [Path; 8] = [
    Path::Cpu(MmapMode::Wb),
    Path::Cpu(MmapMode::Wc),
    Path::Cpu(MmapMode::Uc),
    Path::Cpu(MmapMode::Gtt),
    Path::Cpu(MmapMode::Fixed),
    Path::Gpu(MocsClass::PageTable),
    Path::Gpu(MocsClass::Uncached),
    Path::Gpu(MocsClass::BypassLlc),
];

fn caps(name: &str) -> Caps {
    by_name(name).unwrap().machine(KernelVersion::new(6, 12), name == "hsw").caps
}

fn cell(caps: Caps, level: CacheLevel, writer: Path, next: Path, access: Access) -> &'static str {
    let flush = needs_flush(caps, level, writer, next, access).verdict;
    let invalidate = needs_invalidate(caps, level, writer, next, access).verdict;
    match (flush, invalidate) {
        (Verdict::NotNeeded, Verdict::NotNeeded) => "-",
        (Verdict::Flush, Verdict::NotNeeded) => "F",
        (Verdict::Drain, Verdict::NotNeeded) => "D",
        (Verdict::NotNeeded, Verdict::Invalidate) => "I",
        (Verdict::Drain, Verdict::Invalidate) => "DI",
        (Verdict::Refused, Verdict::Refused) => "x",
        other => panic!("{other:?} is no combination of verdicts"),
    }
}

#[track_caller]
fn matrix(names: &[&str], level: CacheLevel, expected: [&str; 8]) {
    for name in names {
        for (writer, row) in ROWS.iter().zip(expected) {
            let cells: Vec<_> = COLUMNS
                .iter()
                .map(|&(next, access)| cell(caps(name), level, *writer, next, access))
                .collect();
            let row: Vec<_> = row.split_whitespace().collect();
            assert_eq!(cells, row, "{name} level {level} writer {writer:?}");
        }
    }
}

#[test]
fn non_coherent_without_llc() {
    matrix(
        &["i945gm", "i965gm", "gm45", "ilk", "vlv", "chv", "bxt", "glk"],
        CacheLevel::None,
        //  wb.r wb.w wc uc gtt fix pt.r pt.w un.r un.w by.r by.w display
        [
            "-   -    F  F  F   x   F    F    F    F    F    F    F",
            "DI  DI   -  D  D   x   D    D    D    D    D    D    D",
            "I   I    -  -  -   x   -    -    -    -    -    -    -",
            "DI  DI   D  D  -   x   D    D    D    D    D    D    D",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "I   I    -  -  -   x   -    -    -    -    -    -    -",
            "I   I    -  -  -   x   -    -    -    -    -    -    -",
            "I   I    -  -  -   x   -    -    -    -    -    -    -",
        ],
    );
}

#[test]
fn snooped_without_llc() {
    matrix(
        &["i945gm", "gm45", "ilk", "vlv", "chv", "bxt", "glk"],
        CacheLevel::Llc,
        [
            "-   -    F  F  x   x   -    -    -    -    -    -    F",
            "DI  DI   -  D  x   x   D    D    D    D    D    D    D",
            "I   I    -  -  x   x   -    -    -    -    -    -    -",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "-   -    F  F  x   x   -    -    -    -    -    -    F",
            "-   -    F  F  x   x   -    -    -    -    -    -    F",
            "-   -    F  F  x   x   -    -    -    -    -    -    F",
        ],
    );
}

#[test]
fn llc_uncached_level() {
    matrix(
        &["snb", "ivb", "bdw", "skl", "icl", "tgl", "rkl", "adls", "hsw"],
        CacheLevel::None,
        [
            "-   -    -  -  -   x   -    -    -    -    -    -    F",
            "D   D    -  D  D   x   D    D    D    D    D    D    D",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "D   D    D  D  -   x   D    D    D    D    D    D    D",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
        ],
    );
}

#[test]
fn llc_cached_level() {
    matrix(
        &["snb", "ivb", "bdw", "skl", "icl", "tgl", "rkl", "adls", "hsw"],
        CacheLevel::Llc,
        [
            "-   -    -  -  -   x   -    -    -    -    -    -    F",
            "D   D    -  D  D   x   D    D    D    D    D    D    D",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "D   D    D  D  -   x   D    D    D    D    D    D    D",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "-   -    -  -  -   x   -    -    -    -    -    -    F",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
        ],
    );
}

#[test]
fn llc_written_through() {
    matrix(
        &["hsw"],
        CacheLevel::Wt,
        [
            "-   -    -  -  -   x   -    -    -    -    -    -    F",
            "D   D    -  D  D   x   D    D    D    D    D    D    D",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "D   D    D  D  -   x   D    D    D    D    D    D    D",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
        ],
    );
}

#[test]
fn llc_with_bypassing_mocs() {
    matrix(
        &["ehl", "jsl"],
        CacheLevel::Llc,
        [
            "-   -    -  -  -   x   -    -    -    -    F    -    F",
            "D   D    -  D  D   x   D    D    D    D    D    D    D",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "D   D    D  D  -   x   D    D    D    D    D    D    D",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "-   -    -  -  -   x   -    -    -    -    F    -    F",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
        ],
    );
    matrix(
        &["ehl", "jsl"],
        CacheLevel::None,
        [
            "-   -    -  -  -   x   -    -    -    -    F    -    F",
            "D   D    -  D  D   x   D    D    D    D    D    D    D",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "D   D    D  D  -   x   D    D    D    D    D    D    D",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
            "-   -    -  -  -   x   -    -    -    -    -    -    -",
        ],
    );
}

#[test]
fn pat_at_creation() {
    let non_coherent = [
        "-   -    F  F  x   x   F    F    F    F    F    F    F",
        "DI  DI   -  D  x   x   D    D    D    D    D    D    D",
        "I   I    -  -  x   x   -    -    -    -    -    -    -",
        "x   x    x  x  x   x   x    x    x    x    x    x    x",
        "x   x    x  x  x   x   x    x    x    x    x    x    x",
        "I   I    -  -  x   x   -    -    -    -    -    -    -",
        "I   I    -  -  x   x   -    -    -    -    -    -    -",
        "I   I    -  -  x   x   -    -    -    -    -    -    -",
    ];
    // Index 1, which the kernel calls WT and treats as coherent, is not coherent.
    matrix(&["mtl"], CacheLevel::None, non_coherent);
    matrix(&["mtl"], CacheLevel::Wt, non_coherent);
    matrix(
        &["mtl"],
        CacheLevel::Llc,
        [
            "-   -    F  F  x   x   -    -    -    -    -    -    F",
            "DI  DI   -  D  x   x   D    D    D    D    D    D    D",
            "I   I    -  -  x   x   -    -    -    -    -    -    -",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "x   x    x  x  x   x   x    x    x    x    x    x    x",
            "-   -    F  F  x   x   -    -    -    -    -    -    F",
            "-   -    F  F  x   x   -    -    -    -    -    -    F",
            "-   -    F  F  x   x   -    -    -    -    -    -    F",
        ],
    );
}

#[test]
fn discrete() {
    let no_such = "x   x    x  x  x   x   x    x    x    x    x    x    x";
    matrix(
        &["dg1", "dg2", "atsm"],
        CacheLevel::None,
        [
            no_such,
            no_such,
            no_such,
            no_such,
            "x   x    x  x  x   -   D    D    D    D    D    D    D",
            "x   x    x  x  x   -   -    -    -    -    -    -    -",
            "x   x    x  x  x   -   -    -    -    -    -    -    -",
            "x   x    x  x  x   -   -    -    -    -    -    -    -",
        ],
    );
    matrix(
        &["dg1", "dg2", "atsm"],
        CacheLevel::Llc,
        [
            no_such,
            no_such,
            no_such,
            no_such,
            "x   x    x  x  x   -   -    -    -    -    -    -    x",
            "x   x    x  x  x   -   -    -    -    -    -    -    x",
            "x   x    x  x  x   -   -    -    -    -    -    -    x",
            "x   x    x  x  x   -   -    -    -    -    -    -    x",
        ],
    );
}

#[test]
fn levels_that_cannot_be_are_refused_with_their_rule() {
    let rule = |name, level| {
        let wb = Path::Cpu(MmapMode::Wb);
        needs_flush(caps(name), level, wb, Path::Gpu(MocsClass::PageTable), Access::Read).rule
    };
    assert_eq!(rule("i965gm", CacheLevel::Llc), Rule::NoSnoop);
    assert_eq!(rule("glk", CacheLevel::Wt), Rule::WtNeedsEdram);
    assert_eq!(rule("skl", CacheLevel::Wt), Rule::WtNeedsEdram);
}

#[test]
fn the_display_never_writes() {
    for level in [CacheLevel::None, CacheLevel::Llc] {
        let decision = needs_flush(caps("tgl"), level, Path::Display, Path::Cpu(MmapMode::Wb), Access::Read);
        assert_eq!((decision.verdict, decision.rule), (Verdict::Refused, Rule::DisplayNeverWrites));
        let to = needs_flush(caps("tgl"), level, Path::Cpu(MmapMode::Wb), Path::Display, Access::Write);
        assert_eq!(to.rule, Rule::DisplayNeverWrites);
    }
}

#[test]
fn a_partial_store_is_the_reason_before_a_write_and_staleness_before_a_read() {
    let wb = Path::Cpu(MmapMode::Wb);
    let gpu = Path::Gpu(MocsClass::PageTable);
    let rule = |writer, access| needs_invalidate(caps("glk"), CacheLevel::None, writer, wb, access).rule;
    assert_eq!(rule(gpu, Access::Read), Rule::StaleAfterGpuWrite);
    assert_eq!(rule(Path::Cpu(MmapMode::Wc), Access::Read), Rule::StaleAfterUncachedWrite);
    assert_eq!(rule(gpu, Access::Write), Rule::PartialLineWrite);
}

#[test]
fn bypass_is_a_reason_only_where_it_bypasses() {
    let bypass = Path::Gpu(MocsClass::BypassLlc);
    let decide =
        |name, access| needs_flush(caps(name), CacheLevel::Llc, Path::Cpu(MmapMode::Wb), bypass, access);
    assert_eq!(decide("jsl", Access::Read).rule, Rule::BypassMocsRead);
    // The same entries exist on these platforms, but the kernel does not treat them as bypassing.
    for name in ["icl", "tgl", "adls"] {
        assert_eq!(decide(name, Access::Read).verdict, Verdict::NotNeeded, "{name}");
    }
}

#[test]
fn the_table_asks_every_question_and_answers_both_sides_alike() {
    for platform in platform::all() {
        let caps = platform.machine(KernelVersion::new(6, 12), false).caps;
        let rows: Vec<_> = table(caps).collect();
        assert_eq!(rows.len(), CacheLevel::ALL.len() * Path::ALL.len().pow(2) * Access::ALL.len());
        for row in rows {
            let refused = |verdict| verdict == Verdict::Refused;
            assert_eq!(refused(row.flush.verdict), refused(row.invalidate.verdict), "{row:?}");
            assert_ne!(row.flush.verdict, Verdict::Invalidate, "{row:?}");
            assert!(!matches!(row.invalidate.verdict, Verdict::Flush | Verdict::Drain), "{row:?}");
        }
    }
}

#[test]
fn every_driver_rule_is_reached() {
    let (old, new) = (KernelVersion::new(5, 14), KernelVersion::new(6, 12));
    let mut reached = BTreeSet::new();
    let machines =
        platform::all().iter().flat_map(|platform| [false, true].map(|edram| platform.machine(new, edram)));
    for caps in machines.map(|machine| machine.caps) {
        reached.extend(table(caps).flat_map(|row| [row.flush.rule, row.invalidate.rule]));
        let rules = KernelRules::of(old).unwrap();
        let fresh = Snapshot::created(caps, &rules, Creation::User).unwrap();
        reached.insert(needs_flush_of_zeroes(caps, &rules, fresh).rule);
    }
    // These are decided from what is pending, which the rules do not know: `tests/device` covers them.
    reached.extend([Rule::NothingDirty, Rule::NothingStale, Rule::CloseFlushesNothing]);
    let driver_rules = Rule::ALL.iter().take_while(|rule| **rule != Rule::AcquireDirty);
    let missing: Vec<_> = driver_rules.filter(|rule| !reached.contains(rule)).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}

#[test]
fn the_strongest_decision_of_several_readers_counts() {
    let machine = by_name("jsl").unwrap().machine(KernelVersion::new(6, 12), false);
    let any = |readers: &[Path]| {
        let store = Path::Cpu(MmapMode::Wb);
        needs_flush_any(machine.caps, CacheLevel::Llc, store, readers.iter().copied(), Access::Read)
    };
    let [table, bypass] = [MocsClass::PageTable, MocsClass::BypassLlc].map(Path::Gpu);
    let fixed = Path::Cpu(MmapMode::Fixed);
    let rule = |readers: &[Path]| any(readers).unwrap().rule;
    assert_eq!(any(&[]), None);
    assert_eq!(rule(&[table]), Rule::LlcCoherent);
    assert_eq!(rule(&[table, bypass]), Rule::BypassMocsRead);
    assert_eq!(rule(&[bypass, Path::Display]), Rule::BypassMocsRead, "the first of two flushes");
    assert_eq!(rule(&[fixed, table]), Rule::LlcCoherent);
    assert_eq!(any(&[fixed]).unwrap().verdict, Verdict::Refused);
}

#[test]
fn the_stronger_of_two_decisions_requires_more_and_the_first_of_two_alike_counts() {
    let order = [Verdict::Refused, Verdict::NotNeeded, Verdict::Invalidate, Verdict::Drain, Verdict::Flush];
    for (first, &one) in order.iter().enumerate() {
        for (second, &other) in order.iter().enumerate() {
            let (one, other) = (Decision::new(one, Rule::WcDrain), Decision::new(other, Rule::GttDrain));
            let expected = if second > first { other } else { one };
            assert_eq!(one.stronger(other), expected);
        }
    }
}

#[test]
fn the_aperture_is_drained_by_a_read_where_the_chipset_posts_its_stores() {
    for (name, read_back) in
        [("glk", true), ("vlv", true), ("jsl", true), ("tgl", true), ("hsw", false), ("i965g", false)]
    {
        let caps = by_name(name).unwrap().machine(KernelVersion::new(6, 12), false).caps;
        let expected = if read_back { Drain::ReadBack } else { Drain::Fence };
        assert_eq!(caps.contains(Caps::COHERENT_GGTT), !read_back, "{name}");
        assert_eq!(Drain::of(caps, CpuMemory::Aperture), expected, "{name}");
        assert_eq!(Drain::of(caps, CpuMemory::Combining), Drain::Fence, "{name}");
        assert_eq!(Drain::of(caps, CpuMemory::Cached), Drain::Nothing, "{name}");
        assert_eq!(Drain::of(caps, CpuMemory::Uncached), Drain::Nothing, "{name}");
    }
}
