//! The registers of an engine that a batch of userspace may load.
//!
//! Only their storage is simulated: no command is predicated or dispatched by them, and MI_MATH leaves them
//! alone. They are 0 at the start of every batch. A load of any other register is ignored, as the hardware
//! ignores it, and any other register reads as 0: the counters count nothing, because nothing is drawn.

use std::collections::BTreeMap;

use super::lengths::generation;
use gem_coherency::platform::{EngineClass, Machine};

/// A transfer of registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// MI_LOAD_REGISTER_IMM: registers and values.
    Load(Vec<(u32, u32)>),
    /// MI_LOAD_REGISTER_MEM.
    Fetch { register: u32, address: u64 },
    /// MI_LOAD_REGISTER_REG.
    Copy { from: u32, to: u32 },
    /// MI_STORE_REGISTER_MEM.
    Store { register: u32, address: u64 },
}

/// The sixteen general-purpose registers of 64 bits (`HSW_CS_GPR`), in the page of the engine's registers.
const GENERAL_PURPOSE: std::ops::Range<u32> = 0x600..0x680;
/// The timestamp (`RING_TIMESTAMP`) in that page, and its upper half.
const TIMESTAMP: u32 = 0x358;
const TIMESTAMP_UPPER: u32 = 0x35c;
const PAGE: u32 = 0xfff;

/// Other registers that the render engine's batches may load (`gen7_render_regs`), from the first to the last.
const RENDER: &[std::ops::RangeInclusive<u32>] = &[
    // The predicate's sources, and its data and result.
    0x2400..=0x241c,
    // The counts of indirect drawing and dispatching (GEN7_3DPRIM_*, GEN7_GPGPU_DISPATCHDIM*).
    0x2420..=0x2440,
    0x2500..=0x2508,
    // The offsets of stream output (GEN7_SO_WRITE_OFFSET).
    0x5280..=0x528c,
];

/// The registers of an engine during a batch.
#[derive(Debug)]
pub(super) struct Registers {
    machine: Machine,
    engine: EngineClass,
    values: BTreeMap<u32, u32>,
}

impl Registers {
    /// Creates the registers at the start of a batch.
    pub(super) fn new(machine: Machine, engine: EngineClass) -> Self {
        Self { machine, engine, values: BTreeMap::new() }
    }

    /// Loads a register, if userspace may.
    pub(super) fn load(&mut self, register: u32, value: u32) {
        if self.has(register) {
            self.values.insert(register, value);
        }
    }

    /// Returns a register's value; `now` is that of the timestamp.
    pub(super) fn value(&self, register: u32, now: u64) -> u32 {
        match register & PAGE {
            TIMESTAMP => now as u32,
            TIMESTAMP_UPPER => (now >> 32) as u32,
            _ => self.values.get(&register).copied().unwrap_or(0),
        }
    }

    fn has(&self, register: u32) -> bool {
        let generation = generation(&self.machine);
        let renders = match self.engine {
            EngineClass::Render | EngineClass::Compute => generation >= 70,
            EngineClass::Copy | EngineClass::Video | EngineClass::VideoEnhance => false,
        };
        generation >= 75 && GENERAL_PURPOSE.contains(&(register & PAGE))
            || renders && RENDER.iter().any(|range| range.contains(&register))
    }
}
