//! Copies of memory that others may change at any time: the GPU, another process, another thread.
//!
//! Each byte is copied as by a relaxed atomic access of its own. So a copy that races with another one is no data race:
//! every byte that is read is one that somebody stored, and nothing more is promised. Who needs more orders its
//! accesses.
//!
//! Rust has no such copy, and a loop over `AtomicU8` moves a byte at a time. A block of assembly is outside of what the
//! compiler may assume about accesses, and moves as many bytes at once as the CPU can; x86 never tears a byte. Miri,
//! which runs no assembly, gets the loop.
//!
//! # Safety
//! Every function reads and writes the bytes that it is given and no other, and needs no alignment.
#![allow(unsafe_code)]

/// Bytes that [`fill`] stores at once.
const BLOCK: usize = 64;

/// From how many bytes on REP MOVS copies: its start takes as long as some hundred bytes.
#[cfg(not(miri))]
const STRING_BYTES: usize = 1024;

/// Copies `from` to `to`, where others may read and write at the same time.
///
/// # Safety
/// `to` is mapped for writing, `from.len()` bytes long, and no reference points there.
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

/// Copies the `to.len()` bytes at `from` into `to`, while others may write them.
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

/// Copies `len` bytes from `from` to `to`, while others may access both.
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

/// Sets `len` bytes at `to` to `byte`, where others may read and write at the same time.
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

/// The accesses that the assembly stands for.
#[cfg(miri)]
mod by_byte {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

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

/// Copies the first and the last bytes of `len`, as many at each end as a register holds: together they are all.
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

/// Copies by the widest moves that fit; the last one may repeat bytes of the one before.
///
/// # Safety
/// As [`copy_across`]; either side may also be a slice that lives as long as the call.
#[cfg(not(miri))]
#[inline]
unsafe fn move_bytes(to: *mut u8, from: *const u8, len: usize) {
    use std::arch::asm;
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
            2..=3 => both_ends!(to, from, len, reg, "mov", ":x", "2"),
            4..=7 => both_ends!(to, from, len, reg, "mov", ":e", "4"),
            8..=15 => both_ends!(to, from, len, xmm_reg, "movq", "", "8"),
            16..=32 => both_ends!(to, from, len, xmm_reg, "movdqu", "", "16"),
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
                // Now `left` is 0, or what the last 32 bytes begin before `from`.
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
                // LLVM keeps ESI for itself.
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
