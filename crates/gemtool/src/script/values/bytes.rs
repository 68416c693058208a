//! Transfers between a BO and patterns, in chunks.

use crate::script::Pattern;
use gem_coherency::error::Error;
use gem_coherency::units::ByteRange;

/// Size of a chunk in bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes of a read that reports show.
const SHOWN_BYTES: u64 = 16;

/// Calls `copy` with the pattern's bytes for every chunk of `bytes`.
pub(in crate::script) fn store(
    bytes: ByteRange,
    fill: &Pattern,
    mut copy: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut data = vec![0; CHUNK_BYTES];
    chunks(bytes, |offset, len| {
        let (chunk, _) = data.split_at_mut(len);
        fill.fill(offset, chunk);
        copy(offset, chunk)
    })
}

/// Calls `visit` with offset and length of every chunk of `bytes`; once for an empty range, so that an access
/// that the device refuses is still refused.
fn chunks(bytes: ByteRange, mut visit: impl FnMut(u64, usize) -> Result<(), Error>) -> Result<(), Error> {
    let mut offset = bytes.offset();
    loop {
        let len = CHUNK_BYTES.min(usize::try_from(bytes.end() - offset).unwrap_or(CHUNK_BYTES));
        visit(offset, len)?;
        offset += len as u64;
        if offset >= bytes.end() {
            return Ok(());
        }
    }
}

/// The bytes that were read.
#[derive(Debug)]
pub(in crate::script) struct Seen {
    bytes: ByteRange,
    /// The first bytes.
    first: Vec<u8>,
    /// Offset of the first byte that differs from the expected one, and the bytes there.
    wrong: Option<(u64, Vec<u8>)>,
}

impl Seen {
    /// Reads `bytes` chunk by chunk.
    pub(in crate::script) fn load(
        bytes: ByteRange,
        expect: Option<&Pattern>,
        mut copy: impl FnMut(u64, &mut [u8]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut data = vec![0; CHUNK_BYTES];
        let mut seen = Self { bytes, first: Vec::new(), wrong: None };
        let shown = |data: &[u8]| data.iter().take(SHOWN_BYTES as usize).copied().collect();
        chunks(bytes, |offset, len| {
            let (chunk, _) = data.split_at_mut(len);
            copy(offset, chunk)?;
            if offset == bytes.offset() {
                seen.first = shown(chunk);
            }
            if seen.wrong.is_none()
                && let Some(at) = expect.and_then(|pattern| pattern.mismatch(offset, chunk))
            {
                let from = usize::try_from(at - offset).unwrap_or(len).min(len);
                seen.wrong = Some((at, shown(chunk.split_at(from).1)));
            }
            Ok(())
        })?;
        Ok(seen)
    }

    /// Returns whether the bytes match the pattern; otherwise the expected and the actual ones.
    pub(in crate::script) fn verdict(&self, pattern: &Pattern) -> Result<(), (String, String)> {
        let Some((at, seen)) = &self.wrong else { return Ok(()) };
        let mut expected = vec![0; seen.len()];
        pattern.fill(*at, &mut expected);
        let (from, end) = (self.bytes.offset(), self.bytes.end());
        Err((
            format!("{} at {at}, in {from}..{end}", Pattern::Bytes(expected)),
            format!("{} at {at}", Pattern::Bytes(seen.clone())),
        ))
    }

    /// Formats the first bytes.
    pub(in crate::script) fn first_bytes(&self) -> String {
        let more = if self.bytes.len() > SHOWN_BYTES { "..." } else { "" };
        if self.first.is_empty() {
            return "no bytes".to_owned();
        }
        format!("{}{more}", Pattern::Bytes(self.first.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_wrong_in_a_later_chunk_is_found_where_it_is() {
        let bytes = ByteRange::within(100, 200_000, 300_000).unwrap();
        let mut memory = vec![0; 300_000];
        let mut lens = Vec::new();
        store(bytes, &Pattern::Counter, |offset, data| {
            let at = offset as usize;
            memory[at..at + data.len()].copy_from_slice(data);
            lens.push(data.len());
            Ok(())
        })
        .unwrap();
        assert_eq!((lens.iter().sum::<usize>(), lens.len()), (200_000, 4));
        let load = |memory: &[u8]| {
            let copy = |offset: u64, data: &mut [u8]| {
                let at = offset as usize;
                data.copy_from_slice(&memory[at..at + data.len()]);
                Ok(())
            };
            Seen::load(bytes, Some(&Pattern::Counter), copy).unwrap().verdict(&Pattern::Counter)
        };
        assert_eq!(load(&memory), Ok(()));
        memory[150_000] ^= 0xff;
        let (expected, seen) = load(&memory).unwrap_err();
        assert!(
            expected.ends_with("at 150000, in 100..200100") && seen.ends_with("at 150000"),
            "{expected}; {seen}"
        );
        memory[100] ^= 0xff;
        assert!(load(&memory).unwrap_err().1.ends_with("at 100"), "the first one is");
    }

    #[test]
    fn no_bytes_are_asked_for_once() {
        let mut count = 0;
        let nothing = ByteRange::within(8, 0, 8).unwrap();
        store(nothing, &Pattern::Counter, |offset, data| {
            assert_eq!((offset, data.len()), (8, 0));
            count += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(count, 1);
    }
}
