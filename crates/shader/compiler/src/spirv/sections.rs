//! The order of a module's instructions (the unified specification, 2.4, "Logical Layout of a Module").

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use rspirv::spirv::Op;

use crate::Error;

/// The order of the instructions read so far.
#[derive(Debug, Default)]
pub(super) struct Sections {
    /// The section of the last instruction.
    last: u8,
    /// Whether the memory model was declared.
    has_model: bool,
    /// Whether the last function is not ended.
    is_inside: bool,
    /// Whether a parameter may follow: only others are after the last function's beginning.
    has_parameters: bool,
}

impl Sections {
    /// Notes the next instruction, which is at a word of the module.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it may not follow those before it.
    pub(super) fn next(&mut self, opcode: Op, at: usize) -> Result<(), Error> {
        let wrong = |why: &str| {
            let why = format!("Op{opcode:?} at word {at} {why}");
            Err(Error::Malformed { why })
        };
        if opcode == Op::MemoryModel && std::mem::replace(&mut self.has_model, true) {
            return wrong("is the second one");
        }
        let found = section(opcode);
        match found {
            Some(FUNCTIONS) | None => {}
            Some(_) if self.is_inside => return wrong("is inside a function"),
            Some(found) if found < self.last => return wrong("is after a later section"),
            Some(_) => {}
        }
        match opcode {
            Op::FunctionParameter if !self.has_parameters => return wrong("is after a block"),
            Op::Function => (self.is_inside, self.has_parameters) = (true, true),
            Op::Label => self.has_parameters = false,
            Op::FunctionEnd => self.is_inside = false,
            _ => {}
        }
        self.last = self.last.max(found.unwrap_or(0));
        Ok(())
    }
}

/// The section of functions.
const FUNCTIONS: u8 = 11;

/// Returns the section of an instruction; none if it may be in several ones.
fn section(opcode: Op) -> Option<u8> {
    Some(match opcode {
        Op::Nop | Op::Line | Op::NoLine | Op::Undef | Op::Variable | Op::ExtInst => return None,
        Op::Capability => 0,
        Op::Extension => 1,
        Op::ExtInstImport => 2,
        Op::MemoryModel => 3,
        Op::EntryPoint => 4,
        Op::ExecutionMode | Op::ExecutionModeId => 5,
        Op::String | Op::SourceExtension | Op::Source | Op::SourceContinued => 6,
        Op::Name | Op::MemberName => 7,
        Op::ModuleProcessed => 8,
        _ if opcode.is_annotation() => 9,
        _ if opcode.is_type() || opcode.is_constant() => FUNCTIONS - 1,
        _ => FUNCTIONS,
    })
}
