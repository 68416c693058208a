//! What a copy engine's fills and copies wrote, and has not flushed yet.
//!
//! The engine goes on to the next command before its writes are done. Later fills and copies see them; the command streamer, which reads memory
//! itself, sees them only after MI_FLUSH_DW. Here every write is done at once: what is read too early is logged, and has the right bytes.

use std::ops::Range;

use super::blits::Surface;

/// Number of fills and copies that are kept; of a batch with more of them between two flushes the first ones count.
const KEPT: usize = 1 << 12;

/// The writes since the last flush.
#[derive(Clone, Debug, Default)]
pub(in crate::gpu) struct Posted(Vec<Rows>);

/// Rows of bytes.
#[derive(Clone, Copy, Debug)]
struct Rows {
    start: u64,
    pitch: i64,
    bytes: u64,
    rows: u64,
}

impl Posted {
    /// Adds what a fill or a copy wrote.
    pub(in crate::gpu) fn add(&mut self, target: &Surface, bytes: u64, rows: u64) {
        if self.0.len() < KEPT {
            self.0.push(Rows { start: target.start, pitch: target.pitch, bytes, rows });
        }
    }

    /// Takes note of a flush.
    pub(in crate::gpu) fn flush(&mut self) {
        self.0.clear();
    }

    /// Returns whether a byte at these addresses is among them.
    pub(in crate::gpu) fn holds(&self, read: &Range<u64>) -> bool {
        self.0.iter().any(|rows| rows.meets(read))
    }
}

impl Rows {
    fn meets(&self, read: &Range<u64>) -> bool {
        let row = |number: u64| {
            let offset = (number as i64).wrapping_mul(self.pitch);
            let start = self.start.wrapping_add_signed(offset);
            start < read.end && read.start < start.saturating_add(self.bytes)
        };
        // A row that begins before the read's end, and its neighbours, unless rows are upside down or overlap.
        match u64::try_from(self.pitch) {
            Ok(pitch) if pitch >= self.bytes && pitch > 0 => {
                let last = read.end.saturating_sub(self.start) / pitch;
                (last.saturating_sub(1)..=last).filter(|&number| number < self.rows).any(row)
            }
            _ => (0..self.rows).any(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::vocabulary::MocsClass;

    #[test]
    fn a_read_meets_the_bytes_of_rows_and_not_those_between_them() {
        for pitch in [100, -100] {
            let mut posted = Posted::default();
            let target = Surface { start: 1000, pitch, bytes_per_pixel: 1, mocs: MocsClass::PageTable };
            posted.add(&target, 8, 3);
            let second = 1000_u64.wrapping_add_signed(pitch);
            for (start, meets) in [(996, false), (997, true), (1007, true), (1008, false), (1050, false)] {
                assert_eq!(posted.holds(&(start..start + 4)), meets, "{start}, pitch {pitch}");
            }
            assert!(posted.holds(&(second..second + 4)));
            let fourth = second.wrapping_add_signed(2 * pitch);
            assert!(!posted.holds(&(fourth..fourth + 4)));
            posted.flush();
            assert!(!posted.holds(&(1000..1004)));
        }
    }
}
