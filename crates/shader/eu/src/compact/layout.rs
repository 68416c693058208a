//! The parts of a compacted instruction.

use crate::Uncompactable;
use crate::isa::Bits;

/// A part of a compacted instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Its highest and its lowest bit in the compacted instruction.
    at: (u8, u8),
    /// The bits of the instruction that it stands for.
    pub(super) bits: Bits,
    /// Their values, if the part is an index of them.
    pub(super) table: Option<Table>,
}

/// The values that bits of a compacted instruction can have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// What they are about.
    name: &'static str,
    /// The values, by index.
    pub(super) rows: &'static [u64],
}

/// Returns a part whose bits are those of the instruction.
pub(super) const fn copy(at: (u8, u8), bits: &'static [(u8, u8)]) -> Part {
    Part { at, bits: Bits(bits), table: None }
}

/// Returns a part that is an index of a table.
pub(super) const fn index(name: &'static str, at: (u8, u8), bits: Bits, rows: &'static [u64]) -> Part {
    Part { at, bits, table: Some(Table { name, rows }) }
}

impl Part {
    /// Returns the bits of the compacted instruction that the part has.
    pub(super) fn mask(&self) -> u64 {
        let (high, low) = self.at;
        u64::MAX >> (63 - (high - low)) << low
    }

    /// Returns a compacted instruction of zeroes with a value in the part.
    pub(super) fn place(&self, value: u64) -> u64 {
        value << self.at.1
    }

    /// Returns the part's value for an instruction, of whose bits those of `mask` count.
    pub(super) fn code(&self, word: u128, mask: u128) -> Result<u64, Uncompactable> {
        match self.table {
            None => Ok(self.bits.get(word)),
            Some(Table { name, rows }) => {
                let row = rows.iter().position(|row| self.bits.put(*row) & mask == word & mask);
                let value = self.bits.get(word & mask);
                row.map(|row| row as u64).ok_or(Uncompactable::Entry { table: name, value })
            }
        }
    }

    /// Returns the bits of the instruction that the part stands for in a compacted one.
    pub(super) fn expanded(&self, compacted: u64) -> u128 {
        let value = (compacted & self.mask()) >> self.at.1;
        let value = match self.table {
            None => value,
            // Each table has as many rows as its index can name.
            Some(table) => table.rows.get(value as usize).copied().unwrap_or(0),
        };
        self.bits.put(value)
    }
}

/// The parts of the compacted instructions of a generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Those of instructions of one or two sources.
    pub(super) basic: &'static [Part],
    /// Those of instructions of three sources: `None` if these are not compacted.
    pub(super) three: Option<&'static [Part]>,
    /// The bits of an immediate in the compacted instruction, instead of parts that stand for bits 127 to 96.
    pub(super) immediate: Bits,
}
