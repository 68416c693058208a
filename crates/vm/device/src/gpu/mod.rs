//! One GPU: its parts, and what they need from QEMU. Which part handles an access is in [`crate::mmio`].
//!
//! * [`platform`], [`blits`]: what a platform is, and what its generation does for it;
//! * [`engine`], [`display`]: what they are, and their state;
//! * [`interrupts`], [`banks`]: interrupt registers before gen11, and since;
//! * [`registers`], [`sideband`]: the register file, and registers behind Valleyview's sideband;
//! * [`memory`]: the memory that the GPU accesses.

pub mod banks;
pub mod blits;
pub mod display;
pub mod engine;
pub mod interrupts;
pub mod memory;
pub mod platform;
pub mod registers;
pub mod sideband;

use crate::qemu::{PciFunction, Ram, Timer};
use banks::Banks;
use display::{Logged, Model, PIPES};
use engine::Engine;
use memory::Memory;
use platform::Platform;
use registers::Registers;
use sideband::Sideband;
use std::fmt::Arguments;
use std::fs::File;
use std::io::Write;

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
    pub scanned: [Logged; PIPES as usize],
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
        Self {
            platform,
            registers: Registers::new(),
            memory: Memory { local: parts.local_memory },
            global_table: parts.global_table,
            engines: platform.engines.iter().map(Engine::new).collect(),
            retry: parts.retry,
            display: platform.wanted_display(),
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
        }
    }

    /// Writes a line to the trace, if there is one. A full disk does not stop the GPU.
    pub fn trace(&self, line: Arguments<'_>) {
        if let Some(mut file) = self.trace.as_ref() {
            let _ = writeln!(file, "{line}");
        }
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
}
