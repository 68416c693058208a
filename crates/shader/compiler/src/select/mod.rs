//! Selection: instructions for operations. Numbers of less than 32 bits have a dword of each lane, whose other bits mean nothing; booleans are
//! dwords of no or of all bits.

mod arithmetic;
mod flow;
mod memory;

use std::collections::HashMap;

use intel_eu::{Condition, Opcode, Type};

use crate::Error;
use crate::ir::{Conversion, Input, Operation, Program, Scalar, Value, Variable};
use crate::machine::instr::{
    Dst, FLAG, Function, Instr, Label, Operand, Predicate, RegRef, RegRegion, Stmt, VReg, lane_bytes, raw,
};
use crate::machine::regions;

/// A selection in progress.
struct Selection<'a> {
    program: &'a Program,
    function: Function,
    labels: u32,
    values: HashMap<Value, VReg>,
    constants: HashMap<Value, u64>,
    variables: HashMap<Variable, VReg>,
    /// The ends of the blocks that are open, from the outermost one; those of loops are what breaks wait for.
    blocks: Vec<(Label, bool)>,
    /// The boolean that the flag register has.
    tested: Option<Value>,
}

/// Returns the code of a program.
///
/// # Errors
/// [`Error::Opcode`] for an operation that is not supported on its type.
pub(crate) fn select(program: &Program) -> Result<Function, Error> {
    let mut selection = Selection {
        program,
        function: Function::default(),
        labels: 0,
        values: HashMap::new(),
        constants: HashMap::new(),
        variables: HashMap::new(),
        blocks: Vec::new(),
        tested: None,
    };
    selection.nodes(&program.body)?;
    selection.function.variables = selection.variables.into_values().collect();
    Ok(selection.function)
}

/// Returns the type of a number.
fn kind(scalar: Scalar, signed: bool) -> Type {
    match (scalar, signed) {
        (Scalar::Bool, _) => Type::D,
        (Scalar::Integer { bits: 8, .. }, true) => Type::B,
        (Scalar::Integer { bits: 8, .. }, false) => Type::Ub,
        (Scalar::Integer { bits: 16, .. }, true) => Type::W,
        (Scalar::Integer { bits: 16, .. }, false) => Type::Uw,
        (Scalar::Integer { bits: 64, .. }, true) => Type::Q,
        (Scalar::Integer { bits: 64, .. }, false) => Type::Uq,
        (Scalar::Integer { .. }, true) => Type::D,
        (Scalar::Integer { .. }, false) => Type::Ud,
        (Scalar::Float { bits: 16 }, _) => Type::Hf,
        (Scalar::Float { bits: 64 }, _) => Type::Df,
        (Scalar::Float { .. }, _) => Type::F,
    }
}

/// Returns the type of a number's bits.
fn bits_of(scalar: Scalar) -> Type {
    raw(kind(scalar, false).bytes())
}

impl Selection<'_> {
    /// Returns registers for a number of each lane.
    fn vreg(&mut self, scalar: Scalar) -> VReg {
        let bytes = lane_bytes(kind(scalar, false));
        self.function.vreg(if bytes > 4 { 4 } else { 2 })
    }

    /// Returns registers for a dword of each lane.
    fn dwords(&mut self) -> VReg {
        self.function.vreg(2)
    }

    fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Sets the place of a label. Lanes come there from elsewhere, with other flags.
    fn here(&mut self, label: Label) {
        self.tested = None;
        self.function.stmts.push(Stmt::Label(label));
    }

    fn push(&mut self, instr: Instr) {
        if instr.condition.is_some() && instr.opcode != Opcode::Sel && instr.flag == FLAG {
            self.tested = None;
        }
        self.function.stmts.push(Stmt::Instr(instr));
    }

    /// Adds an instruction whose destination is a value's registers.
    fn put(&mut self, opcode: Opcode, to: VReg, kind: Type, sources: &[Operand]) {
        self.push(Instr::of(opcode, Dst::lanes(to, kind), sources));
    }

    /// Returns a value as an operand, which may be a number of up to 32 bits.
    fn operand(&mut self, value: Value, kind: Type) -> Operand {
        match self.constants.get(&value) {
            // Bytes cannot be in an instruction; their words are.
            Some(bits) if kind == Type::B => {
                Operand::Imm { kind: Type::W, bits: *bits as i8 as u64 & 0xffff }
            }
            Some(bits) if kind == Type::Ub => Operand::Imm { kind: Type::Uw, bits: *bits },
            Some(bits) if kind.bytes() < 8 => Operand::Imm { kind, bits: *bits },
            Some(_) | None => self.register(value, kind),
        }
    }

    /// Returns a value as an operand in registers.
    fn register(&mut self, value: Value, kind: Type) -> Operand {
        let vreg = self.vreg_of(value);
        Operand::lanes(vreg, kind)
    }

    /// Returns the registers of a value.
    fn vreg_of(&mut self, value: Value) -> VReg {
        if let (None, Some(vreg)) = (self.constants.get(&value), self.values.get(&value)) {
            return *vreg;
        }
        // A value that nothing has made has no meaning: the program uses a result of a branch that is not taken.
        let bits = self.constants.get(&value).copied().unwrap_or(0);
        let scalar = self.program.kind(value);
        let vreg = self.vreg(scalar);
        let dword = |bits: u64| Operand::Imm { kind: Type::Ud, bits: bits & 0xffff_ffff };
        if scalar.bits() < 64 {
            self.put(Opcode::Mov, vreg, Type::Ud, &[dword(bits)]);
        } else {
            let to = Dst::lanes(vreg, Type::Uq);
            for (half, bits) in [(0, bits), (1, bits >> 32)] {
                self.push(Instr::of(Opcode::Mov, regions::half_of_target(to, half), &[dword(bits)]));
            }
        }
        vreg
    }

    /// Returns two operands, of which only the second one may be a number.
    fn two(&mut self, a: Value, b: Value, kind: Type) -> [Operand; 2] {
        [self.register(a, kind), self.operand(b, kind)]
    }

    /// Sets the flags of the lanes for which a boolean is true.
    fn test(&mut self, boolean: Value) {
        if self.tested == Some(boolean) {
            return;
        }
        let sources = [self.register(boolean, Type::D), Operand::Imm { kind: Type::D, bits: 0 }];
        self.push(Instr::compare(Condition::NotZero, Type::D, sources));
        self.tested = Some(boolean);
    }

    /// Clears the flags of all lanes, of inactive ones, too.
    fn clear_flags(&mut self) {
        self.tested = None;
        let to = Dst { at: RegRef::Flag, kind: Type::Uw, stride: 1 };
        let clear = Instr::of(Opcode::Mov, to, &[Operand::Imm { kind: Type::Uw, bits: 0 }]);
        self.push(Instr { lanes: 1, no_mask: true, ..clear });
    }

    /// Writes flags as a boolean.
    fn write_bool(&mut self, to: VReg, predicate: Predicate) {
        let number = |bits| [Operand::Imm { kind: Type::D, bits }];
        self.put(Opcode::Mov, to, Type::D, &number(0));
        self.push(Instr::of(Opcode::Mov, Dst::lanes(to, Type::D), &number(0xffff_ffff)).when(predicate));
    }

    fn variable(&mut self, variable: Variable) -> VReg {
        if let Some(vreg) = self.variables.get(&variable) {
            return *vreg;
        }
        let vreg = self.vreg(self.program.variables[variable.0 as usize]);
        self.variables.insert(variable, vreg);
        vreg
    }

    /// Adds the instructions that make a value.
    fn make(&mut self, value: Value, operation: &Operation) -> Result<(), Error> {
        let scalar = self.program.kind(value);
        if let Operation::Constant(bits) = operation {
            let bits = if scalar == Scalar::Bool && *bits != 0 { 0xffff_ffff } else { *bits };
            self.constants.insert(value, bits);
            return Ok(());
        }
        if let Operation::Convert(conversion, from, a) = *operation
            && keeps_bits(conversion, from, scalar)
        {
            let vreg = self.vreg_of(a);
            self.values.insert(value, vreg);
            return Ok(());
        }
        let to = self.vreg(scalar);
        match *operation {
            Operation::Constant(_) => {}
            Operation::Input(input) => self.input(to, input),
            Operation::Unary(unary, a) => self.unary(to, scalar, unary, a)?,
            Operation::Binary(binary, a, b) => self.binary(to, scalar, binary, a, b)?,
            Operation::Compare(comparison, of, a, b) => self.compare(value, to, comparison, of, [a, b]),
            Operation::Select(condition, a, b) => self.choose(to, scalar, condition, [a, b]),
            Operation::Convert(conversion, from, a) => self.convert(to, conversion, [from, scalar], a),
            Operation::LoadVar(variable) => {
                let (vreg, kind) = (self.variable(variable), bits_of(scalar));
                self.put(Opcode::Mov, to, kind, &[Operand::lanes(vreg, kind)]);
            }
            Operation::Load(surface, offset) => self.load(to, scalar, surface, offset),
            Operation::Atomic(atomic, surface, offset, operand) => {
                self.atomic(to, atomic, surface, offset, operand)
            }
            Operation::Derivative(way, a) => self.derivative(to, scalar, way, a)?,
            Operation::QuadAny(variable) => self.quad_any(to, variable),
            Operation::Size(_) | Operation::Fma(..) => {
                return Err(Error::Encoding { why: "an operation was not lowered".to_owned() });
            }
        }
        self.values.insert(value, to);
        Ok(())
    }

    /// Writes what a thread finds in its first registers.
    fn input(&mut self, to: VReg, input: Input) {
        let word = |number: u8, dword: u8| [Operand::one(RegRef::Fixed(number, dword * 4), Type::Ud)];
        match input {
            Input::Thread => self.put(Opcode::Mov, to, Type::Ud, &word(0, 1)),
            Input::Constant(place) => self.put(Opcode::Mov, to, Type::Ud, &word(1, place)),
            Input::Lane => {
                let words = self.function.vreg(1);
                let eight = |byte| RegRegion::apart(RegRef::VReg(words, byte), Type::Uw, 2, 8);
                let half = |byte, opcode, sources: &[Operand]| {
                    let to = Dst { at: RegRef::VReg(words, byte), kind: Type::Uw, stride: 1 };
                    Instr { lanes: 8, no_mask: true, ..Instr::of(opcode, to, sources) }
                };
                self.push(half(0, Opcode::Mov, &[Operand::Imm { kind: Type::V, bits: 0x7654_3210 }]));
                let more = Operand::Imm { kind: Type::Uw, bits: 8 };
                self.push(half(16, Opcode::Add, &[Operand::Reg(eight(0)), more]));
                self.put(
                    Opcode::Mov,
                    to,
                    Type::Ud,
                    &[Operand::Reg(RegRegion { rows: [8, 8, 1], ..eight(0) })],
                );
            }
            // Replaced by those of threads (`lower_inputs`).
            Input::WorkgroupId(_) | Input::LocalId(_) | Input::NumWorkgroups(_) | Input::FragCoord(_) => {}
        }
    }

    /// Writes whether the variable is true for a lane of the quad, whether that is active or not.
    fn quad_any(&mut self, to: VReg, variable: Variable) {
        let vreg = self.variable(variable);
        self.clear_flags();
        let sources = [Operand::lanes(vreg, Type::D), Operand::Imm { kind: Type::D, bits: 0 }];
        self.push(Instr { no_mask: true, ..Instr::compare(Condition::NotZero, Type::D, sources) });
        self.write_bool(to, Predicate::SET_IN_QUAD);
    }
}

/// Returns whether a conversion leaves all bits as they are.
fn keeps_bits(conversion: Conversion, from: Scalar, to: Scalar) -> bool {
    let are_integers = matches!((from, to), (Scalar::Integer { .. }, Scalar::Integer { .. }));
    from.bits() == to.bits() && (conversion == Conversion::Bitcast || are_integers)
}
