//! `gemtool sim`: programs that cannot be intercepted are refused before anything runs. `ci/programs` runs programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

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
