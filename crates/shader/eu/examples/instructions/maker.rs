//! Makes an instruction of an opcode, with operands at random.

use intel_eu::{
    Base, Condition, Descriptor, Destination, File, Form, Instruction, Message, Opcode, Place, Platform,
    Predicate, Region, Source, Type,
};

use crate::random::Random;
use crate::table::{
    ACCUMULATORS, ALLOCATES, ARCHITECTURE, CONDITIONS, MACROS, MATH, NO_CONDITION, NO_MODIFIER, NO_PREDICATE,
    NO_SATURATE, PATTERNS, PLAIN_MATH, TYPES, VECTORS,
};

/// Makes instructions of a platform.
pub struct Maker {
    pub platform: Platform,
    pub random: Random,
}

impl Maker {
    pub fn instruction(&mut self, opcode: Opcode) -> Instruction {
        let mut i = Instruction::new(opcode);
        let form = opcode.form(self.platform);
        if form == Form::Nothing {
            return i;
        }
        i.execution_size = self.random.pick(&[1, 2, 4, 8, 8, 16, 16, 32]);
        let groups = 32 / usize::from(i.execution_size.max(4));
        i.channel_offset = self.random.below(groups) as u8 * i.execution_size.max(4);
        i.no_mask = self.random.rarely(2);
        if !NO_PREDICATE.contains(&opcode) && self.random.rarely(3) {
            let is_align16 = form == Form::Three && self.platform.graphics() < 110;
            let patterns = if is_align16 { &PATTERNS[..1] } else { &PATTERNS[..] };
            let pattern = self.random.pick(patterns);
            i.predicate = Some(Predicate { pattern, inverse: self.random.rarely(2) });
            i.flag = self.random.below(4) as u8;
        }
        match form {
            _ if self.fixed(&mut i) => {}
            Form::Nothing => {}
            Form::Basic(sources) => self.basic(&mut i, sources),
            Form::Three => self.three(&mut i),
            Form::Systolic => self.systolic(&mut i),
            Form::Jump | Form::Jumps => self.branch(&mut i, form),
            Form::Send => self.send(&mut i, 1),
            Form::SplitSend => self.send(&mut i, 2),
        }
        self.order(&mut i);
        i
    }

    /// Makes an instruction of whose operands only some are free, if it is one.
    fn fixed(&mut self, i: &mut Instruction) -> bool {
        match (i.opcode, self.platform.graphics()) {
            (Opcode::Jmpi, _) => self.jmpi(i),
            (Opcode::Wait, _) => {
                (i.execution_size, i.channel_offset) = (1, 0);
                let place = architecture(0x90);
                i.destination = Some(Destination { place, ..Destination::default() });
                i.sources[0] = Some(scalar(place, Type::Ud));
            }
            (Opcode::Ret, _) => self.ret(i),
            (Opcode::Sync, _) => {
                (i.execution_size, i.channel_offset) = (1, 0);
                i.function = self.random.pick(&[0, 2, 3, 14, 15]);
                i.destination = Some(Destination { kind: Type::Ub, ..Destination::default() });
                i.sources[0] = Some(if matches!(i.function, 2 | 3) && self.random.rarely(2) {
                    Source::Immediate { kind: Type::Ud, bits: self.random.below(1 << 16) as u64 }
                } else {
                    scalar(Place::NULL, Type::Ub)
                });
            }
            (Opcode::Movi, 110..) => {
                let kind = self.kind();
                i.destination = Some(self.destination(kind, &[1, 2, 4]));
                let number = Source::Immediate { kind: Type::Ud, bits: self.random.below(16) as u64 };
                i.sources = [Some(self.register(i, kind)), Some(number), None];
            }
            _ => return false,
        }
        true
    }

    fn order(&mut self, i: &mut Instruction) {
        if self.platform.graphics() >= 120 {
            i.order.scoreboard = self.scoreboard(i.opcode);
            i.order.atomic = self.random.rarely(16);
        } else if matches!(i.opcode.form(self.platform), Form::Basic(_) | Form::Three) {
            i.order.no_clear = self.random.rarely(8);
            i.order.no_check = self.random.rarely(8);
            i.order.thread = self.random.pick(&[0, 0, 0, 0, 0, 1, 2]);
        }
        i.debug = self.random.rarely(16);
    }

    /// Returns no dependency, a distance, a token, or both.
    fn scoreboard(&mut self, opcode: Opcode) -> u8 {
        let token = self.random.below(16) as u8;
        let distance = self.random.below(7) as u8 + 1;
        match self.random.below(6) {
            0 => distance,
            1 => 0x20 | token,
            2 => 0x30 | token,
            3 if ALLOCATES.contains(&opcode) => 0x40 | token,
            4 => 0x80 | distance << 4 | token,
            _ => 0,
        }
    }

    fn condition(&mut self, i: &mut Instruction) {
        let is_needed = matches!(i.opcode, Opcode::Cmp | Opcode::Cmpn | Opcode::Csel);
        if is_needed || (!NO_CONDITION.contains(&i.opcode) && self.random.rarely(4)) {
            i.condition = Some(self.random.pick(&CONDITIONS));
            if i.predicate.is_none() {
                i.flag = self.random.below(4) as u8;
            }
        }
    }

    fn result(&mut self, i: &mut Instruction) {
        self.condition(i);
        i.saturate = !NO_SATURATE.contains(&i.opcode) && self.random.rarely(6);
        i.accumulator_write = self.random.rarely(12);
    }

    /// Returns whether a source is an absolute value, and whether it is negated.
    pub fn modifiers(&mut self, i: &Instruction) -> (bool, bool) {
        let is_plain = self.platform.graphics() < 80 || PLAIN_MATH.contains(&i.function);
        if NO_MODIFIER.contains(&i.opcode) || (i.opcode == Opcode::Math && is_plain) {
            return (false, false);
        }
        let is_logic = matches!(i.opcode, Opcode::Not | Opcode::And | Opcode::Or | Opcode::Xor);
        (!is_logic && self.random.rarely(8), self.random.rarely(8))
    }

    fn kind(&mut self) -> Type {
        self.random.pick(&TYPES)
    }

    fn basic(&mut self, i: &mut Instruction, sources: u8) {
        self.result(i);
        let mut sources = sources;
        if i.opcode == Opcode::Math {
            i.function = self.random.pick(&MATH);
            sources = if matches!(i.function, ..9 | 15) { 1 } else { 2 };
        }
        if MACROS.contains(&i.function) {
            self.macro_operands(i, sources.into());
            return;
        }
        let kind = self.kind();
        i.destination = Some(self.destination(kind, &[1, 1, 1, 2, 4]));
        let alike = self.random.rarely(2);
        for at in 0..usize::from(sources) {
            let kind = if alike { kind } else { self.kind() };
            let is_last = at + 1 == usize::from(sources);
            i.sources[at] = Some(if is_last && self.random.rarely(4) {
                self.immediate(kind)
            } else {
                self.register(i, kind)
            });
        }
    }

    /// Returns a general register's place for elements of some bytes.
    pub fn general(&mut self, bytes: u8) -> Place {
        let elements = usize::from(32 / bytes);
        let offset = if self.random.rarely(2) { 0 } else { self.random.below(elements) as u8 * bytes };
        Place::Direct { file: File::General, number: self.random.below(128) as u8, offset }
    }

    /// Returns a place of an operation with three sources, which is direct.
    fn three_place(&mut self, bytes: u8) -> Place {
        if self.random.rarely(8) {
            architecture(self.random.pick(&ARCHITECTURE))
        } else {
            self.general(bytes)
        }
    }

    fn place(&mut self, bytes: u8) -> Place {
        match self.random.below(16) {
            0 => {
                let register = self.random.below(16) as u8;
                Place::Indirect { register, offset: self.random.below(1024) as i16 - 512 }
            }
            1 => {
                let number = self.random.pick(&[0x10, 0x20, 0x21, 0x30, 0x31]);
                Place::Direct { file: File::Architecture, number, offset: 0 }
            }
            _ => self.general(bytes),
        }
    }

    fn destination(&mut self, kind: Type, strides: &[u8]) -> Destination {
        let place = if self.random.rarely(8) { Place::NULL } else { self.place(kind.bytes()) };
        Destination { place, kind, stride: self.random.pick(strides), mask: 0 }
    }

    fn register(&mut self, i: &Instruction, kind: Type) -> Source {
        let execution_size = i.execution_size;
        // The sources of `math` are direct.
        let is_math = i.opcode == Opcode::Math;
        let place = if is_math { self.general(kind.bytes()) } else { self.place(kind.bytes()) };
        let fitting: Vec<u8> =
            [1, 2, 4, 8, 16].into_iter().filter(|width| *width <= execution_size).collect();
        let width = self.random.pick(&fitting);
        let horizontal = if width == 1 { 0 } else { self.random.pick(&[0, 1, 1, 2, 4]) };
        let has_addresses = matches!(place, Place::Indirect { .. }) && self.random.rarely(2);
        let vertical = if has_addresses {
            None
        } else if width == execution_size {
            Some((width * horizontal).min(32))
        } else {
            Some(self.random.pick(&[0, 1, 2, 4, 8, 16, 32]))
        };
        let region = Region::Rows { vertical, width, horizontal };
        let (absolute, negate) = self.modifiers(i);
        Source::Register { place, kind, region, absolute, negate }
    }

    pub fn immediate(&mut self, kind: Type) -> Source {
        let kind = if self.random.rarely(4) { self.random.pick(&VECTORS) } else { kind };
        let small = self.random.below(100) as u64;
        let bits = match (kind.base(), kind.bytes()) {
            (Base::Float, 4) if kind == Type::F && self.random.rarely(2) => {
                u64::from((small as f32).to_bits())
            }
            (_, 8) => self.random.bits(),
            (_, 4) => self.random.bits() >> 32,
            _ => (self.random.bits() >> 48) * 0x1_0001,
        };
        Source::Immediate { kind, bits }
    }

    fn three(&mut self, i: &mut Instruction) {
        if i.opcode != Opcode::Madm || self.platform.graphics() < 120 {
            self.result(i);
        }
        if i.opcode == Opcode::Madm {
            self.macro_operands(i, 3);
            return;
        }
        if i.opcode == Opcode::Bfn {
            i.function = self.random.below(256) as u8;
            if self.random.rarely(4) {
                i.condition = Some(self.random.pick(&[Condition::Zero, Condition::Greater, Condition::Less]));
            }
        }
        i.align16 = self.platform.graphics() < 110;
        let kind = self.kind();
        let place = if i.align16 { self.general(8) } else { self.three_place(8) };
        if i.align16 {
            i.destination = Some(Destination { place, kind, stride: 1, mask: 15 });
        } else {
            i.destination = Some(Destination { place, kind, stride: self.random.pick(&[1, 2]), mask: 0 });
        }
        let alike = self.random.rarely(2);
        let has_native = !i.align16 && kind.base() == Base::Float && self.random.rarely(4);
        for at in 0..3 {
            let is_native = has_native && at == 0;
            let kind = match (is_native, alike) {
                (true, _) => Type::Nf,
                (false, true) => kind,
                (false, false) => self.kind(),
            };
            let region = if i.align16 {
                let (vertical, swizzle) = if kind == Type::Df {
                    (4, self.random.pick(&[0x44, 0xe4, 0xee]))
                } else {
                    (self.random.pick(&[0, 4]), 0xe4)
                };
                Region::Groups { vertical: Some(vertical), swizzle }
            } else {
                let horizontal = self.random.pick(&[0, 1, 2, 4]);
                let vertical = if at == 2 { horizontal } else { self.random.pick(&[0, 1, 2, 4, 8]) };
                Region::of_three(vertical, horizontal)
            };
            let (absolute, negate) = self.modifiers(i);
            let place = match region {
                // Of a pair.
                Region::Groups { swizzle: 0x44 | 0xee, .. } => self.general(16),
                Region::Groups { .. } => self.general(kind.bytes().max(4)),
                Region::Rows { .. } if is_native => architecture(self.random.pick(&ACCUMULATORS)),
                Region::Rows { .. } | Region::Payload => self.three_place(kind.bytes()),
            };
            // Beside one of 64 bits, the assembler leaves out the condition. It prints one of 8 bits as a character, and fewer digits of a
            // small float.
            let is_printed = kind.bytes() == 2 || matches!(kind, Type::D | Type::Ud);
            let has_immediate = !i.align16 && at != 1 && !is_native && is_printed;
            i.sources[at] = Some(if has_immediate && self.random.rarely(4) {
                // Of 16 bits; others are refused.
                let bits = self.random.bits() >> 48;
                let is_long = kind.bytes() > 2;
                Source::Immediate { kind, bits: if is_long { bits >> 1 } else { bits } }
            } else {
                Source::Register { place, kind, region, absolute, negate }
            });
        }
    }

    fn send(&mut self, i: &mut Instruction, payloads: usize) {
        let twelve = self.platform.graphics() >= 120;
        let split = payloads == 2;
        let payload = |number: u8, kind| Source::Register {
            place: Place::general(number),
            kind,
            region: Region::Payload,
            absolute: false,
            negate: false,
        };
        // With half floats the assembler sets a bit of the descriptor.
        let mut kind = self.kind();
        if twelve || split || kind == Type::Hf {
            kind = Type::Ud;
        }
        let number = self.random.below(120) as u8;
        let place = if self.random.rarely(3) { Place::NULL } else { Place::general(number) };
        i.destination = Some(Destination {
            place,
            kind: if split && !twelve { Type::Uw } else { kind },
            ..Destination::default()
        });
        for at in 0..payloads {
            i.sources[at] = Some(payload(112 + self.random.below(12) as u8, kind));
        }
        let descriptor = if self.random.rarely(6) {
            Descriptor::Register(0)
        } else {
            Descriptor::Immediate(self.random.below(1 << 29) as u32)
        };
        let extended = match split {
            true if self.random.rarely(6) => Descriptor::Register(self.random.below(8) as u8 * 2),
            true => Descriptor::Immediate((self.random.below(4) << 16 | self.random.below(16) << 6) as u32),
            false => Descriptor::Immediate(0),
        };
        // Before graphics 12, the register of an extended descriptor has the function, too.
        let has_function = twelve || matches!(extended, Descriptor::Immediate(_));
        let function = if has_function { self.random.pick(&[2, 3, 4, 5, 6, 9, 10, 12]) } else { 0 };
        let end_of_thread = self.random.rarely(10);
        i.message = Some(Message { function, descriptor, extended, end_of_thread });
    }
}

/// Returns an architecture register.
pub fn architecture(number: u8) -> Place {
    Place::Direct { file: File::Architecture, number, offset: 0 }
}

/// Returns a source of one element.
pub fn scalar(place: Place, kind: Type) -> Source {
    let region = Region::Rows { vertical: Some(0), width: 1, horizontal: 0 };
    Source::Register { place, kind, region, absolute: false, negate: false }
}
