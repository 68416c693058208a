//! Reads of pipes at a vertical blank: the CRC of the bytes, for the driver, and the number of stale ones, for the cache's log.
//! The display reads memory, past all caches.
//!
//! The CRC is that of IEEE 802.3, over the lines of the primary plane and then those of the cursor. Hardware computes another
//! one, over the pixels of the finished frame; in both cases the CRCs of equal frames are equal.

use super::planes;
use crate::gpu::Gpu;
use crate::gpu::display::{CrcDone, DISTANCE, Model, Picture, Plane, Scanout};
use crate::gpu::interrupts::Block;
use crate::qemu::cache;

/// PIPE_CRC_CTL(A): bit 31 enables. PIPE_CRC_RES_HSW(A): the CRC of the last frame.
const CRC_CONTROL: u32 = 0x6_0050;
const CRC_ENABLE: u32 = 1 << 31;
const CRC_RESULT: u32 = 0x6_0064;

/// GEN7_ERR_INT: ERR_INT_PIPE_CRC_DONE(A), and the distance of the other pipes' bits. DE_ERR_INT_IVB in DEISR says that
/// something is pending there.
const ERROR_INTERRUPTS: u32 = 0x4_4040;
const ERROR_CRC_DONE: u32 = 1 << 2;
const ERROR_PIPE_DISTANCE: u32 = 3;
const DISPLAY: Block = Block(0x4_4000);
const ERROR_EVENT: u32 = 1 << 30;
/// GEN8_PIPE_CDCLK_CRC_DONE, in the pipe's block.
const CRC_DONE_GEN8: u32 = 1 << 28;

/// PIPE_CRC_SOURCE_PF_IVB, PIPE_CRC_SOURCE_DMUX_SKL.
pub static HASWELL: Scanout = Scanout {
    layout: &planes::HASWELL,
    source: 3 << 29,
    whole_pipe: 2 << 29,
    crc_done: CrcDone::ErrorInterrupts,
};
pub static BROADWELL: Scanout = Scanout { crc_done: CrcDone::PipeBlock, ..HASWELL };
pub static SKYLAKE: Scanout =
    Scanout { layout: &planes::SKYLAKE, source: 7 << 28, whole_pipe: 4 << 28, crc_done: CrcDone::PipeBlock };
pub static ICE_LAKE: Scanout = Scanout { layout: &planes::ICE_LAKE, ..SKYLAKE };

/// A pipe that is on has read a frame.
pub fn frame(gpu: &mut Gpu, model: &Model, pipe: u32, block: Block) {
    let planes = planes::of_pipe(gpu, model.scanout.layout, pipe);
    if cache::has_log() {
        log(gpu, pipe, planes);
    }
    let control = gpu.registers.get(CRC_CONTROL + DISTANCE * pipe);
    if control & CRC_ENABLE == 0 || control & model.scanout.source != model.scanout.whole_pipe {
        return;
    }
    let Some(crc) = crc(gpu, planes) else {
        gpu.trace(format_args!("no CRC of pipe {pipe}: its pictures are not known, or not mapped"));
        return;
    };
    gpu.registers.set(CRC_RESULT + DISTANCE * pipe, crc);
    match model.scanout.crc_done {
        CrcDone::ErrorInterrupts => {
            let pending = gpu.registers.get(ERROR_INTERRUPTS);
            let done = ERROR_CRC_DONE << (ERROR_PIPE_DISTANCE * pipe);
            gpu.registers.set(ERROR_INTERRUPTS, pending | done);
            DISPLAY.raise(gpu, ERROR_EVENT);
        }
        CrcDone::PipeBlock => block.raise(gpu, CRC_DONE_GEN8),
    }
}

/// Writes a line to the cache's log for each plane that changed since the last blank, or whose number of stale bytes did.
fn log(gpu: &mut Gpu, pipe: u32, planes: [Plane; 2]) {
    let now = planes.map(|plane| match plane {
        Plane::Shows(picture) => (plane, stale(gpu, picture)),
        Plane::Off | Plane::Unknown(_) => (plane, None),
    });
    let Some(before) = gpu.scanned.get_mut(pipe as usize) else {
        return;
    };
    let before = std::mem::replace(before, now);
    let pipe = char::from(b'A' + pipe as u8);
    for ((name, before), now) in ["primary", "cursor"].into_iter().zip(before).zip(now) {
        if before == now {
            continue;
        }
        let what = match now {
            (Plane::Off, _) => "off".to_owned(),
            (Plane::Unknown(control), _) => format!("not known (control register {control:08x})"),
            (Plane::Shows(picture), None) => format!("at {:x}, not mapped", picture.at),
            (Plane::Shows(picture), Some(stale)) => {
                format!("at {:x}, {stale} of {} bytes stale", picture.at, picture.line * picture.lines)
            }
        };
        cache::log(format_args!("pipe {pipe}: {name} {what}"));
    }
}

/// The number of bytes of a picture that are newer in the CPU's cache; `None`: a page of it is not mapped.
fn stale(gpu: &Gpu, picture: Picture) -> Option<usize> {
    picture.starts().map(|at| gpu.stale_bytes(at, picture.line as usize)).sum()
}

/// The CRC of the bytes that the planes show; `None` if they are not known.
fn crc(gpu: &Gpu, planes: [Plane; 2]) -> Option<u32> {
    let mut crc = u32::MAX;
    for plane in planes {
        let picture = match plane {
            Plane::Off => continue,
            Plane::Shows(picture) => picture,
            Plane::Unknown(_) => return None,
        };
        let mut line = vec![0; picture.line as usize];
        for at in picture.starts() {
            gpu.scan(at, &mut line)?;
            crc = add(crc, &line);
        }
    }
    Some(!crc)
}

/// Adds bytes to a CRC, eight at once: a picture has millions.
fn add(crc: u32, bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let crc = eights.iter().fold(crc, |crc, eight| {
        let mixed = u64::from_le_bytes(*eight) ^ u64::from(crc);
        let followed = mixed.to_le_bytes().into_iter().zip(CRCS.iter().rev());
        followed.fold(0, |crc, (byte, crcs)| crc ^ crcs[byte as usize])
    });
    rest.iter().fold(crc, |crc, byte| crc >> 8 ^ CRCS[0][(crc as u8 ^ byte) as usize])
}

/// CRCs of a byte, by how many zeros follow it.
static CRCS: [[u32; 256]; 8] = {
    let mut table = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 64 {
            crc = crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 };
            bit += 1;
            if bit % 8 == 0 {
                table[bit / 8 - 1][byte] = crc;
            }
        }
        byte += 1;
    }
    table
};
