//! Computes the addresses of the lines that an operation touches, without touching them.
//!
//! The loops that touch lines are these, so the tests here cover the addresses that are flushed.
#![deny(unsafe_code)]

use super::LINE_BYTES;

/// Bytes per line, as an address difference.
pub(super) const LINE: usize = LINE_BYTES as usize;

/// The lines of a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSpan {
    /// The address of the first line.
    pub first: usize,
    /// Number of lines.
    pub lines: usize,
}

/// Returns the lines with a byte in `address..address + len`; a range that exceeds the address space is cut
/// off at its end.
pub const fn line_span(address: usize, len: usize) -> LineSpan {
    let first = address - address % LINE;
    if len == 0 {
        return LineSpan { first, lines: 0 };
    }
    let last = address.saturating_add(len - 1);
    LineSpan { first, lines: (last - first) / LINE + 1 }
}

/// The number of times that the last line of a range is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLine {
    /// Once, like the others.
    Once,
    /// Twice.
    Twice,
}

/// Returns the address of every line with a byte in `address..address + len`, in order.
pub(super) fn line_addresses(address: usize, len: usize, last_line: LastLine) -> impl Iterator<Item = usize> {
    let LineSpan { first, lines } = line_span(address, len);
    let again = match last_line {
        LastLine::Once => 0,
        LastLine::Twice => lines.min(1),
    };
    (0..lines).chain((lines - again)..lines).map(move |line| first + line * LINE)
}

/// Passes the address of every line of `pages` whose bit is set to `touch`, page by page in order: each page is an address
/// and a mask. Returns the number of lines.
#[inline(always)]
pub(super) fn lines_of_pages(
    pages: impl Iterator<Item = (usize, u64)>,
    last_line: LastLine,
    mut touch: impl FnMut(usize),
) -> usize {
    let mut lines = 0;
    for (page, mask) in pages {
        let mut left = mask;
        while left != 0 {
            touch(page + left.trailing_zeros() as usize * LINE);
            left &= left - 1;
            lines += 1;
        }
        if last_line == LastLine::Twice && mask != 0 {
            touch(page + (63 - mask.leading_zeros()) as usize * LINE);
        }
    }
    lines
}

/// A byte range, split at line boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    /// Bytes before the first whole line.
    pub(super) head: usize,
    /// Number of whole lines.
    pub(super) lines: usize,
    /// Bytes after the last whole line.
    pub(super) tail: usize,
}

/// Splits `address..address + len` at line boundaries.
pub(super) const fn pieces(address: usize, len: usize) -> Pieces {
    let to_line = address.wrapping_neg() % LINE;
    let head = if to_line < len { to_line } else { len };
    let rest = len - head;
    Pieces { head, lines: rest / LINE, tail: rest % LINE }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: [LastLine; 2] = [LastLine::Once, LastLine::Twice];

    /// Computes the lines of a range byte by byte.
    fn by_bytes(address: usize, len: usize, last_line: LastLine) -> Vec<usize> {
        let mut lines: Vec<_> = (address..address + len).map(|byte| byte & !63).collect();
        lines.dedup();
        match last_line {
            LastLine::Once => {}
            LastLine::Twice => lines.extend(lines.last().copied()),
        }
        lines
    }

    #[test]
    fn a_span_is_every_line_with_a_byte_in_the_range() {
        for address in 4096..4096 + 130 {
            for len in 0..=260 {
                let span = line_span(address, len);
                let lines: Vec<_> = (0..span.lines).map(|line| span.first + line * 64).collect();
                assert_eq!(lines, by_bytes(address, len, LastLine::Once), "{address} + {len}");
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
    fn a_range_is_every_line_once_and_the_last_one_as_often_as_asked() {
        let lens = (0..=200).chain(4096 - 65..=4096 + 65).chain([3 * 4096]);
        for len in lens {
            for address in (8192 - 65)..=(8192 + 65) {
                for last in LAST {
                    let lines: Vec<_> = line_addresses(address, len, last).collect();
                    assert_eq!(lines, by_bytes(address, len, last), "{address} + {len}, {last:?}");
                }
            }
        }
    }

    /// Returns the lines of `pages` as they are touched.
    fn of_pages(pages: &[(usize, u64)], last_line: LastLine) -> Vec<usize> {
        let mut touched = Vec::new();
        let lines = lines_of_pages(pages.iter().copied(), last_line, |line| touched.push(line));
        assert_eq!(lines, pages.iter().map(|(_, mask)| mask.count_ones() as usize).sum());
        touched
    }

    /// Masks of every kind: each bit alone, each bit missing, every run, and some hundred others.
    fn masks() -> impl Iterator<Item = u64> {
        let single = (0..64).map(|bit| 1 << bit);
        let missing = (0..64).map(|bit| !(1 << bit));
        let runs =
            (0..64).flat_map(|first| (first..64).map(move |last| (u64::MAX >> (63 - last + first)) << first));
        let mixed = (1..500u64).map(|seed| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seed << 37));
        [0, u64::MAX, 0x5555_5555_5555_5555].into_iter().chain(single).chain(missing).chain(runs).chain(mixed)
    }

    #[test]
    fn a_page_word_is_exactly_the_lines_whose_bits_are_set() {
        for page in [0, 4096, usize::MAX - 4095] {
            for mask in masks() {
                let mut lines: Vec<_> =
                    (0..64).filter(|bit| mask >> bit & 1 != 0).map(|bit| page + bit * 64).collect();
                assert_eq!(of_pages(&[(page, mask)], LastLine::Once), lines, "{mask:x}");
                lines.extend(lines.last().copied());
                assert_eq!(of_pages(&[(page, mask)], LastLine::Twice), lines, "{mask:x}");
            }
        }
    }

    #[test]
    fn several_pages_are_the_lines_of_each_in_their_order() {
        let pages = [(8192, 5), (4096, 0), (0, 1 << 63), (4096, 1)];
        for last in LAST {
            let apart: Vec<_> = pages.iter().flat_map(|&page| of_pages(&[page], last)).collect();
            assert_eq!(of_pages(&pages, last), apart, "{last:?}");
        }
        assert_eq!(of_pages(&pages, LastLine::Once), [8192, 8320, 4032, 4096]);
    }

    #[test]
    fn pieces_fill_the_range_and_only_whole_lines_lie_between() {
        for address in 4096..=4096 + 64 {
            for len in 0..=300 {
                let Pieces { head, lines, tail } = pieces(address, len);
                assert_eq!(head + lines * 64 + tail, len, "{address} + {len}");
                assert!(head < 64 && tail < 64, "{address} + {len}");
                if lines > 0 {
                    assert_eq!((address + head) % 64, 0, "{address} + {len}");
                }
                // The partial lines at either end are not whole lines.
                let whole = (address..address + len).filter(|at| at % 64 == 0 && at + 64 <= address + len);
                assert_eq!(lines, whole.count(), "{address} + {len}");
            }
        }
    }
}
