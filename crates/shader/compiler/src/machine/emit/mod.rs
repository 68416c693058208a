//! Emission: the bytes of a platform's instructions.

mod allocate;

use std::collections::HashMap;

use intel_eu::{
    Descriptor, Destination, Encoding, Instruction, Opcode, Place, Platform, Region, Source, Type,
};

use crate::Error;
use crate::machine::encode::{self, Layout, no_payload};
use crate::machine::instr::{Function, Instr, Label, RegRef, Stmt, VReg};

/// Bytes of an instruction.
const BYTES: i32 = 16;
/// The register that a thread ends with.
const LAST: u8 = 112;

/// Returns the bytes of a shader.
///
/// # Errors
/// [`Error::Registers`], [`Error::Encoding`].
pub(crate) fn emit(function: &Function, platform: Platform) -> Result<Vec<u8>, Error> {
    let registers = allocate::allocate(function)?;
    let mut places = HashMap::new();
    let mut at = 0;
    for stmt in &function.stmts {
        match stmt {
            Stmt::Instr(instr) => at += if waits_for(instr, platform).is_some() { 2 * BYTES } else { BYTES },
            Stmt::Label(label) => drop(places.insert(*label, at)),
            Stmt::LoopBegin | Stmt::LoopEnd => {}
        }
    }
    let mut emission = Emission { platform, bytes: Vec::new(), registers: &registers, places: &places };
    for stmt in &function.stmts {
        if let Stmt::Instr(instr) = stmt {
            emission.instr(instr)?;
        }
    }
    for instruction in end(platform) {
        emission.add(&instruction)?;
    }
    Ok(emission.bytes)
}

/// Returns the scoreboard's code with which the end of an instruction is waited for, if the execution unit does not wait itself: the
/// registers that a message fills, or those that it has read.
fn waits_for(instr: &Instr, platform: Platform) -> Option<u8> {
    let is_apart = matches!(instr.opcode, Opcode::Send | Opcode::Math);
    let fills = instr.destination.is_some_and(|to| to.at != RegRef::Null);
    (is_apart && platform.graphics() >= 120).then_some(if fills { 0x20 } else { 0x30 })
}

/// Returns the scoreboard's code with which an instruction waits for the one before it, and those before that. One that ends at any
/// time has token 0.
fn scoreboard(opcode: Opcode, platform: Platform) -> u8 {
    match (opcode, platform.graphics()) {
        (_, ..120) => 0,
        (Opcode::Send | Opcode::Math, _) => 0x90,
        (_, 120) => 0x01,
        (_, _) => 0x09,
    }
}

struct Emission<'a> {
    platform: Platform,
    bytes: Vec<u8>,
    registers: &'a HashMap<VReg, u8>,
    places: &'a HashMap<Label, i32>,
}

impl Layout for Emission<'_> {
    fn register(&self, vreg: VReg) -> u8 {
        self.registers.get(&vreg).copied().unwrap_or(LAST)
    }

    fn distance(&self, label: Label) -> i32 {
        let at = self.bytes.len() as i32;
        self.places.get(&label).copied().unwrap_or(at) - at
    }
}

impl Emission<'_> {
    fn add(&mut self, instruction: &Instruction) -> Result<(), Error> {
        let encoding = Encoding::of(self.platform, instruction);
        let encoding = encoding.map_err(|why| Error::Encoding { why: why.to_string() })?;
        self.bytes.extend(encoding.to_bytes());
        Ok(())
    }

    fn instr(&mut self, instr: &Instr) -> Result<(), Error> {
        let mut instruction = encode::instruction(self.platform, instr, self);
        instruction.order.scoreboard = scoreboard(instr.opcode, self.platform);
        self.add(&instruction)?;
        match waits_for(instr, self.platform) {
            Some(scoreboard) => self.add(&sync(scoreboard)),
            None => Ok(()),
        }
    }
}

/// Returns the instruction that only waits.
fn sync(scoreboard: u8) -> Instruction {
    let mut sync = Instruction::new(Opcode::Sync);
    sync.order.scoreboard = scoreboard;
    let (place, kind) = (Place::NULL, Type::Ub);
    sync.destination = Some(Destination { place, kind, stride: 1, mask: 0 });
    let region = Region::Rows { vertical: Some(0), width: 1, horizontal: 0 };
    sync.sources[0] = Some(Source::Register { place, kind, region, absolute: false, negate: false });
    sync
}

/// Returns the instructions that end a thread.
fn end(platform: Platform) -> [Instruction; 2] {
    let dwords = Region::Rows { vertical: Some(8), width: 8, horizontal: 1 };
    let register = |number, region| {
        let (place, kind) = (Place::general(number), Type::Ud);
        Source::Register { place, kind, region, absolute: false, negate: false }
    };
    let mut copy = Instruction::new(Opcode::Mov);
    (copy.execution_size, copy.no_mask) = (8, true);
    copy.destination = Some(Destination { place: Place::general(LAST), kind: Type::Ud, stride: 1, mask: 0 });
    copy.sources[0] = Some(register(0, dwords));
    let mut send = Instruction::new(Opcode::Send);
    (send.execution_size, send.no_mask) = (8, true);
    send.destination = Some(Destination::default());
    send.sources[0] = Some(register(LAST, Region::Payload));
    if platform.graphics() >= 120 {
        send.sources[1] = Some(no_payload());
        let waits = scoreboard(Opcode::Mov, platform);
        (copy.order.scoreboard, send.order.scoreboard) = (waits, waits);
    }
    let (function, descriptor) = if platform.graphics() >= 125 { (3, 0x0200_0000) } else { (7, 0x0200_0010) };
    send.message = Some(intel_eu::Message {
        function,
        descriptor: Descriptor::Immediate(descriptor),
        extended: Descriptor::Immediate(0),
        end_of_thread: true,
    });
    [copy, send]
}
