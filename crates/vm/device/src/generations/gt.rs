//! What the GTs of gen6 and later have in common: forcewake, reset, the power controller's mailbox,
//! TLB invalidation. Requests are done at once.

use crate::display;
use crate::gpu::Gpu;

/// GEN6_GDRST: the driver writes the domains to reset and waits for them to read as zero.
const GDRST: u32 = 0x941c;

/// GEN6_PCODE_MAILBOX: a command with bit 31; the driver waits for that bit to clear and takes an
/// error from the lower byte.
const PCODE_MAILBOX: u32 = 0x13_8124;
/// GEN6_PCODE_DATA: argument and answer.
const PCODE_DATA: u32 = 0x13_8128;
/// DG1_PCODE_STATUS: "is the card initialised?" The answer is 1.
const PCODE_COMMAND_STATUS: u32 = 0x7e;

/// GEN8_RTCR to GEN8_VTCR, GEN12_GFX_TLB_INV_CR to GEN12_BLT_TLB_INV_CR and
/// GEN12_COMPCTX_TLB_INV_CR: TLB invalidation, done when bit 0 reads as zero.
const TLB_GEN8: u32 = 0x4260;
const TLB_GEN8_END: u32 = 0x4270;
const TLB_GEN12: u32 = 0xced8;
const TLB_GEN12_END: u32 = 0xceec;
const TLB_COMPUTE: u32 = 0xcf04;

/// FORCEWAKE_MT, the request to keep the GT awake, and FORCEWAKE_ACK_HSW. Both are masked.
pub const FORCEWAKE_GT: u32 = 0xa188;
pub const FORCEWAKE_ACK_HSW: u32 = 0x13_0044;

/// GTFIFOCTL: free entries for register writes, which the driver waits for before gen8.
pub const FIFO_CONTROL: u32 = 0x12_0008;
pub const FIFO_FREE: u32 = 0x3f;

/// GUC_STATUS: bit 0 is GS_MIA_IN_RESET, which the driver wants to see after it reset the
/// microcontroller.
pub const GUC_STATUS: u32 = 0xc000;
pub const GUC_IN_RESET: u32 = 1;

/// GEN6_RP_STATE_CAP: the highest, the efficient and the lowest frequency, upwards from bit 0. The
/// driver divides by them.
pub const RP_STATE_CAP: u32 = 0x14_5998;
pub const RP_STATES: u32 = 0x03_080c;

/// GEN11_EU_DISABLE, XEHP_EU_ENABLE: execution units.
pub const EU_FUSE: u32 = 0x9134;
/// GEN11_GT_SLICE_ENABLE.
pub const SLICE_ENABLE: u32 = 0x9138;
/// GEN12_GT_GEOMETRY_DSS_ENABLE and GEN12_GT_COMPUTE_DSS_ENABLE: dual subslices.
pub const GEOMETRY_ENABLE: u32 = 0x913c;
pub const COMPUTE_ENABLE: u32 = 0x9144;
/// GEN11_GT_VEBOX_VDBOX_DISABLE: the video engines without (since 12.50: with) an engine behind
/// them; VDBOX from bit 0, VEBOX from bit 16.
pub const VIDEO_FUSE: u32 = 0x9140;

/// Acknowledges forcewake requests: pairs of a request register and where its bits are expected.
/// `base` is where the GT's registers start: 0, but for a second GT.
pub fn forcewake(gpu: &mut Gpu, base: u32, pairs: &[(u32, u32)], register: u32, value: u32) -> bool {
    let Some((_, ack)) = pairs.iter().find(|(request, _)| base + request == register) else {
        return false;
    };
    gpu.registers.set_masked(base + ack, value);
    gpu.registers.set_masked(register, value);
    true
}

/// Writes to the registers that all of them have.
pub fn write(gpu: &mut Gpu, base: u32, register: u32, value: u32) -> bool {
    match register - base {
        GDRST => {
            gpu.reset_domains(value);
            gpu.registers.set(register, 0);
        }
        PCODE_MAILBOX => {
            if value & 0xff == PCODE_COMMAND_STATUS {
                gpu.registers.set(PCODE_DATA, 1);
            }
            display::answer(gpu, value);
            gpu.registers.set(register, 0);
        }
        _ => return false,
    }
    true
}

/// Whether a register takes requests that are done at once, so that it always reads as zero.
pub fn is_tlb_invalidation(register: u32) -> bool {
    matches!(
        register,
        TLB_GEN8..=TLB_GEN8_END | TLB_GEN12..=TLB_GEN12_END | TLB_COMPUTE
    )
}
