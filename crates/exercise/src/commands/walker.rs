//! Batches for the render engine that run a shader: a walker starts its groups, a thread each.
//!
//! Shader, constants, surface states, and the binding table lie in the batch's own buffer, after its end. The GPU reads each of them by itself,
//! with the MOCS entry that follows the page table; surfaces have entries of their own.
//!
//! Sources: Mesa's `src/intel/genxml` (`gen75.xml` to `gen125.xml`), and the walkers of IGT's `gpu_cmds.c`.

use gem_coherency::platform::{EngineClass, Machine};

use super::dialect::MI_BATCH_BUFFER_END;
use super::generation::Generation::{self, *};
use super::{Batch, Patch, put};
use crate::{Error, Result};

/// Bytes that a shader reads or writes: a RAW buffer of the binding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// The number of the buffer in the batch.
    pub buffer: u32,
    /// The offset of the first byte, a multiple of 4.
    pub offset: u64,
    /// The number of bytes, a multiple of 4, at most 1 GiB.
    pub len: u64,
    /// The MOCS entry of the accesses; on graphics 8, which has none, the control bits. With `None` the page table determines
    /// caching.
    pub mocs: Option<u8>,
}

/// A shader to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walker<'a> {
    /// The instructions, from the first byte on.
    pub shader: &'a [u8],
    /// The surfaces in the order of the binding table, at most 16.
    pub surfaces: &'a [Bytes],
    /// Dwords that each thread finds in r1, at most 8.
    pub constants: &'a [u32],
    /// The number of groups. Each has a thread of 16 channels, and finds its number in r0.1.
    pub groups: u32,
}

/// Commands: the first dword, without the length where that depends on the generation.
const PIPE_CONTROL: u32 = 0x7a00_0000;
const PIPELINE_SELECT: u32 = 0x6904_0000;
const STATE_BASE_ADDRESS: u32 = 0x6101_0000;
const BINDING_TABLE_POOL_ALLOC: u32 = 0x7919_0002;
const MEDIA_VFE_STATE: u32 = 0x7000_0000;
const MEDIA_CURBE_LOAD: u32 = 0x7001_0002;
const MEDIA_INTERFACE_DESCRIPTOR_LOAD: u32 = 0x7002_0002;
const MEDIA_STATE_FLUSH: u32 = 0x7004_0000;
const GPGPU_WALKER: u32 = 0x7105_0000;
const CFE_STATE: u32 = 0x7200_0004;
const COMPUTE_WALKER: u32 = 0x7208_0025;

/// PIPE_CONTROL, second dword: waits for earlier work, and writes the data cache back.
const STALL_AND_FLUSH: u32 = 1 << 20 | 1 << 5;
/// The same: drops what the texture, constant, state and instruction caches have.
const INVALIDATE: u32 = 1 << 11 | 1 << 10 | 1 << 3 | 1 << 2;
/// PIPE_CONTROL, first dword, from graphics 11 on: the data port's flush (HDC).
const FLUSH_DATA_PORT: u32 = 1 << 9;

/// STATE_BASE_ADDRESS: the base or the size in this dword is valid.
const MODIFY: u32 = 1;
/// STATE_BASE_ADDRESS: the largest size, in pages.
const MOST_PAGES: u32 = 0xffff_f000;

/// Walkers: threads have 16 channels.
const SIMD16: u32 = 1 << 30;
/// Walkers: a channel's bit for each of them.
const CHANNELS: u32 = 0xffff;
/// Threads that may run at a time; the smallest GPU has 70.
const THREADS: u32 = 64;
/// Registers of constants, of which the hardware allocates pairs.
const CONSTANT_REGISTERS: u32 = 1;
const CONSTANT_ALLOCATION: u32 = 2;

/// Places in the batch's buffer, in bytes: after the longest commands.
const BINDING_TABLE: u32 = 512;
const DESCRIPTOR: u32 = 576;
const CONSTANTS: u32 = 640;
const SURFACE_STATES: u32 = 704;
/// Bytes of a surface state, which are its alignment, too; and of an interface descriptor.
const SURFACE_STATE_BYTES: u32 = 64;
const DESCRIPTOR_BYTES: u32 = 32;
/// Bytes after a shader that the instruction fetch may read ahead.
const READ_AHEAD: usize = 128;

/// The limits of a [`Walker`].
const MOST_SURFACES: usize = 16;
const MOST_CONSTANTS: usize = 8;
const MOST_SHADER_BYTES: usize = 1 << 20;
const MOST_SURFACE_BYTES: u64 = 1 << 30;

/// Returns the batch of a walker for the render engine of `machine`. The number of the batch's own buffer is `own`.
///
/// # Errors
/// [`gem_coherency::Error::NotAvailable`] before Haswell. [`Error::NotEncodable`] for what exceeds the limits of the
/// [`Walker`]'s fields.
pub fn walker(machine: &Machine, walker: &Walker<'_>, own: u32) -> Result<Batch> {
    let generation = Generation::of(machine)?;
    check(generation, walker)?;
    let mut written = Written {
        generation,
        machine,
        own,
        batch: Batch {
            words: Vec::new(),
            patches: Vec::new(),
            wide: generation.is_wide(),
            engine: EngineClass::Render,
        },
    };
    written.commands(walker);
    written.state(walker);
    Ok(written.batch)
}

/// A batch under construction.
struct Written<'a> {
    generation: Generation,
    machine: &'a Machine,
    own: u32,
    batch: Batch,
}

impl Written<'_> {
    fn put(&mut self, words: &[u32]) {
        self.batch.words.extend(words);
    }

    /// Appends zeroes up to a place in bytes.
    fn pad_to(&mut self, bytes: u32) {
        debug_assert!(self.batch.words.len() <= bytes as usize / 4);
        self.batch.words.resize(bytes as usize / 4, 0);
    }

    /// Appends an address in the generation's width; `delta` may have flags in bits that the address does not use.
    fn address(&mut self, buffer: u32, delta: u64) {
        let Batch { words, patches, wide, .. } = &mut self.batch;
        let word = words.len();
        words.resize(word + if *wide { 2 } else { 1 }, 0);
        put(words, word, delta, *wide);
        patches.push(Patch { word, buffer, delta });
    }

    /// Returns the MOCS field of the batch's own buffer.
    fn own_mocs(&self) -> u32 {
        self.generation.mocs(self.machine, None)
    }

    /// Appends a base of STATE_BASE_ADDRESS: the batch's own buffer.
    fn own_base(&mut self) {
        let shift = if self.generation == Haswell { 8 } else { 4 };
        self.address(self.own, u64::from(self.own_mocs() << shift | MODIFY));
    }

    /// Appends a base of STATE_BASE_ADDRESS: address 0.
    fn no_base(&mut self) {
        let words: &[u32] = if self.generation.is_wide() { &[MODIFY, 0] } else { &[MODIFY] };
        self.put(words);
    }

    fn pipe_control(&mut self, flags: u32) {
        let data_port = if self.generation >= Eleventh { FLUSH_DATA_PORT } else { 0 };
        let words: &[u32] = if self.generation.is_wide() { &[0; 4] } else { &[0; 3] };
        self.put(&[PIPE_CONTROL | data_port | words.len() as u32, flags]);
        self.put(words);
    }

    fn commands(&mut self, walker: &Walker<'_>) {
        self.pipe_control(STALL_AND_FLUSH);
        self.put(&[PIPELINE_SELECT | pipeline(self.generation)]);
        self.bases();
        self.pipe_control(STALL_AND_FLUSH | INVALIDATE);
        if self.generation == XeHp {
            let mocs = self.own_mocs();
            self.put(&[BINDING_TABLE_POOL_ALLOC]);
            self.address(self.own, mocs.into());
            self.put(&[4096]);
            self.put(&[CFE_STATE, 0, 0, THREADS << 16, 0, 0]);
            self.compute_walker(walker);
        } else {
            self.front_end();
            if !walker.constants.is_empty() {
                self.put(&[MEDIA_CURBE_LOAD, 0, CONSTANT_ALLOCATION * 32, CONSTANTS]);
            }
            self.put(&[MEDIA_INTERFACE_DESCRIPTOR_LOAD, 0, DESCRIPTOR_BYTES, DESCRIPTOR]);
            self.gpgpu_walker(walker.groups);
            self.put(&[MEDIA_STATE_FLUSH, 0]);
        }
        self.pipe_control(STALL_AND_FLUSH);
        self.put(&[MI_BATCH_BUFFER_END]);
    }

    fn bases(&mut self) {
        let bindless: usize = match self.generation {
            Haswell | Eighth => 0,
            Ninth => 3,
            Eleventh | Twelfth | XeHp => 6,
        };
        // The first dword; a base of general state with that of stateless accesses, and four others; sizes.
        let length = if self.generation.is_wide() { 16 + bindless } else { 10 };
        self.put(&[STATE_BASE_ADDRESS | (length as u32 - 2)]);
        self.no_base();
        if self.generation.is_wide() {
            let mocs = self.own_mocs();
            self.put(&[mocs << 16]);
        }
        // Surface states, dynamic state; indirect objects; instructions.
        self.own_base();
        self.own_base();
        self.no_base();
        self.own_base();
        self.put(&[MOST_PAGES | MODIFY; 4]);
        self.put(&[0; 6][..bindless]);
    }

    /// Appends MEDIA_VFE_STATE.
    fn front_end(&mut self) {
        let threads = (THREADS - 1) << 16;
        match self.generation {
            Haswell => {
                const RESET_TIMER: u32 = 1 << 7;
                const GPGPU: u32 = 1 << 2;
                self.put(&[
                    MEDIA_VFE_STATE | 6,
                    0,
                    threads | RESET_TIMER | GPGPU,
                    0,
                    CONSTANT_ALLOCATION,
                    0,
                    0,
                    0,
                ]);
            }
            Eighth | Ninth | Eleventh | Twelfth | XeHp => {
                const ENTRIES: u32 = 2 << 8;
                const ENTRY_SIZE: u32 = 2 << 16;
                let reset_timer = if self.generation < Eleventh { 1 << 7 } else { 0 };
                let (threads, urb) = (threads | ENTRIES | reset_timer, ENTRY_SIZE | CONSTANT_ALLOCATION);
                self.put(&[MEDIA_VFE_STATE | 7, 0, 0, threads, 0, urb, 0, 0, 0]);
            }
        }
    }

    /// Appends GPGPU_WALKER: so many groups in x, one in y and z, of a thread each.
    fn gpgpu_walker(&mut self, groups: u32) {
        const ALL: u32 = u32::MAX;
        if self.generation.is_wide() {
            self.put(&[GPGPU_WALKER | 13, 0, 0, 0, SIMD16, 0, 0, groups, 0, 0, 1, 0, 1, ALL, ALL]);
        } else {
            self.put(&[GPGPU_WALKER | 9, 0, SIMD16, 0, groups, 0, 1, 0, 1, ALL, ALL]);
        }
    }

    /// Appends COMPUTE_WALKER, with its interface descriptor and constants.
    fn compute_walker(&mut self, walker: &Walker<'_>) {
        const MESSAGE_SIMD16: u32 = 1 << 17;
        const INLINE_DATA: u32 = 1 << 25;
        let inline = if walker.constants.is_empty() { 0 } else { INLINE_DATA };
        self.put(&[COMPUTE_WALKER, 0, 0, 0, SIMD16 | MESSAGE_SIMD16 | inline, CHANNELS]);
        // The largest local x; groups; the first group; partitions, preemption.
        self.put(&[CHANNELS.count_ones() - 1, walker.groups, 1, 1, 0, 0, 0]);
        self.put(&[0; 5]);
        self.put(&[shader_place(walker), 0, 0, 0, BINDING_TABLE, 1, 0, 0]);
        // Nothing is written at the end.
        self.put(&[0; 5]);
        self.put(&padded(walker.constants));
    }

    /// Appends what the commands refer to.
    fn state(&mut self, walker: &Walker<'_>) {
        self.pad_to(BINDING_TABLE);
        for number in 0..walker.surfaces.len() as u32 {
            self.put(&[SURFACE_STATES + number * SURFACE_STATE_BYTES]);
        }
        self.pad_to(DESCRIPTOR);
        let shader = shader_place(walker);
        let constants = if walker.constants.is_empty() { 0 } else { CONSTANT_REGISTERS << 16 };
        match self.generation {
            Haswell => self.put(&[shader, 0, 0, BINDING_TABLE, constants, 1, 0, 0]),
            Eighth | Ninth | Eleventh | Twelfth => {
                self.put(&[shader, 0, 0, 0, BINDING_TABLE, constants, 1, 0])
            }
            // It is in the walker.
            XeHp => {}
        }
        self.pad_to(CONSTANTS);
        self.put(&padded(walker.constants));
        for (number, surface) in (0..).zip(walker.surfaces) {
            self.pad_to(SURFACE_STATES + number * SURFACE_STATE_BYTES);
            self.surface_state(surface);
        }
        self.pad_to(shader);
        let read_ahead = [0; READ_AHEAD];
        let code = walker.shader.iter().chain(&read_ahead).copied().collect::<Vec<_>>();
        self.batch.words.extend(code.as_chunks().0.iter().map(|dword| u32::from_le_bytes(*dword)));
    }

    /// Appends a surface state of a RAW buffer.
    fn surface_state(&mut self, surface: &Bytes) {
        const BUFFER_RAW: u32 = 4 << 29 | 0x1ff << 18;
        const ALIGNMENTS: u32 = 1 << 16 | 1 << 14;
        const RED_GREEN_BLUE_ALPHA: u32 = 4 << 25 | 5 << 22 | 6 << 19 | 7 << 16;
        let mocs = self.generation.mocs(self.machine, surface.mocs);
        let last = surface.len as u32 - 1;
        // Width, height and depth: bits 6:0, 20:7 and 30:21.
        let size = [(last >> 7 & 0x3fff) << 16 | last & 0x7f, last >> 21 << 21];
        if self.generation == Haswell {
            self.put(&[BUFFER_RAW]);
            self.address(surface.buffer, surface.offset);
            self.put(&size);
            self.put(&[0, mocs << 16, 0, RED_GREEN_BLUE_ALPHA]);
        } else {
            self.put(&[BUFFER_RAW | ALIGNMENTS, mocs << 24]);
            self.put(&size);
            self.put(&[0, 0, 0, RED_GREEN_BLUE_ALPHA]);
            self.address(surface.buffer, surface.offset);
        }
    }
}

/// Returns the place of a walker's shader in the batch's buffer, in bytes.
fn shader_place(walker: &Walker<'_>) -> u32 {
    SURFACE_STATES + walker.surfaces.len() as u32 * SURFACE_STATE_BYTES
}

/// Returns the fields of PIPELINE_SELECT for the pipeline of shaders, and their write masks from graphics 9 on.
fn pipeline(generation: Generation) -> u32 {
    const GPGPU: u32 = 2;
    match generation {
        Haswell | Eighth => GPGPU,
        Ninth | Eleventh => 3 << 8 | GPGPU,
        // The clock gate of the media sampler.
        Twelfth | XeHp => 0x13 << 8 | 1 << 4 | GPGPU,
    }
}

/// Returns the registers of constants.
fn padded(constants: &[u32]) -> [u32; MOST_CONSTANTS] {
    let mut words = [0; MOST_CONSTANTS];
    words.iter_mut().zip(constants).for_each(|(word, constant)| *word = *constant);
    words
}

/// Checks what fields of commands cannot say.
fn check(generation: Generation, walker: &Walker<'_>) -> Result<()> {
    let bad = |what, value: u64, why| Err(Error::NotEncodable { what, value, why });
    let &Walker { shader, surfaces, constants, groups } = walker;
    if shader.is_empty() || shader.len() > MOST_SHADER_BYTES || !shader.len().is_multiple_of(8) {
        return bad("shader size", shader.len() as u64, "it must be a multiple of 8, from 8 to 1048576");
    }
    if surfaces.len() > MOST_SURFACES {
        return bad("number of surfaces", surfaces.len() as u64, "it must be at most 16");
    }
    if constants.len() > MOST_CONSTANTS {
        return bad("number of constants", constants.len() as u64, "it must be at most 8");
    }
    if groups == 0 {
        return bad("number of groups", 0, "it must be at least 1");
    }
    for &Bytes { offset, len, mocs, .. } in surfaces {
        if !offset.is_multiple_of(4) {
            return bad("offset", offset, "it must be a multiple of 4");
        }
        if len == 0 || len > MOST_SURFACE_BYTES || !len.is_multiple_of(4) {
            return bad("surface size", len, "it must be a multiple of 4, from 4 to 1073741824");
        }
        if let Some(entry) = mocs.filter(|&entry| entry >= generation.mocs_values()) {
            return bad("MOCS entry", entry.into(), "the field has no such value on this generation");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
