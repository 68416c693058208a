//! Decodes the writes that PIPE_CONTROL and MI_FLUSH_DW make after their flush.
//!
//! The flush itself has no effect here: the GPU's own caches are not simulated.

use super::encoding::*;
use super::{Command, Streamer, wide};
use crate::gpu::fault_log::HangCause;
use gem_coherency::platform::EngineClass;

/// The dwords of the longest PIPE_CONTROL, and one more, which shows that a command is too long.
pub(in crate::gpu) const PIPE_CONTROL_READS: usize = 7;

/// Decodes PIPE_CONTROL.
///
/// # Errors
/// The cause of the hang for a wrong length, or an address in the global GTT.
pub(super) fn pipe_control(on: &Streamer, words: &[u32]) -> Result<Command, HangCause> {
    let version = on.graphics();
    let (flags, address, data) = match (words, version) {
        (&[flags, address, ref data @ ..], ..=5) => (flags, address.into(), data),
        (&[_, flags, address, ref data @ ..], 6..=7) => (flags, address.into(), data),
        (&[_, flags, low, high, ref data @ ..], 8..) => (flags, wide(low, high), data),
        // Without an address there is nothing to write.
        (&[_, flags, ..], 6..) if operation(flags) == POST_SYNC_NOTHING => return Ok(Command::Nothing),
        _ => return Err(HangCause::Unknown),
    };
    let elsewhere = match version {
        ..=5 => false,
        6 => flags & PIPE_CONTROL_INDEX != 0,
        7.. => flags & (PIPE_CONTROL_INDEX | PIPE_CONTROL_REGISTER) != 0,
    };
    if operation(flags) == POST_SYNC_NOTHING || elsewhere {
        return Ok(Command::Nothing);
    }
    // On Sandybridge, Mesa selects the global GTT for every write (bit 2 of the address), for which the kernel
    // binds the object there, at the same address.
    if version >= 7 && flags & PIPE_CONTROL_GLOBAL != 0 {
        on.global()?;
    }
    let address = address & if version >= 7 { !3 } else { !7 };
    match (operation(flags), data) {
        (POST_SYNC_DATA, [_] | [_, _]) => Ok(Command::Store { address, data: data.to_vec() }),
        // No pixel was drawn.
        (POST_SYNC_DEPTH_COUNT, _) => Ok(Command::Store { address, data: vec![0, 0] }),
        (POST_SYNC_TIMESTAMP, _) => Ok(Command::StoreTimestamp { address }),
        _ => Err(HangCause::Unknown),
    }
}

/// Decodes MI_FLUSH_DW.
///
/// # Errors
/// The cause of the hang for a wrong length, or an address in the global GTT; [`HangCause::Unsupported`] for a
/// timestamp of a copy engine.
pub(in crate::gpu) fn flush(on: &Streamer, first: u32, operands: &[u32]) -> Result<Command, HangCause> {
    match operation(first) {
        POST_SYNC_NOTHING => return Ok(Command::Nothing),
        POST_SYNC_DATA => {}
        _ if on.engine == EngineClass::Copy => return Err(HangCause::Unsupported),
        POST_SYNC_TIMESTAMP => {}
        // Reserved.
        _ => return Ok(Command::Nothing),
    }
    let (address, data) = match operands {
        [low, high, data @ ..] if on.is_wide() => (wide(*low, *high), data),
        [low, data @ ..] if !on.is_wide() => ((*low).into(), data),
        _ => return Err(HangCause::Unknown),
    };
    if first & FLUSH_INDEX != 0 {
        // A store to the status page, which the kernel owns.
        return Ok(Command::Nothing);
    }
    if address & u64::from(FLUSH_GLOBAL) != 0 {
        on.global()?;
    }
    let address = address & !7;
    match data {
        _ if operation(first) == POST_SYNC_TIMESTAMP => Ok(Command::StoreTimestamp { address }),
        [_] | [_, _] => Ok(Command::Store { address, data: data.to_vec() }),
        _ => Err(HangCause::Unknown),
    }
}

/// Returns the post-sync operation.
fn operation(flags: u32) -> u32 {
    flags >> POST_SYNC_SHIFT & 3
}
