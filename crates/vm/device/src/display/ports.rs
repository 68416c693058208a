//! Ports: AUX channels on which nobody answers, and the PHYs of Broxton and Gemini Lake, which have
//! registers for groups of lanes.

use crate::gpu::Gpu;
use crate::gpu::display::{Model, Row};

/// DP_AUX_CH_CTL(A) to (I), and PCH_DP_AUX_CH_CTL(B) to (D).
const AUX: [Row; 2] =
    [Row { first: 0x6_4010, distance: 0x100, count: 9 }, Row { first: 0xe_4110, distance: 0x100, count: 3 }];
/// A transfer is asked for, and going on.
const AUX_BUSY: u32 = 1 << 31;
/// Write one to clear: the transfer is done, it timed out, it received nonsense.
const AUX_DONE: u32 = 1 << 30;
const AUX_TIMED_OUT: u32 = 1 << 28;
const AUX_BAD_ANSWER: u32 = 1 << 25;

/// The size of a group of registers, which is the distance of those of the second pair.
const GROUP_SIZE: u32 = 0x200;

pub fn write(gpu: &mut Gpu, model: &Model, register: u32, value: u32) -> bool {
    if AUX.iter().any(|row| row.holds(register)) {
        let status = AUX_DONE | AUX_TIMED_OUT | AUX_BAD_ANSWER;
        let answer = if value & AUX_BUSY != 0 {
            value & !(AUX_BUSY | status) | AUX_DONE | AUX_TIMED_OUT
        } else {
            value & !status | gpu.registers.get(register) & !value & status
        };
        gpu.registers.set(register, answer);
        return true;
    }
    let groups = model.phy_groups.iter();
    let mut offsets = groups.filter_map(|phy| Some((phy.lanes, register.checked_sub(phy.group)?)));
    let Some((lanes, offset)) = offsets.find(|(_, offset)| *offset < GROUP_SIZE) else {
        return false;
    };
    for register in [register, lanes + offset, lanes + GROUP_SIZE + offset] {
        gpu.registers.set(register, value);
    }
    true
}
