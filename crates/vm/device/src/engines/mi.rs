//! Opcodes of MI commands: bits 28..23 of the first dword; bits 31..29 are zero.

pub const USER_INTERRUPT: u32 = 0x02;
pub const BATCH_BUFFER_END: u32 = 0x0a;
/// The first command with a length in its lower bits.
pub const FIRST_WITH_LENGTH: u32 = 0x10;
pub const SET_CONTEXT: u32 = 0x18;
pub const SEMAPHORE_WAIT: u32 = 0x1c;
pub const STORE_DWORD_IMM: u32 = 0x20;
pub const STORE_DWORD_INDEX: u32 = 0x21;
pub const LOAD_REGISTER_IMM: u32 = 0x22;
pub const UPDATE_GTT: u32 = 0x23;
pub const STORE_REGISTER_MEM: u32 = 0x24;
pub const FLUSH_DW: u32 = 0x26;
pub const ATOMIC: u32 = 0x2f;
pub const BATCH_BUFFER_START: u32 = 0x31;
pub const CONDITIONAL_BATCH_BUFFER_END: u32 = 0x36;
