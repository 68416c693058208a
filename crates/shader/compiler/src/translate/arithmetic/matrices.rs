//! Vectors and matrices as factors.

use std::collections::HashMap;

use rspirv::dr;
use rspirv::spirv::{GlslStd450Op as Glsl, Op};

use crate::Error;
use crate::ir::{Binary, Operation, Unary, Value};
use crate::spirv::types::{Type, malformed};
use crate::translate::Translator;
use crate::translate::values::data::Data;

impl Translator<'_> {
    /// Translates the product of vectors that is a number.
    pub(in crate::translate) fn dot(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (a, b) = (self.operand(one, 0)?, self.operand(one, 1)?);
        Ok(vec![self.inner_product(one, &a, &b)?])
    }

    /// Returns the number of columns of an operand, a vector's being 1.
    fn columns(&self, one: &dr::Instruction, place: usize) -> Result<usize, Error> {
        match self.globals.types.get(&self.type_of(one, place)?) {
            Some(Type::Matrix { count, .. }) => Ok(*count as usize),
            _ => Ok(1),
        }
    }

    /// Multiplies matrices. A vector on the left is a row, and one on the right a column.
    pub(in crate::translate) fn product(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (left, right) = (self.operand(one, 0)?, self.operand(one, 1)?);
        let is_row = one.class.opcode == Op::VectorTimesMatrix;
        let inner = if is_row { left.len() } else { self.columns(one, 0)? };
        let columns = self.columns(one, 1)?;
        if inner == 0 || left.len() % inner != 0 || right.len() != inner * columns {
            return Err(malformed(one, "its operands have sizes that do not fit"));
        }
        let rows = left.len() / inner;
        let mut data = Data::new();
        for column in 0..columns {
            for row in 0..rows {
                let products = (0..inner).map(|place| {
                    let (a, b) = (left[place * rows + row], right[column * inner + place]);
                    let kind = self.program.kind(a);
                    self.make(kind, Operation::Binary(Binary::Multiply, a, b))
                });
                let products = products.collect::<Result<_, _>>()?;
                data.push(self.reduce(one, products, Binary::Add)?);
            }
        }
        Ok(data)
    }

    /// Makes rows of columns.
    pub(in crate::translate) fn transpose(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let data = self.operand(one, 0)?;
        let columns = self.columns(one, 0)?;
        let rows = data.len() / columns;
        if rows * columns != data.len() {
            return Err(malformed(one, "its operand has no such columns"));
        }
        Ok((0..data.len()).map(|place| data[place % columns * rows + place / columns]).collect())
    }

    /// Multiplies a column and a row: a matrix.
    pub(in crate::translate) fn outer_product(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (column, row) = (self.operand(one, 0)?, self.operand(one, 1)?);
        let mut data = Data::new();
        for right in row {
            for left in &column {
                data.push(self.binary(Binary::Multiply, *left, right)?);
            }
        }
        Ok(data)
    }

    /// Returns the determinant or the inverse of a matrix; none if the function is another one.
    pub(in crate::translate) fn square_matrix(
        &mut self,
        one: &dr::Instruction,
        function: Glsl,
    ) -> Result<Option<Data>, Error> {
        if !matches!(function, Glsl::Determinant | Glsl::MatrixInverse) {
            return Ok(None);
        }
        let (data, size) = (self.operand(one, 2)?, self.columns(one, 2)?);
        if size < 2 || data.len() != size * size {
            return Err(malformed(one, "its operand is no square matrix"));
        }
        let all = (1 << size) - 1;
        let mut minors = Minors { data, size, known: HashMap::new() };
        let determinant = self.minor(one, &mut minors, all, all)?;
        if function == Glsl::Determinant {
            return Ok(Some(vec![determinant]));
        }
        let unit = self.real(self.program.kind(determinant), 1.0)?;
        let scale = self.binary(Binary::Divide { signed: false }, unit, determinant)?;
        let minus = self.unary(Unary::Negate, scale)?;
        let mut inverse = Data::new();
        for (column, row) in (0..size).flat_map(|column| (0..size).map(move |row| (column, row))) {
            // The matrix without the row and the column of the element at the mirrored place.
            let minor = self.minor(one, &mut minors, all & !(1 << row), all & !(1 << column))?;
            let scale = if (column + row) % 2 == 0 { scale } else { minus };
            inverse.push(self.binary(Binary::Multiply, minor, scale)?);
        }
        Ok(Some(inverse))
    }

    /// Returns the determinant of a part of a matrix: the products of the elements of its first column and their minors, added and
    /// subtracted in turn.
    fn minor(
        &mut self,
        one: &dr::Instruction,
        of: &mut Minors,
        columns: u8,
        rows: u8,
    ) -> Result<Value, Error> {
        if let Some(known) = of.known.get(&(columns, rows)) {
            return Ok(*known);
        }
        let first = columns.trailing_zeros() as usize;
        let rest = columns & !(1 << first);
        let mut sum = None;
        for (place, row) in (0..of.size).filter(|row| rows >> row & 1 == 1).enumerate() {
            let element = of.data[first * of.size + row];
            let product = if rest == 0 {
                element
            } else {
                let minor = self.minor(one, of, rest, rows & !(1 << row))?;
                self.binary(Binary::Multiply, element, minor)?
            };
            sum = Some(match sum {
                None => product,
                Some(sum) if place % 2 == 0 => self.binary(Binary::Add, sum, product)?,
                Some(sum) => self.binary(Binary::Subtract, sum, product)?,
            });
        }
        let sum = sum.ok_or_else(|| malformed(one, "a matrix has no rows"))?;
        of.known.insert((columns, rows), sum);
        Ok(sum)
    }
}

/// The determinants of a matrix's parts.
#[derive(Debug)]
struct Minors {
    /// The numbers of the matrix, column by column.
    data: Data,
    /// The number of its columns, and of its rows.
    size: usize,
    /// Those that are there, by the bits of their columns and rows.
    known: HashMap<(u8, u8), Value>,
}
