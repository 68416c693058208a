//! Scripts: each statement works, each expectation can fail, nothing is left open.

mod creation;
mod files;
mod screen;
mod sharing;

use std::sync::Arc;

use gem_coherency_sim::SimDevice;
use gemtool::script::{self, Outcome, Report, StepReport, Target};
use proptest::prelude::*;

/// Runs `text` on `sim:DEVICE`, asserts that nothing stays open, and returns the report.
#[track_caller]
fn report(device: &str, text: &str) -> Report {
    let target = Target::open(&format!("sim:{device}")).unwrap();
    let script = script::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let report = script::run(&script, &target);
    assert_eq!((report.open.handles, report.open.mappings), (0, 0), "{text}");
    assert_eq!(target.device().open_counts(), report.open);
    report
}

/// Asserts that every expectation of `text` holds on each of `devices`.
#[track_caller]
fn holds(devices: &[&str], text: &str) {
    for device in devices {
        let report = report(device, text);
        let wrong: Vec<_> = report.steps.iter().filter(|step| is_wrong(step)).collect();
        assert!(report.passed(), "{device}: {wrong:#?}");
    }
}

fn is_wrong(step: &StepReport) -> bool {
    matches!(step.outcome, Outcome::Mismatch { .. } | Outcome::Failed { .. })
}

/// Asserts that the last expectation of `text` fails on `sim:DEVICE` with this actual value, and all others
/// hold.
#[track_caller]
fn fails(device: &str, text: &str, wanted_seen: &str) {
    let report = report(device, text);
    let (last, rest) = report.steps.split_last().unwrap();
    assert!(!rest.iter().any(is_wrong), "{rest:#?}");
    let Outcome::Mismatch { seen, .. } = &last.outcome else { panic!("{last:#?}") };
    assert!(seen.contains(wanted_seen), "'{wanted_seen}' is not in: {last:#?}");
    assert!(!report.passed());
}

/// Asserts that the last line of `text` stops the script on `sim:DEVICE`.
#[track_caller]
fn stops(device: &str, text: &str, wanted_errno: Option<&str>, wanted_why: &str) {
    let report = report(device, text);
    let last = report.steps.last().unwrap();
    let Outcome::Failed { errno, why } = &last.outcome else { panic!("{last:#?}") };
    assert_eq!(errno.as_deref(), wanted_errno, "{why}");
    assert!(why.contains(wanted_why), "{why}");
    let stopped = report.stopped.clone().unwrap();
    assert_eq!((stopped.line, stopped.column), (last.line, last.column));
    assert_eq!(stopped.line, text.lines().count());
    assert!(!report.passed());
}

const UNCACHED: &str = "a = alloc 4KiB caching=none map=wb\nwrite a all fill=0xa5\nsubmit a\n";

#[test]
fn guard_writes_are_flushed_for_the_gpu() {
    holds(&["glk", "chv"], &format!("{UNCACHED}expect verdict a flush lines=64 rule=non-coherent-read"));
    holds(&["glk"], &format!("{UNCACHED}expect gpu-reads a all 0xa5"));
    fails(
        "glk",
        &format!("{UNCACHED}expect verdict a none"),
        "verdict flush, 64 lines, rule non-coherent-read",
    );
    fails("glk", &format!("{UNCACHED}expect verdict a flush lines=63"), "64 lines");
    fails("glk", &format!("{UNCACHED}expect verdict a flush rule=snooped"), "rule non-coherent-read");
    fails("tgl", &format!("{UNCACHED}expect verdict a flush"), "verdict none, 0 lines, rule llc-coherent");
}

#[test]
fn a_raw_write_without_a_flush_is_not_seen_by_the_gpu() {
    let raw = "write a all fill=0x5a raw\n";
    fails("glk", &format!("{UNCACHED}{raw}submit a\nexpect gpu-reads a all 0x5a"), "0xa5a5");
    fails("glk", &format!("{UNCACHED}{raw}submit a\nexpect verdict a flush"), "rule nothing-dirty");
    holds(&["glk"], &format!("{UNCACHED}{raw}submit a\nexpect gpu-reads a all 0xa5"));
    // The GPU reads the new bytes with the flush, and where none is needed.
    holds(&["glk"], &format!("{UNCACHED}write a all fill=0x5a\nsubmit a\nexpect gpu-reads a all 0x5a"));
    holds(&["tgl"], &format!("{UNCACHED}{raw}submit a\nexpect gpu-reads a all 0x5a"));
    // Stores that bypass the cache need no flush.
    holds(
        &["glk"],
        &format!("{UNCACHED}write a 0..64 fill=0x5a raw=wc\nsubmit a\nexpect gpu-reads a 0..64 0x5a"),
    );
}

#[test]
fn a_raw_read_without_an_invalidate_misses_gpu_writes() {
    let written = "gpu-write a 0..64 fill=0x5a\n";
    fails("glk", &format!("{UNCACHED}read a all raw\n{written}read a 0..64 expect=0x5a raw"), "0xa5a5");
    let told = format!("{UNCACHED}submit a access=write\n{written}");
    holds(&["glk"], &format!("{told}expect stale a == 64\nread a 0..64 expect=0x5a\nexpect stale a == 63"));
    holds(&["glk"], &format!("{told}read a 0..64 expect=0x5a\nexpect verdict a invalidate lines=1"));
    holds(&["tgl"], &format!("{UNCACHED}{written}read a 0..64 expect=0x5a raw"));
}

#[test]
fn the_kernels_own_ways_flush_whole_objects() {
    let flushes = "domain a cpu write\nsubmit a\nexpect kernel-flushes a";
    holds(&["glk"], &format!("{UNCACHED}{flushes} == 1 rule=exec-flush"));
    fails("glk", &format!("{UNCACHED}{flushes} == 0"), "1: clflush");
    fails("glk", &format!("{UNCACHED}{flushes} >= 1 rule=pwrite-flush"), "0");
    holds(&["glk"], &format!("{UNCACHED}submit a\nexpect kernel-flushes a <= 0"));
    holds(&["glk"], &format!("{UNCACHED}pwrite a 0..64 fill=0x5a\nsubmit a\nexpect gpu-reads a 0..64 0x5a"));
    holds(
        &["glk"],
        &format!("{UNCACHED}submit a access=write\ngpu-write a 0..64 fill=0x5a\npread a 0..64 expect=0x5a"),
    );
    fails("glk", &format!("{UNCACHED}gpu-write a 0..64 fill=0x5a\npread a 0..64 expect=0x5a"), "0xa5a5");
}

#[test]
fn the_display_reads_memory() {
    let text = "a = alloc 4KiB caching=none map=wb\nwrite a all fill=0xa5\n";
    let devices = ["tgl", "hsw", "glk", "jsl", "snb"];
    holds(
        &devices,
        &format!("{text}scanout a\nexpect verdict a flush lines=64\nexpect display-reads a all 0xa5"),
    );
    fails("tgl", &format!("{text}expect display-reads a all 0xa5"), "0x");
    let drawn = format!("{text}scanout a\nwrite a 0..64 fill=0x5a\n");
    fails("tgl", &format!("{drawn}expect display-reads a 0..64 0x5a"), "0xa5a5");
    holds(
        &devices,
        &format!("{drawn}scanout a\nexpect verdict a flush lines=1\nexpect display-reads a 0..64 0x5a"),
    );
    holds(
        &["hsw"],
        &format!("{text}scanout a\nexpect level a none\nexpect error EBUSY: set-caching a cached"),
    );
    // Nothing was shown, so the level is still the kernel's, and the GPU's writes are in the LLC.
    let drawn =
        "off-screen a\nsubmit a access=write\ngpu-write a 0..64 fill=0xab\nsubmit a mocs=bypass-llc\n";
    holds(&["jsl"], &format!("{text}scanout a\n{drawn}expect gpu-reads a 0..64 0xab mocs=bypass-llc"));
    holds(&["tgl"], &format!("{text}scanout a\noff-screen a\nset-caching a cached\nexpect level a llc"));
    stops("tgl", &format!("{text}off-screen a"), None, "'a' is not on screen");
}

#[test]
fn caching_is_the_kernels_and_the_level_follows() {
    let text = "a = alloc 4KiB caching=none\nset-caching a cached\n";
    holds(
        &["tgl", "glk"],
        &format!("{text}expect caching a cached\nexpect not caching a none\nexpect level a llc"),
    );
    fails("tgl", &format!("{text}expect caching a display"), "caching cached");
    fails("tgl", &format!("{text}expect level a none"), "level llc");
    fails("tgl", &format!("{text}expect not level a llc"), "level llc");
    holds(
        &["dg2"],
        "a = alloc 4KiB\nexpect error ENODEV: set-caching a none\nexpect error ENODEV: domain a cpu read",
    );
    fails("dg2", "a = alloc 4KiB\nexpect caching a none", "ENODEV");
}

#[test]
fn an_import_of_an_export_is_the_same_bo() {
    let text = "a = alloc 4KiB caching=none map=wb\nwrite a all fill=0xa5\nfd = export a\n";
    let again = "b = import fd\nexpect same a b\nread b all expect=0xa5\nclose fd";
    holds(&["glk", "tgl"], &format!("{text}expect verdict a flush lines=64\n{again}"));
    let other = format!("{text}b = alloc 4KiB\n");
    fails("glk", &format!("{other}expect same a b"), "handles 1 and 2");
    holds(&["glk"], &format!("{text}close fd\nexpect error EBADF: import fd\nexpect error EBADF: close fd"));
    stops("glk", &format!("{text}close fd\nb = import fd"), Some("EBADF"), "PRIME_FD_TO_HANDLE");
    // Both names have the same handle, so closing one closes both.
    holds(&["glk"], &format!("{text}b = import fd\nclose a\nexpect error ENOENT: read b all"));
}

#[test]
fn sleep_writes_the_caches_back() {
    let text = format!("{UNCACHED}write a all fill=0x5a raw\n");
    for sleep in ["suspend", "hibernate"] {
        let text = format!("{text}{sleep}\nresume\nsubmit a\nexpect gpu-reads a all 0x5a");
        holds(&["glk"], &text);
    }
    holds(
        &["glk"],
        &format!("{text}submit a access=write\nsuspend\nexpect kernel-flushes a == 1 rule=suspend-wbinvd"),
    );
    fails("glk", &format!("{text}wait a\nexpect gpu-reads a all 0x5a"), "0xa5a5");
}

#[test]
fn an_error_is_expected_with_its_errno() {
    let refused = "expect error EINVAL: alloc 0\na = alloc 4KiB\nexpect error EINVAL: read a 4096..4097\n";
    holds(&["tgl", "dg2"], refused);
    fails("tgl", &format!("{refused}expect error EIO: read a 0..4097"), "EINVAL: 4097 bytes at offset 0");
    fails("tgl", &format!("{refused}expect error EINVAL: read a 0..4096"), "no error");
    fails("tgl", "expect error EINVAL: alloc 4KiB", "no error");
    holds(
        &["glk"],
        "a = alloc 4KiB caching=none map=gtt\nwrite a all fill=a5\nset-caching a cached\n\
                     expect error EFAULT: write a all fill=a5\nexpect error EFAULT: write a all fill=a5 raw",
    );
    holds(&["glk,fault=enomem"], "expect error ENOMEM: alloc 4KiB\na = alloc 4KiB");
}

#[test]
fn an_unexpected_refusal_stops_the_script() {
    stops("dg2", "a = alloc 4KiB\nset-caching a none", Some("ENODEV"), "not available on dg2");
    stops("tgl", "a = alloc 4KiB\nread a 0..8KiB", Some("EINVAL"), "8192 bytes at offset 0");
    stops("tgl", "a = alloc 4KiB\nclose a\nflush a", Some("ENOENT"), "is closed");
    stops("tgl,fault=eio", "a = alloc 4KiB\nsubmit a", Some("EIO"), "wedged");
    let report = report("tgl", "a = alloc 4KiB\nflush a\nread a 0..8KiB\nflush a\nflush a");
    assert_eq!((report.counts.done, report.counts.not_reached), (2, 2));
}

#[test]
fn an_expectation_that_does_not_hold_stops_nothing() {
    let report =
        report("tgl", "a = alloc 4KiB\nexpect dirty a >= 1\nexpect stale a >= 1\nexpect dirty a == 0");
    let counts = report.counts;
    assert_eq!((counts.done, counts.passed, counts.mismatches, report.stopped), (1, 1, 2, None));
}

#[test]
fn conditions_choose_among_devices() {
    let text = "needs !discrete\na = alloc 4KiB\nwhere llc: flush a\nwhere !llc: wait a\nwhere platform=jsl: flush a\n\
                where kernel>=6.1: flush a\nwhere map=gtt: map a gtt\nwhere software: expect gpu-reads a all 0x00";
    let skipped = |device| report(device, text).counts.skipped;
    assert_eq!(["jsl", "tgl", "glk", "mtl", "jsl,kernel=5.15"].map(skipped), [1, 2, 2, 3, 2]);
    assert_eq!(skipped("dg2"), 8, "the rest is skipped");
}

#[test]
fn software_only_statements_stop_scripts_on_other_devices() {
    let device = gem_coherency_sim::open("sim:tgl").unwrap();
    let target = Target::from_device(device);
    let run = |text: &str| script::run(&script::parse(text).unwrap(), &target);
    for line in
        ["suspend", "gpu-write a all fill=00", "expect gpu-reads a all 00", "expect error EIO: resume"]
    {
        let report = run(&format!("a = alloc 4KiB\n{line}"));
        let stopped = report.stopped.clone().unwrap();
        assert_eq!((stopped.line, report.steps.len(), report.counts.not_reached), (2, 0, 2), "{line}");
        assert!(stopped.why.contains("needs a software device"), "{}", stopped.why);
        assert!(run(&format!("a = alloc 4KiB\nwhere software: {line}")).passed());
        assert!(run(&format!("a = alloc 4KiB\nneeds software\n{line}")).passed());
    }
    let report = run("a = alloc 4KiB\nsubmit a");
    assert!(report.steps.iter().all(|step| step.kernel_flushes.is_none()), "nobody can tell");
}

#[test]
fn kernel_flushes_are_reported_by_step() {
    let report = report("glk", &format!("{UNCACHED}domain a cpu write\nsubmit a"));
    let flushes: Vec<usize> =
        report.steps.iter().map(|step| step.kernel_flushes.as_ref().unwrap().len()).collect();
    assert_eq!(flushes.last(), Some(&1), "{flushes:?}");
    let flush = report.steps.last().unwrap().kernel_flushes.clone().unwrap().remove(0);
    assert_eq!((flush.bo.as_deref(), flush.bytes), (Some("a"), 4096));
}

#[test]
fn every_sample_holds_on_its_devices() {
    let mut count = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scripts")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("\nneeds driver=xe\n") {
            // There is no software device of xe: ci/xe runs it.
            continue;
        }
        let mut ran_on = 0;
        for platform in gem_coherency::platform::all() {
            for kernel in ["5.14", "5.15", "6.0", "6.1", "6.12"] {
                let target = Target::open(&format!("sim:{},kernel={kernel}", platform.name)).unwrap();
                let script = script::parse(&text).unwrap().in_folder(path.parent().unwrap());
                let report = script::run(&script, &target);
                let wrong: Vec<_> = report.steps.iter().filter(|step| is_wrong(step)).collect();
                assert!(report.passed(), "{} on {platform}, {kernel}: {wrong:#?}", path.display());
                ran_on += u32::from(report.counts.done > 0);
            }
        }
        assert!(ran_on > 0, "{} is for no device", path.display());
        count += 1;
    }
    assert!(count >= 3);
}

/// Lines that are valid more often than not.
fn line() -> impl Strategy<Value = String> {
    let bo = || proptest::sample::select(vec!["a", "b", "e"]);
    let range =
        || proptest::sample::select(vec!["all", "0..64", "100+28", "4095+1", "4096..8192", "0+0", "8192+1"]);
    let mode = || proptest::sample::select(vec!["none", "cached", "display"]);
    let map = || proptest::sample::select(vec!["wb", "wc", "uc", "gtt", "fixed"]);
    let access = || proptest::sample::select(vec!["read", "write"]);
    let edge = || proptest::sample::select(vec!["start", "end"]);
    let mocs = || proptest::sample::select(vec!["page-table", "uncached", "bypass-llc"]);
    let way = || proptest::sample::select(vec!["", "raw", "raw=wb", "raw=wc", "raw=gtt"]);
    let plain = vec![
        "suspend",
        "hibernate",
        "resume",
        "fd = export a",
        "e = alloc 8KiB pat=0",
        "e = userptr 8KiB",
        "f = open",
        "f = open sim:glk",
        "e = alloc 8KiB on=f",
        "e = import fd on=f",
        "fd = export e",
        "close e",
        "c = import fd",
        "d = import fd",
        "close fd",
        "close a",
        "expect same a b",
        "expect error EINVAL: alloc 0",
        "expect error EBADF: import fd",
        "needs software",
        "where llc: flush a",
        "fd = export b",
    ];
    prop_oneof![
        6 => (bo(), range(), way()).prop_map(|(bo, range, way)| format!("write {bo} {range} fill=5a {way}")),
        4 => (bo(), range(), way()).prop_map(|(bo, range, way)| format!("read {bo} {range} expect=5a {way}")),
        2 => (bo(), range()).prop_map(|(bo, range)| format!("pwrite {bo} {range} fill=a5")),
        2 => (bo(), range()).prop_map(|(bo, range)| format!("pread {bo} {range}")),
        3 => (bo(), access(), mocs()).prop_map(|(bo, access, mocs)| format!("submit {bo} access={access} mocs={mocs}")),
        2 => (bo(), range(), mocs()).prop_map(|(bo, range, mocs)| format!("gpu-write {bo} {range} fill=11 mocs={mocs}")),
        2 => (bo(), mode()).prop_map(|(bo, mode)| format!("set-caching {bo} {mode}")),
        2 => (bo(), map()).prop_map(|(bo, map)| format!("map {bo} {map}")),
        2 => (bo(), access()).prop_map(|(bo, access)| format!("domain {bo} gtt {access}")),
        2 => bo().prop_map(|bo| format!("scanout {bo}")),
        1 => bo().prop_map(|bo| format!("off-screen {bo}")),
        1 => bo().prop_map(|bo| format!("show {bo}")),
        1 => bo().prop_map(|bo| format!("dirtyfb {bo}")),
        1 => bo().prop_map(|bo| format!("sw-finish {bo}")),
        1 => (edge(), access()).prop_map(|(edge, access)| format!("sync fd {edge} {access}")),
        1 => (bo(), range()).prop_map(|(bo, range)| format!("expect display-reads {bo} {range} 5a")),
        1 => bo().prop_map(|bo| format!("expect kernel-flushes {bo} == 0")),
        3 => proptest::sample::select(plain).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn any_script_ends_and_leaves_nothing_open(
        device in proptest::sample::select(vec!["glk", "jsl", "tgl", "hsw", "dg2", "mtl", "i965gm", "glk,adversary=on", "tgl,display=on"]),
        lines in proptest::collection::vec(line(), 0..24),
        expected in any::<bool>(),
    ) {
        let soft = Arc::new(SimDevice::open(&format!("sim:{device}")).unwrap());
        let mut text = "a = alloc 8KiB\nb = alloc 8KiB\n".to_owned();
        for line in lines {
            // A line that is refused must not stop the script.
            let is_done = !line.contains('=') || !line.contains("port") && !line.starts_with(['e', 'w', 'n']);
            let line = if expected && is_done && !line.starts_with("expect") && !line.starts_with("where") {
                format!("expect error EINVAL: {line}")
            } else {
                line
            };
            let with = format!("{text}{line}\n");
            // The line may use an unknown name, or one that is in use.
            if script::parse(&with).is_ok() {
                text = with;
            }
        }
        let target = Target::from_soft(Arc::clone(&soft)).unwrap();
        let report = script::run(&script::parse(&text).unwrap(), &target);
        prop_assert_eq!(report.open.handles, 0);
        prop_assert_eq!(report.open.mappings, 0);
        prop_assert_eq!(soft.bus_errors(), 0, "a real device would have killed the process:\n{}", text);
        let done = report.counts.done + report.counts.passed + report.counts.mismatches + report.counts.skipped;
        let lines = text.lines().count() as u64;
        prop_assert_eq!(done + report.counts.not_reached + u64::from(report.stopped.is_some()), lines);
    }
}

#[test]
fn steps_are_given_one_by_one_as_they_are_kept() {
    let script = script::parse(
        "a = alloc 4KiB\nwrite a all fill=0xa5\nexpect stale a == 1\nwhere !llc: flush a\nclose a\n",
    );
    let script = script.unwrap();
    assert_eq!((script.len(), script.steps().count()), (5, 5));
    for device in ["sim:glk", "sim:tgl"] {
        let kept = script::run(&script, &Target::open(device).unwrap());
        let mut given = Vec::new();
        let report = script::run_each(&script, &Target::open(device).unwrap(), |step| given.push(step));
        assert_eq!(given, kept.steps);
        assert_eq!((report.steps.len(), report.counts, report.open), (0, kept.counts, kept.open));
    }
}
