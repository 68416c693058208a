//! The display engine. Where a fuse exists it is fused off, and what the driver touches
//! nevertheless, when it initialises power domains and clocks, is granted at once. Some platforms
//! have a [`Model`](crate::gpu::display::Model) of more, for a run with the display on: enough for mode sets, page flips, cursors
//! and vertical blanks to be done. Nothing is connected; what a frame reads is summed up in its CRC.

mod memory;
pub mod models;
pub mod pipes;
mod planes;
mod ports;
mod registers;
mod scanout;

use crate::gpu::Gpu;
use crate::gpu::platform::Display;
pub use memory::answer;

/// SKL_DFSM: pipes A, C, D and B are fused off (gen9 and later).
const DFSM: u32 = 0x5_1000;
const DFSM_NO_PIPES: u32 = 1 << 30 | 1 << 28 | 1 << 22 | 1 << 21;
/// SFUSE_STRAP: the display is fused off (Haswell, Broadwell).
const SFUSE_STRAP: u32 = 0xc_2014;
const SFUSE_NO_DISPLAY: u32 = 1 << 7;
/// SKL_FUSE_STATUS: the fuses of all power gates were distributed.
const FUSE_STATUS: u32 = 0x4_2000;
const FUSES_DISTRIBUTED: u32 = 0xfffc_0000;
/// BXT_PORT_CL1CM_DW0 of the three DDI PHYs of Broxton and Gemini Lake: power is good; and 18c
/// further, BXT_PORT_REF_DW3: the calibration is done.
const PHYS: [u32; 3] = [0x16_2000, 0x6_c000, 0x16_3000];
const PHY_POWER_GOOD: u32 = 1 << 16;
const PHY_CALIBRATION: u32 = 0x18c;
const PHY_CALIBRATED: u32 = 1 << 22;

/// HSW_PWR_WELL_CTL1 to 4, ICL_PWR_WELL_CTL_AUX and _DDI: requests in odd bits, states in even.
const POWER_WELLS: u32 = 0x4_5400;
const POWER_WELLS_END: u32 = 0x4_545c;
const POWER_REQUESTS: u32 = 0xaaaa_aaaa;
/// DBUF_CTL_S1 and S2; LCPLL1_CTL, LCPLL2_CTL and BXT_DE_PLL_ENABLE: bit 30 ("on", "locked")
/// follows bit 31 (request, enable).
const DBUF_1: u32 = 0x4_5008;
const DBUF_2: u32 = 0x4_4fe8;
const LCPLL_1: u32 = 0x4_6010;
const LCPLL_2: u32 = 0x4_6014;
const DE_PLL: u32 = 0x4_6070;
const FOLLOWS: u32 = 1 << 30;
/// GEN7_ERR_INT, SDEIIR and EDP_PSR_IIR: write one to clear.
const ERROR_INTERRUPTS: u32 = 0x4_4040;
const SOUTH_INTERRUPTS: u32 = 0xc_4008;
const PSR_INTERRUPTS: u32 = 0x6_4838;
/// SBI_CTL_STAT, the sideband of the PCH: bit 0 is "busy", 1 and 2 an error.
const SBI_CONTROL: u32 = 0xc_6008;
const SBI_STATUS: u32 = 7;

pub fn power_up(gpu: &mut Gpu) {
    let registers = &mut gpu.registers;
    registers.set(FUSE_STATUS, FUSES_DISTRIBUTED);
    for phy in PHYS {
        registers.set(phy, PHY_POWER_GOOD);
        registers.set(phy + PHY_CALIBRATION, PHY_CALIBRATED);
    }
    match (gpu.display, gpu.platform.display) {
        (Some(model), _) => {
            for (register, value) in model.power_up {
                registers.set(*register, *value);
            }
        }
        (None, Display::FusedOff | Display::Model(_)) => {
            registers.set(DFSM, DFSM_NO_PIPES);
            registers.set(SFUSE_STRAP, SFUSE_NO_DISPLAY);
        }
        (None, Display::NoFuse) => {}
    }
}

/// The value of a register that does not read back what was written. Only a display that is on has
/// such registers.
pub fn read(gpu: &Gpu, register: u32) -> Option<u32> {
    let model = gpu.display?;
    pipes::read(gpu, register)
        .or_else(|| registers::constant(model, register))
        .or_else(|| registers::with_states(model, register, gpu.registers.get(register)))
}

pub fn write(gpu: &mut Gpu, register: u32, value: u32) -> bool {
    if let Some(model) = gpu.display
        && (pipes::write(gpu, register, value) || ports::write(gpu, model, register, value))
    {
        return true;
    }
    let clears = gpu.display.is_some_and(|model| registers::clears_on_write(model, register));
    let registers = &mut gpu.registers;
    match register {
        POWER_WELLS..=POWER_WELLS_END => {
            let requests = value & POWER_REQUESTS;
            registers.set(register, requests | requests >> 1);
        }
        DBUF_1 | DBUF_2 | LCPLL_1 | LCPLL_2 | DE_PLL => {
            registers.set(register, value & !FOLLOWS | value >> 1 & FOLLOWS);
        }
        ERROR_INTERRUPTS | SOUTH_INTERRUPTS | PSR_INTERRUPTS => {
            registers.clear_written(register, value);
        }
        _ if clears => registers.clear_written(register, value),
        SBI_CONTROL => registers.set(register, value & !SBI_STATUS),
        _ => return false,
    }
    true
}
