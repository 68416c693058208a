//! The checksum of a picture, as display hardware computes one of what it reads.

/// CRC-32 (IEEE 802.3) of what a display reads, line by line.
///
/// ```
/// use gem_coherency_sim::Crc;
///
/// let mut crc = Crc::default();
/// crc.add(b"1234");
/// crc.add(b"56789");
/// assert_eq!(crc.finish(), 0xcbf4_3926);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Crc(crc32fast::Hasher);

impl Crc {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the CRC of all bytes added so far.
    pub fn finish(&self) -> u32 {
        self.0.clone().finalize()
    }
}
