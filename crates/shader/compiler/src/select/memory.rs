//! Accesses to surfaces: messages to the data port.

use intel_eu::{Opcode, Type};

use super::{Selection, bits_of, kind};
use crate::ir::{Atomic, Scalar, Surface, Value};
use crate::machine::instr::{Dst, Instr, LANES, Message, Operand, RegRef, RegRegion, VReg};
use crate::machine::regions;

/// The data port for bytes and words, and the one for dwords.
const NARROW_PORT: u8 = 10;
const PORT: u8 = 12;

/// Messages: dwords, and bytes or words, of each of 16 lanes.
const READ: u32 = 1 << 14 | 1 << 12;
const WRITE: u32 = 9 << 14 | 1 << 12;
const ATOMIC: u32 = 2 << 14;
const READ_NARROW: u32 = 4 << 14 | 1 << 8;
const WRITE_NARROW: u32 = 12 << 14 | 1 << 8;

/// Dwords of a lane that are left out: three of four, or two.
const ONE_DWORD: u32 = 0xe << 8;
const TWO_DWORDS: u32 = 0xc << 8;
/// The size of words among bytes, words, and dwords.
const WORDS: u32 = 1 << 10;
/// The bit of an atomic operation's control that asks for the old dword.
const RESPONDS: u32 = 0x20;

/// Bytes of a dword of each lane, and the registers that these are.
const ROW: u32 = 4 * LANES as u32;
const ROW_REGISTERS: u32 = 2;

impl Selection<'_> {
    fn send(&mut self, to: Option<VReg>, payload: VReg, message: Message) {
        let at = to.map_or(RegRef::Null, |to| RegRef::VReg(to, 0));
        let to = Dst { at, kind: Type::Ud, stride: 1 };
        let send = Instr::of(Opcode::Send, to, &[Operand::lanes(payload, Type::Ud)]);
        self.push(Instr { message: Some(message), ..send });
    }

    /// Loads a number of each lane.
    pub(super) fn load(&mut self, to: VReg, scalar: Scalar, surface: Surface, offset: Value) {
        let payload = self.vreg_of(offset);
        let surface = u32::from(surface.0);
        let (function, descriptor, rows) = match scalar.bits() {
            8 => (NARROW_PORT, READ_NARROW, 1),
            16 => (NARROW_PORT, READ_NARROW | WORDS, 1),
            64 => (PORT, READ | TWO_DWORDS, 2),
            _ => (PORT, READ | ONE_DWORD, 1),
        };
        let received = rows * ROW_REGISTERS;
        let message = Message { function, descriptor: descriptor | surface, sent: ROW_REGISTERS, received };
        if rows == 1 {
            self.send(Some(to), payload, message);
            return;
        }
        // All lower dwords come before all upper ones.
        let dwords = self.function.vreg(received as u8);
        self.send(Some(dwords), payload, message);
        for half in 0..rows {
            let from = RegRegion::apart(RegRef::VReg(dwords, half * ROW), Type::Ud, 4, LANES);
            let to = regions::half_of_target(Dst::lanes(to, Type::Uq), half);
            self.push(Instr::of(Opcode::Mov, to, &[Operand::Reg(from)]));
        }
    }

    /// Stores a number of each lane.
    pub(super) fn store(&mut self, surface: Surface, offset: Value, value: Value) {
        let scalar = self.program.kind(value);
        let surface = u32::from(surface.0);
        let (function, descriptor, rows) = match scalar.bits() {
            8 => (NARROW_PORT, WRITE_NARROW, 1),
            16 => (NARROW_PORT, WRITE_NARROW | WORDS, 1),
            64 => (PORT, WRITE | TWO_DWORDS, 2),
            _ => (PORT, WRITE | ONE_DWORD, 1),
        };
        let sent = (1 + rows) * ROW_REGISTERS;
        let payload = self.function.vreg(sent as u8);
        self.fill(payload, 0, offset);
        if rows == 1 {
            self.fill(payload, ROW, value);
        } else {
            let vreg = self.vreg_of(value);
            for half in 0..rows {
                let from = RegRegion::apart(RegRef::VReg(vreg, 0), Type::Uq, 8, LANES);
                let to = Dst { at: RegRef::VReg(payload, ROW + half * ROW), kind: Type::Ud, stride: 1 };
                let from = Operand::Reg(regions::half_of_elements(from, half));
                self.push(Instr::of(Opcode::Mov, to, &[from]));
            }
        }
        self.send(None, payload, Message { function, descriptor: descriptor | surface, sent, received: 0 });
    }

    /// Puts a number of up to 32 bits into a dword of each lane of a payload.
    fn fill(&mut self, payload: VReg, byte: u32, value: Value) {
        let bits = bits_of(self.program.kind(value));
        let (kind, operand) = match self.operand(value, bits) {
            Operand::Imm { bits, .. } => (Type::Ud, Operand::Imm { kind: Type::Ud, bits }),
            registers => (bits, registers),
        };
        let to = Dst { at: RegRef::VReg(payload, byte), kind, stride: 4 / kind.bytes() };
        self.push(Instr::of(Opcode::Mov, to, &[operand]));
    }

    /// Operates on a dword of memory of each lane.
    pub(super) fn atomic(
        &mut self,
        to: VReg,
        atomic: Atomic,
        surface: Surface,
        offset: Value,
        operand: Value,
    ) {
        let code = match atomic {
            Atomic::And => 1,
            Atomic::Or => 2,
            Atomic::Xor => 3,
            Atomic::Exchange => 4,
            Atomic::Add => 7,
            Atomic::Maximum { signed: true } => 10,
            Atomic::Minimum { signed: true } => 11,
            Atomic::Maximum { signed: false } => 12,
            Atomic::Minimum { signed: false } => 13,
            Atomic::CompareExchange(_) => 14,
        };
        let mut dwords = vec![offset];
        if let Atomic::CompareExchange(expected) = atomic {
            dwords.push(expected);
        }
        dwords.push(operand);
        let sent = dwords.len() as u32 * ROW_REGISTERS;
        let payload = self.function.vreg(sent as u8);
        for (place, value) in (0..).zip(dwords) {
            self.fill(payload, place * ROW, value);
        }
        let descriptor = ATOMIC | (RESPONDS | code) << 8 | u32::from(surface.0);
        self.send(Some(to), payload, Message { function: PORT, descriptor, sent, received: ROW_REGISTERS });
    }

    /// Subtracts the numbers of lanes of each quad: the second column from the first one, or the rows.
    pub(super) fn derivative(
        &mut self,
        to: VReg,
        scalar: Scalar,
        way: u8,
        a: Value,
    ) -> Result<(), crate::Error> {
        let kind = kind(scalar, true);
        if kind != Type::F {
            return Err(crate::Error::Opcode { name: format!("a derivative of type {kind}") });
        }
        let vreg = self.vreg_of(a);
        let lane = |number: u32| {
            let at = RegRef::VReg(vreg, number * 4);
            Operand::Reg(RegRegion { at, kind, rows: [4, 4, 0], negate: false, absolute: false })
        };
        let neighbour = if way == 0 { 1 } else { 2 };
        self.put(Opcode::Add, to, kind, &[lane(neighbour), lane(0).negated()]);
        Ok(())
    }
}
