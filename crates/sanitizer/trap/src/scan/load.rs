//! Instructions that load from memory, and do nothing else but set registers and flags.
//!
//! The handler of a load executes them itself, with bytes that it got elsewhere: the page stays unreadable.

use iced_x86::{Code, Mnemonic, OpKind, Register};

use super::instruction::{Operand, number, operand};
use super::step::{Arithmetic, OPERATIONS, Value};

/// Use of the loaded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// MOV, MOVZX, MOVSX and MOVSXD: a general register gets them.
    General {
        /// Number of the register.
        to: u8,
        /// True if the sign is extended.
        signed: bool,
        /// True for a register of 64 bits. One of 32 bits clears the upper half.
        wide: bool,
    },
    /// A vector register gets them in its low bytes, and zeroes above.
    Vector {
        /// Number of the register.
        to: u8,
        /// Number of bytes that are set; those above stay: 16, or 64 for instructions with a VEX or EVEX prefix.
        set: u8,
    },
    /// An operation on them and another value sets the flags.
    Compute {
        /// The operation.
        operation: Arithmetic,
        /// The other operand.
        other: Value,
        /// Number of the register that gets the result: the other operand, which is the first one.
        to: Option<u8>,
        /// True if the loaded bytes are the first operand.
        is_first: bool,
    },
}

/// An instruction that loads from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Address of the next instruction.
    pub next: u64,
    /// The memory operand.
    pub operand: Operand,
    /// Number of bytes.
    pub bytes: u8,
    /// True if the CPU raises an exception for an address that is no multiple of the number of bytes.
    pub is_aligned: bool,
    /// Use of the bytes.
    pub taken: Taken,
}

impl Load {
    /// Returns a decoded instruction as a load, or `None` if it is none, or does more.
    pub(crate) fn of(decoded: &iced_x86::Instruction) -> Option<Self> {
        let (taken, is_aligned) = match vector(decoded) {
            Some(vector) => vector,
            None => (of_general(decoded)?, false),
        };
        Some(Load {
            next: decoded.next_ip(),
            operand: operand(decoded)?,
            bytes: u8::try_from(decoded.memory_size().size())
                .ok()
                .filter(|bytes| (1..=64).contains(bytes))?,
            is_aligned,
            taken,
        })
    }
}

/// Returns the use of the bytes by an instruction on general registers.
fn of_general(decoded: &iced_x86::Instruction) -> Option<Taken> {
    let first = decoded.op0_register();
    if first == Register::None {
        return compared(decoded);
    }
    // As in `step`: RSP stays.
    if !(first.is_gpr32() || first.is_gpr64()) || first.full_register() == Register::RSP {
        return None;
    }
    let (to, wide) = (number(first)?, first.is_gpr64());
    if decoded.op_count() != 2 || decoded.op1_kind() != OpKind::Memory {
        return None;
    }
    let mnemonic = decoded.mnemonic();
    if let Some(&(_, signed)) = MOVES.iter().find(|(one, _)| *one == mnemonic) {
        return Some(Taken::General { to, signed, wide });
    }
    let &(_, operation, stores) = OPERATIONS.iter().find(|(one, _, _)| *one == mnemonic)?;
    let other = Value::Register(to);
    Some(Taken::Compute { operation, other, to: stores.then_some(to), is_first: false })
}

/// Moves to a general register, and whether they extend the sign.
const MOVES: [(Mnemonic, bool); 4] =
    [(Mnemonic::Mov, false), (Mnemonic::Movzx, false), (Mnemonic::Movsx, true), (Mnemonic::Movsxd, true)];

/// Returns the use by CMP or TEST, whose first operand is in memory.
fn compared(decoded: &iced_x86::Instruction) -> Option<Taken> {
    let mnemonic = decoded.mnemonic();
    let &(_, operation, stores) = OPERATIONS.iter().find(|(one, _, _)| *one == mnemonic)?;
    if stores || decoded.op0_kind() != OpKind::Memory {
        return None;
    }
    let second = decoded.op1_register();
    let other = if second == Register::None {
        Value::Constant(decoded.try_immediate(1).ok()?)
    } else {
        let is_high = [Register::AH, Register::BH, Register::CH, Register::DH].contains(&second);
        Value::Register(number(second.full_register()).filter(|_| second.is_gpr() && !is_high)?)
    };
    Some(Taken::Compute { operation, other, to: None, is_first: true })
}

/// Returns the use by a vector move, and whether its address has to be aligned.
fn vector(decoded: &iced_x86::Instruction) -> Option<(Taken, bool)> {
    let code = decoded.code();
    let is_one = |moves: &[Code]| moves.contains(&code);
    let is_aligned = is_one(&ALIGNED) || is_one(&ALIGNED_CLEARS);
    let clears = is_one(&CLEARS) || is_one(&ALIGNED_CLEARS);
    let register = decoded.op0_register();
    let is_load =
        decoded.op1_kind() == OpKind::Memory && register.is_vector_register() && !decoded.has_op_mask();
    let to = u8::try_from(register.number()).ok()?;
    let set = if clears { 64 } else { 16 };
    (is_load && (is_aligned || clears || is_one(&KEEPS))).then_some((Taken::Vector { to, set }, is_aligned))
}

/// Moves that set 16 bytes.
const KEEPS: [Code; 9] = [
    Code::Movups_xmm_xmmm128,
    Code::Movupd_xmm_xmmm128,
    Code::Movdqu_xmm_xmmm128,
    Code::Lddqu_xmm_m128,
    Code::Movss_xmm_xmmm32,
    Code::Movsd_xmm_xmmm64,
    Code::Movd_xmm_rm32,
    Code::Movq_xmm_rm64,
    Code::Movq_xmm_xmmm64,
];

/// Those with an aligned address.
const ALIGNED: [Code; 3] = [Code::Movaps_xmm_xmmm128, Code::Movapd_xmm_xmmm128, Code::Movdqa_xmm_xmmm128];

/// Moves that set the whole register.
const CLEARS: [Code; 31] = [
    Code::VEX_Vmovups_xmm_xmmm128,
    Code::VEX_Vmovups_ymm_ymmm256,
    Code::VEX_Vmovupd_xmm_xmmm128,
    Code::VEX_Vmovupd_ymm_ymmm256,
    Code::VEX_Vmovdqu_xmm_xmmm128,
    Code::VEX_Vmovdqu_ymm_ymmm256,
    Code::VEX_Vlddqu_xmm_m128,
    Code::VEX_Vlddqu_ymm_m256,
    Code::VEX_Vmovss_xmm_m32,
    Code::VEX_Vmovsd_xmm_m64,
    Code::VEX_Vmovd_xmm_rm32,
    Code::VEX_Vmovq_xmm_rm64,
    Code::VEX_Vmovq_xmm_xmmm64,
    Code::EVEX_Vmovups_xmm_k1z_xmmm128,
    Code::EVEX_Vmovups_ymm_k1z_ymmm256,
    Code::EVEX_Vmovups_zmm_k1z_zmmm512,
    Code::EVEX_Vmovupd_xmm_k1z_xmmm128,
    Code::EVEX_Vmovupd_ymm_k1z_ymmm256,
    Code::EVEX_Vmovupd_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqu8_xmm_k1z_xmmm128,
    Code::EVEX_Vmovdqu8_ymm_k1z_ymmm256,
    Code::EVEX_Vmovdqu8_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqu16_xmm_k1z_xmmm128,
    Code::EVEX_Vmovdqu16_ymm_k1z_ymmm256,
    Code::EVEX_Vmovdqu16_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqu32_xmm_k1z_xmmm128,
    Code::EVEX_Vmovdqu32_ymm_k1z_ymmm256,
    Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqu64_xmm_k1z_xmmm128,
    Code::EVEX_Vmovdqu64_ymm_k1z_ymmm256,
    Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
];

/// Those with an aligned address.
const ALIGNED_CLEARS: [Code; 18] = [
    Code::VEX_Vmovaps_xmm_xmmm128,
    Code::VEX_Vmovaps_ymm_ymmm256,
    Code::VEX_Vmovapd_xmm_xmmm128,
    Code::VEX_Vmovapd_ymm_ymmm256,
    Code::VEX_Vmovdqa_xmm_xmmm128,
    Code::VEX_Vmovdqa_ymm_ymmm256,
    Code::EVEX_Vmovaps_xmm_k1z_xmmm128,
    Code::EVEX_Vmovaps_ymm_k1z_ymmm256,
    Code::EVEX_Vmovaps_zmm_k1z_zmmm512,
    Code::EVEX_Vmovapd_xmm_k1z_xmmm128,
    Code::EVEX_Vmovapd_ymm_k1z_ymmm256,
    Code::EVEX_Vmovapd_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqa32_xmm_k1z_xmmm128,
    Code::EVEX_Vmovdqa32_ymm_k1z_ymmm256,
    Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqa64_xmm_k1z_xmmm128,
    Code::EVEX_Vmovdqa64_ymm_k1z_ymmm256,
    Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512,
];
