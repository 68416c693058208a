//! Machine code with its addresses.

use std::ops::Range;

/// A part of an object that is in memory as one piece.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Address of the first byte.
    pub address: u64,
    /// The bytes.
    pub bytes: &'a [u8],
    /// True if the bytes are code.
    pub executable: bool,
}

impl<'a> Segment<'a> {
    /// Returns the address of a byte by its index. The addresses of malformed files wrap.
    pub(super) fn address_of(&self, index: usize) -> u64 {
        self.address.wrapping_add(index as u64)
    }

    /// Returns the bytes of a range of addresses, or `None` if it is not all inside.
    #[must_use]
    pub fn code(&self, range: &Range<u64>) -> Option<&'a [u8]> {
        let start = usize::try_from(range.start.checked_sub(self.address)?).ok()?;
        let end = usize::try_from(range.end.checked_sub(self.address)?).ok()?;
        self.bytes.get(start..end)
    }

    /// Returns the bytes from an address to the end of the segment, or `None` if it is not inside.
    #[must_use]
    pub fn from(&self, address: u64) -> Option<&'a [u8]> {
        self.bytes.get(usize::try_from(address.checked_sub(self.address)?).ok()?..)
    }
}

/// An object: its segments, and where its unwind table begins.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// Code and read-only data. The unwind tables must be in one of them.
    pub segments: Vec<Segment<'a>>,
    /// Address of `.eh_frame_hdr` (PT_GNU_EH_FRAME). Without it no instruction is confirmed.
    pub eh_frame_hdr: Option<u64>,
}

impl<'a> Image<'a> {
    /// Returns the bytes from an address to the end of its segment.
    #[must_use]
    pub fn from(&self, address: u64) -> Option<&'a [u8]> {
        self.segments.iter().find_map(|segment| segment.from(address).filter(|bytes| !bytes.is_empty()))
    }
}
