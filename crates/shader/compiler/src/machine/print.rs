//! A function of the machine IR as text: an instruction a line, written as in Intel's assembly, but with the destination first.

use std::fmt::{self, Display, Formatter};

use intel_eu::Opcode;

use super::instr::{Dst, Function, Instr, Label, Operand, RegRef, RegRegion, Stmt, VReg};

/// The functions of `math`, as assembly names them.
const MATH: [(u8, &str); 9] = [
    (2, "log"),
    (3, "exp"),
    (4, "sqt"),
    (5, "rsqt"),
    (6, "sin"),
    (7, "cos"),
    (9, "fdiv"),
    (12, "iqot"),
    (13, "irem"),
];

impl Display for Function {
    /// Formats the statements; those within a loop or a branch are indented.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut depth = 0_usize;
        for stmt in &self.stmts {
            let (closes, opens) = match stmt {
                Stmt::LoopBegin => (false, true),
                Stmt::LoopEnd => (true, false),
                Stmt::Label(_) => (false, false),
                Stmt::Instr(instr) => (
                    matches!(instr.opcode, Opcode::Else | Opcode::Endif),
                    matches!(instr.opcode, Opcode::If | Opcode::Else),
                ),
            };
            depth = depth.saturating_sub(usize::from(closes));
            writeln!(f, "{:indent$}{stmt}", "", indent = depth * 4)?;
            depth += usize::from(opens);
        }
        Ok(())
    }
}

impl Display for Stmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instr(instr) => instr.fmt(f),
            Self::Label(label) => write!(f, "{label}:"),
            Self::LoopBegin => f.write_str("loop {"),
            Self::LoopEnd => f.write_str("}"),
        }
    }
}

impl Display for Instr {
    /// Formats the predicate, the destination, the opcode with its lanes, the sources, and the targets or the message.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let flag = format!("f{}.{}", self.flag >> 1, self.flag & 1);
        if self.no_mask {
            f.write_str("(W) ")?;
        }
        if let Some(predicate) = self.predicate {
            let (not, pattern) = (if predicate.inverse { "~" } else { "" }, predicate.pattern.name());
            let dot = if pattern.is_empty() { "" } else { "." };
            write!(f, "({not}{flag}{dot}{pattern}) ")?;
        }
        if let Some(to) = self.destination {
            write!(f, "{to} = ")?;
        }
        self.opcode.fmt(f)?;
        if self.opcode == Opcode::Math {
            match MATH.iter().find(|row| row.0 == self.function) {
                Some((_, name)) => write!(f, ".{name}")?,
                None => write!(f, ".{}", self.function)?,
            }
        }
        if self.saturate {
            f.write_str(".sat")?;
        }
        if let Some(condition) = self.condition {
            write!(f, ".{}.{flag}", condition.name())?;
        }
        write!(f, " ({}|M{})", self.lanes, self.first)?;
        let sources = self.sources.iter().map(ToString::to_string);
        let targets = self.targets.iter().flat_map(|(end, wait)| [end.to_string(), wait.to_string()]);
        let message = self.message.map(|message| {
            format!(
                "function {}, descriptor {:#x}, {} sent, {} received",
                message.function, message.descriptor, message.sent, message.received
            )
        });
        let operands: Vec<_> = sources.chain(targets).chain(message).collect();
        if !operands.is_empty() {
            write!(f, " {}", operands.join(", "))?;
        }
        Ok(())
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reg(elements) => elements.fmt(f),
            Self::Imm { kind, bits } => write!(f, "{bits:#x}:{kind}"),
        }
    }
}

impl Display for RegRegion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [vertical, width, horizontal] = self.rows;
        let (negate, absolute) =
            (if self.negate { "-" } else { "" }, if self.absolute { "(abs)" } else { "" });
        write!(f, "{negate}{absolute}{}<{vertical};{width},{horizontal}>:{}", self.at, self.kind)
    }
}

impl Display for Dst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}>:{}", self.at, self.stride, self.kind)
    }
}

impl Display for RegRef {
    /// Formats the register; the bytes before the operand follow, if there are any.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let byte = match *self {
            Self::VReg(vreg, byte) => {
                write!(f, "{vreg}")?;
                byte
            }
            Self::Fixed(number, byte) => {
                write!(f, "r{number}")?;
                byte.into()
            }
            Self::Flag => return f.write_str("f0"),
            Self::Null => return f.write_str("null"),
        };
        if byte > 0 { write!(f, "+{byte}") } else { Ok(()) }
    }
}

impl Display for VReg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::instr::{Message, Predicate};
    use intel_eu::{Condition, Type};

    #[test]
    fn a_function_has_an_instruction_a_line_and_loops_and_branches_are_indented() {
        let mut function = Function::default();
        let [offset, loaded, sum] = [function.vreg(2), function.vreg(2), function.vreg(2)];
        let [start, end, middle] = [Label(0), Label(1), Label(2)];
        let imm = |bits| Operand::Imm { kind: Type::Ud, bits };
        let to = |vreg| Dst::lanes(vreg, Type::Ud);
        let thread = Operand::one(RegRef::Fixed(0, 4), Type::Ud);
        let lanes = |vreg| Operand::lanes(vreg, Type::Ud);
        let message = Message { function: 12, descriptor: 0x5e00, sent: 2, received: 2 };
        let load = Instr::of(Opcode::Send, to(loaded), &[lanes(offset)]);
        let half = RegRegion::apart(RegRef::VReg(loaded, 2), Type::Uw, 4, 16);
        let add = Instr::of(Opcode::Add, to(sum), &[Operand::Reg(half), lanes(offset).negated()]);
        let math = Instr { function: 12, ..Instr::of(Opcode::Math, to(sum), &[lanes(sum), imm(3)]) };
        let branch = |opcode, targets| Instr { targets: Some(targets), ..Instr::new(opcode) };
        function.stmts = vec![
            Stmt::Label(start),
            Stmt::LoopBegin,
            Stmt::Instr(Instr::of(Opcode::Mov, to(offset), &[thread])),
            Stmt::Instr(Instr::compare(Condition::NotZero, Type::Ud, [lanes(offset), imm(0)])),
            Stmt::Instr(branch(Opcode::If, (middle, middle)).when(Predicate::SET)),
            Stmt::Instr(Instr { message: Some(message), ..load }),
            Stmt::Instr(Instr { no_mask: true, saturate: true, lanes: 8, first: 8, ..add }),
            Stmt::Label(middle),
            Stmt::Instr(branch(Opcode::Endif, (end, end))),
            Stmt::Instr(math),
            Stmt::Label(end),
            Stmt::Instr(branch(Opcode::While, (start, start)).when(Predicate::SET_IN_QUAD)),
            Stmt::LoopEnd,
        ];
        assert_eq!(
            function.to_string(),
            "\
L0:
loop {
    %0<1>:ud = mov (16|M0) r0+4<0;1,0>:ud
    null<1>:ud = cmp.ne.f0.0 (16|M0) %0<8;8,1>:ud, 0x0:ud
    (f0.0) if (16|M0) L2, L2
        %1<1>:ud = send (16|M0) %0<8;8,1>:ud, function 12, descriptor 0x5e00, 2 sent, 2 received
        (W) %2<1>:ud = add.sat (8|M8) %1+2<16;8,2>:uw, -%0<8;8,1>:ud
        L2:
    endif (16|M0) L1, L1
    %2<1>:ud = math.iqot (16|M0) %2<8;8,1>:ud, 0x3:ud
    L1:
    (f0.0.any4h) while (16|M0) L0, L0
}
"
        );
    }
}
