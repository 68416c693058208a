//! Selection: instructions for operations. Numbers of less than 32 bits have a dword of each lane, whose other bits mean nothing; truths are
//! dwords of no or of all bits.

mod arithmetic;
mod flow;
mod memory;

use std::collections::HashMap;

use intel_eu::{Condition, Opcode, Type};

use crate::Error;
use crate::ir::{Conversion, Input, Operation, Program, Scalar, Value, Variable};
use crate::machine::draft::{
    At, Code, Draft, Elements, FLAG, Home, Label, Line, Operand, Predicate, Target, lane_bytes, raw,
};
use crate::machine::regions;

/// A selection in progress.
struct Selection<'a> {
    program: &'a Program,
    code: Code,
    labels: u32,
    values: HashMap<Value, Home>,
    constants: HashMap<Value, u64>,
    variables: HashMap<Variable, Home>,
    /// The ends of the blocks that are open, from the outermost one; those of loops are what breaks wait for.
    blocks: Vec<(Label, bool)>,
    /// The value whose truth the flag register has.
    tested: Option<Value>,
}

/// Returns the code of a program.
///
/// # Errors
/// [`Error::Opcode`] for an operation that is not supported on its type.
pub(crate) fn select(program: &Program) -> Result<Code, Error> {
    let mut selection = Selection {
        program,
        code: Code::default(),
        labels: 0,
        values: HashMap::new(),
        constants: HashMap::new(),
        variables: HashMap::new(),
        blocks: Vec::new(),
        tested: None,
    };
    selection.nodes(&program.body)?;
    selection.code.variables = selection.variables.into_values().collect();
    Ok(selection.code)
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
    fn home(&mut self, scalar: Scalar) -> Home {
        let bytes = lane_bytes(kind(scalar, false));
        self.code.home(if bytes > 4 { 4 } else { 2 })
    }

    /// Returns registers for a dword of each lane.
    fn dwords(&mut self) -> Home {
        self.code.home(2)
    }

    fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Sets the place of a label. Lanes come there from elsewhere, with other flags.
    fn here(&mut self, label: Label) {
        self.tested = None;
        self.code.lines.push(Line::Here(label));
    }

    fn push(&mut self, draft: Draft) {
        if draft.condition.is_some() && draft.opcode != Opcode::Sel && draft.flag == FLAG {
            self.tested = None;
        }
        self.code.lines.push(Line::Do(draft));
    }

    /// Adds an instruction whose destination is a value's registers.
    fn put(&mut self, opcode: Opcode, to: Home, kind: Type, sources: &[Operand]) {
        self.push(Draft::of(opcode, Target::lanes(to, kind), sources));
    }

    /// Returns a value as an operand, which may be a number of up to 32 bits.
    fn operand(&mut self, value: Value, kind: Type) -> Operand {
        match self.constants.get(&value) {
            // Bytes cannot be in an instruction; their words are.
            Some(bits) if kind == Type::B => {
                Operand::Number { kind: Type::W, bits: *bits as i8 as u64 & 0xffff }
            }
            Some(bits) if kind == Type::Ub => Operand::Number { kind: Type::Uw, bits: *bits },
            Some(bits) if kind.bytes() < 8 => Operand::Number { kind, bits: *bits },
            Some(_) | None => self.register(value, kind),
        }
    }

    /// Returns a value as an operand in registers.
    fn register(&mut self, value: Value, kind: Type) -> Operand {
        let home = self.home_of(value);
        Operand::lanes(home, kind)
    }

    /// Returns the registers of a value.
    fn home_of(&mut self, value: Value) -> Home {
        if let (None, Some(home)) = (self.constants.get(&value), self.values.get(&value)) {
            return *home;
        }
        // A value that nothing has made has no meaning: the program uses a result of a branch that is not taken.
        let bits = self.constants.get(&value).copied().unwrap_or(0);
        let scalar = self.program.kind(value);
        let home = self.home(scalar);
        let dword = |bits: u64| Operand::Number { kind: Type::Ud, bits: bits & 0xffff_ffff };
        if scalar.bits() < 64 {
            self.put(Opcode::Mov, home, Type::Ud, &[dword(bits)]);
        } else {
            let to = Target::lanes(home, Type::Uq);
            for (half, bits) in [(0, bits), (1, bits >> 32)] {
                self.push(Draft::of(Opcode::Mov, regions::half_of_target(to, half), &[dword(bits)]));
            }
        }
        home
    }

    /// Returns two operands, of which only the second one may be a number.
    fn two(&mut self, a: Value, b: Value, kind: Type) -> [Operand; 2] {
        [self.register(a, kind), self.operand(b, kind)]
    }

    /// Sets the flags of the lanes for which a truth is true.
    fn test(&mut self, truth: Value) {
        if self.tested == Some(truth) {
            return;
        }
        let sources = [self.register(truth, Type::D), Operand::Number { kind: Type::D, bits: 0 }];
        self.push(Draft::compare(Condition::NotZero, Type::D, sources));
        self.tested = Some(truth);
    }

    /// Clears the flags of all lanes, of inactive ones, too.
    fn clear_flags(&mut self) {
        self.tested = None;
        let to = Target { at: At::Flag, kind: Type::Uw, stride: 1 };
        let clear = Draft::of(Opcode::Mov, to, &[Operand::Number { kind: Type::Uw, bits: 0 }]);
        self.push(Draft { lanes: 1, no_mask: true, ..clear });
    }

    /// Writes the truth of flags.
    fn write_truth(&mut self, to: Home, predicate: Predicate) {
        let number = |bits| [Operand::Number { kind: Type::D, bits }];
        self.put(Opcode::Mov, to, Type::D, &number(0));
        self.push(Draft::of(Opcode::Mov, Target::lanes(to, Type::D), &number(0xffff_ffff)).when(predicate));
    }

    fn variable(&mut self, variable: Variable) -> Home {
        if let Some(home) = self.variables.get(&variable) {
            return *home;
        }
        let home = self.home(self.program.variables[variable.0 as usize]);
        self.variables.insert(variable, home);
        home
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
            let home = self.home_of(a);
            self.values.insert(value, home);
            return Ok(());
        }
        let to = self.home(scalar);
        match *operation {
            Operation::Constant(_) => {}
            Operation::Input(input) => self.input(to, input),
            Operation::Unary(unary, a) => self.unary(to, scalar, unary, a)?,
            Operation::Binary(binary, a, b) => self.binary(to, scalar, binary, a, b)?,
            Operation::Compare(comparison, of, a, b) => self.compare(value, to, comparison, of, [a, b]),
            Operation::Select(condition, a, b) => self.choose(to, scalar, condition, [a, b]),
            Operation::Convert(conversion, from, a) => self.convert(to, conversion, [from, scalar], a),
            Operation::Get(variable) => {
                let (home, kind) = (self.variable(variable), bits_of(scalar));
                self.put(Opcode::Mov, to, kind, &[Operand::lanes(home, kind)]);
            }
            Operation::Load(surface, offset) => self.load(to, scalar, surface, offset),
            Operation::Atomic(atomic, surface, offset, operand) => {
                self.atomic(to, atomic, surface, offset, operand)
            }
            Operation::Derivative(way, a) => self.derivative(to, scalar, way, a)?,
            Operation::LivesInQuad(variable) => self.lives_in_quad(to, variable),
            Operation::Size(_) | Operation::Fused(..) => {
                return Err(Error::Encoding { why: "an operation was not lowered".to_owned() });
            }
        }
        self.values.insert(value, to);
        Ok(())
    }

    /// Writes what a thread finds in its first registers.
    fn input(&mut self, to: Home, input: Input) {
        let word = |number: u8, dword: u8| [Operand::one(At::Fixed(number, dword * 4), Type::Ud)];
        match input {
            Input::Thread => self.put(Opcode::Mov, to, Type::Ud, &word(0, 1)),
            Input::Word(place) => self.put(Opcode::Mov, to, Type::Ud, &word(1, place)),
            Input::Lane => {
                let words = self.code.home(1);
                let eight = |byte| Elements::apart(At::Home(words, byte), Type::Uw, 2, 8);
                let half = |byte, opcode, sources: &[Operand]| {
                    let to = Target { at: At::Home(words, byte), kind: Type::Uw, stride: 1 };
                    Draft { lanes: 8, no_mask: true, ..Draft::of(opcode, to, sources) }
                };
                self.push(half(0, Opcode::Mov, &[Operand::Number { kind: Type::V, bits: 0x7654_3210 }]));
                let more = Operand::Number { kind: Type::Uw, bits: 8 };
                self.push(half(16, Opcode::Add, &[Operand::Of(eight(0)), more]));
                self.put(Opcode::Mov, to, Type::Ud, &[Operand::Of(Elements { rows: [8, 8, 1], ..eight(0) })]);
            }
            // Replaced by those of threads (`lower_inputs`).
            Input::Group(_) | Input::Local(_) | Input::Groups(_) | Input::Pixel(_) => {}
        }
    }

    /// Writes whether the variable is true for a lane of the quad, whether that is active or not.
    fn lives_in_quad(&mut self, to: Home, variable: Variable) {
        let home = self.variable(variable);
        self.clear_flags();
        let sources = [Operand::lanes(home, Type::D), Operand::Number { kind: Type::D, bits: 0 }];
        self.push(Draft { no_mask: true, ..Draft::compare(Condition::NotZero, Type::D, sources) });
        self.write_truth(to, Predicate::SET_IN_QUAD);
    }
}

/// Returns whether a conversion leaves all bits as they are.
fn keeps_bits(conversion: Conversion, from: Scalar, to: Scalar) -> bool {
    let are_integers = matches!((from, to), (Scalar::Integer { .. }, Scalar::Integer { .. }));
    from.bits() == to.bits() && (conversion == Conversion::Bits || are_integers)
}
