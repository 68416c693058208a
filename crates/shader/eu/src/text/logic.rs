//! The function of `bfn`: its truth table as a number, or as an expression of the sources.

use super::cursor::{Cursor, SyntaxError};

/// The operands of expressions, and their truth tables.
static OPERANDS: [(&str, u8); 5] =
    [("s0", 0xaa), ("s1", 0xcc), ("s2", 0xf0), ("zeros", 0x00), ("ones", 0xff)];

/// An operator of two operands: its name, and the table of its result.
type Operator = (&'static str, fn(u8, u8) -> u8);

/// The operators, those that bind least first.
static OPERATORS: [Operator; 3] =
    [("|", |left, right| left | right), ("^", |left, right| left ^ right), ("&", |left, right| left & right)];

/// Parentheses and negations in each other, at most.
const DEPTH: u32 = 16;

/// Reads a function; returns its truth table.
pub(super) fn function(cursor: &mut Cursor<'_>) -> Result<u8, SyntaxError> {
    if cursor.peek() == Some('(') { factor(cursor, DEPTH) } else { cursor.number() }
}

/// Reads operands with operators between them, of the first ones that are left or such as bind more.
fn expression(cursor: &mut Cursor<'_>, depth: u32, operators: &[Operator]) -> Result<u8, SyntaxError> {
    let Some(((name, operate), others)) = operators.split_first() else { return factor(cursor, depth) };
    let mut table = expression(cursor, depth, others)?;
    while cursor.eat(name) {
        table = operate(table, expression(cursor, depth, others)?);
    }
    Ok(table)
}

fn factor(cursor: &mut Cursor<'_>, depth: u32) -> Result<u8, SyntaxError> {
    let depth = depth.checked_sub(1).ok_or_else(|| cursor.error("is too deep in the function"))?;
    if cursor.eat("~") {
        return factor(cursor, depth).map(|table| !table);
    }
    if cursor.eat("(") {
        let table = expression(cursor, depth, &OPERATORS)?;
        cursor.expect(")", "is no operator, nor ')', of the function")?;
        return Ok(table);
    }
    cursor.known("is no operand of the function", |word| {
        OPERANDS.iter().find(|operand| operand.0 == word).map(|operand| operand.1)
    })
}
