//! `gemtool sim`: programs that cannot be intercepted are refused before anything runs. `ci/programs` runs programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::{command, gemtool, ran};

/// The first bytes of an ELF file: a class, and a machine.
fn header(class: u8, machine: u16) -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    header[16] = 2;
    header[18..20].copy_from_slice(&machine.to_le_bytes());
    header[52] = 64;
    header
}

/// Checks that a program of these bytes is refused with these words.
fn refused(name: &str, bytes: &[u8], words: &[&str]) {
    let path = std::env::temp_dir().join(format!("gemtool-sim-{}-{name}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut sim = command("sim jsl --");
    sim.arg(&path);
    let ran = ran(sim);
    fs::remove_file(&path).unwrap();
    ran.refused(words);
}

#[test]
fn a_program_that_cannot_be_intercepted_is_refused_with_the_reason() {
    refused("static", &header(2, 62), &["cannot intercept", "linked statically"]);
    refused("narrow", &header(1, 3), &["cannot intercept", "64-bit"]);
    refused("arm", &header(2, 183), &["cannot intercept", "x86-64"]);
    refused("text", b"text", &["cannot intercept", "64-bit"]);
    refused("script", b"#!/no/such/interpreter\n", &["cannot run", "/no/such/interpreter"]);
    gemtool("sim jsl -- /no/such/program").refused(&["no such program"]);
    gemtool("sim jsl -- no-such-program").refused(&["no such program"]);
}

/// A command that gets as far as to its devices: any file stands for the library, which is not built with the tests.
fn beside_a_library(line: &str) -> Command {
    let mut command = command(line);
    command.env("GEM_COHERENCY_PRELOAD", env!("CARGO_BIN_EXE_gemtool"));
    command
}

#[test]
fn names_of_both_drivers_are_proposed_and_the_lists_named() {
    let lists = "`gemtool platforms` lists the platforms of i915, with --driver xe those of xe";
    for (devices, meant) in
        [("jslx", "did you mean jsl?"), ("lnll", "did you mean lnl?"), ("jsl,bmgg", "did you mean bmg?")]
    {
        for line in [
            format!("sim {devices} -- true"),
            format!("sanitize {devices} -- true"),
            format!("serve {devices}"),
        ] {
            ran(beside_a_library(&line)).refused(&[meant, lists]);
        }
    }
    ran(beside_a_library("sim jsl,driver=xe -- true")).refused(&["Jasper Lake is driven by i915"]);
    ran(beside_a_library("sim lnl,driver=i915 -- true")).refused(&["Lunar Lake is driven by xe"]);
    ran(beside_a_library("sim ptl,kernel=6.12 -- true"))
        .refused(&["the xe driver of Linux 6.12 does not claim ptl"]);
}

#[test]
fn devices_of_xe_run_programs() {
    for devices in ["lnl", "bmg,ptl", "lnl,tgl", "tgl,driver=xe", "dg2,driver=xe,kernel=6.12,jsl"] {
        assert_eq!(ran(beside_a_library(&format!("sim {devices} -- true"))).status, Some(0), "{devices}");
    }
}

#[test]
fn devices_that_do_not_exist_are_refused() {
    gemtool("sim foo,bar=1 -- true").refused(&[]);
    gemtool("sim jsl,, -- true").refused(&["a platform's name is missing"]);
    gemtool("serve kernel=6.1").refused(&["of which platform"]);
    gemtool("sim jsl").refused(&["PROGRAM"]);
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let mut sim = command("sim jsl -- true");
    sim.env("GEM_COHERENCY_PRELOAD", "/no/such/library.so");
    ran(sim).refused(&["/no/such/library.so"]);
}
