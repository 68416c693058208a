//! `gemtool scanout` on software devices: the frames, their flushes, and the effect of leaving flushes out.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::{Ran, command, fits, gemtool};

/// Runs a command that exits with `status`; returns its output, parsed as JSON.
#[track_caller]
fn report(line: &str, status: i32) -> Value {
    let Ran { status: ended, out, err } = gemtool(&format!("scanout --json {line}"));
    assert_eq!((ended, err.as_str()), (Some(status), ""), "{line}: {out}");
    serde_json::from_str(&out).unwrap()
}

/// Returns the rows of a step, in order.
fn steps<'a>(report: &'a Value, step: &str) -> Vec<&'a Value> {
    report["rows"].as_array().unwrap().iter().filter(|row| row["step"] == step).collect()
}

/// Returns whether the display reads the drawn picture, for each row that reports it.
fn pictures(report: &Value) -> Vec<bool> {
    let rows = report["rows"].as_array().unwrap();
    let crcs = rows.iter().map(|row| &row["crc"]).filter(|crc| !crc.is_null());
    crcs.map(|crc| crc["read"] == crc["expected"]).collect()
}

#[test]
fn every_picture_is_right_and_the_kernel_flushes_as_predicted() {
    for (platform, more) in [
        ("skl", "--map wb"),
        ("tgl,kernel=6.1", "--buffer dumb"),
        ("jsl", "--caching none"),
        ("hsw", "--caching cached"),
        ("glk", "--map wb --frames cpu,partial,gpu,cpu"),
        ("glk,kernel=6.1", "--buffer dumb --caching cached"),
    ] {
        let report = report(&format!("--device sim:{platform},display=on {more}"), 0);
        let pictures = pictures(&report);
        assert!(pictures.len() >= 5 && pictures.iter().all(|&right| right), "{platform} {more}");
        assert_eq!(report["passed"], true);
        assert_eq!(report["display_crcs"], "simulated");
        let level = if platform == "hsw" { "display" } else { "none" };
        assert_eq!(steps(&report, "mode-set")[0]["caching_after"], level, "{platform} {more}");
        assert_eq!(steps(&report, "remove")[1]["caching_after"], level, "{platform}: it stays");
    }
}

#[test]
fn the_first_showing_is_flushed_by_the_kernel_and_later_ones_by_lines() {
    let report = report("--device sim:tgl,display=on --frames partial,cpu,cpu,partial", 0);
    let first = steps(&report, "mode-set")[0];
    assert_eq!(first["kernel"]["flushes"][0]["rule"], "scanout-flush");
    assert_eq!(first["caching_before"], "cached");
    let flips = steps(&report, "flip");
    assert_eq!(flips.len(), 2);
    assert_eq!(flips[1]["kernel"]["flushes"], Value::Array(Vec::new()), "it was shown before");
    assert_eq!(flips[1]["library"]["lines"], 1024 * 768 * 4 / 64);
    // 50 rows of 400 bytes from byte 40 of a line on.
    assert_eq!(steps(&report, "dirty")[1]["library"]["lines"], 50 * 7);
}

#[test]
fn without_the_librarys_flush_the_display_reads_old_pictures() {
    // Each buffer is shown twice, because the kernel may flush it the first time.
    for platform in ["skl", "tgl", "jsl", "hsw", "glk"] {
        let line =
            format!("--device sim:{platform},display=on --map wb --frames cpu,cpu,cpu,partial --no-flush");
        let report = report(&line, 1);
        let pictures = pictures(&report);
        assert_eq!(pictures[2..5], [false; 3], "{platform}");
        // If the level must change, the kernel flushes the first frames.
        assert_eq!(pictures[..2], [platform != "glk"; 2], "{platform}");
    }
}

#[test]
fn gpu_frames_need_no_flush_at_an_uncached_level() {
    let report = report("--device sim:glk,display=on --map wb --frames gpu,gpu,gpu --no-flush", 1);
    assert_eq!(pictures(&report)[1..4], [true; 3], "only the first was drawn by the CPU");
}

#[test]
fn a_kernel_without_its_rule_is_not_as_predicted() {
    let report = report("--device sim:tgl,display=on,without=scanout-flush", 1);
    let mismatch = steps(&report, "mode-set")[0]["kernel"]["mismatch"].as_str().unwrap().to_owned();
    assert_eq!(mismatch, "the kernel flushed nothing, the rules say whole, by a worker");
    assert!(pictures(&report).iter().all(|&right| right), "the library flushes all the same");
    let text = gemtool("scanout --device sim:tgl,display=on,without=scanout-flush --no-flush");
    assert_eq!(text.status, Some(1));
    assert!(text.out.contains("MISMATCH") && text.out.contains("WRONG"), "{}", text.out);
    fits(&text.out, 100);
}

#[test]
fn the_gpu_draws_before_sandy_bridge_too() {
    for platform in ["i830", "i945gm", "i965gm", "ilk"] {
        let report = report(&format!("--device sim:{platform},display=on"), 0);
        assert_eq!((steps(&report, "gpu-draw").len(), steps(&report, "flip").len()), (1, 2), "{platform}");
    }
}

#[test]
fn an_unshowable_request_is_refused_with_the_reason() {
    gemtool("scanout --device sim:tgl").refused(&["sim:tgl has no screen", "display=on"]);
    gemtool("scanout --device sim:dg2,display=on").refused(&["ADDFB2", "EREMOTE"]);
    gemtool("scanout --device sim:tgl,display=on,fault=enomem@1").refused(&["ENOMEM"]);
    gemtool("scanout --device sim:tgl,display=on,fault=enomem@9").refused(&["ENOMEM"]);
    gemtool("scanout --frames cpu,dsp").refused(&["dsp", "--frames"]);
    gemtool("scanout --pause 3").refused(&["--pause"]);
    gemtool("scanout --device /dev/null").refused(&["--device"]);
}

#[test]
fn a_signal_ends_it_and_says_so() {
    let mut command = command("scanout --device sim:tgl,display=on --pause 60s");
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: interrupted\n");
}
