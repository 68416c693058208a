//! Functions of an object, by its unwind tables: `.eh_frame_hdr` (LSB, "Exception Frames") and `.eh_frame`.

use std::ops::Range;

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian, ParsedEhFrameHdr,
    Pointer, UnwindSection,
};

use super::image::Image;

/// Reader of unwind tables in memory. It does not allocate.
pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Bytes of an address.
const ADDRESS_BYTES: u8 = 8;

/// Unwind tables of an object, with their sorted index.
#[derive(Clone, Debug)]
pub struct Functions<'a> {
    index: ParsedEhFrameHdr<Bytes<'a>>,
    frames: EhFrame<Bytes<'a>>,
    bases: BaseAddresses,
}

impl<'a> Functions<'a> {
    /// Returns the tables of `image`, or `None` if it has none or they are malformed.
    #[must_use]
    pub fn of(image: &Image<'a>) -> Option<Self> {
        let at = image.eh_frame_hdr?;
        Self::new(at, image.from(at)?, |address| image.from(address))
    }

    /// Returns the tables whose index is at `at`. `from` returns the bytes from an address to the end of its segment.
    /// Does not allocate if `from` does not.
    pub(crate) fn new(at: u64, bytes: &'a [u8], from: impl FnOnce(u64) -> Option<&'a [u8]>) -> Option<Self> {
        let bases = BaseAddresses::default().set_eh_frame_hdr(at);
        let index = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, ADDRESS_BYTES).ok()?;
        let Pointer::Direct(frames_at) = index.eh_frame_ptr() else { return None };
        let frames = EhFrame::new(from(frames_at)?, LittleEndian);
        Some(Functions { index, frames, bases: bases.set_eh_frame(frames_at) })
    }

    /// Returns the addresses of the function that contains `address`.
    #[must_use]
    pub fn containing(&self, address: u64) -> Option<Range<u64>> {
        let entry = self.entry(address)?;
        Some(entry.initial_address()..entry.end_address())
    }

    /// Returns the entry of the function that contains `address`. Does not allocate.
    pub(crate) fn entry(&self, address: u64) -> Option<FrameDescriptionEntry<Bytes<'a>>> {
        let table = self.index.table()?;
        table.fde_for_address(&self.frames, &self.bases, address, EhFrame::cie_from_offset).ok()
    }

    /// The section of the entries, and the addresses that its pointers are relative to.
    pub(crate) fn section(&self) -> (&EhFrame<Bytes<'a>>, &BaseAddresses) {
        (&self.frames, &self.bases)
    }
}
