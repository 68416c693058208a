//! The fuzzer's bytes as choices. They never run out: the rest is zeroes.

use arbitrary::Unstructured;

/// Choices, from a fuzzer's bytes.
#[derive(Debug)]
pub struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    /// The choices in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// Returns whether all choices that follow are zeroes.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// Two bytes.
    pub fn short(&mut self) -> u16 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// Eight bytes.
    pub fn word(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// One time in `n`, up to 256.
    pub fn one_in(&mut self, n: u16) -> bool {
        u16::from(self.byte()) % n == n - 1
    }

    /// One of `all`, by a byte, or by two where a byte does not reach them all.
    ///
    /// # Panics
    /// If there is none.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        let pick = if all.len() > 256 { usize::from(self.short()) } else { usize::from(self.byte()) };
        all[pick % all.len()]
    }

    /// `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        // Fills what it has, and the rest with zeroes.
        let _ = self.0.fill_buffer(&mut bytes);
        bytes
    }

    /// Everything that is left.
    pub fn rest(self) -> &'a [u8] {
        self.0.take_rest()
    }
}
