//! Call stacks of interrupted threads.
//!
//! # Safety
//! Memory of the stack is checked for readability, page by page, before it is read. Unwind tables and code are read in
//! modules of the newest table; a module that was unloaded since is recognized by unreadable pages. The functions take no
//! locks and do not allocate.
#![allow(unsafe_code)]

pub(crate) mod nearest;

use std::slice;

use gimli::{CfaRule, Register, RegisterRule, UnwindContext, UnwindContextStorage};

use super::registers::Registers;
use super::signals::{self, stack};
use super::system::{self, PAGE_BYTES};
use super::table::{self, Module, Table};
use crate::scan::Functions;

/// Writes the call stack of an interrupted thread to `frames`, and returns its depth, at most `frames.len()`.
/// Async-signal-safe.
///
/// The first is the address of the interrupted instruction, the others are return addresses: one byte less lies in the
/// call. `frame` is the third argument of a handler with SA_SIGINFO.
///
/// Frames come from `.eh_frame`, exactly, including those of functions without frame pointers and of interrupted handlers.
/// Where a function has no unwind table, or one that uses DWARF expressions (the PLT), the next frame is a guess: the
/// first return address on the stack whose call was to this function, else the frame pointer's, else the first one. Inlined functions have no frames.
/// Modules are known that were loaded at the last [`crate::rescan`]. Before [`crate::install`], and for
/// more than 32 threads at the same time, there is the first frame only.
///
/// # Safety
/// The frame is the kernel's, and its handler has not returned.
pub unsafe fn callers(frame: *mut libc::c_void, frames: &mut [usize]) -> usize {
    // SAFETY: the caller's obligation.
    walk(unsafe { Registers::new(frame) }, frames)
}

/// As [`callers`].
pub(super) fn walk(registers: Registers, frames: &mut [usize]) -> usize {
    walk_places(registers, frames, &mut [])
}

/// As [`callers`]; writes to `places` where on the stack each return address is, 0 if that is not known.
pub(super) fn walk_places(registers: Registers, frames: &mut [usize], places: &mut [usize]) -> usize {
    let mut depth = 0;
    let walked = table::current().is_some_and(|table| {
        stack::try_on_own_stack(|| depth = walk_table(registers, table, frames, places))
    });
    if !walked {
        // No traps are installed, or too many threads do this now.
        for first in frames.iter_mut().take(1) {
            *first = registers.get(libc::REG_RIP) as usize;
            depth = 1;
        }
    }
    depth
}

/// As [`callers`], on a stack that is large enough.
fn walk_table(registers: Registers, table: &Table, frames: &mut [usize], places: &mut [usize]) -> usize {
    let mut stack = Stack::of(registers, table);
    let mut depth = 0;
    for frame in frames {
        *frame = stack.at as usize;
        if let Some(place) = places.get_mut(depth) {
            *place = stack.place as usize;
        }
        stack.place = 0;
        depth += 1;
        let before = stack.registers[RSP];
        let went_on = stack.by_table().unwrap_or_else(|| stack.by_guess());
        // A stack that does not shrink is a circle; the stack of an interrupted handler may be anywhere.
        if !went_on || stack.at == 0 || !stack.is_interrupted && stack.registers[RSP] <= before {
            break;
        }
    }
    depth
}

/// DWARF's numbers of registers (System V ABI for AMD64, figure 3.36).
const RBX: usize = 3;
const RBP: usize = 6;
const RSP: usize = 7;
const RETURN_ADDRESS: u16 = 16;
/// Registers that a function restores.
const SAVED: [usize; 6] = [RBX, RBP, 12, 13, 14, 15];
/// Words of the stack that are looked at for a return address.
const GUESSED_WORDS: u64 = 128;
/// Largest distance from the start of a function that a guess assumes.
const FUNCTION_BYTES: u64 = 64 << 10;
/// Bytes that a frame may have if the frame pointer is to be believed.
const GUESSED_FRAME_BYTES: u64 = 1 << 20;

/// Fixed arrays, small enough for an alternate stack: CFI of compilers names 17 registers, and remembers one state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = [(Register, RegisterRule<usize>); 20];
    type Stack = [gimli::UnwindTableRow<usize, Self>; 3];
}

/// A frame of the walk.
struct Stack<'a> {
    table: &'a Table,
    /// Address of the instruction, or the return address.
    at: u64,
    /// Where on the stack `at` is; 0 if that is not known.
    place: u64,
    /// True if `at` is an instruction that was interrupted, not a return address.
    is_interrupted: bool,
    registers: [u64; 16],
    /// The page that was found to be readable.
    page: usize,
}

impl<'a> Stack<'a> {
    fn of(registers: Registers, table: &'a Table) -> Self {
        let mut stack = Stack { table, at: 0, place: 0, is_interrupted: true, registers: [0; 16], page: 0 };
        stack.interrupted(registers);
        stack
    }

    /// Goes on with the registers of an interrupted thread.
    fn interrupted(&mut self, registers: Registers) {
        // DWARF's order of the numbers that instructions use.
        let order = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
        self.registers = order.map(|number| registers.general(number));
        self.at = registers.get(libc::REG_RIP);
        self.is_interrupted = true;
    }

    /// Reads a word of the stack, or returns `None` if it is not readable.
    fn word(&mut self, address: u64) -> Option<u64> {
        let address = address as usize;
        if address % 8 != 0 {
            return None;
        }
        if address / PAGE_BYTES != self.page || self.page == 0 {
            if !system::is_readable(address) {
                return None;
            }
            self.page = address / PAGE_BYTES;
        }
        // SAFETY: the word was found to be readable; volatile, because another thread may change it.
        Some(unsafe { std::ptr::with_exposed_provenance::<u64>(address).read_volatile() })
    }

    /// Goes to the caller's frame by the unwind table. Returns `None` if there is none that can be used, and
    /// `Some(false)` at the outermost frame.
    fn by_table(&mut self) -> Option<bool> {
        // A call may be the last instruction of its function.
        let at = if self.is_interrupted { self.at } else { self.at.checked_sub(1)? };
        if self.at as usize == signals::restorer() {
            return self.after_handler();
        }
        let module = self.table.module(at as usize)?;
        let functions = functions(module)?;
        let entry = functions.entry(at)?;
        if entry.is_signal_trampoline() {
            return self.after_handler();
        }
        let (section, bases) = functions.section();
        let mut context = UnwindContext::<usize, Storage>::new_in();
        let row = entry.unwind_info_for_address(section, bases, &mut context, at).ok()?;
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.registers.get(usize::from(register.0))?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(_) => return None,
        };
        if row.register(Register(RETURN_ADDRESS)) == RegisterRule::Undefined {
            return Some(false);
        }
        let rule = row.register(Register(RETURN_ADDRESS));
        let at = self.restored(&rule, frame, None)?;
        if let RegisterRule::Offset(offset) = rule {
            self.place = frame.wrapping_add_signed(offset);
        }
        let mut registers = self.registers;
        for number in SAVED {
            let rule = row.register(Register(number as u16));
            let current = self.registers.get(number).copied();
            *registers.get_mut(number)? = self.restored(&rule, frame, current)?;
        }
        registers[RSP] = frame;
        (self.registers, self.at, self.is_interrupted) = (registers, at, false);
        Some(true)
    }

    /// Returns the value that a register had in the caller.
    fn restored(&mut self, rule: &RegisterRule<usize>, frame: u64, current: Option<u64>) -> Option<u64> {
        match *rule {
            RegisterRule::Undefined | RegisterRule::SameValue => current,
            RegisterRule::Offset(offset) => self.word(frame.wrapping_add_signed(offset)),
            RegisterRule::ValOffset(offset) => Some(frame.wrapping_add_signed(offset)),
            RegisterRule::Register(register) => self.registers.get(usize::from(register.0)).copied(),
            RegisterRule::Constant(value) => Some(value),
            // Non-exhaustive: rules of other machines.
            RegisterRule::Expression(_)
            | RegisterRule::ValExpression(_)
            | RegisterRule::Architectural
            | _ => None,
        }
    }

    /// Goes from the end of a handler to the thread that it interrupted: the kernel's frame is at the stack pointer.
    fn after_handler(&mut self) -> Option<bool> {
        let frame = self.registers[RSP];
        self.word(frame)?;
        // SAFETY: the handler that returns here has not, so that its frame is intact.
        let registers = unsafe { Registers::new(std::ptr::with_exposed_provenance_mut(frame as usize)) };
        self.interrupted(registers);
        Some(true)
    }

    /// Goes to the caller's frame without an unwind table: by the return address of a direct call to this function, then
    /// by the frame pointer, then by any return address on the stack.
    fn by_guess(&mut self) -> bool {
        let (stack, frame) = (self.registers[RSP] & !7, self.registers[RBP]);
        let at = self.at;
        let calls_here = |call: &Call| {
            call.target.is_some_and(|target| (target..=target.saturating_add(FUNCTION_BYTES)).contains(&at))
        };
        if let Some((word, above)) = self.search(stack, calls_here) {
            return self.go(word, above);
        }
        if frame >= stack && frame - stack < GUESSED_FRAME_BYTES {
            let (above, at) = (self.word(frame), self.word(frame.wrapping_add(8)));
            if let (Some(above), Some(at)) = (above, at) {
                if call_before(self.table, at).is_some() {
                    self.registers[RBP] = above;
                    return self.go(at, frame.wrapping_add(16));
                }
            }
        }
        match self.search(stack, |_| true) {
            Some((word, above)) => self.go(word, above),
            None => false,
        }
    }

    /// Returns the first return address on the stack whose call is right, and the address above it.
    fn search(&mut self, stack: u64, is_right: impl Fn(&Call) -> bool) -> Option<(u64, u64)> {
        for index in 0..GUESSED_WORDS {
            let address = stack.wrapping_add(8 * index);
            let word = self.word(address)?;
            if call_before(self.table, word).is_some_and(|call| is_right(&call)) {
                return Some((word, address.wrapping_add(8)));
            }
        }
        None
    }

    fn go(&mut self, at: u64, stack: u64) -> bool {
        self.registers[RSP] = stack;
        (self.at, self.is_interrupted) = (at, false);
        true
    }
}

/// Returns the unwind tables of a module, or `None` if it has none or was unloaded.
fn functions(module: &Module) -> Option<Functions<'_>> {
    let at = module.eh_frame_hdr?;
    if !system::is_readable(at & !7) {
        return None;
    }
    Functions::new(at as u64, bytes_from(module, at)?, |address| bytes_from(module, address as usize))
}

/// Returns the bytes of a module from an address to the end of its segment.
fn bytes_from(module: &Module, address: usize) -> Option<&[u8]> {
    let &(start, length, _) =
        module.segments.iter().find(|(start, length, _)| (*start..start + length).contains(&address))?;
    // SAFETY: the segment was mapped, readable and not writable when the table was made; the callers check that it still
    // is.
    Some(unsafe {
        slice::from_raw_parts(std::ptr::with_exposed_provenance(address), start + length - address)
    })
}

/// A call instruction.
struct Call {
    /// The function that a direct call calls.
    target: Option<u64>,
}

/// Returns the call instruction that ends at an address, or `None` if the address is no code, or follows none.
fn call_before(table: &Table, address: u64) -> Option<Call> {
    let at = address as usize;
    let module = table.module(at)?;
    let is_code = module
        .segments
        .iter()
        .any(|(start, length, executable)| *executable && (start + 8..start + length).contains(&at));
    if !is_code || !system::is_readable(at - 8) {
        return None;
    }
    let before = bytes_from(module, at - 8)?.first_chunk::<8>()?;
    // E8 and a distance of 4 bytes; or FF /2 with a ModRM byte and up to 5 bytes more.
    if let [.., 0xe8, first, second, third, fourth] = *before {
        let distance = i32::from_le_bytes([first, second, third, fourth]);
        return Some(Call { target: Some(address.wrapping_add_signed(distance.into())) });
    }
    let is_indirect =
        before.windows(2).skip(1).any(|pair| matches!(pair, [0xff, modrm] if modrm >> 3 & 7 == 2));
    is_indirect.then_some(Call { target: None })
}
