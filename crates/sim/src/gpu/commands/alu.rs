//! MI_MATH: the command streamer's arithmetic on its general-purpose registers.
//!
//! Source: Programmer's Reference Manual, "MI_MATH" and "ALU instructions"; Mesa's `mi_builder.h` for the results of comparisons.

use super::registers::Registers;

/// The operations: bits 31:20 of an instruction. Those that access memory are not simulated.
const LOAD: u32 = 0x080;
const LOAD_INVERTED: u32 = 0x480;
const LOAD_ZEROES: u32 = 0x081;
const LOAD_ONES: u32 = 0x481;
const ADD: u32 = 0x100;
const SUBTRACT: u32 = 0x101;
const AND: u32 = 0x102;
const OR: u32 = 0x103;
const EXCLUSIVE_OR: u32 = 0x104;
const SHIFT_LEFT: u32 = 0x105;
const SHIFT_RIGHT: u32 = 0x106;
const SHIFT_RIGHT_SIGNED: u32 = 0x107;
const STORE: u32 = 0x180;
const STORE_INVERTED: u32 = 0x580;
const LOAD_INDIRECT: u32 = 0x082;

/// The operands, in bits 19:10 and 9:0: the registers from 0 to 15, and these.
const SOURCE_A: u32 = 0x20;
const SOURCE_B: u32 = 0x21;
const ACCUMULATOR: u32 = 0x31;
const IS_ZERO: u32 = 0x32;
const CARRY: u32 = 0x33;

/// The ALU during a command; a number that is not known is `None`.
#[derive(Debug, Default)]
struct Alu {
    a: Option<u64>,
    b: Option<u64>,
    accumulator: Option<u64>,
    carry: Option<bool>,
}

/// Executes the instructions of MI_MATH. What depends on a register that is not known, or on memory, is not known.
pub(in crate::gpu) fn math(registers: &mut Registers, instructions: &[u32]) {
    let mut alu = Alu::default();
    for &instruction in instructions {
        let (first, second) = (instruction >> 10 & 0x3ff, instruction & 0x3ff);
        match instruction >> 20 {
            LOAD => alu.set(first, registers.general(second)),
            LOAD_INVERTED => alu.set(first, registers.general(second).map(|value| !value)),
            LOAD_ZEROES => alu.set(first, Some(0)),
            LOAD_ONES => alu.set(first, Some(!0)),
            LOAD_INDIRECT => registers.set_general(first, None),
            STORE => registers.set_general(first, alu.get(second)),
            STORE_INVERTED => registers.set_general(first, alu.get(second).map(|value| !value)),
            operation => alu.compute(operation),
        }
    }
}

impl Alu {
    fn set(&mut self, operand: u32, value: Option<u64>) {
        match operand {
            SOURCE_A => self.a = value,
            SOURCE_B => self.b = value,
            _ => {}
        }
    }

    /// Returns what an operand has; a flag has all bits set, or none.
    fn get(&self, operand: u32) -> Option<u64> {
        let flag = |is_set| if is_set { !0 } else { 0 };
        match operand {
            ACCUMULATOR => self.accumulator,
            IS_ZERO => self.accumulator.map(|value| flag(value == 0)),
            CARRY => self.carry.map(flag),
            _ => None,
        }
    }

    fn compute(&mut self, operation: u32) {
        let both = self.a.zip(self.b);
        let result = |compute: fn(u64, u64) -> (u64, bool)| both.map(|(a, b)| compute(a, b));
        let done = match operation {
            ADD => result(u64::overflowing_add),
            SUBTRACT => result(u64::overflowing_sub),
            AND => result(|a, b| (a & b, false)),
            OR => result(|a, b| (a | b, false)),
            EXCLUSIVE_OR => result(|a, b| (a ^ b, false)),
            SHIFT_LEFT => result(|a, b| (a << (b & 63), false)),
            SHIFT_RIGHT => result(|a, b| (a >> (b & 63), false)),
            SHIFT_RIGHT_SIGNED => result(|a, b| ((a.cast_signed() >> (b & 63)).cast_unsigned(), false)),
            // MI_NOOP's and the fences.
            ..LOAD => return,
            _ => None,
        };
        (self.accumulator, self.carry) = done.unzip();
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::Values;
    use super::*;
    use gem_coherency::platform::{EngineClass, by_name};
    use gem_coherency::vocabulary::KernelVersion;

    fn registers() -> Registers {
        let machine = by_name("dg2").unwrap().machine(KernelVersion::new(6, 12), false);
        Registers::new(machine, EngineClass::Render, Values::lost())
    }

    fn alu(operation: u32, first: u32, second: u32) -> u32 {
        operation << 20 | first << 10 | second
    }

    /// Returns register 2 after an operation on registers 0 and 1.
    fn computed(a: Option<u64>, b: Option<u64>, operation: u32, stored: u32) -> Option<u64> {
        let mut registers = registers();
        registers.set_general(0, a);
        registers.set_general(1, b);
        registers.set_general(2, Some(77));
        let loads = [alu(LOAD, SOURCE_A, 0), alu(LOAD, SOURCE_B, 1)];
        math(&mut registers, &[&loads[..], &[alu(operation, 0, 0), alu(STORE, 2, stored)]].concat());
        registers.general(2)
    }

    #[test]
    fn operations_compute_what_they_are_named_for() {
        let of = |a, b, operation| computed(Some(a), Some(b), operation, ACCUMULATOR);
        assert_eq!(of(u64::MAX, 2, ADD), Some(1));
        assert_eq!(of(1, 2, SUBTRACT), Some(u64::MAX));
        assert_eq!([AND, OR, EXCLUSIVE_OR].map(|one| of(12, 10, one)), [8, 14, 6].map(Some));
        assert_eq!([SHIFT_LEFT, SHIFT_RIGHT].map(|one| of(1 << 63, 1, one)), [0, 1 << 62].map(Some));
        assert_eq!(of(1 << 63, 1, SHIFT_RIGHT_SIGNED), Some(3 << 62));
    }

    #[test]
    fn comparisons_are_all_ones_or_zero() {
        let of = |a, b, flag| computed(Some(a), Some(b), SUBTRACT, flag);
        assert_eq!([of(5, 5, IS_ZERO), of(5, 6, IS_ZERO)], [Some(u64::MAX), Some(0)]);
        assert_eq!([of(5, 6, CARRY), of(6, 5, CARRY)], [Some(u64::MAX), Some(0)]);
    }

    #[test]
    fn what_depends_on_an_unknown_number_is_unknown() {
        assert_eq!(computed(None, Some(1), ADD, ACCUMULATOR), None);
        assert_eq!(computed(Some(1), None, SUBTRACT, IS_ZERO), None);
        assert_eq!(computed(Some(1), Some(1), 0x3ff, ACCUMULATOR), None, "an unknown operation");
        let mut registers = registers();
        assert_eq!(registers.general(3), None, "never loaded, after a hang");
        math(&mut registers, &[alu(LOAD_ONES, SOURCE_A, 0), alu(LOAD_ZEROES, SOURCE_B, 0), alu(ADD, 0, 0)]);
        math(&mut registers, &[alu(STORE_INVERTED, 3, ACCUMULATOR)]);
        assert_eq!(registers.general(3), None, "the accumulator of another command");
    }
}
