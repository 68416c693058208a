//! `gemtool dispatch`.

use std::path::PathBuf;

use gem_coherency::platform;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_exercise::commands::shaders;
use serde_json::{Value, json};

use crate::{REPOSITORY, Ran, fits, gemtool};

/// Adds 1 to each number.
const ADD: &str = "dispatch examples/shaders/add.spv";
/// Copies the first numbers, as many as the push constants say.
const CUT: &str = "dispatch examples/shaders/cut.spv";
/// Multiplies the colour of each pixel.
const SHADE: &str = "dispatch examples/shaders/shade.spv";
/// Stores specialization constants of all types as floats.
const NARROW: &str = "dispatch crates/shader/compiler/tests/data/narrow.spv --device sim:skl --surface 0=64";
/// Surfaces of `ADD` for 4 groups.
const NUMBERS: &str = "--groups 4 --surface 0=256,fill=counter --surface 1=256,dirty=none,fill=ee";

/// Parses the report of a run that ended with `status`.
#[track_caller]
fn json(ran: &Ran, status: i32) -> Value {
    assert_eq!((ran.status, ran.err.as_str()), (Some(status), ""), "{}", ran.out);
    serde_json::from_str(&ran.out).expect("one JSON document")
}

/// Runs gemtool, and parses its report.
#[track_caller]
fn report(line: &str, status: i32) -> Value {
    json(&gemtool(&format!("{line} --json")), status)
}

/// Returns binding, access, lines, and stale lines of each row.
fn rows(report: &Value) -> Value {
    let row = |row: &Value| {
        let surface = row["surface"].as_u64().unwrap() as usize;
        let rest = ["access", "lines", "stale"].map(|key| row[key].clone());
        json!([report["surfaces"][surface]["binding"], rest[0], rest[1], rest[2]])
    };
    report["accesses"].as_array().unwrap().iter().map(row).collect()
}

/// Returns the bytes of little-endian dwords as digits.
fn digits(dwords: impl IntoIterator<Item = u32>) -> String {
    let bytes = dwords.into_iter().flat_map(u32::to_le_bytes);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a changed copy of the module `add.spv`, as a file.
fn changed(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = std::fs::read(format!("{REPOSITORY}/examples/shaders/add.spv")).unwrap();
    change(&mut bytes);
    let path = std::env::temp_dir().join(format!("gemtool-dispatch-{}-{name}.spv", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Replaces the first of two dwords that follow each other.
fn replace(bytes: &mut [u8], found: [u32; 2], by: u32) {
    let [first, second] = found.map(u32::to_le_bytes);
    let at = (0..bytes.len() - 7).step_by(4).find(|&at| bytes[at..at + 8] == [first, second].concat());
    let at = at.expect("the dwords are there");
    bytes[at..at + 4].copy_from_slice(&by.to_le_bytes());
}

#[test]
fn one_shader_has_three_outcomes_by_mocs_class_and_flush() {
    let right = digits(1..=64);
    let old = digits([1; 64]);
    for (flags, status, stale, sums) in [
        ("--mocs page-table", 0, "", &right),
        ("--mocs bypass-llc", 1, "0-3", &old),
        ("--mocs bypass-llc --flush", 0, "", &right),
        ("--mocs page-table --flush", 0, "", &right),
    ] {
        let report = report(&format!("{ADD} --device sim:jsl {NUMBERS} {flags} --print 1=256"), status);
        let rows = rows(&report);
        assert_eq!(rows, json!([["0", "read", "0-3", stale], ["1", "write", "0-3", ""]]), "{flags}");
        assert_eq!(report["contents"], json!([{"binding": "1", "bytes": sums}]), "{flags}");
        assert_eq!([&report["lines_read"], &report["lines_written"]], [4, 4], "{flags}");
        assert_eq!(report["prepared"], flags.contains("--flush"), "{flags}");
    }
}

#[test]
fn the_library_flushes_the_lines_that_are_dirty_and_no_other() {
    let flushes = |device: &str, flags: &str| {
        let line = format!("{ADD} --device {device} --groups 4 --surface 0=4096,dirty=2-4 --surface 1=4096");
        let report = report(&format!("{line} --flush {flags}"), 0);
        let surfaces = report["surfaces"].as_array().unwrap();
        let read = surfaces.iter().find(|surface| surface["binding"] == "0").unwrap();
        let flush = &read["flush"];
        ["verdict", "lines", "rule"].map(|key| flush[key].clone())
    };
    assert_eq!(json!(flushes("sim:jsl", "--mocs bypass-llc")), json!(["flush", 3, "bypass-mocs-read"]));
    assert_eq!(json!(flushes("sim:jsl", "")), json!(["none", 0, "llc-coherent"]));
    assert_eq!(json!(flushes("sim:glk", "")), json!(["flush", 3, "non-coherent-read"]));
}

#[test]
fn a_surface_has_settings_of_its_own() {
    let line = format!("{ADD} --device sim:jsl --groups 4 --mocs bypass-llc");
    let found = report(&format!("{line} --surface 0=256,mocs=page-table --surface 1=256"), 0);
    assert_eq!(rows(&found), json!([["0", "read", "0-3", ""], ["1", "write", "0-3", ""]]));
    let found = report(&format!("{line} --surface 0=256,dirty=1-2 --surface 1=256"), 1);
    assert_eq!(rows(&found)[0], json!(["0", "read", "0-3", "1-2"]));
    let found =
        report(&format!("{ADD} --device sim:glk --groups 2 --surface 0=256,dirty=none --surface 1=256"), 1);
    assert_eq!(rows(&found), json!([["0", "read", "0-1", ""], ["1", "write", "0-1", "0-1"]]));
}

#[test]
fn clean_lines_have_the_contents_in_memory() {
    for (dirty, first) in [("none", 1), ("0", 1), ("1-3", 1)] {
        let surfaces = format!("--surface 0=256,fill=05000000,dirty={dirty} --surface 1=256,dirty=none");
        let line = format!("{ADD} --device sim:jsl --groups 4 --mocs bypass-llc {surfaces} --print 1=256");
        let report = report(&line, i32::from(dirty != "none"));
        let is_dirty = |line: u32| match dirty {
            "none" => false,
            "0" => line == 0,
            _ => line > 0,
        };
        // Memory of a dirty line has zeroes.
        let sums = (0..64).map(|place: u32| if is_dirty(place / 16) { first } else { 6 });
        assert_eq!(report["contents"][0]["bytes"], digits(sums), "{dirty}");
    }
}

#[test]
fn hoisted_discards_save_lines() {
    let run = |flags: &str| {
        let surfaces =
            "--surface 0=256,dirty=none,fill=11 --surface 1=256,dirty=none --surface push=4,dirty=none";
        report(&format!("{CUT} --device sim:glk --groups 4 --push 20 {surfaces} {flags} --print 1=128"), 0)
    };
    let (hoisted, kept) = (run(""), run("--no-hoist-discard"));
    assert_eq!([&hoisted["hoisted_discards"], &kept["hoisted_discards"]], [1, 0]);
    let read = |report: &Value| {
        let rows = rows(report);
        rows.as_array().unwrap().iter().find(|row| row[0] == "0").unwrap()[2].clone()
    };
    assert_eq!([read(&hoisted), read(&kept)], ["0-1", "0-3"]);
    let copied = format!("{}{}", "11".repeat(80), "00".repeat(48));
    for report in [hoisted, kept] {
        assert_eq!(report["contents"][0]["bytes"], copied);
    }
}

#[test]
fn push_constants_are_a_surface_that_can_be_stale() {
    let surfaces = "--surface 0=256,dirty=none,fill=11 --surface 1=256,dirty=none";
    let run = |flags: &str, status| {
        let report =
            report(&format!("{CUT} --device sim:glk --groups 4 --push 20 {surfaces} {flags}"), status);
        let rows = rows(&report);
        rows.as_array().unwrap().iter().find(|row| row[0] == "push").unwrap()[3].clone()
    };
    assert_eq!(run("", 1), "0");
    assert_eq!(run("--flush", 0), "");
    assert_eq!(run("--surface push=64,caching=cached", 0), "");
}

#[test]
fn a_fragment_shader_runs_on_a_rectangle() {
    let surfaces = "--surface in0=432,fill=0000803f --surface out0=432";
    let line = format!("{SHADE} --device sim:tgl --extent 9x3 {surfaces} --print out0=432");
    for (flags, factor) in
        [("", 2.0_f32), (" --spec 0=0.25", 0.25), (" --stage fragment --spec 0=-1.0", -1.0)]
    {
        let report = report(&format!("{line}{flags}"), 0);
        assert_eq!(report["contents"][0]["bytes"], digits([factor.to_bits(); 108]), "{flags}");
        assert_eq!((&report["stage"], &report["extent"]), (&"fragment".into(), &json!([9, 3, 1])));
        assert_eq!([&report["lines_read"], &report["lines_written"]], [7, 7]);
    }
}

#[test]
fn values_of_specialization_constants_have_the_constants_types() {
    let floats = |flags: &str| {
        let report = report(&format!("{NARROW} --print 0=32{flags}"), 0);
        report["contents"][0]["bytes"].clone()
    };
    let own = [2.0_f32, -3.0, 4.0, 5.0, 6.0, 1.0, 8.0, 9.0];
    assert_eq!(floats(""), digits(own.map(f32::to_bits)));
    let flags =
        " --spec 0=1.5 --spec 1=-128 --spec 2=65535 --spec 3=-7 --spec 4=0.25 --spec 5=false --spec 6=0x10";
    let given = [1.5_f32, -128.0, 65535.0, -7.0, 0.25, 0.0, 16.0, 16.0];
    assert_eq!(floats(flags), digits(given.map(f32::to_bits)));
}

#[test]
fn lines_are_stale_exactly_where_the_rules_need_a_flush() {
    let mut stale = 0;
    for platform in platform::all() {
        let machine = platform.machine(KernelVersion::new(6, 12), false);
        if shaders::copy(&machine).is_err() {
            continue;
        }
        for mocs in ["page-table", "uncached", "bypass-llc"] {
            let surfaces = "--surface 0=256 --surface 1=256";
            let line = format!("{ADD} --json --device sim:{platform} --mocs {mocs} --groups 4 {surfaces}");
            let ran = gemtool(&line);
            if ran.status == Some(2) {
                ran.refused(&[platform.name, mocs, "page-table"]);
                continue;
            }
            let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{line}: {ran:?}"));
            for row in report["accesses"].as_array().unwrap() {
                let shown = if row["verdict"] == "flush" { "0-3" } else { "" };
                assert_eq!(row["stale"], shown, "{line}: {row:?}");
                stale += usize::from(row["verdict"] == "flush");
            }
            // The library prevents each.
            json(&gemtool(&format!("{line} --flush")), 0);
        }
    }
    assert!(stale > 10, "{stale}");
}

#[test]
fn the_text_fits_the_page_and_ends_with_a_summary() {
    let ran = gemtool(&format!("{ADD} --device sim:jsl {NUMBERS} --mocs bypass-llc --disasm --print 1=20"));
    assert_eq!((ran.status, ran.err.as_str()), (Some(1), ""));
    fits(&ran.out, 100);
    assert!(ran.out.ends_with("\nthe shader reads old bytes of 4 lines\n"), "{}", ran.out);
    for part in [
        "add.spv: compute 'main', 4 x 1 x 1 groups of 16 lanes: 4 threads\n",
        "Instructions\n  0x0000  ",
        "4 lines read, 4 written\n  0 lines flushed before\n",
        "Surface 1 afterwards\n  0x0000  01 00 00 00 01 00 00 00 01 00 00 00 01 00 00 00\n  0x0010  01 00 00 00\n",
    ] {
        assert!(ran.out.contains(part), "'{part}' is not in: {}", ran.out);
    }
    let out = gemtool(&format!("{ADD} --device sim:jsl {NUMBERS} --mocs bypass-llc --flush")).held();
    assert!(out.ends_with("\nno line is stale\n") && !out.contains("Instructions\n"), "{out}");
    for part in ["Flushes by the library\n", "4 lines flushed before\n"] {
        assert!(out.contains(part), "'{part}' is not in: {out}");
    }
}

#[test]
fn bytes_come_from_files_and_go_into_files() {
    let dir = std::env::temp_dir().join(format!("gemtool-dispatch-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (input, output) = (dir.join("in"), dir.join("out"));
    let numbers: Vec<u8> = [7_u32, 8].iter().flat_map(|number| number.to_le_bytes()).collect();
    std::fs::write(&input, &numbers).unwrap();
    let line = format!("{ADD} --device sim:tgl --surface 0=64,file={} --surface 1=64", input.display());
    gemtool(&format!("{line} --output 1={}", output.display())).held();
    let written = std::fs::read(&output).unwrap();
    assert_eq!(written, [8_u32, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1].map(u32::to_le_bytes).concat());
    gemtool(&format!("{line} --output 1={}/no/such", dir.display())).refused(&["--output", "/no/such"]);
    std::fs::write(&input, [0; 65]).unwrap();
    gemtool(&line).refused(&["--surface", "65 bytes", "surface 0", "64"]);
    std::fs::remove_dir_all(&dir).unwrap();
    gemtool(&line).refused(&["--surface", "/in'"]);
}

#[test]
fn a_surface_that_is_missing_is_named_with_its_size() {
    for (line, parts) in [
        (
            format!("{ADD} --surface 1=64"),
            &["--surface", "reads binding 0", "4 bytes for each element", "0=SIZE"][..],
        ),
        (format!("{ADD} --surface 0=64"), &["writes binding 1", "1=SIZE"]),
        (
            format!("{CUT} --surface 0=64 --surface 1=64"),
            &["reads push constants", "4 bytes", "--push", "push=4"],
        ),
        (
            format!("{SHADE} --extent 9x3 --surface in0=432"),
            &["output at location 0", "16 bytes for each pixel", "out0=432"],
        ),
        (format!("{SHADE} --extent 9x3 --surface out0=432"), &["input at location 0", "in0=432"]),
    ] {
        gemtool(&format!("{line} --device sim:jsl")).refused(parts);
    }
}

#[test]
fn what_cannot_run_is_exit_status_2_and_named() {
    let both = "--device sim:jsl --surface 0=64 --surface 1=64";
    for (line, parts) in [
        (format!("{ADD} --surface 0=64 --surface 1=64 --device sim:foo"), &["--device", "'foo'"][..]),
        (
            format!("{ADD} --surface 0=64 --surface 1=64 --device sim:ivb"),
            &["--device", "ivb", "Haswell to Meteor Lake"],
        ),
        (format!("{ADD} {both} --surface 2=64"), &["--surface", "surface 2", "it uses: "]),
        (format!("{ADD} {both} --surface 0=64"), &["--surface", "surface 0", "twice"]),
        (format!("{ADD} {both} --surface x=64"), &["--surface", "'x' is no binding", "SET.BINDING"]),
        (format!("{ADD} {both} --surface 64"), &["--surface", "no '='"]),
        (format!("{ADD} {both} --print 1=65"), &["--print", "65 bytes", "surface 1", "64"]),
        (format!("{ADD} {both} --print 3=4"), &["--print", "surface 3"]),
        (format!("{ADD} {both} --output 3=x"), &["--output", "surface 3"]),
        (format!("{ADD} {both} --push 1"), &["--push", "surface push"]),
        (format!("{ADD} {both} --groups 0"), &["--groups", "0 x 1 x 1"]),
        (format!("{ADD} {both} --groups 65536,65536"), &["--groups", "65536 x 65536 x 1"]),
        (format!("{ADD} {both} --groups 1,2,3,4"), &["--groups", "4 numbers"]),
        (format!("{ADD} {both} --extent 4x4"), &["--extent", "compute shader", "groups"]),
        (format!("{ADD} {both} --extent 4"), &["--extent", "64x32"]),
        (format!("{SHADE} --device sim:jsl --groups 4"), &["--groups", "fragment shader", "extent"]),
        (format!("{SHADE} --device sim:jsl"), &["--extent", "fragment shader"]),
        (format!("{ADD} {both} --entry other"), &["--entry", "'other'", "'main' (compute)"]),
        (format!("{ADD} {both} --stage fragment"), &["--stage", "stage fragment", "'main' (compute)"]),
        (
            format!("{ADD} {both} --entry other --stage fragment"),
            &["--entry", "no entry point 'other';", "'main' (compute)"],
        ),
        (format!("{ADD} {both} --stage vertex"), &["--stage", "compute, fragment"]),
        (format!("{ADD} {both} --spec 7=1"), &["--spec", "id 7", "none"]),
        (format!("{ADD} {both} --spec 7"), &["--spec", "ID=VALUE"]),
        (format!("{NARROW} --spec 1=3 --spec 1=4"), &["--spec", "constant 1 is given twice"]),
        (format!("{NARROW} --spec 1=300"), &["--spec", "constant 1 has type int8", "'300'", "-128 and 127"]),
        (
            format!("{NARROW} --spec 0=70000.0"),
            &["--spec", "constant 0 has type float16", "'70000.0'", "6.5504e4"],
        ),
        (format!("{NARROW} --spec 2=-1"), &["--spec", "constant 2 has type uint16", "'-1'", "0 and 65535"]),
        (format!("{ADD} {both} --mocs cached"), &["--mocs", "'cached'", "bypass-llc"]),
        (
            format!("{ADD} --device sim:glk --mocs bypass-llc --surface 0=64 --surface 1=64"),
            &["glk", "bypass-llc", "it has: page-table, uncached"],
        ),
        (
            format!("{ADD} {both} --groups 1 --device sim:jsl,fault=enomem").replacen(
                "--device sim:jsl ",
                "",
                1,
            ),
            &["surface", "ENOMEM"],
        ),
        (format!("{CUT} {both} --push 1,2 --surface push=4"), &["surface push", "4 bytes", "8"]),
        (format!("{CUT} {both} --push 1 --surface push=4,fill=00"), &["surface push", "--push", "fill="]),
        ("dispatch no-such.spv --device sim:jsl".to_owned(), &["no-such.spv", "No such file"]),
        ("dispatch /dev/null --device sim:jsl".to_owned(), &["/dev/null", "regular file"]),
        (
            "dispatch examples/shaders/add.comp --device sim:jsl".to_owned(),
            &["add.comp", "SPIR-V", "glslangValidator"],
        ),
    ] {
        gemtool(&line).refused(parts);
    }
}

#[test]
fn a_module_that_is_refused_is_named_with_what_to_do() {
    let capability = 2 << 16 | 17;
    for (name, change, parts) in [
        (
            "short",
            Box::new(|bytes: &mut Vec<u8>| bytes.truncate(1022)) as Box<dyn FnOnce(&mut Vec<u8>)>,
            &["1022 bytes", "glslangValidator"][..],
        ),
        ("magic", Box::new(|bytes: &mut Vec<u8>| bytes[0] = 0), &["0x07230203", "glslangValidator"]),
        ("version", Box::new(|bytes: &mut Vec<u8>| bytes[5] = 7), &["1.7", "--target-env"]),
        ("bound", Box::new(|bytes: &mut Vec<u8>| bytes[15] = 1), &["ids", "spirv-opt"]),
        ("cut", Box::new(|bytes: &mut Vec<u8>| bytes.truncate(1024)), &["malformed", "spirv-val"]),
        (
            "geometry",
            Box::new(move |bytes: &mut Vec<u8>| {
                let at = bytes.chunks(4).position(|word| word == u32::to_le_bytes(capability)).unwrap() * 4;
                bytes[at + 4] = 2;
            }),
            &["capability Geometry", "rewrite the shader"],
        ),
        (
            "model",
            Box::new(|bytes: &mut Vec<u8>| replace(bytes, [1, 6 << 16 | 15], 3)),
            &["memory model", "glslangValidator -V"],
        ),
    ] {
        let path = changed(name, change);
        let line = format!("dispatch {} --device sim:jsl --surface 0=64 --surface 1=64", path.display());
        let ran = gemtool(&line);
        std::fs::remove_file(&path).unwrap();
        ran.refused(parts);
    }
    // The unchanged copy runs.
    let path = changed("same", |_| {});
    let line = format!("dispatch {} --device sim:tgl --surface 0=64 --surface 1=64", path.display());
    let ran = gemtool(&line);
    std::fs::remove_file(&path).unwrap();
    ran.held();
}

#[test]
fn the_ir_is_shown_before_the_first_pass_and_after_each_or_around_one() {
    let line = format!("{CUT} --device sim:jsl --groups 4 --push 20 --surface 0=256 --surface 1=256");
    let moments = |flags: &str| -> Vec<String> {
        let report = report(&format!("{line} {flags}"), 0);
        let steps = report["ir"].as_array().unwrap();
        let text = |step: &Value, key: &str| step[key].as_str().unwrap().to_owned();
        steps.iter().map(|step| format!("{} {}", text(step, "moment"), text(step, "pass"))).collect()
    };
    assert!(moments("").is_empty());
    assert_eq!(moments("--print-ir=hoist_discard"), ["before hoist_discard", "after hoist_discard"]);
    let opt_dce = ["before opt_dce", "after opt_dce"];
    assert_eq!(moments("--print-ir=opt_dce"), [opt_dce, opt_dce].concat());
    assert!(moments("--keep-ends --print-ir=hoist_discard").is_empty());
    let all = moments("--print-ir");
    assert_eq!(all[..3], ["before opt_forward_stores", "after opt_forward_stores", "after opt_algebraic"]);
    assert_eq!((all.len(), all.last().unwrap().as_str()), (15, "after opt_copy_prop"));

    // The end of lanes is after the load before the pass, and in front of it after the pass.
    let text = gemtool(&format!("{line} --print-ir=hoist_discard")).held();
    let section = |heading: &str| {
        let (_, rest) = text.split_once(&format!("\n{heading}\n")).expect(heading);
        let ir = rest.split_once("\n\n").unwrap().0;
        let place = |part: &str| ir.lines().position(|line| line.contains(part)).expect(part);
        (place("return"), place(" = load.u32 surface0["))
    };
    let ((end, load), (hoisted, loaded)) =
        (section("IR before hoist_discard"), section("IR after hoist_discard"));
    assert!(load < end && hoisted < loaded, "{text}");
    assert!(!text.contains("did not run"), "{text}");

    let text = gemtool(&format!("{line} --keep-ends --print-ir=hoist_discard")).held();
    let skipped = "\nIR: hoist_discard did not run for this shader with these options\n";
    assert_eq!((text.matches(skipped).count(), text.matches("\nIR ").count()), (1, 0), "{text}");

    gemtool(&format!("{line} --print-ir=opt_cse")).refused(&[
        "--print-ir",
        "no pass 'opt_cse'",
        "hoist_discard, lower_inputs",
    ]);
}
