//! Dirty lines of screens: when a request takes them off the screen, and when the program ends.
//!
//! A program that ends, or closes a device, says so before. What its screens have dirty then is a finding if they are off
//! afterwards: another process may have the file open, too. A process that a signal ends does not say so: it may have been
//! drawing.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use gem_coherency_sim::{Screens, Soft};
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_OBJ_SETPROPERTY, DRM_IOCTL_MODE_RMFB, DRM_IOCTL_MODE_SETPROPERTY,
};
use gem_coherency_wire::Call;

use crate::client::Client;
use crate::findings::{Finding, Findings};
use crate::judge::{self, SHOWS};
use crate::shared::Shared;

/// Other requests that may change what planes show.
const CHANGES: [u32; 3] =
    [DRM_IOCTL_MODE_RMFB.code, DRM_IOCTL_MODE_SETPROPERTY.code, DRM_IOCTL_MODE_OBJ_SETPROPERTY.code];

/// Looks at the screens before a request that may change what they show.
pub(crate) fn before(device: &Soft, code: u32) -> Option<Screens> {
    (SHOWS.contains(&code) || CHANGES.contains(&code)).then(|| device.look_at_screens())
}

/// Notes what the screens have dirty, as `client` ends, or `closes` a device.
pub(crate) fn part(shared: &Shared, client: &Client, connection: &Arc<OwnedFd>, closes: bool) {
    let Some(findings) = &shared.findings else { return };
    if let Some(across) = &shared.across {
        across.hear_flushes(&shared.devices);
    }
    // At its end no function of the program is on the stack.
    let stack = |is_needed| {
        if closes && is_needed { client.ask(connection, &Call::Stack.with([])) } else { Vec::new() }
    };
    let mut found = Vec::new();
    for (number, device) in shared.devices.iter().enumerate() {
        let across = shared.across.as_ref();
        let verdicts = across.map(|across| across.part(number, device)).unwrap_or_default();
        let dirty = if across.is_some_and(|across| across.by_many) {
            judge::findings_of(device, verdicts)
        } else {
            let dirty = device.dirty_on_screen().into_iter();
            dirty.map(|access| judge::of_access(device, access)).collect()
        };
        let stack = stack(!dirty.is_empty());
        found.extend(judge::placed(findings, device, dirty, &stack));
    }
    *findings.partings() = found;
}

/// Forgets what was noted, as a program makes requests.
pub(crate) fn go_on(findings: &Findings) {
    findings.partings().clear();
}

/// Adds what was noted to the findings, of objects that no screen shows any more.
pub(crate) fn settle(shared: &Shared) {
    let Some(findings) = &shared.findings else { return };
    let shown = |finding: &Finding| shared.devices.iter().any(|device| device.shows_object(finding.object));
    let mut partings = findings.partings();
    let (stay, gone): (Vec<_>, Vec<_>) = partings.drain(..).partition(shown);
    *partings = stay;
    drop(partings);
    for finding in gone {
        // No picture shows it.
        let exported_as = shared.devices.iter().find_map(|device| device.exported_as(finding.object));
        findings.add(finding, exported_as, |_| None);
    }
}
