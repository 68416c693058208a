//! Branches, whose target is a distance in the instruction, or in a register.

use super::operands::{IMMEDIATE, SLOTS};
use super::{Codec, Direction, misplaced};
use crate::isa::{Field, Form, Opcode};
use crate::{Error, Instruction, Place, Source, Type};

const IN_REGISTER: &str = "its target is in a register";

/// Where the target of a branch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// At distances that the instruction has.
    Distance,
    /// In a register, which is a source.
    Register,
}

impl Codec {
    /// Walks over a branch.
    pub(super) fn jump(&mut self, i: &mut Instruction, form: Form) -> Result<(), Error> {
        self.bit(Field::AccumulatorWrite, &mut i.accumulator_write)?;
        self.byte(Field::Flag, 1, &mut i.flag)?;
        let graphics = self.platform.graphics();
        let is_call = matches!(i.opcode, Opcode::Call | Opcode::Calla);
        if graphics < 120 || is_call {
            self.destination(i)?;
        }
        if self.target(i, form)? == Target::Register {
            return Ok(());
        }
        let mut walk = |field, distance: &mut Option<i32>| {
            let mut number = distance.unwrap_or(0);
            self.signed(field, &mut number)?;
            *distance = Some(number);
            Ok(())
        };
        walk(if is_call { Field::Immediate } else { Field::Jip }, &mut i.jip)?;
        if form == Form::Jumps { walk(Field::Uip, &mut i.uip) } else { Ok(()) }
    }
    /// Walks over what says where the target is; over the register, too.
    fn target(&mut self, i: &mut Instruction, form: Form) -> Result<Target, Error> {
        let is_distance = match self.direction {
            Direction::Decode => self.has_mark(form),
            Direction::Encode => {
                !i.sources.iter().flatten().any(|source| matches!(source, Source::Register { .. }))
            }
        };
        if is_distance {
            self.mark(i, form)?;
            return Ok(Target::Distance);
        }
        let at = self.target_source(i.opcode).ok_or(misplaced(i, IN_REGISTER))?;
        let source = self.operand(i, i.sources[at], "its target is in another source")?;
        let is_late = self.has(Field::Source0Immediate);
        if is_late {
            self.fixed(Field::Source0Immediate, 0, i.opcode, IN_REGISTER)?;
            self.fixed(Field::Source1Immediate, 0, i.opcode, "its target is in two places")?;
        }
        let source = self.register(i, &SLOTS[at], source)?;
        if is_late && matches!(source, Source::Register { place: Place::Indirect { .. }, .. }) {
            return Err(misplaced(i, "its target is in an indirect register"));
        }
        i.sources[at] = Some(source);
        Ok(Target::Register)
    }

    /// Returns the number of the source that can have the target.
    fn target_source(&self, opcode: Opcode) -> Option<usize> {
        match (opcode, self.platform.graphics()) {
            (Opcode::Brd | Opcode::Brc, 80..) | (Opcode::Call | Opcode::Calla | Opcode::Jmpi, 120..) => {
                Some(0)
            }
            (Opcode::Call | Opcode::Calla, _) => Some(1),
            _ => None,
        }
    }

    /// Returns whether the word has the mark that a branch's distances are immediates.
    fn has_mark(&self, form: Form) -> bool {
        if self.has(Field::Source0Immediate) {
            Field::Source0Immediate.get(self.platform, self.word) != 0
        } else {
            let first = Field::Source0File.get(self.platform, self.word);
            first == IMMEDIATE || self.has_second_mark(form)
        }
    }

    /// Returns whether the word has the mark in source 1, whose bits are those of the second distance from graphics 8 on.
    fn has_second_mark(&self, form: Form) -> bool {
        let can_be_second = form == Form::Jump || self.platform.graphics() < 80;
        can_be_second && Field::Source1File.get(self.platform, self.word) == IMMEDIATE
    }

    /// Walks over the mark that a branch's distances are immediates.
    ///
    /// Before graphics 12 it is a source with the file and a type of immediates. That of the assembler is not kept; another one, as
    /// of Mesa's compiler, is a source of the instruction.
    fn mark(&mut self, i: &mut Instruction, form: Form) -> Result<(), Error> {
        let (opcode, platform) = (i.opcode, self.platform);
        if platform.graphics() >= 120 {
            self.fixed(Field::Source0Immediate, 1, opcode, IN_REGISTER)?;
            return self.fixed(Field::Source1Immediate, u64::from(form == Form::Jumps), opcode, IN_REGISTER);
        }
        let usual = match (form, opcode) {
            (Form::Jumps, _) | (_, Opcode::Brd | Opcode::Else) if platform.graphics() < 80 => (0, Type::W),
            (Form::Jumps, _) | (_, Opcode::Brd | Opcode::Else) => (0, Type::D),
            _ => (1, Type::D),
        };
        let (mut at, mut kind) = usual;
        if self.direction == Direction::Decode {
            at = usize::from(self.has_second_mark(form));
        } else if let Some((marked, Source::Immediate { kind: own, .. })) =
            i.sources.iter().enumerate().find_map(|(at, source)| source.map(|source| (at, source)))
        {
            (at, kind) = (marked, own);
        }
        let fields = [(Field::Source0File, Field::Source0Type), (Field::Source1File, Field::Source1Type)];
        let (file, kind_field) = fields[at.min(1)];
        self.fixed(file, IMMEDIATE, opcode, IN_REGISTER)?;
        self.kind(kind_field, |kind| kind.immediate_code(platform), &mut kind)?;
        if (at, kind) != usual {
            i.sources[at.min(1)] = Some(Source::Immediate { kind, bits: 0 });
        }
        Ok(())
    }
}
