//! Which lines a range of addresses lies in; no line is touched here.
#![deny(unsafe_code)]

use super::LineOp;
use crate::units::LINE_BYTES;

/// Bytes of a line, as an address.
const LINE: usize = LINE_BYTES as usize;

/// The lines of a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSpan {
    /// The address of the first line.
    pub first: usize,
    /// How many lines.
    pub lines: usize,
}

/// The lines with a byte in `address..address + len`; a range that leaves the address space ends there.
pub const fn line_span(address: usize, len: usize) -> LineSpan {
    let first = address - address % LINE;
    if len == 0 {
        return LineSpan { first, lines: 0 };
    }
    let last = address.saturating_add(len - 1);
    LineSpan { first, lines: (last - first) / LINE + 1 }
}

/// The address of every line that `op` on `address..address + len` touches, in order.
pub(super) fn line_addresses(address: usize, len: usize, op: LineOp) -> impl Iterator<Item = usize> {
    let LineSpan { first, lines } = line_span(address, len);
    let again = match op {
        LineOp::WriteBack | LineOp::Flush => 0,
        LineOp::Invalidate => lines.min(1),
    };
    (0..lines).chain((lines - again)..lines).map(move |line| first + line * LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a range, found byte by byte.
    fn by_bytes(address: usize, len: usize) -> Vec<usize> {
        let mut lines: Vec<_> = (address..address + len).map(|byte| byte & !63).collect();
        lines.dedup();
        lines
    }

    #[test]
    fn a_span_is_every_line_with_a_byte_in_the_range() {
        for address in 4096..4096 + 130 {
            for len in 0..=260 {
                let span = line_span(address, len);
                let lines: Vec<_> = (0..span.lines).map(|line| span.first + line * 64).collect();
                assert_eq!(lines, by_bytes(address, len), "{address} + {len}");
            }
        }
    }

    #[test]
    fn a_span_at_the_end_of_the_address_space_does_not_wrap() {
        assert_eq!(line_span(usize::MAX, 1), LineSpan { first: usize::MAX - 63, lines: 1 });
        assert_eq!(line_span(usize::MAX - 64, usize::MAX), LineSpan { first: usize::MAX - 127, lines: 2 });
        assert_eq!(line_span(0, usize::MAX), LineSpan { first: 0, lines: usize::MAX / 64 + 1 });
        assert_eq!(line_span(usize::MAX, 0).lines, 0);
    }

    #[test]
    fn invalidate_touches_the_last_line_twice_and_the_others_once() {
        for (address, len) in [(0, 0), (0, 1), (63, 2), (4095, 4097), (4096, 4096)] {
            let mut twice = by_bytes(address, len);
            assert_eq!(line_addresses(address, len, LineOp::Flush).collect::<Vec<_>>(), twice);
            assert_eq!(line_addresses(address, len, LineOp::WriteBack).collect::<Vec<_>>(), twice);
            twice.extend(twice.last().copied());
            assert_eq!(line_addresses(address, len, LineOp::Invalidate).collect::<Vec<_>>(), twice);
        }
    }
}
