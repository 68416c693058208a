//! A state of the model: two cache lines of one object, and everything that affects them.
//!
//! Line 0 is always written whole; line 1 is written by halves, so that stale parts of a partly written line
//! are visible. The unit of writing is a *granule*: line 0 has one, line 1 two.
//!
//! Bytes are abstracted to three values. Rules do not depend on bytes, so only the age of a copy matters: the
//! newest, an older one, or the previous owner's.

use std::fmt;
use std::ops::Range;

use crate::states::tracked::{InFlight, LineSet, Tracked};
use gem_coherency::cacheops::LineOp;
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass, words};
use gem_coherency_memory_model::Line;

words! {
    /// The value of a copy of a granule.
    Value, "value" {
        /// The value written last.
        Newest = "newest",
        /// A value written earlier.
        Old = "old",
        /// The previous owner's data.
        Secret = "secret",
    }
}

/// Number of lines.
pub const LINES: usize = 2;
/// Number of granules: one in line 0, two in line 1.
pub const GRANULES: usize = 3;

/// Returns the granules of a line.
pub const fn granules(line: usize) -> Range<usize> {
    if line == 0 { 0..1 } else { 1..GRANULES }
}

/// Returns the line of a granule.
pub const fn line_of(granule: usize) -> usize {
    if granule == 0 { 0 } else { 1 }
}

/// Returns whether a store to `granule` overwrites its line only in part.
pub const fn is_partial(granule: usize) -> bool {
    granule != 0
}

words! {
    /// A buffer that holds stores on their way to memory.
    Buffer, "store buffer" {
        /// The CPU's write-combining buffers.
        Combining = "write-combining",
        /// The aperture's buffers, in the CPU or the chipset.
        Aperture = "aperture",
    }
}

/// The agent that may access the object now, after the required preparation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// No agent.
    Closed,
    /// The CPU.
    Cpu {
        /// Through this mapping.
        mode: MmapMode,
        /// Writing includes reading.
        access: Access,
        /// The guard's line; without guards the window covers the whole object, and this is 0.
        line: usize,
    },
    /// The GPU, in a batch.
    Gpu {
        /// The MOCS class of its accesses.
        mocs: MocsClass,
        /// Writing includes reading.
        access: Access,
    },
    /// The display engine.
    Display,
    /// A submission that writes is announced, but its ioctl is not yet made; other threads may read.
    Announced {
        /// The MOCS class of its accesses.
        mocs: MocsClass,
    },
}

impl Window {
    /// Returns every window.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..32).filter_map(Self::from_bits)
    }

    fn bits(self) -> u64 {
        match self {
            Self::Closed => 0,
            Self::Cpu { mode, access, line } => 1 + (mode as u64 * 2 + access as u64) * 2 + line as u64,
            Self::Gpu { mocs, access } => 21 + mocs as u64 * 2 + access as u64,
            Self::Display => 27,
            Self::Announced { mocs } => 28 + mocs as u64,
        }
    }

    fn from_bits(bits: u64) -> Option<Self> {
        let access = |bit: u64| if bit == 0 { Access::Read } else { Access::Write };
        match bits {
            0 => Some(Self::Closed),
            1..=20 => {
                let bits = bits - 1;
                let mode = *MmapMode::ALL.get((bits / 4) as usize)?;
                Some(Self::Cpu { mode, access: access(bits / 2 % 2), line: (bits % 2) as usize })
            }
            21..=26 => {
                let bits = bits - 21;
                let mocs = *MocsClass::ALL.get((bits / 2) as usize)?;
                Some(Self::Gpu { mocs, access: access(bits % 2) })
            }
            27 => Some(Self::Display),
            28..=30 => Some(Self::Announced { mocs: *MocsClass::ALL.get((bits - 28) as usize)? }),
            _ => None,
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("nobody"),
            Self::Cpu { mode, access, .. } => write!(f, "CPU {access}s ({mode})"),
            Self::Gpu { mocs, access } => write!(f, "GPU {access}s ({mocs})"),
            Self::Display => f.write_str("display reads"),
            Self::Announced { mocs } => write!(f, "CPU reads before the GPU writes ({mocs})"),
        }
    }
}

/// A state of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The cache state of each line.
    pub lines: [Line; LINES],
    /// The cached copies of lines that are not absent.
    pub cache: [Value; GRANULES],
    /// The copies in memory; for an object that is not [resident](Self::resident), those in the page cache or
    /// in swap.
    pub memory: [Value; GRANULES],
    /// Stores in buffers, by [`Buffer`].
    pub buffered: [[Option<Value>; GRANULES]; 2],
    /// Copies that the GPU kept from earlier batches; none unless that assumption is dropped.
    pub gpu: [Option<Value>; GRANULES],
    /// The object has memory; without memory, no line is cached. On a discrete device the first touch of a
    /// mapping allocates the memory, without giving the object pages (`vm_fault_ttm`).
    pub resident: bool,
    /// The number of the kernel's state of the object.
    pub kernel: u16,
    /// The open window.
    pub window: Window,
    /// The library's state.
    pub tracked: Tracked,
    /// A mutant's outstanding flush.
    pub in_flight: InFlight,
    /// Lines of which the cache may hold older copies without the kernel knowing: the CPU itself stored to
    /// them around its cache; or the level changed while they were stale, without SET_DOMAIN; or the GPU
    /// stored to them with a PAT index that userspace chose.
    pub passed: LineSet,
}

/// Number of kernel states that can be numbered.
pub const KERNEL_STATES: usize = 1 << 10;

/// The packed state of the first line if the object is not resident; then no line is cached.
const NOT_RESIDENT: u64 = 3;

/// Packs fields of a state, lowest bits first.
struct Packer {
    bits: u64,
    used: u32,
}

impl Packer {
    fn put(&mut self, width: u32, value: u64) {
        debug_assert!(value < 1 << width);
        self.bits |= value << self.used;
        self.used += width;
    }
}

/// Unpacks fields in the same order.
struct Unpacker(u64);

impl Unpacker {
    fn take(&mut self, width: u32) -> u64 {
        let value = self.0 & ((1 << width) - 1);
        self.0 >>= width;
        value
    }

    fn flag(&mut self) -> bool {
        self.take(1) != 0
    }
}

const fn value(bits: u64) -> Value {
    match bits {
        0 => Value::Newest,
        1 => Value::Old,
        _ => Value::Secret,
    }
}

const fn some_value(bits: u64) -> Option<Value> {
    match bits {
        0 => None,
        bits => Some(value(bits - 1)),
    }
}

fn some_bits(copy: Option<Value>) -> u64 {
    copy.map_or(0, |value| value as u64 + 1)
}

impl State {
    /// Creates the state of an untouched object with these contents, not resident.
    pub fn new(contents: [Value; GRANULES], kernel: u16) -> Self {
        Self {
            lines: [Line::Absent; LINES],
            cache: [Value::Newest; GRANULES],
            memory: contents,
            buffered: [[None; GRANULES]; 2],
            gpu: [None; GRANULES],
            resident: false,
            kernel,
            window: Window::Closed,
            tracked: Tracked::default(),
            in_flight: InFlight::NOTHING,
            passed: LineSet::NONE,
        }
    }

    /// Packs the state into 64 bits. The bits are never all set, because there are fewer than 32 windows.
    /// States that differ only by swapping the halves of line 1 are packed alike.
    pub fn pack(&self) -> u64 {
        let mut packer = Packer { bits: 0, used: 0 };
        let [first, second] = self.lines.map(|line| line as u64);
        packer.put(2, if self.resident { first } else { NOT_RESIDENT });
        packer.put(2, second);
        let [whole, one, other] = std::array::from_fn(|granule| self.copies(granule));
        for copies in [whole, one.max(other), one.min(other)] {
            packer.put(10, copies);
        }
        packer.put(10, u64::from(self.kernel));
        packer.put(5, self.window.bits());
        let Tracked { dirty, stale, wc_stores, gtt_stores, gpu_write, cached_map, written_around } =
            self.tracked;
        packer.put(2, dirty.bits());
        packer.put(2, stale.bits());
        for flag in [wc_stores, gtt_stores, gpu_write, cached_map, written_around] {
            packer.put(1, u64::from(flag));
        }
        packer.put(2, self.in_flight.lines.bits());
        packer.put(2, if self.in_flight.lines.is_empty() { 0 } else { self.in_flight.op as u64 });
        packer.put(2, self.passed.bits());
        packer.bits
    }

    /// Packs all copies of a granule.
    fn copies(&self, granule: usize) -> u64 {
        let is_cached = self.lines[line_of(granule)] != Line::Absent;
        let cached = if is_cached { self.cache[granule] as u64 } else { 0 };
        let [combining, aperture] = self.buffered;
        cached
            | (self.memory[granule] as u64) << 2
            | some_bits(combining[granule]) << 4
            | some_bits(aperture[granule]) << 6
            | some_bits(self.gpu[granule]) << 8
    }

    /// Unpacks a state.
    pub fn unpack(bits: u64) -> Self {
        let mut bits = Unpacker(bits);
        let mut state = Self::new([Value::Newest; GRANULES], 0);
        let lines = [bits.take(2), bits.take(2)];
        state.resident = lines[0] != NOT_RESIDENT;
        state.lines = lines.map(|line| match line {
            0 | NOT_RESIDENT => Line::Absent,
            1 => Line::Clean,
            _ => Line::Dirty,
        });
        for granule in 0..GRANULES {
            state.cache[granule] = value(bits.take(2));
            state.memory[granule] = value(bits.take(2));
            state.buffered[0][granule] = some_value(bits.take(2));
            state.buffered[1][granule] = some_value(bits.take(2));
            state.gpu[granule] = some_value(bits.take(2));
        }
        state.kernel = bits.take(10) as u16;
        state.window = Window::from_bits(bits.take(5)).unwrap_or(Window::Closed);
        state.tracked.dirty = LineSet::from_bits(bits.take(2));
        state.tracked.stale = LineSet::from_bits(bits.take(2));
        state.tracked.wc_stores = bits.flag();
        state.tracked.gtt_stores = bits.flag();
        state.tracked.gpu_write = bits.flag();
        state.tracked.cached_map = bits.flag();
        state.tracked.written_around = bits.flag();
        state.in_flight.lines = LineSet::from_bits(bits.take(2));
        state.in_flight.op = match bits.take(2) {
            0 => LineOp::WriteBack,
            1 => LineOp::Flush,
            _ => LineOp::Invalidate,
        };
        state.passed = LineSet::from_bits(bits.take(2));
        state
    }

    /// Returns whether the CPU's caches hold a copy of a line that is not the newest.
    pub fn is_stale(&self, line: usize) -> bool {
        granules(line).any(|granule| self.cached(granule).is_some_and(|copy| copy != Value::Newest))
    }

    /// Clears `passed` for lines of which no older copy exists or can appear.
    pub fn forget_passed(&mut self) {
        for line in self.passed.iter() {
            let under_way =
                || granules(line).any(|granule| self.buffered.iter().any(|buffer| buffer[granule].is_some()));
            if !self.is_stale(line) && !under_way() {
                self.passed = self.passed.without(LineSet::one(line));
            }
        }
    }

    /// Returns the cached copy of a granule, if its line is cached.
    pub fn cached(&self, granule: usize) -> Option<Value> {
        (self.lines[line_of(granule)] != Line::Absent).then_some(self.cache[granule])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing_but_the_order_of_the_halves() {
        let mut state = State::new([Value::Newest, Value::Old, Value::Secret], 377);
        state.lines = [Line::Dirty, Line::Clean];
        state.resident = true;
        state.cache = [Value::Old, Value::Newest, Value::Old];
        state.buffered = [[None, Some(Value::Newest), None], [Some(Value::Old), None, Some(Value::Secret)]];
        state.gpu = [None, Some(Value::Secret), Some(Value::Old)];
        state.tracked =
            Tracked { dirty: LineSet::one(1), gpu_write: true, written_around: true, ..Tracked::default() };
        state.in_flight = InFlight { lines: LineSet::one(0), op: LineOp::Invalidate };
        state.passed = LineSet::one(1);
        for window in Window::all() {
            state.window = window;
            let back = State::unpack(state.pack());
            let mut swapped = state;
            for copies in [&mut swapped.cache, &mut swapped.memory] {
                copies.swap(1, 2);
            }
            for copies in swapped.buffered.iter_mut().chain([&mut swapped.gpu]) {
                copies.swap(1, 2);
            }
            assert!(back == state || back == swapped, "{back:?}");
            assert_eq!(state.pack(), swapped.pack());
        }
        assert_eq!(Window::all().count(), 31);
    }

    #[test]
    fn no_line_of_what_is_not_resident_is_cached() {
        let mut state = State::new([Value::Newest, Value::Old, Value::Old], 1);
        assert_eq!(State::unpack(state.pack()), state);
        state.resident = true;
        assert_eq!(State::unpack(state.pack()), state);
    }

    #[test]
    fn what_an_absent_line_held_makes_no_difference() {
        let state = State::new([Value::Newest; GRANULES], 0);
        let other = State { cache: [Value::Secret; GRANULES], ..state };
        assert_eq!(state.pack(), other.pack());
    }
}
