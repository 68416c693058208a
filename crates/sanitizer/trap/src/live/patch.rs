//! INT3 in place of the first byte of an instruction, and back.
//!
//! # Safety
//! The store is one byte, so that other threads execute the old or the new instruction. The caller calls it under the
//! loader's lock (`objects`): the page stays mapped. The page is writable and executable meanwhile.
#![allow(unsafe_code)]

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use super::system::{self, PAGE_BYTES};
use crate::Error;

/// The instruction INT3: traps, and leaves RIP after itself.
pub(super) const INT3: u8 = 0xcc;

/// Protections of the process's memory, as /proc/self/maps lists them when the first is asked for: most programs have no
/// instruction to replace.
#[derive(Default)]
pub(super) struct Protections(OnceCell<Vec<(usize, usize, i32)>>);

impl Protections {
    /// Returns all. Without /proc the list is empty, and every page of code counts as readable and executable.
    fn all(&self) -> &[(usize, usize, i32)] {
        self.0.get_or_init(|| {
            let text = system::read_file(c"/proc/self/maps").unwrap_or_default();
            text.split(|&byte| byte == b'\n').filter_map(parse).collect()
        })
    }

    /// Returns the protection of a page, as mprotect(2) takes it.
    fn of(&self, address: usize) -> i32 {
        let found = self.all().iter().find(|(start, end, _)| (*start..*end).contains(&address));
        found.map_or(libc::PROT_READ | libc::PROT_EXEC, |(_, _, protection)| *protection)
    }
}

/// Parses a line: `7f00-7f01 r-xp ...`.
fn parse(line: &[u8]) -> Option<(usize, usize, i32)> {
    let line = std::str::from_utf8(line.get(..line.len().min(64))?).ok()?;
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let letters = [('r', libc::PROT_READ), ('w', libc::PROT_WRITE), ('x', libc::PROT_EXEC)];
    let protection = rest
        .chars()
        .take(3)
        .filter_map(|has| letters.iter().find(|(letter, _)| *letter == has))
        .fold(libc::PROT_NONE, |all, (_, one)| all | one);
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?, protection))
}

/// Stores bytes of code: pairs of an address and its new byte, ascending.
///
/// Each page is made writable, its bytes are stored, and it gets its former protection back. Errors: a page cannot be
/// made writable, for example under a policy that forbids writable code; bytes of earlier pages are stored then.
///
/// # Safety
/// The addresses are in mapped code, and the program is right with the new bytes there.
pub(super) unsafe fn store(bytes: &[(usize, u8)], protections: &Protections) -> Result<(), Error> {
    for page in bytes.chunk_by(|one, other| one.0 / PAGE_BYTES == other.0 / PAGE_BYTES) {
        let Some(&(first, _)) = page.first() else { continue };
        let start = first & !(PAGE_BYTES - 1);
        let former = protections.of(first);
        // SAFETY: the page loses no right, and gets its former ones back below.
        unsafe { system::protect(start, PAGE_BYTES, former | libc::PROT_READ | libc::PROT_WRITE)? };
        for &(address, byte) in page {
            // SAFETY: the byte is mapped and writable. Other threads only execute it.
            let code = unsafe { AtomicU8::from_ptr(std::ptr::with_exposed_provenance_mut(address)) };
            code.store(byte, SeqCst);
        }
        // SAFETY: this is the former protection.
        unsafe { system::protect(start, PAGE_BYTES, former)? };
    }
    Ok(())
}

/// Returns a byte of code.
///
/// # Safety
/// The byte is mapped and readable.
pub(super) unsafe fn load(address: usize) -> u8 {
    // SAFETY: the caller's obligation. Atomic, because `store` may replace it meanwhile.
    unsafe { AtomicU8::from_ptr(std::ptr::with_exposed_provenance_mut(address)) }.load(SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_parsed() {
        let line = b"7f1200001000-7f1200003000 r-xp 00001000 08:01 42   /usr/lib/libc.so.6";
        assert_eq!(
            parse(line),
            Some((0x7f12_0000_1000, 0x7f12_0000_3000, libc::PROT_READ | libc::PROT_EXEC))
        );
        assert_eq!(parse(b"1000-2000 rw-s 0 0:0 0"), Some((0x1000, 0x2000, 3)));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"1000 r-xp"), None);
    }

    #[test]
    fn own_code_is_executable_and_not_writable() {
        let protections = Protections::default();
        assert!(protections.all().len() > 5);
        assert_eq!(protections.of(parse as *const () as usize), libc::PROT_READ | libc::PROT_EXEC);
    }
}
