//! A program as text: an operation a line, with the names that Mesa's NIR has, and parts indented.

use std::fmt::{self, Display, Formatter};

use super::{
    Atomic, Binary, Comparison, Conversion, End, Input, Node, Operation, Program, Scalar, Scope, Surface,
    Unary, Value, Variable,
};

/// The names of directions.
const WAYS: [&str; 3] = ["x", "y", "z"];

impl Display for Program {
    /// Formats the size of a group, the types of variables, and the nodes.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.group;
        writeln!(f, "group {x}x{y}x{z}")?;
        for (number, kind) in (0..).zip(&self.variables) {
            writeln!(f, "var {}: {}", Variable(number), suffix(*kind))?;
        }
        self.print(f, &self.body, 0)
    }
}

impl Program {
    fn print(&self, f: &mut Formatter<'_>, nodes: &[Node], depth: usize) -> fmt::Result {
        let indent = depth * 4;
        for node in nodes {
            write!(f, "{:indent$}", "")?;
            match node {
                Node::Def(value, operation) => {
                    writeln!(f, "{value} = {}", self.operation(self.kind(*value), operation))?;
                }
                Node::StoreVar(variable, value) => writeln!(f, "store_var {variable}, {value}")?,
                Node::Store(surface, offset, value) => {
                    writeln!(f, "store.{} {surface}[{offset}], {value}", suffix(self.kind(*value)))?;
                }
                Node::End(end, None) => writeln!(f, "{end}")?,
                Node::End(end, Some(condition)) => writeln!(f, "{end}_if {condition}")?,
                Node::If(condition, first, second) => {
                    writeln!(f, "if {condition} {{")?;
                    self.parts(f, first, second, "else", depth)?;
                }
                Node::Loop(scope, first, second) => {
                    writeln!(f, "loop {scope} {{")?;
                    self.parts(f, first, second, "continuing", depth)?;
                }
                Node::Block(scope, body) => {
                    writeln!(f, "block {scope} {{")?;
                    self.parts(f, body, &[], "", depth)?;
                }
                Node::Break(scope) => writeln!(f, "break {scope}")?,
                Node::Continue(scope) => writeln!(f, "continue {scope}")?,
            }
        }
        Ok(())
    }

    /// Formats the parts of a node, after the line that opens it; the second one if it has nodes, after its name.
    fn parts(
        &self,
        f: &mut Formatter<'_>,
        first: &[Node],
        second: &[Node],
        name: &str,
        depth: usize,
    ) -> fmt::Result {
        let indent = depth * 4;
        self.print(f, first, depth + 1)?;
        if !second.is_empty() {
            writeln!(f, "{:indent$}}} {name} {{", "")?;
            self.print(f, second, depth + 1)?;
        }
        writeln!(f, "{:indent$}}}", "")
    }

    /// Returns an operation as text, which makes a number of type `kind`.
    fn operation(&self, kind: Scalar, operation: &Operation) -> String {
        let of = suffix(kind);
        match *operation {
            Operation::Constant(bits) => format!("const.{of} {}", constant(kind, bits)),
            Operation::Input(input) => format!("input.{of} {input}"),
            Operation::Unary(unary, a) => format!("{}.{of} {a}", unary_name(kind, unary)),
            Operation::Binary(binary, a, b) => format!("{}.{of} {a}, {b}", binary_name(kind, binary)),
            Operation::Fma(a, b, c) => format!("ffma.{of} {a}, {b}, {c}"),
            Operation::Compare(comparison, kind, a, b) => {
                format!("{}.{} {a}, {b}", comparison_name(kind, comparison), suffix(kind))
            }
            Operation::Select(condition, a, b) => format!("bcsel.{of} {condition}, {a}, {b}"),
            Operation::Convert(conversion, _, a) => format!("{}.{of} {a}", conversion_name(kind, conversion)),
            Operation::LoadVar(variable) => format!("load_var.{of} {variable}"),
            Operation::Load(surface, offset) => format!("load.{of} {surface}[{offset}]"),
            Operation::Size(surface) => format!("size.{of} {surface}"),
            Operation::Atomic(atomic, surface, offset, operand) => {
                let expected = match atomic {
                    Atomic::CompareExchange(expected) => format!(", {expected}"),
                    Atomic::Add
                    | Atomic::Minimum { .. }
                    | Atomic::Maximum { .. }
                    | Atomic::And
                    | Atomic::Or
                    | Atomic::Xor
                    | Atomic::Exchange => String::new(),
                };
                format!("atomic_{}.{of} {surface}[{offset}]{expected}, {operand}", atomic_name(atomic))
            }
            Operation::Derivative(way, a) => format!("fdd{}.{of} {a}", way_name(way)),
            Operation::QuadAny(variable) => format!("quad_any.{of} {variable}"),
        }
    }
}

/// Returns the name of a type after that of an operation: `u32`, `f16`, `bool`.
fn suffix(kind: Scalar) -> String {
    match kind {
        Scalar::Bool => "bool".to_owned(),
        Scalar::Integer { bits, signed: true } => format!("i{bits}"),
        Scalar::Integer { bits, signed: false } => format!("u{bits}"),
        Scalar::Float { bits } => format!("f{bits}"),
    }
}

/// Returns the letter before an operation's name.
fn letter(kind: Scalar, signed: bool) -> char {
    match (kind, signed) {
        (Scalar::Float { .. }, _) => 'f',
        (Scalar::Bool | Scalar::Integer { .. }, true) => 'i',
        (Scalar::Bool | Scalar::Integer { .. }, false) => 'u',
    }
}

fn way_name(way: u8) -> &'static str {
    WAYS.get(usize::from(way)).copied().unwrap_or("?")
}

fn constant(kind: Scalar, bits: u64) -> String {
    match kind {
        Scalar::Bool => (bits != 0).to_string(),
        Scalar::Float { bits: 32 } => format!("{bits:#x} ({:?})", f32::from_bits(bits as u32)),
        Scalar::Float { bits: 64 } => format!("{bits:#x} ({:?})", f64::from_bits(bits)),
        Scalar::Integer { .. } | Scalar::Float { .. } => format!("{bits:#x}"),
    }
}

fn unary_name(kind: Scalar, unary: Unary) -> String {
    let (plain, either) = (|name: &str| name.to_owned(), |name| format!("{}{name}", letter(kind, true)));
    match unary {
        Unary::Negate => either("neg"),
        Unary::Absolute => either("abs"),
        Unary::Not => plain("inot"),
        Unary::Floor => plain("ffloor"),
        Unary::Ceil => plain("fceil"),
        Unary::Truncate => plain("ftrunc"),
        Unary::Round => plain("fround_even"),
        Unary::BitCount => plain("bit_count"),
        Unary::LowestBit => plain("find_lsb"),
        Unary::HighestBit => plain("ufind_msb"),
        Unary::BitReverse => plain("bitfield_reverse"),
        Unary::Sqrt => plain("fsqrt"),
        Unary::Rsqrt => plain("frsq"),
        Unary::Exp2 => plain("fexp2"),
        Unary::Log2 => plain("flog2"),
        Unary::Sine => plain("fsin"),
        Unary::Cosine => plain("fcos"),
    }
}

fn binary_name(kind: Scalar, binary: Binary) -> String {
    let named = |signed, name| format!("{}{name}", letter(kind, signed));
    match binary {
        Binary::Add => named(true, "add"),
        Binary::Subtract => named(true, "sub"),
        Binary::Multiply => named(true, "mul"),
        Binary::MultiplyHigh { signed } => named(signed, "mul_high"),
        Binary::Divide { signed } => named(signed, "div"),
        Binary::Remainder { signed } => named(signed, "rem"),
        Binary::Minimum { signed } => named(signed, "min"),
        Binary::Maximum { signed } => named(signed, "max"),
        Binary::And => named(true, "and"),
        Binary::Or => named(true, "or"),
        Binary::Xor => named(true, "xor"),
        Binary::ShiftLeft => named(true, "shl"),
        Binary::ShiftRight { signed } => named(signed, "shr"),
    }
}

fn comparison_name(kind: Scalar, comparison: Comparison) -> String {
    let is_float = matches!(kind, Scalar::Float { .. });
    match comparison {
        Comparison::Equal => format!("{}eq", letter(kind, true)),
        // Also true if one is not a number: unordered.
        Comparison::Unequal => (if is_float { "fneu" } else { "ine" }).to_owned(),
        Comparison::Less { signed } => format!("{}lt", letter(kind, signed)),
        Comparison::LessOrEqual { signed } => format!("{}le", letter(kind, signed)),
    }
}

/// Returns the name of a conversion to a type: `u2f`.
fn conversion_name(to: Scalar, conversion: Conversion) -> String {
    let (from, signed) = match conversion {
        Conversion::Bitcast => return "bitcast".to_owned(),
        Conversion::Signed => ('i', true),
        Conversion::Unsigned => ('u', false),
        Conversion::Float => ('f', true),
        Conversion::FloatToUnsigned => ('f', false),
    };
    format!("{from}2{}", letter(to, signed))
}

fn atomic_name(atomic: Atomic) -> &'static str {
    match atomic {
        Atomic::Add => "add",
        Atomic::Minimum { signed: true } => "imin",
        Atomic::Minimum { signed: false } => "umin",
        Atomic::Maximum { signed: true } => "imax",
        Atomic::Maximum { signed: false } => "umax",
        Atomic::And => "and",
        Atomic::Or => "or",
        Atomic::Xor => "xor",
        Atomic::Exchange => "xchg",
        Atomic::CompareExchange(_) => "cmpxchg",
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl Display for Variable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl Display for Scope {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl Display for Surface {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "surface{}", self.0)
    }
}

impl Display for End {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Return => "return",
            Self::Kill => "kill",
            Self::Demote => "demote",
        })
    }
}

impl Display for Input {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WorkgroupId(way) => write!(f, "workgroup_id.{}", way_name(way)),
            Self::LocalId(way) => write!(f, "local_id.{}", way_name(way)),
            Self::NumWorkgroups(way) => write!(f, "num_workgroups.{}", way_name(way)),
            Self::FragCoord(way) => write!(f, "frag_coord.{}", way_name(way)),
            Self::Thread => f.write_str("thread"),
            Self::Lane => f.write_str("lane"),
            Self::Constant(place) => write!(f, "constant{place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UINT: Scalar = Scalar::Integer { bits: 32, signed: false };
    const FLOAT: Scalar = Scalar::Float { bits: 32 };

    fn def(program: &mut Program, kind: Scalar, operation: Operation) -> (Value, Node) {
        let value = program.value(kind);
        (value, Node::Def(value, operation))
    }

    #[test]
    fn a_program_has_an_operation_a_line_and_parts_are_indented() {
        let mut p = Program { group: [16, 1, 1], ..Program::default() };
        let (variable, scope) = (p.variable(FLOAT), p.scope());
        let (lane, input) = def(&mut p, UINT, Operation::Input(Input::Lane));
        let (four, constant) = def(&mut p, UINT, Operation::Constant(4));
        let (offset, multiply) = def(&mut p, UINT, Operation::Binary(Binary::Multiply, lane, four));
        let (loaded, load) = def(&mut p, FLOAT, Operation::Load(Surface(0), offset));
        let (one, one_node) = def(&mut p, FLOAT, Operation::Constant(u64::from(1.0_f32.to_bits())));
        let (sum, add) = def(&mut p, FLOAT, Operation::Binary(Binary::Add, loaded, one));
        let less = Operation::Compare(Comparison::Less { signed: false }, UINT, lane, four);
        let (is_less, compare) = def(&mut p, Scalar::Bool, less);
        let (read, get) = def(&mut p, FLOAT, Operation::LoadVar(variable));
        let (number, convert) =
            def(&mut p, UINT, Operation::Convert(Conversion::FloatToUnsigned, FLOAT, read));
        let (_, atomic) = def(&mut p, UINT, Operation::Atomic(Atomic::Add, Surface(2), offset, number));
        let stop = Node::If(is_less, vec![Node::Break(scope)], vec![Node::StoreVar(variable, sum)]);
        p.body = vec![input, constant, multiply, compare, Node::End(End::Return, Some(is_less))];
        p.body.push(Node::Loop(scope, vec![load, one_node, add, stop], vec![get]));
        p.body.extend([convert, atomic, Node::Store(Surface(1), offset, read)]);
        assert_eq!(
            p.to_string(),
            "\
group 16x1x1
var v0: f32
%0 = input.u32 lane
%1 = const.u32 0x4
%2 = imul.u32 %0, %1
%6 = ult.u32 %0, %1
return_if %6
loop s0 {
    %3 = load.f32 surface0[%2]
    %4 = const.f32 0x3f800000 (1.0)
    %5 = fadd.f32 %3, %4
    if %6 {
        break s0
    } else {
        store_var v0, %5
    }
} continuing {
    %7 = load_var.f32 v0
}
%8 = f2u.u32 %7
%9 = atomic_add.u32 surface2[%2], %8
store.f32 surface1[%2], %7
"
        );
    }

    #[test]
    fn the_sign_of_integers_is_in_the_name_of_an_operation() {
        let names = |kind| {
            [false, true].map(|signed| {
                [
                    binary_name(kind, Binary::Divide { signed }),
                    comparison_name(kind, Comparison::LessOrEqual { signed }),
                ]
            })
        };
        assert_eq!(names(UINT), [["udiv", "ule"], ["idiv", "ile"]]);
        assert_eq!(names(FLOAT), [["fdiv", "fle"], ["fdiv", "fle"]]);
        assert_eq!(comparison_name(FLOAT, Comparison::Unequal), "fneu");
        assert_eq!(conversion_name(FLOAT, Conversion::Unsigned), "u2f");
    }
}
