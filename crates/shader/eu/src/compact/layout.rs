//! The parts of a compacted instruction.

use super::{eight, seven, twelve};
use crate::isa::Bits;
use crate::{Form, Opcode, Platform, Uncompactable};

/// A part of a compacted instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Its highest and its lowest bit in the compacted instruction.
    at: (u8, u8),
    /// The bits of the instruction that it stands for.
    pub(super) bits: Bits,
    /// Their values, if the part is an index of them.
    table: Option<Table>,
}

/// The values that bits of a compacted instruction can have.
#[derive(Clone, Copy, Debug)]
struct Table {
    /// What they are about.
    name: &'static str,
    /// The values, by index.
    rows: &'static [u64],
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

impl Layout {
    /// Returns the layout of a platform.
    pub(super) fn of(platform: Platform) -> &'static Self {
        match platform.graphics() {
            ..80 => &seven::LAYOUT,
            80..110 => &eight::LAYOUT,
            110..120 => &eight::LAYOUT_11,
            120..125 => &twelve::LAYOUT,
            _ => &twelve::LAYOUT_125,
        }
    }

    /// Returns the parts of instructions of an opcode; `None` if they are not compacted.
    pub(super) fn parts(platform: Platform, opcode: Opcode) -> Option<&'static [Part]> {
        let layout = Self::of(platform);
        let graphics = platform.graphics();
        match (opcode, opcode.form(platform)) {
            (Opcode::Nop, _) => Some(&NOP),
            (Opcode::Illegal | Opcode::Dim | Opcode::Jmpi | Opcode::Ret, _) => None,
            (Opcode::Math, _) => (graphics < 120).then_some(layout.basic),
            (_, Form::Basic(_)) => Some(layout.basic),
            (_, Form::Three) => layout.three,
            (_, Form::Send) => (graphics < 90).then_some(layout.basic),
            (_, Form::Nothing | Form::Systolic | Form::Jump | Form::Jumps | Form::SplitSend) => None,
        }
    }
}

/// Those of the instruction that has nothing but an opcode. Mesa's compiler pads programs with it.
static NOP: [Part; 1] = [copy((6, 0), &[(6, 0)])];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_all_bits_once_and_tables_have_a_row_for_each_index() {
        for platform in Platform::all() {
            let layout = Layout::of(platform);
            for parts in [Some(layout.basic), layout.three].into_iter().flatten() {
                let (mut short, mut long) = (0, 0);
                for part in parts {
                    assert_eq!(short & part.mask(), 0, "{platform} {part:?}");
                    assert_eq!(long & part.bits.mask(), 0, "{platform} {part:?}");
                    short |= part.mask();
                    long |= part.bits.mask();
                    match part.table {
                        None => {
                            assert_eq!(part.bits.width(), part.mask().count_ones(), "{platform} {part:?}")
                        }
                        Some(table) => {
                            assert_eq!(
                                table.rows.len(),
                                1 << part.mask().count_ones(),
                                "{platform} {part:?}"
                            );
                            for row in table.rows {
                                assert_eq!(part.bits.get(part.bits.put(*row)), *row, "{platform} {part:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}
