//! Inputs of lanes, from those of their thread: the thread's number, and the dwords of constants.
//!
//! A thread has 16 lanes of one group. A group of more lanes has several threads, and each of a fragment shader's threads has a row of 8
//! pixels by 2.

use std::convert::Infallible;

use crate::Stage;
use crate::ir::walk::with_parts;
use crate::ir::{
    Binary, Comparison, Conversion, End, Input, Node, Operation, Program, Scalar, Surface, Value,
};

/// Lanes of a thread.
pub(crate) const LANES: u32 = 16;
/// Pixels of a thread in a row.
const PIXELS: u32 = 8;
/// The word of the first surface's size.
pub(crate) const FIRST_SIZE: u8 = 3;

const UINT: Scalar = Scalar::Integer { bits: 32, signed: false };

/// Returns the number of threads that a group has.
pub(crate) fn threads(group: [u32; 3]) -> u32 {
    group.into_iter().fold(1, u32::saturating_mul).div_ceil(LANES).max(1)
}

/// Returns the number of threads beside each other that a row of pixels needs.
pub(crate) fn threads_across(width: u32) -> u32 {
    width.div_ceil(PIXELS)
}

/// Returns the number of rows of threads that so many rows of pixels need.
pub(crate) fn threads_down(height: u32) -> u32 {
    height.div_ceil(LANES / PIXELS)
}

/// Replaces the inputs of a program by those that a thread has. Lanes that no group has end first.
pub(crate) fn lower_inputs(program: &mut Program, stage: Stage) {
    let body = std::mem::take(&mut program.body);
    let mut made = Made { program, nodes: Vec::new() };
    let found = match stage {
        Stage::Compute => made.compute(),
        Stage::Fragment => made.fragment(),
    };
    let mut nodes = made.nodes;
    nodes.extend(replaced(body, &found, &mut program.sizes));
    program.body = nodes;
}

/// The inputs of a lane: group, place in it, and groups.
struct Found {
    group: [Value; 3],
    local: [Value; 3],
    groups: [Value; 3],
    pixel: [Value; 2],
}

/// Returns nodes in which inputs are taken from values.
fn replaced(nodes: Vec<Node>, found: &Found, sizes: &mut Vec<Surface>) -> Vec<Node> {
    let one = |node| {
        if let Node::Def(value, operation) = node {
            return Node::Def(value, replacement(operation, found, sizes));
        }
        let Ok(node) = with_parts(node, |part| Ok::<_, Infallible>(replaced(part, found, sizes)));
        node
    };
    nodes.into_iter().map(one).collect()
}

/// Returns an operation in which an input is taken from a value.
fn replacement(operation: Operation, found: &Found, sizes: &mut Vec<Surface>) -> Operation {
    if let Operation::Size(surface) = operation {
        let place = sizes.iter().position(|one| *one == surface).unwrap_or_else(|| {
            sizes.push(surface);
            sizes.len() - 1
        });
        return Operation::Input(Input::Constant(FIRST_SIZE + place as u8));
    }
    let Operation::Input(input) = operation else { return operation };
    let (kind, from) = match input {
        Input::WorkgroupId(way) => (UINT, found.group[usize::from(way)]),
        Input::LocalId(way) => (UINT, found.local[usize::from(way)]),
        Input::NumWorkgroups(way) => (UINT, found.groups[usize::from(way)]),
        Input::FragCoord(way) => (Scalar::Float { bits: 32 }, found.pixel[usize::from(way)]),
        Input::Thread | Input::Lane | Input::Constant(_) => return operation,
    };
    Operation::Convert(Conversion::Bitcast, kind, from)
}

struct Made<'a> {
    program: &'a mut Program,
    nodes: Vec<Node>,
}

impl Made<'_> {
    fn make(&mut self, kind: Scalar, operation: Operation) -> Value {
        let value = self.program.value(kind);
        self.nodes.push(Node::Def(value, operation));
        value
    }

    fn input(&mut self, input: Input) -> Value {
        self.make(UINT, Operation::Input(input))
    }

    fn uint(&mut self, value: u32) -> Value {
        self.make(UINT, Operation::Constant(u64::from(value)))
    }

    fn binary(&mut self, binary: Binary, a: Value, b: Value) -> Value {
        self.make(UINT, Operation::Binary(binary, a, b))
    }

    /// Returns the quotient and the rest.
    fn divide(&mut self, a: Value, b: Value) -> [Value; 2] {
        let signed = false;
        [Binary::Divide { signed }, Binary::Remainder { signed }].map(|binary| self.binary(binary, a, b))
    }

    fn divide_by(&mut self, a: Value, b: u32) -> [Value; 2] {
        if b == 1 {
            return [a, self.uint(0)];
        }
        let b = self.uint(b);
        self.divide(a, b)
    }

    fn end_from(&mut self, end: End, place: Value, limit: Value) {
        let compare = Operation::Compare(Comparison::LessOrEqual { signed: false }, UINT, limit, place);
        let condition = self.make(Scalar::Bool, compare);
        self.nodes.push(Node::End(end, Some(condition)));
    }

    fn compute(&mut self) -> Found {
        let size = self.program.group;
        let lanes = size.into_iter().fold(1, u32::saturating_mul);
        let (thread, lane) = (self.input(Input::Thread), self.input(Input::Lane));
        let groups = [0, 1, 2].map(|word| self.input(Input::Constant(word)));
        let [number, part] = self.divide_by(thread, threads(size));
        let (times, first) = (self.uint(LANES), part);
        let first = self.binary(Binary::Multiply, first, times);
        let place = self.binary(Binary::Add, first, lane);
        if lanes % LANES != 0 {
            let limit = self.uint(lanes);
            self.end_from(End::Return, place, limit);
        }
        let [rest, x] = self.divide_by(place, size[0]);
        let [z, y] = self.divide_by(rest, size[1]);
        let [above, group_x] = self.divide(number, groups[0]);
        let [group_z, group_y] = self.divide(above, groups[1]);
        let zero = self.make(Scalar::Float { bits: 32 }, Operation::Constant(0));
        Found { group: [group_x, group_y, group_z], local: [x, y, z], groups, pixel: [zero; 2] }
    }

    /// The words are the width and the height of the rectangle, and the threads of a row.
    fn fragment(&mut self) -> Found {
        let float = Scalar::Float { bits: 32 };
        let (thread, lane) = (self.input(Input::Thread), self.input(Input::Lane));
        let [width, height, across] = [0, 1, 2].map(|word| self.input(Input::Constant(word)));
        let [row, column] = self.divide(thread, across);
        // Four lanes are a quad of 2 by 2 pixels.
        let [quad, in_quad] = self.divide_by(lane, 4);
        let [down, right] = self.divide_by(in_quad, 2);
        let two = self.uint(2);
        let pixels = self.uint(PIXELS);
        let x = self.binary(Binary::Multiply, column, pixels);
        let of_quad = self.binary(Binary::Multiply, quad, two);
        let x = self.binary(Binary::Add, x, of_quad);
        let x = self.binary(Binary::Add, x, right);
        let y = self.binary(Binary::Multiply, row, two);
        let y = self.binary(Binary::Add, y, down);
        // Pixels outside of the rectangle are there for the derivatives of those inside.
        self.end_from(End::Demote, x, width);
        self.end_from(End::Demote, y, height);
        let zero = self.uint(0);
        let half = self.make(float, Operation::Constant(u64::from(0.5_f32.to_bits())));
        let pixel = [x, y].map(|way| {
            let way = self.make(float, Operation::Convert(Conversion::Unsigned, UINT, way));
            self.make(float, Operation::Binary(Binary::Add, way, half))
        });
        Found { group: [zero; 3], local: [x, y, zero], groups: [width, height, across], pixel }
    }
}
