//! Atomic operations on dwords of memory.

/// An operation on a dword. All but [`Self::CompareWrite`] have one operand at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atomic {
    And,
    Or,
    Xor,
    /// Writes the operand.
    Move,
    Increment,
    Decrement,
    Add,
    SignedMaximum,
    SignedMinimum,
    Maximum,
    Minimum,
    /// Writes the second operand if the dword equals the first.
    CompareWrite,
}

/// Operations by their codes, from 1 on; subtractions are not known here. Sources: the Programmer's Reference Manuals, "Atomic
/// Operations"; Mesa's brw_eu_defines.h, `BRW_AOP`; iga64's text of messages.
const CODES: [Option<Atomic>; 14] = [
    Some(Atomic::And),
    Some(Atomic::Or),
    Some(Atomic::Xor),
    Some(Atomic::Move),
    Some(Atomic::Increment),
    Some(Atomic::Decrement),
    Some(Atomic::Add),
    None,
    None,
    Some(Atomic::SignedMaximum),
    Some(Atomic::SignedMinimum),
    Some(Atomic::Maximum),
    Some(Atomic::Minimum),
    Some(Atomic::CompareWrite),
];

impl Atomic {
    /// Returns the operation of a code.
    pub fn from_code(code: u32) -> Option<Self> {
        CODES.get((code as usize).checked_sub(1)?).copied().flatten()
    }

    /// Returns the number of its operands.
    pub fn operands(self) -> usize {
        match self {
            Self::Increment | Self::Decrement => 0,
            Self::CompareWrite => 2,
            Self::And | Self::Or | Self::Xor | Self::Move | Self::Add => 1,
            Self::SignedMaximum | Self::SignedMinimum | Self::Maximum | Self::Minimum => 1,
        }
    }

    /// Returns the dword after the operation.
    pub fn apply(self, old: u32, [first, second]: [u32; 2]) -> u32 {
        match self {
            Self::And => old & first,
            Self::Or => old | first,
            Self::Xor => old ^ first,
            Self::Move => first,
            Self::Increment => old.wrapping_add(1),
            Self::Decrement => old.wrapping_sub(1),
            Self::Add => old.wrapping_add(first),
            Self::SignedMaximum => (old as i32).max(first as i32) as u32,
            Self::SignedMinimum => (old as i32).min(first as i32) as u32,
            Self::Maximum => old.max(first),
            Self::Minimum => old.min(first),
            Self::CompareWrite if old == first => second,
            Self::CompareWrite => old,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_their_codes() {
        let minus = |number: u32| number.wrapping_neg();
        for (code, old, operands, new) in [
            (1, 0b1100, [0b1010, 0], 0b1000),
            (2, 0b1100, [0b1010, 0], 0b1110),
            (3, 0b1100, [0b1010, 0], 0b0110),
            (4, 1, [7, 0], 7),
            (5, u32::MAX, [7, 0], 0),
            (6, 0, [7, 0], u32::MAX),
            (7, 3, [minus(5), 0], minus(2)),
            (10, minus(1), [2, 0], 2),
            (11, minus(1), [2, 0], minus(1)),
            (12, minus(1), [2, 0], minus(1)),
            (13, minus(1), [2, 0], 2),
            (14, 3, [3, 9], 9),
            (14, 4, [3, 9], 4),
        ] {
            let operation = Atomic::from_code(code).unwrap();
            assert_eq!(operation.apply(old, operands), new, "{operation:?}");
        }
        for code in [0, 8, 9, 15, 16] {
            assert_eq!(Atomic::from_code(code), None);
        }
    }
}
