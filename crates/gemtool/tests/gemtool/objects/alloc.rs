//! `gemtool alloc`.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::{command, fits, gemtool, ran};

/// Returns the value of `field` at `step`, in the only group of a run.
#[track_caller]
fn at(report: &Value, step: &str, field: &str) -> Value {
    let steps = report["groups"][0]["steps"].as_array().unwrap();
    let line =
        steps.iter().find(|line| line["step"] == step).unwrap_or_else(|| panic!("no {step}: {report}"));
    line[field].clone()
}

/// Asserts verdict, lines and rule of `step` after `gemtool alloc` with the arguments in `line`.
#[track_caller]
fn case(line: &str, step: &str, verdict: &str, lines: u64, rule: &str) {
    let report = gemtool(&format!("alloc --json {line}")).json();
    let found = ["verdict", "lines", "rule"].map(|field| at(&report, step, field));
    assert_eq!(found, [Value::from(verdict), Value::from(lines), Value::from(rule)], "{line}");
    assert_eq!(report["groups"][0]["contents"]["mapping"], "right", "{line}");
    assert_eq!(report["passed"], true, "{line}");
}

#[test]
fn glk_uncached_write_through_the_cache_is_flushed_at_the_submit() {
    assert_eq!(
        gemtool("alloc --caching=none --map wb --device sim:glk").held(),
        "\
sim:glk: Gemini Lake (glk), i915 1.6.0, kernel 6.12

The kernel, at the first touch of a page (predicted)
  before        level none, coherent for nothing, no pages, dirty, domains cpu/cpu
  flushes       clflush-sync (acquire-dirty)
  after         level none, coherent for nothing, pages, not dirty, domains cpu/none
  rule          acquire-dirty: New pages are treated as dirty: their zeroes or swapped-in bytes may
                exist only in the CPU's cache.
  source        i915_gem_pages.c:__i915_gem_object_set_pages; a679f58d0510
  without it    nothing (acquire-coherent)

BO (handle 1)
  asked         64 KiB, caching none, map wb, contents counter
  kernel says   64 KiB, caching none
  level         none, coherent for nothing
  map           wb
  flushed by    library, where an access needs it (non-coherent-read)
  contents      right through the mapping, right with PREAD

  step     verdict  lines  bytes  rule
  write    none         0      0  nothing-stale
           No other agent wrote since the lines were last valid, so there is nothing to invalidate.
  submit   flush     1024  65536  non-coherent-read
           The GPU reads memory without snooping the CPU's caches, so dirty lines must be written
           back first.
  read     none         0      0  nothing-stale
           No other agent wrote since the lines were last valid, so there is nothing to invalidate.
  release  none         0      0  close-flushes-nothing
           Closing a handle flushes nothing; the kernel flushes pages before it reuses them.
"
    );
}

#[test]
fn the_kernels_acquire_is_predicted_by_platform_level_and_kernel() {
    let acquire = |line: &str| gemtool(&format!("alloc --json {line}")).json()["acquire"].clone();
    for (line, rule, flushes, without, flushes_without) in [
        ("--caching=none --device sim:jsl", "bypass-acquire", 1, "acquire-uncached-llc", 1),
        // The twins: a kernel without the rule of 2021, a level that the GPU sees, and a platform that nothing bypasses.
        ("--caching=none --device sim:jsl,kernel=6.0", "acquire-uncached-llc", 1, "acquire-coherent", 0),
        ("--caching=cached --device sim:jsl,kernel=6.0", "acquire-coherent", 0, "acquire-coherent", 0),
        ("--caching=cached --device sim:jsl", "bypass-acquire", 1, "acquire-coherent", 0),
        ("--caching=none --device sim:glk", "acquire-dirty", 1, "acquire-coherent", 0),
        ("--caching=none --device sim:mtl", "bypass-acquire", 1, "acquire-dirty", 1),
    ] {
        let found = acquire(line);
        let count = |effects: &Value| effects.as_array().unwrap().len();
        assert_eq!((found["rule"].as_str(), count(&found["effects"])), (Some(rule), flushes), "{line}");
        let other = &found["without_rule"];
        assert_eq!(
            (other["rule"].as_str(), count(&other["effects"])),
            (Some(without), flushes_without),
            "{line}"
        );
        assert_eq!(found["before"]["pages"], false, "{line}");
        assert_eq!(found["after"]["pages"], true, "{line}");
    }
    assert_eq!(acquire("--device sim:dg2"), Value::Null, "the placement decides on a discrete device");
    let text = gemtool("alloc --device sim:dg2").held();
    assert!(text.contains("the kernel's is not predicted: on a discrete device"), "{text}");
}

#[test]
fn whether_a_submit_flushes_depends_on_level_path_and_platform() {
    case("--caching=none --map wb --device sim:glk", "submit", "flush", 1024, "non-coherent-read");
    case("--caching=cached --map wb --device sim:glk", "submit", "none", 0, "snooped");
    case("--caching=none --map wc --device sim:glk", "submit", "drain", 0, "wc-drain");
    case("--caching=none --map gtt --device sim:glk", "submit", "drain", 0, "gtt-drain");
    case("--caching=none --map wb --device sim:jsl", "submit", "none", 0, "llc-coherent");
    case(
        "--caching=none --map wb --mocs bypass-llc --device sim:jsl",
        "submit",
        "flush",
        1024,
        "bypass-mocs-read",
    );
    case("--caching=none --map wb --mocs bypass-llc --device sim:icl", "submit", "none", 0, "llc-coherent");
    case("--device sim:dg2", "submit", "none", 0, "discrete-snoops");
}

#[test]
fn a_scanout_flushes_lines_that_the_llc_hides() {
    case("--caching=display --scanout --device sim:hsw", "scanout", "flush", 1024, "display-reads-memory");
    case("--caching=none --map wb --scanout --device sim:glk", "scanout", "none", 0, "nothing-dirty");
}

#[test]
fn a_gpu_write_is_invalidated_before_the_cpu_reads() {
    case(
        "--caching=none --map wb --gpu write --device sim:glk",
        "read",
        "invalidate",
        1024,
        "stale-after-gpu-write",
    );
    case("--caching=none --map wb --gpu read --device sim:glk", "read", "none", 0, "nothing-stale");
    case("--caching=none --map wb --gpu write --device sim:jsl", "read", "none", 0, "llc-coherent");
}

#[test]
fn the_contents_are_right_on_every_platform_with_an_adversary() {
    let platforms = gemtool("platforms --json").json();
    for row in platforms["platforms"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        for gpu in ["read", "write"] {
            let line =
                format!("alloc --json --scanout --size 8193 --gpu {gpu} --device sim:{name},adversary=on");
            // A discrete device can show only local memory, and these BOs are in system memory.
            let line = if row["caps"].to_string().contains("discrete") {
                line.replace("--scanout ", "")
            } else {
                line
            };
            assert_eq!(gemtool(&line).json()["passed"], true, "{line}");
        }
    }
}

#[test]
fn the_report_has_both_request_and_result() {
    let report =
        gemtool("alloc --json --caching=display --size 5000 --fill 0xDEADBEEF --device sim:skl").json();
    let group = &report["groups"][0];
    assert_eq!(report["asked"]["fill"], "0xdeadbeef");
    assert_eq!((&report["asked"]["size_bytes"], &group["size_bytes"]), (&5000.into(), &8192.into()));
    // DISPLAY reads back as NONE on platforms without eDRAM.
    assert_eq!(
        (&report["asked"]["caching"], &group["kernel_caching"]["mode"]),
        (&"display".into(), &"none".into())
    );
    assert_eq!(group["coherent"], Value::Array(vec!["read".into()]));
    assert_eq!((&group["map"], &group["flushed_by"]), (&"wb".into(), &"library".into()));
}

#[test]
fn a_pat_index_chosen_at_creation_does_not_read_back() {
    let report = gemtool("alloc --json --caching=none --device sim:mtl").json();
    assert_eq!(report["groups"][0]["kernel_caching"]["refused"], "EOPNOTSUPP");
    assert_eq!(report["groups"][0]["level"], "none");
    assert!(report["groups"][0]["contents"]["pread"]["not-available"].as_str().unwrap().contains("PREAD"));
}

#[test]
fn bos_alike_are_shown_once_and_counted_by_rule() {
    let line = "alloc --caching=none --map wb --count 500 --size 4096 --device sim:glk";
    let report = gemtool(&format!("{line} --json")).json();
    assert_eq!(report["groups"].as_array().unwrap().len(), 1);
    assert_eq!(report["groups"][0]["count"], 500);
    let totals = report["totals"].as_array().unwrap();
    let submit = totals.iter().find(|total| total["step"] == "submit").unwrap();
    assert_eq!(
        (&submit["bos"], &submit["lines"], &submit["bytes"]),
        (&500.into(), &32_000.into(), &2_048_000.into())
    );
    let text = gemtool(line).held();
    assert!(text.contains("500 identical BOs") && text.lines().count() < 40, "{text}");
    fits(&text, 100);
}

#[test]
fn an_exported_bo_comes_back_as_the_same_handle() {
    let report = gemtool("alloc --json --caching=none --map wb --export --device sim:glk").json();
    assert_eq!(report["groups"][0]["export"]["same_handle"], true);
    assert_eq!(at(&report, "export", "rule"), "nothing-dirty");
}

#[test]
fn held_bos_are_kept_until_a_line_or_the_end_of_input() {
    for input in [&b"\n"[..], b""] {
        let mut held = command("alloc --caching=none --count 3 --hold --device sim:jsl");
        held.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = held.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(out.contains("handles 1 to 3") && out.contains("Released: 3"), "{out}");
        assert!(err.contains("BOs held: 3"), "{err}");
    }
}

#[test]
fn a_signal_ends_an_allocation_that_holds_and_everything_is_released() {
    use nix::sys::signal::{Signal, kill};
    for (signal, flag) in [(Signal::SIGINT, ""), (Signal::SIGTERM, "--json"), (Signal::SIGHUP, "")] {
        // More BOs than any machine allocates before the signal arrives.
        let line = format!("alloc --count 1000000000 --size 4096 --hold --device sim:glk {flag}");
        let mut held = command(&line);
        held.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = held.spawn().unwrap();
        let _open = child.stdin.take();
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        // The list of handles is longer than a pipe holds, so it is read while the command ends.
        let (ended, output) = std::sync::mpsc::channel();
        std::thread::spawn(move || ended.send(child.wait_with_output().unwrap()));
        std::thread::sleep(Duration::from_millis(500));
        kill(pid, signal).unwrap();
        let output = output.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| {
            kill(pid, Signal::SIGKILL).unwrap();
            panic!("{signal} was ignored")
        });
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(2), "{signal}: {err}");
        let done = err.strip_prefix("error: --hold: interrupted after ").unwrap_or_else(|| panic!("{err}"));
        let done: u64 = done.split(' ').next().unwrap().parse().unwrap();
        assert!(done > 0, "{err}");
        if flag.is_empty() {
            assert!(out.contains(&format!("\n{done} of 1000000000 BOs, by rule\n")), "{out}");
            assert!(out.contains(&format!("\nReleased: {done}\n")), "{out}");
        } else {
            let documents = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
            let [report, released] = &documents.map(Result::unwrap).collect::<Vec<_>>()[..] else {
                panic!("{out}")
            };
            assert_eq!((&report["groups"][0]["count"], &released["released"]), (&done.into(), &done.into()));
        }
    }
}

#[test]
fn the_log_lists_actions_and_leaves_the_output_unchanged() {
    let quiet = gemtool("alloc --caching=none --device sim:jsl").held();
    for (line, variable) in [("-v", ""), ("", "debug")] {
        let mut loud = command(&format!("alloc --caching=none --device sim:jsl {line}"));
        loud.env("GEM_COHERENCY_LOG", variable);
        let loud = ran(loud);
        assert_eq!((loud.status, &loud.out), (Some(0), &quiet));
        assert!(
            loud.err.contains("DRM_IOCTL_I915_GEM_CREATE") && loud.err.contains("llc-coherent"),
            "{}",
            loud.err
        );
    }
}

#[test]
fn contents_that_read_back_wrong_are_exit_status_1() {
    let ran = gemtool("alloc --caching=cached --device sim:tgl,fault=stray");
    assert_eq!(ran.status, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("WRONG through the mapping from byte 0 on"), "{}", ran.out);
    let json = gemtool("alloc --json --caching=cached --count 3 --device sim:tgl,fault=stray@1");
    assert_eq!(json.status, Some(1), "{}", json.err);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(report["passed"], false);
    let counts: Vec<_> = report["groups"].as_array().unwrap().iter().map(|group| &group["count"]).collect();
    assert_eq!(counts, [2, 1], "two were right, and one was not");
}
