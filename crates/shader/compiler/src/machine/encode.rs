//! Drafts as instructions of a platform, given numbers of registers and places of labels.

use intel_eu::{
    Descriptor, Destination, File, Instruction, Opcode, Place, Platform, Predicate, Region, Source, Type,
};

use crate::machine::draft::{At, Draft, Elements, Home, Label, Operand, REGISTER_BYTES};

/// The number of the flag register among architecture registers.
const FLAGS: u8 = 0x30;
/// The thread control by which a thread gives way.
const SWITCH: u8 = 2;

/// The registers and places that a draft leaves open.
pub(crate) trait Layout {
    /// Returns the first register of a home.
    fn register(&self, home: Home) -> u8;
    /// Returns the bytes from the instruction to a label.
    fn distance(&self, label: Label) -> i32;
}

/// A layout in which only the places in registers are right: enough for the rules of operands.
pub(crate) struct Nominal;

impl Layout for Nominal {
    fn register(&self, _: Home) -> u8 {
        64
    }

    fn distance(&self, _: Label) -> i32 {
        0
    }
}

/// Returns the instruction of a draft. It waits for nothing.
pub(crate) fn instruction(platform: Platform, draft: &Draft, layout: &impl Layout) -> Instruction {
    let mut found = Instruction::new(draft.opcode);
    found.execution_size = draft.lanes;
    found.channel_offset = draft.first;
    found.no_mask = draft.no_mask;
    found.predicate =
        draft.predicate.map(|predicate| Predicate { pattern: predicate.pattern, inverse: predicate.inverse });
    found.condition = draft.condition;
    found.flag = if draft.predicate.is_some() || draft.condition.is_some() { draft.flag } else { 0 };
    found.saturate = draft.saturate;
    found.function = draft.function;
    let is_null = draft.destination.is_some_and(|to| to.at == At::Null);
    if draft.opcode == Opcode::Cmp && is_null && platform.graphics() < 80 {
        // A comparison without a destination has to switch (Ivy Bridge's and Haswell's manuals, "cmp").
        found.order.thread = SWITCH;
    }
    if let Some(to) = draft.destination {
        let place = place(to.at, layout);
        found.destination = Some(Destination { place, kind: to.kind, stride: to.stride, mask: 0 });
    }
    for (place, operand) in found.sources.iter_mut().zip(&draft.sources) {
        *place = Some(source(operand, layout));
    }
    if draft.targets.is_some() {
        branch(platform, draft, layout, &mut found);
    }
    if draft.message.is_some() {
        message(platform, draft, &mut found);
    }
    found
}

fn place(at: At, layout: &impl Layout) -> Place {
    match at {
        At::Home(home, byte) => {
            let (number, offset) = (byte / REGISTER_BYTES, byte % REGISTER_BYTES);
            let number = layout.register(home) + number as u8;
            Place::Direct { file: File::General, number, offset: offset as u8 }
        }
        At::Fixed(number, offset) => Place::Direct { file: File::General, number, offset },
        At::Flag => Place::Direct { file: File::Architecture, number: FLAGS, offset: 0 },
        At::Null => Place::NULL,
    }
}

fn source(operand: &Operand, layout: &impl Layout) -> Source {
    match *operand {
        Operand::Of(Elements { at, kind, rows: [vertical, width, horizontal], negate, absolute }) => {
            let region = Region::Rows { vertical: Some(vertical), width, horizontal };
            Source::Register { place: place(at, layout), kind, region, absolute, negate }
        }
        Operand::Number { kind, bits } => {
            let bits = if kind.bytes() == 2 { (bits & 0xffff) * 0x1_0001 } else { bits };
            Source::Immediate { kind, bits }
        }
    }
}

/// Sets the distances of a branch.
fn branch(platform: Platform, draft: &Draft, layout: &impl Layout, found: &mut Instruction) {
    let Some((block, lanes)) = draft.targets else { return };
    found.destination = (platform.graphics() < 120).then(Destination::default);
    let unit = if platform.graphics() < 80 { 8 } else { 1 };
    let has_one = matches!(draft.opcode, Opcode::Endif | Opcode::While)
        || draft.opcode == Opcode::Else && platform.graphics() < 80;
    found.jip = Some(layout.distance(block) / unit);
    found.uip = (!has_one).then(|| layout.distance(lanes) / unit);
}

/// Sets the descriptor and the payload of a message.
fn message(platform: Platform, draft: &Draft, found: &mut Instruction) {
    let Some(message) = draft.message else { return };
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
