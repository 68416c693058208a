//! The bit layout of the object word; each width is stated once, and positions follow from the widths.

use static_assertions::const_assert;

use crate::vocabulary::CacheLevel;

/// A few adjacent bits of the word.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) shift: u32,
    bits: u32,
}

impl Field {
    /// Creates the field of the lowest `bits` bits.
    const fn lowest(bits: u32) -> Self {
        Self { shift: 0, bits }
    }

    /// Creates the field of the next `bits` bits above this one.
    const fn above(self, bits: u32) -> Self {
        Self { shift: self.shift + self.bits, bits }
    }

    /// Returns the largest value that fits.
    pub(super) const fn max(self) -> u64 {
        (1 << self.bits) - 1
    }

    /// Returns the mask of the field's bits.
    pub(super) const fn mask(self) -> u64 {
        self.max() << self.shift
    }
}

pub(super) const WRITERS: Field = Field::lowest(12);
pub(super) const READERS: Field = WRITERS.above(12);
pub(super) const SUBMITS: Field = READERS.above(12);
pub(super) const PINS: Field = SUBMITS.above(8);
pub(super) const LEVEL: Field = PINS.above(2);
pub(super) const UNCONFIRMED: Field = LEVEL.above(1);
pub(super) const CLOSED: Field = UNCONFIRMED.above(1);
pub(super) const PURGED: Field = CLOSED.above(1);
pub(super) const DONT_NEED: Field = PURGED.above(1);
pub(super) const CHANGING: Field = DONT_NEED.above(1);
pub(super) const UNMAPPING: Field = CHANGING.above(1);
pub(super) const WC_STORES: Field = UNMAPPING.above(1);
pub(super) const GTT_STORES: Field = WC_STORES.above(1);
pub(super) const GPU_WROTE: Field = GTT_STORES.above(1);

const_assert!(GPU_WROTE.shift + GPU_WROTE.bits <= u64::BITS);
const_assert!(CacheLevel::ALL.len() as u64 == LEVEL.max() + 1);
const_assert!(WRITERS.max() <= u32::MAX as u64 && READERS.max() <= u32::MAX as u64);
const_assert!(SUBMITS.max() <= u32::MAX as u64 && PINS.max() <= u32::MAX as u64);
