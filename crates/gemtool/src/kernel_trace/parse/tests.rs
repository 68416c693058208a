//! Lines of the trace, including those with names that look like lines.

use super::*;

#[track_caller]
fn case(line: &str, tid: u32, comm: &str, time_ns: u64, what: EventKind) {
    assert_eq!(parse(line), Some(TraceEvent { tid, comm: comm.to_owned(), time_ns, what }), "{line}");
}

#[test]
fn lines_of_6_1() {
    case(
        "         gemtool-121     [000] .....     4.869957: gemco_created: (drm_gem_private_object_init+0x0/0xb0 [drm]) dev=0xff361aa703400000 obj=0xff361aa70271f740 size=4096",
        121,
        "gemtool",
        4_869_957_000,
        EventKind::Created { device: 0xff36_1aa7_0340_0000, object: 0xff36_1aa7_0271_f740, size_bytes: 4096 },
    );
    case(
        "         gemtool-121     [000] .N...     5.040264: gemco_sg: (drm_clflush_sg+0x0/0xb0 [drm]) pages=0xff361aa712545d30 caller=__i915_gem_object_set_pages+0x21f/0x230 [i915]",
        121,
        "gemtool",
        5_040_264_000,
        EventKind::FlushPages { pages: 0xff36_1aa7_1254_5d30, caller: "__i915_gem_object_set_pages".into() },
    );
    case(
        "         gemtool-121     [000] .....     4.955341: gemco_made: (i915_gem_object_init+0x0/0xf0 [i915]) obj=0xff361aa70271fb80 ops=i915_gem_shmem_ops+0x0/0xfffffffffffedc60 [i915]",
        121,
        "gemtool",
        4_955_341_000,
        EventKind::Made { object: 0xff36_1aa7_0271_fb80, operations: "i915_gem_shmem_ops".into() },
    );
}

#[test]
fn lines_of_6_12() {
    case(
        "         gemtool-161     [000] .....     6.156747: gemco_named: (drm_gem_handle_create_tail+0x4/0x170 [drm]) file=0xff2beed5c3632000 obj=0xff2beed5c1e56d00",
        161,
        "gemtool",
        6_156_747_000,
        EventKind::HandleCreated { object: 0xff2b_eed5_c1e5_6d00, file: 0xff2b_eed5_c363_2000 },
    );
    case(
        "     ksoftirqd/0-17      [000] ..s..     6.236657: gemco_range: (drm_clflush_virt_range+0x4/0x60 [drm]) len=48 caller=process_csb+0x1eb/0x360 [i915]",
        17,
        "ksoftirqd/0",
        6_236_657_000,
        EventKind::FlushRange { bytes: 48, caller: "process_csb".into() },
    );
    case(
        "              sh-159     [000] .....     5.851237: tracing_mark_write: hello [000] world: obj=1",
        159,
        "sh",
        5_851_237_000,
        EventKind::Mark("hello [000] world: obj=1".into()),
    );
    case(
        "         gemtool-161     [000] .....     6.204300: i915_gem_object_pwrite: obj=ff2beed5c1e56d00, offset=0x40, len=0x64",
        161,
        "gemtool",
        6_204_300_000,
        EventKind::Transfer { object: 0xff2b_eed5_c1e5_6d00, offset: 64, bytes: 100, access: Access::Write },
    );
}

#[test]
fn a_process_id_may_follow_the_threads() {
    for tgid in ["(    160)", "(-------)"] {
        let line = format!("         gemtool-161     {tgid} [000] ..... 1.000002: tracing_mark_write: m");
        case(&line, 161, "gemtool", 1_000_002_000, EventKind::Mark("m".into()));
    }
}

/// Formats a line like the kernel.
fn line(name: &[u8], tid: u32, rest: &str) -> Vec<u8> {
    let mut line = vec![b' '; NAME_COLUMNS - name.len()];
    line.extend_from_slice(name);
    line.extend_from_slice(format!("-{tid:<7} [003] d..1. {rest}").as_bytes());
    line
}

/// Asserts that three flushes, the second by a thread with this name, are parsed as three flushes by three
/// threads.
fn hides_nothing(name: &[u8]) {
    let mut text = Vec::new();
    for (tid, name) in [(7, &b"before"[..]), (8, name), (9, &b"after"[..])] {
        text.extend(line(name, tid, "1.000002: gemco_sg: (f+0x4/0xd0 [drm]) pages=0x1 caller=g+0x1/0x2\n"));
    }
    for cut in 0..text.len() {
        let (mut parser, mut seen) = (Parser::default(), Vec::new());
        parser.feed(&text[..cut], &mut seen);
        parser.feed(&text[cut..], &mut seen);
        let tids: Vec<_> = seen.iter().map(|seen| seen.tid).collect();
        assert_eq!(tids, [7, 8, 9], "{} cut at {cut}: {seen:#?}", name.escape_ascii());
        let flush = EventKind::FlushPages { pages: 1, caller: "g".into() };
        assert!(seen.iter().all(|seen| seen.what == flush), "{}: {seen:#?}", name.escape_ascii());
        assert_eq!(seen[1].comm, String::from_utf8_lossy(name).trim_start_matches(' '));
    }
}

#[test]
fn a_threads_name_may_look_like_a_line_and_hides_nothing() {
    for name in [
        &b"a-1 [0] 1.0: e:"[..],
        b"a-1 [0] x:",
        b"-1 [0] 1.0: g: ",
        b"\n",
        b"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
        b"a\nb-1 [0] 1.0: ",
        b"CPU:0 [LOST 9",
        b"CPU:0 [LOST 9 E",
        b"\nCPU:0 [LOST 9",
        b"x-5 ( ",
        b" [000] 1.0: x",
        b"",
        b" ",
        b"<...>",
        b"a-",
        b"-",
        b"\xff\xfe\x80",
        b"\xc3",
        b"\x1b[2J\x1b]0;x\x07",
        b"gemco_sg: pages",
        "\u{e9}\u{e9}\u{e9}".as_bytes(),
        b"\t\r\x0b\x0c",
    ] {
        hides_nothing(name);
    }
}

proptest::proptest! {
    #[test]
    fn no_name_hides_anything(name in proptest::collection::vec(1u8.., 0..NAME_COLUMNS)) {
        hides_nothing(&name);
    }
}

#[test]
fn lost_events_are_counted() {
    case("CPU:3 [LOST 123 EVENTS]", 0, "", 0, EventKind::Lost(123));
}

#[test]
fn unknown_lines_are_left_out() {
    for rest in [
        "x",
        "1.5: ",
        "99999999999999999999.5: tracing_mark_write: m",
        "18446744073709551615.5: tracing_mark_write: m",
        "1.5: gemco_sg: (f) pages= caller=f+0x1/0x2",
        "1.5: gemco_sg: (f) pages=0xg caller=f+0x1/0x2",
        "1.5: gemco_sg: (f) pages=0x1 caller=+0x1/0x2",
        "1.5: gemco_level: (f) obj=0x1 level=4294967296",
        "1.5: gemco_nothing: (f) obj=0x1",
        "1.5: i915_gem_object_fault: obj=1, CPU index=0 ",
    ] {
        assert_eq!(parse(line(b"a", 1, rest)), None, "{rest}");
    }
    for line in [
        "",
        "# tracer: nop",
        " [",
        "               a-1 [000",
        "               a-x [000] ..... 1.5: tracing_mark_write: m",
        "a-1 [000] ..... 1.5: tracing_mark_write: not in its columns",
        "CPU:x [LOST 1 EVENTS]",
        "CPU:0 [LOST 1",
    ] {
        assert_eq!(parse(line), None, "{line}");
    }
}

#[test]
fn no_part_of_a_line_panics() {
    let line = "         gemtool-121  [000] .N...  5.040264: gemco_sg: (f+0x0/0xb0 [drm]) pages=0xff caller=g\u{e9}+0x21f/0x230 [i915]";
    for start in (0..line.len()).filter(|&at| line.is_char_boundary(at)) {
        for end in (start..line.len()).filter(|&at| line.is_char_boundary(at)) {
            let _ = parse(&line[start..end]);
        }
    }
}

#[test]
fn lines_are_put_together_from_parts() {
    let mut text = line(b"a", 1, "1.000005: tracing_mark_write: one\n a line more\n");
    text.extend(line(b"a", 1, "1.000006: tracing_mark_write: two\n"));
    for cut in 0..text.len() {
        let (mut parser, mut seen) = (Parser::default(), Vec::new());
        parser.feed(&text[..cut], &mut seen);
        parser.feed(&text[cut..], &mut seen);
        let marks: Vec<_> = seen.into_iter().map(|seen| seen.what).collect();
        assert_eq!(marks, [EventKind::Mark("one".into()), EventKind::Mark("two".into())], "cut at {cut}");
    }
}
