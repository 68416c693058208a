//! Commands, and how they are read from a stream.

use super::mi;
use crate::gpu::Gpu;
use crate::translation::page_tables::{Context, Space};

/// Dwords read at a time; longer commands read the rest of their dwords one by one.
pub const FETCH: usize = 32;

/// A command, with its place in the stream.
pub struct Command {
    pub words: [u32; FETCH],
    pub space: Space,
    pub at: u64,
}

/// What reads as the end of the stream: used where nothing is mapped.
const BATCH_BUFFER_END_WORD: u32 = mi::BATCH_BUFFER_END << 23;
/// PIPELINE_SELECT (two forms) and 3DSTATE_VF_STATISTICS: 3D commands of one dword.
const ONE_DWORD_3D: [u32; 3] = [0x6904, 0x6104, 0x680b];

impl Command {
    /// The opcode of an MI command (small numbers), or some larger number.
    pub fn opcode(&self) -> u32 {
        self.words[0] >> 23
    }

    /// The length in dwords.
    pub fn length(&self, version: u8) -> u32 {
        let word = self.words[0];
        match word >> 29 {
            0 => match self.opcode() {
                ..mi::FIRST_WITH_LENGTH => 1,
                mi::BATCH_BUFFER_START => {
                    if version >= 8 {
                        3
                    } else {
                        2
                    }
                }
                mi::STORE_DWORD_IMM | mi::UPDATE_GTT if version >= 8 => (word & 0x3ff) + 2,
                mi::FLUSH_DW => (word & 0x3f) + 2,
                _ => (word & 0xff) + 2,
            },
            3 if ONE_DWORD_3D.contains(&(word >> 16)) => 1,
            2 | 3 => (word & 0xff) + 2,
            _ => 1,
        }
    }
}

impl Gpu {
    /// Reads a piece of the stream, with one translation per page.
    pub fn fetch(&self, context: &Context, space: Space, at: u64) -> [u32; FETCH] {
        let mut words = [BATCH_BUFFER_END_WORD; FETCH];
        let here = ((4096 - (at & 0xfff)) / 4).min(FETCH as u64);
        let (first, rest) = words.split_at_mut(here as usize);
        for (part, at) in [(first, at), (rest, at.wrapping_add(4 * here))] {
            if !part.is_empty()
                && let Some(address) = self.translate(context, space, at)
            {
                let mut bytes = [0; 4 * FETCH];
                let bytes = &mut bytes[..4 * part.len()];
                self.memory.read(address, bytes);
                for (word, bytes) in part.iter_mut().zip(bytes.as_chunks().0) {
                    *word = u32::from_le_bytes(*bytes);
                }
            }
        }
        words
    }

    /// Any dword of a command, also beyond those that were fetched.
    pub fn word(&self, context: &Context, command: &Command, index: u32) -> Option<u32> {
        let at = command.at.wrapping_add(4 * u64::from(index));
        command.words.get(index as usize).copied().or_else(|| {
            let address = self.translate(context, command.space, at)?;
            Some(self.memory.read_u32(address))
        })
    }
}
