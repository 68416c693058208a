//! One GPU: its parts, and the way of a register access: first the platform's generation, then the
//! display engine, then the command streamers; what nobody claims is plain memory.

pub mod interrupts;
pub mod memory;
pub mod registers;

use crate::display::scanout::Logged;
use crate::display::{self, Model, pipes};
use crate::engines::registers::Engine;
use crate::generations::gen11_12::Banks;
use crate::generations::valleyview::Sideband;
use crate::gpu::memory::Memory;
use crate::gpu::registers::Registers;
use crate::platforms::Platform;
use crate::qemu::{PciFunction, Ram, Timer};
use std::fmt::Arguments;
use std::fs::File;
use std::io::Write;

/// Where an engine reports its interrupts: bank and bit of the generation's interrupt registers,
/// and (gen11 and later) the class and instance that the identity register names.
#[derive(Clone, Copy, Default)]
pub struct Source {
    pub bank: usize,
    pub bit: u32,
    pub class: u32,
    pub instance: u32,
}

/// What is particular to a generation.
pub trait Generation: Sync {
    /// The value of a register that does not read back what was written.
    fn read(&self, gpu: &Gpu, register: u32) -> Option<u32>;
    /// Handles a write to a register that has an effect; false if it has none.
    fn write(&self, gpu: &mut Gpu, register: u32, value: u32) -> bool;
    /// A register load by a command: it has no effect but on the value.
    fn load_register(&self, gpu: &mut Gpu, register: u32, value: u32) {
        gpu.registers.set(register, value);
    }
    /// Notes that an engine raised `events` (gen8's bits: 0 user interrupt, 8 context switch).
    fn raise(&self, gpu: &mut Gpu, source: Source, events: u32);
    /// Whether an enabled interrupt is pending.
    fn interrupt_pending(&self, gpu: &Gpu) -> bool;
    /// The value of a PCI configuration register.
    fn config_read(&self, _gpu: &Gpu, _address: u32, value: u32) -> u32 {
        value
    }
    /// A write to a PCI configuration register.
    fn config_write(&self, _gpu: &mut Gpu, _address: u32, _value: u32) {}
}

/// GGC, the graphics control word in PCI configuration space: sizes of global table and of stolen
/// memory.
const CONFIG_GGC: u32 = 0x50;

/// What QEMU provides for a GPU.
pub struct Parts {
    pub platform: &'static Platform,
    pub function: PciFunction,
    pub retry: Timer,
    pub frame: Timer,
    pub global_table: Ram,
    pub local_memory: Option<Ram>,
}

pub struct Gpu {
    pub platform: &'static Platform,
    pub registers: Registers,
    pub memory: Memory,
    pub global_table: Ram,
    pub engines: Vec<Engine>,
    /// Rings when it is time to look again at engines that wait for something.
    pub retry: Timer,
    /// What the display does; without, it is off.
    pub display: Option<&'static Model>,
    /// Rings at the vertical blank, while a pipe is on.
    pub frame: Timer,
    /// The last lines in the cache's log about each pipe.
    pub scanned: [Logged; pipes::PIPES as usize],
    /// Pending events of gen11 and later.
    pub banks: Banks,
    /// Registers behind the sideband of Valleyview and Cherryview.
    pub sideband: Sideband,
    /// I915_GDRST in configuration space (gen3, gen4).
    pub reset_control: u32,
    /// A MOCS entry that goes past the CPU's caches, whatever the driver wrote for it.
    pub bypassing: Option<u8>,
    /// Writes by MOCS entries that go past the CPU's caches do so, too.
    pub bypassing_writes: bool,
    function: PciFunction,
    interrupting: bool,
    trace: Option<File>,
}

impl Gpu {
    pub fn new(parts: Parts) -> Self {
        let platform = parts.platform;
        let mut gpu = Self {
            platform,
            registers: Registers::new(),
            memory: Memory { local: parts.local_memory },
            global_table: parts.global_table,
            engines: platform.engines.iter().map(Engine::new).collect(),
            retry: parts.retry,
            display: display::wanted(platform),
            frame: parts.frame,
            scanned: Default::default(),
            banks: Banks::default(),
            sideband: Sideband::default(),
            reset_control: 0,
            bypassing: std::env::var("I915_VM_BYPASS").ok().and_then(|entry| entry.parse().ok()),
            bypassing_writes: std::env::var_os("I915_VM_BYPASS_WRITES").is_some(),
            function: parts.function,
            interrupting: false,
            trace: std::env::var_os("I915_VM_TRACE").and_then(|path| File::create(path).ok()),
        };
        display::power_up(&mut gpu);
        for (register, value) in platform.power_up {
            gpu.registers.set(*register, *value);
        }
        gpu
    }

    /// Writes a line to the trace, if there is one. A full disk does not stop the GPU.
    pub fn trace(&self, line: Arguments<'_>) {
        if let Some(mut file) = self.trace.as_ref() {
            let _ = writeln!(file, "{line}");
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

    /// An engine reports events.
    pub fn raise(&mut self, engine: usize, events: u32) {
        let source = self.engines[engine].info.source;
        self.platform.generation.raise(self, source, events);
        self.update_interrupt();
    }

    /// Tells the CPU about pending interrupts: the level of the pin, or a message when it rises.
    pub fn update_interrupt(&mut self) {
        let pending = self.platform.generation.interrupt_pending(self);
        if pending != self.interrupting {
            self.interrupting = pending;
            if self.platform.interrupt_pin() {
                self.function.set_pin(pending);
            } else if pending {
                self.function.send_message();
            }
        }
    }

    /// Resets the engines that GEN6_GDRST names: before gen11 by a bit for each, bit 0 for all of them.
    pub fn reset_domains(&mut self, domains: u32) {
        for engine in 0..self.engines.len() {
            let bit = match (self.platform.version, self.engines[engine].info.name) {
                (11.., _) => 0,
                (_, "rcs0") => 1,
                (_, "vcs0") => 2,
                (_, "bcs0") => 3,
                (_, "vecs0") => 4,
                (_, "vcs1") => 7,
                _ => 0,
            };
            if self.platform.version >= 11 || domains & (1 | 1 << bit) != 0 {
                self.reset_engine(engine);
            }
        }
    }

    /// Resets all engines. Whichever engine the driver names, it resets all that it left hanging.
    pub fn reset_engines(&mut self) {
        for engine in 0..self.engines.len() {
            self.reset_engine(engine);
        }
    }
}
