//! Media blocks: rows of bytes in a surface, and in registers.
//!
//! In registers, a row begins at a multiple of its width, rounded up to a power of two that is at least four.
//!
//! Sources: the documentation of Intel's virtual ISA, `MEDIA_LD` and `MEDIA_ST`, for rows in registers, the largest blocks, and what lies
//! outside of a surface; IGT's `gpu_cmds.c` and Intel's VA driver, for the width of surfaces in dwords; gmmlib, for their pitch.

use super::message::Media;
use super::port::Payload;
use crate::execute::error::Why;
use crate::execute::registers::REGISTER_BYTES;
use crate::execute::shader::Located;
use crate::execute::{Access, Bus, Rows, Thread};

/// The bits of the header's third dword for the width and, above, the height, each less one. Others, which are zero here, change the
/// layout in registers, or the message.
const WIDTH: u32 = 0x3f;
const HEIGHT_SHIFT: u32 = 16;
const SIZE: u32 = WIDTH << HEIGHT_SHIFT | WIDTH;
/// Bytes of the largest block in registers.
const MOST: usize = 8 * REGISTER_BYTES;
/// A linear surface's pitch is a multiple of this.
const PITCH: u32 = 64;

/// A block of a surface.
#[derive(Clone, Copy, Debug)]
struct Block {
    x: u32,
    y: u32,
    width: usize,
    height: usize,
    /// Bytes from a row to the next one in registers.
    pitch: usize,
}

impl Block {
    /// Decodes the header.
    fn new([x, y, size]: [u32; 3]) -> Self {
        let [width, height] = [size, size >> HEIGHT_SHIFT].map(|less| (less & WIDTH) as usize + 1);
        Self { x, y, width, height, pitch: width.next_power_of_two().max(4) }
    }

    /// Returns the reason why the effect of its message is not known; nothing if it is.
    fn doubt(&self, size: u32, media: Media, rows: Rows) -> Option<&'static str> {
        let Self { x, y, width, height, pitch } = *self;
        let registers = (pitch * height).div_ceil(REGISTER_BYTES);
        let reads = !media.writes;
        let inside = |row| self.part(row, rows).is_some_and(|part| part.len == width);
        let reasons = [
            (size & !SIZE != 0, "the size has bits beside width and height"),
            (pitch * height > MOST, "it has more than 8 registers"),
            (registers > media.registers, "the message has fewer registers"),
            (reads && registers < media.registers, "the message has more registers"),
            (rows.pitch % PITCH != 0, "the pitch of the surface is not a multiple of 64"),
            // They may be signed.
            (media.writes && (x | y) >> 31 != 0, "it is stored, and x or y has its highest bit"),
            (media.writes && (x % 4 != 0 || width % 4 != 0), "it is stored, and is not of whole dwords"),
            (reads && !(0..height).all(inside), "it is read, and is not inside of the surface"),
        ];
        reasons.into_iter().find_map(|(is_met, reason)| is_met.then_some(reason))
    }

    /// Returns the part of a row of the block that is inside of the surface.
    fn part(&self, row: usize, rows: Rows) -> Option<Part> {
        let number = self.y.saturating_add(row as u32);
        let len = self.width.min(rows.bytes.saturating_sub(self.x) as usize);
        let offset = number.saturating_mul(rows.pitch).saturating_add(self.x);
        (number < rows.count && len > 0).then_some(Part { offset, skip: row * self.pitch, len })
    }
}

/// Bytes of a row.
struct Part {
    /// The first one in the surface.
    offset: u32,
    /// The first one in the registers.
    skip: usize,
    len: usize,
}

impl Thread<'_> {
    /// Reads or writes the rows of a block. The masks do not apply. Stored bytes outside of the surface are dropped.
    pub(super) fn media(
        &mut self,
        located: &Located,
        payload: &Payload,
        media: Media,
        bus: &mut dyn Bus,
    ) -> Result<(), Why> {
        let (i, Media { writes, surface, registers }) = (&located.instruction, media);
        let mut header = [0; 3];
        for (at, dword) in header.iter_mut().enumerate() {
            *dword = self.sent(i, payload.first, 4 * at, 4, "the place or the size of a block")? as u32;
        }
        if !writes {
            // Bytes between the rows mean nothing.
            for skip in 0..registers * REGISTER_BYTES {
                self.respond(i, skip, 1, None)?;
            }
        }
        let (block, [.., size]) = (Block::new(header), header);
        let doubt = |what| Why::Media { surface, x: block.x, y: block.y, size, what };
        let rows = bus.rows(surface).ok_or(doubt("the rows of the surface are not known"))?;
        if let Some(reason) = block.doubt(size, media, rows) {
            return Err(doubt(reason));
        }
        let (data, before) = payload.data(REGISTER_BYTES);
        for Part { offset, skip, len } in (0..block.height).filter_map(|row| block.part(row, rows)) {
            let access = Access { at: located.at, surface, offset };
            let mut bytes = vec![0; len];
            if writes {
                for (number, byte) in bytes.iter_mut().enumerate() {
                    *byte = self.sent(i, data, before + skip + number, 1, "a stored byte")? as u8;
                }
                bus.write(access, &bytes);
            } else {
                bus.read(access, &mut bytes);
                for (number, byte) in bytes.into_iter().enumerate() {
                    self.respond(i, skip + number, 1, Some(u64::from(byte)))?;
                }
            }
        }
        Ok(())
    }
}
