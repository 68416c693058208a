//! A set of small numbers: lines or pages.

pub struct Bits(Vec<u64>);

impl Bits {
    /// The empty set of numbers below `end`.
    pub fn new(end: u64) -> Self {
        Self(vec![0; end.div_ceil(64) as usize])
    }

    pub fn has(&self, number: u64) -> bool {
        self.word(number) >> (number % 64) & 1 != 0
    }

    /// The 64 numbers from the multiple of 64 at or below `number`, as bits.
    pub fn word(&self, number: u64) -> u64 {
        self.0[(number / 64) as usize]
    }

    pub fn set_word(&mut self, number: u64, bits: u64) {
        self.0[(number / 64) as usize] = bits;
    }

    pub fn insert(&mut self, number: u64) {
        self.0[(number / 64) as usize] |= 1 << (number % 64);
    }

    pub fn remove(&mut self, number: u64) {
        self.0[(number / 64) as usize] &= !(1 << (number % 64));
    }
}
