//! The registers behind the IOSF sideband of Valleyview and Cherryview.

use std::collections::BTreeMap;

/// The port of the power controller, and its registers.
pub const PUNIT: u32 = 0x04;
/// PUNIT_REG_PWRGT_CTRL and _STATUS: two bits per power well, 0: on. The status is the control.
pub const POWER_GATE_CONTROL: u32 = 0x60;
const POWER_GATE_STATUS: u32 = 0x61;
/// PUNIT_REG_DSPSSPM: the state in the upper half follows the request in the lower.
const DISPLAY_POWER: u32 = 0x36;
/// PUNIT_REG_ISPSSPM0 and PUNIT_REG_VEDSSPM0: image processor and video decoder: power gated.
const IMAGE_POWER: u32 = 0x39;
const VIDEO_POWER: u32 = 0x32;
const GATED: u32 = 3;
/// PUNIT_REG_GPU_FREQ_REQ and _STS: the frequency (second byte) is the requested one, and the PLL
/// (bit 4) runs.
const FREQUENCY_REQUEST: u32 = 0xd4;
const FREQUENCY_STATUS: u32 = 0xd8;
const PLL_RUNS: u32 = 1 << 4;
/// PUNIT_REG_DDR_SETUP2: bit 8 is a request, cleared when it was seen.
const DDR_SETUP: u32 = 0x139;
const DDR_REQUEST: u32 = 1 << 8;
/// The port of the clock unit: its dividers' status (bits 12..8) follows the divider (bits 4..0).
const CCU: u32 = 0x14;
const CCU_CLOCKS: std::ops::RangeInclusive<u32> = 0x60..=0x6f;

/// Registers behind the sideband, by port and address.
#[derive(Default)]
pub struct Sideband(BTreeMap<(u32, u32), u32>);

impl Sideband {
    /// What was written.
    pub fn get(&self, port: u32, address: u32) -> u32 {
        self.0.get(&(port, address)).copied().unwrap_or(0)
    }

    /// What a read returns.
    pub fn read(&self, port: u32, address: u32) -> u32 {
        let value = self.get(port, address);
        match (port, address) {
            (PUNIT, POWER_GATE_STATUS) => self.get(PUNIT, POWER_GATE_CONTROL),
            (PUNIT, DISPLAY_POWER) => value & 0xffff | value << 16,
            (PUNIT, IMAGE_POWER | VIDEO_POWER) => value | GATED,
            (PUNIT, FREQUENCY_STATUS) => (self.get(PUNIT, FREQUENCY_REQUEST) & 0xff) << 8 | PLL_RUNS,
            (CCU, clock) if CCU_CLOCKS.contains(&clock) => value & !0x1f00 | (value & 0x1f) << 8,
            _ => value,
        }
    }

    pub fn write(&mut self, port: u32, address: u32, value: u32) {
        let value = match (port, address) {
            (PUNIT, DDR_SETUP) => value & !DDR_REQUEST,
            _ => value,
        };
        self.0.insert((port, address), value);
    }
}
