//! The words of the picture of a history.

use gem_coherency::policy::kernel::Event;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CachingMode, MocsClass};
use gem_coherency_memory_model::Route;
use gem_coherency_report::{HistoryView, PlaceRow, StepView};
use gem_coherency_sanitizer::{Mistake, What};

use super::lines_text;
use super::table::{Cell, State, Touch};
use crate::render::programs::frames::{is_header, shown};
use crate::render::visible;

/// Returns the picture's title: `Stale read by the GPU: line 37`.
pub(super) fn title(view: &HistoryView) -> String {
    let kind = capitalised(view.finding.kind.name());
    let agent = view.finding.agent.as_ref().map_or_else(String::new, |agent| format!(" by the {agent}"));
    format!("{kind}{agent}: {}", all(&view.wrong))
}

/// Returns words with a capital letter.
fn capitalised(words: &str) -> String {
    let mut words = words.to_owned();
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

/// Returns lines as text: `line 37`, `lines 0-1, 129`.
fn all(lines: &[LineRange]) -> String {
    const MOST: usize = 6;
    match lines {
        [one] => lines_text(*one),
        several => {
            let numbers = several.iter().take(MOST).map(|lines| match lines.count() {
                1 => lines.first().to_string(),
                _ => format!("{}-{}", lines.first(), lines.end().saturating_sub(1)),
            });
            let more = if several.len() > MOST { ", ..." } else { "" };
            format!("lines {}{more}", numbers.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns what is wrong, as a sentence.
pub(super) fn wrong(view: &HistoryView) -> String {
    let lines = all(&view.wrong);
    let agent = view.finding.agent.as_deref().unwrap_or("GPU");
    match view.kind {
        Mistake::StaleRead => {
            format!(
                "The {agent} reads old bytes of {lines} from memory: the newest ones are in the CPU's cache."
            )
        }
        Mistake::LostWrite => format!(
            "The {agent} writes memory under {lines}, which the CPU's cache has dirty: the write-back destroys what it wrote."
        ),
        Mistake::StaleCpuRead => {
            format!("The kernel reads old bytes of {lines} from the CPU's cache: memory has newer ones.")
        }
        Mistake::MissingInvalidate => {
            format!("The program loads old bytes of {lines} from the CPU's cache: memory has newer ones.")
        }
        Mistake::DirtyOnScreen => format!(
            "A plane shows {lines}. The newest bytes are in the CPU's cache, and the display engine does not see them."
        ),
        Mistake::DirtySurface => format!(
            "A surface has {lines}. The newest bytes are in the CPU's cache, and the GPU does not see them. Whether a shader accesses them is not known."
        ),
        Mistake::UnflushedGpuWrite => {
            format!("The command streamer reads {lines} before the copy engine's writes to them are flushed.")
        }
        Mistake::UndrainedStore => {
            format!("The GPU reads {lines}, which may be in the CPU's write-combining buffers.")
        }
        Mistake::RefusedRequest => "The kernel refuses the request.".to_owned(),
        Mistake::DirtyAtSubmission => format!(
            "The GPU does not see the newest bytes of {lines}, which are in the CPU's cache. Whether it reads them is not known."
        ),
    }
}

/// Returns the head of a step's column.
pub(super) fn head(step: &StepView) -> String {
    match step.what {
        What::Stored => "program stores".to_owned(),
        What::Flushed => "program flushes".to_owned(),
        What::Loaded => "program loads".to_owned(),
        What::LeftCache => "lines leave the cache".to_owned(),
        What::FlushedForCopy { .. } => "kernel flushes".to_owned(),
        What::Request { event, flushes: true, .. } => format!("{}, kernel flushes", request(event)),
        What::Request { event, flushes: false, .. } => request(event),
        What::Access { route, access } => format!("{} {}", agent(route), verb(access)),
    }
}

/// Returns a step as a sentence.
pub(super) fn event(step: &StepView) -> String {
    let lines = all(&step.lines);
    match step.what {
        What::Stored if step.place.is_empty() => {
            format!("The program stores to {lines}, at a place that is not known.")
        }
        What::Stored => format!("The program stores to {lines}. The first store to the page is in:"),
        What::Flushed => format!("The program flushes {lines}."),
        What::Loaded => format!("The program loads from {lines}."),
        What::LeftCache => {
            format!("Dirty {lines} left the cache without a flush: by an eviction, or a non-temporal store.")
        }
        What::FlushedForCopy { call } => {
            format!("The kernel flushes {lines} for the copy of {}.", short(call))
        }
        What::Request { event, flushes, .. } => {
            let flush = if flushes { "flushes every line" } else { "flushes nothing" };
            format!("{}: the kernel {flush}.", capitalised(&request(event)))
        }
        What::Access { route, access } => {
            let how = match route {
                Route::CpuCached | Route::CpuNonTemporal => " through the CPU's cache",
                Route::CpuUncached | Route::Aperture => " around the CPU's cache",
                Route::Gpu(MocsClass::PageTable) => "",
                Route::Gpu(MocsClass::Uncached) => " through an uncached MOCS entry",
                Route::Gpu(MocsClass::BypassLlc) => " through a MOCS entry that bypasses the LLC",
                Route::Display => " in memory",
            };
            format!("The {} {} {lines}{how}.", agent(route), verb(access))
        }
    }
}

fn agent(route: Route) -> &'static str {
    match route {
        Route::CpuCached | Route::CpuNonTemporal | Route::CpuUncached | Route::Aperture => "kernel",
        Route::Gpu(_) => "GPU",
        Route::Display => "display engine",
    }
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Write => "writes",
    }
}

/// Returns the name of a kernel's event.
fn request(event: Event) -> String {
    let domain = |domain: &str, access| match access {
        Access::Read => format!("SET_DOMAIN {domain}"),
        Access::Write => format!("SET_DOMAIN {domain}, write"),
    };
    match event {
        Event::Exec(_) => "submission".to_owned(),
        Event::Acquire | Event::Fault => "new pages".to_owned(),
        Event::SetDomainCpu(access) => domain("CPU", access),
        Event::SetDomainGtt(access) => domain("GTT", access),
        Event::SetDomainWc(access) => domain("WC", access),
        Event::SetCaching(CachingMode::None) => "SET_CACHING none".to_owned(),
        Event::SetCaching(CachingMode::Cached) => "SET_CACHING cached".to_owned(),
        Event::SetCaching(CachingMode::Display) => "SET_CACHING display".to_owned(),
        Event::Pread => "PREAD".to_owned(),
        Event::Pwrite { .. } => "PWRITE".to_owned(),
        Event::PinDisplay => "scanout".to_owned(),
        Event::DirtyFb => "DIRTYFB".to_owned(),
        Event::SwFinish => "SW_FINISH".to_owned(),
        Event::DmaBufBegin(_) => "dma-buf SYNC, start".to_owned(),
        Event::DmaBufEnd => "dma-buf SYNC, end".to_owned(),
        Event::Release
        | Event::AddFramebuffer
        | Event::RemoveFramebuffer
        | Event::UnpinDisplay
        | Event::Suspend
        | Event::Hibernate
        | Event::Resume { .. } => event.name().to_owned(),
    }
}

/// Returns a request's name without its prefix.
fn short(call: &str) -> &str {
    call.strip_prefix("DRM_IOCTL_I915_GEM_").unwrap_or(call)
}

/// Returns the innermost functions of a call stack as text: `upload (app.c:31), called by main (app.c:12)`. Functions of
/// installed headers, such as `_mm_clflush`, are left out, as is what calls main(). If none of them has a source line, the first
/// one that has follows.
pub fn callers(places: &[PlaceRow]) -> String {
    const MOST: usize = 4;
    let known = places.iter().filter(|place| !place.file.as_deref().is_some_and(is_header));
    let (known, is_cut) = shown(known, MOST);
    let one = |place: &PlaceRow| {
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let at = match (&place.file, place.line) {
            (Some(file), Some(line)) => format!("{}:{line}", name(file)),
            _ => format!("{}+{:#x}", name(&place.module), place.address),
        };
        visible(&match &place.function {
            Some(function) => format!("{function} ({at})"),
            None => at,
        })
    };
    let mut names: Vec<_> = known.into_iter().map(one).collect();
    if is_cut {
        names.insert(MOST, "...".to_owned());
    }
    names.join(", called by ")
}

/// Returns the word in a cell.
pub(super) fn in_cell(cell: Cell) -> &'static str {
    match (cell.touch, cell.state) {
        (Touch::Read, _) if cell.is_wrong => "old bytes",
        (Touch::Written, _) if cell.is_wrong => "lost write",
        (_, _) if cell.is_wrong => "dirty",
        (Touch::Stored, _) => "stored",
        (Touch::Invalidated, _) => "invalidated",
        (Touch::Flushed, State::WrittenBack) | (Touch::None, State::WrittenBack) => "written back",
        (Touch::Flushed, State::Clean | State::Dirty | State::Stale) => "clean flush",
        (Touch::Read, _) => "reads",
        (Touch::Written, _) => "writes",
        (Touch::None, State::Dirty) => "dirty",
        (Touch::None, State::Stale) => "memory newer",
        (Touch::None, State::Clean) => "",
    }
}

/// Returns the description of a cell: `line 37, event 4: dirty, read, wrong`.
pub(super) fn cell(label: &str, column: usize, cell: Cell) -> String {
    let state = match cell.state {
        State::Clean => "clean",
        State::Dirty => "dirty",
        State::WrittenBack => "written back",
        State::Stale => "memory newer",
    };
    let touch = match cell.touch {
        Touch::None => "",
        Touch::Stored => ", stored",
        Touch::Flushed => ", flushed",
        Touch::Invalidated => ", invalidated",
        Touch::Read => ", read",
        Touch::Written => ", written",
    };
    let wrong = if cell.is_wrong { ", wrong" } else { "" };
    format!("{label}, event {column}: {state}{touch}{wrong}")
}
