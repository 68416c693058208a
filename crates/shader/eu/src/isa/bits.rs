//! Bits of a word that belong together.

/// Bits of a word, highest first: pieces of (high, low), inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits(pub(crate) &'static [(u8, u8)]);

impl Bits {
    /// Returns their number.
    pub(crate) fn width(self) -> u32 {
        self.0.iter().map(|&(high, low)| u32::from(high - low) + 1).sum()
    }

    /// Returns a word in which they are set.
    pub(crate) fn mask(self) -> u128 {
        self.0.iter().fold(0, |mask, &(high, low)| mask | ones(high - low + 1) << low)
    }

    /// Returns their value in a word.
    pub(crate) fn get(self, word: u128) -> u64 {
        self.0.iter().fold(0, |value, &(high, low)| {
            let width = high - low + 1;
            value << (width % 64) | (word >> low & ones(width)) as u64
        })
    }

    /// Returns a word of zeroes with a value in them. Bits of the value that they have no room for are lost.
    pub(crate) fn put(self, value: u64) -> u128 {
        let mut left = u128::from(value);
        self.0.iter().rev().fold(0, |word, &(high, low)| {
            let piece = left & ones(high - low + 1);
            left >>= high - low + 1;
            word | piece << low
        })
    }
}

/// Returns a word whose lowest `width` bits are set.
fn ones(width: u8) -> u128 {
    !(!0 << width)
}
