//! GPUs that only xe drives: Lunar Lake and Panther Lake, built like Meteor Lake, and Battlemage (G31), built like DG2. Their page tables have five
//! levels, and the driver clears and copies on a second copy engine, bcs8.
//!
//! There is no media GT (its GMD_ID reads 0, which the driver takes as "not there"): without a GuC the driver of 7.2 follows a null pointer when it
//! resets one, and for graphics version 20.01, Battlemage's G21 (workaround 22019338487, whose frequencies are the GuC's). There is no compression either
//! (XE2_FLAT_CCS_ENABLE of XE2_FLAT_CCS_BASE_RANGE_LOWER reads 0 where the driver asks for it).

use crate::generations::gen11_12::{COPY, FREQUENCIES, GUC, ONE_SLICE, RENDER, engine};
use crate::generations::xehp::{
    CACHE_BANKS, CACHE_EXCLUDED, COMPUTE, DG2, DISPLAY_ID, EXECUTION_UNITS, GEOMETRY, GRAPHICS_CONTROL,
    GRAPHICS_ID, MEMORY_READY, METEOR_LAKE, SG_TILE_SIZE, STEER_SEMAPHORE, STOLEN_BASE, STOLEN_RESERVED,
    TABLE_BASE, WITH_MEDIA_GT,
};
use crate::gpu::blits::BLITS_XE2;
use crate::gpu::engine::EngineInfo;
use crate::gpu::platform::{PerProcess, Platform};

/// The engines of a graphics GT; XEHPC_BCS8_RING_BASE, INTR_BCS8.
const ENGINES: &[EngineInfo] =
    &[RENDER, COPY, engine("bcs8", 0x3e_e000, (0, 23), (3, 8)), engine("ccs0", 0x1_a000, (0, 4), (5, 0))];

/// RING_PWRCTX_MAXCNT: IDLE_WAIT_TIME, which must be longer than RING_IDLEDLY's delay (workaround 16023105232). The hardware's value is
/// not known; this one is 6.4 us.
const fn idle_wait(engine: &EngineInfo) -> (u32, u32) {
    (engine.base + 0x54, 10)
}

const RENDER_WAIT: (u32, u32) = idle_wait(&ENGINES[0]);
const COPY_WAIT: (u32, u32) = idle_wait(&ENGINES[1]);
const SECOND_COPY_WAIT: (u32, u32) = idle_wait(&ENGINES[2]);
const COMPUTE_WAIT: (u32, u32) = idle_wait(&ENGINES[3]);

/// XE2_FLAT_CCS_BASE_RANGE_LOWER: where compression data start in local memory, by L3 node. The driver takes what is below.
const COMPRESSION_BASE: u32 = 0x8800;
/// MIRROR_FUSE3: level-3 nodes in bits 19..16 (XE2_NODE_ENABLE_MASK), banks below.
const ONE_NODE: (u32, u32) = (CACHE_BANKS.0, 1 << 16 | CACHE_BANKS.1);

/// XEHP_FUSE4: of the compute engines (CCS_EN_MASK) only ccs0 is there.
const FUSE4: (u32, u32) = (CACHE_EXCLUDED.0, 1 << 16 | CACHE_EXCLUDED.1);

/// GMD_ID: architecture, release, stepping 4 (B0).
const fn version(architecture: u32, release: u32) -> u32 {
    architecture << 22 | release << 14 | 4
}

/// The part that Lunar Lake and Panther Lake share.
const INTEGRATED: Platform = Platform {
    engines: ENGINES,
    per_process: PerProcess::FiveLevel,
    shaders: None,
    blits: BLITS_XE2,
    ..METEOR_LAKE
};

/// Returns the registers that an integrated GPU has after power-up, by the versions of its graphics and its display.
const fn integrated_power_up(graphics: u32, display: u32) -> [(u32, u32); 15] {
    [
        (GRAPHICS_ID, graphics),
        (DISPLAY_ID, display),
        // 8 MiB of page-table entries, 32 MiB of stolen memory.
        (GRAPHICS_CONTROL, 3 << 6 | 1 << 8),
        ONE_SLICE,
        GEOMETRY,
        COMPUTE,
        EXECUTION_UNITS,
        FUSE4,
        (STEER_SEMAPHORE, 1),
        FREQUENCIES,
        GUC,
        RENDER_WAIT,
        COPY_WAIT,
        SECOND_COPY_WAIT,
        COMPUTE_WAIT,
    ]
}

pub const LUNAR_LAKE: Platform =
    Platform { power_up: &integrated_power_up(version(20, 4), version(20, 0)), ..INTEGRATED };

pub const PANTHER_LAKE: Platform =
    Platform { power_up: &integrated_power_up(version(30, 0), version(30, 0)), ..INTEGRATED };

/// 1 GiB: compression data from 960 MiB, the global table, and stolen memory from 992 MiB.
pub const BATTLEMAGE: Platform = Platform {
    generation: WITH_MEDIA_GT,
    engines: ENGINES,
    per_process: PerProcess::FiveLevel,
    shaders: None,
    blits: BLITS_XE2,
    power_up: &[
        (GRAPHICS_ID, version(20, 2)),
        (DISPLAY_ID, version(14, 1)),
        (GRAPHICS_CONTROL, 3 << 6 | 1 << 8),
        ONE_SLICE,
        GEOMETRY,
        COMPUTE,
        EXECUTION_UNITS,
        ONE_NODE,
        FUSE4,
        (STEER_SEMAPHORE, 1),
        FREQUENCIES,
        GUC,
        MEMORY_READY,
        (SG_TILE_SIZE, 1 << 8),
        (COMPRESSION_BASE, 960 << 20),
        (TABLE_BASE, 980 << 20),
        (STOLEN_BASE, 992 << 20),
        (STOLEN_RESERVED, 1023 << 20 | 1),
        RENDER_WAIT,
        COPY_WAIT,
        SECOND_COPY_WAIT,
        COMPUTE_WAIT,
    ],
    ..DG2
};
