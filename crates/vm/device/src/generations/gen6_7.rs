//! Gen6 and gen7: rings, two-level per-process page tables, forcewake.

use crate::eu::layout::Form;
use crate::generations::gt;
use crate::gpu::Gpu;
use crate::gpu::blits::BLITS_GEN3;
use crate::gpu::engine::{EngineInfo, Source, Submission};
use crate::gpu::interrupts::Block;
use crate::gpu::platform::{Bars, Display, Generation, PerProcess, Platform};
use crate::snooping::{KEPT_GEN6, KEPT_HASWELL, Snooping};

/// The blocks of DEIMR, GTIMR and GEN6_PMIMR, which engines name by their index, and DEIER, whose
/// bit 31 is the master switch.
const BLOCKS: [Block; 3] = [Block(0x4_4000), Block(0x4_4010), Block(0x4_4020)];
const GT: usize = 1;
const POWER: usize = 2;
const DISPLAY_ENABLE: u32 = 0x4_400c;
const MASTER: u32 = 1 << 31;
/// The user interrupt's event; no other one is modelled.
const USER_EVENT: u32 = 1 << 0;

/// FORCEWAKE and FORCEWAKE_ACK: not masked (Sandybridge, and Ivybridge without the multithreaded
/// forcewake).
const FORCEWAKE: u32 = 0xa18c;
const FORCEWAKE_ACK: u32 = 0x13_0090;
/// FORCEWAKE_MT_ACK of Ivybridge.
const FORCEWAKE_ACK_IVB: u32 = 0x13_0040;
/// ECOBUS: bit 5 enables the multithreaded forcewake.
const ECOBUS: (u32, u32) = (0xa180, 1 << 5);
/// MAD_DIMM_C0 and MAD_DIMM_C1: channels of different sizes, hence no address swizzling.
const DIMM_0: (u32, u32) = (0x14_5004, 1);
const DIMM_1: (u32, u32) = (0x14_5008, 2);
/// HSW_EDRAM_CAP: bit 0: there is eDRAM, so that the driver offers write-through caching.
const EDRAM: (u32, u32) = (0x12_0010, 1);

/// CXT_SIZE and GEN7_CXT_SIZE: lines of the parts of a context's image; the driver adds up the ring's,
/// the extended and the pipeline's, or the extended and the vertex fetcher's.
const IMAGE_6: (u32, u32) = (0x21a0, 10 << 18 | 60 << 6 | 60);
pub const IMAGE_7: (u32, u32) = (0x21a8, 100 << 9 | 60);

const FIFO: (u32, u32) = (gt::FIFO_CONTROL, gt::FIFO_FREE);
const FREQUENCIES: (u32, u32) = (gt::RP_STATE_CAP, gt::RP_STATES);
const GUC: (u32, u32) = (gt::GUC_STATUS, gt::GUC_IN_RESET);

pub const fn engine(name: &'static str, base: u32, status_page: u32, bank: usize, bit: u32) -> EngineInfo {
    EngineInfo { name, base, status_page, source: Source { bank, bit, class: 0, instance: 0 } }
}

/// The status pages are at RING_HWS_PGA_GEN6, 2080 after the base of each engine.
pub const GEN6: Platform = Platform {
    name: "",
    device_id: 0,
    revision: 0,
    version: 6,
    generation: &Gen6 { forcewake: &[] },
    engines: &[
        engine("rcs0", 0x2000, 0x4080, GT, 0),
        engine("bcs0", 0x2_2000, 0x2_4080, GT, 22),
        engine("vcs0", 0x1_2000, 0x1_4080, GT, 12),
    ],
    submission: Submission::Ring,
    per_process: PerProcess::Gen6,
    snooping: Snooping::Always,
    keeping: KEPT_GEN6,
    blits: BLITS_GEN3,
    shaders: None,
    physical_status_page: false,
    bars: Bars { registers: 2 << 20, entries: 2 << 20, entries_bar: None, wide: true },
    // SNB_GMCH_GGMS: 2 MiB of page-table entries; no stolen memory.
    graphics_control: 2 << 8,
    local_memory: None,
    display: Display::FusedOff,
    power_up: &[DIMM_0, DIMM_1, FIFO, FREQUENCIES, IMAGE_6],
};

/// The status pages are at RENDER_HWS_PGA_GEN7, BLT_, BSD_ and VEBOX_HWS_PGA_GEN7.
pub const IVYBRIDGE: Platform = Platform {
    version: 7,
    generation: &Gen6 { forcewake: &[(gt::FORCEWAKE_GT, FORCEWAKE_ACK_IVB)] },
    engines: &[
        engine("rcs0", 0x2000, 0x4080, GT, 0),
        engine("bcs0", 0x2_2000, 0x4280, GT, 22),
        engine("vcs0", 0x1_2000, 0x4180, GT, 12),
    ],
    power_up: &[DIMM_0, DIMM_1, FIFO, FREQUENCIES, ECOBUS, IMAGE_7],
    ..GEN6
};

pub const HASWELL: Platform = Platform {
    keeping: KEPT_HASWELL,
    shaders: Some(Form::Gen7),
    generation: &Gen6 { forcewake: &[(gt::FORCEWAKE_GT, gt::FORCEWAKE_ACK_HSW)] },
    engines: &[
        engine("rcs0", 0x2000, 0x4080, GT, 0),
        engine("bcs0", 0x2_2000, 0x4280, GT, 22),
        engine("vcs0", 0x1_2000, 0x4180, GT, 12),
        engine("vecs0", 0x1_a000, 0x4380, POWER, 10),
    ],
    power_up: &[DIMM_0, DIMM_1, FIFO, FREQUENCIES, EDRAM, GUC],
    ..IVYBRIDGE
};

/// The behaviour of gen6 and gen7.
pub struct Gen6 {
    /// Masked forcewake requests, each with its acknowledgement.
    pub forcewake: &'static [(u32, u32)],
}

impl Generation for Gen6 {
    fn read(&self, _gpu: &Gpu, _register: u32) -> Option<u32> {
        None
    }

    fn write(&self, gpu: &mut Gpu, register: u32, value: u32) -> bool {
        if register == FORCEWAKE {
            gpu.registers.set(FORCEWAKE_ACK, value);
            gpu.registers.set(register, value);
            return true;
        }
        gt::forcewake(gpu, 0, self.forcewake, register, value)
            || gt::write(gpu, 0, register, value)
            || BLOCKS.iter().any(|block| block.write(gpu, register, value))
    }

    fn raise(&self, gpu: &mut Gpu, source: Source, events: u32) {
        if events & USER_EVENT != 0 {
            BLOCKS[source.bank].raise(gpu, 1 << source.bit);
        }
    }

    fn interrupt_pending(&self, gpu: &Gpu) -> bool {
        let [display, others @ ..] = BLOCKS;
        gpu.registers.get(DISPLAY_ENABLE) & MASTER != 0
            && (display.active(gpu) & !MASTER != 0 || others.iter().any(|block| block.active(gpu) != 0))
    }
}
