//! An instruction as text.

use super::{FIRST_LONG, SECOND_LONG, STRAIGHT, accumulator, branch, name, number, scoreboard, systolic};
use crate::{
    Descriptor, Destination, File, Form, Instruction, Message, Opcode, Place, Platform, Region, Source, Type,
};

/// Returns the text of an instruction, which `iga64` of the platform takes.
///
/// Words have one space between them; distances of branches are in bytes, from the instruction on. Bits that the syntax
/// has no words for are left out: [`Instruction::ignored`], a flag register that is not used, and subregisters between
/// elements.
#[must_use]
pub fn print(platform: Platform, instruction: &Instruction) -> String {
    let printer = Printer { platform, i: instruction };
    let words = [vec![printer.predicate(), printer.mnemonic()], printer.operands(), vec![printer.options()]];
    let words: Vec<String> = words.concat().into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

struct Printer<'i> {
    platform: Platform,
    i: &'i Instruction,
}

impl Printer<'_> {
    fn flag(&self) -> String {
        format!("f{}.{}", self.i.flag >> 1, self.i.flag & 1)
    }

    fn predicate(&self) -> String {
        let flag = self.i.predicate.map(|predicate| {
            let pattern = predicate.pattern.name();
            let dot = if pattern.is_empty() { "" } else { "." };
            format!("{}{}{dot}{pattern}", if predicate.inverse { "~" } else { "" }, self.flag())
        });
        match (self.i.no_mask, flag) {
            (false, None) => String::new(),
            (true, None) => "(W)".to_owned(),
            (false, Some(flag)) => format!("({flag})"),
            (true, Some(flag)) => format!("(W&{flag})"),
        }
    }

    fn mnemonic(&self) -> String {
        let function = self.i.message.map_or(self.i.function, |message| message.function);
        let suffix = match name::functions(self.platform, self.i.opcode) {
            Some(names) => name::function(names, function),
            None if self.has_branch_control() => "b".to_owned(),
            None if self.i.opcode == Opcode::Bfn => format!("0x{function:02X}"),
            None => self.i.systolic.map_or(String::new(), systolic::shape),
        };
        let dot = if suffix.is_empty() { "" } else { "." };
        format!("{}{dot}{suffix}", self.i.opcode)
    }

    fn form(&self) -> Form {
        self.i.opcode.form(self.platform)
    }

    /// Returns whether the bit for the accumulator means something else.
    fn has_branch_control(&self) -> bool {
        branch::is_jump(self.platform, self.i.opcode) && self.i.accumulator_write
    }

    fn operands(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.form() == Form::Nothing {
            return words;
        }
        if !matches!(self.i.opcode, Opcode::Jmpi | Opcode::Wait | Opcode::Sync) {
            words.push(format!("({}|M{})", self.i.execution_size, self.i.channel_offset));
        }
        words.extend(self.i.condition.map(|condition| format!("({}){}", condition.name(), self.flag())));
        if self.i.is_macro() && self.i.opcode == Opcode::Math {
            words.push(format!("({}){}", accumulator::EARLY_OUT, self.flag()));
        }
        if let Some(message) = self.i.message {
            words.extend(self.send(&message));
            return words;
        }
        if self.form() == Form::Systolic {
            words.extend(systolic::operands(self.i));
            return words;
        }
        words.extend(self.i.destination.and_then(|destination| self.destination(&destination)));
        words.extend(self.sources());
        words.extend(self.distances());
        words
    }

    /// Returns the destination, if it is not always the same one.
    fn destination(&self, destination: &Destination) -> Option<String> {
        let Destination { place, kind, stride, mask } = *destination;
        let opcode = self.i.opcode;
        if matches!(opcode, Opcode::Call | Opcode::Calla) {
            return Some(self.place(place, Type::D));
        }
        let is_jump = branch::is_jump(self.platform, opcode);
        if is_jump || matches!(opcode, Opcode::Jmpi | Opcode::Wait | Opcode::Sync | Opcode::Ret) {
            return None;
        }
        let saturate = if self.i.saturate { "(sat)" } else { "" };
        let elements: String = match mask {
            0xf if self.form() == Form::Three => String::new(),
            _ if !self.i.align16 => String::new(),
            _ => (0..4).filter(|at| mask >> at & 1 != 0).map(element).collect(),
        };
        let dot = if elements.is_empty() { "" } else { "." };
        let region = if self.i.is_macro() { String::new() } else { format!("<{stride}>{dot}{elements}") };
        Some(format!("{saturate}{}{region}:{kind}", self.place(place, kind)))
    }

    fn place(&self, place: Place, kind: Type) -> String {
        match place {
            Place::Direct { file: File::General, number, offset } => {
                format!("r{number}.{}", offset / name::unit(self.platform, File::General, number, kind))
            }
            Place::Direct { file: File::Architecture, number, offset } => {
                let name = name::architecture(self.platform, number);
                let unit = name::unit(self.platform, File::Architecture, number, kind);
                if matches!(&name[..], "null" | "ce" | "ip") && offset < unit {
                    name
                } else {
                    format!("{name}.{}", offset / unit)
                }
            }
            Place::Macro { number, accumulator } => format!("r{number}.{}", accumulator::name(accumulator)),
            Place::Indirect { register, offset: 0 } => format!("r[a0.{register}]"),
            Place::Indirect { register, offset } => format!("r[a0.{register},{offset}]"),
        }
    }

    fn sources(&self) -> Vec<String> {
        let sources = self.i.sources.iter().flatten().enumerate();
        match (self.i.opcode, self.i.sources) {
            // The first source is the instruction pointer.
            (Opcode::Jmpi, [_, Some(Source::Immediate { bits, .. }), _]) => {
                vec![self.bytes(bits as i32).to_string()]
            }
            (Opcode::Jmpi, [_, Some(Source::Register { place, kind, .. }), _]) => {
                vec![self.place(place, kind)]
            }
            (Opcode::Ret, [Some(Source::Register { place, .. }), ..]) => vec![self.place(place, Type::D)],
            (Opcode::Sync, [Some(Source::Register { .. }), ..]) => vec!["null".to_owned()],
            (Opcode::Sync, [Some(Source::Immediate { bits, .. }), ..]) => {
                let tokens: Vec<String> =
                    (0..32).filter(|at| bits >> at & 1 != 0).map(|at| format!("${at}")).collect();
                vec![format!("({})", tokens.join(","))]
            }
            // The mark of its distances is not written.
            (opcode, sources) if branch::is_jump(self.platform, opcode) => {
                let targets = sources.iter().flatten().filter_map(Source::place);
                targets.map(|place| self.place(place, Type::D)).collect()
            }
            _ => sources.map(|(at, source)| self.source(at, source)).collect(),
        }
    }

    /// Returns the bytes of a distance.
    fn bytes(&self, distance: i32) -> i64 {
        let (platform, opcode) = (self.platform, self.i.opcode);
        i64::from(distance) * opcode.distance_unit(platform) + opcode.distance_start(platform)
    }

    fn source(&self, at: usize, source: &Source) -> String {
        match *source {
            Source::Immediate { kind, bits } => format!("{}:{kind}", number::print(kind, bits)),
            Source::Register { place, kind, region, absolute, negate } => {
                let is_logic = matches!(self.i.opcode, Opcode::Not | Opcode::And | Opcode::Or | Opcode::Xor);
                let negation = match (negate, is_logic) {
                    (false, _) => "",
                    (true, false) => "-",
                    (true, true) => "~",
                };
                let absolute = if absolute { "(abs)" } else { "" };
                let mut place = place;
                if let (Region::Groups { swizzle: SECOND_LONG, .. }, Place::Direct { offset, .. }, Type::Df) =
                    (region, &mut place, kind)
                {
                    *offset = offset.saturating_add(kind.bytes());
                }
                format!(
                    "{negation}{absolute}{}{}:{kind}",
                    self.place(place, kind),
                    self.region(at, kind, region)
                )
            }
        }
    }

    /// The assembler has no Align16: it names the region of Align1 that has the same elements.
    fn region(&self, at: usize, kind: Type, region: Region) -> String {
        let is_three = self.form() == Form::Three;
        match region {
            _ if self.i.is_macro() => String::new(),
            Region::Rows { horizontal, .. } if is_three && at == 2 => format!("<{horizontal}>"),
            Region::Rows { vertical, horizontal, .. } if is_three => {
                format!("<{};{horizontal}>", vertical.unwrap_or(0))
            }
            Region::Rows { vertical: Some(vertical), width, horizontal } => {
                format!("<{vertical};{width},{horizontal}>")
            }
            Region::Rows { vertical: None, width, horizontal } => format!("<{width},{horizontal}>"),
            Region::Groups { vertical, swizzle } if is_three => {
                let is_long = kind == Type::Df && matches!(swizzle, FIRST_LONG | SECOND_LONG);
                let strides = match (vertical == Some(0) || is_long, at) {
                    (true, 2) => "<0>",
                    (true, _) => "<0;0>",
                    (false, 2) => "<1>",
                    (false, _) => "<2;1>",
                };
                if swizzle == STRAIGHT || is_long {
                    strides.to_owned()
                } else {
                    format!("{strides}.{}", elements(swizzle))
                }
            }
            Region::Groups { vertical, swizzle } => {
                let vertical = vertical.map_or(String::new(), |stride| stride.to_string());
                format!("<{vertical}>.{}", elements(swizzle))
            }
            Region::Payload => String::new(),
        }
    }

    fn distances(&self) -> Vec<String> {
        let jip = self.i.jip.map(|distance| self.bytes(distance).to_string());
        // Without parentheses, the assembler subtracts a negative number from the one before.
        let uip = self.i.uip.map(|distance| match self.bytes(distance) {
            bytes @ ..0 => format!("({bytes})"),
            bytes => bytes.to_string(),
        });
        jip.into_iter().chain(uip).collect()
    }

    fn send(&self, message: &Message) -> Vec<String> {
        let graphics = self.platform.graphics();
        let mut words: Vec<String> =
            self.i.destination.iter().map(|one| self.payload(one.place, one.kind)).collect();
        for source in self.i.sources.iter().flatten() {
            if let Source::Register { place, kind, .. } = *source {
                words.push(self.payload(place, kind));
            }
        }
        let mut extended = message.extended;
        if let Descriptor::Immediate(bits) = &mut extended {
            if graphics < 120 {
                *bits |= u32::from(message.function) | u32::from(message.end_of_thread) << 5;
            } else if graphics >= 125 {
                // The length of the second payload is beside it.
                let length = *bits >> 6 & 0x1f;
                *bits &= !0x7c0;
                if let Some(last) = words.last_mut() {
                    *last = format!("{last}:{length}");
                }
            }
        }
        words.push(match extended {
            Descriptor::Immediate(bits) => format!("0x{bits:X}"),
            // Of the address register's double words.
            Descriptor::Register(register) => format!("a0.{}", register / 2),
        });
        words.push(match message.descriptor {
            Descriptor::Immediate(bits) => format!("0x{bits:08X}"),
            Descriptor::Register(register) => format!("a0.{register}"),
        });
        words
    }

    /// Returns a register of a message; the type is named if it is not UD.
    fn payload(&self, place: Place, kind: Type) -> String {
        let register = match place {
            Place::Direct { file: File::General, number, .. } => format!("r{number}"),
            Place::Direct { .. } | Place::Indirect { .. } | Place::Macro { .. } => self.place(place, kind),
        };
        if kind == Type::Ud { register } else { format!("{register}:{kind}") }
    }

    fn options(&self) -> String {
        let i = self.i;
        let is_end = i.message.is_some_and(|message| message.end_of_thread);
        let options = [
            (i.accumulator_write && !self.has_branch_control(), "AccWrEn"),
            (i.order.atomic || i.order.thread == 1, "Atomic"),
            (i.debug, "Breakpoint"),
            (i.compacted, "Compacted"),
            (is_end, "EOT"),
            (i.order.no_check, "NoDDChk"),
            (i.order.no_clear, "NoDDClr"),
            (i.order.thread == 2, "Switch"),
        ];
        let mut words: Vec<String> =
            options.iter().filter(|option| option.0).map(|option| option.1.to_owned()).collect();
        words.extend(scoreboard::print(self.platform, i.opcode, i.order.scoreboard));
        if words.is_empty() { String::new() } else { format!("{{{}}}", words.join(",")) }
    }
}

/// Returns the letter of an element of four.
fn element(at: u8) -> char {
    char::from(b"xyzw"[usize::from(at & 3)])
}

/// Returns the letters of a swizzle.
fn elements(swizzle: u8) -> String {
    (0..4).map(|at| element(swizzle >> (2 * at))).collect()
}
