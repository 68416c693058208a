//! The register file: memory that reads back what was written. The names of registers are in the
//! files of those who know what to do with them.

/// The new value of a masked register: the upper half of what is written selects the bits to change.
pub fn masked(old: u32, written: u32) -> u32 {
    let selected = written >> 16;
    old & !selected | written & selected
}

/// The register half of BAR 0: 32-bit registers at byte offsets.
pub struct Registers(Vec<u32>);

impl Registers {
    /// The largest register BAR, that of gen8 and later.
    const SIZE: usize = 8 << 20;

    pub fn new() -> Self {
        Self(vec![0; Self::SIZE / 4])
    }

    pub fn get(&self, register: u32) -> u32 {
        self.0.get(register as usize / 4).copied().unwrap_or(0)
    }

    pub fn set(&mut self, register: u32, value: u32) {
        if let Some(word) = self.0.get_mut(register as usize / 4) {
            *word = value;
        }
    }

    pub fn set_masked(&mut self, register: u32, written: u32) {
        self.set(register, masked(self.get(register), written));
    }

    /// A write-one-to-clear register: interrupt identities and error states.
    pub fn clear_written(&mut self, register: u32, written: u32) {
        self.set(register, self.get(register) & !written);
    }
}
