//! What accesses leave pending.

use super::SharedBo;
use crate::engine::{self, Pending};
use crate::policy::Path;
use crate::tracking::{Marks, State};
use crate::units::LineRange;
use crate::vocabulary::{MmapMode, MocsClass};

/// A BO with the place of an access's marks.
struct Marking<'a> {
    bo: &'a SharedBo,
    marks: Marks,
}

impl Pending for Marking<'_> {
    type Lines = LineRange;

    fn all(&self) -> LineRange {
        self.bo.tracked.dirty().all()
    }

    #[inline]
    fn mark_dirty(&mut self, lines: LineRange) {
        self.bo.tracked.dirty().mark_in(self.marks, lines);
    }

    fn note_uncached_write(&mut self, lines: LineRange) {
        self.bo.note_uncached_write(lines);
    }

    fn note(&mut self, note: engine::Note) {
        let word = self.bo.tracked.word();
        word.update(match note {
            engine::Note::WcStores => State::note_wc_store,
            engine::Note::GttStores => State::note_gtt_store,
            engine::Note::GpuWrite => State::note_gpu_write,
        });
    }

    fn count_gpu_write(&mut self) {
        self.bo.tracked.gpu_writes().tell();
    }
}

impl SharedBo {
    /// Records that the GPU writes the object through `mocs`.
    pub(crate) fn note_gpu_write(&self, mocs: MocsClass) {
        engine::note_gpu_write(
            &mut Marking { bo: self, marks: Marks::Shared },
            self.pending_after(Path::Gpu(mocs)),
            self.device.is_conservative(),
        );
    }

    /// Records that this thread stored to `lines` of the object through a mapping of `mode`.
    #[inline]
    pub(crate) fn note_stored(&self, mode: MmapMode, lines: LineRange, marks: Marks) {
        if !lines.is_empty() {
            engine::note(&mut Marking { bo: self, marks }, self.pending_after(Path::Cpu(mode)), lines);
        }
    }
}
