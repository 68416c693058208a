//! Performs many line operations between one pair of fences.

use super::object::{Lines, Object};
use crate::cacheops::LineOp;
use crate::error::{Error, Result, grow};

/// An operation on lines that were taken.
struct Operation<'a, O: Object> {
    object: &'a O,
    mapping: &'a O::Mapping,
    op: LineOp,
    lines: Lines,
}

/// The line operations of all objects of a submission and the fences around them: one before the first, one
/// after the last, none if there are no lines.
///
/// Taking a page's lines is a locked instruction, which waits for earlier line operations (Intel SDM vol. 2A,
/// CLFLUSHOPT and CLWB: ordered with locked read-modify-writes). So lines are taken from many pages before
/// any is touched; taking and touching them alternately makes a page with one dirty line cost twenty times as
/// much.
pub(super) struct Batch<'a, O: Object> {
    /// The object that issues the fences, and the operation that they are for.
    fences: (&'a O, LineOp),
    pending: Vec<Operation<'a, O>>,
    is_fenced: bool,
}

/// Largest number of entries taken before lines are touched; they fit in the first-level cache.
pub(super) const BATCH: usize = 256;

impl<'a, O: Object> Batch<'a, O> {
    /// Creates an empty batch; `object` issues the fences that `op` needs.
    pub(super) fn new(object: &'a O, op: LineOp) -> Self {
        Self { fences: (object, op), pending: Vec::new(), is_fenced: false }
    }

    /// Starts adding lines of `object` on which to perform `op`.
    pub(super) fn adding(&mut self, object: &'a O, op: LineOp) -> Adding<'_, 'a, O> {
        Adding { object, op, batch: self, mapping: None, count: 0, failed: None }
    }

    fn perform(&mut self) -> Result<()> {
        let (object, op) = self.fences;
        if !self.is_fenced && !self.pending.is_empty() {
            self.is_fenced = true;
            object.fence(op);
        }
        self.pending.drain(..).try_for_each(|one| one.object.perform(one.mapping, one.op, one.lines))
    }

    /// Performs the remaining operations and issues the trailing fence, if there were lines.
    ///
    /// # Errors
    /// Those of performing an operation.
    pub(super) fn end(mut self) -> Result<()> {
        self.perform()?;
        let (object, op) = self.fences;
        if self.is_fenced {
            object.fence(op);
        }
        Ok(())
    }
}

/// The lines of one object for one operation.
pub(super) struct Adding<'t, 'a, O: Object> {
    object: &'a O,
    op: LineOp,
    batch: &'t mut Batch<'a, O>,
    mapping: Option<&'a O::Mapping>,
    count: u64,
    failed: Option<Error>,
}

impl<O: Object> Adding<'_, '_, O> {
    /// Adds lines, unless there was an error; they are performed before the trailing fence.
    pub(super) fn add(&mut self, lines: Lines) {
        if self.failed.is_none() {
            match self.try_add(lines) {
                Ok(()) => self.count += lines.count(),
                Err(error) => self.failed = Some(error),
            }
        }
    }

    fn try_add(&mut self, lines: Lines) -> Result<()> {
        let Self { object, op, .. } = *self;
        let mapping = match self.mapping {
            Some(mapping) => mapping,
            None => object.flush_mapping()?,
        };
        self.mapping = Some(mapping);
        grow(&mut self.batch.pending, "a flush", 1)?;
        self.batch.pending.push(Operation { object, mapping, op, lines });
        if self.batch.pending.len() < BATCH { Ok(()) } else { self.batch.perform() }
    }

    /// Returns how many lines were added.
    ///
    /// # Errors
    /// Those of mapping the object and of performing an operation.
    pub(super) fn count(self) -> Result<u64> {
        match self.failed {
            None => Ok(self.count),
            Some(error) => Err(error),
        }
    }
}
