//! Scripts of two device files: of one device, as two processes have them, and of two devices.

use gemtool::script::{self, Target};

use super::{fails, holds, report, stops};

const SHARED: &str = "a = alloc 4KiB caching=none map=wb\nfd = export a\nf = open\nb = import fd on=f\n";

#[test]
fn a_second_file_has_its_own_handles_to_the_same_object() {
    // The handle of 'c' is 1, as that of 'a', so both have to be told apart.
    let text = "a = alloc 4KiB caching=none map=wb\nf = open\nc = alloc 4KiB caching=none map=wb on=f\n\
                fd = export c\nd = import fd\ne = import fd on=f\nexpect same c e\nexpect not same a c\n";
    holds(&["glk", "tgl"], text);
    fails("glk", &format!("{text}expect same c d"), "handles 1 and 2 of two files");
    let flush = "domain c cpu write\nwrite c all fill=0x5a raw\nsubmit c\nexpect kernel-flushes";
    holds(&["glk"], &format!("{text}{flush} c == 1 rule=exec-flush"));
    holds(&["glk"], &format!("{text}{flush} d == 1 rule=exec-flush"));
    fails("glk", &format!("{text}{flush} a == 1"), "0");
    let report = report("glk", &format!("{text}{flush} c == 1"));
    let flushes: Vec<_> = report.steps.iter().flat_map(|step| step.kernel_flushes.iter().flatten()).collect();
    let submit = flushes.last().unwrap();
    assert_eq!((submit.bo.as_deref(), submit.handle), (Some("c"), Some(1)));
    holds(&["glk"], &format!("{text}close c\nread d all expect=0x00\nexpect error ENOENT: read e all"));
}

#[test]
fn the_library_of_one_file_does_not_know_of_the_others_stores() {
    let stored = "submit b\nwrite a all fill=0x5a\nsubmit b\nexpect gpu-reads b all 0x5a";
    fails("glk", &format!("{SHARED}{stored}"), "0x00");
    holds(&["tgl"], &format!("{SHARED}{stored}"));
    let stored = stored.replace("0x5a\nsubmit", "0x5a\nflush a\nsubmit");
    holds(&["glk"], &format!("{SHARED}{stored}"));
    let bracket = "submit b\nsync fd start write\nwrite a all fill=0x5a raw\nsync fd end write\nsubmit b\n";
    holds(&["glk"], &format!("{SHARED}{bracket}expect gpu-reads b all 0x5a"));
    stops("glk", &format!("{SHARED}submit a b"), Some("EINVAL"), "another device");
}

/// xbmc#28983: the CPU draws through the exporter's mapping, and another GPU reads the import.
#[test]
fn the_gpu_of_another_device_misses_what_the_exporter_need_not_flush() {
    let text = "a = alloc 4KiB map=wb\nfd = export a\nf = open sim:glk\nb = import fd on=f\nsubmit b\n";
    let bracket = "sync fd start write\nwrite a all fill=0x5a raw\nsync fd end write\nsubmit b\n";
    let read = "expect gpu-reads b all 0x5a";
    // The exporter's own GPU looks the caches up, so its kernel flushes nothing.
    fails("skl", &format!("{text}{bracket}{read}"), "0x00");
    holds(&["skl"], &format!("{text}{bracket}expect gpu-reads a all 0x5a"));
    holds(&["skl"], &format!("{}{bracket}{read}", text.replace("sim:glk", "sim:skl")));
}

#[test]
fn only_one_file_is_the_master() {
    let text = "a = alloc 3MiB\nshow a\nf = open\nb = alloc 3MiB on=f\n";
    holds(&["tgl,display=on"], &format!("{text}expect error EACCES: show b"));
    fails("tgl,display=on", &format!("{text}expect error EACCES: show a"), "no error");
    // The second device has its own.
    let text = text.replace("f = open", "f = open sim:tgl,display=on");
    holds(&["tgl,display=on"], &format!("{text}show b\nexpect level b none"));
}

#[test]
fn a_device_that_cannot_be_opened_is_refused() {
    holds(&["glk"], "expect error EINVAL: open sim:nothing\nexpect error ENOENT: open /nonexistent");
    fails("glk", "expect error ENOENT: open sim:tgl", "no error");
    stops("glk", "f = open /nonexistent", Some("ENOENT"), "/nonexistent");
    stops("glk", "f = open sim:nothing", Some("EINVAL"), "nothing");
    // Refused before anything is done, where only a software device can do it.
    holds(&["glk"], "f = open\nsuspend\nresume");
}

#[test]
fn a_shader_runs_on_the_file_of_its_surfaces() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shaders");
    let run = |text: &str| {
        let script =
            script::parse(&format!("a = alloc 4KiB\nf = open\nb = alloc 4KiB on=f\n{text}")).unwrap();
        script::run(&script.in_folder(folder), &Target::open("sim:glk").unwrap())
    };
    let whole = run("c = alloc 4KiB on=f\ndispatch add.spv 0=b 1=c groups=4 raw\nexpect lines-read b == 4");
    assert!(whole.passed(), "{whole:#?}");
    for raw in ["", " raw"] {
        let report = run(&format!("expect error EINVAL: dispatch add.spv 0=a 1=b groups=16{raw}"));
        assert!(report.passed(), "{report:#?}");
    }
}
