//! Performs many line operations between one pair of fences.

use super::object::Object;
use crate::cacheops::{CacheLines as _, LineOp};
use crate::error::{Result, grow};
use crate::units::{LineRange, PageLines};

/// An operation on lines of one object that were taken.
struct Operation<'a, O: Object + 'a> {
    mapping: O::Mapping<'a>,
    op: LineOp,
    /// A run of lines; if there is none, the batch's pages from the next one on, up to those of the next operation.
    run: Option<LineRange>,
    /// The number of pages that were there before.
    first_page: usize,
}

/// The line operations of all objects of a submission and the fences around them: one before the first, one
/// after the last, none if there are no lines.
///
/// Taking a page's lines may need a locked instruction, which waits for earlier line operations (Intel SDM vol. 2A,
/// CLFLUSHOPT and CLWB: ordered with locked read-modify-writes). So lines are taken from many pages before
/// any is touched; taking and touching them alternately makes a page with one dirty line cost twenty times as
/// much.
pub(super) struct Batch<'a, O: Object> {
    /// The object that issues the fences, and the operation that they are for.
    fences: (&'a O, LineOp),
    operations: Vec<Operation<'a, O>>,
    /// The pages of the operations, in their order.
    pages: Vec<PageLines>,
    is_fenced: bool,
}

/// Largest number of pages, and of operations, before lines are touched; they fit in the first-level cache.
pub(super) const BATCH: usize = 256;

impl<'a, O: Object> Batch<'a, O> {
    /// Creates an empty batch; `object` issues the fences that `op` needs.
    pub(super) fn new(object: &'a O, op: LineOp) -> Self {
        Self { fences: (object, op), operations: Vec::new(), pages: Vec::new(), is_fenced: false }
    }

    /// Returns a queue for lines of `object`, on which `op` is to be performed.
    pub(super) fn queue(&mut self, object: &'a O, op: LineOp) -> Queue<'_, 'a, O> {
        Queue { batch: self, object, op, mapping: None, room: 0, result: Ok(()) }
    }

    /// Issues the leading fence, if it was not issued yet.
    #[inline]
    fn begin(&mut self) {
        let (object, op) = self.fences;
        if !self.is_fenced {
            self.is_fenced = true;
            object.fence(op);
        }
    }

    /// Performs `op` on lines of `object` at once, while they are taken, which needs no locked instruction; returns how
    /// many there were.
    ///
    /// # Errors
    /// Those of mapping the object and of performing an operation.
    #[inline]
    pub(super) fn take(
        &mut self,
        object: &'a O,
        op: LineOp,
        pages: impl Iterator<Item = PageLines>,
    ) -> Result<u64> {
        let mapping = object.flush_mapping()?;
        self.begin();
        mapping.perform_on_pages(op, pages)
    }

    /// Performs the operations that were added, after the leading fence.
    fn perform(&mut self) -> Result<()> {
        if !self.operations.is_empty() {
            self.begin();
        }
        let ends = self.operations.iter().skip(1).map(|next| next.first_page).chain([self.pages.len()]);
        let performed = self.operations.iter().zip(ends).try_for_each(|(one, end)| {
            let pages = self.pages.get(one.first_page..end).unwrap_or_default();
            match one.run {
                Some(run) => one.mapping.perform(one.op, run),
                None => one.mapping.perform_on_pages(one.op, pages.iter().copied()).map(drop),
            }
        });
        self.operations.clear();
        self.pages.clear();
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

/// Adds an operation on lines of one object to a batch, and performs the batch whenever it is full. After an error no
/// line is added.
pub(super) struct Queue<'b, 'a, O: Object> {
    batch: &'b mut Batch<'a, O>,
    object: &'a O,
    op: LineOp,
    mapping: Option<O::Mapping<'a>>,
    /// Number of pages that can be added to the last operation.
    room: usize,
    result: Result<()>,
}

impl<O: Object> Queue<'_, '_, O> {
    /// Adds a run of lines.
    pub(super) fn run(&mut self, run: LineRange) {
        self.room = 0;
        self.add(Some(run));
    }

    /// Adds lines of a page.
    #[inline]
    pub(super) fn page(&mut self, page: PageLines) {
        if self.room == 0 {
            self.add(None);
            if self.result.is_err() {
                return;
            }
            self.room = BATCH - self.batch.pages.len();
        }
        self.room -= 1;
        self.batch.pages.push(page);
    }

    /// Adds an operation, or nothing after an error.
    fn add(&mut self, run: Option<LineRange>) {
        if self.result.is_ok() {
            self.result = self.try_add(run);
        }
    }

    /// Adds an operation, after performing the others if they are many.
    fn try_add(&mut self, run: Option<LineRange>) -> Result<()> {
        let mapping = match &self.mapping {
            Some(mapping) => mapping.clone(),
            None => self.mapping.insert(self.object.flush_mapping()?).clone(),
        };
        if self.batch.operations.len() == BATCH || self.batch.pages.len() == BATCH {
            self.batch.perform()?;
        }
        let Batch { operations, pages, .. } = &mut *self.batch;
        // The pages that follow need no allocation, which could fail.
        grow(pages, "a flush", BATCH - pages.len())?;
        grow(operations, "a flush", 1)?;
        operations.push(Operation { mapping, op: self.op, run, first_page: pages.len() });
        Ok(())
    }

    /// Returns the error of a line that could not be added, if there was one.
    ///
    /// # Errors
    /// Those of mapping the object and of performing an operation.
    pub(super) fn end(self) -> Result<()> {
        self.result
    }
}
