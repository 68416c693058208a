//! Valleyview (gen7) and Cherryview (gen8): their generation's GT behind a power controller of
//! their own, with a display unit that is reached through the IOSF sideband.

use crate::generations::gen6_7::{self, Gen6};
use crate::generations::gen8_9::{self, Gen8};
use crate::generations::gt;
use crate::gpu::Gpu;
use crate::gpu::engine::Source;
use crate::gpu::platform::{Generation, PerProcess, Platform};
use crate::gpu::sideband::{POWER_GATE_CONTROL, PUNIT};
use crate::snooping::{Keeping, Snooping};

/// FORCEWAKE_VLV and FORCEWAKE_MEDIA_VLV with their acknowledgements.
const FORCEWAKE: &[(u32, u32)] = &[(0x13_00b0, 0x13_00b4), (0x13_00b8, 0x13_00bc)];
/// VLV_GTLC_WAKE_CTRL: bit 0 allows the GT to wake up; bits 25 and 24 say that the render and the media
/// context exist.
const GT_WAKE: (u32, u32) = (0x13_0090, 3 << 24);
/// VLV_GTLC_PW_STATUS: render, media and wake requests are allowed; bit 0 acknowledges GT_WAKE's.
const GT_POWER_STATUS: (u32, u32) = (0x13_0094, 0xff);
/// VLV_GTLC_SURVIVABILITY_REG: bit 2 forces the clock on, and bit 3 says that it is.
const GT_CLOCK: u32 = 0x13_0098;
const CLOCK_FORCED: u32 = 1 << 2;
const CLOCK_RUNS: u32 = 1 << 3;
/// VLV_IIR: display interrupts, write one to clear.
const DISPLAY_PENDING: u32 = 0x18_20a4;
/// GCI_CONTROL: bit 27 is a request, cleared when it was seen.
const CREDITS: u32 = 0x18_650c;
const CREDITS_RESEND: u32 = 1 << 27;
/// DISPLAY_PHY_STATUS: bits 31 and 30 are "power good" of the two PHYs.
const PHY_STATUS: u32 = 0x1e_0104;

/// VLV_IOSF_DOORBELL_REQ: a request in bits 23..16 (odd: write), a port in bits 15..8, and bit 0
/// "busy"; VLV_IOSF_DATA; VLV_IOSF_ADDR.
const SIDEBAND_REQUEST: u32 = 0x18_2100;
const SIDEBAND_BUSY: u32 = 1 << 0;
const SIDEBAND_DATA: u32 = 0x18_2104;
const SIDEBAND_ADDRESS: u32 = 0x18_2108;

/// The common lane wells of the PHYs there: shifts.
const PHY_WELLS: [u32; 2] = [10, 24];

/// BYT_PTE_SNOOPED_BY_CPU_CACHES, in entries of both tables.
const ENTRY_SNOOPED: u32 = 1 << 2;

pub const VALLEYVIEW: Platform = Platform {
    snooping: Snooping::ByEntry(ENTRY_SNOOPED),
    keeping: Keeping::Nothing,
    generation: &Valleyview(Gen6 { forcewake: FORCEWAKE }),
    power_up: &[(gt::FIFO_CONTROL, gt::FIFO_FREE), GT_WAKE, GT_POWER_STATUS, gen6_7::IMAGE_7],
    ..gen6_7::IVYBRIDGE
};

pub const CHERRYVIEW: Platform = Platform {
    generation: &Valleyview(Gen8 { forcewake: FORCEWAKE }),
    per_process: PerProcess::ThreeLevel,
    snooping: Snooping::ByPrivatePat,
    keeping: Keeping::Nothing,
    // CHV_GMCH_GGMS: page-table entries for 4 GiB.
    graphics_control: 3 << 8,
    power_up: &[
        (gt::FIFO_CONTROL, gt::FIFO_FREE),
        (gt::GUC_STATUS, gt::GUC_IN_RESET),
        GT_WAKE,
        GT_POWER_STATUS,
    ],
    ..gen8_9::GEN8
};

/// Valleyview's unit around the GT of another generation.
struct Valleyview<G>(G);

impl<G: Generation> Generation for Valleyview<G> {
    fn read(&self, gpu: &Gpu, register: u32) -> Option<u32> {
        if register != PHY_STATUS {
            return self.0.read(gpu, register);
        }
        let wells = gpu.sideband.get(PUNIT, POWER_GATE_CONTROL);
        let [first, second] = PHY_WELLS.map(|shift| u32::from(wells >> shift & 3 == 0));
        Some(first << 31 | second << 30)
    }

    fn write(&self, gpu: &mut Gpu, register: u32, value: u32) -> bool {
        match register {
            DISPLAY_PENDING => gpu.registers.clear_written(register, value),
            _ if register == GT_WAKE.0 => {
                let (status, power) = GT_POWER_STATUS;
                gpu.registers.set(register, value);
                gpu.registers.set(status, power & !1 | value & 1);
            }
            CREDITS => gpu.registers.set(register, value & !CREDITS_RESEND),
            GT_CLOCK => {
                let runs = if value & CLOCK_FORCED != 0 { CLOCK_RUNS } else { 0 };
                gpu.registers.set(register, value & !CLOCK_RUNS | runs);
            }
            SIDEBAND_REQUEST => {
                let (operation, port) = (value >> 16 & 0xff, value >> 8 & 0xff);
                let address = gpu.registers.get(SIDEBAND_ADDRESS);
                if operation & 1 != 0 {
                    let data = gpu.registers.get(SIDEBAND_DATA);
                    gpu.sideband.write(port, address, data);
                } else {
                    let data = gpu.sideband.read(port, address);
                    gpu.registers.set(SIDEBAND_DATA, data);
                }
                gpu.registers.set(register, value & !SIDEBAND_BUSY);
            }
            _ => return self.0.write(gpu, register, value),
        }
        true
    }

    fn raise(&self, gpu: &mut Gpu, source: Source, events: u32) {
        self.0.raise(gpu, source, events);
    }

    fn interrupt_pending(&self, gpu: &Gpu) -> bool {
        self.0.interrupt_pending(gpu)
    }
}
