//! Collects what a device logged during a request, and finds the places in programs.

use gem_coherency::backend::Drm;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES};
use gem_coherency::vocabulary::CacheLevel;
use gem_coherency_memory_model::Mistake;
use gem_coherency_protocol::Frame;
use gem_coherency_sim::{Incoherent, RefusedRequest, SimDevice};
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_ATOMIC, DRM_IOCTL_MODE_CURSOR, DRM_IOCTL_MODE_CURSOR2, DRM_IOCTL_MODE_DIRTYFB,
    DRM_IOCTL_MODE_PAGE_FLIP, DRM_IOCTL_MODE_SETCRTC, DRM_IOCTL_MODE_SETPLANE,
};

use crate::findings::{Finding, Findings};
use crate::history::Stored;
use crate::platforms::Verdict;
use crate::run_judges::Judged;

/// The requests after which a screen shows what the program drew.
pub(crate) const SHOWS: [u32; 7] = [
    DRM_IOCTL_MODE_SETCRTC.code,
    DRM_IOCTL_MODE_PAGE_FLIP.code,
    DRM_IOCTL_MODE_DIRTYFB.code,
    DRM_IOCTL_MODE_ATOMIC.code,
    DRM_IOCTL_MODE_SETPLANE.code,
    DRM_IOCTL_MODE_CURSOR.code,
    DRM_IOCTL_MODE_CURSOR2.code,
];

/// Lines of a page.
const PAGE_LINES: u64 = PAGE_BYTES / LINE_BYTES;

/// Most pages of a finding whose first stores are looked up.
const MOST_PAGES: usize = 1024;

/// Lets the display engine read the screens after a request that shows something.
///
/// It reads all the time, but between these requests a program may be about to flush.
pub(crate) fn show(device: &SimDevice, code: u32) {
    if SHOWS.contains(&code)
        && let Err(error) = device.read_screens()
    {
        tracing::debug!(%error, "the screens cannot be read");
    }
}

/// Adds what was found on `device` since the last time to the findings; `stack` is that of the request. The device tells the mistakes,
/// or many platforms judged them.
pub(crate) fn collect(
    findings: &Findings,
    device: &SimDevice,
    Judged { verdicts, domain_changes, by_many }: Judged,
    stack: impl Fn() -> Vec<Frame>,
) {
    findings.domains.collect(domain_changes, &stack);
    if let Some(histories) = &findings.histories {
        histories.collect(device, &stack, |object, lines| {
            first_stores(findings, device.exported_as(object), object, lines)
        });
    }
    // A device that many platforms judge logs nothing but what it refused itself.
    let own = logged(device).into_iter().filter(|_| !by_many);
    let found: Vec<_> = own.chain(findings_of(device, verdicts)).collect();
    if found.is_empty() {
        return;
    }
    for finding in placed(findings, device, found, &stack()) {
        let object = finding.object;
        findings.add(finding, device.exported_as(object), |histories| histories.of(object));
    }
}

/// Returns findings on a device with the places in the program that stored: one for each of them. `stack` is that of the request.
pub(crate) fn placed(
    findings: &Findings,
    device: &SimDevice,
    found: Vec<Finding>,
    stack: &[Frame],
) -> Vec<Finding> {
    let mut placed = Vec::new();
    for finding in found {
        let finding = Finding { caching: device.cpu_caching(finding.object), ..finding };
        if finding.lines.is_empty() {
            placed.push(Finding { request: stack.to_vec(), ..finding });
            continue;
        }
        for (store, lines) in
            first_stores(findings, device.exported_as(finding.object), finding.object, &finding.lines)
        {
            placed.push(Finding { store, lines, request: stack.to_vec(), ..finding.clone() });
        }
    }
    placed
}

/// Returns an access that the device logged as a finding without places.
pub(crate) fn of_access(device: &SimDevice, access: Incoherent) -> Finding {
    let object = (access.object, access.handle, access.size);
    let finding = Finding::new(access.kind, device.name(), object, access.level, access.lines);
    Finding { route: Some(access.route), ..finding }
}

/// Returns a request that the kernel refused as a finding without a place.
fn of_refusal(device: &SimDevice, refused: RefusedRequest) -> Finding {
    let object = (refused.object.unwrap_or(0), refused.handle, refused.size);
    let finding = Finding::new(Mistake::RefusedRequest, device.name(), object, CacheLevel::None, Vec::new());
    Finding { refused: Some(refused), ..finding }
}

/// Returns the mistakes that a device logged.
fn logged(device: &SimDevice) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    // The certain ones come first: a surface's lines that an agent read are known exactly.
    let (surfaces, accesses): (Vec<_>, Vec<_>) =
        device.incoherent().into_iter().partition(|access| access.kind == Mistake::DirtySurface);
    for access in accesses.into_iter().chain(surfaces) {
        if access.kind == Mistake::DirtySurface && are_known(found.iter(), access.object, &access.lines) {
            continue;
        }
        found.push(of_access(device, access));
    }
    for submitted in device.dirty_at_submission() {
        if are_known(found.iter(), submitted.object, &submitted.lines) {
            continue;
        }
        let object = (submitted.object, submitted.handle, submitted.size);
        let kind = Mistake::DirtyAtSubmission;
        found.push(Finding::new(kind, device.name(), object, submitted.level, submitted.lines));
    }
    found.extend(device.refused_requests().into_iter().map(|refused| of_refusal(device, refused)));
    found
}

/// Returns the verdicts on a run as findings.
pub(crate) fn findings_of(device: &SimDevice, verdicts: Vec<Verdict>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for verdict in verdicts {
        let platforms: Vec<_> = verdict.platforms.iter().map(|platform| platform.name()).collect();
        // The certain ones come first.
        let are_known_on = |name| {
            let there = found.iter().filter(move |finding| finding.platforms.contains(name));
            are_known(there, verdict.object, &verdict.lines)
        };
        if !verdict.kind.is_certain() && platforms.iter().all(are_known_on) {
            continue;
        }
        let object = (verdict.object, verdict.handle, verdict.size);
        let finding = Finding::new(verdict.kind, device.name(), object, verdict.level, verdict.lines);
        found.push(Finding { route: verdict.route, refused: verdict.refused, platforms, ..finding });
    }
    found
}

/// Adds the flushes of programs to the histories, if they are recorded. A program is about to make a request.
pub(crate) fn hear_flushes(findings: &Findings) {
    if let Some(histories) = &findings.histories {
        histories.hear_flushes(|object, lines| first_stores(findings, None, object, lines));
    }
}

/// Returns the first stores to the pages of an object's lines. Mappings of an imported object have another number.
fn first_stores(
    findings: &Findings,
    exported_as: Option<u64>,
    object: u64,
    lines: &[LineRange],
) -> Vec<Stored> {
    by_store(lines, |line| findings.stores.first([Some(object), exported_as], line / PAGE_LINES))
}

/// Groups lines by the first store to their page, which `ask` finds for a line; lines that follow the last page that is
/// asked for have that page's.
fn by_store(
    lines: &[LineRange],
    mut ask: impl FnMut(u64) -> Vec<Frame>,
) -> Vec<(Vec<Frame>, Vec<LineRange>)> {
    let mut groups: Vec<(Vec<Frame>, Vec<LineRange>)> = Vec::new();
    // The last page, and the place of its group.
    let mut last: Option<(u64, usize)> = None;
    let mut asked = 0;
    for range in lines {
        let mut first = range.first();
        while first < range.end() {
            let page = first / PAGE_LINES;
            let end = range.end().min((page + 1) * PAGE_LINES);
            let at = match last {
                Some((known, at)) if known == page || asked == MOST_PAGES => at,
                Some(_) | None => {
                    asked += 1;
                    let store = ask(first);
                    let known = groups.iter().position(|(other, _)| *other == store);
                    known.unwrap_or_else(|| {
                        groups.push((store, Vec::new()));
                        groups.len() - 1
                    })
                }
            };
            last = Some((page, at));
            if let Some((_, lines)) = groups.get_mut(at) {
                LineRange::new(first, end).push_to(lines);
            }
            first = end;
        }
    }
    groups
}

/// Returns whether findings have every one of these lines of an object.
fn are_known<'a>(found: impl Iterator<Item = &'a Finding> + Clone, object: u64, lines: &[LineRange]) -> bool {
    let known = found.filter(|finding| finding.object == object).flat_map(|finding| &finding.lines);
    lines.iter().all(|range| {
        (range.first()..range.end())
            .all(|line| known.clone().any(|known| (known.first()..known.end()).contains(&line)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored_by(name: &str) -> Vec<Frame> {
        vec![Frame { module: name.to_owned(), address: 1 }]
    }

    #[test]
    fn lines_of_two_stores_are_two_groups() {
        let lines = [LineRange::new(60, 70), LineRange::new(100, 130), LineRange::new(190, 191)];
        let mut pages = Vec::new();
        let groups = by_store(&lines, |line| {
            pages.push(line / PAGE_LINES);
            stored_by(if line / PAGE_LINES == 1 { "one" } else { "other" })
        });
        assert_eq!(pages, [0, 1, 2], "each page once");
        let other = vec![LineRange::new(60, 64), LineRange::new(128, 130), LineRange::new(190, 191)];
        let one = vec![LineRange::new(64, 70), LineRange::new(100, 128)];
        assert_eq!(groups, [(stored_by("other"), other), (stored_by("one"), one)]);
    }

    #[test]
    fn a_store_to_all_pages_is_one_group() {
        let lines = [LineRange::new(0, 3 * MOST_PAGES as u64 * PAGE_LINES)];
        let mut asked = 0;
        let groups = by_store(&lines, |_| {
            asked += 1;
            stored_by("one")
        });
        assert_eq!((asked, groups), (MOST_PAGES, vec![(stored_by("one"), lines.to_vec())]));
    }
}
