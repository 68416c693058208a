//! What an instruction that faulted accesses.
//!
//! # Safety
//! Code is read where it was found to be readable.
#![allow(unsafe_code)]

use iced_x86::{Decoder, DecoderOptions, Instruction};

use crate::live::registers::Registers;
use crate::live::system::{self, PAGE_BYTES};

/// Lets the decoder make its tables, which it does when it is first used, and which handlers must not do.
pub(super) fn make_tables() {
    let _ = Decoder::new(64, &[0x90], DecoderOptions::NONE).decode();
}

/// The program's code, as far as it was found to be readable.
#[derive(Default)]
pub(super) struct Code {
    /// Address of a readable page.
    page: usize,
}

impl Code {
    /// Decodes the instruction at RIP; an invalid one if it is not readable.
    pub(super) fn decode(&mut self, registers: Registers) -> Instruction {
        let at = registers.get(libc::REG_RIP) as usize;
        let page_of = |at: usize| at & !(PAGE_BYTES - 1);
        let mut is_readable = |length: usize| {
            let is_known = [at, at + length - 1].map(page_of) == [self.page; 2];
            let is = is_known || system::is_readable(at) && system::is_readable(at + length - 8);
            if is {
                self.page = page_of(at);
            }
            is
        };
        // The longest instruction has 15 bytes.
        let readable = [15, 8].into_iter().find(|length| is_readable(*length));
        // SAFETY: the bytes were found to be readable: they are in at most two pages, those of the first and the last byte.
        let code = unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance(at), readable.unwrap_or(0))
        };
        Decoder::with_ip(64, code, at as u64, DecoderOptions::NONE).decode()
    }
}

/// Returns the number of bytes that an instruction accesses from `address` on, at most to the end of the page, and whether it is
/// repeated. One that goes towards lower addresses accesses its first element.
pub(super) fn extent(address: usize, instruction: &Instruction, registers: Registers) -> (usize, bool) {
    let size = instruction.memory_size().size().max(1);
    let is_repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    let goes_down = registers.get(libc::REG_EFL) & DIRECTION != 0;
    let count = if is_repeated && !goes_down { registers.get(libc::REG_RCX) as usize } else { 1 };
    (size.saturating_mul(count).min(PAGE_BYTES - address % PAGE_BYTES), is_repeated)
}

/// The direction flag: repeated string instructions go towards lower addresses.
const DIRECTION: u64 = 1 << 10;
