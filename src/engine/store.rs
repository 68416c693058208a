//! Stores by the CPU into lines that may be stale.

use super::flush::{Overwrite, StaleLines, overwrite};
use super::make_current::{UpcomingAccess, make_current_one};
use super::object::Object;
use super::report::{FlushReport, Step};
use crate::error::{Error, Result};
use crate::policy::Path;
use crate::tracking::Marks;
use crate::units::{ByteRange, LineRange};
use crate::vocabulary::Access;

/// Handles stale lines right before a store to `range` through the cache: invalidates lines that are
/// overwritten in part; lines that are overwritten whole are no longer stale. Returns the report, if a line
/// may have been stale.
///
/// # Errors
/// As [`make_current_one`].
#[inline]
pub fn prepare_store<O: Object>(
    object: &O,
    range: ByteRange,
    next: Path,
    marks: Marks,
) -> Result<Option<FlushReport>> {
    let parts = range.partial_lines().map(|line| LineRange::new(line, line + 1));
    let mut store = Store { object, next, marks, report: None };
    overwrite(&mut store, range.lines(), parts)?;
    Ok(store.report)
}

/// Invalidates the stale lines of an access that has begun. Returns the report, if a line may have been stale.
///
/// # Errors
/// As [`make_current_one`].
pub fn invalidate<O: Object>(upcoming: UpcomingAccess<'_, O>, step: Step) -> Result<Option<FlushReport>> {
    if !upcoming.object.tracked().may_be_stale(upcoming.lines) {
        return Ok(None);
    }
    make_current_one(upcoming, step).map(Some)
}

/// A store to an object shared by threads.
struct Store<'a, O> {
    object: &'a O,
    next: Path,
    marks: Marks,
    report: Option<FlushReport>,
}

impl<O: Object> Overwrite for Store<'_, O> {
    type Lines = LineRange;
    type Error = Error;

    fn is_stale(&self, lines: LineRange) -> bool {
        self.object.tracked().may_be_stale(lines)
    }

    fn invalidate(&mut self, lines: LineRange) -> Result<()> {
        let Self { object, next, marks, .. } = *self;
        let upcoming = UpcomingAccess {
            object,
            lines,
            next,
            access: Access::Write,
            stale: StaleLines::Invalidate,
            marks,
        };
        if let Some(later) = invalidate(upcoming, Step::Write)? {
            match &mut self.report {
                Some(report) => report.add(later),
                None => self.report = Some(later),
            }
        }
        Ok(())
    }

    fn forget_stale(&mut self, lines: LineRange) {
        self.object.tracked().stale().take(lines, |_| {});
    }
}
