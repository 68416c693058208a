//! The blitter's commands, and which generations have which.

use Blit::{BlockCopy, Color, FastColor, FastCopy, SourceCopy};

/// A command that is executed here; its number is bits 31..22 of the first dword: the client and the opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Blit {
    /// XY_BLOCK_COPY_BLT.
    BlockCopy = 0x141,
    /// XY_FAST_COPY_BLT.
    FastCopy = 0x142,
    /// XY_FAST_COLOR_BLT.
    FastColor = 0x144,
    /// XY_COLOR_BLT.
    Color = 0x150,
    /// XY_SRC_COPY_BLT.
    SourceCopy = 0x153,
}

/// Which of them there are: IGT's `intel_cmds_info.c` has copies and XY_COLOR_BLT, `emit_clear_main_copy` of
/// xe_migrate.c XY_FAST_COLOR_BLT. Gen9 has those of gen11, and Meteor Lake no longer the two oldest ones.
pub const BLITS_GEN3: &[Blit] = &[Color, SourceCopy];
pub const BLITS_GEN9: &[Blit] = &[Color, SourceCopy, FastCopy];
pub const BLITS_GEN12: &[Blit] = &[Color, SourceCopy, FastCopy, BlockCopy, FastColor];
pub const BLITS_METEOR_LAKE: &[Blit] = &[FastCopy, BlockCopy, FastColor];

impl Blit {
    /// The command with this first dword.
    pub fn of(first: u32) -> Option<Self> {
        BLITS_GEN12.iter().copied().find(|blit| first >> 22 == *blit as u32)
    }
}
