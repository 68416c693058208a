//! Surfaces: the memory behind a shader's bindings. Raw buffers are known, and linear pictures of bytes.

use crate::eu::layout::Form;
use crate::eu::memory::Memory;
use crate::gpu::Gpu;
use crate::translation::page_tables::{Context, Pointer};
use std::collections::BTreeMap;

/// The surfaces of a binding table.
pub struct Surfaces<'a> {
    gpu: &'a Gpu,
    context: &'a Context,
    form: Form,
    /// Where offsets in the table count from, and where the table is.
    base: Pointer,
    table: Pointer,
    /// Those that were looked at.
    known: BTreeMap<u8, Surface>,
}

#[derive(Clone, Copy)]
struct Surface {
    start: Pointer,
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// A raw buffer of so many bytes.
    Buffer(u64),
    /// Lines of so many bytes, and the distance from one to the next.
    Picture { width: u64, height: u64, pitch: u64 },
}

/// The first dword: the types "buffer" and "2D", and the formats "raw" and "R8 UNORM".
const TYPE: u32 = 7 << 29;
const BUFFER: u32 = 4 << 29;
const PICTURE: u32 = 1 << 29;
const FORMAT: u32 = 0x3ff << 18;
const RAW: u32 = 0x1ff << 18;
const BYTES: u32 = 0x140 << 18;

impl<'a> Surfaces<'a> {
    /// The surfaces of the table at `table`, whose offsets count from `base`.
    pub fn new(gpu: &'a Gpu, context: &'a Context, form: Form, base: Pointer, table: Pointer) -> Self {
        Self { gpu, context, form, base, table, known: BTreeMap::new() }
    }

    fn load(&self, binding: u8, from: Pointer, bytes: &mut [u8]) -> Result<(), String> {
        self.gpu
            .load(self.context, from, bytes)
            .ok_or_else(|| format!("binding {binding}: nothing is mapped at {:x}", from.at))
    }

    fn save(&self, binding: u8, to: Pointer, bytes: &[u8]) -> Result<(), String> {
        self.gpu
            .save(self.context, to, bytes)
            .ok_or_else(|| format!("binding {binding}: nothing is mapped at {:x}", to.at))
    }

    /// A buffer's start and size.
    fn buffer(&mut self, binding: u8) -> Result<(Pointer, u64), String> {
        match self.surface(binding)? {
            Surface { start, shape: Shape::Buffer(size) } => Ok((start, size)),
            _ => Err(format!("binding {binding}: a picture, in place of a buffer")),
        }
    }

    /// Where byte `x` of line `y` of a picture is, and how many of the bytes from there on are in it.
    fn line(&mut self, binding: u8, [x, y]: [u64; 2], length: usize) -> Result<(Pointer, usize), String> {
        let Surface { start, shape: Shape::Picture { width, height, pitch } } = self.surface(binding)? else {
            return Err(format!("binding {binding}: a buffer, in place of a picture"));
        };
        let inside = if y < height { within(width, x, length) } else { 0 };
        Ok((start.plus(y.wrapping_mul(pitch)).plus(x), inside))
    }

    fn surface(&mut self, binding: u8) -> Result<Surface, String> {
        if let Some(surface) = self.known.get(&binding) {
            return Ok(*surface);
        }
        let surface = self.look_up(binding).map_err(|error| format!("binding {binding}: {error}"))?;
        self.known.insert(binding, surface);
        Ok(surface)
    }

    fn look_up(&self, binding: u8) -> Result<Surface, String> {
        let old = self.form == Form::Gen7;
        let unmapped =
            |what: &str, from: Pointer| format!("{what} at {:x}, where nothing is mapped", from.at);
        let entry = self.table.plus(4 * u64::from(binding));
        let [offset] = self.gpu.load_words(self.context, entry).ok_or_else(|| unmapped("a table", entry))?;
        let state = self.base.plus((offset & if old { !0x1f } else { !0x3f }).into());
        let [first, second, size, depth, _, sixth, ..] =
            self.gpu.load_words::<8>(self.context, state).ok_or_else(|| unmapped("a state", state))?;
        let tiling = if old { 3 << 13 } else { 3 << 12 };
        let shape = shape(first & (TYPE | FORMAT | tiling), size, depth)
            .ok_or_else(|| format!("{first:08x} {size:08x} {depth:08x}: no surface that is known"))?;
        let at = if old {
            second.into()
        } else {
            let after = state.plus(32);
            let [low, high] =
                self.gpu.load_words(self.context, after).ok_or_else(|| unmapped("a state", after))?;
            u64::from(high & 0xffff) << 32 | u64::from(low)
        };
        let mocs = (second >> 25 & 0x3f) as u8;
        let how = match (self.form, self.gpu.platform.version) {
            (Form::Gen7, _) => format!("MOCS {:#x}", sixth >> 16 & 0xf),
            (_, 8) => format!("MOCS {:#x}", second >> 24 & 0x7f),
            _ if self.gpu.bypasses(mocs) => format!("MOCS entry {mocs}, past the LLC"),
            _ => format!("MOCS entry {mocs}"),
        };
        self.gpu.trace(format_args!("binding {binding}: {shape:?} at {at:x}, {how}"));
        Ok(Surface { start: Pointer { at, mocs }, shape })
    }
}

impl Memory for Surfaces<'_> {
    fn read(&mut self, binding: u8, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        let (start, size) = self.buffer(binding)?;
        bytes.fill(0);
        let within = within(size, offset, bytes.len());
        self.load(binding, start.plus(offset), &mut bytes[..within])
    }

    fn write(&mut self, binding: u8, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let (start, size) = self.buffer(binding)?;
        self.save(binding, start.plus(offset), &bytes[..within(size, offset, bytes.len())])
    }

    fn read_line(&mut self, binding: u8, [x, y]: [u64; 2], bytes: &mut [u8]) -> Result<(), String> {
        match self.line(binding, [x, y], bytes.len())? {
            (at, inside) if inside == bytes.len() => self.load(binding, at, bytes),
            _ => Err(format!("binding {binding}: bytes from {x} on of line {y} are not in the picture")),
        }
    }

    fn write_line(&mut self, binding: u8, place: [u64; 2], bytes: &[u8]) -> Result<(), String> {
        let (at, inside) = self.line(binding, place, bytes.len())?;
        if inside == 0 {
            return Ok(());
        }
        self.save(binding, at, &bytes[..inside])
    }
}

/// The shape of a surface, from what its first dword is, and from the dwords of its size.
fn shape(what: u32, size: u32, depth: u32) -> Option<Shape> {
    let (width, height, slices, pitch) = (size & 0x3fff, size >> 16 & 0x3fff, depth >> 21, depth & 0x3_ffff);
    if what == BUFFER | RAW {
        let size = (u64::from(slices) << 21 | u64::from(height) << 7 | u64::from(width & 0x7f)) + 1;
        return (pitch == 0 && size.is_multiple_of(4)).then_some(Shape::Buffer(size));
    }
    // Media blocks take the width for a number of dwords. Lines begin at cachelines.
    let (width, pitch) = (4 * (u64::from(width) + 1), u64::from(pitch) + 1);
    let known = what == PICTURE | BYTES && slices == 0 && pitch.is_multiple_of(64) && width <= pitch;
    known.then_some(Shape::Picture { width, height: u64::from(height) + 1, pitch })
}

/// How many of the bytes at this offset are in a buffer or in a line.
fn within(size: u64, offset: u64, length: usize) -> usize {
    size.saturating_sub(offset).min(length as u64) as usize
}
