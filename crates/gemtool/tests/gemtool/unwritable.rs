//! Output that cannot be written, for every command: exit status 2 for results, no effect for the log.

use std::fs::File;
use std::process::Command;

use crate::text::manual;
use crate::{Ran, command, gemtool, ran};

/// Returns a short run of every command, but for `sim` and `sanitize`, whose output is the program's.
fn lines() -> Vec<String> {
    let line = |command: String| {
        let arguments = match command.as_str() {
            "alloc" | "info" => "--device sim:glk",
            "platforms" | "rules" | "man" => "",
            "eu" => "disasm examples/shaders/copy.asm --platform jsl",
            "dispatch" => "examples/shaders/add.spv --device sim:tgl --surface 0=64 --surface 1=64",
            "lines" => "examples/shaders/copy.asm --device sim:glk",
            "explain" => "--platform jsl --who kernel --event acquire",
            "check" => "--platform i830 --kernel 6.12 --caller protocol",
            "run" => "examples/scripts/forgotten-flush.gemco --device sim:glk",
            "scanout" => "--device sim:hsw,display=on --frames cpu",
            "serve" => "jsl",
            "trace" => "--device /dev/null -- true",
            "verify" => "--quick --device sim:glk --caching none --read gpu-blit",
            "bench" => "--quick reuse",
            "completions" => "bash",
            other => panic!("this test does not know a short run of 'gemtool {other}'"),
        };
        format!("{command} {arguments}")
    };
    let runs_a_program = |command: &String| command == "sim" || command == "sanitize";
    manual::commands().into_iter().filter(|command| !runs_a_program(command)).map(line).collect()
}

/// Returns the arguments that only print text: help, for every command, and the version.
fn texts() -> Vec<String> {
    let helps = manual::commands().into_iter().map(|command| format!("{command} --help"));
    ["--help".to_owned(), "--version".to_owned()].into_iter().chain(helps).collect()
}

/// Runs gemtool with the arguments in `line`, its files redirected by `redirection` in the syntax of `sh`.
fn redirected(line: &str, redirection: &str) -> Ran {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec \"$0\" \"$@\" {redirection}"));
    shell.arg(env!("CARGO_BIN_EXE_gemtool")).args(line.split_whitespace());
    // `serve` prints where its library is, which is not built with the tests: any file will do.
    shell.env("GEM_COHERENCY_PRELOAD", env!("CARGO_BIN_EXE_gemtool"));
    ran(shell)
}

#[test]
fn an_unwritable_result_is_exit_status_2() {
    for line in lines().iter().chain(&texts()) {
        for redirection in [">/dev/full", ">&-", "1</dev/null"] {
            let ran = redirected(line, redirection);
            let context = format!("gemtool {line} {redirection}: {}", ran.err);
            assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{context}");
            // `trace` without root and `bench` without its feature have no results to write.
            let without_bench = !cfg!(feature = "bench") && line.starts_with("bench --quick");
            let is_refused = (without_bench || line.starts_with("trace --device")) && redirection != ">&-";
            assert!(is_refused || ran.err.contains("error: cannot write the output: "), "{context}");
        }
    }
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    for line in texts() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut closed = command(&line);
        closed.stdout(writer);
        assert_eq!(ran(closed).status, Some(0), "{line}");
    }
    for line in ["rules", "platforms --json", "--version"] {
        // Some programs open /dev/null for reading and writing before they start others.
        for read in [false, true] {
            let mut discarded = command(line);
            discarded.stdout(File::options().read(read).write(true).open("/dev/null").unwrap());
            assert_eq!(ran(discarded).status, Some(0), "{line}");
        }
    }
}

#[test]
fn a_log_that_cannot_be_written_changes_nothing() {
    // `serve` does not end by itself.
    for line in lines().iter().filter(|line| !line.starts_with("trace") && !line.starts_with("serve")) {
        // Measured times differ from run to run.
        let is_repeatable = !["bench", "check", "verify"].iter().any(|timed| line.starts_with(timed));
        let quiet = gemtool(line);
        for redirection in ["2>/dev/full", "2>&-", "2</dev/null"] {
            let ran = redirected(&format!("{line} -vv"), redirection);
            assert_eq!(ran.status, quiet.status, "gemtool {line} {redirection}");
            assert!(!is_repeatable || ran.out == quiet.out, "gemtool {line} {redirection}: {}", ran.out);
        }
    }
}

#[test]
fn an_error_that_cannot_be_written_keeps_its_status() {
    for line in
        ["frobnicate", "rules same-cash", "info --device sim:foo", "alloc -vv --device sim:jsl,fault=enomem"]
    {
        for redirection in ["2>/dev/full", "2>&-", "2</dev/null"] {
            assert_eq!(redirected(line, redirection).status, Some(2), "gemtool {line} {redirection}");
        }
    }
}
