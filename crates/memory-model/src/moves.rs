//! Effects on lines other than accesses: flushes, and spontaneous cache activity.

use super::{Assumption, Hardware, Line, Transfer};
use gem_coherency_policy::vocabulary::LineOp;
use gem_coherency_policy::vocabulary::words;

/// The effect of a flush or of a spontaneous move on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Maintenance {
    /// The transfer.
    pub transfer: Transfer,
    /// The line's state afterwards.
    pub next: Line,
}

impl Maintenance {
    const fn new(transfer: Transfer, next: Line) -> Self {
        Self { transfer, next }
    }
}

/// Returns the effect of a CPU cache operation on a line.
pub const fn maintain(op: LineOp, line: Line) -> Maintenance {
    match (op, line) {
        (LineOp::WriteBack, Line::Dirty) => Maintenance::new(Transfer::WriteBack, Line::Clean),
        (LineOp::WriteBack, Line::Clean | Line::Absent) => Maintenance::new(Transfer::Nothing, line),
        (LineOp::Flush | LineOp::Invalidate, Line::Dirty) => {
            Maintenance::new(Transfer::WriteBack, Line::Absent)
        }
        (LineOp::Flush | LineOp::Invalidate, Line::Clean | Line::Absent) => {
            Maintenance::new(Transfer::Nothing, Line::Absent)
        }
    }
}

words! {
    /// A spontaneous cache move, which may happen at any time.
    CacheMove, "cache move" {
        /// A dirty line is written back.
        WriteBack = "write-back",
        /// A line is evicted: dropped if clean, written back if dirty.
        Evict = "evict",
        /// An absent line is prefetched.
        Fill = "fill",
        /// A clean line is written back over memory; no cache does that ([`Assumption::CleanNeverWrittenBack`]).
        WriteBackClean = "write-back-clean",
    }
}

impl CacheMove {
    /// Returns the effect of the move on a line, or `None` if the hardware does not make it for such a line.
    pub const fn on(self, hardware: Hardware, line: Line) -> Option<Maintenance> {
        match (self, line) {
            (Self::WriteBack, Line::Dirty) => Some(Maintenance::new(Transfer::WriteBack, Line::Clean)),
            (Self::Evict, Line::Dirty) => Some(Maintenance::new(Transfer::WriteBack, Line::Absent)),
            (Self::Evict, Line::Clean) => Some(Maintenance::new(Transfer::Nothing, Line::Absent)),
            (Self::Fill, Line::Absent) => Some(Maintenance::new(Transfer::Fill, Line::Clean)),
            (Self::WriteBackClean, Line::Clean) if !hardware.held.hold(Assumption::CleanNeverWrittenBack) => {
                Some(Maintenance::new(Transfer::WriteBack, Line::Clean))
            }
            (Self::WriteBack, Line::Absent | Line::Clean)
            | (Self::Evict, Line::Absent)
            | (Self::Fill, Line::Clean | Line::Dirty)
            | (Self::WriteBackClean, Line::Absent | Line::Clean | Line::Dirty) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency_policy::platform::Caps;

    #[test]
    fn no_operation_leaves_a_line_dirty_and_only_dirty_lines_move() {
        for op in [LineOp::WriteBack, LineOp::Flush, LineOp::Invalidate] {
            for &line in Line::ALL {
                let Maintenance { transfer, next } = maintain(op, line);
                assert_ne!(next, Line::Dirty, "{op:?} {line}");
                assert_eq!(transfer == Transfer::WriteBack, line == Line::Dirty, "{op:?} {line}");
            }
        }
    }

    #[test]
    fn write_back_keeps_the_line_and_flush_drops_it() {
        assert_eq!(maintain(LineOp::WriteBack, Line::Dirty).next, Line::Clean);
        assert_eq!(maintain(LineOp::WriteBack, Line::Clean).next, Line::Clean, "a stale line stays");
        assert_eq!(maintain(LineOp::Flush, Line::Clean).next, Line::Absent);
        assert_eq!(maintain(LineOp::Invalidate, Line::Dirty), maintain(LineOp::Flush, Line::Dirty));
    }

    #[test]
    fn a_clean_line_is_written_back_only_without_the_assumption() {
        let hardware = Hardware::new(Caps::LLC);
        for &cache_move in CacheMove::ALL {
            for &line in &[Line::Absent, Line::Clean] {
                let moved = cache_move.on(hardware, line).map(|done| done.transfer);
                assert_ne!(moved, Some(Transfer::WriteBack), "{cache_move} {line}");
            }
        }
        let dropped = hardware.without(Assumption::CleanNeverWrittenBack);
        assert!(CacheMove::WriteBackClean.on(dropped, Line::Clean).is_some());
    }
}
