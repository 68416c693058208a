//! SYSCALL instructions of the program: INT3 in their place, and a copy of each that performs the call.
//!
//! A call that the handler does not carry out itself is performed by a copy of the instruction ([`struct@Copy`]), to which the
//! handler returns, and which jumps back after the original. So it has the registers, the stack and the signal mask that
//! the program gave it, restarts as the kernel wants, and its child, its new stack (clone(2), vfork(2)) and its frame
//! (rt_sigreturn(2)) are right.
//!
//! Two other ways were considered. The kernel's dispatch of system calls (`PR_SET_SYSCALL_USER_DISPATCH`) also sees
//! generated code, but each thread has to ask for it, children and threads that the library does not see lack it, it
//! allows one range of addresses, in which glibc alone is not the only one that makes calls for the program (ld.so), and
//! every call of every program gets slower. A filter (seccomp) stays after execve(2), where its addresses are wrong: the
//! next program's loader would be stopped before a handler exists; and without privileges it needs `no_new_privs`, which
//! changes programs. INT3 costs nothing where a program makes no call itself, and holds for all threads and children.
//!
//! # Safety
//! Copies are filled in before they become executable, and are never changed or freed after that.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::objects::Object;
use super::patch::Protections;
use super::registers::Registers;
use super::signals::{self, stack};
use super::table::{self, Copy};
use super::{Report, patch, system};
use crate::Error;
use crate::scan::{CALL_BYTES, CALL_OPCODE, system_calls};

/// A system call that an instruction of the program is about to make.
#[derive(Debug)]
pub struct SystemCall {
    /// Address of the instruction.
    pub site: usize,
    /// The call's number.
    pub number: usize,
    /// Its operands.
    pub operands: [usize; 6],
    registers: Registers,
}

impl SystemCall {
    /// Returns the first word of the set of signals that the thread has blocked, and has again after the call.
    pub fn mask(&mut self) -> &mut u64 {
        self.registers.mask()
    }

    /// Lets the thread go on with another stack.
    pub fn set_stack(&mut self, top: usize) {
        self.registers.set(libc::REG_RSP, top as u64);
    }
}

/// Function that is called in place of a system call, on a stack of its own, with signals blocked; it must be
/// async-signal-safe and must not panic or fault. It returns the call's result, a negative errno for an error, or `None` to
/// have the call performed.
pub type CallHandler = fn(&mut SystemCall) -> Option<isize>;

/// Function that says whether a number concerns the handler. Async-signal-safe.
type Concerns = fn(usize) -> bool;

/// The handler, and the function that says which numbers it is for, as addresses.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
static CONCERNS: AtomicUsize = AtomicUsize::new(0);

/// Traps the SYSCALL instructions of all objects but glibc's and libgcc, now if traps are installed, and of those that are loaded
/// later. The numbers that do not concern the handler are performed without it; instructions for which such a number is
/// loaded right before them are left alone.
///
/// # Errors
/// As [`rescan`](crate::rescan).
pub fn intercept_calls(handler: CallHandler, concerns: fn(usize) -> bool) -> Result<Report, Error> {
    CONCERNS.store(concerns as usize, SeqCst);
    HANDLER.store(handler as usize, SeqCst);
    super::search_again()
}

/// Returns both functions; `None` before [`intercept_calls`].
fn functions() -> Option<(CallHandler, Concerns)> {
    let (handler, concerns) = (HANDLER.load(SeqCst), CONCERNS.load(SeqCst));
    // SAFETY: an address other than 0 is that of such a function; the handler is stored last.
    (handler != 0).then(|| unsafe {
        (std::mem::transmute::<usize, CallHandler>(handler), std::mem::transmute::<usize, Concerns>(concerns))
    })
}

/// The system calls of an object.
#[derive(Debug)]
pub(super) struct Calls {
    copies: Vec<Copy>,
    are_trapped: bool,
}

impl Calls {
    /// Returns the instructions, by address.
    pub fn copies(&self) -> impl Iterator<Item = Copy> + '_ {
        self.copies.iter().copied()
    }

    /// True if the object has the instructions, or their traps.
    pub fn are_in(&self, object: &Object<'_>) -> bool {
        let expected = if self.are_trapped { patch::INT3 } else { CALL_OPCODE };
        // SAFETY: the byte is in a segment of a loaded object.
        self.copies().all(|copy| object.contains(copy.site) && unsafe { patch::load(copy.site) } == expected)
    }

    /// Traps the instructions of a loaded object, which the table has.
    ///
    /// # Errors
    /// [`Error::Protect`].
    pub fn trap(&mut self, protections: &Protections) -> Result<(), Error> {
        if !self.are_trapped {
            self.store(patch::INT3, protections)?;
            self.are_trapped = true;
        }
        Ok(())
    }

    /// Puts them back.
    ///
    /// # Errors
    /// [`Error::Protect`].
    pub fn put_back(&mut self, protections: &Protections) -> Result<(), Error> {
        if self.are_trapped {
            self.store(CALL_OPCODE, protections)?;
            self.are_trapped = false;
        }
        Ok(())
    }

    fn store(&self, byte: u8, protections: &Protections) -> Result<(), Error> {
        let bytes: Vec<_> = self.copies().map(|copy| (copy.site, byte)).collect();
        // SAFETY: the object is loaded, and each address is the first byte of an instruction.
        unsafe { patch::store(&bytes, protections) }
    }
}

/// The code of a copy, with the address after the original: syscall; a jump through the address that follows.
fn code(after: usize) -> [u8; COPY_BYTES] {
    let mut code = [0x0f, 0x05, 0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if let Some(address) = code.last_chunk_mut() {
        *address = after.to_ne_bytes();
    }
    code
}
const COPY_BYTES: usize = 16;

/// Finds the SYSCALL instructions of an object that are to be trapped, and copies them. Returns `None` before
/// [`intercept_calls`].
///
/// # Errors
/// [`Error::Memory`], [`Error::Protect`], [`Error::Action`].
pub(super) fn search(object: &Object<'_>) -> Result<Option<Calls>, Error> {
    let Some((_, concerns)) = functions() else { return Ok(None) };
    // The first decoding builds the decoder's tables. Small programs need none, and libgcc is in all of them.
    let is_left_alone = object.is_of_glibc() || object.is_libgcc();
    let sites = if is_left_alone { Vec::new() } else { system_calls(&object.image) };
    let sites: Vec<usize> = sites
        .into_iter()
        .filter(|site| site.number.is_none_or(|number| concerns(number as usize)))
        .map(|site| site.address as usize)
        .collect();
    let mut copies = Vec::new();
    if !sites.is_empty() {
        // The handler has to run on the alternate stack where there is one: runtimes that make calls have small stacks.
        signals::use_alternate_stack(libc::SIGTRAP)?;
        let length = (sites.len() * COPY_BYTES).next_multiple_of(system::PAGE_BYTES);
        let first = system::map_zeroes(length)?;
        copies.extend((0..).zip(sites).map(|(n, site)| Copy { site, at: first + n * COPY_BYTES }));
        for copy in &copies {
            let to = std::ptr::with_exposed_provenance_mut::<[u8; COPY_BYTES]>(copy.at);
            // SAFETY: the memory was mapped for all copies.
            unsafe { to.write(code(copy.site + CALL_BYTES)) };
        }
        // SAFETY: the memory is this function's.
        unsafe { system::protect(first, length, libc::PROT_READ | libc::PROT_EXEC)? };
    }
    Ok(Some(Calls { copies, are_trapped: false }))
}

/// Serves the trap at `at`; returns whether it is one of a system call.
pub(super) fn serve(at: usize, registers: Registers) -> bool {
    let Some(copy) = table::current().and_then(|table| table.copy(at)) else { return false };
    registers.resume_at(at);
    // SAFETY: this thread has just executed the byte.
    let Some((handler, concerns)) = functions().filter(|_| unsafe { patch::load(at) } == patch::INT3) else {
        return true;
    };
    let number = registers.get(libc::REG_RAX) as usize;
    let operands = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9];
    let operands = operands.map(|place| registers.get(place) as usize);
    let mut call = SystemCall { site: at, number, operands, registers };
    let mut result = None;
    if concerns(number) {
        // SAFETY: errno is this thread's.
        let errno = unsafe { *libc::__errno_location() };
        // SAFETY: the function promises that (`CallHandler`).
        unsafe { stack::on_own_stack(|| result = handler(&mut call)) };
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
    match result {
        None => registers.resume_at(copy.at),
        Some(result) => {
            let after = at + CALL_BYTES;
            registers.set(libc::REG_RAX, result as u64);
            registers.set(libc::REG_RCX, after as u64);
            registers.set(libc::REG_R11, registers.get(libc::REG_EFL));
            registers.resume_at(after);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::objects::each_object;

    #[test]
    fn libgcc_has_no_instruction_to_trap_and_libc_has() {
        let mut counts = [None; 2];
        each_object(|object| {
            if object.is_libgcc() || object.is_libc() {
                let count = counts[usize::from(object.is_libc())].get_or_insert(0);
                *count += system_calls(&object.image).len();
            }
            true
        });
        assert!(matches!(counts, [Some(0), Some(1..)]), "{counts:?}");
    }
}
