//! Discrete GPUs with local memory (DG1, DG2), and Meteor Lake, which is built like them: its
//! stolen memory is behind BAR 2, and its media engines are a GT of their own.

use crate::eu::layout::Form;
use crate::generations::gen11_12::{
    self, COPY, ENHANCEMENT, FORCEWAKE_GT, FORCEWAKE_RENDER, FREQUENCIES, GUC, MASTER, MASTER_ENABLE,
    MEDIA_ENGINES, ONE_SLICE, RENDER, VIDEO, engine,
};
use crate::generations::gt;
use crate::gpu::Gpu;
use crate::gpu::blits::{BLITS_GEN12, BLITS_METEOR_LAKE};
use crate::gpu::engine::{EngineInfo, Source, StatusFormat, Submission};
use crate::gpu::platform::{Generation, LocalMemory, PerProcess, Platform};
use crate::snooping::{Keeping, Snooping};

/// DG1_MSTR_TILE_INTR: bit 31 enables; bit 0: look at the master of tile 0.
const TILE_MASTER: u32 = 0x19_0008;
const TILE_0: u32 = 1 << 0;

/// GU_CNTL: bit 7 (LMEM_INIT): the local memory is trained.
pub const MEMORY_READY: (u32, u32) = (0x10_1010, 1 << 7);
/// GEN12_GSMBASE: where the global table lies in local memory; what is below can be used.
pub const TABLE_BASE: u32 = 0x10_8100;
/// GEN6_DSMBASE: where stolen memory starts.
pub const STOLEN_BASE: u32 = 0x10_80c0;
/// GEN6_STOLEN_RESERVED: the top of stolen memory, which the driver leaves alone; bit 0: valid.
pub const STOLEN_RESERVED: u32 = 0x10_82c0;
/// XEHP_TILE0_ADDR_RANGE and SG_TILE_ADDR_RANGE(0): the size of local memory in GiB, from bit 8. The drivers up to 6.12 read the
/// first one, xe's later ones the second ("drm/xe: Use SG_TILE_ADDR_RANGE instead of TILE_ADDR_RANGE").
const TILE_SIZE: u32 = 0x4900;
pub const SG_TILE_SIZE: u32 = 0x10_83a0;
/// XEHP_FLAT_CCS_BASE_ADDR: where compression data start, in 64 KiB from bit 8.
const COMPRESSION_BASE: u32 = 0x4910;

/// GEN10_MIRROR_FUSE3: level-3 banks. XEHP_FUSE4: bits 6..4: the excluded ones, of which one must
/// be left.
pub const CACHE_BANKS: (u32, u32) = (0x9118, 0xf);
pub const CACHE_EXCLUDED: (u32, u32) = (0x9114, 7 << 4);
pub const EXECUTION_UNITS: (u32, u32) = (gt::EU_FUSE, 0xff);
pub const GEOMETRY: (u32, u32) = (gt::GEOMETRY_ENABLE, 0xff);
pub const COMPUTE: (u32, u32) = (gt::COMPUTE_ENABLE, 0xff);

/// Meteor Lake's media GT has the registers below 40000 again, here.
const MEDIA_GT: u32 = 0x38_0000;
const MEDIA_GT_SIZE: u32 = 0x4_0000;
/// GMD_ID of graphics and of the display: architecture from bit 22, release from bit 14, stepping.
pub const GRAPHICS_ID: u32 = 0xd8c;
pub const DISPLAY_ID: u32 = 0x5_10a0;
/// GGC, no longer in PCI configuration space: GMS (bits 15..8) and GGMS (bits 7..6).
pub const GRAPHICS_CONTROL: u32 = 0x10_8040;
/// FORCEWAKE_ACK_GT_MTL; FORCEWAKE_REQ_GSC and FORCEWAKE_ACK_GSC.
const FORCEWAKE_ACK_GT: u32 = 0xdfc;
const FORCEWAKE_GSC: (u32, u32) = (0xa618, 0xdf8);
/// MTL_STEER_SEMAPHORE: reading 1 grants access to steered registers, writing 1 gives it back.
pub const STEER_SEMAPHORE: u32 = 0xfd0;

const ENGINES: &[EngineInfo] = {
    let [vcs0, vcs1, vcs2, vcs3] = VIDEO;
    let [vecs0, vecs1] = ENHANCEMENT;
    &[
        RENDER,
        COPY,
        engine("ccs0", 0x1_a000, (0, 4), (5, 0)),
        engine("gsc0", 0x11_a000, (0, 14), (4, 6)),
        vcs0,
        vcs1,
        vcs2,
        vcs3,
        vecs0,
        vecs1,
    ]
};

const DISCRETE: &XeHp = &XeHp { forcewake: &[FORCEWAKE_RENDER, FORCEWAKE_GT], media_gt: false };

/// 256 MiB: 224 MiB for use, the global table, and stolen memory from 232 MiB.
pub const DG1: Platform = Platform {
    generation: DISCRETE,
    local_memory: Some(LocalMemory { size: 256 << 20, holds_tables: true }),
    power_up: &[
        ONE_SLICE,
        (gt::GEOMETRY_ENABLE, 0x3f),
        MEDIA_ENGINES,
        FREQUENCIES,
        GUC,
        MEMORY_READY,
        (TABLE_BASE, 224 << 20),
        (STOLEN_BASE, 232 << 20),
        (STOLEN_RESERVED, 255 << 20 | 1),
    ],
    keeping: Keeping::Nothing,
    ..gen11_12::GEN12
};

/// 1 GiB: compression data from 960 MiB, stolen memory from 992 MiB.
pub const DG2: Platform = Platform {
    shaders: Some(Form::XeHp),
    blits: BLITS_GEN12,
    engines: ENGINES,
    submission: Submission::SubmitQueue(StatusFormat::XeHp),
    per_process: PerProcess::FourLevelCompact64K,
    local_memory: Some(LocalMemory { size: 1 << 30, holds_tables: true }),
    power_up: &[
        ONE_SLICE,
        GEOMETRY,
        COMPUTE,
        EXECUTION_UNITS,
        CACHE_BANKS,
        // vecs0, vecs1, vcs0 and vcs2 are there.
        (gt::VIDEO_FUSE, 3 << 16 | 5),
        FREQUENCIES,
        GUC,
        MEMORY_READY,
        (TILE_SIZE, 1 << 8),
        (SG_TILE_SIZE, 1 << 8),
        (COMPRESSION_BASE, 960 << 4 << 8),
        (STOLEN_BASE, 992 << 20),
        (STOLEN_RESERVED, 1023 << 20 | 1),
    ],
    ..DG1
};

/// The way of Meteor Lake and later to keep a GT awake.
pub const WITH_MEDIA_GT: &dyn Generation = &XeHp {
    forcewake: &[FORCEWAKE_RENDER, (gt::FORCEWAKE_GT, FORCEWAKE_ACK_GT), FORCEWAKE_GSC],
    media_gt: true,
};

pub const METEOR_LAKE: Platform = Platform {
    generation: WITH_MEDIA_GT,
    per_process: PerProcess::FourLevel,
    snooping: Snooping::ByPat,
    blits: BLITS_METEOR_LAKE,
    local_memory: Some(LocalMemory { size: 256 << 20, holds_tables: false }),
    power_up: &[
        // Graphics 12.70, media 13.0, display 14.
        (GRAPHICS_ID, 12 << 22 | 70 << 14 | 4),
        (MEDIA_GT + GRAPHICS_ID, 13 << 22 | 4),
        (DISPLAY_ID, 14 << 22 | 4),
        // 8 MiB of page-table entries, 32 MiB of stolen memory.
        (GRAPHICS_CONTROL, 3 << 6 | 1 << 8),
        ONE_SLICE,
        GEOMETRY,
        COMPUTE,
        EXECUTION_UNITS,
        CACHE_EXCLUDED,
        (MEDIA_GT + gt::SLICE_ENABLE, 1),
        // vecs0, vcs0 and vcs2 are there.
        (MEDIA_GT + gt::VIDEO_FUSE, 1 << 16 | 5),
        (STEER_SEMAPHORE, 1),
        (MEDIA_GT + STEER_SEMAPHORE, 1),
        FREQUENCIES,
        GUC,
        (MEDIA_GT + gt::GUC_STATUS, gt::GUC_IN_RESET),
    ],
    ..DG2
};

struct XeHp {
    /// Forcewake requests, each with its acknowledgement; the media GT's are at the same offsets.
    forcewake: &'static [(u32, u32)],
    media_gt: bool,
}

impl XeHp {
    /// The offset of the GT that a register belongs to.
    fn gt_of(&self, register: u32) -> u32 {
        let media = MEDIA_GT..MEDIA_GT + MEDIA_GT_SIZE;
        if self.media_gt && media.contains(&register) { MEDIA_GT } else { 0 }
    }
}

impl Generation for XeHp {
    fn read(&self, gpu: &Gpu, register: u32) -> Option<u32> {
        match register {
            TILE_MASTER => {
                let enable = gpu.registers.get(TILE_MASTER) & MASTER_ENABLE;
                let tile = if gen11_12::interrupting(gpu) != 0 { TILE_0 } else { 0 };
                Some(enable | tile)
            }
            MASTER => Some(gen11_12::interrupting(gpu)),
            _ => gen11_12::read(gpu, register),
        }
    }

    fn write(&self, gpu: &mut Gpu, register: u32, value: u32) -> bool {
        let base = self.gt_of(register);
        match register - base {
            TILE_MASTER => {
                gpu.registers.set(register, value & MASTER_ENABLE);
                gpu.update_interrupt();
            }
            // The driver acknowledges what it read.
            MASTER => {}
            STEER_SEMAPHORE if self.media_gt => {}
            _ => {
                return gt::forcewake(gpu, base, self.forcewake, register, value)
                    || gen11_12::write(gpu, base, register, value);
            }
        }
        true
    }

    fn load_register(&self, gpu: &mut Gpu, register: u32, value: u32) {
        if !gen11_12::is_request(register - self.gt_of(register)) {
            gpu.registers.set(register, value);
        }
    }

    fn raise(&self, gpu: &mut Gpu, source: Source, events: u32) {
        gpu.banks.raise(source, events);
    }

    fn interrupt_pending(&self, gpu: &Gpu) -> bool {
        gpu.registers.get(TILE_MASTER) & MASTER_ENABLE != 0 && gen11_12::interrupting(gpu) != 0
    }
}
