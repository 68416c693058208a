//! Interrupts of gen11 and later: two banks, in which every engine has a bit, and an identity register that names engine and
//! events.

use super::engine::{EngineInfo, Source};

/// GEN11_GT_INTR_DW(0) and (1): the engines with events, write one to clear.
const BANK_0: u32 = 0x19_0018;
const BANK_1: u32 = 0x19_001c;
/// GEN11_INTR_IDENTITY_REG(0) and (1): events in bits 15..0, class in 18..16, instance in 25..20,
/// and bit 31, "valid", which the driver waits for and writes to release the identity.
const IDENTITY_0: u32 = 0x19_0060;
const IDENTITY_1: u32 = 0x19_0064;
const IDENTITY_VALID: u32 = 1 << 31;
/// GEN11_IIR_REG_SELECTOR(0) and (1): the bit whose identity is wanted.
const SELECTOR_0: u32 = 0x19_0070;
const SELECTOR_1: u32 = 0x19_0074;
/// OTHER_CLASS: what no engine owns.
const CLASS_OTHER: u32 = 4;

/// The state of the two banks.
#[derive(Default)]
pub struct Banks {
    engines: [u32; 2],
    /// Events that no identity named yet, for each bit of a bank.
    events: [[u32; 32]; 2],
    identity: [u32; 2],
}

impl Banks {
    pub fn raise(&mut self, source: Source, events: u32) {
        self.engines[source.bank] |= 1 << source.bit;
        self.events[source.bank][source.bit as usize] |= events;
    }

    /// Bits 0 and 1: banks with something in them.
    pub fn active(&self) -> u32 {
        let [first, second] = self.engines.map(|bank| u32::from(bank != 0));
        first | second << 1
    }

    /// Registers that read the banks.
    pub fn read(&self, register: u32) -> Option<u32> {
        match register {
            BANK_0 => Some(self.engines[0]),
            BANK_1 => Some(self.engines[1]),
            IDENTITY_0 => Some(self.identity[0]),
            IDENTITY_1 => Some(self.identity[1]),
            _ => None,
        }
    }

    /// Clears engines; those with more events stay.
    fn clear(&mut self, bank: usize, engines: u32) {
        self.engines[bank] &= !engines;
        for (bit, events) in self.events[bank].iter().enumerate() {
            if *events != 0 {
                self.engines[bank] |= 1 << bit;
            }
        }
    }

    /// Moves the events of a bit into the identity register.
    fn select(&mut self, engines: &[EngineInfo], bank: usize, selected: u32) {
        let bit = selected.trailing_zeros() & 31;
        let (class, instance) = engines
            .iter()
            .map(|engine| engine.source)
            .find(|source| source.bank == bank && source.bit == bit)
            .map_or((CLASS_OTHER, 0), |source| (source.class, source.instance));
        let events = std::mem::take(&mut self.events[bank][bit as usize]);
        self.identity[bank] = IDENTITY_VALID | class << 16 | instance << 20 | events;
    }

    /// Handles a write to one of the banks' registers; false for the others. `engines`: those that report here.
    pub fn write(&mut self, engines: &[EngineInfo], register: u32, value: u32) -> bool {
        match register {
            BANK_0 => self.clear(0, value),
            BANK_1 => self.clear(1, value),
            IDENTITY_0 => self.identity[0] = 0,
            IDENTITY_1 => self.identity[1] = 0,
            SELECTOR_0 => self.select(engines, 0, value),
            SELECTOR_1 => self.select(engines, 1, value),
            _ => return false,
        }
        true
    }
}
