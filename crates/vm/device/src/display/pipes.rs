//! Pipes: where their scan is, and the events of vertical blanks, sixty times a second. The clock
//! alone says where a scan is: the mode's timings decide no more than the number of its lines.

use super::scanout;
use crate::gpu::Gpu;
use crate::gpu::display::{DISTANCE, PIPES};
use crate::gpu::interrupts::Block;
use crate::qemu::clock;

/// PIPEDSL(A): the line that is scanned out.
const SCAN_LINE: u32 = 0x7_0000;
/// PIPE_FRMCOUNT_G4X(A): frames since power-up.
const FRAME_COUNTER: u32 = 0x7_0040;
/// TRANSCONF(A): bit 31 enables.
const CONFIGURATION: u32 = 0x7_0008;
const ENABLE: u32 = 1 << 31;
/// TRANS_VTOTAL(A): lines of the picture (bits 12..0) and of the whole frame (28..16), less one.
const VERTICAL_TOTAL: u32 = 0x6_000c;

/// GEN11_DISPLAY_INT_CTL (of gen8 and gen9 the master register): bit 31 enables.
const DISPLAY_INTERRUPTS: u32 = 0x4_4200;
const DISPLAY_ENABLE: u32 = 1 << 31;
/// GEN8_DE_PIPE_IRQ(A): the first of the bits there that name pipes.
const PIPE_BIT: u32 = 16;

/// DEISR: every pipe has five bits, DE_PIPE_VBLANK_IVB and DE_PLANE_FLIP_DONE_IVB among them.
pub const EVENTS_IVB: &[(Block, u32)] =
    &[(Block(0x4_4000), 9), (Block(0x4_4000), 9 << 5), (Block(0x4_4000), 9 << 10)];
/// GEN8_DE_PIPE_ISR: GEN8_PIPE_VBLANK and GEN9_PIPE_PLANE1_FLIP_DONE to _PLANE4_, which on gen8 are
/// those of the primary plane, the sprite and the cursor.
const EVENTS_GEN8: u32 = 1 << 0 | 0xf << 3;
pub const EVENTS: &[(Block, u32)] = &[
    (GEN8_BLOCKS[0], EVENTS_GEN8),
    (GEN8_BLOCKS[1], EVENTS_GEN8),
    (GEN8_BLOCKS[2], EVENTS_GEN8),
    (GEN8_BLOCKS[3], EVENTS_GEN8),
];
const GEN8_BLOCKS: [Block; PIPES as usize] =
    [Block(0x4_4400), Block(0x4_4410), Block(0x4_4420), Block(0x4_4430)];

const FRAME_NS: u64 = 16_666_667;

/// The pipe whose register this is, counted from that of pipe A.
fn pipe_of(register: u32, of_pipe_a: u32) -> Option<u32> {
    let offset = register.checked_sub(of_pipe_a)?;
    (offset % DISTANCE == 0 && offset / DISTANCE < PIPES).then_some(offset / DISTANCE)
}

fn is_on(gpu: &Gpu, pipe: u32) -> bool {
    gpu.registers.get(CONFIGURATION + DISTANCE * pipe) & ENABLE != 0
}

/// The line that is scanned out. A frame starts with the vertical blank, below the picture.
fn scan_line(gpu: &Gpu, pipe: u32) -> u32 {
    let timings = gpu.registers.get(VERTICAL_TOTAL + DISTANCE * pipe);
    let (picture, frame) = (u64::from(timings & 0x1fff) + 1, u64::from(timings >> 16 & 0x1fff) + 1);
    let since_blank = clock() % FRAME_NS * frame / FRAME_NS;
    ((picture + since_blank) % frame) as u32
}

/// Registers of pipes that do not read back what was written.
pub fn read(gpu: &Gpu, register: u32) -> Option<u32> {
    if let Some(pipe) = pipe_of(register, SCAN_LINE) {
        Some(scan_line(gpu, pipe))
    } else if pipe_of(register, FRAME_COUNTER).is_some() {
        Some((clock() / FRAME_NS) as u32)
    } else {
        // Gen8 and gen9 answered it as their master register.
        (register == DISPLAY_INTERRUPTS)
            .then(|| gpu.registers.get(DISPLAY_INTERRUPTS) & DISPLAY_ENABLE | interrupting(gpu))
    }
}

/// Registers of pipes with an effect.
pub fn write(gpu: &mut Gpu, register: u32, value: u32) -> bool {
    if pipe_of(register, CONFIGURATION).is_some() {
        gpu.registers.set(register, value);
        if value & ENABLE != 0 {
            await_vertical_blank(gpu);
        }
    } else if register == DISPLAY_INTERRUPTS {
        gpu.registers.set(register, value);
        gpu.update_interrupt();
    } else {
        return false;
    }
    true
}

/// The bits of GEN8_MASTER_IRQ and GEN11_DISPLAY_INT_CTL for pipes with a pending interrupt.
pub fn interrupting(gpu: &Gpu) -> u32 {
    (PIPE_BIT..)
        .zip(GEN8_BLOCKS)
        .filter(|(_, block)| block.active(gpu) != 0)
        .fold(0, |bits, (bit, _)| bits | 1 << bit)
}

/// Whether gen11's display has a pending interrupt.
pub fn display_interrupts(gpu: &Gpu) -> bool {
    gpu.registers.get(DISPLAY_INTERRUPTS) & DISPLAY_ENABLE != 0 && interrupting(gpu) != 0
}

fn await_vertical_blank(gpu: &Gpu) {
    gpu.frame.arm(FRAME_NS - clock() % FRAME_NS);
}

/// The frame's timer rang: every pipe that is on reports its vertical blank, and flips that waited
/// for it as done.
pub fn vertical_blank(gpu: &mut Gpu) {
    let Some(model) = gpu.display else {
        return;
    };
    let mut any = false;
    for (pipe, (block, events)) in (0..).zip(model.pipe_events) {
        if is_on(gpu, pipe) {
            scanout::frame(gpu, model, pipe, *block);
            block.raise(gpu, *events);
            any = true;
        }
    }
    gpu.update_interrupt();
    if any {
        await_vertical_blank(gpu);
    }
}
