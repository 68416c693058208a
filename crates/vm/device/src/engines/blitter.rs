//! Copies and fills of the blitter, on linear surfaces and in the per-process space (before gen6 in
//! the global one). Tiling and compression are ignored.
//!
//! An engine hangs at one of these commands that its platform does not have, and, from gen6 on, at every command of
//! the blitter if it is not the copy engine. Other commands of the blitter are skipped.

use super::fetch::FETCH;
use crate::gpu::Gpu;
use crate::gpu::blits::Blit;
use crate::gpu::memory::Address;
use crate::translation::page_tables::{Context, Space, pieces};
use Blit::{BlockCopy, Color, FastColor, FastCopy, MemCopy, MemSet, SourceCopy};
use std::ops::ControlFlow::{self, Break, Continue};

/// Bits 31..29 of the first dword: the blitter's commands.
pub const CLIENT: u32 = 2;

/// A surface in the address space of the context.
struct Surface {
    base: u64,
    pitch: i64,
    bytes_per_pixel: u64,
}

impl Surface {
    fn pixel(&self, x: u32, y: u32) -> u64 {
        self.base
            .wrapping_add_signed(i64::from(y) * self.pitch)
            .wrapping_add(u64::from(x) * self.bytes_per_pixel)
    }
}

/// Coordinates, two to a dword: the x in the lower half.
fn x_y(word: u32) -> (u32, u32) {
    (word & 0xffff, word >> 16)
}

/// A pitch in the lower half of a dword, in bytes; it may be negative.
fn pitch(word: u32) -> i64 {
    i64::from(word as u16 as i16)
}

/// A pitch of the block commands: less one, in 18 bits.
fn block_pitch(word: u32) -> i64 {
    i64::from(word & 0x3_ffff) + 1
}

/// MEM_COPY: widths count pages of 256 bytes (MEM_COPY_PAGE_COPY_MODE); there are several rows (MEM_COPY_MATRIX_COPY).
const MEM_COPY_PAGES: u32 = 1 << 19;
const MEM_COPY_ROWS: u32 = 1 << 17;

/// A number of MEM_COPY and MEM_SET, which is less one.
fn less_one(word: u32) -> u64 {
    u64::from(word) + 1
}

fn wide(low: u32, high: u32) -> u64 {
    u64::from(high & 0xffff) << 32 | u64::from(low)
}

impl Gpu {
    /// Executes a command of the blitter. `Break`: the engine does not have it, and hangs.
    pub fn blit(&mut self, context: &Context, words: &[u32; FETCH]) -> ControlFlow<()> {
        let blit = Blit::of(words[0]);
        let name = self.engines[context.engine].info.name;
        let is_blitter = self.platform.version < 6 || name.starts_with("bcs");
        if !is_blitter || blit.is_some_and(|blit| !self.platform.blits.contains(&blit)) {
            self.trace(format_args!("{name} does not have {:08x}, and hangs", words[0]));
            self.engines[context.engine].hangs = true;
            return Break(());
        }
        if let Some(blit) = blit {
            self.perform(context, blit, words);
        }
        Continue(())
    }

    fn perform(&self, context: &Context, blit: Blit, words: &[u32; FETCH]) {
        let [first, control, from, to, w4, w5, w6, w7, w8, w9, w10, ..] = *words;
        // 64-bit addresses since gen8: every address has a dword more.
        let is_wide = self.platform.version >= 8;
        let target = if is_wide { wide(w4, w5) } else { w4.into() };
        match blit {
            FastColor => {
                let surface = Surface { base: wide(w4, w5), pitch: block_pitch(control), bytes_per_pixel: 4 };
                self.fill(context, &surface, from, to, w7);
            }
            Color => {
                let surface =
                    Surface { base: target, pitch: pitch(control), bytes_per_pixel: blit_depth(control) };
                let color = if is_wide { w6 } else { w5 };
                self.fill(context, &surface, from, to, color);
            }
            SourceCopy | FastCopy => {
                let bytes_per_pixel =
                    if blit == FastCopy { fast_copy_depth(control) } else { blit_depth(control) };
                let (source_at, source_pitch, source) =
                    if is_wide { (w6, w7, wide(w8, w9)) } else { (w5, w6, w7.into()) };
                let target = Surface { base: target, pitch: pitch(control), bytes_per_pixel };
                let source = Surface { base: source, pitch: pitch(source_pitch), bytes_per_pixel };
                self.copy(context, (&target, from, to), (&source, source_at));
            }
            BlockCopy => {
                let bytes_per_pixel = block_copy_depth(first);
                let target = Surface { base: wide(w4, w5), pitch: block_pitch(control), bytes_per_pixel };
                let source = Surface { base: wide(w9, w10), pitch: block_pitch(w8), bytes_per_pixel };
                self.copy(context, (&target, from, to), (&source, w7));
            }
            MemSet => {
                let row = vec![(w6 >> 24) as u8; less_one(control) as usize];
                for number in 0..less_one(from) {
                    self.store_row(context, wide(w4, w5).wrapping_add(number * less_one(to)), &row);
                }
            }
            MemCopy => {
                let unit = if first & MEM_COPY_PAGES != 0 { 256 } else { 1 };
                let rows = if first & MEM_COPY_ROWS != 0 { less_one(from) } else { 1 };
                let mut row = vec![0; (less_one(control) * unit) as usize];
                for number in 0..rows {
                    self.load_row(context, wide(w5, w6).wrapping_add(number * less_one(to)), &mut row);
                    self.store_row(context, wide(w7, w8).wrapping_add(number * less_one(w4)), &row);
                }
            }
        }
    }

    /// Reads a row; bytes of pages that are not mapped stay as they are.
    fn load_row(&self, context: &Context, from: u64, row: &mut [u8]) {
        for (at, piece) in pieces(from, row.len()) {
            if let Some(address) = self.in_space(context, at) {
                self.memory.read(address, &mut row[piece]);
            }
        }
    }

    /// Writes a row, where pages are mapped.
    fn store_row(&self, context: &Context, to: u64, row: &[u8]) {
        for (at, piece) in pieces(to, row.len()) {
            if let Some(address) = self.in_space(context, at) {
                self.memory.write(address, &row[piece]);
            }
        }
    }

    fn in_space(&self, context: &Context, at: u64) -> Option<Address> {
        self.translate(context, Space::PerProcess, at)
    }

    fn fill(&self, context: &Context, surface: &Surface, from: u32, to: u32, color: u32) {
        let ((left, top), (right, bottom)) = (x_y(from), x_y(to));
        let pixel = &color.to_le_bytes()[..surface.bytes_per_pixel as usize];
        for y in top..bottom {
            for x in left..right {
                if let Some(address) = self.in_space(context, surface.pixel(x, y)) {
                    self.memory.write(address, pixel);
                }
            }
        }
    }

    /// Copies row by row, each in pieces that do not cross a page.
    fn copy(
        &self,
        context: &Context,
        (target, from, to): (&Surface, u32, u32),
        (source, source_at): (&Surface, u32),
    ) {
        let ((left, top), (right, bottom)) = (x_y(from), x_y(to));
        let (source_left, source_top) = x_y(source_at);
        let row = u64::from(right.saturating_sub(left)) * target.bytes_per_pixel;
        let mut buffer = [0; 4096];
        for y in 0..bottom.saturating_sub(top) {
            let to = target.pixel(left, top + y);
            let from = source.pixel(source_left, source_top + y);
            let mut done = 0;
            while done < row {
                let (to, from) = (to.wrapping_add(done), from.wrapping_add(done));
                let rest_of_page = (4096 - (to & 0xfff)).min(4096 - (from & 0xfff));
                let length = rest_of_page.min(row - done);
                let piece = &mut buffer[..length as usize];
                if let Some(from) = self.in_space(context, from)
                    && let Some(to) = self.in_space(context, to)
                {
                    self.memory.read(from, piece);
                    self.memory.write(to, piece);
                }
                done += length;
            }
        }
    }
}

/// Bytes per pixel in XY_COLOR_BLT and XY_SRC_COPY_BLT: bits 25..24.
fn blit_depth(control: u32) -> u64 {
    match control >> 24 & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => 4,
    }
}

/// Bytes per pixel in XY_FAST_COPY_BLT: bits 26..24.
fn fast_copy_depth(control: u32) -> u64 {
    match control >> 24 & 7 {
        0 => 1,
        1 => 2,
        3 => 4,
        4 => 8,
        _ => 16,
    }
}

/// Bytes per pixel in XY_BLOCK_COPY_BLT: bits 21..19 of the first dword.
fn block_copy_depth(first: u32) -> u64 {
    match first >> 19 & 7 {
        0 => 1,
        1 => 2,
        2 => 4,
        3 => 8,
        4 => 12,
        _ => 16,
    }
}
