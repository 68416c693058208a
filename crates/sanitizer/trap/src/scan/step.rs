//! Instructions on registers alone that follow a trapped one.
//!
//! The handler executes them itself, up to the next trapped instruction: a loop of flushes takes one signal for many lines.

use std::collections::BTreeMap;

use iced_x86::{ConditionCode, Decoder, DecoderOptions, Mnemonic, OpKind, Register};

use super::instruction::{Instruction, Operand, number, operand};

/// Second operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A general register, by number.
    Register(u8),
    /// An immediate operand, sign-extended.
    Constant(u64),
}

/// Operation that sets the status flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// ADD and INC.
    Add,
    /// SUB, DEC and CMP.
    Subtract,
    /// AND and TEST.
    And,
    /// OR.
    Or,
    /// XOR.
    Xor,
}

/// Effect of a [`Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// NOP and ENDBR64: none.
    Nothing,
    /// MOV.
    Copy {
        /// Number of the destination.
        to: u8,
        /// The source.
        from: Value,
    },
    /// LEA.
    Address {
        /// Number of the destination.
        to: u8,
        /// The operand whose address is stored.
        of: Operand,
    },
    /// An operation that sets the status flags.
    Compute {
        /// The operation.
        operation: Arithmetic,
        /// Number of the first operand.
        left: u8,
        /// The second operand.
        right: Value,
        /// True if `left` gets the result: not for CMP and TEST.
        stores: bool,
        /// True if the carry flag stays: INC and DEC.
        keeps_carry: bool,
    },
    /// A jump: JMP, or one with a condition of the status flags, by the number that opcodes have for it (Intel SDM, volume 1, B.1).
    Jump {
        /// The condition; `None` for JMP.
        condition: Option<u8>,
        /// Address to go on at.
        target: u64,
    },
}

/// An instruction that reads and writes registers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Address of its first byte.
    pub address: u64,
    /// Address of the next instruction.
    pub next: u64,
    /// True for operands of 64 bits. Those of 32 bits clear the upper half of their destination.
    pub wide: bool,
    /// Its effect.
    pub effect: Effect,
}

/// Instructions that are decoded after each trapped one at most.
const MOST_STEPS: usize = 32;

/// Finds the steps that a thread can take from the trapped instructions of the function `code`, which begins at `start`.
pub(super) fn steps(code: &[u8], start: u64, trapped: &[Instruction]) -> Vec<Step> {
    let mut steps = BTreeMap::new();
    for instruction in trapped {
        let mut ways = vec![instruction.address.wrapping_add(u64::from(instruction.length))];
        let mut left = MOST_STEPS;
        while let (Some(address), 1..) = (ways.pop(), left) {
            let is_trapped = trapped.iter().any(|other| other.address == address);
            if is_trapped || steps.contains_key(&address) {
                continue;
            }
            let Some(step) = decode(code, start, address) else { continue };
            left -= 1;
            match step.effect {
                Effect::Jump { condition: None, target } => ways.push(target),
                Effect::Jump { condition: Some(_), target } => ways.extend([target, step.next]),
                Effect::Nothing | Effect::Copy { .. } | Effect::Address { .. } | Effect::Compute { .. } => {
                    ways.push(step.next);
                }
            }
            steps.insert(address, step);
        }
    }
    steps.into_values().collect()
}

/// Decodes the step at `address`; `None` if the instruction is no step, or is not in the function.
fn decode(code: &[u8], start: u64, address: u64) -> Option<Step> {
    let at = usize::try_from(address.checked_sub(start)?).ok()?;
    let bytes = code.get(at..).filter(|bytes| !bytes.is_empty())?;
    Step::of(&Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode())
}

impl Step {
    /// Returns a decoded instruction as a step, or `None` if it is none.
    pub(crate) fn of(decoded: &iced_x86::Instruction) -> Option<Self> {
        let first = decoded.op0_register();
        let (effect, wide) = if first.is_gpr32() || first.is_gpr64() {
            (on_register(decoded)?, first.is_gpr64())
        } else {
            (without_register(decoded)?, true)
        };
        Some(Step { address: decoded.ip(), next: decoded.next_ip(), wide, effect })
    }
}

/// Operations of a first operand with a second one, and whether the first gets the result.
pub(super) const OPERATIONS: [(Mnemonic, Arithmetic, bool); 7] = [
    (Mnemonic::Add, Arithmetic::Add, true),
    (Mnemonic::Sub, Arithmetic::Subtract, true),
    (Mnemonic::Cmp, Arithmetic::Subtract, false),
    (Mnemonic::And, Arithmetic::And, true),
    (Mnemonic::Test, Arithmetic::And, false),
    (Mnemonic::Or, Arithmetic::Or, true),
    (Mnemonic::Xor, Arithmetic::Xor, true),
];

/// Operations of an operand with 1.
const BY_ONE: [(Mnemonic, Arithmetic); 2] =
    [(Mnemonic::Inc, Arithmetic::Add), (Mnemonic::Dec, Arithmetic::Subtract)];

/// Returns the effect of an instruction whose first operand is a register.
fn on_register(decoded: &iced_x86::Instruction) -> Option<Effect> {
    // With another RSP, a trapped store after it could overwrite the frame of the signal.
    if decoded.op0_register().full_register() == Register::RSP {
        return None;
    }
    let left = number(decoded.op0_register())?;
    let mnemonic = decoded.mnemonic();
    if mnemonic == Mnemonic::Nop {
        return Some(Effect::Nothing);
    }
    if mnemonic == Mnemonic::Mov {
        return Some(Effect::Copy { to: left, from: second(decoded)? });
    }
    if mnemonic == Mnemonic::Lea {
        return Some(Effect::Address { to: left, of: operand(decoded)?.flat() });
    }
    if let Some(&(_, operation)) = BY_ONE.iter().find(|(one, _)| *one == mnemonic) {
        let right = Value::Constant(1);
        return Some(Effect::Compute { operation, left, right, stores: true, keeps_carry: true });
    }
    let &(_, operation, stores) = OPERATIONS.iter().find(|(one, _, _)| *one == mnemonic)?;
    Some(Effect::Compute { operation, left, right: second(decoded)?, stores, keeps_carry: false })
}

/// Returns the effect of another instruction.
fn without_register(decoded: &iced_x86::Instruction) -> Option<Effect> {
    if [Mnemonic::Nop, Mnemonic::Endbr64].contains(&decoded.mnemonic()) {
        return Some(Effect::Nothing);
    }
    let is_conditional = decoded.is_jcc_short_or_near();
    let is_jump = is_conditional || decoded.mnemonic() == Mnemonic::Jmp;
    if !is_jump || decoded.op0_kind() != OpKind::NearBranch64 {
        return None;
    }
    let condition = if is_conditional { Some(condition(decoded.condition_code())?) } else { None };
    Some(Effect::Jump { condition, target: decoded.near_branch64() })
}

/// Returns the second operand, if it is a register as wide as the first or a constant.
fn second(decoded: &iced_x86::Instruction) -> Option<Value> {
    let register = decoded.op1_register();
    if register == Register::None {
        return decoded.try_immediate(1).ok().map(Value::Constant);
    }
    let is_as_wide = register.is_gpr() && register.size() == decoded.op0_register().size();
    is_as_wide.then(|| number(register).map(Value::Register)).flatten()
}

/// Returns the number that opcodes have for a condition.
fn condition(code: ConditionCode) -> Option<u8> {
    const CODES: [ConditionCode; 16] = [
        ConditionCode::o,
        ConditionCode::no,
        ConditionCode::b,
        ConditionCode::ae,
        ConditionCode::e,
        ConditionCode::ne,
        ConditionCode::be,
        ConditionCode::a,
        ConditionCode::s,
        ConditionCode::ns,
        ConditionCode::p,
        ConditionCode::np,
        ConditionCode::l,
        ConditionCode::ge,
        ConditionCode::le,
        ConditionCode::g,
    ];
    CODES.iter().position(|one| *one == code).and_then(|place| u8::try_from(place).ok())
}
