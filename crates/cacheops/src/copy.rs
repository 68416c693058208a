//! Copies and comparisons of memory that others (the GPU, another process, another thread) may change at any time.
//!
//! Each byte is copied as by a relaxed atomic access of its own. A copy that races with another one is
//! therefore not a data race: every byte read was stored by some agent, and nothing more is guaranteed.
//! Callers that need more must order their accesses.
//!
//! Rust has no such copy, and a loop over `AtomicU8` moves one byte at a time. The compiler makes no
//! assumptions about the accesses of an assembly block, which moves as many bytes at once as the CPU can; x86
//! never tears a byte. Miri cannot run assembly and uses the loop.
//!
//! # Safety
//! Every function reads and writes only the bytes that it is given, and needs no alignment.
#![allow(unsafe_code)]

/// Bytes that [`fill`] stores at once, and of a line.
const BLOCK: usize = 64;

/// From this size on REP MOVS is used: starting it takes as long as copying some hundred bytes.
#[cfg(not(miri))]
const STRING_BYTES: usize = 1024;

/// Copies `from` to `to`; others may read and write there concurrently.
///
/// # Safety
/// `to` is mapped for writing, `from.len()` bytes long, and no reference points there.
#[inline]
pub unsafe fn copy_in(to: *mut u8, from: &[u8]) {
    #[cfg(miri)]
    for (at, byte) in from.iter().enumerate() {
        // SAFETY: within the caller's bytes.
        unsafe { by_byte::store(to.add(at), *byte) }
    }
    #[cfg(not(miri))]
    // SAFETY: the destination is the caller's obligation, and the source a live slice of that length.
    unsafe {
        move_bytes(to, from.as_ptr(), from.len())
    }
}

/// Copies the `to.len()` bytes at `from` into `to`; others may write them concurrently.
///
/// # Safety
/// The bytes at `from` are mapped for reading, and no unique reference points there.
pub unsafe fn copy_out(to: &mut [u8], from: *const u8) {
    #[cfg(miri)]
    for (at, byte) in to.iter_mut().enumerate() {
        // SAFETY: within the caller's bytes.
        *byte = unsafe { by_byte::load(from.add(at)) };
    }
    #[cfg(not(miri))]
    // SAFETY: the source is the caller's obligation, and the destination a live, exclusive slice of that length.
    unsafe {
        move_bytes(to.as_mut_ptr(), from, to.len())
    }
}

/// Copies `len` bytes from `from` to `to`; others may access both concurrently.
///
/// # Safety
/// Both are mapped, `len` bytes long, and no reference points to either. They are the same bytes or share none.
pub unsafe fn copy_across(to: *mut u8, from: *const u8, len: usize) {
    #[cfg(miri)]
    for at in 0..len {
        // SAFETY: within the caller's bytes.
        unsafe { by_byte::store(to.add(at), by_byte::load(from.add(at))) }
    }
    #[cfg(not(miri))]
    // SAFETY: the caller's obligations, passed on.
    unsafe {
        move_bytes(to, from, len)
    }
}

/// Returns the lines of two pieces of memory that differ, a bit each; others may write both concurrently.
///
/// # Safety
/// Both are mapped for reading, `lines` times 64 bytes long, and no unique reference points to either. `lines` is at most 64.
pub unsafe fn differing_lines(one: *const u8, other: *const u8, lines: usize) -> u64 {
    // SAFETY: the lines are the caller's.
    let differs = |line| unsafe { differ(one.add(line * BLOCK), other.add(line * BLOCK)) };
    (0..lines).fold(0, |mask, line| mask | u64::from(differs(line)) << line)
}

/// Returns whether two lines differ.
///
/// # Safety
/// As [`differing_lines`].
#[cfg(miri)]
unsafe fn differ(one: *const u8, other: *const u8) -> bool {
    // SAFETY: within the caller's lines.
    (0..BLOCK).any(|at| unsafe { by_byte::load(one.add(at)) != by_byte::load(other.add(at)) })
}

/// Returns whether two lines differ.
///
/// # Safety
/// As [`differing_lines`].
#[cfg(not(miri))]
#[inline]
unsafe fn differ(one: *const u8, other: *const u8) -> bool {
    use core::arch::asm;
    let equal: u32;
    // SAFETY: the loads are within the caller's lines; what the block changes is named.
    unsafe {
        asm!(
            "movdqu {all}, [{one}]",
            "movdqu {bytes}, [{other}]",
            "pcmpeqb {all}, {bytes}",
            "movdqu {more}, [{one} + 16]",
            "movdqu {bytes}, [{other} + 16]",
            "pcmpeqb {more}, {bytes}",
            "pand {all}, {more}",
            "movdqu {more}, [{one} + 32]",
            "movdqu {bytes}, [{other} + 32]",
            "pcmpeqb {more}, {bytes}",
            "pand {all}, {more}",
            "movdqu {more}, [{one} + 48]",
            "movdqu {bytes}, [{other} + 48]",
            "pcmpeqb {more}, {bytes}",
            "pand {all}, {more}",
            "pmovmskb {equal:e}, {all}",
            all = out(xmm_reg) _,
            bytes = out(xmm_reg) _,
            more = out(xmm_reg) _,
            equal = out(reg) equal,
            one = in(reg) one,
            other = in(reg) other,
            options(nostack, preserves_flags, readonly),
        );
    }
    equal != 0xffff
}

/// Sets `len` bytes at `to` to `byte`; others may read and write there concurrently.
///
/// # Safety
/// As [`copy_in`].
pub(super) unsafe fn fill(to: *mut u8, byte: u8, len: usize) {
    let block = [byte; BLOCK];
    for start in (0..len).step_by(BLOCK) {
        let part = block.split_at(BLOCK.min(len - start)).0;
        // SAFETY: the part's place within the caller's bytes.
        unsafe { copy_in(to.add(start), part) }
    }
}

/// Byte accesses that replace the assembly.
#[cfg(miri)]
mod by_byte {
    use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

    /// Loads a byte that others may write.
    ///
    /// # Safety
    /// It is mapped for reading, and no unique reference points there.
    pub unsafe fn load(byte: *const u8) -> u8 {
        // SAFETY: the caller's obligation; a byte is always aligned.
        unsafe { AtomicU8::from_ptr(byte.cast_mut()) }.load(Relaxed)
    }

    /// Stores a byte that others may read and write.
    ///
    /// # Safety
    /// It is mapped for writing, and no reference points there.
    pub unsafe fn store(byte: *mut u8, value: u8) {
        // SAFETY: the caller's obligation; a byte is always aligned.
        unsafe { AtomicU8::from_ptr(byte) }.store(value, Relaxed);
    }
}

/// Copies the first and the last bytes of `len`, one register's width at each end; together they cover all
/// bytes.
#[cfg(not(miri))]
macro_rules! both_ends {
    ($to:ident, $from:ident, $len:ident, $class:ident, $mov:literal, $name:literal, $width:literal) => {
        asm!(
            concat!($mov, " {first", $name, "}, [{from}]"),
            concat!($mov, " {last", $name, "}, [{from} + {len} - ", $width, "]"),
            concat!($mov, " [{to}], {first", $name, "}"),
            concat!($mov, " [{to} + {len} - ", $width, "], {last", $name, "}"),
            first = out($class) _,
            last = out($class) _,
            from = in(reg) $from,
            to = in(reg) $to,
            len = in(reg) $len,
            options(nostack, preserves_flags),
        )
    };
}

/// Copies the bytes of one register.
#[cfg(not(miri))]
macro_rules! whole {
    ($to:ident, $from:ident, $class:ident, $mov:literal, $name:literal) => {
        asm!(
            concat!($mov, " {bytes", $name, "}, [{from}]"),
            concat!($mov, " [{to}], {bytes", $name, "}"),
            bytes = out($class) _,
            from = in(reg) $from,
            to = in(reg) $to,
            options(nostack, preserves_flags),
        )
    };
}

/// Copies with the widest moves that fit; the last move may overlap the one before.
///
/// # Safety
/// As [`copy_across`]; either side may also be a slice that lives as long as the call.
#[cfg(not(miri))]
#[inline]
unsafe fn move_bytes(to: *mut u8, from: *const u8, len: usize) {
    use core::arch::asm;
    // SAFETY:
    // - accesses of each block: within the `len` bytes at `from` and at `to`, which are the caller's;
    // - registers: what a block changes is named, and the direction flag is clear, as the ABI has it.
    unsafe {
        match len {
            0 => {}
            1 => asm!(
                "mov {byte}, [{from}]",
                "mov [{to}], {byte}",
                byte = out(reg_byte) _,
                from = in(reg) from,
                to = in(reg) to,
                options(nostack, preserves_flags),
            ),
            4 => whole!(to, from, reg, "mov", ":e"),
            8 => whole!(to, from, xmm_reg, "movq", ""),
            16 => whole!(to, from, xmm_reg, "movdqu", ""),
            2..=3 => both_ends!(to, from, len, reg, "mov", ":x", "2"),
            5..=7 => both_ends!(to, from, len, reg, "mov", ":e", "4"),
            9..=15 => both_ends!(to, from, len, xmm_reg, "movq", "", "8"),
            17..=32 => both_ends!(to, from, len, xmm_reg, "movdqu", "", "16"),
            33..STRING_BYTES => asm!(
                "2:",
                "movdqu {one}, [{from}]",
                "movdqu {two}, [{from} + 16]",
                "movdqu [{to}], {one}",
                "movdqu [{to} + 16], {two}",
                "add {from}, 32",
                "add {to}, 32",
                "sub {left}, 32",
                "jg 2b",
                // `left` is now 0, or the (negative) distance from `from` to the last 32 bytes.
                "movdqu {one}, [{from} + {left}]",
                "movdqu {two}, [{from} + {left} + 16]",
                "movdqu [{to} + {left}], {one}",
                "movdqu [{to} + {left} + 16], {two}",
                one = out(xmm_reg) _,
                two = out(xmm_reg) _,
                from = inout(reg) from => _,
                to = inout(reg) to => _,
                left = inout(reg) len - 32 => _,
                options(nostack),
            ),
            STRING_BYTES.. => {
                #[cfg(target_arch = "x86_64")]
                asm!(
                    "rep movsq",
                    inout("rcx") len / 8 => _,
                    inout("rsi") from => _,
                    inout("rdi") to => _,
                    options(nostack, preserves_flags),
                );
                // LLVM reserves ESI.
                #[cfg(target_arch = "x86")]
                asm!(
                    "xchg {from}, esi",
                    "rep movsd",
                    "mov esi, {from}",
                    from = inout(reg) from => _,
                    inout("ecx") len / 8 * 2 => _,
                    inout("edi") to => _,
                    options(nostack, preserves_flags),
                );
                let rest = len - 8;
                let (to, from, len) = (to.add(rest), from.add(rest), 8_usize);
                both_ends!(to, from, len, xmm_reg, "movq", "", "8");
            }
        }
    }
}
