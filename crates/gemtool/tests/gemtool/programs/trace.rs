//! `gemtool trace` without root and without a device.

use crate::gemtool;

#[test]
fn the_software_device_has_no_kernel_to_trace() {
    let ran = gemtool("trace --device sim:jsl");
    assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.starts_with("error: --device: the software i915 has no kernel"), "{}", ran.err);
}

#[test]
fn a_missing_tracing_requirement_is_reported() {
    // Not a device: with root and tracefs, the error names this instead of tracing.
    let ran = gemtool("trace --device /dev/null -- true");
    assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    let needs = ["needs root", "not a DRM device", "is not a character device"];
    assert!(needs.iter().any(|need| ran.err.contains(need)), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn arguments_are_checked_before_tracing() {
    for (line, why) in [
        ("trace --duration 5", "not a time"),
        ("trace --duration 0s", "the duration is 0"),
        ("trace --duration 2000m", "longer than a day"),
        ("trace --duration 5s -- true", "cannot be used with"),
        ("trace --without nothing -- true", "unknown rule 'nothing'"),
        ("trace true", "unexpected argument"),
    ] {
        let ran = gemtool(line);
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{line}");
        assert!(ran.err.contains(why), "{line}: {}", ran.err);
    }
}
