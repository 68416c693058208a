//! Gen8 and gen9: contexts through RING_ELSP, four-level page tables.

use crate::display::pipes;
use crate::eu::layout::Form;
use crate::generations::gt;
use crate::gpu::Gpu;
use crate::gpu::blits::{BLITS_GEN3, BLITS_GEN9};
use crate::gpu::engine::{EngineInfo, Source, StatusFormat, Submission, offset};
use crate::gpu::interrupts::Block;
use crate::gpu::platform::{Bars, Display, Generation, PerProcess, Platform};
use crate::snooping::{Keeping, Snooping};

/// GEN8_MASTER_IRQ: bit 31 enables, the others say in which half of which block to look; bits 16 to
/// 19: in the block of which pipe.
const MASTER: u32 = 0x4_4200;
const MASTER_ENABLE: u32 = 1 << 31;
/// GEN8_GT_RCS_IRQ, _BCS_, _VCS0_, _VCS1_, _PM_ (not raised) and _VECS_: for the lower and the
/// upper half of each GT block.
const MASTER_GT: [[u32; 2]; 4] = [[1 << 0, 1 << 1], [1 << 2, 1 << 3], [1 << 4, 0], [1 << 6, 0]];
/// GEN8_GT_ISR(0) and the three that follow: each block has two engines.
const GT: [Block; 4] = [Block(0x4_4300), Block(0x4_4310), Block(0x4_4320), Block(0x4_4330)];
/// All other blocks: up to 444f0. Nothing is raised in them but in those of pipes.
pub const OTHER_BLOCKS: std::ops::Range<u32> = 0x4_4400..0x4_4500;

/// FORCEWAKE_RENDER_GEN9 and FORCEWAKE_MEDIA_GEN9 with their acknowledgements.
const FORCEWAKE_RENDER: (u32, u32) = (0xa278, 0xd84);
const FORCEWAKE_MEDIA: (u32, u32) = (0xa270, 0xd88);
const FORCEWAKE_GT: (u32, u32) = (gt::FORCEWAKE_GT, gt::FORCEWAKE_ACK_HSW);

/// GEN8_FUSE2: bits 27..25 are the enabled slices: one.
const SLICES: (u32, u32) = (0x9120, 1 << 25);
const FREQUENCIES: (u32, u32) = (gt::RP_STATE_CAP, gt::RP_STATES);
/// BXT_RP_STATE_CAP: the same for Broxton and Gemini Lake.
const BXT_FREQUENCIES: (u32, u32) = (0x13_8170, gt::RP_STATES);
const GUC: (u32, u32) = (gt::GUC_STATUS, gt::GUC_IN_RESET);

const fn engine(name: &'static str, base: u32, bank: usize, bit: u32) -> EngineInfo {
    EngineInfo {
        name,
        base,
        status_page: base + offset::STATUS_PAGE,
        source: Source { bank, bit, class: 0, instance: 0 },
    }
}

pub const GEN8: Platform = Platform {
    name: "",
    device_id: 0,
    revision: 0,
    version: 8,
    generation: &Gen8 { forcewake: &[FORCEWAKE_GT] },
    engines: &[
        engine("rcs0", 0x2000, 0, 0),
        engine("bcs0", 0x2_2000, 0, 16),
        engine("vcs0", 0x1_2000, 1, 0),
        engine("vcs1", 0x1_c000, 1, 16),
        engine("vecs0", 0x1_a000, 3, 0),
    ],
    submission: Submission::Elsp(StatusFormat::Gen8),
    per_process: PerProcess::FourLevel,
    snooping: Snooping::Always,
    keeping: Keeping::ByPrivatePat,
    blits: BLITS_GEN3,
    shaders: Some(Form::Gen8),
    physical_status_page: false,
    bars: Bars { registers: 8 << 20, entries: 8 << 20, entries_bar: None, wide: true },
    // BDW_GMCH_GGMS: 8 MiB of page-table entries; no stolen memory.
    graphics_control: 3 << 6,
    local_memory: None,
    display: Display::FusedOff,
    power_up: &[SLICES, FREQUENCIES, GUC],
};

pub const GEN9: Platform = Platform {
    version: 9,
    generation: &Gen8 { forcewake: &[FORCEWAKE_GT, FORCEWAKE_RENDER, FORCEWAKE_MEDIA] },
    blits: BLITS_GEN9,
    power_up: &[SLICES, FREQUENCIES, BXT_FREQUENCIES, GUC],
    ..GEN8
};

/// The behaviour of gen8 and gen9.
pub struct Gen8 {
    /// Forcewake requests, each with its acknowledgement.
    pub forcewake: &'static [(u32, u32)],
}

impl Gen8 {
    /// GEN8_MASTER_IRQ as the driver reads it.
    fn master(&self, gpu: &Gpu) -> u32 {
        let enable = gpu.registers.get(MASTER) & MASTER_ENABLE;
        GT.iter()
            .zip(MASTER_GT)
            .map(|(block, [lower, upper])| {
                let active = block.active(gpu);
                let bit = |events: u32, bit: u32| if events == 0 { 0 } else { bit };
                bit(active & 0xffff, lower) | bit(active >> 16, upper)
            })
            .fold(enable | pipes::interrupting(gpu), |master, bits| master | bits)
    }
}

impl Generation for Gen8 {
    fn read(&self, gpu: &Gpu, register: u32) -> Option<u32> {
        (register == MASTER).then(|| self.master(gpu))
    }

    fn write(&self, gpu: &mut Gpu, register: u32, value: u32) -> bool {
        match register {
            MASTER => {
                gpu.registers.set(register, value);
                gpu.update_interrupt();
                true
            }
            _ if gt::is_tlb_invalidation(register) => {
                gpu.registers.set(register, 0);
                true
            }
            _ if OTHER_BLOCKS.contains(&register) => Block(register & !0xf).write(gpu, register, value),
            _ => {
                gt::forcewake(gpu, 0, self.forcewake, register, value)
                    || gt::write(gpu, 0, register, value)
                    || GT.iter().any(|block| block.write(gpu, register, value))
            }
        }
    }

    fn raise(&self, gpu: &mut Gpu, source: Source, events: u32) {
        GT[source.bank].raise(gpu, events << source.bit);
    }

    fn interrupt_pending(&self, gpu: &Gpu) -> bool {
        let master = self.master(gpu);
        master & MASTER_ENABLE != 0 && master & !MASTER_ENABLE != 0
    }
}
