//! The encoding of batch commands: opcodes, fields and lengths.
//!
//! From the Programmer's Reference Manuals, volume "Command Reference: Instructions", and i915's
//! `intel_gpu_commands.h`. These tables are independent of the batch builder's, for cross-checking.

/// Bits 31:29 of the first dword: the unit that executes the command.
pub(in crate::gpu) const CLIENT_SHIFT: u32 = 29;
/// The command streamer (MI).
pub(in crate::gpu) const CLIENT_MI: u32 = 0;
/// The blitter.
pub(super) const CLIENT_BLITTER: u32 = 2;
/// The 3D, media and video pipelines.
pub(in crate::gpu) const CLIENT_PIPELINES: u32 = 3;
/// RESOURCE_BARRIER (Xe2 and later), which orders stages of the pipelines.
pub(super) const CLIENT_BARRIERS: u32 = 5;

/// Bits 28:23: the opcode of an MI command.
pub(in crate::gpu) const MI_OPCODE_SHIFT: u32 = 23;
/// MI commands below this opcode have one dword; the others have a length in their lower bits.
pub(super) const MI_FIRST_LONG: u32 = 0x10;

/// MI_NOOP; with bit 22 it sets an identification number, which is ignored here.
pub(super) const MI_NOOP: u32 = 0x00;
/// MI_USER_INTERRUPT: wakes waiters for the kernel's own requests; no effect for a batch.
pub(super) const MI_USER_INTERRUPT: u32 = 0x02;
/// MI_FLUSH, replaced by MI_FLUSH_DW.
pub(super) const MI_FLUSH: u32 = 0x04;
/// MI_SET_PREDICATE (graphics 7.5 and later): bits 3:0 select when the commands after it are no-ops.
pub(in crate::gpu) const MI_SET_PREDICATE: u32 = 0x01;
/// MI_PREDICATE: sets the predicate's result.
pub(super) const MI_PREDICATE: u32 = 0x0c;
/// MI_MATH (graphics 7.5 and later).
pub(super) const MI_MATH: u32 = 0x1a;
/// MI_ARB_CHECK: a preemption point.
pub(in crate::gpu) const MI_ARB_CHECK: u32 = 0x05;
/// MI_REPORT_HEAD.
pub(super) const MI_REPORT_HEAD: u32 = 0x07;
/// MI_ARB_ON_OFF: bit 0 enables preemption.
pub(in crate::gpu) const MI_ARB_ON_OFF: u32 = 0x08;
/// MI_MEM_FENCE (Xe2 and later): earlier accesses are done before later ones, of one kind or of all.
pub(in crate::gpu) const MI_MEM_FENCE: u32 = 0x09;
/// MI_BATCH_BUFFER_END.
pub(in crate::gpu) const MI_BATCH_BUFFER_END: u32 = 0x0a;
/// MI_SUSPEND_FLUSH.
pub(super) const MI_SUSPEND_FLUSH: u32 = 0x0b;
/// MI_STORE_DATA_IMM, which i915 calls MI_STORE_DWORD_IMM.
pub(super) const MI_STORE_DATA_IMM: u32 = 0x20;
/// MI_FLUSH_DW.
pub(in crate::gpu) const MI_FLUSH_DW: u32 = 0x26;
/// MI_SEMAPHORE_WAIT.
pub(super) const MI_SEMAPHORE_WAIT: u32 = 0x1c;
/// MI_LOAD_REGISTER_IMM.
pub(in crate::gpu) const MI_LOAD_REGISTER_IMM: u32 = 0x22;
/// MI_STORE_REGISTER_MEM.
pub(super) const MI_STORE_REGISTER_MEM: u32 = 0x24;
/// MI_LOAD_REGISTER_MEM.
pub(super) const MI_LOAD_REGISTER_MEM: u32 = 0x29;
/// MI_LOAD_REGISTER_REG.
pub(super) const MI_LOAD_REGISTER_REG: u32 = 0x2a;
/// MI_COPY_MEM_MEM.
pub(super) const MI_COPY_MEM_MEM: u32 = 0x2e;
/// MI_ATOMIC (graphics 8 and later).
pub(super) const MI_ATOMIC: u32 = 0x2f;
/// MI_BATCH_BUFFER_START.
pub(in crate::gpu) const MI_BATCH_BUFFER_START: u32 = 0x31;
/// MI_CONDITIONAL_BATCH_BUFFER_END.
pub(super) const MI_CONDITIONAL_BATCH_BUFFER_END: u32 = 0x36;

/// MI_STORE_DATA_IMM: the address is in the global GTT. Before graphics 6, where the global GTT is the only
/// space, the bit marks a virtual address; without it the address would be physical, but is treated as
/// virtual, too.
pub(super) const STORE_GLOBAL: u32 = 1 << 22;
/// MI_STORE_DATA_IMM: each value has two dwords.
pub(super) const STORE_QWORD: u32 = 1 << 21;
/// MI_FLUSH_DW: the address is an offset in the engine's status page.
pub(super) const FLUSH_INDEX: u32 = 1 << 21;
/// MI_FLUSH_DW, PIPE_CONTROL: bits 15:14 of the dword with the flags select what is written after the flush.
pub(super) const POST_SYNC_SHIFT: u32 = 14;
/// Nothing is written.
pub(super) const POST_SYNC_NOTHING: u32 = 0;
/// The immediate data is written.
pub(super) const POST_SYNC_DATA: u32 = 1;
/// PIPE_CONTROL: the number of pixels that passed the depth test is written.
pub(super) const POST_SYNC_DEPTH_COUNT: u32 = 2;
/// The timestamp is written.
pub(super) const POST_SYNC_TIMESTAMP: u32 = 3;
/// MI_FLUSH_DW: the address is in the global GTT; a bit of the address's dword.
pub(in crate::gpu) const FLUSH_GLOBAL: u32 = 1 << 2;
/// MI_BATCH_BUFFER_START: the batch is in the context's own address space.
pub(super) const START_PPGTT: u32 = 1 << 8;
/// MI_BATCH_BUFFER_START: a second-level batch, whose end returns here (Haswell, graphics 8 and
/// later).
pub(super) const START_SECOND_LEVEL: u32 = 1 << 22;
/// MI_BATCH_BUFFER_START (graphics 7.5 and later): it jumps only if the predicate holds.
pub(in crate::gpu) const START_PREDICATED: u32 = 1 << 15;

/// STATE_SYSTEM_MEM_FENCE_ADDRESS: the upper half of its first dword.
pub(super) const STATE_SYSTEM_MEM_FENCE_ADDRESS: u32 = 0x6109;
/// PIPE_CONTROL: the upper half of its first dword.
pub(in crate::gpu) const PIPE_CONTROL: u32 = 0x7a00;
/// PIPE_CONTROL, from graphics 6 on: the address is an offset in the status page.
pub(super) const PIPE_CONTROL_INDEX: u32 = 1 << 21;
/// PIPE_CONTROL, from graphics 7 on: the data goes to a register, not to memory.
pub(super) const PIPE_CONTROL_REGISTER: u32 = 1 << 23;
/// PIPE_CONTROL, from graphics 7 on: the address is in the global GTT.
pub(in crate::gpu) const PIPE_CONTROL_GLOBAL: u32 = 1 << 24;

/// MI_STORE_REGISTER_MEM, MI_LOAD_REGISTER_MEM, MI_SEMAPHORE_WAIT, MI_CONDITIONAL_BATCH_BUFFER_END, MI_ATOMIC, and the
/// source of MI_COPY_MEM_MEM: the address is in the global GTT.
pub(super) const MEMORY_GLOBAL: u32 = 1 << 22;
/// MI_COPY_MEM_MEM: the destination is in the global GTT.
pub(super) const COPY_TO_GLOBAL: u32 = 1 << 21;
/// MI_ATOMIC: bits 20:19 select 4, 8 or 16 bytes.
pub(super) const ATOMIC_BYTES_SHIFT: u32 = 19;
/// MI_ATOMIC: the operands are in the command, not in registers.
pub(super) const ATOMIC_INLINE: u32 = 1 << 18;
/// MI_ATOMIC: the old value goes to a register.
pub(super) const ATOMIC_RETURNS: u32 = 1 << 16;
/// MI_ATOMIC: bits 15:8 are the operation.
pub(super) const ATOMIC_OPERATION_SHIFT: u32 = 8;
/// The bits of a register's offset in a command.
pub(in crate::gpu) const REGISTER: u32 = 0x7f_fffc;
/// MI_LOAD_REGISTER_IMM, MI_LOAD_REGISTER_MEM, MI_STORE_REGISTER_MEM, and the destination of MI_LOAD_REGISTER_REG: the register's offset
/// is after the start of the engine's registers (`MI_LRI_LRM_CS_MMIO`, graphics 11 and later).
pub(super) const REGISTER_OF_ENGINE: u32 = 1 << 19;
/// The same of the source of MI_LOAD_REGISTER_REG (`MI_LRR_SOURCE_CS_MMIO`).
pub(super) const SOURCE_OF_ENGINE: u32 = 1 << 18;
/// MI_SEMAPHORE_WAIT, MI_CONDITIONAL_BATCH_BUFFER_END: bits 14:12 select the comparison.
pub(super) const COMPARE_SHIFT: u32 = 12;
/// MI_SEMAPHORE_WAIT: a register is compared, not memory (graphics 12 and later).
pub(super) const WAIT_REGISTER: u32 = 1 << 16;
/// MI_CONDITIONAL_BATCH_BUFFER_END: it ends only the current level (graphics 9 and later).
pub(super) const END_CURRENT: u32 = 1 << 18;
/// MI_CONDITIONAL_BATCH_BUFFER_END: the value is masked (graphics 9 and later).
pub(super) const END_MASKED: u32 = 1 << 19;
/// MI_CONDITIONAL_BATCH_BUFFER_END: it compares.
pub(super) const END_COMPARES: u32 = 1 << 21;

/// Bits 28:22: the opcode of a blitter command.
pub(super) const BLIT_OPCODE_SHIFT: u32 = 22;
/// XY_BLOCK_COPY_BLT.
pub(super) const XY_BLOCK_COPY: u32 = 0x41;
/// MEM_COPY and MEM_SET (Xe2 and later).
pub(super) const MEM_COPY: u32 = 0x5a;
pub(super) const MEM_SET: u32 = 0x5b;
/// MEM_COPY: the width counts pages of 256 bytes; a bit of the first dword.
pub(super) const MEM_COPY_PAGES: u32 = 1 << 19;
/// MEM_COPY, MEM_SET: there are rows, of a pitch; otherwise all is one row. A bit of the first dword.
pub(super) const MEM_MATRIX: u32 = 1 << 17;
/// MEM_COPY, MEM_SET: the bits of a width, a height or a pitch, each minus one.
pub(super) const MEM_EXTENT: u32 = 0xff_ffff;
/// MEM_SET: the byte that is stored is in the uppermost bits of its last dword.
pub(super) const MEM_SET_SHIFT: u32 = 24;
/// XY_FAST_COPY_BLT.
pub(super) const XY_FAST_COPY: u32 = 0x42;
/// XY_FAST_COLOR_BLT.
pub(super) const XY_FAST_COLOR: u32 = 0x44;
/// XY_COLOR_BLT.
pub(super) const XY_COLOR: u32 = 0x50;
/// XY_SRC_COPY_BLT.
pub(super) const XY_SRC_COPY: u32 = 0x53;

/// Bits 7:0 of a long command: its length in dwords minus two.
pub(in crate::gpu) const LENGTH: u32 = 0xff;
/// The length field of MI_STORE_DATA_IMM on graphics 8 and later has two more bits.
pub(super) const STORE_LENGTH: u32 = 0x3ff;
/// The length field of MI_FLUSH_DW has six bits.
pub(super) const FLUSH_LENGTH: u32 = 0x3f;

/// XY_COLOR_BLT, XY_SRC_COPY_BLT: bits 21:20 of the first dword select the bytes of a 32-bit pixel that are
/// written: alpha.
pub(super) const WRITE_ALPHA: u32 = 1 << 21;
/// The same: red, green and blue.
pub(super) const WRITE_RGB: u32 = 1 << 20;
/// XY_SRC_COPY_BLT: the source is tiled. XY_COLOR_BLT ignores this bit.
pub(super) const SOURCE_TILED: u32 = 1 << 15;
/// XY_COLOR_BLT, XY_SRC_COPY_BLT: the destination is tiled.
pub(super) const TARGET_TILED: u32 = 1 << 11;
/// XY_COLOR_BLT, XY_SRC_COPY_BLT: clipped to the rectangle in registers (bit 30 of the second dword).
pub(super) const CLIPPED: u32 = 1 << 30;
/// XY_COLOR_BLT, XY_SRC_COPY_BLT, bits 23:16 of the second dword: the raster operation of copies.
pub(super) const ROP_COPY: u32 = 0xcc;
/// The raster operation of fills.
pub(super) const ROP_FILL: u32 = 0xf0;
/// XY_FAST_COPY_BLT, first dword: tiling of the source (bits 21:20) and of the destination (14:13).
pub(super) const FAST_COPY_TILED: u32 = 3 << 20 | 3 << 13;

/// XY_BLOCK_COPY_BLT, XY_FAST_COLOR_BLT: bits 21:19 of the first dword encode the size of a pixel.
pub(super) const BLOCK_DEPTH_SHIFT: u32 = 19;
/// XY_BLOCK_COPY_BLT, XY_FAST_COLOR_BLT, dword of the pitch: the pitch minus one (bits 17:0).
pub(super) const BLOCK_PITCH: u32 = 0x3_ffff;
/// The MOCS index (bits 27:22).
pub(super) const BLOCK_MOCS_SHIFT: u32 = 22;
/// Mask of the MOCS index.
pub(super) const BLOCK_MOCS: u32 = 0x3f;
/// Encryption (bit 21, below the MOCS index).
pub(super) const BLOCK_ENCRYPTED: u32 = 1 << 21;
/// Compression (bit 29).
pub(super) const BLOCK_COMPRESSED: u32 = 1 << 29;
/// Tiling (bits 31:30).
pub(super) const BLOCK_TILED: u32 = 3 << 30;

/// Returns the opcode of an MI command.
pub(in crate::gpu) const fn mi_opcode(first: u32) -> u32 {
    first >> MI_OPCODE_SHIFT & 0x3f
}
