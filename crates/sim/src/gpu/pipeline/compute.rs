//! Walkers: which groups of a shader they start, and what each thread finds in its registers.

use std::ops::Range;

use intel_eu::execute::{Shader, Thread};

use super::encoding::{Encoding, bits};
use super::reader::Reader;
use super::tables::{Base, base};

const STATE_BASE_ADDRESS: u32 = 0x6101;
const CURBE_LOAD: u32 = 0x7001;
const DESCRIPTOR_LOAD: u32 = 0x7002;
/// Graphics 7 to 12.
pub(super) const GPGPU_WALKER: u32 = 0x7105;
/// Graphics 12.5.
pub(super) const COMPUTE_WALKER: u32 = 0x7208;

/// The commands that set this state or start groups.
pub(super) const OPCODES: [u32; 5] =
    [STATE_BASE_ADDRESS, CURBE_LOAD, DESCRIPTOR_LOAD, GPGPU_WALKER, COMPUTE_WALKER];

/// Bytes of an interface descriptor, and its dwords.
const DESCRIPTOR_BYTES: u64 = 32;
const DESCRIPTOR_DWORDS: usize = 8;
/// COMPUTE_WALKER: the dwords of the descriptor, and of the data for the threads.
const DESCRIPTOR_IN_WALKER: Range<usize> = 18..26;
const DATA_IN_WALKER: Range<usize> = 31..39;
/// COMPUTE_WALKER: the dwords of the write after the last thread (`POSTSYNC_DATA`), before graphics 20 and from then on.
const POST_SYNC_IN_WALKER: [Range<usize>; 2] = [26..31, 27..32];
/// Bytes of a register.
const REGISTER_BYTES: usize = 32;
/// The dwords of a thread's first register that have the numbers of its group: x, y, z. Others are not known here.
const GROUP: [usize; 3] = [1, 6, 7];

/// The state of dispatches.
#[derive(Clone, Debug, Default)]
pub(super) struct Compute {
    dynamic: Option<Base>,
    instructions: Option<Base>,
    /// Offset and length of the interface descriptors.
    descriptors: Option<(u64, u64)>,
    /// What MEDIA_CURBE_LOAD loaded.
    constants: Vec<u8>,
}

/// The write of COMPUTE_WALKER when its last thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostSync {
    /// Eight bytes.
    Data { address: u64, data: u64 },
    /// The times of its start and of its end, each by the context's clock and by the GPU's; of 8 bytes from graphics 20 on, before of 4.
    Times { address: u64, are_wide: bool },
}

impl PostSync {
    /// Decodes the write of a walker; `None` if there is none.
    pub(super) fn of(encoding: Encoding, opcode: u32, words: &[u32]) -> Option<Self> {
        let are_wide = encoding.generation >= 200;
        let [before, from] = POST_SYNC_IN_WALKER;
        let place = if are_wide { from } else { before };
        let &[operation, low, high, data, upper] = words.get(place)? else { return None };
        let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let address = wide(low, high) & !7;
        match bits(operation, 1, 0) {
            _ if opcode != COMPUTE_WALKER => None,
            1 => Some(Self::Data { address, data: wide(data, upper) }),
            3 => Some(Self::Times { address, are_wide }),
            _ => None,
        }
    }

    /// Returns the address and the bytes; `start` and `end` are times.
    pub(super) fn bytes(self, start: u64, end: u64) -> (u64, Vec<u8>) {
        match self {
            Self::Data { address, data } => (address, data.to_le_bytes().to_vec()),
            Self::Times { address, are_wide } => {
                let times = [start, start, end, end];
                let bytes = if are_wide {
                    times.map(u64::to_le_bytes).concat()
                } else {
                    times.map(|time| (time as u32).to_le_bytes()).concat()
                };
                (address, bytes)
            }
        }
    }
}

/// The groups that a walker starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dispatch {
    /// The first instruction.
    pub(super) shader: Option<Base>,
    /// The binding table: its pointer, and the number of entries that are fetched ahead.
    pub(super) table: (u32, u32),
    /// The channels of a thread: 8, 16 or 32.
    pub(super) channels: u32,
    /// The numbers of the groups in x, y and z.
    pub(super) groups: [Range<u32>; 3],
    /// The threads of a group.
    pub(super) threads: u32,
    /// The channels of the last thread of a row, one bit each, and the threads of a row.
    pub(super) last: u32,
    pub(super) row: u32,
    /// Registers after the first one that all threads share, and then those that each has for itself.
    pub(super) shared: usize,
    pub(super) own: usize,
    /// The bytes of these registers.
    pub(super) constants: Vec<u8>,
    /// Data for the threads that are not known here.
    pub(super) unknown: Option<&'static str>,
}

impl Compute {
    /// Follows a command that sets state.
    pub(super) fn set(&mut self, encoding: Encoding, opcode: u32, words: &[u32], reader: &mut Reader<'_>) {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        match opcode {
            STATE_BASE_ADDRESS => {
                let [dynamic, instructions] = if encoding.is_wide() { [6, 10] } else { [3, 5] };
                if let Some(base) = base(encoding, words, dynamic) {
                    self.dynamic = Some(base);
                    self.descriptors = None;
                }
                self.instructions = base(encoding, words, instructions).or(self.instructions);
            }
            CURBE_LOAD if encoding.generation < 125 => {
                let (bytes, offset) = (bits(word(2), 16, 0), word(3));
                let read =
                    self.dynamic.and_then(|base| reader.fetch(base.after(offset.into()), bytes as usize));
                self.constants = read.unwrap_or_default();
            }
            DESCRIPTOR_LOAD if encoding.generation < 125 => {
                self.descriptors = Some((word(3).into(), bits(word(2), 16, 0).into()));
            }
            _ => {}
        }
    }

    /// Decodes a walker; `None` if it starts nothing.
    ///
    /// # Errors
    /// The reason why its groups or its shader are not known.
    pub(super) fn dispatch(
        &self,
        encoding: Encoding,
        words: &[u32],
        reader: &mut Reader<'_>,
    ) -> Result<Option<Dispatch>, &'static str> {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        if bits(word(0), 8, 8) != 0 {
            return Err("it depends on a predicate");
        }
        if bits(word(0), 10, 10) != 0 {
            return Err("its parameters are in registers");
        }
        let inline = encoding.generation >= 125;
        // The dwords of the first group, and of the one after the last, in each dimension.
        let groups = match encoding.generation {
            125.. => [(10, 7), (11, 8), (12, 9)],
            80.. => [(5, 7), (8, 10), (11, 12)],
            _ => [(3, 4), (5, 6), (7, 8)],
        };
        let groups = groups.map(|(first, end)| word(first)..word(end));
        if groups.iter().any(Range::is_empty) {
            return Ok(None);
        }
        let descriptor = if inline {
            words.get(DESCRIPTOR_IN_WALKER).map(<[u32]>::to_vec)
        } else {
            self.descriptor(bits(word(1), 5, 0).into(), reader)
        };
        let descriptor = descriptor.ok_or("its interface descriptor is not known")?;
        let field = |at: usize| descriptor.get(at).copied().unwrap_or(0);
        // The table, the numbers of registers, and the threads, after the start, which has one or two dwords.
        let rest = if encoding.is_wide() { 4 } else { 3 };
        let start =
            u64::from(field(0) & !0x3f) | if rest == 4 { u64::from(field(1) & 0xffff) << 32 } else { 0 };
        let table = (field(rest), bits(field(rest), 4, 0));
        let shader = self.instructions.map(|base| base.after(start));
        let size = word(if encoding.is_wide() { 4 } else { 2 });
        let channels = match bits(size, 31, 30) {
            code @ 0..=2 => 8 << code,
            _ => return Err("the number of channels is reserved"),
        };
        let all = u32::MAX >> (32 - channels);
        let indirect = encoding.is_wide() && bits(word(2), 16, 0) != 0;
        // Floats without infinities and with other rules for 0 (IEEE-754 otherwise), in the dword before the samplers'.
        let alternate = bits(field(rest - 2), 16, 16) != 0;
        let unknown = match (indirect, alternate) {
            (true, _) => Some("indirect data"),
            (false, true) => Some("the alternate mode of floats"),
            (false, false) => None,
        };
        if inline {
            let data = words.get(DATA_IN_WALKER).ok_or("the command is too short")?;
            let has_data = bits(size, 25, 25) != 0;
            let unknown = match bits(size, 29, 26) {
                0 => unknown,
                _ => Some("the local numbers of channels"),
            };
            let threads = bits(field(5), 9, 0);
            return Ok(Some(Dispatch {
                shader,
                table,
                channels,
                groups,
                threads,
                last: word(5) & all,
                row: threads,
                shared: usize::from(has_data),
                own: 0,
                constants: data.iter().flat_map(|word| word.to_le_bytes()).collect(),
                unknown,
            }));
        }
        let [depth, height, row] = [(21, 16), (13, 8), (5, 0)].map(|(high, low)| bits(size, high, low) + 1);
        let masks = if encoding.is_wide() { [13, 14] } else { [9, 10] };
        let [right, bottom] = masks.map(|at| word(at) & all);
        let threads = row * height * depth;
        let per_thread = rest + 1;
        let shared = bits(field(per_thread + 2), 7, 0) as usize;
        let own = bits(field(per_thread), 31, 16) as usize;
        let needed = (shared + own * threads as usize) * REGISTER_BYTES;
        let unknown = if bottom != all {
            Some("channels that the last row lacks")
        } else if encoding.is_wide() && bits(field(per_thread), 15, 0) != 0 {
            Some("constants after the first ones")
        } else if needed > self.constants.len() {
            Some("constants that were not loaded")
        } else {
            unknown
        };
        Ok(Some(Dispatch {
            shader,
            table,
            channels,
            groups,
            threads,
            last: right,
            row,
            shared,
            own,
            constants: self.constants.clone(),
            unknown,
        }))
    }

    /// Reads an interface descriptor.
    fn descriptor(&self, number: u64, reader: &mut Reader<'_>) -> Option<Vec<u32>> {
        let (base, (start, len)) = (self.dynamic?, self.descriptors?);
        let offset = number * DESCRIPTOR_BYTES;
        (offset + DESCRIPTOR_BYTES <= len).then_some(())?;
        reader.dwords(base.after(start + offset), DESCRIPTOR_DWORDS)
    }
}

impl Dispatch {
    /// Returns the number of threads of all groups.
    pub(super) fn all_threads(&self) -> u64 {
        let groups = self.groups.iter().map(|range| u64::from(range.end - range.start));
        groups.fold(self.threads.into(), u64::saturating_mul)
    }

    /// Returns the channels of a group's thread, one bit each.
    pub(super) fn enabled(&self, thread: u32) -> u32 {
        if thread % self.row.max(1) + 1 == self.row { self.last } else { u32::MAX >> (32 - self.channels) }
    }

    /// Returns a thread of a group. Source: Mesa's `cs_fill_push_const_info`, for the order of constants.
    pub(super) fn thread<'a>(&self, shader: &'a Shader, group: [u32; 3], number: u32) -> Thread<'a> {
        let mut thread = Thread::new(shader, self.enabled(number), &self.payload(group, number));
        for dword in (0..REGISTER_BYTES / 4).filter(|dword| !GROUP.contains(dword)) {
            thread.undefine(0, 4 * dword..4 * dword + 4);
        }
        thread
    }

    /// Returns the first registers of a group's thread.
    pub(super) fn payload(&self, group: [u32; 3], thread: u32) -> Vec<[u8; REGISTER_BYTES]> {
        let mut first = [0; REGISTER_BYTES];
        for (dword, number) in GROUP.into_iter().zip(group) {
            if let Some(bytes) = first.get_mut(4 * dword..4 * dword + 4) {
                bytes.copy_from_slice(&number.to_le_bytes());
            }
        }
        let register = |number: usize| {
            let mut bytes = [0; REGISTER_BYTES];
            let loaded = self.constants.iter().skip(number * REGISTER_BYTES);
            bytes.iter_mut().zip(loaded).for_each(|(byte, loaded)| *byte = *loaded);
            bytes
        };
        let own = self.shared + self.own * thread as usize;
        let constants = (0..self.shared).chain(own..own + self.own).map(register);
        std::iter::once(first).chain(constants).collect()
    }
}
