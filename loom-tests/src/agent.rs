//! An object as the engine sees it, on data that loom watches.

use std::cell::RefCell;

use gem_coherency::cacheops::{CacheLines, LineOp};
use gem_coherency::engine::{self, FlushReport, Note, Pending, StaleLines, Step, Task, UpcomingAccess};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Caps;
use gem_coherency::policy::driver::{CpuMemory, Path};
use gem_coherency::policy::{DecisionTable, Decisions, Rule};
use gem_coherency::tracking::{Marks, State, Tracked};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

use crate::{Data, Memory, Object};

/// Line operations that one thread has issued and not fenced. In the models an operation happens at the fence after it,
/// not earlier.
pub struct Unfenced<'a, D = Memory>(RefCell<Vec<(&'a Object<D>, LineOp, LineRange)>>);

impl<D> Default for Unfenced<'_, D> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<'a, D: Data> Unfenced<'a, D> {
    /// Issues a write-back.
    pub fn flush(&self, object: &'a Object<D>, lines: LineRange) {
        self.issue(object, LineOp::WriteBack, lines);
    }

    fn issue(&self, object: &'a Object<D>, op: LineOp, lines: LineRange) {
        self.0.borrow_mut().push((object, op, lines));
    }

    /// The fence.
    pub fn fence(&self) {
        for (object, op, lines) in std::mem::take(&mut *self.0.borrow_mut()) {
            match op {
                LineOp::WriteBack | LineOp::Flush => object.memory.flush(lines),
                LineOp::Invalidate => object.memory.invalidate(lines),
            }
        }
    }

    /// Returns whether every operation was fenced.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

/// A platform, and the level of the objects on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// No LLC, level NONE: nobody looks into the CPU's caches.
    NoLlc,
    /// An LLC that some of the GPU's reads bypass, level LLC: what the GPU writes may stay there.
    BypassedLlc,
}

impl On {
    fn decisions(self, next: Path, access: Access) -> &'static Decisions {
        static NO_LLC: DecisionTable = DecisionTable::of(Caps::SNOOP.union(Caps::APERTURE));
        static BYPASSED: DecisionTable = DecisionTable::of(Caps::LLC.union(Caps::LLC_BYPASS_MOCS));
        match self {
            Self::NoLlc => NO_LLC.get(CacheLevel::None, next, access),
            Self::BypassedLlc => BYPASSED.get(CacheLevel::Llc, next, access),
        }
    }
}

/// One thread's view of an object.
pub struct Agent<'a, D = Memory> {
    /// The object.
    pub object: &'a Object<D>,
    /// The object's platform and level.
    pub on: On,
    /// The thread's line operations.
    pub unfenced: &'a Unfenced<'a, D>,
    /// Waits in the kernel for the GPU.
    pub wait: &'a (dyn Fn() + 'a),
    /// Set if the operations that it performs fail.
    pub fails: bool,
}

impl<'a, D: Data> Agent<'a, D> {
    /// On a platform without LLC; the GPU writes nothing.
    pub fn new(object: &'a Object<D>, unfenced: &'a Unfenced<'a, D>) -> Self {
        Self { object, on: On::NoLlc, unfenced, wait: &|| (), fails: false }
    }

    /// Notes what a write of the GPU leaves pending.
    pub fn note_gpu_write(&self) {
        let pending = self.on.decisions(Path::Gpu(MocsClass::PageTable), Access::Write).pending;
        engine::note_gpu_write(&mut &*self, pending, false);
    }

    fn check(&self) -> Result<()> {
        if self.fails { Err(Error::BadSize { size: 0, why: "the model says so" }) } else { Ok(()) }
    }
}

/// Makes everything right for a reader of `agents`' objects on that path.
///
/// # Errors
/// That one of them fails.
pub fn make_current(agents: &[Agent<'_>], next: Path) -> Result<Vec<FlushReport>> {
    let upcoming = |object| {
        let lines = engine::Object::tracked(object).dirty().all();
        let (access, stale, marks) = (Access::Read, StaleLines::Invalidate, Marks::Shared);
        UpcomingAccess { object, lines, next, access, stale, marks }
    };
    let accesses = agents.iter().map(upcoming).filter(|upcoming| engine::nothing_to_do(upcoming).is_none());
    let mut tasks = accesses.map(|upcoming| Task::new(upcoming, Step::Submit)).collect::<Result<Vec<_>>>()?;
    engine::make_current(&mut tasks)?;
    Ok(tasks.into_iter().map(|task| task.report).collect())
}

impl<D: Data> engine::Object for Agent<'_, D> {
    type Mapping<'m>
        = &'m Self
    where
        Self: 'm;

    fn tracked(&self) -> &Tracked {
        &self.object.tracked
    }

    fn decisions(&self, next: Path, access: Access) -> &Decisions {
        self.on.decisions(next, access)
    }

    fn refused(&self, _: Path, rule: Rule) -> Error {
        Error::BadSize { size: 0, why: rule.reason() }
    }

    fn mode(&self) -> MmapMode {
        MmapMode::Wb
    }

    fn is_conservative(&self) -> bool {
        false
    }

    fn wait_for_gpu(&self) -> Result<()> {
        let wait = || {
            (self.wait)();
            Ok(())
        };
        self.object.tracked.gpu_writes().wait_if_told(wait)
    }

    fn flush_mapping(&self) -> Result<&Self> {
        Ok(self)
    }

    fn drain(&self, _: CpuMemory) -> Result<()> {
        self.check()?;
        // A drain waits by itself.
        self.object.memory.flush(self.object.tracked.dirty().all());
        Ok(())
    }

    fn fence(&self, _: LineOp) {
        self.unfenced.fence();
    }

    fn has_uncached_writes(&self) -> bool {
        false
    }

    fn enter_cpu_domain(&self) -> Result<()> {
        Ok(())
    }
}

impl<D: Data> CacheLines for Agent<'_, D> {
    fn perform(&self, op: LineOp, lines: LineRange) -> Result<()> {
        self.check()?;
        self.unfenced.issue(self.object, op, lines);
        Ok(())
    }
}

impl<D: Data> Pending for &Agent<'_, D> {
    type Lines = LineRange;

    fn all(&self) -> LineRange {
        self.object.tracked.dirty().all()
    }

    fn mark_dirty(&mut self, lines: LineRange) {
        self.object.tracked.dirty().mark(lines).expect("lines of the object");
    }

    fn note_uncached_write(&mut self, lines: LineRange) {
        self.object.tracked.stale().mark(lines).expect("lines of the object");
    }

    fn note(&mut self, note: Note) {
        let word = self.object.tracked.word();
        word.update(match note {
            Note::WcStores => State::note_wc_store,
            Note::GttStores => State::note_gtt_store,
            Note::GpuWrite => State::note_gpu_write,
        });
    }

    fn count_gpu_write(&mut self) {
        self.object.tracked.gpu_writes().tell();
    }
}
