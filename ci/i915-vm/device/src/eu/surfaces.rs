//! Surfaces: the memory behind a kernel's bindings. Raw buffers are known.

use super::layout::Form;
use crate::gpu::Gpu;
use crate::page_tables::Context;
use std::collections::BTreeMap;

/// The surfaces of a binding table.
pub struct Surfaces<'a> {
    gpu: &'a Gpu,
    context: &'a Context,
    form: Form,
    /// Where offsets in the table count from, and where the table is.
    base: u64,
    table: u64,
    /// Those that were looked at.
    known: BTreeMap<u8, Surface>,
}

#[derive(Clone, Copy)]
struct Surface {
    address: u64,
    size: u64,
}

/// The first dword: the type "buffer" and the format "raw".
const TYPE: u32 = 7 << 29;
const BUFFER: u32 = 4 << 29;
const FORMAT: u32 = 0x3ff << 18;
const RAW: u32 = 0x1ff << 18;

impl<'a> Surfaces<'a> {
    /// The surfaces of the table at `table`, whose offsets count from `base`.
    pub fn new(gpu: &'a Gpu, context: &'a Context, form: Form, base: u64, table: u64) -> Self {
        Self { gpu, context, form, base, table, known: BTreeMap::new() }
    }

    /// Reads from a surface; behind its end there are zeros.
    pub fn read(&mut self, binding: u8, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        let surface = self.surface(binding)?;
        bytes.fill(0);
        let within = surface.within(offset, bytes.len());
        let bytes = &mut bytes[..within];
        let at = surface.address.wrapping_add(offset);
        self.gpu
            .load(self.context, at, bytes)
            .ok_or_else(|| format!("binding {binding}: nothing is mapped at {at:x}"))
    }

    /// Writes to a surface; what is behind its end is dropped.
    pub fn write(&mut self, binding: u8, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let surface = self.surface(binding)?;
        let bytes = &bytes[..surface.within(offset, bytes.len())];
        let at = surface.address.wrapping_add(offset);
        self.gpu
            .save(self.context, at, bytes)
            .ok_or_else(|| format!("binding {binding}: nothing is mapped at {at:x}"))
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
        let unmapped = |what: &str, at: u64| format!("{what} at {at:x}, where nothing is mapped");
        let entry = self.table + 4 * u64::from(binding);
        let [offset] = self.gpu.load_words(self.context, entry).ok_or_else(|| unmapped("a table", entry))?;
        let at = self.base + u64::from(offset & if old { !0x1f } else { !0x3f });
        let [first, second, size, depth, _, mocs, ..] =
            self.gpu.load_words::<8>(self.context, at).ok_or_else(|| unmapped("a state", at))?;
        let (tiling, pitch) = (if old { 3 << 13 } else { 3 << 12 }, depth & 0x3_ffff);
        let size =
            u64::from(depth >> 21) << 21 | u64::from(size >> 16 & 0x3fff) << 7 | u64::from(size & 0x7f);
        let size = size + 1;
        if first & (TYPE | FORMAT | tiling) != BUFFER | RAW || pitch != 0 || !size.is_multiple_of(4) {
            return Err(format!("{first:08x}, pitch {pitch:#x}, size {size}: not a raw buffer of dwords"));
        }
        let address = if old {
            second.into()
        } else {
            let behind = at + 32;
            let [low, high] =
                self.gpu.load_words(self.context, behind).ok_or_else(|| unmapped("a state", behind))?;
            u64::from(high & 0xffff) << 32 | u64::from(low)
        };
        let mocs = match (self.form, self.gpu.platform.version) {
            (Form::Gen7, _) => format!("MOCS {:#x}", mocs >> 16 & 0xf),
            (_, 8) => format!("MOCS {:#x}", second >> 24 & 0x7f),
            _ => format!("MOCS entry {}", second >> 25 & 0x3f),
        };
        self.gpu.trace(format_args!("binding {binding}: {size} bytes at {address:x}, {mocs}"));
        Ok(Surface { address, size })
    }
}

impl Surface {
    /// How many of the bytes at this offset are in the surface.
    fn within(&self, offset: u64, length: usize) -> usize {
        self.size.saturating_sub(offset).min(length as u64) as usize
    }
}
