//! `gemtool explain` and `gemtool rules`.

use std::collections::{BTreeMap, BTreeSet};

use gem_coherency::policy::Decision;
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency::{AllocRequest, Submission};
use serde_json::Value;

use crate::{fits, gemtool};

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
        let reports = device.begin_submit(&[Submission { bo: &bo, access, mocs }]).unwrap().end(None);
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
    for who in ["driver", "kernel"] {
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
