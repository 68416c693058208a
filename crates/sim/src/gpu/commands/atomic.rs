//! Decodes MI_ATOMIC (graphics 8 and later), which changes a dword or a qword of memory.
//!
//! Operands are in the command, or in general registers, and the old value may be returned in one: such commands are not simulated, unless the
//! operation has no operand. Nor are operations on 16 bytes. A store of the CPU meanwhile may be lost.

use super::Streamer;
use super::encoding::{
    ATOMIC_BYTES_SHIFT, ATOMIC_INLINE, ATOMIC_OPERATION_SHIFT, ATOMIC_RETURNS, MEMORY_GLOBAL,
};
use super::memory_commands::private;
use super::wide;
use crate::gpu::fault_log::HangCause;

/// An operation on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) struct Atomic {
    pub(in crate::gpu) address: u64,
    /// 4 or 8.
    pub(in crate::gpu) bytes: usize,
    operation: Operation,
    operands: [u64; 2],
}

/// The new value, from the old one and up to two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Move,
    Increment,
    Decrement,
    Add,
    Subtract,
    SubtractFrom,
    SignedMaximum,
    SignedMinimum,
    Maximum,
    Minimum,
    /// The second operand replaces a value that equals the first.
    CompareAndWrite,
}

impl Operation {
    /// Decodes bits 12:8 of the first dword; `None` for a reserved value.
    fn new(code: u32) -> Option<Self> {
        Some(match code {
            0x1 => Self::And,
            0x2 => Self::Or,
            0x3 => Self::Xor,
            0x4 => Self::Move,
            0x5 => Self::Increment,
            // 0xf returns the new value, not the old one.
            0x6 | 0xf => Self::Decrement,
            0x7 => Self::Add,
            0x8 => Self::Subtract,
            0x9 => Self::SubtractFrom,
            0xa => Self::SignedMaximum,
            0xb => Self::SignedMinimum,
            0xc => Self::Maximum,
            0xd => Self::Minimum,
            0xe => Self::CompareAndWrite,
            _ => return None,
        })
    }

    /// Returns the new value of all 64 bits; `signed` extends the sign of a value.
    fn apply(self, old: u64, [first, second]: [u64; 2], signed: impl Fn(u64) -> i64) -> u64 {
        match self {
            Self::And => old & first,
            Self::Or => old | first,
            Self::Xor => old ^ first,
            Self::Move => first,
            Self::Increment => old.wrapping_add(1),
            Self::Decrement => old.wrapping_sub(1),
            Self::Add => old.wrapping_add(first),
            Self::Subtract => old.wrapping_sub(first),
            Self::SubtractFrom => first.wrapping_sub(old),
            Self::SignedMaximum => signed(old).max(signed(first)) as u64,
            Self::SignedMinimum => signed(old).min(signed(first)) as u64,
            Self::Maximum => old.max(first),
            Self::Minimum => old.min(first),
            Self::CompareAndWrite if old == first => second,
            Self::CompareAndWrite => old,
        }
    }
}

impl Atomic {
    /// Decodes the command; `None` if it is not simulated.
    ///
    /// # Errors
    /// The cause of the hang for a wrong length, or an address in the global GTT.
    pub(super) fn decode(on: &Streamer, first: u32, operands: &[u32]) -> Result<Option<Self>, HangCause> {
        private(on, first, MEMORY_GLOBAL)?;
        let &[low, high, ref data @ ..] = operands else { return Err(HangCause::Unknown) };
        let code = first >> ATOMIC_OPERATION_SHIFT & 0xff;
        let bytes = match first >> ATOMIC_BYTES_SHIFT & 3 {
            0 => 4,
            1 => 8,
            _ => return Ok(None),
        };
        // The code's bits 7:5 repeat the size; IGT and the kernel leave them 0 for a dword.
        let Some(operation) = Operation::new(code & 0x1f) else { return Ok(None) };
        let mut values = [0; 2];
        match (data, operation) {
            // The operands' dwords alternate.
            (&[one, two, one_high, two_high, ..], _) if first & ATOMIC_INLINE != 0 => {
                values = if bytes == 8 {
                    [wide(one, one_high), wide(two, two_high)]
                } else {
                    [one.into(), two.into()]
                };
            }
            (_, Operation::Increment | Operation::Decrement) => {}
            _ => return Ok(None),
        }
        let address = wide(low, high) & !(bytes as u64 - 1);
        let is_simulated = first & ATOMIC_RETURNS == 0;
        Ok(is_simulated.then_some(Self { address, bytes, operation, operands: values }))
    }

    /// Returns the new bytes of memory; `old` has [`Self::bytes`].
    pub(in crate::gpu) fn apply(&self, old: [u8; 8]) -> [u8; 8] {
        let unused = 64 - 8 * self.bytes;
        let signed = |value: u64| ((value << unused) as i64) >> unused;
        self.operation.apply(u64::from_le_bytes(old), self.operands, signed).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::streamer;
    use super::super::{Command, HangCause};

    /// Returns the new value of memory after a command whose first dword has these bits, with operands in the command.
    fn stored(bits: u32, old: u64, [one, two]: [u64; 2]) -> Option<u64> {
        let high = |value: u64| (value >> 32) as u32;
        let words = [0x1784_0009 | bits, 0x2004, 0, one as u32, two as u32, high(one), high(two), 0, 0, 0, 0];
        match streamer("skl").decode(&words) {
            Ok(Command::Atomic(atomic)) => Some(u64::from_le_bytes(atomic.apply(old.to_le_bytes()))),
            Ok(Command::Nothing) => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_atomic_operation_stores_what_its_code_says() {
        const QWORD: u32 = 1 << 19;
        let minus = |value: i32| u64::from(value as u32);
        for (code, old, operands, new) in [
            (0x1, 12, [10, 0], 8),
            (0x2, 12, [10, 0], 14),
            (0x3, 12, [10, 0], 6),
            (0x4, 12, [10, 0], 10),
            (0x5, 12, [10, 0], 13),
            (0x6, 12, [10, 0], 11),
            (0x7, 12, [10, 0], 22),
            (0x8, 12, [10, 0], 2),
            (0x9, 10, [12, 0], 2),
            (0xa, minus(-3), [2, 0], 2),
            (0xb, 2, [minus(-3), 0], minus(-3)),
            (0xc, minus(-3), [2, 0], minus(-3)),
            (0xd, minus(-3), [2, 0], 2),
            (0xe, 12, [12, 10], 10),
            (0xe, 11, [12, 10], 11),
            (0xf, 12, [10, 0], 11),
        ] {
            let dword = stored(code << 8, old, operands).map(|new| u64::from(new as u32));
            assert_eq!(dword, Some(new), "{code:x} of a dword");
        }
        let large = 1 << 40;
        assert_eq!(stored(QWORD | 0x7 << 8, large, [large + 1, 0]), Some(2 * large + 1));
        assert_eq!(stored(QWORD | 0xa << 8, 1, [u64::MAX, 0]), Some(1), "a qword has its own sign");
        assert_eq!(stored(QWORD | 0x2e << 8, large, [large, 7]), Some(7), "bits 7:5 repeat the size");
    }

    #[test]
    fn what_needs_registers_is_not_simulated() {
        let skl = streamer("skl");
        let atomic = |first, operands: &[u32]| skl.decode(&[&[first], operands].concat());
        // Without operands in the command, of two operations one needs none.
        assert!(
            matches!(atomic(0x1780_0501, &[0x2004, 1]), Ok(Command::Atomic(one)) if one.address == 0x1_0000_2004)
        );
        assert_eq!(atomic(0x1780_0701, &[0x2004, 0]), Ok(Command::Nothing));
        assert_eq!(stored(0x5 << 8 | 1 << 16, 1, [0; 2]), None, "the old value goes to a register");
        assert_eq!(stored(0x7 << 8 | 2 << 19, 1, [0; 2]), None, "16 bytes");
        assert_eq!(stored(0x10 << 8, 1, [0; 2]), None, "no operation");
        assert_eq!(atomic(0x17c0_0501, &[0x2004, 0]), Err(HangCause::Privileged));
        assert_eq!(atomic(0x1780_0500, &[0x2004]), Err(HangCause::Unknown));
        let hsw = streamer("hsw").decode(&[0x1780_0501, 0x2004, 0]);
        assert_eq!(hsw, Err(HangCause::Unsupported));
    }
}
