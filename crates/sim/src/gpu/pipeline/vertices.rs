//! The vertex fetcher: which bytes of vertex and index buffers a draw reads.
//!
//! Of each vertex it reads the components that the vertex elements store from memory. Those beyond the end of a buffer
//! and those of incomplete primitives are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;

use super::encoding::{Encoding, bits};
use super::formats::Format;
use super::reader::Reader;
use super::topology::complete;
use gem_coherency::vocabulary::MocsClass;

const VERTEX_BUFFERS: u32 = 0x7808;
const VERTEX_ELEMENTS: u32 = 0x7809;
const INDEX_BUFFER: u32 = 0x780a;
/// 3DSTATE_VF (graphics 7.5 and later).
const VF: u32 = 0x780c;
/// These are of graphics 8 and later.
const VF_INSTANCING: u32 = 0x7849;
const VF_SGVS: u32 = 0x784a;
const VF_TOPOLOGY: u32 = 0x784b;
/// Graphics 11 and later.
const VF_SGVS_2: u32 = 0x7856;
/// 3DPRIMITIVE.
pub(super) const PRIMITIVE: u32 = 0x7b00;

/// The commands that set the fetcher's state or start it.
pub(super) const OPCODES: [u32; 9] = [
    VERTEX_BUFFERS,
    VERTEX_ELEMENTS,
    INDEX_BUFFER,
    VF,
    VF_INSTANCING,
    VF_SGVS,
    VF_TOPOLOGY,
    VF_SGVS_2,
    PRIMITIVE,
];

/// Component control: stored as it is in memory.
const STORE_SRC: u32 = 1;

/// A buffer (VERTEX_BUFFER_STATE, 3DSTATE_INDEX_BUFFER).
#[derive(Clone, Copy, Debug)]
struct Buffer {
    start: u64,
    size: u64,
    mocs: MocsClass,
}

#[derive(Clone, Copy, Debug)]
struct VertexBuffer {
    buffer: Buffer,
    pitch: u64,
    /// Graphics 6 and 7: the buffer has an element for each so many instances, and not for each vertex.
    step: Option<u32>,
}

/// VERTEX_ELEMENT_STATE.
#[derive(Clone, Debug)]
struct Element {
    buffer: u32,
    /// The bytes of a vertex that are read.
    bytes: Range<u64>,
}

#[derive(Clone, Copy, Debug)]
struct IndexBuffer {
    buffer: Buffer,
    /// Bytes of an index.
    bytes: u64,
    /// Graphics 6 and 7: the index of all ones separates primitives.
    cuts: bool,
}

/// A draw whose parameters are in the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    topology: u32,
    indexed: bool,
    count: u64,
    start: u64,
    instances: u64,
    first_instance: u64,
    base_vertex: i64,
}

/// The fetcher's state.
#[derive(Clone, Debug, Default)]
pub(super) struct Vertices {
    buffers: BTreeMap<u32, VertexBuffer>,
    /// Elements that are not read are `None`.
    elements: Vec<Option<Element>>,
    index: Option<IndexBuffer>,
    /// The elements that are read for each so many instances (graphics 8 and later).
    steps: BTreeMap<u32, u32>,
    /// Elements, parts of which the fetcher generates: bit n is element n.
    generated: [u64; 2],
    /// Only some components are fetched, which is not decoded.
    packed: bool,
    cut: Option<u32>,
    topology: u32,
}

impl Vertices {
    /// Follows a command that sets state.
    pub(super) fn set(&mut self, encoding: Encoding, opcode: u32, words: &[u32]) {
        let generation = encoding.generation;
        let second = words.get(1).copied().unwrap_or(0);
        let operands = words.get(1..).unwrap_or_default();
        match opcode {
            VERTEX_BUFFERS => {
                operands.as_chunks::<4>().0.iter().for_each(|words| self.set_buffer(encoding, words));
            }
            VERTEX_ELEMENTS => {
                self.elements = operands.as_chunks::<2>().0.iter().map(|words| element(*words)).collect();
            }
            INDEX_BUFFER => self.index = index_buffer(encoding, words),
            VF if generation >= 75 => {
                let first = words.first().copied().unwrap_or(0);
                self.cut = (bits(first, 8, 8) != 0).then_some(second);
                self.packed = generation >= 90 && bits(first, 9, 9) != 0;
            }
            VF_INSTANCING if generation >= 80 => {
                let element = bits(second, 5, 0);
                match words.get(2) {
                    Some(&step) if bits(second, 8, 8) != 0 => self.steps.insert(element, step),
                    Some(_) | None => self.steps.remove(&element),
                };
            }
            VF_SGVS if generation >= 80 => {
                let [generated, _] = &mut self.generated;
                *generated = elements_of(&[second, second >> 16]);
            }
            VF_SGVS_2 if generation >= 110 => {
                let third = words.get(2).copied().unwrap_or(0);
                let [_, generated] = &mut self.generated;
                *generated = elements_of(&[second, second >> 16, third]);
            }
            VF_TOPOLOGY if generation >= 80 => self.topology = bits(second, 5, 0),
            _ => {}
        }
    }

    fn set_buffer(&mut self, encoding: Encoding, words: &[u32; 4]) {
        let [first, low, third, last] = *words;
        let index = bits(first, 31, 26);
        // A null buffer returns zeroes.
        if bits(first, 13, 13) != 0 {
            self.buffers.remove(&index);
            return;
        }
        let is_wide = encoding.is_wide();
        let mocs = encoding.mocs(if is_wide { bits(first, 22, 16) } else { bits(first, 19, 16) });
        let place = if is_wide {
            encoding.address(words, 1).map(|start| (start, last.into()))
        } else {
            Some((low.into(), inclusive(low, third)))
        };
        let keeps_address = encoding.generation >= 70 && bits(first, 14, 14) == 0;
        let before = self.buffers.get(&index).map(|before| (before.buffer.start, before.buffer.size));
        let Some((start, size)) = (if keeps_address { before } else { place }) else { return };
        let step = (!is_wide && bits(first, 20, 20) != 0).then_some(last);
        let pitch = bits(first, 11, 0).into();
        self.buffers.insert(index, VertexBuffer { buffer: Buffer { start, size, mocs }, pitch, step });
    }

    /// Decodes 3DPRIMITIVE; `None` for a draw of nothing.
    ///
    /// # Errors
    /// The reason why its parameters are not known.
    pub(super) fn draw(&self, encoding: Encoding, words: &[u32]) -> Result<Option<Draw>, &'static str> {
        const SHORT: &str = "the command is too short";
        let first = *words.first().ok_or(SHORT)?;
        let (topology, indexed, operands) = if encoding.generation < 70 {
            if bits(first, 9, 9) != 0 {
                return Err("the number of vertices is that of an earlier draw");
            }
            (bits(first, 14, 10), bits(first, 15, 15) != 0, words.get(1..).ok_or(SHORT)?)
        } else {
            let second = *words.get(1).ok_or(SHORT)?;
            if bits(first, 8, 8) != 0 {
                return Err("it depends on a predicate");
            }
            if bits(first, 10, 10) != 0 || bits(second, 9, 9) != 0 {
                return Err("its parameters are in registers");
            }
            let topology = if encoding.is_wide() { self.topology } else { bits(second, 5, 0) };
            (topology, bits(second, 8, 8) != 0, words.get(2..).ok_or(SHORT)?)
        };
        let &[count, start, instances, first_instance, base_vertex, ..] = operands else {
            return Err(SHORT);
        };
        let draw = Draw {
            topology,
            indexed,
            count: count.into(),
            start: start.into(),
            instances: instances.into(),
            first_instance: first_instance.into(),
            base_vertex: (base_vertex as i32).into(),
        };
        Ok((instances > 0 && complete(topology, draw.count) > 0).then_some(draw))
    }

    /// Reads what a draw reads.
    ///
    /// # Errors
    /// The reason why it is not known, or not all of it.
    pub(super) fn fetch(&self, draw: &Draw, reader: &mut Reader<'_>) -> Result<(), &'static str> {
        let vertices = if draw.indexed {
            if self.index.is_none() {
                return Err("its index buffer is not known");
            }
            self.indexed(draw, reader)
        } else {
            let end = draw.start + complete(draw.topology, draw.count);
            iter::once(draw.start..end).collect()
        };
        if self.packed {
            return Err("only some components of its vertices are fetched");
        }
        // The bytes of each buffer's vertices; its elements may differ in their step.
        let mut parts: BTreeMap<(u32, Option<u32>), Vec<Range<u64>>> = BTreeMap::new();
        let [one, other] = self.generated;
        for (number, element) in (0..).zip(&self.elements) {
            let Some(element) = element else { continue };
            let Some(buffer) = self.buffers.get(&element.buffer) else { continue };
            if number >= u64::BITS || (one | other) >> number & 1 != 0 {
                continue;
            }
            let step = buffer.step.or_else(|| self.steps.get(&number).copied());
            parts.entry((element.buffer, step)).or_default().push(element.bytes.clone());
        }
        for ((buffer, step), bytes) in parts {
            let Some(buffer) = self.buffers.get(&buffer) else { continue };
            let instances = |step: u32| {
                // A step of 0 never advances.
                let last = (draw.instances - 1).checked_div(step.into()).unwrap_or(0);
                draw.first_instance..draw.first_instance + last + 1
            };
            match step {
                None => vertices.iter().for_each(|range| buffer.read(range.clone(), &bytes, reader)),
                Some(step) => buffer.read(instances(step), &bytes, reader),
            }
        }
        Ok(())
    }

    /// Reads the indices of a draw; returns the vertices that they name.
    fn indexed(&self, draw: &Draw, reader: &mut Reader<'_>) -> Vec<Range<u64>> {
        let Some(IndexBuffer { buffer, bytes, cuts }) = self.index else { return Vec::new() };
        let ones = u64::MAX >> (u64::BITS as u64 - 8 * bytes);
        let cut = if cuts { Some(ones) } else { self.cut.map(|cut| u64::from(cut) & ones) };
        let fit = (buffer.size / bytes).saturating_sub(draw.start);
        let complete_count = complete(draw.topology, draw.count);
        let count = if cut.is_some() { draw.count } else { complete_count }.min(fit);
        // Besides their bytes, each costs a look at its vertex.
        if count == 0 || !reader.pay(count) {
            return Vec::new();
        }
        let start = buffer.start.wrapping_add(draw.start * bytes);
        let Some(read) = reader.indices(buffer.mocs, start, count * bytes) else { return Vec::new() };
        let indices: Vec<u64> = read.chunks_exact(bytes as usize).map(little_endian).collect();
        let mut vertices = BTreeSet::new();
        for piece in indices.split(|&index| Some(index) == cut) {
            let whole = complete(draw.topology, piece.len() as u64) as usize;
            let named = piece.iter().take(whole);
            // The sum of an index and the base vertex has 32 bits.
            vertices.extend(named.filter_map(|&index| {
                u64::try_from(index as i64 + draw.base_vertex)
                    .ok()
                    .filter(|&vertex| vertex <= u32::MAX.into())
            }));
        }
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for vertex in vertices {
            match ranges.last_mut() {
                Some(last) if last.end == vertex => last.end += 1,
                Some(_) | None => ranges.push(vertex..vertex + 1),
            }
        }
        ranges
    }
}

impl VertexBuffer {
    /// Reads these bytes of each of the vertices that lie in the buffer as a whole.
    fn read(&self, vertices: Range<u64>, bytes: &[Range<u64>], reader: &mut Reader<'_>) {
        let Buffer { start, size, mocs } = self.buffer;
        let end = bytes.iter().map(|bytes| bytes.end).max().unwrap_or(0);
        let Some(room) = size.checked_sub(end) else { return };
        let vertices = match room.checked_div(self.pitch) {
            Some(last) => vertices.start..vertices.end.min(last + 1),
            None => 0..1,
        };
        let bytes = merged(bytes);
        // The read that is not done yet: vertices often adjoin.
        let mut pending: Option<Range<u64>> = None;
        let adjoin = matches!(&*bytes, [all] if all.end - all.start == self.pitch);
        if let ([all], true) = (&*bytes, adjoin && !vertices.is_empty()) {
            let len = (vertices.end - vertices.start) * self.pitch;
            return reader.vertices(mocs, start.wrapping_add(vertices.start * self.pitch + all.start), len);
        }
        for vertex in vertices {
            if !reader.pay(bytes.len() as u64) {
                break;
            }
            for part in &bytes {
                let at = vertex * self.pitch;
                let part = at + part.start..at + part.end;
                match &mut pending {
                    Some(read) if read.end == part.start => read.end = part.end,
                    other => {
                        if let Some(read) = other.replace(part) {
                            reader.vertices(mocs, start.wrapping_add(read.start), read.end - read.start);
                        }
                    }
                }
            }
        }
        if let Some(read) = pending {
            reader.vertices(mocs, start.wrapping_add(read.start), read.end - read.start);
        }
    }
}

/// Returns the number of bytes from the first to the last.
fn inclusive(first: u32, last: u32) -> u64 {
    (u64::from(last) + 1).saturating_sub(first.into())
}

/// Decodes VERTEX_ELEMENT_STATE; `None` if nothing is read, or if it is not known what.
fn element([first, second]: [u32; 2]) -> Option<Element> {
    let format = Format::new(bits(first, 24, 16))?;
    let is_valid = bits(first, 25, 25) != 0;
    let controls = [bits(second, 30, 28), bits(second, 26, 24), bits(second, 22, 20), bits(second, 18, 16)];
    let stored = controls.iter().take(format.components).filter(|&&control| control == STORE_SRC);
    // Of components that are not stored the hardware may read nothing: only the leading ones that are stored count.
    let leading =
        controls.iter().take(format.components).take_while(|&&control| control == STORE_SRC).count();
    let bytes = match leading {
        _ if stored.count() == format.components => format.bytes,
        _ if format.separate => format.bytes / format.components as u64 * leading as u64,
        _ => 0,
    };
    let offset = u64::from(bits(first, 11, 0));
    (is_valid && bytes > 0).then(|| Element { buffer: bits(first, 31, 26), bytes: offset..offset + bytes })
}

/// Decodes 3DSTATE_INDEX_BUFFER.
fn index_buffer(encoding: Encoding, words: &[u32]) -> Option<IndexBuffer> {
    let (first, second) = (*words.first()?, *words.get(1)?);
    let (format, mocs, start, size) = if encoding.is_wide() {
        (bits(second, 9, 8), bits(second, 6, 0), encoding.address(words, 2)?, u64::from(*words.get(4)?))
    } else {
        (bits(first, 9, 8), bits(first, 15, 12), second.into(), inclusive(second, *words.get(2)?))
    };
    // BYTE, WORD and DWORD.
    let bytes = match format {
        0..=2 => 1 << format,
        _ => return None,
    };
    let cuts = encoding.generation < 75 && bits(first, 10, 10) != 0;
    Some(IndexBuffer { buffer: Buffer { start, size, mocs: encoding.mocs(mocs) }, bytes, cuts })
}

/// Returns the elements that fields of 3DSTATE_VF_SGVS name: bits 5:0 the element, bit 15 its enable.
fn elements_of(fields: &[u32]) -> u64 {
    fields
        .iter()
        .filter(|&&field| bits(field, 15, 15) != 0)
        .fold(0, |all, &field| all | 1 << bits(field, 5, 0))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Returns ranges that cover the same bytes, in order and apart from each other.
fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut ranges = ranges.to_vec();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            Some(_) | None => merged.push(range),
        }
    }
    merged
}
