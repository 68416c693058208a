//! The displays that can be on: tables on top of what [`super::registers`] says of all.

use super::pipes::{EVENTS, EVENTS_IVB};
use super::scanout;
use crate::gpu::display::{Model, PhyGroup, Row, State};

const ENABLE: u32 = 1 << 31;
const LOCKED: u32 = 1 << 30;

/// SFUSE_STRAP: ports B, C and D are there, an analogue one is not.
const STRAP: (u32, u32) = (0xc_2014, 1 << 6 | 7);
/// MCH_SSKPD, both halves: latencies of the watermark levels 1, 2 and 3 (from bits 4, 12 and 20), 4
/// (from bit 32) and 0 (from bit 56). Without them no mode has watermarks that fit.
const LATENCIES: (u32, u32) = (0x14_5d10, 90 << 20 | 36 << 12 | 4 << 4);
const LATENCIES_HIGH: (u32, u32) = (0x14_5d14, 20 << 24 | 160);
/// LCPLL_CTL: disabled (bit 31), or locked (30); the core clock is wanted from, or comes from, FCLK.
const LCPLL: Row = Row::one(0x13_0040);
const FCLK_WANTED: u32 = 1 << 21;
const FCLK_TAKEN: u32 = 1 << 19;

/// SKL_MAD_DIMM_CH0 and _CH1: a module of 8 GiB in each of two channels.
const DIMM_0: (u32, u32) = (0x14_500c, 8);
const DIMM_1: (u32, u32) = (0x14_5010, 8);
/// GU_CNTL_PROTECTED of discrete devices: DEPRESENT, there is a display.
const DISPLAY_PRESENT: (u32, u32) = (0x10_100c, 1 << 9);
/// SA_PERF_STATUS of DG1, whose driver does not ask the power controller: the memory's clock, 24 times 133 MHz; and
/// MCHBAR_CH0_CR_TC_PRE: its timings tRDPRE and tRP, then tRCD and tRAS.
const DG1_CLOCK: (u32, u32) = (0x14_5918, 24 << 2);
const DG1_TIMINGS: [(u32, u32); 2] = [(0x14_4000, 12 << 11 | 22), (0x14_4004, 22 << 9 | 52 << 1)];

/// BXT_D_CR_DRP0_DUNIT: one module, LPDDR4 with chips of 8 Gbit and 16 bits; all ones: none.
const DRAM_UNITS: [(u32, u32); 4] = [
    (0x14_1000, 2 << 22 | 2 << 6 | 1 << 4 | 1),
    (0x14_1200, u32::MAX),
    (0x14_1400, u32::MAX),
    (0x14_1600, u32::MAX),
];

/// DPLL_STATUS: all four are locked.
const PLLS_LOCKED: (u32, u32) = (0x6_c060, 0x0101_0101);

/// ICL_DPLL_ENABLE, TBT_PLL_ENABLE, MG_PLL_ENABLE: enable; 27 asks for power (PLL_POWER_STATE: 26).
/// Here, too: LCPLL1_CTL, LCPLL2_CTL; and from 46070 on the PLL of the core clock.
const PLLS: [Row; 2] =
    [Row { first: 0x4_6010, distance: 4, count: 12 }, Row { first: 0x4_6070, distance: 4, count: 4 }];
const POWER_WANTED: u32 = 1 << 27;
const POWER_ON: u32 = 1 << 26;
/// BXT_PORT_PLL_ENABLE(A) to (C): the same, with PORT_PLL_POWER_ENABLE and _STATE one bit lower.
const PORT_PLLS: Row = Row { first: 0x4_6074, distance: 4, count: 3 };
const PORT_POWER_WANTED: u32 = 1 << 26;
const PORT_POWER_ON: u32 = 1 << 25;

/// BXT_PHY_CTL of ports A, B and C: BXT_PHY_LANE_ENABLED.
const LANES_ENABLED: u32 = 1 << 8;

/// TRANS_PSR_IIR(A) to (D).
const PSR_INTERRUPTS: Row = Row { first: 0x6_0818, distance: 0x1000, count: 4 };

const NOTHING: Model = Model {
    power_up: &[],
    constants: &[],
    states: &[],
    clear_on_write: &[],
    phy_groups: &[],
    pipe_events: &[],
    scanout: &scanout::SKYLAKE,
};

pub static HASWELL: Model = Model { pipe_events: EVENTS_IVB, scanout: &scanout::HASWELL, ..LCPLL_PLATFORM };
pub static BROADWELL: Model = Model { pipe_events: EVENTS, scanout: &scanout::BROADWELL, ..LCPLL_PLATFORM };

const LCPLL_PLATFORM: Model = Model {
    power_up: &[STRAP, LATENCIES, LATENCIES_HIGH],
    states: &[State::opposes(LCPLL, ENABLE, LOCKED), State::follows(LCPLL, FCLK_WANTED, FCLK_TAKEN)],
    ..NOTHING
};

pub static SKYLAKE: Model = Model {
    power_up: &[DIMM_0, DIMM_1],
    constants: &[PLLS_LOCKED],
    states: &[State::follows(PLLS[0], ENABLE, LOCKED), State::follows(PLLS[1], ENABLE, LOCKED)],
    pipe_events: EVENTS,
    ..NOTHING
};

/// Apollo Lake and Gemini Lake.
pub static BROXTON: Model = Model {
    power_up: &DRAM_UNITS,
    constants: &[(0x6_4c00, LANES_ENABLED), (0x6_4c10, LANES_ENABLED), (0x6_4c20, LANES_ENABLED)],
    states: &[
        State::follows(PORT_PLLS, ENABLE, LOCKED),
        State::follows(PORT_PLLS, PORT_POWER_WANTED, PORT_POWER_ON),
    ],
    // The registers _GRP of both channels of the first PHY, and of the second one.
    phy_groups: &[
        PhyGroup { group: 0x6_cc00, lanes: 0x6_c400 },
        PhyGroup { group: 0x6_ce00, lanes: 0x6_c800 },
        PhyGroup { group: 0x16_2c00, lanes: 0x16_2400 },
    ],
    pipe_events: EVENTS,
    ..NOTHING
};

pub static ICE_LAKE: Model = GEN11;
/// Tiger Lake, Rocket Lake, Alder Lake S.
pub static TIGER_LAKE: Model = GEN12;
pub static DG1: Model =
    Model { power_up: &[DISPLAY_PRESENT, DG1_CLOCK, DG1_TIMINGS[0], DG1_TIMINGS[1]], ..GEN12 };

const GEN12: Model = Model { clear_on_write: &[PSR_INTERRUPTS], ..GEN11 };

const GEN11: Model = Model {
    power_up: &[DIMM_0, DIMM_1],
    states: &[
        State::follows(PLLS[0], ENABLE, LOCKED),
        State::follows(PLLS[1], ENABLE, LOCKED),
        State::follows(PLLS[0], POWER_WANTED, POWER_ON),
        State::follows(PLLS[1], POWER_WANTED, POWER_ON),
    ],
    pipe_events: EVENTS,
    scanout: &scanout::ICE_LAKE,
    ..NOTHING
};
