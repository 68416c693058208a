//! A builder of instructions.

use intel_eu::{
    Condition, Descriptor, Destination, File, Instruction, Message, Opcode, Pattern, Place, Predicate,
    Region, Source, Systolic, Type,
};

/// The accumulator.
pub const ACCUMULATOR: Place = Place::Direct { file: File::Architecture, number: 0x20, offset: 0 };
/// The flag register.
pub const FLAGS: Place = Place::Direct { file: File::Architecture, number: 0x30, offset: 0 };
/// An address in a0.0, and a byte.
pub const INDIRECT: Place = Place::Indirect { register: 0, offset: 0 };
/// A predicate.
pub const PREDICATE: Option<Predicate> = Some(Predicate { pattern: Pattern::Normal, inverse: false });

/// A region: vertical stride, width, horizontal stride.
pub type Rows = (u8, u8, u8);

/// An instruction under construction: its destination is r10, its sources are r2, r4 and r6.
pub trait Build: Sized {
    fn to(self, kind: Type, stride: u8) -> Self;
    fn from(self, kind: Type, rows: Rows) -> Self;
    fn number(self, kind: Type) -> Self;
    fn align16(self) -> Self;
    fn with(self, change: impl FnOnce(&mut Instruction)) -> Self;
    fn place(&mut self, number: usize) -> &mut Place;
    fn kind(&mut self, number: usize) -> &mut Type;
    fn rows(&mut self, number: usize, rows: Rows);
    fn offset(&mut self, byte: u8);
    fn stride(&mut self, stride: u8);
    fn every_kind(&mut self, kind: Type);
    fn message(&mut self) -> &mut Message;
}

/// Starts an instruction.
pub fn op(opcode: Opcode, channels: u8) -> Instruction {
    Instruction { execution_size: channels, ..Instruction::new(opcode) }
}

/// Starts a comparison or a selection by a condition.
pub fn decide(opcode: Opcode, channels: u8) -> Instruction {
    op(opcode, channels).with(|i| i.condition = Some(Condition::Less))
}

/// Returns a message of a register with a header, and no answer.
pub fn send(opcode: Opcode, function: u8, control: u32) -> Instruction {
    let descriptor = Descriptor::Immediate(1 << 25 | 1 << 19 | control);
    let extended = Descriptor::Immediate(if opcode == Opcode::Sends { 1 << 6 } else { 0 });
    let payload = |number| Source::Register {
        place: Place::general(number),
        kind: Type::Ud,
        region: Region::Payload,
        absolute: false,
        negate: false,
    };
    let second = (opcode == Opcode::Sends).then(|| payload(4));
    op(opcode, 8).to(Type::Ud, 1).with(|i| {
        i.sources = [Some(payload(2)), second, None];
        i.message = Some(Message { function, descriptor, extended, end_of_thread: false });
    })
}

/// Returns a matrix operation: r10 is r2 and the product of r4 and r6.
pub fn matrices(to: Type, sources: [Type; 3], bits: [u8; 2]) -> Instruction {
    op(Opcode::Dpas, 8).to(to, 1).with(|i| {
        for (number, kind) in (0..).zip(sources) {
            let place = Place::general(2 + 2 * number);
            let region = Region::Payload;
            i.sources[usize::from(number)] =
                Some(Source::Register { place, kind, region, absolute: false, negate: false });
        }
        i.systolic = Some(Systolic { depth: 8, repeat: 8, bits });
    })
}

/// Reads or writes a part of a source in registers.
fn parts(source: &mut Option<Source>) -> (&mut Place, &mut Type, &mut Region) {
    match source {
        Some(Source::Register { place, kind, region, .. }) => (place, kind, region),
        other => panic!("{other:?} is in no register"),
    }
}

impl Build for Instruction {
    fn to(mut self, kind: Type, stride: u8) -> Self {
        self.destination = Some(Destination { place: Place::general(10), kind, stride, mask: 0 });
        self
    }

    fn from(mut self, kind: Type, (vertical, width, horizontal): Rows) -> Self {
        let number = self.sources.iter().position(Option::is_none).expect("a source is free");
        let place = Place::general(2 + 2 * number as u8);
        let region = Region::Rows { vertical: Some(vertical), width, horizontal };
        self.sources[number] = Some(Source::Register { place, kind, region, absolute: false, negate: false });
        self
    }

    fn number(mut self, kind: Type) -> Self {
        let number = self.sources.iter().position(Option::is_none).expect("a source is free");
        self.sources[number] = Some(Source::Immediate { kind, bits: 0 });
        self
    }

    fn align16(mut self) -> Self {
        self.align16 = true;
        self.destination.as_mut().expect("it has a destination").mask = 0xf;
        for source in self.sources.iter_mut().filter(|source| source.is_some()) {
            *parts(source).2 = Region::Groups { vertical: Some(4), swizzle: 0xe4 };
        }
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Instruction)) -> Self {
        change(&mut self);
        self
    }

    fn place(&mut self, number: usize) -> &mut Place {
        parts(&mut self.sources[number]).0
    }

    fn kind(&mut self, number: usize) -> &mut Type {
        parts(&mut self.sources[number]).1
    }

    fn rows(&mut self, number: usize, (vertical, width, horizontal): Rows) {
        *parts(&mut self.sources[number]).2 = Region::Rows { vertical: Some(vertical), width, horizontal };
    }

    fn offset(&mut self, byte: u8) {
        let destination = self.destination.as_mut().expect("it has a destination");
        destination.place = Place::Direct { file: File::General, number: 10, offset: byte };
    }

    fn stride(&mut self, stride: u8) {
        self.destination.as_mut().expect("it has a destination").stride = stride;
    }

    fn every_kind(&mut self, all: Type) {
        self.destination.as_mut().expect("it has a destination").kind = all;
        for source in self.sources.iter_mut().filter(|source| source.is_some()) {
            *parts(source).1 = all;
        }
    }

    fn message(&mut self) -> &mut Message {
        self.message.as_mut().expect("it has a message")
    }
}
