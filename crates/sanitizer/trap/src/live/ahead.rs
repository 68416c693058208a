//! Executes instructions in a handler: those between trapped ones, and loads whose bytes the handler has.
//!
//! A signal takes some microseconds, and loops have three or four instructions on registers in each turn.
//!
//! # Safety
//! The arithmetic is done by the CPU's own instructions, on values; nothing but the frame is changed.
#![allow(unsafe_code)]

use std::arch::asm;

use super::registers::{Registers, STATUS_FLAGS};
use super::table::Table;
use crate::scan::{Arithmetic, Effect, Load, Step, Taken, Value};

/// Carry, parity, zero, sign and overflow flag, by bit.
const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;

/// Instructions that are executed from one trapped instruction to the next at most.
const MOST_STEPS: usize = 32;

/// Executes steps from RIP on, and returns the address of the next instruction, where RIP is then.
pub(super) fn run(table: &Table, registers: Registers) -> usize {
    for _ in 0..MOST_STEPS {
        let Some(step) = table.step(registers.get(libc::REG_RIP)) else { break };
        registers.resume_at(execute(step, registers) as usize);
    }
    registers.get(libc::REG_RIP) as usize
}

/// Executes a step, and returns the address of the next instruction.
pub(super) fn execute(step: &Step, registers: Registers) -> u64 {
    let store = |number, value| set(registers, number, value, step.wide);
    let read = |value| read(registers, value);
    match step.effect {
        Effect::Nothing => {}
        Effect::Copy { to, from } => store(to, read(from)),
        Effect::Address { to, of } => store(to, registers.linear(&of) as u64),
        Effect::Compute { operation, left, right, stores, keeps_carry } => {
            let (result, flags) = compute(operation, registers.general(left), read(right), bytes(step.wide));
            if stores {
                store(left, result);
            }
            registers.set_flags(if keeps_carry { STATUS_FLAGS & !CARRY } else { STATUS_FLAGS }, flags);
        }
        Effect::Jump { condition, target } => {
            if condition.is_none_or(|number| holds(number, registers.get(libc::REG_EFL))) {
                return target;
            }
        }
    }
    step.next
}

/// Executes a load that gets these bytes, and resumes after it; returns false, and does nothing, if the frame lacks the register.
pub(super) fn take(load: &Load, loaded: &[u8], registers: Registers) -> bool {
    let mut low = [0; size_of::<u64>()];
    low.iter_mut().zip(loaded).for_each(|(to, from)| *to = *from);
    let value = u64::from_le_bytes(low);
    match load.taken {
        Taken::General { to, signed, wide } => {
            let unused = u64::BITS.saturating_sub(8 * u32::from(load.bytes));
            let extended = if signed { ((value << unused) as i64 >> unused) as u64 } else { value };
            set(registers, to, extended, wide);
        }
        Taken::Vector { to, set: count } => {
            if !registers.set_vector(to, loaded, count) {
                return false;
            }
        }
        Taken::Compute { operation, other, to, is_first } => {
            let other = read(registers, other);
            let (left, right) = if is_first { (value, other) } else { (other, value) };
            let (result, flags) = compute(operation, left, right, load.bytes);
            if let Some(to) = to {
                set(registers, to, result, load.bytes == 8);
            }
            registers.set_flags(STATUS_FLAGS, flags);
        }
    }
    registers.resume_at(load.next as usize);
    true
}

/// Sets a general register; one of 32 bits clears its upper half.
fn set(registers: Registers, number: u8, value: u64, wide: bool) {
    registers.set_general(number, if wide { value } else { value & u64::from(u32::MAX) });
}

/// Returns the value of an operand.
fn read(registers: Registers, value: Value) -> u64 {
    match value {
        Value::Register(number) => registers.general(number),
        Value::Constant(constant) => constant,
    }
}

/// Returns the size of a general register.
fn bytes(wide: bool) -> u8 {
    if wide { 8 } else { 4 }
}

/// Returns whether a condition holds: pairs of one and its opposite (Intel SDM, volume 1, B.1).
fn holds(number: u8, flags: u64) -> bool {
    let is_less = (flags & SIGN != 0) != (flags & OVERFLOW != 0);
    let one = match number >> 1 {
        0 => flags & OVERFLOW != 0,
        1 => flags & CARRY != 0,
        2 => flags & ZERO != 0,
        3 => flags & (CARRY | ZERO) != 0,
        4 => flags & SIGN != 0,
        5 => flags & PARITY != 0,
        6 => is_less,
        _ => is_less || flags & ZERO != 0,
    };
    one != (number & 1 == 1)
}

/// Returns the result of an operation on operands of 1, 2, 4 or 8 bytes, and the flags after it.
fn compute(operation: Arithmetic, left: u64, right: u64, bytes: u8) -> (u64, u64) {
    let (mut value, mut flags) = (left, 0_u64);
    macro_rules! with {
        ($name:literal, $size:literal) => {
            // SAFETY: an instruction on two registers; the flags are an output.
            unsafe {
                asm!(concat!($name, " {value", $size, "}, {right", $size, "}"), "pushfq", "pop {flags}",
                    value = inout(reg) value, right = in(reg) right, flags = lateout(reg) flags);
            }
        };
        ($name:literal) => {
            match bytes {
                1 => {
                    let (mut low, right) = (value as u8, right as u8);
                    // SAFETY: as above.
                    unsafe {
                        asm!(concat!($name, " {value}, {right}"), "pushfq", "pop {flags}",
                            value = inout(reg_byte) low, right = in(reg_byte) right, flags = lateout(reg) flags);
                    }
                    value = low.into();
                }
                2 => with!($name, ":x"),
                4 => with!($name, ":e"),
                _ => with!($name, ":r"),
            }
        };
    }
    match operation {
        Arithmetic::Add => with!("add"),
        Arithmetic::Subtract => with!("sub"),
        Arithmetic::And => with!("and"),
        Arithmetic::Or => with!("or"),
        Arithmetic::Xor => with!("xor"),
    }
    (value, flags)
}
