//! Encoding: machine instructions as those of a platform, given numbers of registers and places of labels.

use intel_eu::{
    Descriptor, Destination, File, Instruction, Opcode, Place, Platform, Predicate, Region, Source, Type,
};

use crate::machine::instr::{Instr, Label, Operand, REGISTER_BYTES, RegRef, RegRegion, VReg};

/// The number of the flag register among architecture registers.
const FLAGS: u8 = 0x30;
/// The thread control by which a thread gives way.
const SWITCH: u8 = 2;

/// The registers and places that an instruction leaves open.
pub(crate) trait Layout {
    /// Returns the first register of a virtual register.
    fn register(&self, vreg: VReg) -> u8;
    /// Returns the bytes from the instruction to a label.
    fn distance(&self, label: Label) -> i32;
}

/// A layout in which only the places in registers are right: enough for the rules of operands.
pub(crate) struct Nominal;

impl Layout for Nominal {
    fn register(&self, _: VReg) -> u8 {
        64
    }

    fn distance(&self, _: Label) -> i32 {
        0
    }
}

/// Returns an instruction as the platform has it. It waits for nothing.
pub(crate) fn instruction(platform: Platform, instr: &Instr, layout: &impl Layout) -> Instruction {
    let mut found = Instruction::new(instr.opcode);
    found.execution_size = instr.lanes;
    found.channel_offset = instr.first;
    found.no_mask = instr.no_mask;
    found.predicate =
        instr.predicate.map(|predicate| Predicate { pattern: predicate.pattern, inverse: predicate.inverse });
    found.condition = instr.condition;
    found.flag = if instr.predicate.is_some() || instr.condition.is_some() { instr.flag } else { 0 };
    found.saturate = instr.saturate;
    found.function = instr.function;
    let is_null = instr.destination.is_some_and(|to| to.at == RegRef::Null);
    if instr.opcode == Opcode::Cmp && is_null && platform.graphics() < 80 {
        // A comparison without a destination has to switch (Ivy Bridge's and Haswell's manuals, "cmp").
        found.order.thread = SWITCH;
    }
    if let Some(to) = instr.destination {
        let place = place(to.at, layout);
        found.destination = Some(Destination { place, kind: to.kind, stride: to.stride, mask: 0 });
    }
    for (place, operand) in found.sources.iter_mut().zip(&instr.sources) {
        *place = Some(source(operand, layout));
    }
    if instr.targets.is_some() {
        branch(platform, instr, layout, &mut found);
    }
    if instr.message.is_some() {
        message(platform, instr, &mut found);
    }
    found
}

fn place(at: RegRef, layout: &impl Layout) -> Place {
    match at {
        RegRef::VReg(vreg, byte) => {
            let (number, offset) = (byte / REGISTER_BYTES, byte % REGISTER_BYTES);
            let number = layout.register(vreg) + number as u8;
            Place::Direct { file: File::General, number, offset: offset as u8 }
        }
        RegRef::Fixed(number, offset) => Place::Direct { file: File::General, number, offset },
        RegRef::Flag => Place::Direct { file: File::Architecture, number: FLAGS, offset: 0 },
        RegRef::Null => Place::NULL,
    }
}

fn source(operand: &Operand, layout: &impl Layout) -> Source {
    match *operand {
        Operand::Reg(RegRegion { at, kind, rows: [vertical, width, horizontal], negate, absolute }) => {
            let region = Region::Rows { vertical: Some(vertical), width, horizontal };
            Source::Register { place: place(at, layout), kind, region, absolute, negate }
        }
        Operand::Imm { kind, bits } => {
            let bits = if kind.bytes() == 2 { (bits & 0xffff) * 0x1_0001 } else { bits };
            Source::Immediate { kind, bits }
        }
    }
}

/// Sets the distances of a branch.
fn branch(platform: Platform, instr: &Instr, layout: &impl Layout, found: &mut Instruction) {
    let Some((block, lanes)) = instr.targets else { return };
    found.destination = (platform.graphics() < 120).then(Destination::default);
    let unit = if platform.graphics() < 80 { 8 } else { 1 };
    let has_one = matches!(instr.opcode, Opcode::Endif | Opcode::While)
        || instr.opcode == Opcode::Else && platform.graphics() < 80;
    found.jip = Some(layout.distance(block) / unit);
    found.uip = (!has_one).then(|| layout.distance(lanes) / unit);
}

/// Sets the descriptor and the payload of a message.
fn message(platform: Platform, instr: &Instr, found: &mut Instruction) {
    let Some(message) = instr.message else { return };
    let descriptor = message.descriptor | message.sent << 25 | message.received << 20;
    found.message = Some(intel_eu::Message {
        function: message.function,
        descriptor: Descriptor::Immediate(descriptor),
        extended: Descriptor::Immediate(0),
        end_of_thread: false,
    });
    if let Some(Some(Source::Register { region, .. })) = found.sources.first_mut() {
        *region = Region::Payload;
    }
    if platform.graphics() >= 120 {
        found.sources[1] = Some(no_payload());
        found.destination = found.destination.map(|to| Destination { kind: Type::Ud, ..to });
    }
}

/// Returns a payload that is not sent.
pub(crate) fn no_payload() -> Source {
    let (place, kind, region) = (Place::NULL, Type::Ud, Region::Payload);
    Source::Register { place, kind, region, absolute: false, negate: false }
}
