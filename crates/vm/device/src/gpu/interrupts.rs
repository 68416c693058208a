//! Interrupt registers before gen11: blocks of ISR, IMR (a set bit hides an event), IIR (pending,
//! write one to clear) and IER (an enabled bit interrupts), four registers in a row.

use crate::gpu::Gpu;

/// A block, by the address of its ISR.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Block(pub u32);

impl Block {
    const fn mask(self) -> u32 {
        self.0 + 4
    }

    const fn pending(self) -> u32 {
        self.0 + 8
    }

    const fn enable(self) -> u32 {
        self.0 + 12
    }

    /// Makes events pending that are not hidden.
    pub fn raise(self, gpu: &mut Gpu, events: u32) {
        let visible = events & !gpu.registers.get(self.mask());
        let pending = gpu.registers.get(self.pending()) | visible;
        gpu.registers.set(self.pending(), pending);
    }

    /// Pending events that interrupt.
    pub fn active(self, gpu: &Gpu) -> u32 {
        gpu.registers.get(self.pending()) & gpu.registers.get(self.enable())
    }

    /// Handles a write to the block.
    pub fn write(self, gpu: &mut Gpu, register: u32, value: u32) -> bool {
        if register == self.pending() {
            gpu.registers.clear_written(register, value);
        } else if register == self.enable() {
            gpu.registers.set(register, value);
        } else {
            return false;
        }
        gpu.update_interrupt();
        true
    }
}
