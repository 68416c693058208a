//! `gemtool sanitize`: devices that are refused. `ci/sanitize` and `ci/sanitize-vm` run programs.

use crate::{command, gemtool, ran};

/// Checks that a run on the real device `path` is refused with these words.
fn refused(path: &str, words: &[&str]) {
    let mut sanitize = command("sanitize --device");
    sanitize.arg(path).args(["--", "true"]);
    // The device is opened once the library is found, which is not built with the tests: any file will do.
    sanitize.env("GEM_COHERENCY_PRELOAD", env!("CARGO_BIN_EXE_gemtool"));
    ran(sanitize).refused(words);
}

#[test]
fn a_real_device_is_an_i915_device() {
    refused("/no/such/device", &["--device", "/no/such/device", "ENOENT"]);
    refused("/dev/null", &["--device", "/dev/null", "not a DRM device"]);
    refused("sim:glk", &["--device", "gemtool sanitize glk -- PROGRAM"]);
}

#[test]
fn a_run_has_software_devices_or_a_real_one() {
    gemtool("sanitize -- true").refused(&["DEVICES"]);
    gemtool("sanitize glk --device /dev/null -- true").refused(&["--device"]);
    gemtool("sanitize --device /dev/null --platforms all -- true").refused(&["--platforms"]);
    gemtool("sanitize glk true").refused(&["unexpected argument 'true'"]);
}
