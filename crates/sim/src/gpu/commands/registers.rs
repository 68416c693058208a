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
pub(in crate::gpu) enum Transfer {
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
/// The time that the context has run (`RING_CTX_TIMESTAMP`), from graphics 8 on: here it is the timestamp's lower half.
const CONTEXT_TIMESTAMP: u32 = 0x3a8;
const PAGE: u32 = 0xfff;

/// Other registers that the batches of engines with pipelines may load (`gen7_render_regs`), from the first to the last, after the start of
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

/// The result of MI_PREDICATE after the start of the engine's registers: bit 0.
const PREDICATE_RESULT: u32 = 0x418;

/// The registers that a context keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    loaded: BTreeMap<u32, Loaded>,
    /// Registers that were not loaded are not known.
    is_lost: bool,
}

/// A register that was loaded.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    value: u32,
    /// The hardware has this value, too.
    is_known: bool,
}

impl Values {
    /// The registers after a batch that hung.
    pub(crate) fn lost() -> Self {
        Self { is_lost: true, ..Self::default() }
    }

    /// Returns whether they are those of a new context.
    pub(in crate::gpu) fn are_new(&self) -> bool {
        self.loaded.is_empty() && !self.is_lost
    }
}

/// The registers of an engine during a batch.
#[derive(Debug)]
pub(in crate::gpu) struct Registers {
    machine: Machine,
    engine: EngineClass,
    values: Values,
    /// It is not known whether the next commands are executed.
    is_doubtful: bool,
    /// The batch jumped by a predicate that is not known: the hardware may be elsewhere.
    is_astray: bool,
}

impl Registers {
    /// Creates the registers at the start of a batch, with what the context kept.
    pub(in crate::gpu) fn new(machine: Machine, engine: EngineClass, kept: Values) -> Self {
        let values = if generation(&machine) >= 80 { kept } else { Values::lost() };
        Self { machine, engine, values, is_doubtful: false, is_astray: false }
    }

    /// Returns what the context keeps.
    pub(in crate::gpu) fn into_values(mut self) -> Values {
        if self.is_astray {
            self.values.loaded.values_mut().for_each(|loaded| loaded.is_known = false);
            self.values.is_lost = true;
        }
        self.values
    }

    /// Sets whether it is not known if the next commands are executed.
    pub(in crate::gpu) fn doubt(&mut self, is_doubtful: bool) {
        self.is_doubtful = is_doubtful;
    }

    /// Takes note of a jump by a predicate that is not known.
    pub(in crate::gpu) fn stray(&mut self) {
        self.is_astray = true;
    }

    /// Loads a register, if userspace may; `None` is a value that is not known.
    pub(in crate::gpu) fn load(&mut self, register: u32, value: Option<u32>) {
        self.set(register, Loaded { value: value.unwrap_or(0), is_known: value.is_some() });
    }

    /// Copies a register; `now` is that of the timestamp.
    pub(in crate::gpu) fn copy(&mut self, from: u32, to: u32, now: u64) {
        let is_known = self.read(from, now).is_some();
        self.set(to, Loaded { value: self.value(from, now), is_known });
    }

    fn set(&mut self, register: u32, loaded: Loaded) {
        if self.has(register) {
            let is_known = loaded.is_known && !self.is_doubtful;
            self.values.loaded.insert(register, Loaded { is_known, ..loaded });
        }
    }

    /// Returns a register's value if it is known.
    pub(in crate::gpu) fn known(&self, register: u32) -> Option<u32> {
        match self.values.loaded.get(&register) {
            Some(loaded) => loaded.is_known.then_some(loaded.value),
            None => (!self.values.is_lost && self.has(register)).then_some(0),
        }
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
    pub(in crate::gpu) fn predicate(&self) -> Option<bool> {
        self.known(start(&self.machine, self.engine) + PREDICATE_RESULT).map(|result| result & 1 != 0)
    }

    /// Sets the predicate's result to one that is not known.
    pub(in crate::gpu) fn forget_predicate(&mut self) {
        self.load(start(&self.machine, self.engine) + PREDICATE_RESULT, None);
    }

    /// Returns a register's value if it is known; `now` is that of the timestamp.
    pub(in crate::gpu) fn read(&self, register: u32, now: u64) -> Option<u32> {
        match register & PAGE {
            TIMESTAMP => Some(now as u32),
            CONTEXT_TIMESTAMP if generation(&self.machine) >= 80 => Some(now as u32),
            TIMESTAMP_UPPER => Some((now >> 32) as u32),
            _ => self.known(register),
        }
    }

    /// Returns a register's value, which is 0 if it was not loaded; `now` is that of the timestamp.
    pub(in crate::gpu) fn value(&self, register: u32, now: u64) -> u32 {
        let loaded = || self.values.loaded.get(&register).map(|loaded| loaded.value);
        self.read(register, now).or_else(loaded).unwrap_or(0)
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
pub(in crate::gpu) fn start(machine: &Machine, engine: EngineClass) -> u32 {
    match (engine, generation(machine)) {
        (EngineClass::Render, _) => 0x2000,
        (EngineClass::Copy, _) => 0x2_2000,
        (EngineClass::Video, 110..) => 0x1c_0000,
        (EngineClass::Video, _) => 0x1_2000,
        (EngineClass::VideoEnhance, 110..) => 0x1c_8000,
        (EngineClass::VideoEnhance | EngineClass::Compute, _) => 0x1_a000,
    }
}
