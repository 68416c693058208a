//! Lines of shown framebuffers that the CPU's cache has dirty, so that the display engine shows old bytes of them.
//!
//! A program may draw into a framebuffer that is shown, as long as it then says so, or flushes. So dirty lines alone are no mistake. They
//! are one if they are still dirty when two vertical blanks have passed, when the plane shows other lines, or when the program
//! ends. There is no clock: the blanks are those for which the program itself waits (WAIT_VBLANK), so a slow machine
//! makes no difference.
//!
//! A request that tells the kernel about stores ends the watch of the lines that are dirty then, until their bytes change: one after
//! which [`SimDevice::read_screens`](crate::SimDevice::read_screens) judges them, and SET_DOMAIN.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use super::DisplayEngine;
use super::crtcs::Crtcs;
use super::framebuffers::Framebuffer;
use crate::kernel::objects::object::{Object, Origin};
use crate::memory::backing_store::{AccessContext, BackingStore};
use crate::memory::observer::About;
use crate::observe::incoherent::Incoherent;
use crate::observe::trace::Tracing;
use crate::observe::trace_event::TraceEvent;
use gem_coherency::error::Result;
use gem_coherency::sync::Mutex;
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency::vocabulary::{Access, CacheLevel};
use gem_coherency_memory_model::{self as memory_model, Line, Mistake, Place, Route, Transfer};

/// Vertical blanks after which a line must not be dirty.
const MOST_BLANKS: u32 = 2;

/// The bytes of a line.
type Bytes = [u8; LINE_BYTES as usize];

/// The dirty lines of shown objects, when they were looked at last.
#[derive(Debug, Default)]
pub(crate) struct OnScreen(Mutex<BTreeMap<u64, Shown>>);

/// A shown object.
#[derive(Debug)]
struct Shown {
    about: About,
    level: CacheLevel,
    /// The lines that planes show.
    lines: Vec<LineRange>,
    /// Those that are dirty.
    dirty: BTreeMap<u64, Dirty>,
}

/// A dirty line.
#[derive(Debug)]
struct Dirty {
    bytes: Bytes,
    /// The vertical blanks since it has these bytes.
    blanks: u32,
    /// A request told the kernel, or the line was reported.
    told: bool,
}

/// What planes show of an object.
struct Visible {
    object: Arc<Object>,
    lines: Vec<LineRange>,
}

/// The objects that planes showed before a request.
#[derive(Debug)]
pub struct Screens {
    /// A trace must not say that one is gone before it says that it left the screen.
    _objects: Vec<Arc<Object>>,
}

impl Shown {
    /// Takes note of the lines that are dirty now; counts `blanks` for those of `scanned` that have kept their bytes.
    fn update(&mut self, dirty: Vec<(u64, Bytes)>, scanned: &[LineRange], blanks: u32) {
        let mut before = std::mem::take(&mut self.dirty);
        for (line, bytes) in dirty {
            let kept = before.remove(&line).filter(|known| known.bytes == bytes);
            let next = match kept {
                Some(known) if has(scanned, line) => {
                    Dirty { blanks: known.blanks.saturating_add(blanks), ..known }
                }
                Some(known) => known,
                None => Dirty { bytes, blanks: 0, told: false },
            };
            self.dirty.insert(line, next);
        }
    }

    /// Returns the lines that `is` chooses among those of which the kernel was not told, and takes them as told.
    fn take(&mut self, is: impl Fn(u64, &Dirty) -> bool) -> Vec<LineRange> {
        let mut lines = Vec::new();
        for (&line, dirty) in &mut self.dirty {
            if !dirty.told && is(line, dirty) {
                dirty.told = true;
                LineRange::new(line, line + 1).push_to(&mut lines);
            }
        }
        lines
    }
}

impl DisplayEngine {
    /// Looks which lines of the screens are dirty. Returns the objects that are shown.
    pub(crate) fn look_at_screens(&self) -> Screens {
        self.look(None)
    }

    /// Reports the lines that are no longer shown, and were dirty when they were looked at last.
    pub(crate) fn screens_changed(&self) {
        if !self.is_judged() {
            return;
        }
        let visible = self.visible(None);
        let mut shown = self.shown();
        for (&object, entry) in shown.iter_mut() {
            let now = visible.get(&object).map(|visible| visible.lines.as_slice()).unwrap_or_default();
            let gone = without(&entry.lines, now);
            for &lines in &gone {
                self.system.trace.add(object, TraceEvent::LeftScreen { lines, handle: entry.about.handle });
            }
            let lines = entry.take(|line, _| has(&gone, line));
            self.report(entry, lines);
        }
        shown.retain(|object, _| visible.contains_key(object));
    }

    /// Takes note that the program waited for `count` vertical blanks of a CRTC.
    pub(crate) fn blanks_passed(&self, pipe: usize, count: u32) {
        drop(self.look(Some((pipe, count))));
        for entry in self.shown().values_mut() {
            let lines = entry.take(|_, dirty| dirty.blanks >= MOST_BLANKS);
            self.report(entry, lines);
        }
    }

    /// Takes note that the program told the kernel about its stores to an object, or to all that is shown.
    pub(crate) fn told_of_stores(&self, object: Option<u64>) {
        drop(self.look(None));
        let mut shown = self.shown();
        let told = shown.iter_mut().filter(|(number, _)| object.is_none_or(|object| object == **number));
        told.for_each(|(_, entry)| drop(entry.take(|_, _| true)));
    }

    /// Returns the dirty lines of the screens of which the kernel was not told.
    pub(crate) fn dirty_on_screen(&self) -> Vec<Incoherent> {
        drop(self.look(None));
        let of = |entry: &Shown| {
            let mut lines = Vec::new();
            for &line in entry.dirty.iter().filter(|(_, dirty)| !dirty.told).map(|(line, _)| line) {
                LineRange::new(line, line + 1).push_to(&mut lines);
            }
            let &Shown { about: About { object, handle, size }, level, .. } = entry;
            let kind = Mistake::DirtyOnScreen;
            Incoherent { object, handle, size, level, kind, route: Route::Display, lines }
        };
        self.shown().values().map(of).filter(|found| !found.lines.is_empty()).collect()
    }

    /// Returns whether a plane shows an object.
    pub(crate) fn shows_object(&self, object: u64) -> bool {
        self.visible(None).contains_key(&object)
    }

    /// Looks at the screens after this number of vertical blanks of a CRTC.
    fn look(&self, blanks: Option<(usize, u32)>) -> Screens {
        if !self.is_judged() {
            return Screens { _objects: Vec::new() };
        }
        let visible = self.visible(None);
        let scanned = blanks.map(|(pipe, _)| self.visible(Some(pipe))).unwrap_or_default();
        let count = blanks.map_or(0, |(_, count)| count);
        let mut shown = self.shown();
        shown.retain(|object, _| visible.contains_key(object));
        for (&number, Visible { object, lines }) in &visible {
            let scanned = scanned.get(&number).map(|visible| visible.lines.as_slice()).unwrap_or_default();
            let (about, level, dirty) = object.look(lines, scanned, count);
            let entry = shown.entry(number).or_insert_with(|| Shown {
                about,
                level,
                lines: Vec::new(),
                dirty: BTreeMap::new(),
            });
            (entry.about, entry.level) = (about, level);
            entry.lines.clone_from(lines);
            entry.update(dirty, scanned, count);
        }
        Screens { _objects: visible.into_values().map(|visible| visible.object).collect() }
    }

    /// Returns what the planes of active CRTCs show, or those of one CRTC, by object, when flips are done.
    fn visible(&self, pipe: Option<usize>) -> BTreeMap<u64, Visible> {
        let mut all: BTreeMap<u64, Visible> = BTreeMap::new();
        let crtcs = self.crtcs();
        let Crtcs { pipes, .. } = &*crtcs;
        let pipes = pipes.iter().enumerate().filter(|(place, _)| pipe.is_none_or(|pipe| pipe == *place));
        for (_, pipe) in pipes.filter(|(_, pipe)| pipe.active) {
            for state in &pipe.planes {
                let Some(plane) = &state.shown else { continue };
                let pixels = |fixed: (u32, u32)| (fixed.0 >> 16, fixed.1 >> 16);
                let shape = &plane.framebuffer;
                let object = &shape.object;
                let rows = shape.rows(pixels(state.area.from), pixels(state.area.source));
                let rows = rows.filter_map(|(at, len)| ByteRange::within(at, len, object.size()).ok());
                let entry = all
                    .entry(object.id())
                    .or_insert_with(|| Visible { object: Arc::clone(object), lines: Vec::new() });
                entry.lines.extend(rows.map(ByteRange::lines).filter(|lines| !lines.is_empty()));
            }
        }
        all.values_mut().for_each(|visible| LineRange::unite(&mut visible.lines));
        all
    }

    fn report(&self, entry: &Shown, lines: Vec<LineRange>) {
        if let Some(watch) = self.system.incoherent.watch(|| entry.about) {
            lines.into_iter().for_each(|lines| watch.on_screen(entry.level, lines));
        }
    }

    fn is_judged(&self) -> bool {
        self.system.incoherent.is_on() || self.system.trace.is_on()
    }

    fn shown(&self) -> MutexGuard<'_, BTreeMap<u64, Shown>> {
        self.on_screen.0.lock()
    }
}

impl Framebuffer {
    /// Returns the rows of a picture, as the display engine reads them: offset in the object and length in bytes. Those
    /// of a tiled picture are all its bytes.
    pub(crate) fn rows(
        &self,
        from: (u32, u32),
        size: (u32, u32),
    ) -> impl Iterator<Item = (u64, u64)> + use<> {
        let pitch = u64::from(self.pitches[0]);
        let pixel = u64::from(self.format.layout.planes[0].bytes);
        let (start, len) = match self.modifier {
            0 => (u64::from(from.0) * pixel, u64::from(size.0) * pixel),
            _ => (0, pitch),
        };
        let first = u64::from(self.offsets[0]) + u64::from(from.1) * pitch + start;
        (0..u64::from(size.1)).map(move |row| (first + row * pitch, len))
    }
}

impl Object {
    /// Returns the object, its level, and those of `lines` that are dirty, and that the display engine does not see. Traces the lines,
    /// and the vertical blanks of those of `scanned`.
    fn look(
        &self,
        lines: &[LineRange],
        scanned: &[LineRange],
        blanks: u32,
    ) -> (About, CacheLevel, Vec<(u64, Bytes)>) {
        let state = self.state();
        let ctx = self.access_context(&state);
        let mut dirty = Vec::new();
        let looked = match &self.origin {
            Origin::Own | Origin::Attached(_) => {
                self.backing().look_on_screen(ctx, self.tracing(&state), lines, (scanned, blanks), &mut dirty)
            }
            Origin::User(_) => Ok(()),
        };
        if let Err(error) = looked {
            tracing::error!(%error, "watch");
        }
        (self.about(state.first_handle), ctx.level, dirty)
    }
}

impl BackingStore {
    fn look_on_screen(
        &mut self,
        ctx: AccessContext<'_>,
        tracing: Option<Tracing<'_>>,
        lines: &[LineRange],
        (scanned, blanks): (&[LineRange], u32),
        dirty: &mut Vec<(u64, Bytes)>,
    ) -> Result<()> {
        if let Some(tracing) = tracing {
            for &lines in lines {
                self.observe_lines(tracing, lines)?;
            }
            for &lines in scanned {
                tracing.add(TraceEvent::BlanksPassed { lines, count: blanks, handle: tracing.handle });
            }
            for &lines in lines {
                tracing.add(TraceEvent::OnScreen { lines, handle: tracing.handle });
            }
        }
        let route = ctx.route(Route::Display);
        let is_missed = memory_model::effect(ctx.hardware, ctx.level, route, Access::Read, Line::Dirty)
            .is_some_and(|effect| effect.at == Place::Memory && effect.before == Transfer::Nothing);
        if ctx.watch.is_none() || !is_missed {
            return Ok(());
        }
        for lines in lines {
            let mut first = lines.first();
            while first < lines.end() {
                let end = lines.end().min((first / PAGE_LINES + 1) * PAGE_LINES);
                if self.may_be_dirty(first / PAGE_LINES)? {
                    let range =
                        ByteRange::within(first * LINE_BYTES, (end - first) * LINE_BYTES, self.size())?;
                    let mut newer = Vec::new();
                    self.each_newer_line(range, |lines| newer.extend(lines.indices()))?;
                    for line in newer {
                        let mut bytes = [0; LINE_BYTES as usize];
                        self.cached()?.copy_out(line * LINE_BYTES, &mut bytes)?;
                        dirty.push((line, bytes));
                    }
                }
                first = end;
            }
        }
        Ok(())
    }

    /// Returns whether a line of a page may be dirty.
    fn may_be_dirty(&self, page: u64) -> Result<bool> {
        let (Some(shared), Some(cached)) = (&self.shared, &self.cached) else { return Ok(true) };
        let (mut now, mut before) = ([0; PAGE_BYTES as usize], [0; PAGE_BYTES as usize]);
        cached.copy_out(page * PAGE_BYTES, &mut now)?;
        shared.filled.copy_out(page * PAGE_BYTES, &mut before)?;
        Ok(now != before)
    }
}

/// Returns whether a line is in one of these ranges, which are ascending.
fn has(ranges: &[LineRange], line: u64) -> bool {
    let after = ranges.partition_point(|range| range.first() <= line);
    after.checked_sub(1).and_then(|last| ranges.get(last)).is_some_and(|range| line < range.end())
}

/// Returns the lines of ascending ranges that are in none of `others`, which are ascending, too.
fn without(ranges: &[LineRange], others: &[LineRange]) -> Vec<LineRange> {
    let mut left = Vec::new();
    for range in ranges {
        let mut first = range.first();
        for other in others.iter().filter(|other| other.end() > range.first() && other.first() < range.end())
        {
            if first < other.first() {
                left.push(LineRange::new(first, other.first()));
            }
            first = first.max(other.end());
        }
        if first < range.end() {
            left.push(LineRange::new(first, range.end()));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges<const N: usize>(all: [(u64, u64); N]) -> Vec<LineRange> {
        all.map(|(first, end)| LineRange::new(first, end)).to_vec()
    }

    #[test]
    fn ranges_are_united_searched_and_subtracted() {
        let mut all = ranges([(8, 10), (0, 2), (2, 4), (9, 12)]);
        LineRange::unite(&mut all);
        assert_eq!(all, ranges([(0, 4), (8, 12)]));
        let lines: Vec<_> = (0..14).filter(|&line| has(&all, line)).collect();
        assert_eq!(lines, [0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!(without(&all, &[]), all);
        assert_eq!(without(&all, &ranges([(1, 2), (3, 9), (11, 20)])), ranges([(0, 1), (2, 3), (9, 11)]));
        assert_eq!(without(&all, &ranges([(0, 20)])), []);
    }
}
