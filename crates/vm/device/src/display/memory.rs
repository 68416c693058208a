//! What the driver wants to know of the memory before it shows anything: its bandwidth and the
//! points between which the power controller would scale it (QGV, SAGV).

use crate::gpu::Gpu;

/// GEN6_PCODE_DATA and GEN6_PCODE_DATA1: what the power controller answers.
const DATA: u32 = 0x13_8128;
const DATA_1: u32 = 0x13_812c;

/// GEN9_PCODE_SAGV_CONTROL: bit 0 says that scaling was disabled.
const SAGV_CONTROL: u32 = 0x21;
const SAGV_IS_DISABLED: u32 = 1;
/// ICL_PCODE_MEM_SUBSYSYSTEM_INFO with ICL_PCODE_MEM_SS_READ_GLOBAL_INFO: DDR4 (0 in bits 3..0), two
/// channels (7..4), one point (11..8): without a point there is no bandwidth for any mode.
const GLOBAL_INFO: u32 = 0xd;
const DDR4_TWO_CHANNELS_ONE_POINT: u32 = 1 << 8 | 2 << 4;
/// ICL_PCODE_MEM_SUBSYSYSTEM_INFO with ICL_PCODE_MEM_SS_READ_QGV_POINT_INFO: the clock in 16.67 MHz
/// (15..0) and two of its timings, tRP and tRCD; the other two, tRDPRE and tRAS.
const POINT_INFO: u32 = 0x10d;
const POINT: (u32, u32) = (22 << 24 | 22 << 16 | 192, 52 << 8 | 12);
/// ICL_PCODE_SAGV_DE_MEM_SS_CONFIG: the choice of points was accepted (ICL_PCODE_REP_QGV_SAFE).
const POINT_CHOICE: u32 = 0xe;
const POINT_CHOICE_ACCEPTED: u32 = 0;

/// The bits of GEN6_PCODE_MAILBOX that are a command and its first parameter.
const COMMAND: u32 = 0xffff;

/// Answers a command of the display to the power controller; the others keep their argument.
pub fn answer(gpu: &mut Gpu, mailbox: u32) {
    if gpu.display.is_none() {
        return;
    }
    match mailbox & COMMAND {
        SAGV_CONTROL => gpu.registers.set(DATA, SAGV_IS_DISABLED),
        GLOBAL_INFO => gpu.registers.set(DATA, DDR4_TWO_CHANNELS_ONE_POINT),
        POINT_INFO => {
            gpu.registers.set(DATA, POINT.0);
            gpu.registers.set(DATA_1, POINT.1);
        }
        POINT_CHOICE => gpu.registers.set(DATA, POINT_CHOICE_ACCEPTED),
        _ => {}
    }
}
