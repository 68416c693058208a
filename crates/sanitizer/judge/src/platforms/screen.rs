//! The dirty lines of a framebuffer that planes show, on every class, and the flushes of shown lines.
//!
//! The display engine reads memory all the time. A flush of a line that was dirty is needed at the moments at which a line that is dirty is a
//! mistake.

use std::collections::{BTreeMap, BTreeSet};

use gem_coherency::policy::kernel::Event;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, Handle};
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_sim::MadeCall;

use super::classes::{Classes, Mask};
use super::flushes::Ledger;
use super::line::Effects;
use super::object::{Object, PlatformMistake, add};

/// Vertical blanks after which a line must not be dirty.
const MOST_BLANKS: u32 = 2;

/// What is known of an object that is a framebuffer.
#[derive(Debug, Default)]
pub(super) struct Screen {
    is_framebuffer: bool,
    /// The object's first handle, when planes showed it last.
    pub(super) handle: Option<Handle>,
    /// Lines that the program stored to, and did not tell the kernel.
    untold: BTreeSet<u64>,
    /// Of these, the ones that were shown and dirty when the trace had the screens last: the classes, and the vertical
    /// blanks since then.
    dirty: BTreeMap<u64, (Mask, u32)>,
    /// The lines that planes showed when the trace had the screens last.
    shown: Vec<LineRange>,
}

impl Screen {
    /// Takes note of an event, after which is the call `made`.
    pub(super) fn happen(&mut self, event: Event, made: Option<&MadeCall>) {
        self.is_framebuffer |= event == Event::AddFramebuffer;
        let moves = matches!(event, Event::SetDomainCpu(_) | Event::SetDomainGtt(_) | Event::SetDomainWc(_));
        if moves && made.is_some() {
            self.untold.clear();
            self.dirty.clear();
        }
    }

    /// Takes note of the program's stores.
    pub(super) fn store(&mut self, lines: LineRange) {
        if self.is_framebuffer {
            self.untold.extend(lines.indices());
            self.dirty.retain(|&line, _| !is_in(lines, line));
        }
    }

    /// Takes note of an access. What the display engine reads after a request is judged as its read.
    pub(super) fn access(&mut self, route: Route, access: Access, lines: LineRange) {
        if (route, access) == (Route::Display, Access::Read) && !self.untold.is_empty() {
            self.untold.retain(|&line| !is_in(lines, line));
            self.dirty.retain(|&line, _| !is_in(lines, line));
        }
    }

    /// Counts vertical blanks of shown lines; returns those that have been dirty for too many, with their classes.
    fn count(&mut self, lines: LineRange, count: u32) -> Vec<(u64, Mask)> {
        let mut late = Vec::new();
        for (&line, (on, blanks)) in self.dirty.range_mut(lines.first()..lines.end()) {
            *blanks = blanks.saturating_add(count);
            if *blanks >= MOST_BLANKS {
                late.push((line, *on));
            }
        }
        self.forget(&late);
        late
    }

    /// Forgets lines that are reported.
    fn forget(&mut self, lines: &[(u64, Mask)]) {
        for (line, _) in lines {
            self.untold.remove(line);
            self.dirty.remove(line);
        }
    }
}

impl Object {
    /// Takes note that planes show lines.
    pub(super) fn on_screen(&mut self, classes: &Classes, lines: LineRange, handle: Option<Handle>) {
        self.screen.handle = handle;
        self.screen.shown.push(lines);
        LineRange::unite(&mut self.screen.shown);
        let missed = self.display_misses(classes);
        let untold: Vec<_> = self.screen.untold.range(lines.first()..lines.end()).copied().collect();
        for line in untold {
            let on = self.line(line).dirty & missed;
            if on == 0 {
                self.screen.untold.remove(&line);
                self.screen.dirty.remove(&line);
            } else {
                self.screen.dirty.entry(line).or_default().0 = on;
            }
        }
    }

    /// Returns the shown lines that are still dirty after a number of vertical blanks more.
    pub(super) fn blanks_passed(
        &mut self,
        classes: &Classes,
        ledger: &mut Ledger,
        lines: LineRange,
        count: u32,
    ) -> Vec<PlatformMistake> {
        let missed = self.display_misses(classes);
        self.flushes.blanks_passed(ledger, lines, (count, MOST_BLANKS), missed);
        let late = self.screen.count(lines, count);
        let late: Vec<_> = late.into_iter().map(|(line, on)| (line, on & self.line(line).dirty)).collect();
        mistakes(&late)
    }

    /// Returns the lines that were dirty when planes showed them last.
    pub(super) fn left_screen(
        &mut self,
        classes: &Classes,
        ledger: &mut Ledger,
        lines: LineRange,
    ) -> Vec<PlatformMistake> {
        self.displayed(classes, ledger, lines);
        self.screen.shown.retain(|shown| shown.end() <= lines.first() || lines.end() <= shown.first());
        let dirty = self.screen.dirty.range(lines.first()..lines.end());
        let gone: Vec<_> = dirty.map(|(&line, &(on, _))| (line, on)).collect();
        self.screen.forget(&gone);
        mistakes(&gone)
    }

    /// Takes note that the display engine has read what it shows.
    pub(super) fn all_displayed(&mut self, classes: &Classes, ledger: &mut Ledger) {
        for lines in self.screen.shown.clone() {
            self.displayed(classes, ledger, lines);
        }
    }

    fn displayed(&mut self, classes: &Classes, ledger: &mut Ledger, lines: LineRange) {
        let missed = self.display_misses(classes);
        self.flushes.blanks_passed(ledger, lines, (MOST_BLANKS, MOST_BLANKS), missed);
    }

    /// Returns the classes on which the display engine misses a dirty line.
    fn display_misses(&self, classes: &Classes) -> Mask {
        Effects::new(classes, &self.levels(), Route::Display, Access::Read).miss_dirty()
    }

    /// Returns the shown lines that were dirty when the trace had the screens last.
    pub(super) fn dirty_on_screen(&self) -> Vec<PlatformMistake> {
        let dirty: Vec<_> = self.screen.dirty.iter().map(|(&line, &(on, _))| (line, on)).collect();
        mistakes(&dirty)
    }
}

fn mistakes(lines: &[(u64, Mask)]) -> Vec<PlatformMistake> {
    let mut found = Vec::new();
    for &(line, on) in lines {
        add(&mut found, Mistake::DirtyOnScreen, on, line);
    }
    found
}

fn is_in(lines: LineRange, line: u64) -> bool {
    (lines.first()..lines.end()).contains(&line)
}
