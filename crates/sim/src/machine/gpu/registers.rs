//! The registers of an engine that a batch of userspace may load.
//!
//! From graphics 8 on a context keeps them between its batches ([`Values`]), and a new one has zeroes: i915 copies the image that the hardware
//! saved after a reset (`__engines_record_defaults`). Before, they are 0 at the start of every batch, and a register that
//! was never loaded is not known. A load of any other register is ignored, as the hardware
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

/// Other registers that the batches of engines with pipelines may load (`gen7_render_regs`), from the first to the last, behind the start of
/// the engine's registers.
const RENDER: &[std::ops::RangeInclusive<u32>] = &[
    // The predicate's sources, and its data and result.
    0x400..=0x41c,
    // The counts of indirect drawing and dispatching (GEN7_3DPRIM_*, GEN7_GPGPU_DISPATCHDIM*).
    0x420..=0x440,
    0x500..=0x508,
];
/// The offsets of stream output (GEN7_SO_WRITE_OFFSET), which are no engine's.
const STREAM_OUTPUT: std::ops::RangeInclusive<u32> = 0x5280..=0x528c;

/// The result of MI_PREDICATE behind the start of the engine's registers: bit 0.
const PREDICATE_RESULT: u32 = 0x418;

/// What a context keeps of registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    /// Those that were loaded; `None` of one that is not known.
    loaded: BTreeMap<u32, Option<u32>>,
    /// The others are not known, either.
    is_lost: bool,
}

impl Values {
    /// The registers behind a batch that hung, or that the hardware may have executed in another way.
    pub(crate) fn lost() -> Self {
        Self { is_lost: true, ..Self::default() }
    }
}

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
        Self { machine, engine, values: if generation(&machine) >= 80 { kept } else { Values::lost() } }
    }

    /// Returns what the context keeps.
    pub(super) fn into_values(self) -> Values {
        self.values
    }

    /// Loads a register, if userspace may; `None` is a value that is not known.
    pub(super) fn load(&mut self, register: u32, value: Option<u32>) {
        if self.has(register) {
            self.values.loaded.insert(register, value);
        }
    }

    /// Returns a register's value if it is known.
    pub(super) fn known(&self, register: u32) -> Option<u32> {
        let initial = (!self.values.is_lost && self.has(register)).then_some(0);
        self.values.loaded.get(&register).copied().unwrap_or(initial)
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

    /// Returns the halves of a general-purpose register of the engine.
    fn halves(&self, number: u32) -> Option<[u32; 2]> {
        let first = start(&self.machine, self.engine) + GENERAL_PURPOSE.start + 8 * number;
        (number < 16).then_some([first, first + 4])
    }

    /// Returns the predicate's result, if it is known.
    pub(super) fn predicate(&self) -> Option<bool> {
        self.known(start(&self.machine, self.engine) + PREDICATE_RESULT).map(|result| result & 1 != 0)
    }

    /// Sets the predicate's result to one that is not known.
    pub(super) fn forget_predicate(&mut self) {
        self.load(start(&self.machine, self.engine) + PREDICATE_RESULT, None);
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
        let offset = register.wrapping_sub(start(&self.machine, self.engine));
        generation >= 75 && GENERAL_PURPOSE.contains(&(register & PAGE))
            || renders
                && (STREAM_OUTPUT.contains(&register) || RENDER.iter().any(|range| range.contains(&offset)))
    }
}

/// Returns the start of the registers of an engine, the first one of its class (`mmio_bases` in `intel_engine_cs.c`).
pub(super) fn start(machine: &Machine, engine: EngineClass) -> u32 {
    match (engine, generation(machine)) {
        (EngineClass::Render, _) => 0x2000,
        (EngineClass::Copy, _) => 0x2_2000,
        (EngineClass::Video, 110..) => 0x1c_0000,
        (EngineClass::Video, _) => 0x1_2000,
        (EngineClass::VideoEnhance, 110..) => 0x1c_8000,
        (EngineClass::VideoEnhance | EngineClass::Compute, _) => 0x1_a000,
    }
}
