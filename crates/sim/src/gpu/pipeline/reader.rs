//! Reads of the pipelines, up to a limit; a batch repeats none but those of indices, and of what a dispatch needs.

use std::collections::BTreeSet;

use super::super::memory::View;
use super::tables::Base;
use gem_coherency::vocabulary::MocsClass;

/// Largest cost of a batch's reads; those beyond it are left out. A cost of 1 takes the simulation about 100 ns.
const MOST: u64 = 1 << 21;
/// The cost of a read in addition to its bytes.
const ACCESS: u64 = 16;
/// Number of bytes that cost 1.
const BYTES: u64 = 256;
/// Bytes that are read at once.
const PIECE_BYTES: u64 = 16 << 10;

/// The purpose of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    Vertices,
    State,
    Surface,
}

/// The accesses of a batch so far.
#[derive(Debug, Default)]
pub(super) struct Judged {
    cost: u64,
    pub(super) seen: BTreeSet<(Purpose, u8, u64, u64)>,
}

/// Memory as the pipelines read it.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    view: &'a View<'a>,
    judged: &'a mut Judged,
    /// A read was left out, because of the limit.
    left_out: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(view: &'a View<'a>, judged: &'a mut Judged) -> Self {
        Self { view, judged, left_out: false }
    }

    /// Returns whether the limit leaves room for `cost`, and adds it if so.
    pub(super) fn pay(&mut self, cost: u64) -> bool {
        let total = self.judged.cost.saturating_add(cost);
        let has_room = total <= MOST;
        if has_room {
            self.judged.cost = total;
        } else {
            self.left_out = true;
        }
        has_room
    }

    /// Checks that no read was left out.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn all_read(&self) -> Result<(), &'static str> {
        if self.left_out { Err("the batch has read too much") } else { Ok(()) }
    }

    /// Returns whether an access is new in this batch, and within the limit.
    fn begins(&mut self, purpose: Purpose, mocs: MocsClass, start: u64, len: u64) -> bool {
        let begins = len > 0
            && !self.judged.seen.contains(&(purpose, mocs as u8, start, len))
            && self.pay(ACCESS + len / BYTES)
            && self.judged.seen.insert((purpose, mocs as u8, start, len));
        tracing::trace!(?purpose, ?mocs, start, len, begins, "pipeline");
        begins
    }

    /// Reads vertices.
    pub(super) fn vertices(&mut self, mocs: MocsClass, start: u64, len: u64) {
        if !self.begins(Purpose::Vertices, mocs, start, len) {
            return;
        }
        let mut buffer = vec![0; PIECE_BYTES.min(len) as usize];
        for done in (0..len).step_by(PIECE_BYTES as usize) {
            let piece = buffer.get_mut(..PIECE_BYTES.min(len - done) as usize).unwrap_or_default();
            self.view.look(mocs, start.wrapping_add(done), piece);
        }
    }

    /// Reads state, and returns the bytes that the pipeline sees as dwords; `None` if they were read before or are not
    /// bound.
    pub(super) fn state(&mut self, from: Base, dwords: usize) -> Option<Vec<u32>> {
        let Base { address, mocs } = from;
        self.begins(Purpose::State, mocs, address, 4 * dwords as u64).then_some(())?;
        self.read(from, 4 * dwords).map(to_dwords)
    }

    /// Reads state that a dispatch needs, each time anew; `None` if it is not bound, or beyond the limit.
    pub(super) fn dwords(&mut self, from: Base, dwords: usize) -> Option<Vec<u32>> {
        self.fetch(from, 4 * dwords).map(to_dwords)
    }

    /// As [`Self::dwords`], and returns bytes.
    pub(super) fn fetch(&mut self, from: Base, len: usize) -> Option<Vec<u8>> {
        self.pay(ACCESS + len as u64 / BYTES).then_some(())?;
        self.judged.seen.insert((Purpose::State, from.mocs as u8, from.address, len as u64));
        self.read(from, len)
    }

    fn read(&self, from: Base, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.view.look(from.mocs, from.address, &mut bytes).then_some(bytes)
    }

    /// Reads indices, each time anew: several draws take other vertices by the same ones.
    pub(super) fn indices(&mut self, mocs: MocsClass, start: u64, len: u64) -> Option<Vec<u8>> {
        if !self.pay(ACCESS + len / BYTES) {
            return None;
        }
        let mut bytes = vec![0; len as usize];
        self.view.look(mocs, start, &mut bytes).then_some(bytes)
    }

    /// Logs the dirty lines of a part of a surface that the GPU would not see.
    pub(super) fn surface(&mut self, mocs: MocsClass, start: u64, len: u64) {
        if self.begins(Purpose::Surface, mocs, start, len) {
            self.view.watch_surface(mocs, start, len);
        }
    }
}

fn to_dwords(bytes: Vec<u8>) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
