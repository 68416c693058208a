//! Executes the instructions between trapped ones, in the handler of the first.
//!
//! A signal takes some microseconds, and loops of flushes have three or four instructions on registers in each turn.
//!
//! # Safety
//! The arithmetic is done by the CPU's own instructions, on values; nothing but the frame is changed.
#![allow(unsafe_code)]

use std::arch::asm;

use super::registers::{Registers, STATUS_FLAGS};
use super::table::Table;
use crate::scan::{Arithmetic, Effect, Step, Value};

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
fn execute(step: &Step, registers: Registers) -> u64 {
    let store = |number, value| {
        registers.set_general(number, if step.wide { value } else { value & u64::from(u32::MAX) });
    };
    let read = |value| match value {
        Value::Register(number) => registers.general(number),
        Value::Constant(constant) => constant,
    };
    match step.effect {
        Effect::Nothing => {}
        Effect::Copy { to, from } => store(to, read(from)),
        Effect::Address { to, of } => store(to, registers.linear(&of) as u64),
        Effect::Compute { operation, left, right, stores, keeps_carry } => {
            let (result, flags) = compute(operation, registers.general(left), read(right), step.wide);
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

/// Returns the result of an operation, and the flags after it.
fn compute(operation: Arithmetic, left: u64, right: u64, wide: bool) -> (u64, u64) {
    let (mut value, flags): (_, u64);
    value = left;
    macro_rules! with {
        ($name:literal) => {
            if wide {
                // SAFETY: an instruction on two registers; the flags are an output.
                unsafe {
                    asm!(concat!($name, " {value}, {right}"), "pushfq", "pop {flags}",
                        value = inout(reg) value, right = in(reg) right, flags = lateout(reg) flags);
                }
            } else {
                // SAFETY: as above.
                unsafe {
                    asm!(concat!($name, " {value:e}, {right:e}"), "pushfq", "pop {flags}",
                        value = inout(reg) value, right = in(reg) right, flags = lateout(reg) flags);
                }
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
