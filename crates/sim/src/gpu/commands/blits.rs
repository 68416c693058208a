//! Decodes the blitter's fills and copies of rectangles in linear surfaces.

use super::encoding::*;
use super::{Streamer, wide};
use crate::gpu::fault_log::HangCause;
use gem_coherency::platform::{EngineClass, GraphicsVersion, mocs_class};
use gem_coherency::vocabulary::MocsClass;

/// The first version with the long forms of XY_BLOCK_COPY_BLT and XY_FAST_COLOR_BLT.
const XE_HP: GraphicsVersion = GraphicsVersion::new(12, 50);
/// The first version without XY_COLOR_BLT and XY_SRC_COPY_BLT (`intel_cmds_info.c` of IGT: DG2 has them, Meteor
/// Lake does not).
const XE_LPG: GraphicsVersion = GraphicsVersion::new(12, 70);

/// A fill or a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::gpu) struct Blit {
    pub(in crate::gpu) target: Surface,
    /// Width in pixels.
    pub(in crate::gpu) width: u64,
    /// Height in rows.
    pub(in crate::gpu) rows: u64,
    pub(in crate::gpu) from: From,
}

/// The source of the rectangle's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum From {
    /// A pixel, repeated.
    Colour(Vec<u8>),
    /// A rectangle of the same size.
    Surface(Surface),
}

/// The surface of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) struct Surface {
    /// The address of the rectangle's first pixel.
    pub(in crate::gpu) start: u64,
    /// Bytes from one row to the next.
    pub(in crate::gpu) pitch: i64,
    pub(in crate::gpu) bytes_per_pixel: u64,
    pub(in crate::gpu) mocs: MocsClass,
}

impl Surface {
    fn new(base: u64, pitch: i64, bytes_per_pixel: u64, at: u32, mocs: MocsClass) -> Self {
        let (x, y) = x_y(at);
        let offset = y.wrapping_mul(pitch).wrapping_add(x.wrapping_mul(bytes_per_pixel as i64));
        Self { start: base.wrapping_add_signed(offset), pitch, bytes_per_pixel, mocs }
    }
}

/// Decodes two signed coordinates: the column in the lower half, the row in the upper.
fn x_y(word: u32) -> (i64, i64) {
    (i64::from(word as u16 as i16), i64::from((word >> 16) as u16 as i16))
}

/// Returns the columns and rows between two corners; 0 if they are in the wrong order.
fn extent(from: u32, to: u32) -> (u64, u64) {
    let ((left, top), (right, bottom)) = (x_y(from), x_y(to));
    ((right - left).max(0) as u64, (bottom - top).max(0) as u64)
}

/// Decodes a pitch in bytes from the lower half of a dword; it may be negative.
fn pitch(word: u32) -> i64 {
    i64::from(word as u16 as i16)
}

/// Decodes a blitter command from its first and its other dwords.
///
/// # Errors
/// The cause of the hang for a command that the engine cannot execute.
pub(in crate::gpu) fn decode(on: &Streamer, first: u32, operands: &[u32]) -> Result<Blit, HangCause> {
    // Before graphics 6 the render engine executes blits.
    if on.engine != EngineClass::Copy && on.graphics() >= 6 {
        return Err(HangCause::Unknown);
    }
    let graphics = on.machine.platform.graphics;
    match first >> BLIT_OPCODE_SHIFT & 0x7f {
        XY_COLOR if graphics < XE_LPG => colour(on, first, operands),
        XY_SRC_COPY if graphics < XE_LPG => copy(on, first, operands),
        XY_FAST_COPY if graphics.major >= 9 => fast_copy(first, operands),
        XY_BLOCK_COPY if graphics.major >= 12 => block_copy(on, first, operands),
        XY_FAST_COLOR if graphics.major >= 12 => fast_colour(on, first, operands),
        MEM_COPY if graphics.major >= 20 => memory_copy(first, operands),
        MEM_SET if graphics.major >= 20 => memory_set(first, operands),
        XY_COLOR | XY_SRC_COPY | XY_FAST_COPY | XY_BLOCK_COPY | XY_FAST_COLOR => Err(HangCause::Unknown),
        _ => Err(HangCause::Unsupported),
    }
}

/// Decodes XY_COLOR_BLT.
fn colour(on: &Streamer, first: u32, operands: &[u32]) -> Result<Blit, HangCause> {
    let (control, from, to, base, colour) = match (operands, on.is_wide()) {
        (&[control, from, to, low, high, colour], true) => (control, from, to, wide(low, high), colour),
        (&[control, from, to, low, colour], false) => (control, from, to, low.into(), colour),
        _ => return Err(HangCause::Unknown),
    };
    let bytes = legacy_depth(first, control, ROP_FILL, TARGET_TILED)?;
    let pixel = colour.to_le_bytes().into_iter().take(bytes as usize).collect();
    let target = Surface::new(base, pitch(control), bytes, from, MocsClass::PageTable);
    let (width, rows) = extent(from, to);
    Ok(Blit { target, width, rows, from: From::Colour(pixel) })
}

/// Decodes XY_SRC_COPY_BLT.
fn copy(on: &Streamer, first: u32, operands: &[u32]) -> Result<Blit, HangCause> {
    let control = *operands.first().ok_or(HangCause::Unknown)?;
    let bytes = legacy_depth(first, control, ROP_COPY, TARGET_TILED | SOURCE_TILED)?;
    linear_copy(on.is_wide(), bytes, operands)
}

/// Decodes XY_FAST_COPY_BLT.
fn fast_copy(first: u32, operands: &[u32]) -> Result<Blit, HangCause> {
    let control = *operands.first().ok_or(HangCause::Unknown)?;
    if first & FAST_COPY_TILED != 0 {
        return Err(HangCause::Unsupported);
    }
    let bytes = match control >> 24 & 7 {
        0 => 1,
        1 => 2,
        3 => 4,
        4 => 8,
        5 => 16,
        _ => return Err(HangCause::Unknown),
    };
    linear_copy(true, bytes, operands)
}

/// Decodes the dwords that XY_SRC_COPY_BLT and XY_FAST_COPY_BLT share.
fn linear_copy(is_wide: bool, bytes: u64, operands: &[u32]) -> Result<Blit, HangCause> {
    let (control, from, to, base, source_at, source_pitch, source) = match (operands, is_wide) {
        (&[control, from, to, low, high, at, pitch, source, source_high], true) => {
            (control, from, to, wide(low, high), at, pitch, wide(source, source_high))
        }
        (&[control, from, to, low, at, pitch, source], false) => {
            (control, from, to, low.into(), at, pitch, source.into())
        }
        _ => return Err(HangCause::Unknown),
    };
    let mocs = MocsClass::PageTable;
    let target = Surface::new(base, pitch(control), bytes, from, mocs);
    let source = Surface::new(source, pitch(source_pitch), bytes, source_at, mocs);
    let (width, rows) = extent(from, to);
    Ok(Blit { target, width, rows, from: From::Surface(source) })
}

/// Returns the bytes per pixel of XY_COLOR_BLT and XY_SRC_COPY_BLT, if this GPU supports the other fields.
fn legacy_depth(first: u32, control: u32, operation: u32, tiled: u32) -> Result<u64, HangCause> {
    let bytes = match control >> 24 & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => 4,
    };
    let all = WRITE_ALPHA | WRITE_RGB;
    let partial = bytes == 4 && first & all != all;
    if first & tiled != 0 || partial || control & CLIPPED != 0 || control >> 16 & 0xff != operation {
        return Err(HangCause::Unsupported);
    }
    Ok(bytes)
}

/// Decodes XY_BLOCK_COPY_BLT.
fn block_copy(on: &Streamer, first: u32, operands: &[u32]) -> Result<Blit, HangCause> {
    let expected = if on.machine.platform.graphics >= XE_HP { 21 } else { 11 };
    let &[
        control,
        from,
        to,
        low,
        high,
        offset,
        source_at,
        source_control,
        source,
        source_high,
        source_offset,
        ..,
    ] = operands
    else {
        return Err(HangCause::Unknown);
    };
    if operands.len() != expected {
        return Err(HangCause::Unknown);
    }
    let bytes = block_depth(first)?;
    let target = block_surface(on, control, from, wide(low, high), offset, bytes)?;
    let source =
        block_surface(on, source_control, source_at, wide(source, source_high), source_offset, bytes)?;
    let (width, rows) = extent(from, to);
    Ok(Blit { target, width, rows, from: From::Surface(source) })
}

/// Decodes XY_FAST_COLOR_BLT (its lengths: `emit_clear_main_copy` of xe_migrate.c).
fn fast_colour(on: &Streamer, first: u32, operands: &[u32]) -> Result<Blit, HangCause> {
    let expected = if on.machine.platform.graphics >= XE_HP { 15 } else { 10 };
    let &[control, from, to, low, high, offset, ref colour @ ..] = operands else {
        return Err(HangCause::Unknown);
    };
    if operands.len() != expected {
        return Err(HangCause::Unknown);
    }
    let bytes = block_depth(first)?;
    let target = block_surface(on, control, from, wide(low, high), offset, bytes)?;
    let pixel = colour.iter().flat_map(|word| word.to_le_bytes()).take(bytes as usize).collect();
    let (width, rows) = extent(from, to);
    Ok(Blit { target, width, rows, from: From::Colour(pixel) })
}

/// Returns the extent in bytes and rows of MEM_COPY and MEM_SET. Without rows the height counts for nothing.
fn memory_extent(first: u32, width: u32, height: u32, unit: u64) -> (u64, u64) {
    let one_more = |field: u32| u64::from(field & MEM_EXTENT) + 1;
    (one_more(width) * unit, if first & MEM_MATRIX != 0 { one_more(height) } else { 1 })
}

/// Returns the surface of bytes of MEM_COPY and MEM_SET, at an address and with a pitch.
///
/// Its MOCS index chooses an entry of a table of which nothing bypasses what the mapping says.
fn memory_surface(low: u32, high: u32, pitch: u32) -> Surface {
    Surface {
        start: wide(low, high),
        pitch: i64::from(pitch & MEM_EXTENT) + 1,
        bytes_per_pixel: 1,
        mocs: MocsClass::PageTable,
    }
}

/// Decodes MEM_COPY (`emit_mem_copy` of xe_migrate.c).
fn memory_copy(first: u32, operands: &[u32]) -> Result<Blit, HangCause> {
    let &[width, height, source_pitch, pitch, source, source_high, low, high, _] = operands else {
        return Err(HangCause::Unknown);
    };
    let unit = if first & MEM_COPY_PAGES != 0 { 256 } else { 1 };
    let (width, rows) = memory_extent(first, width, height, unit);
    let from = From::Surface(memory_surface(source, source_high, source_pitch));
    Ok(Blit { target: memory_surface(low, high, pitch), width, rows, from })
}

/// Decodes MEM_SET (`emit_clear_link_copy` of xe_migrate.c).
fn memory_set(first: u32, operands: &[u32]) -> Result<Blit, HangCause> {
    let &[width, height, pitch, low, high, data] = operands else { return Err(HangCause::Unknown) };
    let (width, rows) = memory_extent(first, width, height, 1);
    let from = From::Colour(vec![(data >> MEM_SET_SHIFT) as u8]);
    Ok(Blit { target: memory_surface(low, high, pitch), width, rows, from })
}

/// Returns the bytes per pixel of XY_BLOCK_COPY_BLT and XY_FAST_COLOR_BLT.
fn block_depth(first: u32) -> Result<u64, HangCause> {
    match first >> BLOCK_DEPTH_SHIFT & 7 {
        0 => Ok(1),
        1 => Ok(2),
        2 => Ok(4),
        3 => Ok(8),
        4 => Ok(12),
        5 => Ok(16),
        _ => Err(HangCause::Unknown),
    }
}

/// Decodes a surface whose MOCS index is in the dword of the pitch.
fn block_surface(
    on: &Streamer,
    control: u32,
    at: u32,
    base: u64,
    offset: u32,
    bytes_per_pixel: u64,
) -> Result<Surface, HangCause> {
    // The dword's other bits are not part of the offset: they give the surface's memory type.
    let offset = offset & (0x3fff << 16 | 0x3fff);
    if control & (BLOCK_TILED | BLOCK_COMPRESSED | BLOCK_ENCRYPTED) != 0 || offset != 0 {
        return Err(HangCause::Unsupported);
    }
    let mocs = mocs_class(&on.machine, (control >> BLOCK_MOCS_SHIFT & BLOCK_MOCS) as u8);
    Ok(Surface::new(base, i64::from(control & BLOCK_PITCH) + 1, bytes_per_pixel, at, mocs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::commands::Privilege;
    use gem_coherency::platform::by_name;
    use gem_coherency::vocabulary::KernelVersion;

    fn on(platform: &str) -> Streamer {
        let machine = by_name(platform).unwrap().machine(KernelVersion::new(6, 12), false);
        Streamer { machine, engine: EngineClass::Copy, privilege: Privilege::User }
    }

    #[track_caller]
    fn decoded(platform: &str, words: &[u32]) -> Result<Blit, HangCause> {
        decode(&on(platform), words[0], &words[1..])
    }

    #[test]
    fn a_rectangle_begins_where_its_corner_lies() {
        // 32 bits a pixel, pitch 256, from (2, 3) to (10, 5).
        let words = [0x5430_0005, 0x03f0_0100, 3 << 16 | 2, 5 << 16 | 10, 0x1000, 1, 0xdead_beef];
        let blit = decoded("glk", &words).unwrap();
        assert_eq!((blit.width, blit.rows), (8, 2));
        assert_eq!(blit.target.start, 0x1_0000_1000 + 3 * 256 + 8);
        assert_eq!(blit.from, From::Colour(vec![0xef, 0xbe, 0xad, 0xde]));
    }

    #[test]
    fn the_wrong_way_round_is_empty_and_negative_pitches_go_up() {
        let words = [0x54c0_0008, 0x00cc_fff0, 9 << 16 | 9, 1 << 16 | 1, 0, 0, 0x8000_8000, 0x8000, 0, 0];
        let blit = decoded("skl", &words).unwrap();
        assert_eq!((blit.width, blit.rows, blit.target.pitch), (0, 0, -16));
    }

    #[test]
    fn each_generation_has_its_own_commands() {
        use HangCause::*;
        let colour = [0x5430_0004, 0x03f0_0100, 0, 0x1_0001, 0, 0];
        let colour_wide = [0x5430_0005, 0x03f0_0100, 0, 0x1_0001, 0, 0, 0];
        let fast_copy = [0x5080_0008, 0x0300_0100, 0, 0x1_0001, 0, 0, 0, 0x100, 0, 0];
        let mut block = [0; 12];
        (block[0], block[1]) = (0x5050_000a, 0xff | 16 << 22);
        assert!(decoded("snb", &colour).is_ok());
        assert_eq!(decoded("bdw", &colour), Err(Unknown));
        assert!(decoded("dg1", &colour_wide).is_ok());
        assert_eq!(decoded("mtl", &colour_wide), Err(Unknown));
        assert!(decoded("dg2", &colour_wide).is_ok());
        assert_eq!(decoded("bdw", &fast_copy), Err(Unknown));
        assert!(decoded("mtl", &fast_copy).is_ok());
        assert_eq!(decoded("icl", &block), Err(Unknown));
        assert_eq!(decoded("tgl", &block).unwrap().target.mocs, MocsClass::Uncached);
        assert_eq!(decoded("dg2", &block), Err(Unknown), "ten dwords more there");
        let render = |platform| Streamer { engine: EngineClass::Render, ..on(platform) };
        assert_eq!(decode(&render("snb"), colour[0], &colour[1..]), Err(Unknown));
        assert!(decode(&render("i830"), colour[0], &colour[1..]).is_ok());
        assert!(decode(&render("ilk"), colour[0], &colour[1..]).is_ok());
    }

    #[test]
    fn memory_commands_of_xe2_count_bytes_pages_and_rows() {
        let lnl = gem_coherency::xe::device("lnl", KernelVersion::new(7, 2)).unwrap().machine();
        let on = Streamer { machine: lnl, engine: EngineClass::Copy, privilege: Privilege::User };
        let case = |words: &[u32]| decode(&on, words[0], &words[1..]).unwrap();
        let copy = |mode: u32| case(&[0x5680_0008 | mode, 9, 3, 63, 31, 0x1000, 1, 0x2000, 2, 0]);
        let surface = |start, pitch| Surface { start, pitch, bytes_per_pixel: 1, mocs: MocsClass::PageTable };
        let line = copy(0);
        assert_eq!((line.width, line.rows), (10, 1));
        assert_eq!(
            (line.target, line.from),
            (surface(0x2_0000_2000, 32), From::Surface(surface(0x1_0000_1000, 64)))
        );
        let (pages, matrix) = (copy(1 << 19), copy(1 << 17));
        assert_eq!([(pages.width, pages.rows), (matrix.width, matrix.rows)], [(2560, 1), (10, 4)]);
        let set = case(&[0x56c0_0005, 99, 0, 99, 0x3000, 0, 0xab00_0000]);
        assert_eq!((set.width, set.rows, set.from), (100, 1, From::Colour(vec![0xab])));
        assert_eq!(decoded("mtl", &[0x56c0_0005, 99, 0, 99, 0x3000, 0, 0]), Err(HangCause::Unsupported));
    }

    #[test]
    fn tiles_masks_and_raster_operations_are_not_here() {
        for (first, control) in [
            (0x5430_0805, 0x03f0_0100),
            (0x5410_0005, 0x03f0_0100),
            (0x5430_0005, 0x0366_0100),
            (0x5430_0005, 0x43f0_0100),
        ] {
            let words = [first, control, 0, 0x1_0001, 0, 0, 0];
            assert_eq!(decoded("glk", &words), Err(HangCause::Unsupported), "{words:x?}");
        }
    }
}
