//! `gemtool run`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{REPOSITORY, Ran, command, fits, gemtool, ran};

/// Runs `script` from standard input, with the arguments in `line`.
#[track_caller]
fn run(script: impl AsRef<[u8]>, line: &str) -> Ran {
    given(command(&format!("run - {line}")), script.as_ref())
}

/// Runs `command` with this standard input.
fn given(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // gemtool may have failed before it read all of it.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).expect("gemtool writes UTF-8");
    Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

const FORGOTTEN: &str = "\
# the flush is missing
a = alloc 4KiB caching=none map=wb
write a all fill=0xa5 raw
submit a
expect gpu-reads a all 0xa5
";

#[test]
fn a_table_has_a_row_for_each_step() {
    let text = FORGOTTEN.replace(" raw", "") + "where llc: submit a b\n";
    let text = text.replace("submit a b", "submit a");
    assert_eq!(
        run(text, "--device sim:glk").held(),
        "\
sim:glk: Gemini Lake (glk), i915 1.6.0, kernel 6.12
<stdin>

  line  statement                           verdict  lines  result
     2  a = alloc 4KiB caching=none map=wb                  handle 1, level none
     3  write a all fill=0xa5               none         0  nothing-stale
     4  submit a                            flush       64  non-coherent-read
     5  expect gpu-reads a all 0xa5                         passed
     6  submit a                                            skipped
        the device does not meet 'llc'

3 done, 1 passed, 1 skipped.
"
    );
}

#[test]
fn a_failed_expectation_is_reported_with_exit_status_1() {
    let ran = run(FORGOTTEN, "--device sim:glk");
    assert_eq!((ran.status, ran.err.as_str()), (Some(1), ""));
    assert!(ran.out.contains("MISMATCH"), "{}", ran.out);
    assert!(
        ran.out.contains("expected 0xa5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5 at 0, in 0..4096; seen\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with("3 done, 0 passed, 1 MISMATCH.\n"), "{}", ran.out);
    // It holds with an LLC, and with the library.
    run(FORGOTTEN, "--device sim:tgl").held();
    run(FORGOTTEN.replace(" raw", ""), "--device sim:glk").held();
}

#[test]
fn a_timeline_lists_actions_of_the_library_and_the_kernel() {
    let text = "a = alloc 4KiB caching=none map=wb\nwrite a 0..64 fill=0xa5\ndomain a cpu write\nsubmit a\n\
                expect gpu-reads a 0..4 0xa5\nexpect dirty a >= 1\n";
    let ran = run(text, "--device sim:glk --timeline");
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    assert_eq!(
        ran.out,
        "\
sim:glk: Gemini Lake (glk), i915 1.6.0, kernel 6.12
<stdin>

  1  a = alloc 4KiB caching=none map=wb
     -         handle 1, level none
     a         level none, map wb, 0 lines dirty, 0 stale
  2  write a 0..64 fill=0xa5
     kernel    clflush-sync of a, 4 KiB, 64 dirty lines (acquire-dirty) in page fault
     library   none at write of a, 0 lines (nothing-stale)
     a         level none, map wb, 1 line dirty, 0 stale
  3  domain a cpu write
  4  submit a
     kernel    clflush-async of a, 4 KiB, 0 dirty lines (exec-flush) in DRM_IOCTL_I915_GEM_EXECBUFFER2
     library   flush at submit of a, 1 line (non-coherent-read)
     a         level none, map wb, 0 lines dirty, 0 stale
  5  expect gpu-reads a 0..4 0xa5
     =>        passed
  6  expect dirty a >= 1
     =>        MISMATCH: expected dirty lines: at least 1; seen 0

4 done, 1 passed, 1 MISMATCH.
"
    );
    run(text, "--device sim:glk --timeline --json").refused(&["--timeline", "--json"]);
}

#[test]
fn the_json_has_everything() {
    let text = "a = alloc 5000 caching=none map=wb\nwrite a all fill=0xa5\nsubmit a access=read\n\
                expect dirty a == 1\nwhere llc: suspend\nexpect error ENODEV: map a fixed\n";
    let ran = run(text, "--device sim:glk --json");
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["device"]["platform"], &report["script"]), (&"glk".into(), &"<stdin>".into()));
    assert_eq!((&report["passed"], &report["stopped"]), (&false.into(), &Value::Null));
    assert_eq!(
        report["counts"],
        json!({"done": 3, "passed": 1, "mismatches": 1, "skipped": 1, "not_reached": 0})
    );
    assert_eq!(report["open"], json!({"handles": 0, "mappings": 0}));
    let steps = report["steps"].as_array().unwrap();
    let results: Vec<_> = steps.iter().map(|step| step["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["done", "done", "done", "mismatch", "skipped", "passed"]);
    let submit = &steps[2];
    assert_eq!(
        (&submit["line"], &submit["column"], &submit["statement"]),
        (&3.into(), &1.into(), &"submit a access=read".into())
    );
    assert_eq!(
        submit["decisions"],
        json!([{"bo": "a", "step": "submit", "verdict": "flush", "lines": 128, "bytes": 8192,
            "rule": "non-coherent-read"}])
    );
    assert_eq!(submit["bos"], json!([{"bo": "a", "level": "none", "map": "wb", "dirty": 0, "stale": 0}]));
    let flush = &steps[1]["kernel_flushes"][0];
    assert_eq!(
        (&flush["bo"], &flush["action"], &flush["bytes"]),
        (&"a".into(), &"clflush-sync".into(), &8192.into())
    );
    assert_eq!((&steps[3]["expected"], &steps[3]["seen"]), (&"dirty lines: 1".into(), &"0".into()));
    assert_eq!(steps[4]["why"], "the device does not meet 'llc'");
    assert!(steps[5]["note"].as_str().unwrap().contains("not available on glk"), "{}", steps[5]);
}

#[test]
fn a_syntax_error_is_reported_with_line_and_column() {
    let ran = run("a = alloc 4KiB\n  write a 0..64 fil=0xa5\n", "--device sim:glk");
    ran.refused(&[
        "error: <stdin>:2:17: unknown option 'fil=0xa5' (known: fill=PATTERN, raw, raw=MODE)\n",
        "\n    write a 0..64 fil=0xa5\n                  ^^^^^^^^\n",
    ]);
    run(b"a = alloc 4KiB\nfl\xffush a", "--device sim:glk").refused(&["<stdin>:2:3: byte 0xff is not UTF-8"]);
    run("\0", "--device sim:glk").refused(&["<stdin>:1:1: unknown statement"]);
    // The text is checked first: its errors need no device.
    run("flish a", "--device sim:foo").refused(&["<stdin>:1:1", "'flish'"]);
}

#[test]
fn a_statement_that_is_refused_stops_the_script_with_exit_status_2() {
    let ran = run("a = alloc 4KiB\nset-caching a none # no\nflush a\n", "--device sim:dg2");
    assert_eq!(ran.status, Some(2));
    assert!(
        ran.out.ends_with("Stopped: 1 done, 0 passed, 1 not reached.\n"),
        "what was done is shown: {}",
        ran.out
    );
    assert!(
        ran.err.starts_with("error: <stdin>:2:1: caching mode none is not available on dg2"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.ends_with("(ENODEV: No such device)\n  set-caching a none # no\n  ^^^^^^^^^^^\n"),
        "{}",
        ran.err
    );
    let json = run("a = alloc 4KiB\nread a 0..8KiB", "--json --device sim:tgl");
    let report: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(
        (json.status, &report["stopped"]["line"], &report["passed"]),
        (Some(2), &2.into(), &false.into())
    );
    assert_eq!(
        (&report["steps"][1]["result"], &report["steps"][1]["errno"]),
        (&"failed".into(), &"EINVAL".into())
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    gemtool("run").refused(&["SCRIPT"]);
    gemtool("run /nonexistent/x.gemco --device sim:jsl")
        .refused(&["cannot read '/nonexistent/x.gemco'", "No such file"]);
    gemtool("run /tmp --device sim:jsl").refused(&["cannot read '/tmp'", "directory"]);
    gemtool("run /dev/zero --device sim:jsl").refused(&["/dev/zero:1:1", "at most 64 MiB"]);
    gemtool("run /dev/null --device sim:jsl").held();
    gemtool("run /dev/null --device sim:foo").refused(&["--device", "unknown platform 'foo'"]);
    gemtool("run /dev/null --device /dev/null").refused(&["--device", "not a DRM device"]);
}

#[test]
fn a_hundred_thousand_lines_are_a_script() {
    let text = "a = alloc 4KiB\n".to_owned() + &"where llc: flush a\n# x\n".repeat(50_000);
    let ran = run(text, "--device sim:glk --json");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.out.contains("\"skipped\": 50000"));
}

#[test]
fn a_long_script_needs_no_more_memory_than_its_text() {
    // Each of these lines took a kilobyte when all steps and their results were kept. The program itself takes 32,000.
    let text = "a = alloc 4KiB\n".to_owned() + &"flush a\n".repeat(20_000);
    for flags in ["", "--timeline", "--json"] {
        let mut limited = Command::new("sh");
        limited.arg("-c").arg("ulimit -v 40000; exec \"$0\" run - --device sim:glk $1");
        limited.arg(env!("CARGO_BIN_EXE_gemtool")).arg(flags);
        let out = given(limited, text.as_bytes()).held();
        assert!(out.contains("20001 done") || out.contains("\"done\": 20001"), "{flags}");
        assert_eq!(out.matches("flush a").count(), 20_000, "{flags}");
    }
}

#[test]
fn the_samples_run_from_a_file() {
    for (sample, device) in [
        ("forgotten-flush", "glk"),
        ("llc-bypass", "jsl"),
        ("scanout", "hsw"),
        ("scanout", "tgl"),
        ("shader-lines", "jsl"),
    ] {
        let line = format!("run examples/scripts/{sample}.gemco --device sim:{device}");
        let text = gemtool(&line).held();
        assert!(text.contains(&format!("{sample}.gemco")) && !text.contains("MISMATCH"), "{text}");
        fits(&text, 100);
        let timeline = gemtool(&format!("{line} --timeline")).held();
        fits(&timeline, 120);
    }
    // This kernel lacks a flush: the sample expects what the GPU then reads.
    gemtool("run examples/scripts/llc-bypass.gemco --device sim:jsl,kernel=5.14").held();
}

#[test]
fn a_sample_without_its_flush_does_not_hold() {
    let sample =
        std::fs::read_to_string(format!("{REPOSITORY}/examples/scripts/forgotten-flush.gemco")).unwrap();
    let broken = sample.replacen("write a all fill=0xa5", "write a all fill=0xa5 raw", 1);
    assert_ne!(sample, broken);
    let ran = run(broken, "--device sim:glk");
    assert_eq!(ran.status, Some(1), "{}{}", ran.out, ran.err);
}

#[test]
fn the_log_lists_actions_and_leaves_the_output_unchanged() {
    let quiet = gemtool("run examples/scripts/scanout.gemco --device sim:tgl").held();
    let loud = ran(command("run examples/scripts/scanout.gemco --device sim:tgl -v"));
    assert_eq!((loud.status, &loud.out), (Some(0), &quiet));
    assert!(loud.err.contains("display-reads-memory") && loud.err.contains("statement"), "{}", loud.err);
}

#[test]
fn a_byte_order_mark_before_the_script_is_skipped() {
    let script = "a = alloc 4KiB\nflush b\n";
    let (plain, marked) =
        (run(script, "--device sim:glk"), run(format!("\u{feff}{script}"), "--device sim:glk"));
    assert_eq!(
        (marked.status, &marked.err),
        (Some(2), &plain.err),
        "lines and columns are those of the text"
    );
    assert!(run("\u{feff}a = alloc 4KiB", "--device sim:glk").held().contains("1 done"));
}
