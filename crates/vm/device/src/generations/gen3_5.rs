//! Gen3 to gen5: rings, no per-process page tables, no forcewake. Up to gen4 (but for GM45) the
//! status page is at a physical address; interrupts come through the interrupt pin.
//!
//! The host bridge, which the driver asks for the memory layout, is QEMU's.

use crate::gpu::Gpu;
use crate::gpu::blits::BLITS_GEN3;
use crate::gpu::engine::{EngineInfo, Source, Submission, offset};
use crate::gpu::interrupts::Block;
use crate::gpu::platform::{Bars, Display, Generation, PerProcess, Platform};
use crate::snooping::{Keeping, Snooping};

/// GEN2_IER, GEN2_IIR and GEN2_IMR: in this order, unlike later.
const ENABLE: u32 = 0x20a0;
const PENDING: u32 = 0x20a4;
const MASK: u32 = 0x20a8;
/// I915_USER_INTERRUPT and I915_BSD_USER_INTERRUPT.
const USER: u32 = 1;
const BSD_USER: u32 = 25;

/// I915_GDRST, a byte in PCI configuration space: bit 0 requests a reset, bit 1 says that it was
/// done. The driver then clears the request and waits for bit 1 to go. On G4x bit 0 clears itself.
const CONFIG_RESET: u32 = 0xc0;
const RESET_REQUEST: u32 = 1 << 0;
const RESET_STATUS: u32 = 1 << 1;

/// ILK_GDSR: the driver waits for bit 0 to clear.
const ILK_RESET: u32 = 0x1_2ca4;
const ILK_RESET_REQUEST: u32 = 1 << 0;
/// DEIMR's and GTIMR's blocks on Ironlake, and ILK_BSD_USER_INTERRUPT. Bit 31 of DEIER is the master
/// switch.
const ILK_DISPLAY: Block = Block(0x4_4000);
const ILK_DISPLAY_ENABLE: u32 = 0x4_400c;
const ILK_GT: Block = Block(0x4_4010);
const ILK_BSD_USER: u32 = 5;
const MASTER: u32 = 1 << 31;

/// I830_PTE_SYSTEM_CACHED: the kind of memory in an entry of the global table.
const SYSTEM_CACHED: u32 = 3 << 1;
/// TV_CTL: bits 5..4 are the fuse of the TV encoder; 2: there is none.
const TV_CONTROL: (u32, u32) = (0x6_8000, 2 << 4);

const fn engine(name: &'static str, base: u32, bit: u32) -> EngineInfo {
    EngineInfo {
        name,
        base,
        status_page: base + offset::STATUS_PAGE,
        source: Source { bank: 0, bit, class: 0, instance: 0 },
    }
}

pub const GEN3: Platform = Platform {
    name: "",
    device_id: 0,
    revision: 0,
    version: 3,
    generation: &Gen3To4 { request_clears: false },
    engines: &[engine("rcs0", 0x2000, USER)],
    submission: Submission::Ring,
    per_process: PerProcess::None,
    snooping: Snooping::ByEntry(SYSTEM_CACHED),
    keeping: Keeping::Nothing,
    blits: BLITS_GEN3,
    shaders: None,
    physical_status_page: true,
    bars: Bars { registers: 512 << 10, entries: 256 << 10, entries_bar: Some(3), wide: false },
    graphics_control: 0,
    local_memory: None,
    display: Display::FusedOff,
    power_up: &[TV_CONTROL],
};

/// The entries are the same, but snooping does not work (has_snoop of i965g_info), and the driver asks for none. Only stores to
/// the physical status page snoop: the driver reads it through the CPU's caches and flushes nothing.
pub const GEN4: Platform = Platform {
    version: 4,
    snooping: Snooping::Never,
    bars: Bars { registers: 512 << 10, entries: 512 << 10, entries_bar: None, wide: true },
    ..GEN3
};

pub const GM45: Platform = Platform {
    generation: &Gen3To4 { request_clears: true },
    snooping: Snooping::ByEntry(SYSTEM_CACHED),
    engines: &[engine("rcs0", 0x2000, USER), engine("vcs0", 0x4000, BSD_USER)],
    physical_status_page: false,
    bars: Bars { registers: 2 << 20, entries: 2 << 20, entries_bar: None, wide: true },
    ..GEN4
};

pub const GEN5: Platform = Platform {
    version: 5,
    generation: &Gen5,
    engines: &[engine("rcs0", 0x2000, 0), engine("vcs0", 0x4000, ILK_BSD_USER)],
    ..GM45
};

/// Gen3 and gen4.
struct Gen3To4 {
    /// The reset request clears itself (G4x).
    request_clears: bool,
}

impl Generation for Gen3To4 {
    fn read(&self, _gpu: &Gpu, _register: u32) -> Option<u32> {
        None
    }

    fn write(&self, gpu: &mut Gpu, register: u32, value: u32) -> bool {
        match register {
            ENABLE => gpu.registers.set(register, value),
            PENDING => gpu.registers.clear_written(register, value),
            _ => return false,
        }
        gpu.update_interrupt();
        true
    }

    fn raise(&self, gpu: &mut Gpu, source: Source, _events: u32) {
        let visible = 1 << source.bit & !gpu.registers.get(MASK);
        let pending = gpu.registers.get(PENDING) | visible;
        gpu.registers.set(PENDING, pending);
    }

    fn interrupt_pending(&self, gpu: &Gpu) -> bool {
        gpu.registers.get(ENABLE) & gpu.registers.get(PENDING) != 0
    }

    fn config_read(&self, gpu: &Gpu, address: u32, value: u32) -> u32 {
        if address != CONFIG_RESET {
            value
        } else if self.request_clears {
            value & !RESET_REQUEST
        } else if gpu.reset_control & RESET_REQUEST != 0 {
            value & !0xff | RESET_REQUEST | RESET_STATUS
        } else {
            value & !0xff
        }
    }

    fn config_write(&self, gpu: &mut Gpu, address: u32, value: u32) {
        if address == CONFIG_RESET {
            gpu.reset_control = value;
            if value & RESET_REQUEST != 0 {
                gpu.reset_engines();
            }
        }
    }
}

struct Gen5;

impl Generation for Gen5 {
    fn read(&self, _gpu: &Gpu, _register: u32) -> Option<u32> {
        None
    }

    fn write(&self, gpu: &mut Gpu, register: u32, value: u32) -> bool {
        if register == ILK_RESET {
            if value & ILK_RESET_REQUEST != 0 {
                gpu.reset_engines();
            }
            gpu.registers.set(register, value & !ILK_RESET_REQUEST);
            return true;
        }
        ILK_DISPLAY.write(gpu, register, value) || ILK_GT.write(gpu, register, value)
    }

    fn raise(&self, gpu: &mut Gpu, source: Source, _events: u32) {
        ILK_GT.raise(gpu, 1 << source.bit);
    }

    fn interrupt_pending(&self, gpu: &Gpu) -> bool {
        gpu.registers.get(ILK_DISPLAY_ENABLE) & MASTER != 0
            && (ILK_DISPLAY.active(gpu) & !MASTER != 0 || ILK_GT.active(gpu) != 0)
    }
}
