//! Shaders at random, the same ones each time: nested control flow over integers of several widths.
//!
//! Each one has defined results: variables are initialized, shifts and indices are in range, divisors are not zero, loops are counted,
//! and a lane accesses only its own elements of the buffer that it stores in.

use gem_shader_compiler::Stage;

use crate::patterns::Random;

/// A type of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    name: &'static str,
    bits: u64,
    signed: bool,
}

const INT: Kind = Kind { name: "int", bits: 32, signed: true };
const UINT: Kind = Kind { name: "uint", bits: 32, signed: false };
/// Types beside those, of which a shader has one.
const OTHERS: [Kind; 6] = [
    Kind { name: "int8_t", bits: 8, signed: true },
    Kind { name: "uint8_t", bits: 8, signed: false },
    Kind { name: "int16_t", bits: 16, signed: true },
    Kind { name: "uint16_t", bits: 16, signed: false },
    Kind { name: "int64_t", bits: 64, signed: true },
    Kind { name: "uint64_t", bits: 64, signed: false },
];

/// Elements of the buffer that each lane stores in.
const OWN: u64 = 8;
/// Statements of a function.
const STATEMENTS: usize = 9;
/// Deepest nesting of statements.
const DEEPEST: usize = 4;

/// Returns the text of the shader of a seed.
pub fn shader(seed: u64, stage: Stage) -> String {
    let mut random = Random::new(seed);
    let other = *random.choice(&OTHERS);
    let demotes = stage == Stage::Fragment && random.below(3) == 0;
    let mut writer = Writer {
        random,
        stage,
        kinds: [INT, UINT, other],
        demotes,
        text: String::new(),
        counters: 0,
        left: 0,
    };
    writer.write(seed);
    writer.text
}

/// The statements around one, which it may leave.
#[derive(Clone, Copy, Debug)]
struct Within {
    depth: usize,
    in_loop: bool,
    in_switch: bool,
    in_main: bool,
}

struct Writer {
    random: Random,
    stage: Stage,
    kinds: [Kind; 3],
    /// Pixels are demoted, not discarded.
    demotes: bool,
    text: String,
    /// Counters of loops that are declared.
    counters: usize,
    /// Statements that may follow.
    left: usize,
}

impl Writer {
    fn line(&mut self, within: Within, text: &str) {
        self.text += &"    ".repeat(within.depth + 1);
        self.text += text;
        self.text.push('\n');
    }

    fn write(&mut self, seed: u64) {
        let other = self.kinds[2];
        self.text += &format!("#version 450\n// Control flow at random, of seed {seed}.\n");
        self.text += match self.stage {
            Stage::Compute => "// dispatch: 3 1 1\n",
            Stage::Fragment => {
                "// pixels: 12 4\n// input 0: ivec4 ints\n// input 1: uvec4 small\n// output 0: ivec4\n"
            }
        };
        self.text += &format!("// surface 0 0: 256 ints\n// surface 0 1: {} small\n", 48 * OWN * 4);
        self.text += &format!("// needs: int{}\n// refused: registers are not enough\n", other.bits);
        self.text +=
            &format!("#extension GL_EXT_shader_explicit_arithmetic_types_int{} : require\n", other.bits);
        if self.demotes {
            self.text += "#extension GL_EXT_demote_to_helper_invocation : require\n";
        }
        self.text += match self.stage {
            Stage::Compute => "layout(local_size_x = 16) in;\n",
            Stage::Fragment => {
                "layout(location = 0) flat in ivec4 value;\nlayout(location = 1) flat in uvec4 bits;\n\
                 layout(location = 0) out ivec4 color;\n"
            }
        };
        self.text += "layout(set = 0, binding = 0) readonly buffer Input { int a[]; };\n";
        self.text += "layout(set = 0, binding = 1) buffer Memory { int r[]; };\n";
        self.text += "int g = 3;\nuint first;\n\n";
        self.text += "int f(int x, inout uint y) {\n";
        self.variables("x", "y");
        self.body(false);
        self.text += "    y = w0;\n    return v0 ^ v1;\n}\n\nvoid main() {\n";
        let place = match self.stage {
            Stage::Compute => "gl_GlobalInvocationID.x",
            Stage::Fragment => "uint(gl_FragCoord.y) * 12u + uint(gl_FragCoord.x)",
        };
        self.text += &format!("    first = ({place}) * {OWN}u;\n");
        match self.stage {
            Stage::Compute => self.variables("a[(first / 8u) & 63u]", "first"),
            Stage::Fragment => {
                self.text += "    color = value.wzyx;\n";
                self.variables("value.x", "bits.y");
            }
        }
        self.body(true);
        self.text +=
            "    r[first] += v0 ^ v1 ^ int(w0 * 3u) ^ int(w1) ^ int(z0) ^ int(z1) ^ t[1] ^ t[3] ^ g;\n";
        if self.stage == Stage::Fragment {
            self.text += "    color.w ^= v0 + int(w1);\n";
        }
        self.text += "}\n";
    }

    /// Declares the variables of a function.
    fn variables(&mut self, int: &str, uint: &str) {
        let other = self.kinds[2].name;
        self.text += &format!("    int v0 = {int}, v1 = 7;\n    uint w0 = {uint}, w1 = 100u;\n");
        self.text += &format!("    {other} z0 = {other}(v0), z1 = {other}(w0 + 77u);\n");
        self.text += "    int t[4] = int[](1, v0, 3, v0 >> 4);\n";
    }

    fn body(&mut self, in_main: bool) {
        self.left = STATEMENTS;
        let within = Within { depth: 0, in_loop: false, in_switch: false, in_main };
        while self.left > 0 {
            self.statement(within);
        }
    }

    /// Writes some statements, one level deeper.
    fn block(&mut self, within: Within) {
        let within = Within { depth: within.depth + 1, ..within };
        for _ in 0..=self.random.below(3) {
            self.statement(within);
        }
    }

    fn statement(&mut self, within: Within) {
        self.left = self.left.saturating_sub(1);
        if within.depth >= DEEPEST || self.left == 0 {
            return self.assignment(within);
        }
        match self.random.below(12) {
            0..4 => self.assignment(within),
            4 | 5 => self.selection(within),
            6 | 7 => self.repetition(within),
            8 => self.switch(within),
            9 | 10 => self.exit(within),
            _ if within.in_main => {
                let argument = self.expression(INT, 1);
                self.line(within, &format!("v1 += f({argument}, w0);"));
            }
            _ => self.assignment(within),
        }
    }

    fn assignment(&mut self, within: Within) {
        let text = match self.random.below(8) {
            0 => {
                let (index, value) = (self.expression(UINT, 1), self.expression(INT, 2));
                format!("t[({index}) & 3u] = {value};")
            }
            1 => {
                let (index, value) = (self.expression(UINT, 1), self.expression(INT, 2));
                format!("r[first + (({index}) & 7u)] = {value};")
            }
            2 => format!("g += {};", self.expression(INT, 1)),
            3 if self.stage == Stage::Fragment => {
                let component = self.random.choice(&["x", "y", "z"]);
                format!("color.{component} = {};", self.expression(INT, 2))
            }
            _ => {
                let kind = *self.random.choice(&self.kinds.clone());
                let (variable, value) = (self.variable(kind), self.expression(kind, 3));
                format!("{variable} = {value};")
            }
        };
        self.line(within, &text);
    }

    fn selection(&mut self, within: Within) {
        let condition = self.condition(2);
        self.line(within, &format!("if ({condition}) {{"));
        self.block(within);
        if self.random.below(2) == 0 {
            self.line(within, "} else {");
            self.block(within);
        }
        self.line(within, "}");
    }

    fn repetition(&mut self, within: Within) {
        self.counters += 1;
        let (counter, limit) = (format!("k{}", self.counters), 1 + self.random.below(4));
        let condition = self.condition(1);
        let inner = Within { in_loop: true, in_switch: false, ..within };
        match self.random.below(3) {
            0 => {
                self.line(within, &format!("for (int {counter} = 0; {counter} < {limit}; {counter}++) {{"));
                self.block(inner);
                self.line(within, "}");
            }
            1 => {
                self.line(within, &format!("int {counter} = 0;"));
                self.line(within, &format!("while ({counter}++ < {limit} && ({condition})) {{"));
                self.block(inner);
                self.line(within, "}");
            }
            _ => {
                self.line(within, &format!("int {counter} = 0;"));
                self.line(within, "do {");
                // In Mesa 22.3, a lane that leaves a loop finds zeroes in place of what it loaded there, if the loop has no exit before.
                self.line(within, "    if (v0 == 1234567) {");
                self.line(within, "        break;");
                self.line(within, "    }");
                self.block(inner);
                self.line(within, &format!("}} while (++{counter} < {limit} && ({condition}));"));
            }
        }
    }

    fn switch(&mut self, within: Within) {
        let selector = self.expression(INT, 1);
        self.line(within, &format!("switch (({selector}) & 3) {{"));
        let inner = Within { in_switch: true, ..within };
        for label in
            ["case 0:", "case 2:", "default:", "case 3:"].iter().take(2 + self.random.below(3) as usize)
        {
            self.line(within, label);
            self.block(inner);
            if self.random.below(3) > 0 {
                self.line(within, "    break;");
            }
        }
        self.line(within, "    v1 ^= 1;");
        self.line(within, "}");
    }

    /// Writes a conditional exit from a loop, a switch, a function, or of the lane.
    fn exit(&mut self, within: Within) {
        let condition = self.condition(2);
        let fragment = self.stage == Stage::Fragment;
        let exit = match self.random.below(5) {
            0 if within.in_loop || within.in_switch => "break;".to_owned(),
            1 | 2 if within.in_loop => "continue;".to_owned(),
            3 if fragment && self.demotes => "demote;".to_owned(),
            3 | 4 if fragment => "discard;".to_owned(),
            _ if within.in_main => "return;".to_owned(),
            _ => format!("return {};", self.expression(INT, 1)),
        };
        self.line(within, &format!("if ({condition}) {{"));
        self.line(Within { depth: within.depth + 1, ..within }, &exit);
        self.line(within, "}");
    }

    fn variable(&mut self, kind: Kind) -> String {
        let place = self.kinds.iter().position(|one| *one == kind).unwrap_or_default();
        format!("{}{}", ["v", "w", "z"][place], self.random.below(2))
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.below(3) == 0 {
            let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
            let operator = self.random.choice(&["&&", "||", "^^"]);
            return format!("({a}) {operator} !({b})");
        }
        let kind = *self.random.choice(&self.kinds.clone());
        let (a, b) = (self.expression(kind, 1), self.expression(kind, 1));
        let operator = self.random.choice(&["<", "<=", ">", ">=", "==", "!="]);
        format!("{a} {operator} {b}")
    }

    fn expression(&mut self, kind: Kind, depth: usize) -> String {
        let name = kind.name;
        if depth == 0 || self.random.below(5) == 0 {
            return self.leaf(kind);
        }
        let (a, b) = (self.expression(kind, depth - 1), self.expression(kind, depth - 1));
        match self.random.below(14) {
            operator @ 0..6 => format!("({a} {} {b})", ["+", "-", "*", "&", "|", "^"][operator as usize]),
            6 => format!("({a} << {})", self.random.below(kind.bits)),
            7 => format!("({a} >> {})", self.random.below(kind.bits)),
            8 => format!("min({a}, {b})"),
            9 => format!("max({a}, {b})"),
            10 => format!("({} ? {a} : {b})", self.condition(0)),
            11 if !kind.signed && kind.bits < 64 => format!("({a} / ({b} | {name}(1)))"),
            12 if !kind.signed && kind.bits < 64 => format!("({a} % max({b}, {name}(1)))"),
            _ => format!("(~{a})"),
        }
    }

    fn leaf(&mut self, kind: Kind) -> String {
        let name = kind.name;
        match self.random.below(8) {
            // Mesa 22.3 compares constants of 64 bits with integers that are converted to 64 bits wrongly.
            0 | 1 if kind.bits == 64 => {
                format!("{name}({} + {})", self.variable(INT), self.random.below(1 << 20))
            }
            0 | 1 => format!(
                "{name}({})",
                self.random.below(1 << kind.bits.min(20)) as i64 - i64::from(kind.signed) * 9
            ),
            2 => {
                let from = *self.random.choice(&self.kinds.clone());
                format!("{name}({})", self.variable(from))
            }
            3 => format!("{name}(t[{} & 3u])", self.variable(UINT)),
            4 => format!("{name}(a[{} & 63u])", self.variable(UINT)),
            5 => format!("{name}(r[first + {}u])", self.random.below(OWN)),
            _ => self.variable(kind),
        }
    }
}
