//! Commands whose accesses of memory are not simulated, or not all of them.

use super::encoding::{
    CLIENT_BLITTER, CLIENT_MI, CLIENT_PIPELINES, CLIENT_SHIFT, END_COMPARES, MI_CONDITIONAL_BATCH_BUFFER_END,
    mi_opcode,
};
use super::lengths;
use super::registers::Transfer;
use super::{Command, Streamer};
use crate::gpu::memory::View;
use crate::observe::coverage::Kind;

/// MI commands that access memory of the context, and are skipped.
const MI: [(u32, &str); 7] = [
    (0x16, "MI_SEMAPHORE_MBOX"),
    (0x28, "MI_REPORT_PERF_COUNT"),
    (0x2b, "MI_RS_STORE_DATA_IMM"),
    (0x2c, "MI_LOAD_URB_MEM"),
    (0x2d, "MI_STORE_URB_MEM"),
    (0x2f, "MI_ATOMIC"),
    (0x30, "MI_BATCH_BUFFER"),
];
/// 3DSTATE_WM_HZ_OP (graphics 8 and later): the upper half of its first dword. Unless these bits of the second one are 0,
/// the hardware clears or resolves a depth or a stencil buffer.
const HZ_OP: u32 = 0x7852;
const HZ_OP_WORKS: u32 = 1 << 31 | 1 << 30 | 1 << 28 | 1 << 27;

/// Returns the kind of work that a command of the 3D or the compute pipeline starts.
pub(in crate::gpu) fn started(on: &Streamer, first: u32) -> Option<Kind> {
    let opcode = first >> 16;
    match (lengths::generation(&on.machine), opcode >> 8) {
        (..40, 0x7f) | (40.., 0x7b) => Some(Kind::Draw),
        (40.., 0x71) => Some(Kind::Dispatch),
        // All but CFE_STATE.
        (125.., 0x72) if opcode != 0x7200 => Some(Kind::Dispatch),
        _ => None,
    }
}

/// Counts a command that copies, or that is skipped although it may access memory.
pub(in crate::gpu) fn cover(view: &View<'_>, on: &Streamer, command: &Command, words: &[u32]) {
    match command {
        Command::Nothing => {
            if let Some(name) = skipped(on, words) {
                view.skip(Kind::Other(name), name);
            }
        }
        Command::Copy { .. } | Command::Blit(_) => view.follow(Kind::Copy),
        Command::Store { .. }
        | Command::StoreTimestamp { .. }
        | Command::Atomic(_)
        | Command::Registers(Transfer::Fetch { .. } | Transfer::Store { .. })
        | Command::Wait(_)
        | Command::EndUnless(..) => view.bindings.tally.stream(),
        // The run counts those that depend on what is not known.
        Command::Start { .. }
        | Command::Predicate(_)
        | Command::Compare
        | Command::Math(_)
        | Command::End
        | Command::Arbitrate(_)
        | Command::Registers(Transfer::Load(_) | Transfer::Copy { .. }) => {}
    }
}

/// Returns the name of a command without a simulated effect that may access memory, or that decides whether later ones do;
/// draws and dispatches excepted.
fn skipped(on: &Streamer, words: &[u32]) -> Option<&'static str> {
    let (&first, second) = (words.first()?, words.get(1).copied().unwrap_or(0));
    match first >> CLIENT_SHIFT {
        CLIENT_MI => match mi_opcode(first) {
            MI_CONDITIONAL_BATCH_BUFFER_END if first & END_COMPARES == 0 => {
                Some("MI_CONDITIONAL_BATCH_BUFFER_END")
            }
            opcode => MI.iter().find(|(number, _)| *number == opcode).map(|(_, name)| *name),
        },
        CLIENT_BLITTER => Some("blits that are tiled, clipped, or combine colours"),
        CLIENT_PIPELINES if !on.renders() => {
            // Pipeline 2, in bits 28:27; the others have no command that works.
            (first >> 27 & 3 == 2).then_some("commands of the video engines")
        }
        CLIENT_PIPELINES => {
            (is_depth_operation(first) && second & HZ_OP_WORKS != 0).then_some("3DSTATE_WM_HZ_OP")
        }
        _ => None,
    }
}

/// Returns whether a command is 3DSTATE_WM_HZ_OP, of which [`skipped`] needs all dwords.
pub(in crate::gpu) fn is_depth_operation(first: u32) -> bool {
    first >> 16 == HZ_OP
}
