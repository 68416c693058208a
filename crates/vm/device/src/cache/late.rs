//! Flushes and stores that take effect late: weakly ordered flushes (CLFLUSHOPT, CLWB), non-temporal stores, and stores
//! to write-combining memory wait here until a fence, or until they happen to be done.

use super::lines::{LINE, Lines, Ram, Write};

/// One of them.
pub enum Late {
    Flush {
        line: u64,
        drops: bool,
    },
    /// Non-temporal stores to a line, which wait in its buffer.
    Around {
        line: u64,
    },
    /// Stores to write-combining memory.
    Combined {
        at: u64,
        bytes: [u8; 8],
        length: usize,
        write: Write,
    },
}

impl Late {
    fn line(&self) -> u64 {
        match *self {
            Self::Flush { line, .. } | Self::Around { line } => line,
            Self::Combined { at, .. } => at & !(LINE - 1),
        }
    }

    fn is_store(&self) -> bool {
        matches!(self, Self::Around { .. } | Self::Combined { .. })
    }

    /// Takes effect.
    pub fn apply<R: Ram>(&self, lines: &mut Lines<R>) {
        match *self {
            Self::Flush { line, drops: true } => lines.evict(line),
            Self::Flush { line, drops: false } => lines.write_back(line),
            Self::Around { line } => lines.complete(line),
            Self::Combined { at, ref bytes, length, write } => lines.write(at, &bytes[..length], write),
        }
    }
}

/// Those that wait, in program order.
#[derive(Default)]
pub struct Waiting(Vec<Late>);

impl Waiting {
    pub fn push(&mut self, late: Late) {
        self.0.push(late);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// A fence: all take effect.
    pub fn drain<R: Ram>(&mut self, lines: &mut Lines<R>) {
        for late in self.0.drain(..) {
            late.apply(lines);
        }
    }

    /// An uncached access: stores take effect, flushes need not.
    pub fn drain_stores<R: Ram>(&mut self, lines: &mut Lines<R>) {
        self.drain_those(lines, Late::is_store);
    }

    /// The stores to one line take effect.
    pub fn drain_stores_to<R: Ram>(&mut self, lines: &mut Lines<R>, line: u64) {
        self.drain_those(lines, |late| late.is_store() && late.line() == line);
    }

    /// The line of one of them.
    pub fn line(&self, index: usize) -> Option<u64> {
        self.0.get(index).map(Late::line)
    }

    /// All of the line of one of them take effect: those of one line keep their order.
    pub fn drain_one<R: Ram>(&mut self, lines: &mut Lines<R>, index: usize) {
        if let Some(line) = self.line(index) {
            self.drain_those(lines, |late| late.line() == line);
        }
    }

    fn drain_those<R: Ram>(&mut self, lines: &mut Lines<R>, wanted: impl Fn(&Late) -> bool) {
        self.0.retain(|late| {
            let now = wanted(late);
            if now {
                late.apply(lines);
            }
            !now
        });
    }
}
