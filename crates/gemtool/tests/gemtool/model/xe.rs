//! xe in `gemtool platforms`, `explain`, `rules` and `check`.

use crate::{fits, gemtool};

#[test]
fn a_write_back_object_by_an_index_that_does_not_snoop_is_refused_with_the_check() {
    assert_eq!(
        gemtool("explain --driver xe --platform ptl --caching wb --pat 3").held(),
        "\
ptl, xe of kernel 7.2: object, wb, bound by PAT index 3
  Kernel 7.2 was run: the rules are compared with its driver in a virtual machine.
  PAT entry     coherency none, L3 uc, L4 uc
  VM_BIND       refused: EINVAL
  rule          cached-not-snooped
  reason        The CPU maps the object WB, so the GPU must snoop it: a PAT index of coherency none
                would show old bytes, of freed pages, too, and is refused.
  source        xe_vm.c:xe_vm_bind_ioctl_validate_bo
"
    );
    // The twin: the next index snoops.
    let accepted = gemtool("explain --driver xe --platform ptl --caching wb --pat 4 --json").json();
    assert!(accepted["refused"].is_null(), "{accepted}");
    let column = |key: &str| {
        accepted["decisions"].as_array().unwrap().iter().map(|row| row[key].clone()).collect::<Vec<_>>()
    };
    assert_eq!(column("verdict"), ["none", "none", "flush-gpu", "flush", "none"]);
    // The emulated GPU has no caches.
    assert_eq!(column("basis"), ["run", "read", "read", "run", "read"]);
}

#[test]
fn an_answer_says_whether_the_driver_was_run_on_the_platform() {
    for (platform, basis, sentence) in [
        ("lnl", "run", "Kernel 7.2 was run: "),
        ("nvlp", "read", "On nvlp xe of kernel 7.2 was read: "),
        ("bmg", "read", "On bmg xe of kernel 7.2 was read: "),
    ] {
        let text = gemtool(&format!("platforms {platform}")).held();
        assert!(text.contains(sentence), "{text}");
        assert_eq!(gemtool(&format!("platforms {platform} --json")).json()["basis"], basis);
    }
}

#[test]
fn only_what_i915_does_not_drive_is_taken_as_xes_without_the_flag() {
    assert_eq!(gemtool("platforms lnl --json").json()["driver"], "xe");
    assert!(gemtool("platforms mtl").held().contains("under kernel 6.12"));
    assert!(gemtool("platforms mtl --driver xe").held().contains("xelpg_pat_table"));
    assert_eq!(
        gemtool("explain --platform lnl --pat 3 --json").json()["refused"]["rule"],
        "cached-not-snooped"
    );
    gemtool("platforms jsl --driver xe").refused(&["Jasper Lake is driven by i915"]);
    gemtool("platforms lnl --driver i915").refused(&["Lunar Lake is driven by xe"]);
    gemtool("platforms ptl --kernel 6.12").refused(&["Linux 6.12 does not claim ptl (--kernel 7.2 does)"]);
    gemtool("platforms --driver xe --kernel 6.1")
        .refused(&["--kernel", "cover Linux 6.12 and later, and not 6.1"]);
}

#[test]
fn flags_of_the_other_driver_and_numbers_that_are_none_are_refused_by_name() {
    let explain = "explain --driver xe --platform lnl";
    for (rest, words) in [
        ("", ["--pat", "needed with --driver xe"]),
        ("--pat many", ["--pat", "'many' is not a number"]),
        ("--pat -1", ["--pat", "'-1' is not a number"]),
        ("--pat 65536", ["--pat", "'65536' is not a number from 0 to 65535"]),
        ("--pat 1 --mocs uncached", ["--mocs", "is about i915"]),
        ("--pat 1 --table", ["--table", "is about i915"]),
        ("--pat 1 --object stolen", ["--object", "user, local, import and userptr"]),
        ("--pat 1 --object userptr --caching wb", ["--caching", "does not decide"]),
        ("--pat 1 --caching wt", ["wt", "wb, wc"]),
    ] {
        gemtool(&format!("{explain} {rest}")).refused(&words);
    }
    let i915 = "explain --platform jsl --level llc --writer cpu --reader gpu";
    gemtool(&format!("{i915} --caching wb")).refused(&["--caching", "--driver xe"]);
    gemtool(&format!("{i915} --in-batch")).refused(&["--in-batch", "--driver xe"]);
    // A number past the table is a question about it.
    let beyond = gemtool(&format!("{explain} --pat 32 --json")).json();
    assert_eq!(
        (&beyond["refused"]["rule"], &beyond["pat"]),
        (&"pat-index-beyond".into(), &serde_json::Value::Null)
    );
}

#[test]
fn rules_of_both_drivers_are_found_by_name() {
    assert!(gemtool("rules cached-not-snooped").held().contains("xe_vm_bind_ioctl_validate_bo"));
    assert!(gemtool("rules wc-drain --driver xe").held().contains("SFENCE"));
    assert!(!gemtool("rules wc-drain").held().contains("SFENCE"));
    assert!(gemtool("rules --driver xe").held().starts_with("create-reserved\n"));
    gemtool("rules nonsense").refused(&["unknown rule 'nonsense'", "--driver xe"]);
}

#[test]
fn a_check_of_xe_names_each_platform_and_holds() {
    let text = gemtool("check --driver xe").held();
    assert!(text.ends_with("Every property holds: 26 devices.\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with("  holds")).count(), 26, "{text}");
    fits(&text, 80);
    // A platform has the kernels that claim it.
    assert!(gemtool("check --platform ptl").held().contains("  ptl       7.2     run "));
}

#[test]
fn a_check_of_xe_without_a_rule_shows_the_shortest_violation() {
    let line = "check --platform lnl --kernel 7.2 --without";
    let text = gemtool(&format!("{line} cached-not-snooped")).violated();
    let trace = "\
The shortest violation: no-leak on lnl, kernel 7.2, wb, driver

  0  new memory
              memory secret, CPU cache newest (dirty)
  1  driver   VM_BIND by PAT index 0
              memory secret, CPU cache newest (dirty)
  2  driver   a batch reads: secret
              required: unknown, the rules exclude the mapping (cannot-be-bound)
              memory secret, CPU cache newest (dirty), GPU cache secret
";
    assert!(text.contains(trace), "{text}");
    let text = gemtool(&format!("{line} wc-drain")).violated();
    assert!(text.contains("omits the operation that wc-drain requires: the rule is removed\n"), "{text}");
    let text = gemtool(&format!("{line} madvise-check")).violated();
    assert!(text.contains("without madvise-check (read, and not run)\n"), "{text}");
    assert!(text.contains("  2  driver   MADVISE with PAT index 0\n"), "{text}");
    // The twin: a rule of discrete devices.
    gemtool(&format!("{line} bar-drain")).held();
}

#[test]
fn a_check_of_xe_refuses_what_it_does_not_know_by_name() {
    for (rest, words) in [
        ("--without nonsense", ["--without", "unknown rule of xe 'nonsense'"]),
        ("--platform jsl", ["--platform", "Jasper Lake is driven by i915"]),
        ("--platform ptl --kernel 6.12", ["--platform", "does not claim ptl"]),
        ("--kernel 6.1", ["--kernel", "and not 6.1"]),
        ("--caller hostile", ["--caller", "is about i915"]),
        ("--rules", ["--rules", "is about i915"]),
    ] {
        gemtool(&format!("check --driver xe {rest}")).refused(&words);
    }
    gemtool("check --platform jsl --without cached-not-snooped").refused(&["--without", "gemtool rules"]);
}

#[test]
fn every_table_fits() {
    let runs = ["tgl", "dg2", "mtl", "lnl", "bmg", "ptl", "nvlp", "cri"]
        .map(|name| format!("platforms {name} --driver xe"));
    let others = [
        "platforms --driver xe",
        "rules --driver xe",
        "explain --driver xe --platform bmg --object local --pat 6",
    ];
    for run in runs.iter().map(String::as_str).chain(others) {
        fits(&gemtool(run).held(), 100);
    }
}
