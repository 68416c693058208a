//! The blitter's commands, and which generations have which.

use Blit::{BlockCopy, Color, FastColor, FastCopy, MemCopy, MemSet, SourceCopy};

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
    /// MEM_COPY: bytes, or pages of 256 bytes, in rows.
    MemCopy = 0x15a,
    /// MEM_SET: a byte, in rows.
    MemSet = 0x15b,
}

/// Which of them there are: IGT's `intel_cmds_info.c` has copies and XY_COLOR_BLT, `emit_clear_main_copy` of
/// xe_migrate.c XY_FAST_COLOR_BLT. Gen9 has those of gen11, and Meteor Lake no longer the two oldest ones. From Lunar Lake on, xe_migrate.c uses
/// MEM_COPY and MEM_SET (xe_gpu_commands.h), which Ponte Vecchio had first.
pub const BLITS_GEN3: &[Blit] = &[Color, SourceCopy];
pub const BLITS_GEN9: &[Blit] = &[Color, SourceCopy, FastCopy];
pub const BLITS_GEN12: &[Blit] = &[Color, SourceCopy, FastCopy, BlockCopy, FastColor];
pub const BLITS_METEOR_LAKE: &[Blit] = &[FastCopy, BlockCopy, FastColor];
pub const BLITS_XE2: &[Blit] = &[FastCopy, BlockCopy, FastColor, MemCopy, MemSet];
/// All of them.
const ALL: &[Blit] = &[Color, SourceCopy, FastCopy, BlockCopy, FastColor, MemCopy, MemSet];

impl Blit {
    /// The command with this first dword.
    pub fn of(first: u32) -> Option<Self> {
        ALL.iter().copied().find(|blit| first >> 22 == *blit as u32)
    }
}
