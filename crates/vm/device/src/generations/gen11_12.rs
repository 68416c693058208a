//! Gen11 and gen12: contexts through the submit queue; interrupts through two banks, in which every
//! engine has a bit, and an identity register that names engine and events.

use crate::display::pipes;
use crate::engines::blitter::{BLITS_GEN9, BLITS_GEN12};
use crate::engines::execlists::{StatusFormat, Submission};
use crate::engines::registers::{EngineInfo, offset};
use crate::eu::layout::Form;
use crate::generations::gen8_9::OTHER_BLOCKS;
use crate::generations::gt;
use crate::gpu::interrupts::Block;
use crate::gpu::{Generation, Gpu, Source};
use crate::platforms::{Bars, Display, Platform};
use crate::snooping::{KEPT_GEN11, KEPT_GEN12, Snooping};
use crate::translation::page_tables::PerProcess;

/// GEN11_GFX_MSTR_IRQ: bit 31 enables; bits 0 and 1: a bank has something; bit 16: the display has.
pub const MASTER: u32 = 0x19_0010;
pub const MASTER_ENABLE: u32 = 1 << 31;
const MASTER_DISPLAY: u32 = 1 << 16;
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

/// FORCEWAKE_RENDER_GEN9, FORCEWAKE_MT, and one for each video (decoding, enhancement) engine:
/// FORCEWAKE_MEDIA_VDBOX_GEN11(n), FORCEWAKE_MEDIA_VEBOX_GEN11(n), with their acknowledgements.
pub const FORCEWAKE_RENDER: (u32, u32) = (0xa278, 0xd84);
pub const FORCEWAKE_GT: (u32, u32) = (gt::FORCEWAKE_GT, gt::FORCEWAKE_ACK_HSW);
const FORCEWAKE: &[(u32, u32)] = &[FORCEWAKE_RENDER, FORCEWAKE_GT];
const FORCEWAKE_VIDEO: u32 = 0xa540;
const FORCEWAKE_VIDEO_END: u32 = 0xa57c;
const FORCEWAKE_ACK_VIDEO: u32 = 0xd50;

/// GEN12_CCS_AUX_INV, _VD0_, _VD1_, _VE0_, _BCS0_, _VD2_ and _CCS0_: invalidation of compression
/// tables. The GPU waits with a semaphore for the request to read as zero.
const AUX_INVALIDATION: [u32; 7] = [0x4208, 0x4218, 0x4228, 0x4238, 0x4248, 0x4298, 0x42c8];

pub const FREQUENCIES: (u32, u32) = (gt::RP_STATE_CAP, gt::RP_STATES);
pub const ONE_SLICE: (u32, u32) = (gt::SLICE_ENABLE, 1);
pub const GUC: (u32, u32) = (gt::GUC_STATUS, gt::GUC_IN_RESET);
const SIX_SUBSLICES: (u32, u32) = (gt::GEOMETRY_ENABLE, 0x3f);

/// An engine; its class and instance are those of `intel_engine_class`.
pub const fn engine(
    name: &'static str,
    base: u32,
    (bank, bit): (usize, u32),
    (class, instance): (u32, u32),
) -> EngineInfo {
    EngineInfo {
        name,
        base,
        status_page: base + offset::STATUS_PAGE,
        source: Source { bank, bit, class, instance },
    }
}

pub const RENDER: EngineInfo = engine("rcs0", 0x2000, (0, 0), (0, 0));
pub const COPY: EngineInfo = engine("bcs0", 0x2_2000, (0, 15), (3, 0));
pub const VIDEO: [EngineInfo; 4] = [
    engine("vcs0", 0x1c_0000, (1, 0), (1, 0)),
    engine("vcs1", 0x1c_4000, (1, 1), (1, 1)),
    engine("vcs2", 0x1d_0000, (1, 2), (1, 2)),
    engine("vcs3", 0x1d_4000, (1, 3), (1, 3)),
];
pub const ENHANCEMENT: [EngineInfo; 2] =
    [engine("vecs0", 0x1c_8000, (1, 31), (2, 0)), engine("vecs1", 0x1d_8000, (1, 30), (2, 1))];
const ENGINES: &[EngineInfo] = {
    let [vcs0, vcs1, vcs2, vcs3] = VIDEO;
    let [vecs0, vecs1] = ENHANCEMENT;
    &[RENDER, COPY, vcs0, vcs1, vcs2, vcs3, vecs0, vecs1]
};

pub const GEN11: Platform = Platform {
    name: "",
    device_id: 0,
    revision: 0,
    version: 11,
    generation: &Gen11,
    engines: ENGINES,
    submission: Submission::SubmitQueue(StatusFormat::Gen8),
    per_process: PerProcess::FourLevel,
    snooping: Snooping::Always,
    keeping: KEPT_GEN11,
    blits: BLITS_GEN9,
    kernels: Some(Form::Gen11),
    physical_status_page: false,
    bars: Bars { registers: 8 << 20, entries: 8 << 20, entries_bar: None, wide: true },
    // BDW_GMCH_GGMS: 8 MiB of page-table entries; no stolen memory.
    graphics_control: 3 << 6,
    local_memory: None,
    display: Display::FusedOff,
    power_up: &[ONE_SLICE, FREQUENCIES, GUC],
};

pub const GEN12: Platform = Platform {
    version: 12,
    keeping: KEPT_GEN12,
    blits: BLITS_GEN12,
    kernels: Some(Form::Gen12),
    submission: Submission::SubmitQueue(StatusFormat::Gen12),
    power_up: &[ONE_SLICE, SIX_SUBSLICES, FREQUENCIES, GUC],
    ..GEN11
};

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

    fn read(&self, register: u32) -> Option<u32> {
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
}

/// Reads that all GTs since gen11 answer in the same way.
pub fn read(gpu: &Gpu, register: u32) -> Option<u32> {
    gpu.banks.read(register)
}

/// Writes that all GTs since gen11 handle in the same way; `base` as for [`gt::forcewake`].
pub fn write(gpu: &mut Gpu, base: u32, register: u32, value: u32) -> bool {
    match register - base {
        BANK_0 => gpu.banks.clear(0, value),
        BANK_1 => gpu.banks.clear(1, value),
        IDENTITY_0 => gpu.banks.identity[0] = 0,
        IDENTITY_1 => gpu.banks.identity[1] = 0,
        SELECTOR_0 => gpu.banks.select(gpu.platform.engines, 0, value),
        SELECTOR_1 => gpu.banks.select(gpu.platform.engines, 1, value),
        request @ FORCEWAKE_VIDEO..=FORCEWAKE_VIDEO_END => {
            let ack = FORCEWAKE_ACK_VIDEO + request - FORCEWAKE_VIDEO;
            return gt::forcewake(gpu, base, &[(request, ack)], register, value);
        }
        request if is_request(request) => gpu.registers.set(register, 0),
        _ if OTHER_BLOCKS.contains(&register) => {
            return Block(register & !0xf).write(gpu, register, value);
        }
        _ => return gt::write(gpu, base, register, value),
    }
    gpu.update_interrupt();
    true
}

/// Whether a register takes requests that are done at once, so that it always reads as zero.
pub fn is_request(register: u32) -> bool {
    AUX_INVALIDATION.contains(&register) || gt::is_tlb_invalidation(register)
}

struct Gen11;

impl Generation for Gen11 {
    fn read(&self, gpu: &Gpu, register: u32) -> Option<u32> {
        match register {
            MASTER => {
                let display = if pipes::display_interrupts(gpu) { MASTER_DISPLAY } else { 0 };
                Some(gpu.registers.get(MASTER) & MASTER_ENABLE | display | gpu.banks.active())
            }
            _ => read(gpu, register),
        }
    }

    fn write(&self, gpu: &mut Gpu, register: u32, value: u32) -> bool {
        if register == MASTER {
            gpu.registers.set(register, value & MASTER_ENABLE);
            gpu.update_interrupt();
            return true;
        }
        gt::forcewake(gpu, 0, FORCEWAKE, register, value) || write(gpu, 0, register, value)
    }

    fn load_register(&self, gpu: &mut Gpu, register: u32, value: u32) {
        if !is_request(register) {
            gpu.registers.set(register, value);
        }
    }

    fn raise(&self, gpu: &mut Gpu, source: Source, events: u32) {
        gpu.banks.raise(source, events);
    }

    fn interrupt_pending(&self, gpu: &Gpu) -> bool {
        gpu.registers.get(MASTER) & MASTER_ENABLE != 0
            && (gpu.banks.active() != 0 || pipes::display_interrupts(gpu))
    }
}
