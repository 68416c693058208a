//! Structs of the uAPI filled from an input: each field with what its name says it holds, mostly.
//!
//! The structs are the library's own list, so that a request which is declared there is fuzzed.

use std::sync::OnceLock;

use gem_coherency_uapi::{self as uapi, Field, Layout};

use crate::input::Input;
use crate::process::arena::{LISTS, LISTS_LEN, PLACES};
use crate::process::world::World;

/// The largest depth of structs that point to structs.
const DEPTH: u32 = 3;
/// Bytes between two things that structs point to.
const SLOT: u64 = 64;
/// Sizes and offsets worth trying; a process that is given a gigabyte is slow and finds nothing.
const SIZES: &[u64] = &[
    4096,
    0,
    1,
    64,
    100,
    4095,
    4097,
    8192,
    3 << 12,
    0x1_0000,
    0x1_0001,
    0x10_0000,
    0x20_0000,
    0x100_0000,
    1 << 32,
    (1 << 32) + 4096,
    1 << 47,
    i64::MAX as u64,
    (i64::MAX as u64) & !4095,
    u64::MAX - 4095,
    u64::MAX,
];

/// Sizes and offsets that requests take.
const GOOD_SIZES: &[u64] = &[4096, 0, 64, 100, 8192, 8, 0x1_0000, 1];

/// The kind of value that a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Handle,
    Fd,
    Address,
    Size,
    Count,
    Reserved,
    Anything,
}

/// Returns the kind of value that fields of this name hold.
fn holds(field: &Field) -> Holds {
    match field.name {
        "handle" | "handles" | "target_handle" | "buffer_handle" | "bo_handle" => Holds::Handle,
        "fd" => Holds::Fd,
        "extensions" | "next_extension" | "name" | "date" | "desc" | "unique" | "regions" | "engines"
        | "siblings" | "value"
            if field.size == 8 =>
        {
            Holds::Address
        }
        name if name.ends_with("ptr") && field.size == 8 => Holds::Address,
        name if ["pad", "rsvd", "__"].iter().any(|start| name.starts_with(start)) => Holds::Reserved,
        name if name.contains("count") || name.starts_with("num_") => Holds::Count,
        name if ["size", "offset", "len", "length", "pitch"].iter().any(|part| name.contains(part)) => {
            Holds::Size
        }
        _ => Holds::Anything,
    }
}

/// Which structs fields of this name point to; of one kind or of any.
fn pointed(name: &str) -> Vec<&'static Layout> {
    let fits = |layout: &Layout| match name {
        "extensions" | "next_extension" => {
            layout.fields.first().is_some_and(|field| field.name == "base" || field.name == "next_extension")
        }
        "buffers_ptr" => layout.name.contains("exec_object2"),
        "relocs_ptr" => layout.name.contains("relocation"),
        "cliprects_ptr" => layout.name.contains("fence"),
        "items_ptr" => layout.name.contains("query_item"),
        "regions" => layout.name.contains("class_instance"),
        _ => true,
    };
    let fitting: Vec<_> = uapi::layouts().filter(|layout| fits(layout)).collect();
    if fitting.is_empty() { uapi::layouts().collect() } else { fitting }
}

/// The values of the uAPI's constants.
fn constants() -> &'static [u64] {
    static CONSTANTS: OnceLock<Vec<u64>> = OnceLock::new();
    CONSTANTS.get_or_init(|| uapi::constants().map(|(_, value)| value).collect())
}

impl World {
    /// A struct, filled: mostly with values that requests take, but for one field at a time.
    pub fn fill(&mut self, input: &mut Input<'_>, layout: &Layout, depth: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(layout.size);
        let odd = usize::from(input.byte());
        let all_odd = odd > 240;
        // Twice as many places as fields: every other time none is odd.
        let odd = odd % (2 * layout.fields.len());
        for (index, field) in layout.fields.iter().enumerate() {
            match field.size {
                // The head of an extension.
                32 if field.name == "base" && depth < DEPTH => {
                    let head = uapi::layouts().find(|layout| layout.name == "i915_user_extension");
                    match head {
                        Some(head) => bytes.extend(self.fill(input, head, depth)),
                        None => bytes.extend(input.bytes(field.size)),
                    }
                }
                1..=8 => {
                    let value = match all_odd || index == odd {
                        true => self.odd(input, field, depth),
                        false => self.good(input, field, depth),
                    };
                    bytes.extend_from_slice(&value.to_le_bytes()[..field.size]);
                }
                _ if all_odd || index == odd => bytes.extend(input.bytes(field.size)),
                // Reserved, mostly.
                _ => bytes.resize(bytes.len() + field.size, 0),
            }
        }
        bytes
    }

    /// A value that a request may take.
    fn good(&mut self, input: &mut Input<'_>, field: &Field, depth: u32) -> u64 {
        match holds(field) {
            Holds::Handle => u64::from(1 + input.byte() % 4),
            Holds::Fd => u64::from(input.byte() % 8),
            Holds::Address => match field.name {
                // An extension now and then; lists of everything else.
                "extensions" | "next_extension" if !input.one_in(4) => 0,
                "data_ptr" | "user_ptr" | "addr_ptr" | "value" => input.of(&PLACES[..3]),
                _ if depth < DEPTH => self.build(input, field.name, depth + 1),
                _ => 0,
            },
            Holds::Size => input.of(GOOD_SIZES),
            Holds::Count => u64::from(input.byte() % 3),
            Holds::Reserved => 0,
            Holds::Anything => match input.byte() {
                0..128 => 0,
                pick @ 128..176 => u64::from(pick - 128),
                176..224 => input.of(constants()),
                224..240 => self.seen(input),
                pick => 1 << (pick % 16),
            },
        }
    }

    /// A value that may be anything.
    fn odd(&mut self, input: &mut Input<'_>, field: &Field, depth: u32) -> u64 {
        let holds = if input.one_in(8) { Holds::Anything } else { holds(field) };
        match holds {
            Holds::Handle => input.of(&[0, 5, 77, 0x7fff_ffff, 0xffff_ffff]),
            Holds::Fd => input.of(&[u64::MAX, 9, 9999, 0x7fff_ffff]),
            Holds::Address => self.address(input, field.name, depth),
            Holds::Size => match input.byte() {
                pick @ 0..160 => SIZES[usize::from(pick) % SIZES.len()],
                pick @ 160..224 => u64::from(pick - 160) * 4096,
                224..240 => u64::from(input.short()),
                240..250 => self.seen(input),
                _ => input.word(),
            },
            Holds::Count => input.of(&[3, 64, 0x1_0000, 0x1000_0000, 0x7fff_ffff, 0xffff_ffff, u64::MAX]),
            Holds::Reserved | Holds::Anything => match input.byte() % 16 {
                0..4 => u64::from(input.byte()),
                4..7 => input.of(constants()),
                7..9 => input.of(constants()) | input.of(constants()),
                9..11 => 1 << (input.byte() % 64),
                11 => self.seen(input),
                12 => self.address(input, field.name, depth),
                13 | 14 => input.word(),
                _ => u64::MAX,
            },
        }
    }

    /// An address, for a field of this name.
    fn address(&mut self, input: &mut Input<'_>, name: &str, depth: u32) -> u64 {
        match input.byte() {
            0..32 => 0,
            pick @ 32..128 => PLACES[usize::from(pick) % PLACES.len()],
            128..170 if depth < DEPTH => self.build(input, name, depth + 1),
            // A struct that was built before: chains may be cycles.
            128..220 => match self.built.len() {
                0 => LISTS,
                len => self.built[usize::from(input.byte()) % len],
            },
            220..244 => self.mapping(input).wrapping_add(u64::from(input.short())),
            _ => input.word(),
        }
    }

    /// Makes some structs that fields of this name point to; returns their address.
    fn build(&mut self, input: &mut Input<'_>, name: &str, depth: u32) -> u64 {
        let layout = input.of(&pointed(name));
        // The address is known first, so that what is built can point to itself.
        let address = LISTS + self.next_slot % LISTS_LEN;
        self.built.push(address);
        let count = 1 + input.byte() % 4;
        let mut bytes = Vec::new();
        for _ in 0..count {
            bytes.extend(self.fill(input, layout, depth));
        }
        self.next_slot += (bytes.len() as u64).next_multiple_of(SLOT);
        // The last ones may not fit: then their ends are somebody else's bytes.
        let _ = self.process.store(address, &bytes);
        address
    }

    /// Something that a call gave back.
    fn seen(&mut self, input: &mut Input<'_>) -> u64 {
        let pick = usize::from(input.byte());
        if self.seen.is_empty() { 0 } else { self.seen[pick % self.seen.len()] }
    }

    /// The address of a mapping.
    pub fn mapping(&mut self, input: &mut Input<'_>) -> u64 {
        let pick = usize::from(input.byte());
        if self.mappings.is_empty() { 0 } else { self.mappings[pick % self.mappings.len()] }
    }
}
