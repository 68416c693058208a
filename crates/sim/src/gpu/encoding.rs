//! The commands of batches as numbers: opcodes, fields, lengths.
//!
//! From the Programmer's Reference Manuals, volume "Command Reference: Instructions", and i915's
//! `intel_gpu_commands.h`. Who writes batches has tables of his own: two that agree check each other.

/// Bits 31:29 of the first dword: who executes the command.
pub(super) const CLIENT_SHIFT: u32 = 29;
/// The command streamer itself (MI).
pub(super) const CLIENT_MI: u32 = 0;
/// The blitter.
pub(super) const CLIENT_BLITTER: u32 = 2;

/// Bits 28:23: the opcode of an MI command.
pub(super) const MI_OPCODE_SHIFT: u32 = 23;
/// MI commands below this opcode are one dword long; the others have a length in their lower bits.
pub(super) const MI_FIRST_LONG: u32 = 0x10;

/// MI_NOOP; with bit 22 it sets a number that nobody here reads.
pub(super) const MI_NOOP: u32 = 0x00;
/// MI_USER_INTERRUPT: wakes whoever waits for the kernel's own requests; nothing for a batch.
pub(super) const MI_USER_INTERRUPT: u32 = 0x02;
/// MI_FLUSH, which MI_FLUSH_DW took the place of.
pub(super) const MI_FLUSH: u32 = 0x04;
/// MI_ARB_CHECK: here the engine may turn to something else.
pub(super) const MI_ARB_CHECK: u32 = 0x05;
/// MI_REPORT_HEAD.
pub(super) const MI_REPORT_HEAD: u32 = 0x07;
/// MI_ARB_ON_OFF: bit 0 says whether the engine may turn to something else.
pub(super) const MI_ARB_ON_OFF: u32 = 0x08;
/// MI_BATCH_BUFFER_END.
pub(super) const MI_BATCH_BUFFER_END: u32 = 0x0a;
/// MI_SUSPEND_FLUSH.
pub(super) const MI_SUSPEND_FLUSH: u32 = 0x0b;
/// MI_STORE_DATA_IMM, which i915 calls MI_STORE_DWORD_IMM.
pub(super) const MI_STORE_DATA_IMM: u32 = 0x20;
/// MI_FLUSH_DW.
pub(super) const MI_FLUSH_DW: u32 = 0x26;
/// MI_BATCH_BUFFER_START.
pub(super) const MI_BATCH_BUFFER_START: u32 = 0x31;

/// MI_STORE_DATA_IMM: the address is in the global space. Before graphics 6, where there is no other
/// space, the address is virtual; without the bit it would be physical, and is taken as virtual too.
pub(super) const STORE_GLOBAL: u32 = 1 << 22;
/// MI_STORE_DATA_IMM: two dwords of data.
pub(super) const STORE_QWORD: u32 = 1 << 21;
/// MI_FLUSH_DW: the address counts from the engine's status page.
pub(super) const FLUSH_INDEX: u32 = 1 << 21;
/// MI_FLUSH_DW: bits 15:14 of the first dword say what is written afterwards; 1 is the data.
pub(super) const FLUSH_POST_SYNC_SHIFT: u32 = 14;
/// Nothing is written.
pub(super) const POST_SYNC_NOTHING: u32 = 0;
/// The data are.
pub(super) const POST_SYNC_DATA: u32 = 1;
/// MI_FLUSH_DW: the address is in the global space; in the dword of the address.
pub(super) const FLUSH_GLOBAL: u32 = 1 << 2;
/// MI_BATCH_BUFFER_START: the batch is in the context's own space.
pub(super) const START_PPGTT: u32 = 1 << 8;
/// MI_BATCH_BUFFER_START: its end returns here (graphics 8 and later).
pub(super) const START_SECOND_LEVEL: u32 = 1 << 22;

/// Bits 28:22: the opcode of a blitter command.
pub(super) const BLIT_OPCODE_SHIFT: u32 = 22;
/// XY_BLOCK_COPY_BLT.
pub(super) const XY_BLOCK_COPY: u32 = 0x41;
/// XY_FAST_COPY_BLT.
pub(super) const XY_FAST_COPY: u32 = 0x42;
/// XY_FAST_COLOR_BLT.
pub(super) const XY_FAST_COLOR: u32 = 0x44;
/// XY_COLOR_BLT.
pub(super) const XY_COLOR: u32 = 0x50;
/// XY_SRC_COPY_BLT.
pub(super) const XY_SRC_COPY: u32 = 0x53;

/// Bits 7:0 of a long command: its dwords without the first two.
pub(super) const LENGTH: u32 = 0xff;
/// MI_STORE_DATA_IMM of graphics 8 and later has two bits more.
pub(super) const STORE_LENGTH: u32 = 0x3ff;
/// MI_FLUSH_DW has six.
pub(super) const FLUSH_LENGTH: u32 = 0x3f;

/// XY_COLOR_BLT, XY_SRC_COPY_BLT: bits 21:20 of the first dword say which bytes of a 32 bit pixel are
/// written (alpha, and red, green and blue).
pub(super) const WRITE_ALPHA: u32 = 1 << 21;
/// As above.
pub(super) const WRITE_RGB: u32 = 1 << 20;
/// XY_SRC_COPY_BLT: the source is tiled. XY_COLOR_BLT does not know it.
pub(super) const SOURCE_TILED: u32 = 1 << 15;
/// XY_COLOR_BLT, XY_SRC_COPY_BLT: the destination is tiled.
pub(super) const TARGET_TILED: u32 = 1 << 11;
/// The same: clipped to a rectangle that registers say (bit 30 of the second dword).
pub(super) const CLIPPED: u32 = 1 << 30;
/// XY_COLOR_BLT and XY_SRC_COPY_BLT, bits 23:16 of the second dword: the raster operation. Copies.
pub(super) const ROP_COPY: u32 = 0xcc;
/// The same: fills.
pub(super) const ROP_FILL: u32 = 0xf0;
/// XY_FAST_COPY_BLT, first dword: tiling of the source (bits 21:20) and of the destination (14:13).
pub(super) const FAST_COPY_TILED: u32 = 3 << 20 | 3 << 13;

/// XY_BLOCK_COPY_BLT, XY_FAST_COLOR_BLT: bits 21:19 of the first dword are the size of a pixel.
pub(super) const BLOCK_DEPTH_SHIFT: u32 = 19;
/// The same, dword of the pitch: the pitch less one (17:0), the MOCS index (27:22, above the bit for
/// encryption), compression (29) and tiling (31:30).
pub(super) const BLOCK_PITCH: u32 = 0x3_ffff;
/// As above.
pub(super) const BLOCK_MOCS_SHIFT: u32 = 22;
/// As above.
pub(super) const BLOCK_MOCS: u32 = 0x3f;
/// As above.
pub(super) const BLOCK_ENCRYPTED: u32 = 1 << 21;
/// As above.
pub(super) const BLOCK_COMPRESSED: u32 = 1 << 29;
/// As above.
pub(super) const BLOCK_TILED: u32 = 3 << 30;
