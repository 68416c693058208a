//! Gen11 and gen12: contexts through the submit queue; interrupts through two banks, in which every
//! engine has a bit, and an identity register that names engine and events.

use crate::display::pipes;
use crate::eu::layout::Form;
use crate::generations::gen8_9::OTHER_BLOCKS;
use crate::generations::gt;
use crate::gpu::Gpu;
use crate::gpu::blits::{BLITS_GEN9, BLITS_GEN12};
use crate::gpu::engine::{EngineInfo, Source, StatusFormat, Submission, offset};
use crate::gpu::interrupts::Block;
use crate::gpu::platform::{Bars, Display, Generation, PerProcess, Platform};
use crate::snooping::{KEPT_GEN11, KEPT_GEN12, Snooping};

/// GEN11_GFX_MSTR_IRQ: bit 31 enables; bits 0 and 1: a bank has something; bit 16: the display has.
pub const MASTER: u32 = 0x19_0010;
pub const MASTER_ENABLE: u32 = 1 << 31;
const MASTER_DISPLAY: u32 = 1 << 16;
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
    shaders: Some(Form::Gen11),
    physical_status_page: false,
    bars: Bars { registers: 8 << 20, entries: 8 << 20, entries_bar: None, wide: true },
    // BDW_GMCH_GGMS: 8 MiB of page-table entries; no stolen memory.
    graphics_control: 3 << 6,
    local_memory: None,
    display: Display::FusedOff,
    power_up: &[ONE_SLICE, FREQUENCIES, GUC],
};

/// A bit for each video engine that is absent: vcs0, vcs2 and vecs0 are there. i915 looks at those of the platform only, xe at all.
pub const MEDIA_ENGINES: (u32, u32) = (gt::VIDEO_FUSE, 0xe << 16 | 0xfa);

pub const GEN12: Platform = Platform {
    version: 12,
    keeping: KEPT_GEN12,
    blits: BLITS_GEN12,
    shaders: Some(Form::Gen12),
    submission: Submission::SubmitQueue(StatusFormat::Gen12),
    power_up: &[ONE_SLICE, SIX_SUBSLICES, MEDIA_ENGINES, FREQUENCIES, GUC],
    ..GEN11
};

/// The bits of the master register for the banks, and for the display, with a pending interrupt.
pub fn interrupting(gpu: &Gpu) -> u32 {
    let display = if pipes::display_interrupts(gpu) { MASTER_DISPLAY } else { 0 };
    display | gpu.banks.active()
}

/// Reads that all GTs since gen11 answer in the same way.
pub fn read(gpu: &Gpu, register: u32) -> Option<u32> {
    gpu.banks.read(register)
}

/// Writes that all GTs since gen11 handle in the same way; `base` as for [`gt::forcewake`].
pub fn write(gpu: &mut Gpu, base: u32, register: u32, value: u32) -> bool {
    if gpu.banks.write(gpu.platform.engines, register - base, value) {
        gpu.update_interrupt();
        return true;
    }
    match register - base {
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
            MASTER => Some(gpu.registers.get(MASTER) & MASTER_ENABLE | interrupting(gpu)),
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
        gpu.registers.get(MASTER) & MASTER_ENABLE != 0 && interrupting(gpu) != 0
    }
}
