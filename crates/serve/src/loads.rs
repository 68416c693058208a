//! Tells programs which lines agents made stale, and adds the loads of such lines that programs report.
//!
//! A program learns of stale lines at its next request, or when it maps the object. It looks at the bytes itself: a line that is not
//! stale any more is no mistake.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use gem_coherency::units::LineRange;
use gem_coherency_hierarchy::Route;
use gem_coherency_sim::Soft;
use gem_coherency_wire::{Call, Frame};

use crate::client::Client;
use crate::findings::{Finding, FindingKind, Findings};
use crate::shared::Shared;
use crate::stale::Written;

/// Tells programs which lines of `device` have become stale: `client`, which made a request, at once, the others at their next
/// one.
pub(crate) fn tell(
    shared: &Shared,
    findings: &Findings,
    device: &Soft,
    client: &Client,
    connection: &Arc<OwnedFd>,
) {
    let made = device.made_stale();
    if !made.is_empty() {
        let request = client.ask(connection, &Call::Stack.with([]));
        for stale in made {
            shared.each_client(|client| client.note_stale(stale.object, &stale.lines));
            findings.stale.wrote(device, stale, request.clone());
        }
    }
    tell_noted(client, connection);
}

/// Tells a program which lines have become stale since its last request.
pub(crate) fn tell_noted(client: &Client, connection: &Arc<OwnedFd>) {
    for (object, lines) in client.take_stale().0 {
        for lines in lines {
            client.ask(connection, &Call::Stale.with([object, lines.first(), lines.end()]));
        }
    }
}

/// Adds the finding of a load, with its call stack, that got old bytes of lines of an object. Loads by one place since the last
/// write are one.
pub(crate) fn add(findings: &Findings, object: u64, lines: LineRange, load: Vec<Frame>) {
    findings.stale.with_write(object, |written| add_load(findings, written, lines, load));
}

fn add_load(findings: &Findings, written: &mut Written, lines: LineRange, load: Vec<Frame>) {
    match written.found.iter().find(|(known, _)| *known == load) {
        Some(&(_, Some(index))) => findings.extend(index, lines),
        Some((_, None)) => {}
        None => {
            let Written { device, stale, request, .. } = &*written;
            let index = findings.add(Finding {
                kind: FindingKind::MissingInvalidate,
                device: device.clone(),
                object: stale.object,
                handle: stale.handle,
                size: stale.size,
                level: stale.level,
                route: Some(Route::CpuCached),
                lines: vec![lines],
                store: Vec::new(),
                load: load.clone(),
                request: request.clone(),
                flushes: Vec::new(),
                times: 1,
                platforms: Vec::new(),
            });
            written.found.push((load, index));
        }
    }
}
