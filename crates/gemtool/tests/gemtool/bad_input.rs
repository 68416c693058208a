//! Bad input: the message names the flag and the value, and the exit status is 2.

use std::process::Command;

use crate::{command, gemtool, ran};

#[test]
fn without_a_command_the_usage_is_shown() {
    gemtool("").refused(&["Usage: gemtool", "alloc", "explain"]);
    gemtool("frobnicate").refused(&["frobnicate"]);
}

#[test]
fn a_word_that_is_not_known_is_named_with_the_known_ones() {
    let explain = "explain --platform jsl --who kernel --event";
    gemtool(&format!("{explain} aquire")).refused(&["--event", "'aquire'", "acquire, release, fault"]);
    gemtool(&format!("{explain} acquire --object bo")).refused(&["--object", "'bo'", "user, userptr"]);
    gemtool(&format!("{explain} acquire --state new")).refused(&["--state", "'new'"]);
    gemtool("explain --platform jsl --level l3 --writer cpu --reader gpu")
        .refused(&["--level", "'l3'", "l3-llc"]);
    gemtool("explain --platform jsl --who me").refused(&["--who", "'me'", "kernel, driver"]);
    gemtool("rules same-cash").refused(&["'same-cash'", "did you mean same-cache, ", "gemtool rules"]);
    gemtool("alloc --device glk").refused(&["cannot open glk", "did you mean sim:glk?"]);
    gemtool("explain --platform lnl --driver i915 --level none --writer cpu --reader gpu")
        .refused(&["Lunar Lake is driven by xe"]);
    gemtool("check --platform lnl --driver i915").refused(&["Lunar Lake is driven by xe"]);
    gemtool("alloc --device sim:lnl").refused(&["lnl"]);
    gemtool("alloc --caching=cachd").refused(&["--caching", "'cachd'", "none, cached, display"]);
    gemtool("alloc --caching=none --map wt").refused(&["--map", "'wt'", "wb, wc, uc, gtt, fixed"]);
}

#[test]
fn a_platform_or_kernel_that_is_not_known_is_named() {
    gemtool("explain --platform foo --table").refused(&["--platform", "'foo'", "gemtool platforms"]);
    gemtool("platforms foo").refused(&["'foo'"]);
    gemtool("platforms 8086:ffff").refused(&["8086:ffff"]);
    gemtool("platforms --kernel six").refused(&["--kernel", "'six'", "6.12"]);
    for version in ["65535.65535", "6.256", "+6.12", "6.12x"] {
        gemtool(&format!("platforms --kernel {version}")).refused(&[
            "--kernel",
            &format!("'{version}'"),
            "6.12",
        ]);
        gemtool(&format!("info --device sim:jsl,kernel={version}"))
            .refused(&["--device", &format!("'{version}'")]);
    }
    for kernel in ["4.19", "5.3", "5.4", "5.12"] {
        for run in ["explain --table", "platforms", "platforms jsl"] {
            gemtool(&format!("{run} --kernel {kernel}")).refused(&["--kernel", kernel, "5.10", "5.14"]);
        }
    }
}

#[test]
fn a_platform_that_the_kernel_does_not_claim_is_named() {
    for run in [
        "check --kernel 5.10 --platform glk --platform dg2",
        "explain --kernel 5.10 --platform dg2 --who kernel --event acquire",
        "platforms dg2 --kernel 5.10",
        "alloc --device sim:dg2,kernel=5.10",
        "sanitize sim:glk,kernel=5.10 --platforms glk,dg2 -- true",
    ] {
        gemtool(run).refused(&["Linux 5.10 does not claim dg2"]);
    }
    let listed = gemtool("platforms --kernel 5.10").held();
    assert!(listed.contains("rkl") && !listed.contains("dg2"), "{listed}");
}

#[test]
fn a_size_count_or_pattern_that_cannot_be_read_is_named() {
    let alloc = "alloc --caching=none --device sim:jsl";
    for size in ["many", "-1", "64KB", "1.5MiB", "0x"] {
        gemtool(&format!("{alloc} --size {size}")).refused(&["--size", &format!("'{size}'"), "not a size"]);
    }
    gemtool(&format!("{alloc} --size 18446744073709551616")).refused(&["--size", "2^64 - 1"]);
    gemtool(&format!("{alloc} --size 17179869184GiB")).refused(&["--size", "2^64 - 1"]);
    for size in ["4096 ", "64\tKiB"] {
        let mut alloc = command(alloc);
        alloc.args(["--size", size]);
        ran(alloc).refused(&["--size", &format!("'{size}'"), "not a size"]);
    }
    let check = "check --platform i830 --kernel 6.12 --caller protocol --jobs";
    gemtool(&format!("{check} 0")).refused(&["--jobs", "at least 1"]);
    gemtool(&format!("{check} 1.5")).refused(&["--jobs", "'1.5'", "not a number"]);
    gemtool(&format!("{check} -1")).refused(&["--jobs", "'-1'", "not a number"]);
    assert_eq!(gemtool(&format!("{check} 0x2 --json")).json()["run"]["jobs"], 2);
    gemtool(&format!("{alloc} --count 0")).refused(&["--count", "at least 1"]);
    gemtool(&format!("{alloc} --count some")).refused(&["--count", "'some'", "not a number"]);
    gemtool(&format!("{alloc} --fill red")).refused(&["--fill", "'red'", "counter"]);
    gemtool(&format!("{alloc} --fill abc")).refused(&["--fill", "'abc'", "two hexadecimal digits"]);
}

#[test]
fn a_flag_without_meaning_is_refused_and_not_ignored() {
    gemtool("explain --platform jsl --who kernel --event acquire --map wb")
        .refused(&["--map", "--who driver"]);
    gemtool("explain --platform jsl --level none --writer cpu --reader gpu --state fresh")
        .refused(&["--state", "--who kernel"]);
    for (who, flag) in [
        ("--writer gpu --reader cpu", "--reader-map wb"),
        ("--writer cpu --reader gpu", "--reader-mocs uncached"),
    ] {
        gemtool(&format!("explain --platform jsl --level none {who} {flag}"))
            .refused(&[&flag[..12], "needs --writer"]);
        gemtool(&format!("explain --platform jsl --who kernel --event acquire {flag}"))
            .refused(&[&flag[..12], "--who driver"]);
        gemtool(&format!("explain --table {flag}")).refused(&["--table", &flag[..12]]);
    }
    gemtool("explain --table --level none").refused(&["--table", "--level"]);
    gemtool("explain --table --object import").refused(&["--object", "--who kernel"]);
    gemtool("explain --table --platform mtl --pat 3").refused(&["--pat", "--table has every level"]);
}

#[test]
fn a_question_that_lacks_something_says_what() {
    let driver = "missing, too: --level (or --pat), --writer, --reader\n";
    gemtool("explain").refused(&["--platform: needed without --table; ", driver]);
    gemtool("explain --who kernel").refused(&["--platform: needed without --table; missing, too: --event\n"]);
    gemtool("explain --platform jsl")
        .refused(&["--level (or --pat): needed with --who driver; missing, too: --writer, --reader"]);
    gemtool("explain --platform mtl --pat 3")
        .refused(&["--writer: needed with --who driver; missing, too: --reader"]);
    gemtool("explain --platform jsl --level none --writer cpu")
        .refused(&["--reader: needed with --who driver\n"]);
    gemtool("explain --platform jsl --who kernel").refused(&["--event: needed with --who kernel\n"]);
}

#[test]
fn a_software_device_has_no_kernel_to_trace() {
    gemtool("alloc --caching=none --trace --device sim:jsl").refused(&[
        "--trace",
        "software i915",
        "--device",
    ]);
}

#[test]
fn a_pat_index_that_cannot_be_chosen_is_named_with_those_that_can() {
    let asked =
        |line: &str| gemtool(&format!("explain --platform {line} --who driver --writer cpu --reader gpu"));
    let known = "(known: 0 (level wt), 1 (level wt), 2 (level none), 3 (level llc), 4 (level llc))";
    for index in ["5", "256", "-1", "x", "0x", "18446744073709551616"] {
        asked(&format!("mtl --pat {index}")).refused(&["--pat", &format!("'{index}'"), "mtl", known]);
    }
    asked("jsl --pat 3").refused(&["--pat: '3'", "jsl", "graphics 12.70 (mtl)", "--level"]);
    asked("mtl --kernel 6.1 --pat 3").refused(&["--pat: '3'", "kernel 6.1", "Linux 6.5"]);
    gemtool("explain --platform jsl --who kernel --event acquire --pat 3").refused(&["--pat: '3'"]);
    asked("mtl --pat 3 --level llc").refused(&["--pat", "cannot be used with", "--level"]);
    asked("mtl --pat 3 --object user").refused(&["--object", "leave one of the two out"]);
    gemtool("explain --table --who kernel --pat 3").refused(&["--platform"]);
}

#[test]
fn a_state_that_cannot_be_says_which_event_is_refused() {
    gemtool("explain --platform dg2 --who kernel --event fault --state set-caching-none").refused(&[
        "--state",
        "set-caching-none",
        "ENODEV",
    ]);
    gemtool("explain --platform jsl --who kernel --event fault --level wt")
        .refused(&["--level", "wt", "jsl"]);
    gemtool("explain --platform jsl --who kernel --event fault --object local")
        .refused(&["--object", "local"]);
}

#[test]
fn a_log_filter_that_cannot_be_read_is_named() {
    let mut bad = command("rules");
    bad.env("GEM_COHERENCY_LOG", "gem_coherency=loud");
    ran(bad).refused(&["GEM_COHERENCY_LOG", "gem_coherency=loud"]);
}

#[test]
fn output_that_cannot_be_written_is_an_error_but_a_closed_pipe_is_not() {
    let mut full = command("platforms");
    full.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    ran(full).refused(&["cannot write the output"]);
    // Nobody reads what is said; the exit status is that of the result.
    for (line, status) in [
        ("explain --table --platform jsl", 0),
        ("check --platform jsl --kernel 6.1", 0),
        ("check --platform jsl --kernel 6.1.0", 1),
        ("check --platform jsl --kernel 6.1.0 --json", 1),
        ("run examples/scripts/forgotten-flush.gemco --device sim:jsl", 0),
        ("run Cargo.toml --device sim:tgl", 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut closed = command(line);
        closed.stdout(writer);
        assert_eq!(ran(closed).status, Some(status), "{line}");
    }
}

#[test]
fn an_impossible_size_is_refused_before_any_ioctl() {
    let alloc = "alloc --caching=none --device sim:jsl --size";
    gemtool(&format!("{alloc} 0")).refused(&["--size", "size 0:", "at least one byte"]);
    gemtool(&format!("{alloc} 18446744073709551615")).refused(&[
        "--size",
        "18446744073709551615",
        "whole pages",
    ]);
    gemtool(&format!("{alloc} 1TiB")).refused(&["--size", "1099511627776", "memory"]);
}

#[test]
fn a_non_i915_path_is_reported_with_its_kind() {
    for command in ["alloc --caching=none", "info"] {
        let device = |path: &str| gemtool(&format!("{command} --device {path}"));
        device("/nonexistent/card0").refused(&["--device", "/nonexistent/card0", "ENOENT", "/dev/dri"]);
        device("/tmp").refused(&["--device", "/tmp", "not a character device"]);
        device("/etc/passwd").refused(&["--device", "/etc/passwd", "not a character device"]);
        device("/dev/null").refused(&["--device", "/dev/null", "not a DRM device"]);
        device("sim:foo").refused(&["--device", "'sim:foo'", "unknown platform 'foo'", "gemtool platforms"]);
        device("sim:jsl,kernel=six").refused(&["--device", "'six'"]);
        device("sim:jsl,speed=1").refused(&["--device", "'speed'"]);
    }
}

#[test]
fn without_a_device_the_software_device_is_named_and_not_taken() {
    if std::fs::exists("/dev/dri").unwrap_or(true) {
        eprintln!("skipped: there is a /dev/dri here");
        return;
    }
    for command in ["alloc --caching=none", "info"] {
        gemtool(command).refused(&["no device of i915 or xe in /dev/dri", "--device sim:jsl"]);
    }
}

#[test]
fn a_mode_that_the_platform_refuses_is_named_with_errno_and_reason() {
    gemtool("alloc --map gtt --device sim:dg2").refused(&["--map", "gtt", "dg2", "aperture", "ENODEV"]);
    gemtool("alloc --map wb --device sim:dg2").refused(&["--map", "wb", "dg2", "fixed", "ENODEV"]);
    gemtool("alloc --map gtt --caching=cached --device sim:glk").refused(&["--map", "gtt", "glk", "SIGBUS"]);
    gemtool("alloc --map gtt --caching=none --device sim:mtl").refused(&["--map", "gtt", "mtl", "ENODEV"]);
    gemtool("alloc --caching=cached --device sim:i965g").refused(&["--caching", "cached", "i965g", "ENODEV"]);
    gemtool("alloc --caching=none --device sim:dg2").refused(&[
        "--caching",
        "none",
        "dg2",
        "without --caching",
    ]);
}

#[test]
fn a_request_that_fails_is_named_with_its_errno() {
    let alloc = |fault| gemtool(&format!("alloc --caching=none --device sim:jsl,fault={fault}"));
    alloc("enomem").refused(&["alloc", "GEM_CREATE", "ENOMEM"]);
    alloc("eio").refused(&["submit", "EXECBUFFER2", "EIO", "wedged"]);
    let many = gemtool("alloc --caching=none --count 9 --device sim:jsl,fault=enomem@3");
    many.refused(&["BO ", " of 9: ", "ENOMEM"]);
}

#[test]
fn memory_that_cannot_be_had_stops_the_step_that_needs_it() {
    // A store is the first access to each BO: from then on the software device needs memory for its bytes.
    let limited = |line: &str| {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg("ulimit -v 3000000; exec \"$0\" \"$@\"");
        shell.arg(env!("CARGO_BIN_EXE_gemtool")).args(line.split_whitespace());
        ran(shell)
    };
    for map in ["wb", "wc", "uc", "gtt"] {
        limited(&format!("alloc --size 3500MiB --map {map} --device sim:glk"))
            .refused(&["error: write: page fault: ENOMEM"]);
    }
    let script = std::env::temp_dir().join(format!("gemtool-memory-{}.gemco", std::process::id()));
    for (statement, what) in [
        ("write a 0..64 fill=0xa5", "page fault: ENOMEM"),
        ("write a 0..64 fill=0xa5 raw", "page fault: ENOMEM"),
        ("read a 0..64", "page fault: ENOMEM"),
        ("pwrite a 0..64 fill=0xa5", "ENOMEM"),
        ("gpu-write a 0..64 fill=0xa5", "ENOMEM"),
    ] {
        std::fs::write(&script, format!("a = alloc 3500MiB map=wb\n{statement}\n")).unwrap();
        let ran = limited(&format!("run {} --device sim:glk", script.display()));
        assert_eq!(ran.status, Some(2), "{statement}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(":2:1: ") && ran.err.contains(what), "{statement}: {}", ran.err);
    }
    std::fs::remove_file(&script).unwrap();
}
