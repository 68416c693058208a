//! `gemtool lines`.

use gem_coherency::platform;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_exercise::commands::shaders;
use serde_json::{Value, json};

use crate::gpu::eu::with_input;
use crate::{Ran, fits, gemtool};

const COPY: &str = "examples/shaders/copy.asm";

/// Copies a dword per channel, of those whose number is below the dword in r1.0.
const GUARDED: &[u8] = b"
    mov (8|M0) r10.0<1>:uw 0x76543210:uv
    add (8|M0) r10.8<1>:uw r10.0<8;8,1>:uw 0x8:uw
    shl (1|M0) r11.0<1>:ud r0.1<0;1,0>:ud 0x4:ud
    add (16|M0) r12.0<1>:ud r10.0<8;8,1>:uw r11.0<0;1,0>:ud
    cmp (16|M0) (lt)f0.0 null<1>:ud r12.0<8;8,1>:ud r1.0<0;1,0>:ud
    shl (16|M0) r14.0<1>:ud r12.0<8;8,1>:ud 0x2:ud
    (f0.0) send (16|M0) r16:uw r14 0xC 0x04205E00
    mov (16|M0) r18.0<1>:ud r16.0<8;8,1>:ud
    mov (16|M0) r16.0<1>:ud r14.0<8;8,1>:ud
    (f0.0) send (16|M0) null:uw r16 0xC 0x08025E01
    mov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud
    send (16|M0) null:uw r112 0x27 0x02000010 {EOT}";

/// Parses the report of a run that ended with `status`.
#[track_caller]
fn json(ran: &Ran, status: i32) -> Value {
    assert_eq!((ran.status, ran.err.as_str()), (Some(status), ""), "{}", ran.out);
    serde_json::from_str(&ran.out).expect("one JSON document")
}

/// Returns surface, access, lines, stale lines, and verdict of each row.
fn rows(report: &Value) -> Vec<[Value; 5]> {
    let row = |row: &Value| ["surface", "access", "lines", "stale", "verdict"].map(|key| row[key].clone());
    report["accesses"].as_array().unwrap().iter().map(row).collect()
}

/// Runs the copying shader; returns its rows.
#[track_caller]
fn copy(arguments: &str, status: i32) -> Value {
    json!(rows(&json(&gemtool(&format!("lines {COPY} --json {arguments}")), status)))
}

#[test]
fn a_read_around_the_llc_is_stale_and_one_by_the_page_table_is_not() {
    let written = json!([1, "write", "0-3", "", "none"]);
    for (entry, status, stale, verdict) in [(",mocs=16", 1, "0-3", "flush"), ("", 0, "", "none")] {
        assert_eq!(
            copy(&format!("--device sim:jsl --groups 2 --surface 4096{entry} --surface 4096"), status),
            json!([[0, "read", "0-3", stale, verdict], written])
        );
    }
}

#[test]
fn without_an_llc_reads_and_writes_are_stale_where_lines_are_dirty() {
    for (dirty, status, read, written) in [
        (["", ""], 1, "0-1", "0-1"),
        ([",dirty=1", ",dirty=2-9"], 1, "1", ""),
        ([",dirty=none", ",dirty=0"], 1, "", "0"),
        ([",dirty=none", ",dirty=none"], 0, "", ""),
        ([",caching=cached", ",caching=cached"], 0, "", ""),
    ] {
        let [first, second] = dirty;
        let verdict = if first.contains("cached") { "none" } else { "flush" };
        assert_eq!(
            copy(&format!("--device sim:glk --surface 4096{first} --surface 4096{second}"), status),
            json!([[0, "read", "0-1", read, verdict], [1, "write", "0-1", written, verdict]]),
            "{dirty:?}"
        );
    }
}

#[test]
fn lines_that_the_cpu_did_not_store_to_are_in_no_cache() {
    // This kernel leaves the zeroes of new pages in the cache.
    assert_eq!(
        copy("--device sim:jsl,kernel=5.14 --surface 4096,mocs=16,dirty=none --surface 4096", 0),
        json!([[0, "read", "0-1", "", "flush"], [1, "write", "0-1", "", "none"]])
    );
}

#[test]
fn a_mocs_class_is_its_first_entry_and_contents_can_be_chosen() {
    let run = |surface: &str, status| {
        let line = format!("lines {COPY} --json --device sim:jsl --surface 4096,{surface} --surface 4096");
        let report = json(&gemtool(&line), status);
        json!([report["surfaces"][0]["mocs"], report["surfaces"][0]["class"], rows(&report)[0][3]])
    };
    assert_eq!(run("mocs=bypass-llc", 1), json!([16, "bypass-llc", "0-1"]));
    assert_eq!(run("mocs=page-table", 0), json!([null, "page-table", ""]));
    // Memory has zeroes: a line into which zeroes are stored does not differ.
    assert_eq!(run("mocs=bypass-llc,fill=00", 0)[2], "");
    assert_eq!(run("mocs=bypass-llc,fill=00000001", 1)[2], "0-1");
    assert_eq!(run("mocs=bypass-llc,fill=01,dirty=1", 1)[2], "1");
    gemtool(&format!("lines {COPY} --device sim:skl --surface 4096,mocs=bypass-llc"))
        .refused(&["skl has no MOCS entry of class bypass-llc", "page-table, uncached"]);
    gemtool(&format!("lines {COPY} --device sim:jsl --surface 4096,file=/no/such"))
        .refused(&["--surface", "/no/such"]);
}

#[test]
fn a_guarded_shader_touches_only_its_lines() {
    let run = |constants: u32, surface: &str| {
        let line = format!("lines - --json --device sim:jsl --groups 4 --constants {constants} {surface}");
        json(&with_input(&line, GUARDED), 1)
    };
    let report = run(20, "--surface 4096,mocs=16,dirty=1-9 --surface 4096");
    let expected = json!([[0, "read", "0-1", "1", "flush"], [1, "write", "0-1", "", "none"]]);
    assert_eq!(json!(rows(&report)), expected);
    let bytes = |report: &Value| ["bytes", "outside"].map(|key| report["accesses"][0][key].as_u64().unwrap());
    assert_eq!(bytes(&report), [80, 0]);
    // The guard lets 14 dwords more through than the surface has.
    let report = run(64, "--surface 200,mocs=16 --surface 4096");
    assert_eq!((bytes(&report), &report["accesses"][0]["lines"]), ([200, 56], &"0-3".into()));
}

#[test]
fn lines_are_stale_exactly_where_the_rules_need_a_flush() {
    let mut stale = 0;
    for platform in platform::all() {
        let machine = platform.machine(KernelVersion::new(6, 12), false);
        let Ok(shader) = shaders::copy(&machine) else { continue };
        let modes: &[_] =
            if machine.caps.contains(platform::Caps::DISCRETE) { &[""] } else { &["none", "cached"] };
        let entries: &[_] =
            if platform.graphics.major == 8 { &["0", "0x38"] } else { &["0", "2", "3", "15"] };
        for mode in modes {
            for entry in entries.iter().chain(&["15"]) {
                let caching = if mode.is_empty() { String::new() } else { format!(",caching={mode}") };
                let surface = format!("--surface 4096,mocs={entry}{caching}");
                let line = format!("lines - --json --device sim:{platform} {surface} {surface}");
                let ran = with_input(&line, &shader);
                let report: Value =
                    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{line}: {ran:?}"));
                for row in rows(&report) {
                    let shown = if row[4] == "flush" { "0-1" } else { "" };
                    assert_eq!(row[3], shown, "{line}: {row:?}");
                    stale += usize::from(row[4] == "flush");
                }
            }
        }
    }
    assert!(stale > 10, "{stale}");
}

#[test]
fn the_text_fits_the_page_and_ends_with_a_summary() {
    let ran = gemtool(&format!("lines {COPY} --device sim:glk --groups 2"));
    assert_eq!((ran.status, ran.err.as_str()), (Some(1), ""));
    fits(&ran.out, 100);
    let end = "\nthe shader reads old bytes of 4 lines; the CPU's cache will write over 4 lines that the shader wrote\n";
    assert!(ran.out.ends_with(end), "{}", ran.out);
    let flushed = "--surface 4096,dirty=none --surface 4096,dirty=none";
    let out = gemtool(&format!("lines {COPY} --device sim:glk {flushed}")).held();
    assert!(out.ends_with("\nno line is stale\n"), "{out}");
}

#[test]
fn a_shader_that_breaks_a_rule_is_reported_and_does_not_run() {
    let packed = b"mov (4|M0) r30.0<1>:f r10.0<4;4,1>:df\n";
    let ran = with_input("lines - --device sim:skl", packed);
    let validated = with_input("eu validate - --platform skl", packed);
    assert_eq!((ran.status, ran.out), (Some(1), validated.out));
}

#[test]
fn what_cannot_run_is_exit_status_2_and_named() {
    for (arguments, parts) in [
        ("", &["--device"][..]),
        ("--device /dev/dri/card0", &["--device", "'/dev/dri/card0' is not a software device"]),
        ("--device sim:foo", &["--device", "'foo'", "gemtool platforms"]),
        ("--device sim:i830", &["--device", "i830"]),
        ("--device sim:ivb", &["ivb", "Haswell to Meteor Lake"]),
        ("--device sim:jsl --surface 0", &["--surface", "0 bytes"]),
        ("--device sim:jsl --surface 4096", &[COPY, "instruction at 0x30", "surface 1", "--surface"]),
        ("--device sim:jsl --surface 4K,mocs=64 --surface 4K", &["MOCS entry 64"]),
        ("--device sim:jsl --constants 1,x", &["--constants", "'x'"]),
        ("--device sim:jsl --constants 4294967296", &["--constants", "2^32 - 1"]),
        ("--device sim:jsl --constants 1,2,3,4,5,6,7,8,9", &["constants 9", "at most 8"]),
        ("--device sim:jsl --groups 0", &["--groups", "at least 1"]),
        ("--device sim:jsl --channels 4", &["--channels", "'4'", "8, 16, 32"]),
        ("--device sim:jsl,fault=enomem", &["surface 0", "ENOMEM"]),
    ] {
        gemtool(&format!("lines {COPY} {arguments}")).refused(parts);
    }
    let dg2 = platform::by_name("dg2").unwrap().machine(KernelVersion::new(6, 12), false);
    with_input("lines - --device sim:dg2 --surface 4K,caching=none", &shaders::copy(&dg2).unwrap())
        .refused(&["surface 0", "dg2"]);
    for (shader, error) in [
        (&b"send (16|M0) r3:uw r2 0x2 0x2480400"[..], "instruction at 0x0: the message 0x2480400"),
        (b"mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud", "instruction at 0x10: the shader ends"),
        (
            b"again: (W) jmpi again\n send (16|M0) null:uw r112 0x27 0x02000010 {EOT}",
            "instruction at 0x0: thread 0 does not end",
        ),
        (b"// nothing", "it has no instruction"),
    ] {
        with_input("lines - --device sim:jsl,hang=20ms", shader).refused(&["-: ", error]);
    }
}
