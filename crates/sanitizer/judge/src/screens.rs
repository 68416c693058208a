//! Dirty lines of screens: when a request takes them off the screen, and when the program ends.
//!
//! A program that ends, or closes a device, says so before. What its screens have dirty then is a finding if they are off
//! afterwards: another process may have the file open, too. A process that a signal ends does not say so: it may have been
//! drawing.

use gem_coherency_server::Program;
use gem_coherency_sim::{Screens, SimDevice};
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_OBJ_SETPROPERTY, DRM_IOCTL_MODE_RMFB, DRM_IOCTL_MODE_SETPROPERTY,
};

use crate::collect::{self, SHOWS};
use crate::findings::{Finding, Findings};
use crate::run_judges::RunJudges;

/// Other requests that may change what planes show.
const CHANGES: [u32; 3] =
    [DRM_IOCTL_MODE_RMFB.code, DRM_IOCTL_MODE_SETPROPERTY.code, DRM_IOCTL_MODE_OBJ_SETPROPERTY.code];

/// Looks at the screens before a request that may change what they show.
pub(crate) fn before(device: &SimDevice, code: u32) -> Option<Screens> {
    (SHOWS.contains(&code) || CHANGES.contains(&code)).then(|| device.look_at_screens())
}

/// Notes what the screens have dirty, as `program` ends, or `closes` a device.
pub(crate) fn before_exit_or_close(
    findings: &Findings,
    judges: Option<&RunJudges>,
    program: &dyn Program,
    closes: bool,
) {
    let devices = program.devices();
    if let Some(judges) = judges {
        judges.hear_flushes(devices);
    }
    let mut found = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        let verdicts = judges.map(|judges| judges.dirty_screens(number, device)).unwrap_or_default();
        let dirty = if judges.is_some_and(|judges| judges.by_many) {
            collect::findings_of(device, verdicts)
        } else {
            let dirty = device.dirty_on_screen().into_iter();
            dirty.map(|access| collect::of_access(device, access)).collect()
        };
        // At its end no function of the program is on the stack.
        let stack = if closes && !dirty.is_empty() { program.stack() } else { Vec::new() };
        found.extend(collect::placed(findings, device, dirty, &stack));
    }
    *findings.dirty_screens() = found;
}

/// Forgets what was noted, as a program makes requests.
pub(crate) fn go_on(findings: &Findings) {
    findings.dirty_screens().clear();
}

/// Adds what was noted to the findings, of objects that no screen shows any more.
pub(crate) fn settle(findings: &Findings, devices: &[SimDevice]) {
    let shown = |finding: &Finding| devices.iter().any(|device| device.shows_object(finding.object));
    let mut dirty_screens = findings.dirty_screens();
    let (stay, gone): (Vec<_>, Vec<_>) = dirty_screens.drain(..).partition(shown);
    *dirty_screens = stay;
    drop(dirty_screens);
    for finding in gone {
        // No picture shows it.
        let exported_as = devices.iter().find_map(|device| device.exported_as(finding.object));
        findings.add(finding, exported_as, |_| None);
    }
}
