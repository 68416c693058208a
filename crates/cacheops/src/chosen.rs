//! The instructions that the operations use.
#![deny(unsafe_code)]

use gem_coherency_policy::vocabulary::LineOp;

use super::span::LastLine;
use super::{Instruction, LoadInstruction, StoreInstruction};

/// The instruction for each kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) flush_by: Instruction,
    pub(super) write_back_by: Instruction,
    pub(super) store_by: StoreInstruction,
    pub(super) load_by: LoadInstruction,
    pub(super) repeats_last_line: bool,
    pub(super) interleaves_pages: bool,
}

impl Chosen {
    /// The instructions that every CPU has.
    pub(super) const FALLBACK: Self = Self {
        flush_by: Instruction::Clflush,
        write_back_by: Instruction::Clflush,
        store_by: StoreInstruction::Mov,
        load_by: LoadInstruction::Mov,
        repeats_last_line: true,
        interleaves_pages: false,
    };

    /// Returns the choice as a word, which is not 0.
    pub(super) fn word(self) -> u32 {
        let Self { flush_by, write_back_by, store_by, load_by, repeats_last_line, interleaves_pages } = self;
        let places = [flush_by as u32, write_back_by as u32, store_by as u32, load_by as u32];
        let flags = 4 | u32::from(interleaves_pages) << 1 | u32::from(repeats_last_line);
        places.iter().rev().fold(flags, |word, place| word << 4 | place)
    }

    /// Returns the choice that [`Self::word`] made `word` of.
    #[inline]
    pub(super) fn of_word(word: u32) -> Self {
        Self {
            flush_by: value(Instruction::ALL, word, Self::FALLBACK.flush_by),
            write_back_by: value(Instruction::ALL, word >> 4, Self::FALLBACK.write_back_by),
            store_by: value(StoreInstruction::ALL, word >> 8, Self::FALLBACK.store_by),
            load_by: value(LoadInstruction::ALL, word >> 12, Self::FALLBACK.load_by),
            repeats_last_line: word >> 16 & 1 != 0,
            interleaves_pages: word >> 17 & 1 != 0,
        }
    }

    /// Returns the instruction that performs `op`.
    #[inline]
    pub(super) fn by(self, op: LineOp) -> Instruction {
        match op {
            LineOp::WriteBack => self.write_back_by,
            LineOp::Flush | LineOp::Invalidate => self.flush_by,
        }
    }

    /// Returns how many times `op` touches the last line of a range.
    #[inline]
    pub(super) fn last_line(self, op: LineOp) -> LastLine {
        match op {
            LineOp::WriteBack | LineOp::Flush => LastLine::Once,
            LineOp::Invalidate if self.repeats_last_line => LastLine::Twice,
            LineOp::Invalidate => LastLine::Once,
        }
    }
}

/// Returns the value whose place in `all` is in the lowest four bits of `word`.
#[inline]
fn value<T: Copy>(all: &[T], word: u32, fallback: T) -> T {
    all.get((word & 0xf) as usize).copied().unwrap_or(fallback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_survives_as_a_word() {
        let mut words = std::collections::HashSet::new();
        for &flush_by in Instruction::ALL {
            for &write_back_by in Instruction::ALL {
                for &store_by in StoreInstruction::ALL {
                    for &load_by in LoadInstruction::ALL {
                        for flags in 0..4 {
                            let (repeats_last_line, interleaves_pages) = (flags & 1 != 0, flags & 2 != 0);
                            let chosen = Chosen {
                                flush_by,
                                write_back_by,
                                store_by,
                                load_by,
                                repeats_last_line,
                                interleaves_pages,
                            };
                            assert_eq!(Chosen::of_word(chosen.word()), chosen);
                            assert!(chosen.word() != 0 && words.insert(chosen.word()), "{chosen:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn only_an_invalidate_repeats_the_last_line_and_only_where_an_atom_may_be() {
        for (repeats_last_line, invalidate) in [(true, LastLine::Twice), (false, LastLine::Once)] {
            let chosen = Chosen { repeats_last_line, ..Chosen::FALLBACK };
            assert_eq!(chosen.last_line(LineOp::Invalidate), invalidate);
            assert_eq!(chosen.last_line(LineOp::Flush), LastLine::Once);
            assert_eq!(chosen.last_line(LineOp::WriteBack), LastLine::Once);
        }
    }
}
