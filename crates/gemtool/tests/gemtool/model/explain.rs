//! `gemtool explain` and `gemtool rules`.

use std::collections::{BTreeMap, BTreeSet};

use gem_coherency::policy::Decision;
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency::{AllocRequest, Submission};
use serde_json::Value;

use crate::{fits, gemtool, sample};

const JSL: &str = "explain --platform jsl --who driver --level none --map wb --writer cpu --reader gpu";

#[test]
fn jsl_uncached_write_needs_a_flush_before_a_bypassing_read() {
    assert_eq!(
        gemtool(&format!("{JSL} --mocs bypass-llc")).held(),
        "\
jsl, kernel 6.12, level none: cpu wb, then gpu bypass-llc read
  Kernel 6.12 was run: the rules are compared with its driver in a virtual machine.

  flush?        flush
  rule          bypass-mocs-read
  reason        Reads with MOCS entries 16 and 17 bypass the LLC at any level, so dirty lines must
                be written back first.
  source        intel_mocs.c:gen11_mocs_table; 13d29c823738
  decided by    policy::driver::needs_flush, when a device is opened

  invalidate?   none
  rule          uncached-read
  reason        The next access does not read through the CPU's caches, so stale lines cannot affect
                it.
  source        i915_gem_domain.c:i915_gem_object_set_to_gtt_domain
  decided by    policy::driver::needs_invalidate, when a device is opened
"
    );
}

#[test]
fn jsl_uncached_write_needs_no_flush_before_a_read_through_the_llc() {
    let answer = gemtool(&format!("{JSL} --json")).json();
    let decisions = answer["decisions"].as_array().unwrap();
    let verdicts: Vec<_> = decisions.iter().map(|row| (&row["question"], &row["verdict"])).collect();
    assert_eq!(
        verdicts,
        [(&Value::from("flush"), &Value::from("none")), (&"invalidate".into(), &"none".into())]
    );
    assert_eq!(decisions[0]["rule"], "llc-coherent");
    assert_eq!((&decisions[0]["map"], &decisions[0]["mocs"]), (&"wb".into(), &"page-table".into()));
}

#[test]
fn explain_says_what_a_submission_reports() {
    let verdicts: BTreeSet<_> = ["jsl", "tgl", "glk"].into_iter().flat_map(submissions).collect();
    assert_eq!(verdicts, BTreeSet::from(["flush".to_owned(), "none".to_owned()]));
}

/// Compares `explain` with the report of every submission that follows a store; returns the verdicts.
fn submissions(platform: &str) -> Vec<String> {
    let device = gem_coherency_sim::open(&format!("sim:{platform}")).unwrap();
    let accesses =
        Access::ALL.iter().flat_map(|access| MocsClass::ALL.iter().map(move |mocs| (*access, *mocs)));
    let levels = [(CachingMode::None, "none"), (CachingMode::Cached, "llc")];
    let cases = accesses.flat_map(|case| levels.map(|level| (case, level)));
    let report = |((access, mocs), (caching, level))| {
        let bo = device.alloc(AllocRequest::new(4096).caching(caching)).unwrap();
        bo.map(MmapMode::Wb).unwrap();
        bo.write_bytes(0, b"new").unwrap();
        let reports = device
            .submit_with(&[Submission { bo: &bo, access, mocs }], |reports| Ok(reports.to_vec()))
            .unwrap();
        let line = format!(
            "explain --platform {platform} --level {level} --writer cpu --reader gpu --access {access} --mocs {mocs}"
        );
        let answer = gemtool(&format!("{line} --json")).json();
        let said = answer["decisions"].as_array().unwrap();
        let (submission, place) = if access == Access::Write { ("submission", 2) } else { ("flush", 0) };
        assert_eq!(said[place]["question"], submission, "{line}");
        let Decision { verdict, rule } = reports[0].decision;
        assert_eq!(
            (&said[place]["verdict"], &said[place]["rule"]),
            (&verdict.name().into(), &rule.name().into()),
            "{line}"
        );
        verdict.name().to_owned()
    };
    cases.map(report).collect()
}

#[test]
fn a_pat_index_stands_for_its_level() {
    let asked = |level: &str| {
        let line = format!("explain --platform mtl {level} --writer cpu --reader gpu");
        gemtool(&format!("{line} --json")).json()
    };
    for (pat, level, verdict) in
        [(0, "wt", "flush"), (1, "wt", "flush"), (2, "none", "flush"), (3, "llc", "none"), (4, "llc", "none")]
    {
        let by_pat = asked(&format!("--pat {pat}"));
        assert_eq!(by_pat["user_pat"], pat);
        let by_level = asked(&format!("--level {level}"));
        assert!(by_level.get("user_pat").is_none(), "{by_level}");
        assert_eq!(by_pat["decisions"], by_level["decisions"], "{pat}");
        assert_eq!(by_pat["decisions"][0]["verdict"], verdict, "{pat}");
    }
    let heading = "mtl, kernel 6.12, level wt (PAT index 0): cpu wb, then gpu page-table read\n";
    assert!(
        gemtool("explain --platform mtl --pat 0x0 --writer cpu --reader gpu").held().starts_with(heading)
    );
}

#[test]
fn a_pat_index_is_an_object_of_the_kernel() {
    let by = |object: &str| gemtool(&format!("explain --platform mtl --who kernel {object}")).held();
    for rest in ["--event acquire", "--event set-domain-cpu-read --state acquire,exec-write", "--table"] {
        assert_eq!(by(&format!("--pat 3 {rest}")), by(&format!("--object pat:3 {rest}")), "{rest}");
        assert_ne!(by(&format!("--pat 2 {rest}")), by(&format!("--object pat:3 {rest}")), "{rest}");
    }
}

#[test]
fn stores_through_the_aperture_are_drained_before_a_load_through_a_wb_mapping() {
    assert_eq!(
        gemtool("explain --platform glk --level none --writer cpu --map gtt --reader cpu --reader-map wb")
            .held(),
        "\
glk, kernel 6.12, level none: cpu gtt, then cpu wb read
  Kernel 6.12 was run: the rules are compared with its driver in a virtual machine.

  flush?        drain
  drained by    a fence, then a load through the mapping, by the thread that stored
  rule          gtt-drain
  reason        Stores through the aperture may still be in the CPU's or the chipset's buffers.
  source        intel_gt.c:intel_gt_flush_ggtt_writes
  decided by    policy::driver::needs_flush, when a device is opened

  invalidate?   invalidate
  rule          stale-after-uncached-write
  reason        The CPU's store bypassed its caches; without an LLC, lines there may be stale.
  source        i915_gem_domain.c:i915_gem_object_set_to_cpu_domain
  decided by    policy::driver::needs_invalidate, when a device is opened
"
    );
}

/// Returns the verdicts on a pair of accesses of one agent, and how its stores are drained.
fn one_agent(line: &str) -> (Vec<String>, Option<String>) {
    let answer = gemtool(&format!("explain {line} --json")).json();
    let verdict =
        |row: &Value| format!("{} {}", row["verdict"].as_str().unwrap(), row["rule"].as_str().unwrap());
    let drained_by = answer.get("drained_by").map(|words| words.as_str().unwrap().to_owned());
    (answer["decisions"].as_array().unwrap().iter().map(verdict).collect(), drained_by)
}

#[test]
fn each_pair_of_paths_of_one_agent_has_its_rule() {
    let cpu = |platform: &str, from: &str, to: &str| {
        let (verdicts, drained_by) = one_agent(&format!(
            "--platform {platform} --level none --writer cpu --map {from} --reader cpu --reader-map {to}"
        ));
        (verdicts.join(", "), drained_by.unwrap_or_default())
    };
    let pair = |verdicts: &str, drained_by: &str| (verdicts.to_owned(), drained_by.to_owned());
    let stale = "invalidate stale-after-uncached-write";
    let fresh = "none llc-coherent-alias";
    assert_eq!(cpu("glk", "wc", "wb"), pair(&format!("drain wc-drain, {stale}"), "fence"));
    assert_eq!(cpu("skl", "wc", "wb"), pair(&format!("drain wc-drain, {fresh}"), "fence"));
    assert_eq!(cpu("glk", "gtt", "wb"), pair(&format!("drain gtt-drain, {stale}"), "fence-and-load"));
    assert_eq!(cpu("skl", "gtt", "wb"), pair(&format!("drain gtt-drain, {fresh}"), "fence"));
    assert_eq!(cpu("glk", "uc", "wb"), pair(&format!("none uncached-store, {stale}"), ""));
    assert_eq!(cpu("glk", "wb", "wc"), pair("flush uncached-alias, none uncached-read", ""));
    assert_eq!(cpu("glk", "wc", "wc"), pair("none same-path, none uncached-read", ""));
    assert_eq!(cpu("mtl", "gtt", "wb").0, "refused gtt-needs-aperture, refused gtt-needs-aperture");

    let gpu = "--platform jsl --level llc --writer gpu --reader gpu";
    let (around, _) = one_agent(&format!("{gpu} --reader-mocs bypass-llc"));
    assert_eq!(around[0], "flush gpu-write-may-be-cached");
    let (same, _) = one_agent(gpu);
    assert_eq!(same[0], "none llc-coherent");
}

#[test]
fn a_read_past_the_caches_is_called_slow_with_what_is_faster() {
    let faster = |line: &str| {
        let answer = gemtool(&format!("explain --platform {line} --json")).json();
        answer.get("slow_read").map(|words| words.as_str().unwrap().to_owned())
    };
    for map in ["wc", "uc", "gtt"] {
        let none = format!("--level none --writer gpu --reader cpu --map {map}");
        assert_eq!(faster(&format!("glk {none}")).as_deref(), Some("map-wb-and-invalidate"), "{map}");
        assert_eq!(faster(&format!("skl {none}")).as_deref(), Some("map-wb"), "{map}");
    }
    assert_eq!(faster("glk --level llc --writer gpu --reader cpu --map wc").as_deref(), Some("map-wb"));
    assert_eq!(faster("dg2 --level none --writer gpu --reader cpu --map fixed").as_deref(), Some("copy"));
    for fast in [
        "glk --level none --writer gpu --reader cpu",
        "glk --level none --writer gpu --reader cpu --map wc --access write",
        "glk --level none --writer cpu --map wc --reader gpu",
        "glk --level none --writer cpu --map wc --reader cpu --reader-map wb",
        "glk --level llc --writer gpu --reader cpu --map gtt",
        "dg2 --level llc --writer gpu --reader cpu --map fixed",
        "dg2 --level none --writer gpu --reader cpu --map wc",
    ] {
        assert_eq!(faster(fast), None, "{fast}");
    }
    let line = "  slow read     no load is cached: map WB and invalidate, or let the GPU copy\n";
    let text = gemtool("explain --platform glk --level none --writer gpu --reader cpu --map wc").held();
    assert!(text.ends_with(line), "{text}");
    fits(line.trim_end(), 100);
}

#[test]
fn a_path_of_the_reader_is_that_of_the_table() {
    let rows = gemtool("explain --table --json --platform glk").json_lines();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let of_cpu = rows.iter().filter(|row| row.get("reader_map").is_some() && row["level"] == "none");
    let pairs: Vec<_> = of_cpu.filter(|row| row["question"] == "flush" && row["access"] == "read").collect();
    assert_eq!(pairs.len(), 25);
    for row in pairs {
        let (map, reader_map) = (text(row, "map"), text(row, "reader_map"));
        let line = format!(
            "--platform glk --level none --writer cpu --map {map} --reader cpu --reader-map {reader_map}"
        );
        let (verdicts, _) = one_agent(&line);
        assert_eq!(verdicts[0], format!("{} {}", text(row, "verdict"), text(row, "rule")), "{line}");
    }
}

#[test]
fn a_write_alone_needs_less_than_the_submission_that_makes_it() {
    let line =
        "explain --platform jsl --level llc --writer cpu --reader gpu --access write --mocs bypass-llc";
    let answer = gemtool(&format!("{line} --json")).json();
    let rules: Vec<_> = answer["decisions"].as_array().unwrap().iter().map(|row| &row["rule"]).collect();
    assert_eq!(rules, ["llc-coherent", "uncached-read", "bypass-mocs-read"]);
}

#[test]
fn jsl_acquire_flushes_from_5_15_on() {
    assert_eq!(
        gemtool("explain --platform jsl --kernel 6.1 --who kernel --event acquire").held(),
        "\
jsl, kernel 6.1: acquire on object 'user'
  Kernel 6.1 was run: the rules are compared with its driver in a virtual machine.
  before        level llc, coherent for reads and writes, no pages, not dirty, domains cpu/cpu
  issues        clflush-sync (bypass-acquire)
  after         level llc, coherent for reads and writes, pages, not dirty, domains cpu/none
  rule          bypass-acquire
  reason        Userspace reads can bypass the LLC with a MOCS entry or PAT index, so every acquire
                flushes the zeroes first.
  source        i915_gem_shmem.c:shmem_get_pages; 13d29c823738
"
    );
    let before = gemtool("explain --platform jsl --kernel 5.14 --who kernel --event acquire --json").json();
    assert_eq!((&before["actions"], &before["rule"]), (&Value::Array(vec![]), &"acquire-coherent".into()));
}

#[test]
fn a_state_is_what_its_events_lead_to() {
    let line = "explain --platform glk --who kernel --level none --event set-domain-cpu-read --json --state";
    let stale = gemtool(&format!("{line} acquire,exec-write")).json();
    assert_eq!((&stale["actions"][0], &stale["rule"]), (&"clflush-sync".into(), &"enter-cpu-stale".into()));
    assert_eq!(stale["write_domain"], "render");
    let fresh = gemtool(&format!("{line} acquire")).json();
    assert_eq!(fresh["actions"], Value::Array(vec![]));
}

#[test]
fn the_kernel_table_is_closed_and_complete() {
    let rows = gemtool("explain --who kernel --table --json --platform jsl").json_lines();
    const STATE: [&str; 10] = [
        "backing",
        "framebuffer",
        "pinned",
        "level",
        "user_pat",
        "coherent",
        "pages",
        "read_domains",
        "write_domain",
        "dirty",
    ];
    let state = |row: &Value| STATE.map(|field| row.get(field).expect(field).to_string()).join(" ");
    let mut events: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &rows {
        assert!(events.entry(state(row)).or_default().insert(row["event"].to_string()), "twice: {row}");
        for field in ["platform", "kernel", "rule", "reason", "source"] {
            assert!(row[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {row}");
        }
        if row.get("errno").is_some() {
            assert_eq!(state(&row["next"]), state(row), "a refused event changes nothing: {row}");
            assert_eq!(row["actions"], Value::Array(vec![]), "{row}");
        }
    }
    assert!(events.values().all(|of_state| of_state.len() == 32));
    assert!(rows.iter().all(|row| events.contains_key(&state(&row["next"]))));
    let hangs = rows.iter().filter(|row| row.get("errno") == Some(&Value::Null));
    assert!(hangs.clone().count() > 0 && hangs.clone().all(|row| row["rule"] == "level-change-hangs"));
}

#[test]
fn a_table_without_a_platform_is_about_all_of_them() {
    let listed = gemtool("platforms --json").json();
    let listed: BTreeSet<_> = listed["platforms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].clone())
        .map(|name| name.to_string())
        .collect();
    // The table has 150 MB of rows: only the beginning of each is parsed as JSON.
    let platform = |row: &str| row.match_indices(',').nth(1).map(|(end, _)| format!("{}}}", &row[..end]));
    for who in sample(["kernel", "driver"], 1) {
        let rows = gemtool(&format!("explain --who {who} --table --json")).held();
        let heads: BTreeSet<_> = rows.lines().filter_map(platform).collect();
        let names =
            heads.iter().map(|head| serde_json::from_str::<Value>(head).unwrap()["platform"].to_string());
        assert_eq!(names.collect::<BTreeSet<_>>(), listed, "{who}");
    }
}

#[test]
fn the_driver_table_has_both_questions_for_every_pair() {
    let rows = gemtool("explain --table --json --platform glk").json_lines();
    // 4 levels, 9 paths to write and to access by, read and write, flush and invalidate.
    assert_eq!(rows.len(), 4 * 9 * 9 * 2 * 2);
    let is = |row: &Value, pairs: &[(&str, &str)]| pairs.iter().all(|(field, value)| row[*field] == *value);
    let pair =
        [("level", "none"), ("map", "wb"), ("writer", "cpu"), ("reader", "gpu"), ("mocs", "page-table")];
    let pair: Vec<_> = rows.iter().filter(|row| is(row, &pair) && row["access"] == "read").collect();
    assert_eq!(pair.len(), 2);
    assert!(is(pair[0], &[("question", "flush"), ("verdict", "flush"), ("rule", "non-coherent-read")]));
    assert!(is(pair[1], &[("question", "invalidate"), ("verdict", "none"), ("rule", "uncached-read")]));
}

#[test]
fn tables_fit_the_page() {
    for line in ["--who driver --platform jsl", "--who kernel --platform glk", "--who kernel --platform dg2"]
    {
        fits(&gemtool(&format!("explain --table {line}")).held(), 100);
    }
}

#[test]
fn wt_is_explained_with_edram_only() {
    let line = "explain --platform hsw --level wt --writer cpu --reader display --json";
    let verdict = |line: &str| gemtool(line).json()["decisions"][0]["verdict"].clone();
    assert_eq!(verdict(line), "refused");
    assert_eq!(verdict(&format!("{line} --edram")), "flush");
}

#[test]
fn every_rule_in_a_table_can_be_looked_up() {
    let rules = gemtool("rules --json").json();
    let known: BTreeSet<_> =
        rules["rules"].as_array().unwrap().iter().map(|rule| rule["rule"].to_string()).collect();
    for row in gemtool("explain --table --json --platform tgl").json_lines() {
        assert!(known.contains(&row["rule"].to_string()), "{row}");
    }
    assert_eq!(
        gemtool("rules same-cache").held(),
        "\
same-cache
  Both accesses go through the CPU's coherent caches.
  Intel SDM volume 3, 12.3 (methods of caching available)
"
    );
}
