//! The registers of an engine that a batch of userspace may load.
//!
//! From graphics 8 on a context keeps them between its batches ([`Values`]); before, they are 0 at the start of every batch. A register that
//! was never loaded reads as 0, and is not known. A load of any other register is ignored, as the hardware
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

/// The result of MI_PREDICATE: bit 0.
pub(super) const PREDICATE_RESULT: u32 = 0x2418;

/// The values of registers that were loaded; `None` of one that is not known.
pub(crate) type Values = BTreeMap<u32, Option<u32>>;

/// The registers of an engine during a batch.
#[derive(Debug)]
pub(super) struct Registers {
    machine: Machine,
    engine: EngineClass,
    values: Values,
}

impl Registers {
    /// Creates the registers at the start of a batch, with what the context kept.
    pub(super) fn new(machine: Machine, engine: EngineClass, kept: Values) -> Self {
        Self { machine, engine, values: if generation(&machine) >= 80 { kept } else { Values::new() } }
    }

    /// Returns what the context keeps.
    pub(super) fn into_values(self) -> Values {
        self.values
    }

    /// Loads a register, if userspace may; `None` is a value that is not known.
    pub(super) fn load(&mut self, register: u32, value: Option<u32>) {
        if self.has(register) {
            self.values.insert(register, value);
        }
    }

    /// Returns a register's value if it is known.
    pub(super) fn known(&self, register: u32) -> Option<u32> {
        self.values.get(&register).copied().flatten()
    }

    /// Returns the number in one of the engine's general-purpose registers, if it is known.
    pub(super) fn general(&self, number: u32) -> Option<u64> {
        let [low, high] = self.halves(number)?;
        Some(u64::from(self.known(high)?) << 32 | u64::from(self.known(low)?))
    }

    /// Sets one of the engine's general-purpose registers.
    pub(super) fn set_general(&mut self, number: u32, value: Option<u64>) {
        if let Some([low, high]) = self.halves(number) {
            self.load(low, value.map(|value| value as u32));
            self.load(high, value.map(|value| (value >> 32) as u32));
        }
    }

    /// Returns the halves of a general-purpose register of the engine, the first one of its class.
    fn halves(&self, number: u32) -> Option<[u32; 2]> {
        let page = match (self.engine, generation(&self.machine)) {
            (EngineClass::Render, _) => 0x2000,
            (EngineClass::Copy, _) => 0x2_2000,
            (EngineClass::Video, 110..) => 0x1c_0000,
            (EngineClass::Video, _) => 0x1_2000,
            (EngineClass::VideoEnhance, 110..) => 0x1c_8000,
            (EngineClass::VideoEnhance | EngineClass::Compute, _) => 0x1_a000,
        };
        let first = page + GENERAL_PURPOSE.start + 8 * number;
        (number < 16).then_some([first, first + 4])
    }

    /// Returns a register's value if it is known; `now` is that of the timestamp.
    pub(super) fn read(&self, register: u32, now: u64) -> Option<u32> {
        match register & PAGE {
            TIMESTAMP => Some(now as u32),
            TIMESTAMP_UPPER => Some((now >> 32) as u32),
            _ => self.known(register),
        }
    }

    /// Returns a register's value, which is 0 if it is not known; `now` is that of the timestamp.
    pub(super) fn value(&self, register: u32, now: u64) -> u32 {
        self.read(register, now).unwrap_or(0)
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
