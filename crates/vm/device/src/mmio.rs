//! The way of an access to the device: first the platform's generation, then the display engine, then the command streamers;
//! what nobody claims is plain memory.

use crate::display;
use crate::gpu::Gpu;

/// GGC, the graphics control word in PCI configuration space: sizes of global table and of stolen
/// memory.
const CONFIG_GGC: u32 = 0x50;

impl Gpu {
    /// Sets the registers that are not zero after power-up.
    pub fn power_up(&mut self) {
        display::power_up(self);
        for (register, value) in self.platform.power_up {
            self.registers.set(*register, *value);
        }
    }

    /// A read from BAR 0; QEMU keeps sizes to 1, 2 and 4 and addresses aligned.
    pub fn mmio_read(&self, offset: u64, size: u32) -> u64 {
        let register = offset as u32 & !3;
        let value =
            if size == 4 { self.read(register) } else { self.registers.get(register) >> (8 * (offset & 3)) };
        self.trace(format_args!("R {offset:06x} {value:x}"));
        value.into()
    }

    /// A write to BAR 0. Writes of a part of a register have no side effect.
    pub fn mmio_write(&mut self, offset: u64, value: u64, size: u32) {
        self.trace(format_args!("W {offset:06x} {value:x}"));
        let (register, value) = (offset as u32 & !3, value as u32);
        if size == 4 {
            self.write(register, value);
        } else {
            let shift = 8 * (offset as u32 & 3);
            let part = if size == 1 { 0xff } else { 0xffff } << shift;
            let old = self.registers.get(register);
            self.registers.set(register, old & !part | value << shift & part);
        }
    }

    fn read(&self, register: u32) -> u32 {
        self.platform
            .generation
            .read(self, register)
            .or_else(|| display::read(self, register))
            .or_else(|| self.engine_read(register))
            .unwrap_or_else(|| self.registers.get(register))
    }

    fn write(&mut self, register: u32, value: u32) {
        let handled = self.platform.generation.write(self, register, value)
            || display::write(self, register, value)
            || self.engine_write(register, value);
        if !handled {
            self.registers.set(register, value);
        }
    }

    pub fn config_read(&self, address: u32, length: u32, value: u32) -> u32 {
        if (CONFIG_GGC..CONFIG_GGC + 4).contains(&address) {
            let all = u32::MAX >> (32 - 8 * length.clamp(1, 4));
            return self.platform.graphics_control >> (8 * (address - CONFIG_GGC)) & all;
        }
        self.platform.generation.config_read(self, address, value)
    }

    pub fn config_write(&mut self, address: u32, value: u32) {
        self.platform.generation.config_write(self, address, value);
    }
}
