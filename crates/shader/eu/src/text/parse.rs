//! Instructions and programs, read.

use std::collections::HashMap;

use super::accumulator::{EARLY_OUT, Operands};
use super::cursor::{Cursor, SyntaxError};
use super::operand::{self, Register, Shape};
use super::{accumulator, branch, logic, name, scoreboard, systolic};
use crate::{
    Condition, Destination, Form, Instruction, Opcode, Pattern, Place, Platform, Predicate, Region, Source,
    Type,
};

/// Parses an instruction.
///
/// # Errors
/// [`SyntaxError`] names the word that is not understood. An instruction that the platform lacks may pass:
/// [`crate::encode`] refuses it.
pub fn parse(platform: Platform, text: &str) -> Result<Instruction, SyntaxError> {
    Parser { platform, cursor: Cursor::new(1, text), labels: Some(&HashMap::new()), at: 0 }.instruction()
}

/// Parses a program: an instruction in each line, and labels with a colon after them, which are targets of branches.
///
/// # Errors
/// As of [`parse`].
pub fn parse_program(platform: Platform, text: &str) -> Result<Vec<Instruction>, SyntaxError> {
    let mut labels = HashMap::new();
    let mut lines = Vec::new();
    let mut at = 0;
    for (number, text) in text.lines().enumerate() {
        let mut cursor = Cursor::new(number + 1, text);
        let mut after = cursor;
        let label = after.word();
        if !label.is_empty() && after.eat(":") {
            if labels.insert(label, at).is_some() {
                return Err(cursor.error("is a label already"));
            }
            cursor = after;
        }
        if cursor.peek().is_some() {
            lines.push((cursor, at));
            // Labels after it are not known yet, and do not change its size.
            at += Parser { platform, cursor, labels: None, at }.instruction()?.bytes() as i64;
        }
    }
    let parser = |(cursor, at)| Parser { platform, cursor, labels: Some(&labels), at };
    lines.into_iter().map(|line| parser(line).instruction()).collect()
}

/// An instruction that is read.
pub(super) struct Parser<'t> {
    pub(super) platform: Platform,
    pub(super) cursor: Cursor<'t>,
    /// Bytes of the program with a name; `None` if any name is one of this instruction.
    labels: Option<&'t HashMap<&'t str, i64>>,
    /// The byte of the program where the instruction is.
    at: i64,
}

impl Parser<'_> {
    fn instruction(mut self) -> Result<Instruction, SyntaxError> {
        let mut i = Instruction::new(Opcode::Illegal);
        let predicate = self.predicate(&mut i)?;
        let platform = self.platform;
        i.opcode =
            self.cursor.known("is no opcode of the platform", |word| Opcode::from_name(word, platform))?;
        let function = self.function(&mut i)?;
        if i.opcode.has_function() {
            i.function = function;
        }
        let form = i.opcode.form(platform);
        if form != Form::Nothing {
            self.size(&mut i)?;
            self.condition(&mut i, predicate)?;
            self.operands(&mut i, form)?;
        }
        if let (Some(message), 120..) = (&mut i.message, platform.graphics()) {
            message.function = function;
        }
        self.options(&mut i)?;
        self.cursor.end()?;
        Ok(i)
    }

    /// Reads a predicate; returns its flag register.
    fn predicate(&mut self, i: &mut Instruction) -> Result<Option<u8>, SyntaxError> {
        if !self.cursor.eat("(") {
            return Ok(None);
        }
        i.no_mask = self.cursor.eat("W");
        if i.no_mask && self.cursor.eat(")") {
            return Ok(None);
        }
        if i.no_mask {
            self.cursor.expect("&", "is where '&' or ')' has to be")?;
        }
        let inverse = self.cursor.eat("~");
        i.flag = self.flag()?;
        let mut pattern = Pattern::Normal;
        if self.cursor.eat(".") {
            pattern = self.cursor.known("is no predicate", |word| {
                Pattern::CODES.iter().find(|row| row.2 == word).map(|row| row.0)
            })?;
        }
        i.predicate = Some(Predicate { pattern, inverse });
        self.cursor.expect(")", "is not the end of the predicate")?;
        Ok(Some(i.flag))
    }

    fn flag(&mut self) -> Result<u8, SyntaxError> {
        for flag in 0..4 {
            if self.cursor.eat(&format!("f{}.{}", flag >> 1, flag & 1)) {
                return Ok(flag);
            }
        }
        Err(self.cursor.error("is no flag register"))
    }

    /// Reads what is after the opcode; returns the function.
    fn function(&mut self, i: &mut Instruction) -> Result<u8, SyntaxError> {
        let names = name::functions(self.platform, i.opcode);
        if i.opcode == Opcode::Bfn {
            self.cursor.expect(".", "is where the function has to be")?;
            i.function = logic::function(&mut self.cursor)?;
            return Ok(0);
        }
        if i.opcode.form(self.platform) == Form::Systolic {
            i.systolic = Some(systolic::read_shape(&mut self.cursor)?);
            return Ok(0);
        }
        if !self.cursor.eat(".") {
            return if names.is_none() {
                Ok(0)
            } else {
                Err(self.cursor.error("is where the function has to be"))
            };
        }
        if let Some(names) = names {
            return self
                .cursor
                .known("is no function of the opcode", |word| name::function_code(names, word));
        }
        i.accumulator_write = branch::is_jump(self.platform, i.opcode) && self.cursor.eat("b");
        if i.accumulator_write { Ok(0) } else { Err(self.cursor.error("cannot be after the opcode")) }
    }

    fn size(&mut self, i: &mut Instruction) -> Result<(), SyntaxError> {
        let is_one = matches!(i.opcode, Opcode::Jmpi | Opcode::Wait | Opcode::Sync);
        let mut ahead = self.cursor;
        let has_size = ahead.eat("(") && ahead.peek().is_some_and(|c| c.is_ascii_digit());
        if is_one && !has_size {
            return Ok(());
        }
        self.cursor.expect("(", "is where the execution size has to be")?;
        i.execution_size = self.cursor.number()?;
        self.cursor.expect("|", "is where '|' has to be")?;
        self.cursor.expect("M", "is where the channel offset has to be")?;
        i.channel_offset = self.cursor.number()?;
        self.cursor.expect(")", "is not the end of the execution size")
    }

    fn condition(&mut self, i: &mut Instruction, predicate: Option<u8>) -> Result<(), SyntaxError> {
        let start = self.cursor;
        let word = if self.cursor.eat("(") { self.cursor.word() } else { "" };
        let condition = Condition::CODES.iter().find(|row| row.2 == word).map(|row| row.0);
        let is_early_out = word == EARLY_OUT && i.is_macro() && i.opcode == Opcode::Math;
        if condition.is_none() && !is_early_out {
            self.cursor = start;
            return Ok(());
        }
        self.cursor.expect(")", "is not the end of the condition")?;
        let at = self.cursor;
        i.condition = condition;
        i.flag = self.flag()?;
        if predicate.is_some_and(|flag| flag != i.flag) {
            return Err(at.error("is another flag register than that of the predicate"));
        }
        Ok(())
    }

    fn operands(&mut self, i: &mut Instruction, form: Form) -> Result<(), SyntaxError> {
        i.destination = branch::destination(self.platform, i.opcode);
        match (i.opcode, form) {
            (Opcode::Jmpi, Form::Basic(_)) => self.jmpi(i),
            (Opcode::Wait, _) => {
                let source = operand::source(self.platform, &mut self.cursor, Shape::Rows)?;
                i.sources[0] = Some(source);
                if let (Source::Register { place, .. }, Some(destination)) = (source, &mut i.destination) {
                    destination.place = place;
                }
                Ok(())
            }
            (Opcode::Sync, _) => self.sync(i),
            (Opcode::Ret, _) => {
                let place = Register::read(self.platform, &mut self.cursor)?.place(Type::D)?;
                i.sources[0] = Some(branch::target(self.platform, i.opcode, place).1);
                Ok(())
            }
            (_, Form::Jump | Form::Jumps) => self.jump(i, form),
            (_, Form::Send) => self.send(i, 1),
            (_, Form::SplitSend) => self.send(i, 2),
            (_, Form::Systolic) => systolic::read_operands(&mut self.cursor, i),
            (_, Form::Basic(_) | Form::Three | Form::Nothing) => self.values(i, form),
        }
    }

    /// Reads a destination and sources.
    fn values(&mut self, i: &mut Instruction, form: Form) -> Result<(), SyntaxError> {
        let (platform, is_macro, execution_size) = (self.platform, i.is_macro(), i.execution_size);
        let has_groups = form == Form::Three && platform.graphics() < 110;
        i.saturate = self.cursor.eat("(sat)");
        i.destination = Some(if is_macro {
            let (place, kind) = accumulator::register(&mut self.cursor)?;
            Destination { place, kind, ..Destination::default() }
        } else {
            operand::destination(platform, &mut self.cursor, has_groups)?
        });
        let count = match (form, i.has_one_source()) {
            (Form::Basic(_), true) => 1,
            (Form::Basic(sources), false) => usize::from(sources),
            _ => 3,
        };
        for (number, source) in i.sources.iter_mut().enumerate().take(count) {
            let is_last = number == 2;
            let shape = if is_macro {
                Shape::Macro(Operands { platform, form, execution_size, number })
            } else if form == Form::Three {
                Shape::Strides { is_last, has_groups }
            } else {
                Shape::Rows
            };
            *source = Some(operand::source(platform, &mut self.cursor, shape)?);
        }
        let is_group =
            |source: &Source| matches!(source, Source::Register { region: Region::Groups { .. }, .. });
        let has_mask = i.destination.is_some_and(|destination| destination.mask != 0);
        i.align16 = has_mask || i.sources.iter().flatten().any(is_group);
        if let (Some(destination), true) = (&mut i.destination, i.align16 && !is_macro) {
            if destination.mask == 0 {
                destination.mask = 0xf;
            }
        }
        Ok(())
    }

    fn jmpi(&mut self, i: &mut Instruction) -> Result<(), SyntaxError> {
        let pointer = branch::destination(self.platform, i.opcode).map_or(Place::NULL, |ip| ip.place);
        let target = if let Some(target) = self.target()? {
            Source::rows(target, Type::D, [0, 1, 0])
        } else {
            let bits = u64::from(self.distance(i.opcode)? as u32);
            Source::Immediate { kind: Type::D, bits }
        };
        i.sources = [Some(Source::rows(pointer, Type::Ud, [0, 1, 0])), Some(target), None];
        Ok(())
    }

    fn jump(&mut self, i: &mut Instruction, form: Form) -> Result<(), SyntaxError> {
        if let (Opcode::Call | Opcode::Calla, Some(destination)) = (i.opcode, &mut i.destination) {
            destination.place = Register::read(self.platform, &mut self.cursor)?.place(Type::D)?;
        }
        if let Some(target) = self.target()? {
            let (at, source) = branch::target(self.platform, i.opcode, target);
            i.sources[at] = Some(source);
            return Ok(());
        }
        i.jip = Some(self.distance(i.opcode)?);
        if form == Form::Jumps {
            i.uip = Some(self.distance(i.opcode)?);
        }
        Ok(())
    }

    /// Reads the register that has a target, if one is next.
    fn target(&mut self) -> Result<Option<Place>, SyntaxError> {
        let mut ahead = self.cursor;
        let Ok(register) = Register::read(self.platform, &mut ahead) else { return Ok(None) };
        self.cursor = ahead;
        register.place(Type::D).map(Some)
    }

    /// Reads a label, or a distance in bytes; returns it as the instruction has it.
    fn distance(&mut self, opcode: Opcode) -> Result<i32, SyntaxError> {
        self.cursor.peek();
        let start = self.cursor;
        let is_number = self.cursor.peek().is_some_and(|c| c.is_ascii_digit() || "(-".contains(c));
        let bytes = if is_number {
            let has_parenthesis = self.cursor.eat("(");
            let bytes: i64 = self.cursor.number()?;
            if has_parenthesis {
                self.cursor.expect(")", "is where ')' has to be")?;
            }
            bytes
        } else {
            let (labels, own) = (self.labels, self.at);
            let find = |word: &str| labels.map_or(Some(own), |labels| labels.get(word).copied());
            let target = self.cursor.known("is no label", find)?;
            if opcode == Opcode::Calla { target } else { target - self.at }
        };
        let unit = opcode.distance_unit(self.platform);
        let after = bytes.checked_sub(opcode.distance_start(self.platform)).filter(|bytes| bytes % unit == 0);
        after
            .and_then(|bytes| i32::try_from(bytes / unit).ok())
            .ok_or_else(|| start.error("is no distance that the instruction can have"))
    }

    fn sync(&mut self, i: &mut Instruction) -> Result<(), SyntaxError> {
        i.sources[0] = Some(if self.cursor.eat("null") {
            Source::rows(Place::NULL, Type::Ub, [0, 1, 0])
        } else {
            self.cursor.expect("(", "is where 'null' or a list of tokens has to be")?;
            let mut bits = 0;
            while !self.cursor.eat(")") {
                self.cursor.expect("$", "is no token")?;
                let start = self.cursor;
                let token: u32 = self.cursor.number()?;
                bits |= 1_u64
                    .checked_shl(token)
                    .filter(|_| token < 32)
                    .ok_or_else(|| start.error("is no token"))?;
                self.cursor.eat(",");
            }
            Source::Immediate { kind: Type::Ud, bits }
        });
        Ok(())
    }

    fn options(&mut self, i: &mut Instruction) -> Result<(), SyntaxError> {
        if !self.cursor.eat("{") {
            return Ok(());
        }
        let mut is_more = true;
        while is_more {
            self.cursor.peek();
            let start = self.cursor;
            let word = self.cursor.take(|c| c.is_ascii_alphanumeric() || "@$.".contains(c));
            self.option(i, word).ok_or_else(|| start.error("is no option of the instruction"))?;
            is_more = self.cursor.eat(",");
        }
        self.cursor.expect("}", "is not the end of the options")
    }

    fn option(&self, i: &mut Instruction, word: &str) -> Option<()> {
        match word {
            "AccWrEn" => i.accumulator_write = true,
            "Atomic" if self.platform.graphics() >= 120 => i.order.atomic = true,
            "Atomic" => i.order.thread = 1,
            "Breakpoint" => i.debug = true,
            "Compacted" => i.compacted = true,
            "EOT" => i.message.as_mut()?.end_of_thread = true,
            "NoDDChk" => i.order.no_check = true,
            "NoDDClr" => i.order.no_clear = true,
            "Switch" => i.order.thread = 2,
            _ => i.order.scoreboard = scoreboard::join(i.order.scoreboard, scoreboard::parse(word)?)?,
        }
        Some(())
    }
}
