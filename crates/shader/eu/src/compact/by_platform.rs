//! The layout of each platform, and the parts of each opcode.

use super::layout::{Layout, Part, copy};
use super::{eight, seven, twelve};
use crate::{Form, Opcode, Platform};

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
