//! Scripts with shaders: what is read, what is stale, what cannot run.

use gem_coherency::device::Device;
use gemtool::dispatch::{Choices, Size, compile};
use gemtool::script::{self, Outcome, Report, Target};
use intel_eu::Platform;

/// Two BOs: numbers that the CPU stored without the library, and a BO for sums.
const BOS: &str = "a = alloc 4KiB caching=none map=wb\nb = alloc 4KiB caching=none map=wb\n\
                   write a all fill=counter raw\n";
/// The first bytes of the right sums.
const SUMS: &str = "01000000020000000300000004000000";

/// Runs `text` on a target; its files are those of the repository's examples.
#[track_caller]
fn run(target: &Target, text: &str) -> Report {
    let script = script::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let script = script.in_folder(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shaders"));
    let report = script::run(&script, target);
    assert_eq!((report.open.handles, report.open.mappings), (0, 0), "{text}");
    report
}

/// Asserts that every expectation of `text` holds on `sim:DEVICE`.
#[track_caller]
fn holds(device: &str, text: &str) {
    let report = run(&Target::open(&format!("sim:{device}")).unwrap(), text);
    assert!(report.passed(), "{device}: {:#?}", report.steps);
}

/// Returns the actual value of the last expectation of `text`, which fails on `sim:DEVICE`; the others hold.
#[track_caller]
fn seen(device: &str, text: &str) -> String {
    let report = run(&Target::open(&format!("sim:{device}")).unwrap(), text);
    assert_eq!((report.counts.mismatches, report.counts.not_reached), (1, 0), "{:#?}", report.steps);
    let last = &report.steps.last().unwrap().outcome;
    let Outcome::Mismatch { seen, .. } = last else { panic!("{last:?}") };
    seen.clone()
}

/// Returns the reason why the last line of `text` stops the script on `sim:DEVICE`.
#[track_caller]
fn stops(device: &str, text: &str) -> String {
    let report = run(&Target::open(&format!("sim:{device}")).unwrap(), text);
    let stopped = report.stopped.unwrap_or_else(|| panic!("{text}: {:#?}", report.steps));
    assert_eq!(stopped.line, text.lines().count(), "{}", stopped.why);
    stopped.why
}

#[test]
fn a_raw_dispatch_reads_old_bytes_where_nothing_was_flushed() {
    let raw = "dispatch add.spv 0=a 1=b groups=4 raw\n";
    holds(
        "glk",
        &format!(
            "{BOS}{raw}expect lines-stale a == 4\nexpect lines-read a == 4\nread b 0..16 expect=01000000"
        ),
    );
    holds("tgl", &format!("{BOS}{raw}expect lines-stale a == 0\nread b 0..16 expect={SUMS} raw"));
    let around = raw.replace("0=a", "0=a mocs=bypass-llc");
    holds("jsl", &format!("{BOS}{raw}expect lines-stale a == 0"));
    holds("jsl", &format!("{BOS}{around}expect lines-stale a == 4\nexpect lines-stale b == 0"));
    assert_eq!(seen("jsl", &format!("{BOS}{around}expect lines-stale a == 0")), "4: 0-3");
    assert_eq!(seen("jsl", &format!("{BOS}{around}expect not lines-read a >= 4")), "4: 0-3");
}

#[test]
fn the_library_flushes_before_a_dispatch_and_learns_of_its_writes() {
    let text = format!(
        "{}dispatch add.spv 0=a 1=b groups=4\nexpect verdict a flush lines=64 rule=non-coherent-read\n",
        BOS.replace(" raw", "")
    );
    holds("glk", &format!("{text}expect lines-stale a == 0\nread b 0..16 expect={SUMS}"));
    // A dispatch that the library does not know of leaves no stale lines to invalidate.
    let text = "b = alloc 4KiB caching=none map=wb\nwrite b all fill=05000000\nread b all expect=05000000\n\
                dispatch add.spv 0=b 1=b groups=4";
    holds("glk", &format!("{text}\nexpect stale b >= 4\nread b 0..16 expect=06000000"));
    assert_eq!(seen("glk", &format!("{text} raw\nexpect stale b >= 1")), "0");
}

#[test]
fn hoisted_discards_save_lines() {
    let text = "a = alloc 4KiB\nb = alloc 4KiB\nn = alloc 4KiB\nwrite n 0..4 fill=14000000\n\
                dispatch cut.spv 0=a 1=b push=n groups=4";
    holds("skl", &format!("{text}\nexpect lines-read a == 2\nexpect lines-written b == 2"));
    holds("skl", &format!("{text} no-hoist-discard\nexpect lines-read a == 4\nexpect lines-written b == 2"));
    assert_eq!(seen("skl", &format!("{text} keep-ends\nexpect lines-read a <= 3")), "4: 0-3");
    assert_eq!(seen("skl", &format!("{text}\nexpect lines-read a == 1")), "2: 0-1");
}

#[test]
fn a_fragment_shader_has_an_extent_and_constants() {
    let text = "a = alloc 4KiB\nb = alloc 4KiB\nwrite a all fill=0000803f\n\
                dispatch shade.spv in0=a out0=b extent=9x3 spec=0=0.25\n\
                read b 0..432 expect=0000803e\nread b 432..4096 expect=00\n";
    holds("tgl", text);
    let (text, _) = text.rsplit_once("read").unwrap();
    assert!(seen("tgl", &text.replace("0.25", "2.0")).starts_with("0x0040"));
}

#[test]
fn lines_are_those_of_the_last_statement() {
    let dispatch = format!("{BOS}dispatch add.spv 0=a 1=b groups=4\n");
    let missing = "the last statement ran no shader";
    assert_eq!(seen("skl", &format!("{dispatch}wait a\nexpect lines-read a == 4")), missing);
    assert_eq!(seen("skl", &format!("{BOS}expect lines-read a == 0")), missing);
    // Expectations are no statements, and each kind of lines is its own.
    let rest = "expect lines-read a == 4\nexpect lines-written a == 0\nexpect lines-read b == 0\nexpect lines-written b == 4";
    holds("skl", &format!("{dispatch}{rest}"));
}

#[test]
fn a_dispatch_runs_on_the_gpu_of_a_real_device() {
    gem_coherency_sim::link();
    let target = |device| Target::from_device(Device::open(device).unwrap());
    let text = format!("{}dispatch add.spv 0=a 1=b groups=4\n", BOS.replace(" raw", ""));
    let checks =
        format!("expect verdict a flush lines=64 rule=non-coherent-read\nread b 0..16 expect={SUMS}");
    let report = run(&target("sim:glk"), &format!("{text}{checks}"));
    assert!(report.passed(), "{:#?}", report.steps);
    // Two surfaces that read one BO are one use of it.
    let once = "n = alloc 4KiB caching=none map=wb\nb = alloc 4KiB caching=none map=wb\n\
                write n 0..4 fill=14000000\nwrite b 64..256 fill=00\ndispatch cut.spv 0=n push=n 1=b groups=4\n\
                expect verdict n flush lines=1 rule=non-coherent-read\n\
                expect verdict b flush lines=3 rule=non-coherent-write\nread b 0..4 expect=14000000";
    for target in [target("sim:glk"), Target::open("sim:glk").unwrap()] {
        let report = run(&target, once);
        assert!(report.passed(), "{:#?}", report.steps);
    }
    for line in ["dispatch add.spv 0=a 1=b groups=4 raw", "expect lines-read a == 4"] {
        let report = run(&target("sim:glk"), &format!("{text}{line}"));
        assert!(report.stopped.unwrap().why.contains("software device"), "{line}");
    }
}

#[test]
fn what_cannot_run_stops_the_script() {
    for (device, line, parts) in [
        ("skl", "dispatch no-such.spv", &["cannot read", "no-such.spv", "No such file"][..]),
        ("skl", "dispatch add.comp", &["add.comp", "SPIR-V", "glslangValidator"]),
        ("skl", "dispatch /dev/zero", &["/dev/zero", "regular file"]),
        ("skl", "dispatch add.spv 0=a", &["writes binding 1", "'1=BO'"]),
        ("skl", "dispatch add.spv 0=a 1=b 2=a", &["surface 2", "it uses: "]),
        ("skl", "dispatch add.spv 0=a 1=b entry=other", &["'other'", "'main' (compute)"]),
        ("skl", "dispatch add.spv 0=a 1=b spec=7=1", &["id 7"]),
        (
            "skl",
            "dispatch shade.spv in0=a out0=b extent=9x3 spec=0=true",
            &["constant 0 has type float32", "'true' is no number"],
        ),
        ("skl", "dispatch add.spv 0=a 1=b groups=0", &["0 x 1 x 1"]),
        ("skl", "dispatch add.spv 0=a 1=b extent=4x4", &["compute shader"]),
        ("skl", "dispatch shade.spv in0=a out0=b", &["fragment shader", "extent"]),
        (
            "skl",
            "dispatch add.spv 0=a mocs=bypass-llc 1=b",
            &["skl has no MOCS entry", "page-table, uncached"],
        ),
        ("ivb", "dispatch add.spv 0=a 1=b", &["Haswell to Meteor Lake"]),
    ] {
        let why = stops(device, &format!("a = alloc 4KiB\nb = alloc 4KiB\n{line}"));
        for part in parts {
            assert!(why.contains(part), "{line}: '{part}' is not in: {why}");
        }
    }
}

#[test]
fn a_size_is_that_of_the_block_or_of_the_pixels() {
    let bytes = include_bytes!("../../../examples/shaders/cut.spv");
    let cut = compile(bytes, Platform::Skl, &Choices::default()).unwrap();
    let size = |place: &str| cut.size(place.parse().unwrap(), [4, 3, 1]);
    assert_eq!(size("push"), Size::Bytes(4));
    assert_eq!(size("0"), Size::Array { bytes: 0, element: 4 });
    assert_eq!(size("9"), Size::Unknown);
    assert_eq!(size("in0"), Size::Pixels { bytes: 192 });
    let texts = [
        (Size::Bytes(4), ", a block of 4 bytes"),
        (
            Size::Array { bytes: 16, element: 4 },
            ", a block of 16 bytes, and 4 for each element of the array at its end",
        ),
        (Size::Unknown, ""),
    ];
    texts.iter().for_each(|(size, text)| assert_eq!(size.to_string(), *text));
}
