//! Performs many line operations between one pair of fences.

use super::object::Object;
use crate::cacheops::{CacheLines as _, LineOp};
use crate::error::{Result, grow};
use crate::units::Lines;

/// An operation on lines that were taken.
struct Operation<'a, O: Object> {
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

    /// Calls `take`, which passes lines to its argument; queues `op` for each of them, and performs the queue
    /// when it is full. Returns the number of lines that `take` returns. After an error no line is queued.
    ///
    /// # Errors
    /// Those of mapping the object and of performing an operation.
    pub(super) fn add(
        &mut self,
        object: &'a O,
        op: LineOp,
        take: impl FnOnce(&mut dyn FnMut(Lines)) -> u64,
    ) -> Result<u64> {
        let (mut mapping, mut result) = (None, Ok(()));
        let mut add = |lines: Lines| {
            let mapping = match mapping {
                Some(mapping) => mapping,
                None => *mapping.insert(object.flush_mapping()?),
            };
            grow(&mut self.pending, "a flush", 1)?;
            self.pending.push(Operation { mapping, op, lines });
            if self.pending.len() < BATCH { Ok(()) } else { self.perform() }
        };
        let count = take(&mut |lines| {
            if result.is_ok() {
                result = add(lines);
            }
        });
        result.map(|()| count)
    }

    /// Performs the operations that were added, after the leading fence.
    fn perform(&mut self) -> Result<()> {
        let (object, op) = self.fences;
        if !self.is_fenced && !self.pending.is_empty() {
            self.is_fenced = true;
            object.fence(op);
        }
        let performed = self.pending.iter().try_for_each(|one| one.mapping.perform(one.op, one.lines));
        self.pending.clear();
        performed
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
