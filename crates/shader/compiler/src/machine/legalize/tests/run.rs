//! Runs an operation on the executor: sources from registers, the result to a surface.

use intel_eu::execute::{Access, Bus, Shader, Thread};
use intel_eu::{Opcode, Platform, Type, encodings, text, validate};

use super::reference::{Case, FIRST, RESULT, SECOND, canonical};
use crate::Error;
use crate::machine::instr::{
    Dst, Function, Instr, LANES, Message, Operand, Predicate, RegRef, RegRegion, Stmt, VReg, lane_bytes, raw,
};
use crate::machine::{emit, legalize, opt_copy_prop, regions};

/// The lanes whose flags are set.
pub(super) const LANES_SET: u32 = 0x5a3c;

/// The registers of the sources, the old destination, and the offsets: after those that are allocated.
const SOURCES: [u8; 3] = [114, 118, 122];
const OFFSETS: u8 = 126;
const ALLOCATED: std::ops::Range<u8> = 2..112;
const STEPS: u64 = 1000;

/// A shader for an operation.
pub(super) struct Run {
    platform: Platform,
    shader: Shader,
    bytes: Vec<u8>,
}

/// The data port's write of a dword of each lane.
fn write(payload: VReg, byte: u32) -> Instr {
    let message = Message { function: 12, descriptor: 0x2_5e00 | byte, sent: 4, received: 0 };
    let null = Dst { at: RegRef::Null, kind: Type::Ud, stride: 1 };
    let send = Instr::of(Opcode::Send, null, &[Operand::lanes(payload, Type::Ud)]);
    Instr { message: Some(message), ..send }
}

/// Returns a copy of fixed registers to a virtual register, in the layout of a value.
fn load(vreg: VReg, register: u8, kind: Type) -> Vec<Instr> {
    let (bytes, at) = (kind.bytes(), RegRef::Fixed(register, 0));
    let to = Dst { kind: raw(bytes), ..Dst::lanes(vreg, kind) };
    let from = RegRegion::apart(at, raw(bytes), lane_bytes(kind), LANES);
    let halves = |half| (regions::half_of_target(to, half), regions::half_of_elements(from, half));
    let pairs = if bytes == 8 { vec![halves(0), halves(1)] } else { vec![(to, from)] };
    pairs.into_iter().map(|(to, from)| Instr::of(Opcode::Mov, to, &[Operand::Reg(from)])).collect()
}

/// Returns the operation in so many lanes at a time.
fn split(instr: Instr, lanes: u8) -> Vec<Instr> {
    if instr.lanes == lanes {
        return vec![instr];
    }
    (0..2).flat_map(|half| split(regions::half_of_lanes(&instr, half), lanes)).collect()
}

impl Run {
    /// Returns the shader of an operation, whose instructions are all valid.
    pub fn new(platform: Platform, case: &Case, lanes: u8) -> Result<Self, Error> {
        let registers = |kind| if lane_bytes(kind) > 4 { 4 } else { 2 };
        let is_comparison = case.opcode == Opcode::Cmp;
        let result = if is_comparison { Type::Ud } else { case.to };
        let mut function = Function::default();
        let vregs = [case.from, case.from, result].map(|kind| function.vreg(registers(kind)));
        assert_eq!(vregs, [FIRST, SECOND, RESULT]);
        let mut instrs = Vec::new();
        for (vreg, register, kind) in [(FIRST, 0, case.from), (SECOND, 1, case.from), (RESULT, 2, result)] {
            instrs.extend(load(vreg, SOURCES[register], kind));
        }
        let flags = Dst { at: RegRef::Flag, kind: Type::Uw, stride: 1 };
        let set = Operand::Imm { kind: Type::Uw, bits: u64::from(LANES_SET) };
        instrs.push(Instr { lanes: 1, no_mask: true, ..Instr::of(Opcode::Mov, flags, &[set]) });
        instrs.extend(split(case.instr(Instr::new(case.opcode)), lanes));
        if is_comparison {
            let number = |bits| [Operand::Imm { kind: Type::Ud, bits }];
            let to = Dst::lanes(RESULT, Type::Ud);
            instrs.push(Instr::of(Opcode::Mov, to, &number(0)));
            instrs.push(Instr::of(Opcode::Mov, to, &number(1)).when(Predicate::SET));
        }
        let bytes = result.bytes();
        let read = RegRegion::apart(RegRef::VReg(RESULT, 0), raw(bytes), lane_bytes(result), LANES);
        for half in 0..u32::from(bytes).div_ceil(4).min(2) {
            let payload = function.vreg(4);
            let from = if bytes == 8 { regions::half_of_elements(read, half) } else { read };
            let to = |byte| Dst { at: RegRef::VReg(payload, byte), kind: Type::Ud, stride: 1 };
            let offsets = RegRegion::apart(RegRef::Fixed(OFFSETS, 0), Type::Ud, 4, LANES);
            instrs.push(Instr::of(Opcode::Mov, to(0), &[Operand::Reg(offsets)]));
            instrs.push(Instr::of(Opcode::Mov, to(64), &[Operand::Reg(from)]));
            instrs.push(write(payload, half));
        }
        function.stmts = instrs.into_iter().map(Stmt::Instr).collect();
        legalize(platform, &mut function)?;
        opt_copy_prop(platform, &mut function);
        let bytes = emit(&function, platform)?;
        for (at, one) in encodings(&bytes) {
            let one = one.expect("an instruction").decode(platform).expect("an instruction");
            let broken = validate(platform, &one);
            assert!(broken.is_empty(), "{case:?} at {at}: {}: {broken:?}", text::print(platform, &one));
        }
        Ok(Self { platform, shader: Shader::new(platform, &bytes), bytes })
    }
}

/// The dwords that are written, by surface and lane.
struct Written([[Option<u32>; 16]; 2]);

impl Bus for Written {
    fn read(&mut self, _: Access, bytes: &mut [u8]) {
        bytes.fill(0);
    }

    fn write(&mut self, access: Access, bytes: &[u8]) {
        let dword = bytes.try_into().map(u32::from_le_bytes).ok();
        self.0[usize::from(access.surface)][access.offset as usize / 4] = dword;
    }
}

/// Returns for each value as the first source the inputs and the result. The second source is another value, and the old destination a third.
pub(super) fn results(run: &Run, case: &Case, first: &[u64], second: &[u64]) -> Vec<([u64; 3], u64)> {
    let mut found = Vec::new();
    let result = if case.opcode == Opcode::Cmp { Type::Ud } else { case.to };
    let mask = u64::MAX >> (64 - 8 * u32::from(result.bytes()));
    let inputs: Vec<[u64; 3]> = first
        .iter()
        .enumerate()
        .map(|(at, a)| {
            let b = if at % 5 == 0 { *a } else { second[(at * 7 + at / 16) % second.len()] };
            [*a, b, (at as u64).wrapping_mul(0x0123_4567_89ab_cdef) & mask]
        })
        .collect();
    for lanes in inputs.chunks(16) {
        let mut registers = [[0_u8; 32]; 128];
        let flat = registers.as_flattened_mut();
        for (lane, input) in lanes.iter().enumerate() {
            for (place, (register, kind)) in SOURCES.iter().zip([case.from, case.from, result]).enumerate() {
                let step = lane_bytes(kind) as usize;
                let at = usize::from(*register) * 32 + lane * step;
                let bytes = input[place].to_le_bytes();
                flat[at..at + usize::from(kind.bytes())].copy_from_slice(&bytes[..usize::from(kind.bytes())]);
            }
        }
        for lane in 0..16 {
            let at = usize::from(OFFSETS) * 32 + lane * 4;
            flat[at..at + 4].copy_from_slice(&(lane as u32 * 4).to_le_bytes());
        }
        let mut thread = Thread::new(&run.shader, 0xffff, &registers);
        for register in ALLOCATED {
            thread.undefine(register, 0..32);
        }
        let mut written = Written([[None; 16]; 2]);
        if let Err(stop) = thread.run(STEPS, &mut written) {
            let (_, one) =
                encodings(&run.bytes).find(|(at, _)| *at == stop.at as usize).expect("an instruction");
            let one = one.expect("an instruction").decode(run.platform).expect("an instruction");
            panic!("{} {case:?}: {}: {stop}", run.platform, text::print(run.platform, &one));
        }
        for (lane, input) in lanes.iter().enumerate() {
            let [low, high] = written.0.map(|lanes| lanes[lane].map(u64::from));
            let bits = low.expect("a result") | high.unwrap_or(0) << 32;
            found.push((*input, canonical(result, bits)));
        }
    }
    found
}
