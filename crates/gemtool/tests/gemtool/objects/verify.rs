//! `gemtool verify` on software devices: correct with flushes, old bytes without.

use std::collections::BTreeSet;

use gem_coherency::platform;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Creation, KernelRules, step};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_check::transitions;
use serde_json::Value;

use crate::{Ran, fits, gemtool, sample};

/// Kernels that differ in their flushes: before JSL's acquire flush, with it, before PAT indices, and with
/// them.
const KERNELS: [&str; 3] = ["5.14", "6.1", "6.12"];

/// All paths but the shaders, which take most of the time: a row for each MOCS class.
const NO_SHADERS: &str = "--write cpu-wb,cpu-wc,cpu-gtt,cpu-fixed,transfer,gpu-blit,gpu-store \
    --read cpu-wb,cpu-wc,cpu-gtt,cpu-fixed,transfer,gpu-blit";

/// Runs a command that exits with `status`; returns its output, parsed as JSON.
#[track_caller]
fn report(line: &str, status: i32) -> Value {
    let Ran { status: ended, out, err } = gemtool(&format!("verify --json {line}"));
    assert_eq!((ended, err.as_str()), (Some(status), ""), "{line}: {out}");
    serde_json::from_str(&out).unwrap()
}

/// Returns the rows for which `is_match` is true.
fn rows(report: &Value, is_match: impl Fn(&Value) -> bool) -> Vec<&Value> {
    report["rows"].as_array().unwrap().iter().filter(|row| is_match(row)).collect()
}

/// Asserts that every check passed, and that old bytes were visible wherever they had to be; returns how
/// often.
#[track_caller]
fn all_right(line: &str) -> u64 {
    let report = report(line, 0);
    let totals = &report["totals"];
    assert_eq!((&totals["failed"], &totals["not_shown"]), (&0.into(), &0.into()), "{line}");
    assert!(totals["passed"].as_u64().unwrap() > 20, "{line}: {totals}");
    for row in rows(&report, |_| true) {
        assert_eq!(row["library"], "right", "{row}");
        let shown = !row["without_flushes"]["shown"].is_null();
        assert_eq!(row["without_flushes"]["chance"] == "expected", shown, "{row}");
        assert!(shown <= (row["verdict"] != "none"), "what needs nothing shows nothing: {row}");
    }
    totals["stale"].as_u64().unwrap()
}

#[test]
fn every_platform_is_right_and_shows_missing_flushes() {
    // The oldest kernel differs where reads bypass the LLC, and where PAT indices matter.
    let (differing, others): (Vec<&platform::Platform>, Vec<_>) =
        platform::all().iter().partition(|platform| matches!(platform.name, "glk" | "jsl" | "ehl" | "mtl"));
    for platform in sample(differing, 1).into_iter().chain(sample(others, 1)) {
        let differs = matches!(platform.name, "glk" | "jsl" | "ehl" | "mtl");
        for kernel in KERNELS.iter().filter(|&&kernel| kernel != "5.14" || differs) {
            // A discrete device's system memory is always snooped, and has few paths.
            let discrete = platform.caps.contains(platform::Caps::DISCRETE);
            // Shaders see the same under the older one, but where reads bypass the LLC.
            let paths = if *kernel == "6.12" || differs || discrete { "" } else { NO_SHADERS };
            let stale = all_right(&format!("--quick {paths} --device sim:{platform},kernel={kernel}"));
            assert_eq!(stale == 0, discrete, "{platform} {kernel}: {stale}");
        }
    }
}

#[test]
fn some_platforms_are_right_in_full() {
    let lines =
        ["--device sim:glk --caching none --over cpu-wb --seed 7 --lines 20", "--device sim:mtl --lines 20"];
    for line in sample(lines, 1) {
        assert!(all_right(line) > 0, "{line}");
    }
}

#[test]
fn prime_counts_of_lines_are_stored_to() {
    let report = report("--device sim:glk --caching none --write cpu-wb --over cpu-wb --read gpu-blit", 0);
    let counts: Vec<u64> = serde_json::from_value(report["counts"].clone()).unwrap();
    assert_eq!(counts[..6], [1, 2, 3, 5, 7, 11]);
    let row = rows(&report, |row| row["kind"] == "hand-over")[0];
    let found = ["verdict", "rule", "lines"].map(|field| row[field].clone());
    // Two writers store to two dwords of a line, and it is flushed once.
    assert_eq!(found[..2], ["flush", "non-coherent-read"]);
    let stored: u64 = counts.iter().sum();
    assert!(found[2].as_u64().unwrap() >= stored - counts.len() as u64, "{} of {stored}", found[2]);
    let shown = &row["without_flushes"]["shown"];
    assert_eq!((&shown["is_old"], &shown["lines_stored"]), (&true.into(), &7.into()), "{row}");
    assert_eq!(shown["offset"].as_u64().unwrap() / 64, shown["line"].as_u64().unwrap());
}

#[test]
fn an_adversary_breaks_no_flushed_access() {
    let platforms = ["glk", "jsl", "tgl", "mtl", "i965gm"];
    for (platform, seed) in
        sample(platforms.into_iter().flat_map(|name| (0..3).map(move |seed| (name, seed))), 2)
    {
        let line = format!("--quick --seed {seed} --device sim:{platform},adversary=on,seed={seed}");
        let report = report(&line, 0);
        assert_eq!(report["totals"]["failed"], 0, "{line}");
        assert!(report["totals"]["stale"].as_u64().unwrap() > 0, "{line}");
        assert!(rows(&report, |row| row["without_flushes"]["chance"] == "expected").is_empty(), "{line}");
    }
}

#[test]
fn a_coherent_platform_shows_no_old_bytes_and_passes() {
    let report = report("--quick --device sim:glk,memory=coherent", 0);
    let totals = &report["totals"];
    assert_eq!((&totals["stale"], &totals["failed"]), (&0.into(), &0.into()));
    assert!(totals["not_shown"].as_u64().unwrap() > 50, "{totals}");
}

#[test]
fn bypassing_reads_are_measured_where_they_go_around_the_llc() {
    for platform in ["jsl", "ehl"] {
        let report = report(&format!("--quick --device sim:{platform} --read gpu-shader"), 0);
        let bypassing = |row: &Value| row["mocs"]["class"] == "bypass-llc" && row["kind"] == "hand-over";
        let cached = rows(&report, |row| row["write"] == "cpu-wb" && bypassing(row));
        assert!(!cached.is_empty());
        for row in cached {
            assert_eq!(row["mocs"]["entry"], 16);
            assert_eq!(
                (&row["rule"], &row["without_flushes"]["chance"]),
                (&"bypass-mocs-read".into(), &"expected".into())
            );
        }
        let found =
            rows(&report, |row| row["write"] == "gpu-store" && row["level"] == "llc" && bypassing(row));
        assert!(!found.is_empty() && found.iter().all(|row| row["rule"] == "gpu-write-may-be-cached"));
    }
    gemtool("verify --quick --device sim:snb --read gpu-shader").refused(&["gpu-shader", "Haswell"]);
}

#[test]
fn the_old_name_of_the_path_of_shaders_is_accepted() {
    let [old, new] = ["gpu-kernel", "gpu-shader"].map(|read| {
        report(&format!("--quick --device sim:jsl --write cpu-wb --over cpu-wb --read {read}"), 0)
    });
    assert!(!rows(&old, |row| row["read"] == "gpu-shader").is_empty());
    assert_eq!(old, new);
}

#[test]
fn shaders_name_an_entry_of_each_mocs_class() {
    let classes = |platform: &str| -> BTreeSet<String> {
        let line = format!("--quick --device sim:{platform} --write cpu-wb --over cpu-wb --read gpu-shader");
        let report = report(&line, 0);
        assert!(report["unproven"].is_null(), "{platform}: it is software");
        let rows = rows(&report, |row| !row["mocs"].is_null());
        rows.iter().map(|row| format!("{} {}", row["mocs"]["class"], row["mocs"]["entry"])).collect()
    };
    let of = |text: &[&str]| text.iter().map(|&text| text.to_owned()).collect::<BTreeSet<_>>();
    const PAGE_TABLE: &str = "\"page-table\" null";
    assert_eq!(classes("hsw"), of(&[PAGE_TABLE]));
    assert_eq!(classes("chv"), of(&[PAGE_TABLE, "\"uncached\" 56"]));
    assert_eq!(classes("skl"), of(&[PAGE_TABLE, "\"uncached\" 0"]));
    assert_eq!(classes("glk"), of(&[PAGE_TABLE, "\"uncached\" 2"]));
    assert_eq!(classes("icl"), of(&[PAGE_TABLE, "\"uncached\" 3"]));
    assert_eq!(classes("ehl"), of(&[PAGE_TABLE, "\"uncached\" 3", "\"bypass-llc\" 16"]));
    assert_eq!(classes("tgl"), of(&[PAGE_TABLE, "\"uncached\" 1"]));
    assert_eq!(classes("mtl"), of(&[PAGE_TABLE]));
}

#[test]
fn a_write_that_bypasses_the_llc_is_noticed() {
    // A3: only reads bypass it.
    let line = "--quick --device sim:jsl --caching cached --write gpu-shader --over cpu-wb --read cpu-wb";
    report(line, 0);
    let report = report(&line.replace("jsl", "jsl,drop=A3"), 1);
    let wrong = rows(&report, |row| !row["without_flushes"]["shown"].is_null());
    assert!(!wrong.is_empty());
    for row in wrong {
        assert_eq!(
            (&row["mocs"]["class"], &row["without_flushes"]["chance"]),
            (&"bypass-llc".into(), &"never".into())
        );
    }
}

#[test]
fn before_sandy_bridge_the_gpu_copies_and_stores_where_hardware_does() {
    for (platform, why) in [
        ("i830", Some("physical addresses")),
        ("i915gm", Some("physical addresses")),
        ("i945gm", None),
        ("i965gm", Some("secure batches")),
        ("ilk", Some("secure batches")),
    ] {
        let report = report(&format!("--quick --device sim:{platform} --write gpu-blit,gpu-store"), 0);
        let written = |via: &str| rows(&report, |row| row["write"] == via).len();
        assert!(written("gpu-blit") > 0, "{platform}");
        assert_eq!(written("gpu-store") > 0, why.is_none(), "{platform}");
        let shown =
            rows(&report, |row| row["write"] == "gpu-blit" && row["without_flushes"]["shown"].is_object());
        assert!(!shown.is_empty(), "{platform}: without flushes a reader sees old bytes");
        let skipped = report["skipped"].as_array().unwrap();
        let found = skipped.iter().find(|skip| skip["what"] == "gpu-store (write)");
        assert_eq!(found.is_some(), why.is_some(), "{platform}");
        if let (Some(found), Some(why)) = (found, why) {
            assert!(found["why"].as_str().unwrap().contains(why), "{found}");
        }
    }
}

#[test]
fn copies_name_an_entry_of_each_mocs_class_where_they_can() {
    let classes = |platform: &str| -> BTreeSet<String> {
        let report = report(
            &format!("--quick --device sim:{platform} --caching cached --write cpu-wb --read gpu-blit"),
            0,
        );
        let rows = rows(&report, |row| !row["mocs"].is_null());
        rows.iter().map(|row| format!("{} {}", row["mocs"]["class"], row["mocs"]["entry"])).collect()
    };
    let of = |text: &[&str]| text.iter().map(|&text| text.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(classes("tgl"), of(&["\"page-table\" 2", "\"uncached\" 1"]));
    assert_eq!(classes("skl"), of(&["\"page-table\" null"]));
    assert_eq!(classes("mtl"), of(&["\"page-table\" 1"]));
}

#[test]
fn a_new_object_leaks_bytes_only_without_the_acquire_flush() {
    let line = "--quick --device sim:jsl,without=bypass-acquire --read gpu-shader --caching cached";
    let report = report(line, 1);
    let fresh = rows(&report, |row| row["kind"] == "fresh" && row["mocs"]["class"] == "bypass-llc");
    let wrong = &fresh[0]["library"]["wrong"];
    // "anot", of the previous owner's data.
    assert_eq!((&wrong["got"], &wrong["want"]), (&0x746f_6e61.into(), &0.into()), "{}", fresh[0]);
    // A kernel without the flush leaks if the library's flush is left out, but not with it.
    let old = "--quick --device sim:jsl,kernel=5.14 --read gpu-shader --caching cached";
    let report = self::report(old, 0);
    let row = rows(&report, |row| row["kind"] == "fresh" && row["mocs"]["class"] == "bypass-llc")[0];
    assert_eq!((&row["kind"], &row["rule"]), (&"fresh".into(), &"zeroes-stay-dirty".into()));
    assert_eq!(
        (&row["library"], &row["without_flushes"]["shown"]["got"]),
        (&"right".into(), &0x746f_6e61.into())
    );
}

#[test]
fn a_forgotten_library_flush_fails() {
    for (line, rule) in [
        ("--device sim:glk --caching none --read gpu-blit --forget flush", "non-coherent-read"),
        ("--device sim:jsl --write cpu-wb --read gpu-shader --forget flush", "bypass-mocs-read"),
        ("--device sim:glk --write gpu-store --forget invalidate", "stale-after-gpu-write"),
        ("--device sim:jsl --write cpu-wc --forget drain", "wc-drain"),
    ] {
        let ran = gemtool(&format!("verify --quick {line}"));
        assert_eq!((ran.status, ran.err.as_str()), (Some(1), ""), "{line}");
        assert!(ran.out.contains("Failures") && ran.out.contains(rule), "{line}: {}", ran.out);
        let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("with the library line ") && words.contains(", the old value, want 0x"),
            "{line}"
        );
        assert!(words.contains(" FAIL: "), "{line}: {words}");
        fits(&ran.out, 100);
    }
    // On Jasper Lake no line is ever stale in the CPU's caches.
    gemtool("verify --quick --device sim:jsl --write gpu-store --forget invalidate").held();
}

/// Returns the rules whose removal changes a kernel's flushes.
fn removable() -> BTreeSet<Rule> {
    let kernels = [KernelVersion::new(6, 0), KernelVersion::new(6, 12)];
    let creations = [
        Creation::User,
        Creation::UserWithPat(2),
        Creation::Userptr,
        Creation::Import,
        Creation::Internal,
        Creation::Stolen,
        Creation::Phys,
        Creation::Local,
    ];
    let mut found = BTreeSet::new();
    for platform in ["glk", "jsl", "hsw", "mtl", "dg2"] {
        for kernel in kernels {
            let machine = platform::by_name(platform).unwrap().machine(kernel, platform == "hsw");
            let rules = KernelRules::of(kernel).unwrap();
            for row in creations.iter().flat_map(|&creation| transitions(&machine, &rules, creation)) {
                let Ok(done) = row.outcome else { continue };
                for rule in done.effects.iter().map(|effect| effect.rule).chain([done.rule]) {
                    let without = KernelRules { without: Some(rule), ..rules };
                    if !found.contains(&rule)
                        && step(machine.caps, &without, row.before, row.event) != Ok(done)
                    {
                        found.insert(rule);
                    }
                }
            }
        }
    }
    found
}

/// Rules of the kernel whose removal verify cannot detect, with the reason.
const NOT_SEEN: &[(Rule, &str)] = &[
    (Rule::ImportWbinvd, "nothing is imported"),
    (Rule::PhysCopy, "no object is made a physically contiguous copy"),
    (Rule::ReleaseStale, "nothing is swapped out"),
    (Rule::PartialLineWrite, "PWRITE has the rule for a device that is asleep"),
    (Rule::PwriteFlush, "PWRITE has the rule for a device that is asleep"),
    (Rule::ScanoutFlush, "nothing is shown: `gemtool scanout` sees it"),
    (Rule::SuspendWbinvd, "nothing sleeps"),
    (Rule::HibernateWbinvd, "nothing sleeps"),
    (Rule::ResumeWbinvd, "nothing sleeps"),
];

#[test]
fn a_kernel_that_lacks_a_rule_is_noticed() {
    let removable = removable();
    assert!(removable.len() > 15, "{removable:?}");
    let not_seen: BTreeSet<Rule> = NOT_SEEN.iter().map(|(rule, _)| *rule).collect();
    let (unseen, seen): (Vec<_>, Vec<_>) = removable.iter().partition(|rule| not_seen.contains(rule));
    for rule in sample(unseen, 1).into_iter().chain(sample(seen, 1)) {
        let lacking = |device: &str, paths: &str| {
            let ran = gemtool(&format!("verify --quick {paths} --device sim:{device},without={rule}"));
            assert!(matches!(ran.status, Some(0 | 1)), "{device} without {rule}: {}", ran.err);
            ran.status == Some(1)
        };
        let devices = ["glk", "jsl,kernel=6.0", "jsl", "mtl"];
        let seen = [NO_SHADERS, ""].iter().any(|paths| devices.iter().any(|device| lacking(device, paths)));
        assert_eq!(seen, !not_seen.contains(rule), "{rule}");
    }
    assert!(not_seen.is_subset(&removable), "{:?}", not_seen.difference(&removable).collect::<Vec<_>>());
}

#[test]
fn a_kernel_without_the_bypass_flush_fails_on_jasper_lake() {
    let ran = gemtool("verify --quick --device sim:jsl,without=bypass-acquire");
    assert_eq!(ran.status, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("0x746f6e61"), "{}", ran.out);
}

#[test]
fn shaders_after_one_that_fails_are_skipped_and_counted() {
    let lists = |path: &str| -> (Vec<Value>, Vec<Value>) {
        let line = "--quick --device sim:jsl,fault=eio@20 --caching cached --over cpu-wb --write cpu-wb";
        let ran = gemtool(&format!("verify --json {line} --read {path}"));
        assert_eq!(ran.status, Some(2), "{}", ran.err);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(report["totals"]["skipped"], report["skipped"].as_array().unwrap().len() as u64);
        (report["refused"].as_array().unwrap().clone(), report["skipped"].as_array().unwrap().clone())
    };
    let (refused, skipped) = lists("gpu-shader");
    assert_eq!((refused.len(), skipped.len()), (1, 2), "three MOCS classes");
    assert!(skipped.iter().all(|skip| skip["why"] == "an earlier shader failed with EIO"), "{skipped:?}");
    // After any other path, each measurement is tried.
    let (refused, skipped) = lists("gpu-blit,transfer");
    assert_eq!((refused.len(), skipped.len()), (2, 0));
}

#[test]
fn the_same_seed_stores_the_same_and_another_does_not() {
    let run = |seed: u32| {
        gemtool(&format!("verify --quick --json --device sim:glk --caching none --seed {seed}")).held()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn the_table_fits_and_names_the_kernels_rule() {
    // Whole tables are checked as examples of the guide.
    for platform in sample(["glk", "tgl", "jsl", "mtl", "dg2", "i965gm"], 2) {
        fits(&gemtool(&format!("verify --quick --device sim:{platform}")).held(), 100);
    }
    let text =
        gemtool("verify --quick --device sim:glk --caching none --write gpu-store --read transfer").held();
    let row = text.lines().find(|line| line.starts_with("  gpu-store  transfer  invalidate")).unwrap();
    assert!(row.contains("right    right   right      stale-after-gpu-write (kernel:"), "{text}");
    assert!(text.contains("pread-invalidate)"), "{text}");
}

#[test]
fn refused_paths_are_listed_and_others_are_measured() {
    let ran = gemtool("verify --quick --device sim:glk,fault=enomem@30 --caching none");
    assert_eq!(ran.status, Some(2), "{}", ran.out);
    assert!(ran.out.contains("Refused") && ran.out.contains("ENOMEM"), "{}", ran.out);
    assert!(ran.err.contains("ENOMEM"), "{}", ran.err);
    let stray = gemtool("verify --quick --device sim:tgl,fault=stray@9 --caching cached");
    assert_eq!(stray.status, Some(1), "{}{}", stray.out, stray.err);
}

#[test]
fn bad_input_names_the_value() {
    gemtool("verify --device sim:foo").refused(&["--device", "'sim:foo'"]);
    gemtool("verify --device sim:glk --lines 0").refused(&["--lines", "'0'", "at least 1"]);
    gemtool("verify --device sim:glk --lines 100000").refused(&["--lines", "'100000'", "16384"]);
    gemtool("verify --device sim:glk --lines many").refused(&["--lines", "'many'", "not a number"]);
    gemtool("verify --device sim:glk --seed -1").refused(&["--seed", "'-1'"]);
    gemtool("verify --device sim:glk --write cpu-wt").refused(&["--write", "'cpu-wt'", "cpu-wb"]);
    gemtool("verify --device sim:glk --caching llc").refused(&[
        "--caching",
        "'llc'",
        "none, cached, display",
    ]);
    gemtool("verify --device sim:glk --forget fence").refused(&["--forget", "'fence'"]);
    gemtool("verify --device sim:dg2 --write cpu-wb").refused(&["nothing to measure", "cpu-wb", "fixed"]);
    gemtool("verify --device sim:i965g --caching cached").refused(&["nothing to measure", "cached"]);
    gemtool("verify --device /dev/null").refused(&["--device", "/dev/null"]);
}

#[test]
fn a_seed_in_json_is_exact_for_every_reader() {
    // 2^53 + 1 is the first whole number that a JavaScript number cannot represent.
    for seed in ["1", "9007199254740993", "18446744073709551615"] {
        let line =
            format!("verify --quick --json --device sim:glk --caching none --over cpu-wb --seed {seed}");
        assert_eq!(gemtool(&line).json()["seed"], seed);
    }
}
