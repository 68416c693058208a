//! Bytes that may be the opcode of an instruction to trap.
//!
//! Opcodes (Intel SDM, volume 2): CLFLUSH is 0F AE /7, CLFLUSHOPT and CLWB are 66 0F AE /7 and /6, SFENCE and MFENCE are 0F AE /7 and /6
//! without memory, MOVNTI is 0F C3,
//! MOVNTQ and MOVNTDQ are 0F E7, MOVNTPS and MOVNTPD (and AMD's MOVNTSS and MOVNTSD) are 0F 2B. VEX and EVEX prefixes
//! replace 0F.

use memchr::{memchr3_iter, memmem};

use super::Search;

/// Bytes that are searched at once, so that the second search finds them in the cache.
const CHUNK_BYTES: usize = 1 << 17;

/// Returns the indices of opcode bytes in `code`, ascending. Most of them are no opcodes.
pub(super) fn candidates(code: &[u8], search: Search) -> Vec<usize> {
    let mut found = Vec::new();
    match search {
        Search::Flushes => {
            let finder = memmem::Finder::new(&[0x0f, 0xae]);
            found.extend(finder.find_iter(code).map(|at| at + 1).filter(|&at| may_be_flush(code, at)));
        }
        Search::FlushesAndStores | Search::All => {
            let may_be_fence = |at| search == Search::All && may_be_fence(code, at);
            let finder = memmem::Finder::new(&[0x0f, 0xc3]);
            let mut start = 0;
            while let Some(rest) = code.get(start..).filter(|rest| !rest.is_empty()) {
                let chunk = rest.get(..CHUNK_BYTES).unwrap_or(rest);
                // A pair may straddle two chunks.
                let pairs = rest.get(..CHUNK_BYTES + 1).unwrap_or(rest);
                let before = found.len();
                for at in memchr3_iter(0xae, 0xe7, 0x2b, chunk).map(|at| start + at) {
                    if may_be_flush(code, at) || may_be_vector_store(code, at) || may_be_fence(at) {
                        found.push(at);
                    }
                }
                let general = finder.find_iter(pairs).map(|at| start + at + 1);
                found.extend(general.filter(|&at| has_memory_operand(code, at)));
                if let Some(new) = found.get_mut(before..) {
                    new.sort_unstable();
                }
                start += chunk.len();
            }
        }
    }
    found
}

/// Returns the byte `back` bytes before `at`.
fn byte_before(code: &[u8], at: usize, back: usize) -> Option<u8> {
    code.get(at.checked_sub(back)?).copied()
}

/// True if the ModRM byte after the opcode names memory.
fn has_memory_operand(code: &[u8], opcode: usize) -> bool {
    code.get(opcode + 1).is_some_and(|modrm| modrm >> 6 != 3)
}

/// True if the byte may be the opcode of CLFLUSH, CLFLUSHOPT or CLWB.
fn may_be_flush(code: &[u8], opcode: usize) -> bool {
    is_flush_or_fence(code, opcode) && has_memory_operand(code, opcode)
}

/// True if the byte may be the opcode of SFENCE or MFENCE.
fn may_be_fence(code: &[u8], opcode: usize) -> bool {
    is_flush_or_fence(code, opcode) && code.get(opcode + 1).is_some_and(|modrm| modrm >> 6 == 3)
}

/// True if the byte may be the opcode of a flush or of such a fence.
fn is_flush_or_fence(code: &[u8], opcode: usize) -> bool {
    let extension = code.get(opcode + 1).map(|modrm| modrm >> 3 & 7);
    code.get(opcode) == Some(&0xae)
        && byte_before(code, opcode, 1) == Some(0x0f)
        && matches!(extension, Some(6 | 7))
}

/// True if the byte may be the opcode of a store of a vector register.
fn may_be_vector_store(code: &[u8], opcode: usize) -> bool {
    let before = |back| byte_before(code, opcode, back);
    let has_prefix = before(1) == Some(0x0f)
        || before(2) == Some(0xc5)
        // The map of opcodes after 0F is map 1.
        || before(3) == Some(0xc4) && before(2).is_some_and(|byte| byte & 0x1f == 1)
        || before(4) == Some(0x62) && before(3).is_some_and(|byte| byte & 7 == 1);
    matches!(code.get(opcode), Some(0xe7 | 0x2b)) && has_prefix && has_memory_operand(code, opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_found_at_any_place_also_across_chunks() {
        for at in [0, 1, 15, CHUNK_BYTES - 3, CHUNK_BYTES - 2, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1]
        {
            for (bytes, opcode) in [
                (&[0x0f, 0xae, 0x38][..], 1),
                (&[0x66, 0x0f, 0xae, 0x30], 2),
                (&[0x0f, 0xc3, 0x07], 1),
                (&[0x66, 0x0f, 0xe7, 0x07], 2),
                (&[0x0f, 0x2b, 0x07], 1),
                (&[0xc5, 0xfd, 0xe7, 0x07], 2),
                (&[0xc4, 0xc1, 0x7d, 0xe7, 0x00], 3),
                (&[0x62, 0xf1, 0x7d, 0x48, 0xe7, 0x07], 4),
            ] {
                let mut code = vec![0x90; CHUNK_BYTES * 2];
                code[at..at + bytes.len()].copy_from_slice(bytes);
                assert_eq!(candidates(&code, Search::FlushesAndStores), [at + opcode], "{bytes:x?} at {at}");
                let is_flush = bytes.contains(&0xae);
                assert_eq!(candidates(&code, Search::Flushes).len(), usize::from(is_flush));
            }
        }
    }

    #[test]
    fn fences_are_candidates_if_wanted_and_truncated_bytes_are_not() {
        for (bytes, count) in [([0x0f, 0xae, 0xf8], 1), ([0x0f, 0xae, 0xf0], 1), ([0x0f, 0xae, 0xe8], 0)] {
            assert_eq!(candidates(&bytes, Search::All).len(), count, "{bytes:x?}");
        }
        // SFENCE, LFENCE, FXSAVE, XSAVE; an opcode at the end.
        for bytes in [&[0x0f, 0xae, 0xf8][..], &[0x0f, 0xae, 0xe8], &[0x0f, 0xae, 0x00], &[0x0f, 0xae, 0x20]]
        {
            assert!(candidates(bytes, Search::FlushesAndStores).is_empty(), "{bytes:x?}");
        }
        for bytes in [&[0x0f, 0xae][..], &[0x0f], &[0xae], &[0xe7], &[]] {
            assert!(candidates(bytes, Search::FlushesAndStores).is_empty(), "{bytes:x?}");
        }
    }
}
