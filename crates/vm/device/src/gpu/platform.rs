//! What a platform is, and what its generation does for it.

use super::Gpu;
use super::blits::Blit;
use super::display::Model;
use super::engine::{EngineInfo, Source, Submission};
use crate::eu::layout::Form;
use crate::snooping::{Keeping, Snooping};
use std::ffi::c_int;

/// In the environment: the display is wanted.
const WANTED: &str = "I915_VM_DISPLAY";

pub struct Platform {
    pub name: &'static str,
    /// PCI device id and revision: the driver takes from them what the GPU can do.
    pub device_id: u16,
    pub revision: u8,
    /// The version of the graphics architecture, which decides the form of commands and of
    /// page-table entries.
    pub version: u8,
    pub generation: &'static dyn Generation,
    pub engines: &'static [EngineInfo],
    pub submission: Submission,
    pub per_process: PerProcess,
    pub snooping: Snooping,
    pub keeping: Keeping,
    /// The commands of the blitter.
    pub blits: &'static [Blit],
    /// The form of shaders, on platforms that run them.
    pub shaders: Option<Form>,
    /// The status page register holds a physical address.
    pub physical_status_page: bool,
    pub bars: Bars,
    /// GGC, the graphics control word in PCI configuration space.
    pub graphics_control: u32,
    pub local_memory: Option<LocalMemory>,
    pub display: Display,
    /// Registers that are not zero after power-up.
    pub power_up: &'static [(u32, u32)],
}

/// Sizes and places of registers and of the global table's entries.
pub struct Bars {
    /// Bytes of registers, at the start of BAR 0.
    pub registers: u64,
    /// Bytes of page-table entries, after the registers unless they have a BAR of their own.
    pub entries: u64,
    pub entries_bar: Option<c_int>,
    /// BARs 0 and 2 are 64-bit ones.
    pub wide: bool,
}

/// Memory of the GPU itself, behind BAR 2 in place of the aperture.
pub struct LocalMemory {
    pub size: u64,
    /// Page tables lie in it.
    pub holds_tables: bool,
}

#[derive(Clone, Copy)]
pub enum Display {
    /// The display is fused off: the driver sees it, and goes on without.
    FusedOff,
    /// The same, unless the display is wanted: then it is on, and does what the model says.
    Model(&'static Model),
    /// There is no such fuse: the driver must be told.
    NoFuse,
}

impl Platform {
    /// Interrupts come through the interrupt pin: the driver uses messages from gen5 on.
    pub fn interrupt_pin(&self) -> bool {
        self.version < 5
    }

    /// The display's model, if the display is wanted.
    pub fn wanted_display(&self) -> Option<&'static Model> {
        match self.display {
            Display::Model(model) if std::env::var_os(WANTED).is_some() => Some(model),
            Display::Model(_) | Display::FusedOff | Display::NoFuse => None,
        }
    }
}

/// The kind of per-process tables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PerProcess {
    /// None: user batches use the global table (gen3 to gen5).
    None,
    /// Two levels of 32-bit entries; the directory lies in the global table (gen6, gen7).
    Gen6,
    /// Two levels below four directory pointers in the engine's registers (Cherryview).
    ThreeLevel,
    /// Four levels, the root in the context image. 64 KiB pages: every 16th entry of a table holds.
    FourLevel,
    /// The same; a table for 64 KiB pages has 32 entries of its own (DG2).
    FourLevelCompact64K,
    /// Five levels, the root in the context image, 64 KiB pages as with four (from Lunar Lake on: vm_max_level of xe_pci.c).
    FiveLevel,
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
