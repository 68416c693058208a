//! Instructions at random.

use intel_eu::{
    Condition, Descriptor, Destination, File, Form, Instruction, Message, Opcode, Pattern, Place, Platform,
    Predicate, Region, Source, Systolic, Type,
};

/// Shared functions, and numbers of registers near the limits of rules.
const FUNCTIONS: [u8; 6] = [6, 6, 10, 12, 13, 14];
const REGISTERS: [u8; 9] = [2, 3, 4, 5, 100, 111, 112, 126, 127];

/// Conditions, with those that a rule is about.
const CONDITIONS: [Condition; 4] =
    [Condition::Zero, Condition::Less, Condition::Overflow, Condition::Unordered];

/// The null register, the accumulator, a flag register.
const ARCHITECTURE: [u8; 3] = [0x00, 0x20, 0x30];

/// The numbers of xorshift64.
pub struct Random(u64);

impl Random {
    /// Starts at a number, which is not 0.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % limit
    }

    fn pick<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Returns an instruction of a platform, which has what its form asks for; its operands often fit together.
    pub fn instruction(&mut self, platform: Platform) -> Instruction {
        let opcodes: Vec<Opcode> = Opcode::of(platform).collect();
        let opcode = match self.below(16) {
            0 => Opcode::Illegal,
            1 => self.pick(&[
                Opcode::Mac,
                Opcode::Csel,
                Opcode::Math,
                Opcode::Dp4a,
                Opcode::Add3,
                Opcode::Dpas,
            ]),
            2 | 3 => Opcode::Mov,
            4 | 5 => Opcode::Send,
            6 => Opcode::Sends,
            _ => self.pick(&opcodes),
        };
        let form = opcode.form(platform);
        let mut i = Instruction {
            execution_size: self.pick(&[1, 1, 2, 4, 8, 8, 16, 32]),
            saturate: self.one_in(6),
            ..Instruction::new(opcode)
        };
        if self.one_in(4) {
            i.channel_offset = self.pick(&[4, 8, 16]);
        }
        i.align16 = platform.graphics() < 110 && self.one_in(if form == Form::Three { 2 } else { 4 });
        i.accumulator_write = self.one_in(12) && platform.graphics() < 120;
        if opcode == Opcode::Math {
            i.function = self.pick(&[1, 4, 10, 11, 12, 13]);
        }
        if platform.graphics() < 120 {
            i.order.no_clear = self.one_in(12);
            i.order.no_check = self.one_in(12);
            i.order.thread = self.pick(&[0, 0, 2]);
        }
        if opcode != Opcode::Math && self.one_in(3) {
            i.condition = Some(self.pick(&CONDITIONS));
        }
        if self.one_in(4) {
            i.predicate = Some(Predicate { pattern: Pattern::Normal, inverse: false });
        }
        let (sources, is_message) = match form {
            Form::Nothing | Form::Jump | Form::Jumps => return i,
            Form::Systolic => return self.matrices(i),
            Form::Basic(sources) => (sources, false),
            Form::Three => (3, false),
            Form::Send => (1, true),
            Form::SplitSend => (2, true),
        };
        self.operands(&mut i, form, sources);
        if is_message {
            (i.align16, i.condition, i.saturate, i.accumulator_write) = (false, None, false, false);
            let extended = if form == Form::SplitSend { self.extended() } else { Descriptor::Immediate(0) };
            let (function, descriptor) = (self.pick(&FUNCTIONS), self.descriptor());
            i.message = Some(Message { function, descriptor, extended, end_of_thread: self.one_in(4) });
        }
        i
    }

    fn operands(&mut self, i: &mut Instruction, form: Form, sources: u8) {
        let is_message = matches!(form, Form::Send | Form::SplitSend);
        let types: Vec<Type> = Type::all().collect();
        let base = [self.pick(&types), self.pick(&types)];
        let all_alike = form == Form::Three && (i.align16 || self.one_in(2));
        let kind = |random: &mut Self| if all_alike { base[0] } else { random.kind(base, &types) };
        let strides: &[u8] = match form {
            _ if is_message || i.align16 => &[1],
            Form::Three => &[1, 1, 2],
            _ => &[0, 1, 1, 1, 2, 4],
        };
        let stride = self.pick(strides);
        let mask = if i.align16 { 0xf } else { 0 };
        i.destination = Some(Destination { place: self.place(10, form), kind: kind(self), stride, mask });
        for number in 0..sources {
            let kind = kind(self);
            let source = &mut i.sources[usize::from(number)];
            // An immediate is the last source, or the first or last one of three.
            let is_last = number + 1 == sources;
            let can_be_immediate = match form {
                Form::Basic(_) => is_last,
                Form::Three => !i.align16 && (is_last || number == 0),
                _ => false,
            };
            *source = Some(match self.below(6) {
                0 if can_be_immediate => Source::Immediate { kind, bits: 0 },
                _ => self.register(2 + 2 * number, kind, form, i.execution_size, i.align16),
            });
        }
        if self.one_in(50) {
            i.sources[0] = None;
        }
    }

    /// Adds the operands of a matrix operation, which has neither a result's controls nor a predicate.
    fn matrices(&mut self, i: Instruction) -> Instruction {
        let (sums, factors): (&[Type], &[Type]) = if self.one_in(2) {
            (&[Type::F, Type::F, Type::F, Type::Hf], &[Type::Hf, Type::Hf, Type::Bf])
        } else {
            (&[Type::D, Type::D, Type::D, Type::Ud], &[Type::B, Type::Ub])
        };
        let is_float = sums[0] == Type::F;
        let bits = [(); 2].map(|()| if is_float { 16 } else { self.pick(&[8, 8, 4, 2]) });
        let systolic = Systolic { depth: self.pick(&[8, 8, 8, 4, 1]), repeat: 8, bits };
        let mut i = Instruction { execution_size: i.execution_size, ..Instruction::new(i.opcode) };
        let mut place = |number| {
            let offset = self.pick(&[0, 0, 0, 8, 16]);
            Place::Direct { file: File::General, number, offset }
        };
        let places = [10, 2, 4, 6].map(&mut place);
        let kinds = [sums, sums, factors, factors].map(|some| self.pick(some));
        i.destination = Some(Destination { place: places[0], kind: kinds[0], stride: 1, mask: 0 });
        for (source, (place, kind)) in i.sources.iter_mut().zip(places.into_iter().zip(kinds).skip(1)) {
            let region = Region::Payload;
            *source = Some(Source::Register { place, kind, region, absolute: false, negate: false });
        }
        i.systolic = Some(systolic);
        i
    }

    fn kind(&mut self, base: [Type; 2], types: &[Type]) -> Type {
        match self.below(4) {
            0 => base[1],
            1 => self.pick(types),
            _ => base[0],
        }
    }

    fn place(&mut self, number: u8, form: Form) -> Place {
        let offset = self.pick(&[0, 0, 0, 1, 2, 4, 8, 15, 16, 17, 24, 28, 31]);
        let is_basic = matches!(form, Form::Basic(_));
        let offset = if is_basic { offset } else { offset & 0x10 };
        match self.below(12) {
            0 if form != Form::Three => Place::Indirect { register: 0, offset: 0 },
            1 | 2 => Place::Direct { file: File::Architecture, number: self.pick(&ARCHITECTURE), offset },
            4 => Place::general(self.pick(&REGISTERS)),
            _ if matches!(form, Form::Send | Form::SplitSend) => Place::general(self.pick(&REGISTERS)),
            _ => Place::Direct { file: File::General, number, offset },
        }
    }

    fn register(&mut self, number: u8, kind: Type, form: Form, channels: u8, align16: bool) -> Source {
        let is_message = matches!(form, Form::Send | Form::SplitSend);
        Source::Register {
            place: self.place(number, form),
            kind,
            region: if is_message { Region::Payload } else { self.region(channels, align16) },
            absolute: !is_message && self.one_in(8),
            negate: !is_message && self.one_in(8),
        }
    }

    fn region(&mut self, channels: u8, align16: bool) -> Region {
        if align16 {
            let vertical = self.pick(&[Some(0), Some(2), Some(4), Some(4), Some(8), None]);
            return Region::Groups { vertical, swizzle: 0xe4 };
        }
        let width = self.pick(&[1, 2, 4, 8, 16]);
        let (vertical, width, horizontal) = match self.below(8) {
            0 => (Some(0), 1, 0),
            1 => (Some(1), 1, 0),
            2 => (Some(2 * width), width, 2),
            3 => (None, self.pick(&[1, width]), self.pick(&[0, 1])),
            4 | 5 => (Some(channels), channels.min(16), 1),
            _ => (Some(self.pick(&[0, 1, 2, 4, 8, 16])), width, self.pick(&[0, 1, 2, 4])),
        };
        Region::Rows { vertical, width, horizontal }
    }

    fn descriptor(&mut self) -> Descriptor {
        if self.one_in(6) {
            return Descriptor::Register(0);
        }
        let (sent, received) = (self.below(5) as u32, self.pick(&[0, 1, 2, 31]));
        Descriptor::Immediate(
            sent << 25 | received << 20 | (self.below(2) as u32) << 19 | self.below(64) as u32,
        )
    }

    fn extended(&mut self) -> Descriptor {
        Descriptor::Immediate((self.below(4) as u32) << 6)
    }
}
