//! Mutants of numbers: comparisons, arithmetic, literals, constants.

// Most kinds of operators are none of these, and syn may add more.
#![allow(clippy::wildcard_enum_match_arm)]

use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprBinary, Item};

use super::site::{Finder, span};

/// The functions that stand for operators and numbers. They follow [`super::SELECTOR`] in its file.
pub const SELECTOR_OF_NUMBERS: &str = r#"
use std::ops::{Add, Div, Mul, Rem, Sub};

/// The number, or the next one.
pub(crate) fn number<T: Add<Output = T> + From<u8>>(number: u32, value: T) -> T {
    if is(number) { value + T::from(1) } else { value }
}

/// `<`; or `>=` (`first`), or `<=` (the number after it).
pub(crate) fn less<T: PartialOrd>(first: u32, left: T, right: T) -> bool {
    if is(first) { left >= right } else if is(first + 1) { left <= right } else { left < right }
}

/// `<=`; or `>`, or `<`.
pub(crate) fn at_most<T: PartialOrd>(first: u32, left: T, right: T) -> bool {
    if is(first) { left > right } else if is(first + 1) { left < right } else { left <= right }
}

/// `>`; or `<=`, or `>=`.
pub(crate) fn greater<T: PartialOrd>(first: u32, left: T, right: T) -> bool {
    if is(first) { left <= right } else if is(first + 1) { left >= right } else { left > right }
}

/// `>=`; or `<`, or `>`.
pub(crate) fn at_least<T: PartialOrd>(first: u32, left: T, right: T) -> bool {
    if is(first) { left < right } else if is(first + 1) { left > right } else { left >= right }
}

/// `+`, or `-`.
pub(crate) fn plus<T: Add<Output = T> + Sub<Output = T>>(number: u32, left: T, right: T) -> T {
    if is(number) { left - right } else { left + right }
}

/// `-`, or `+`.
pub(crate) fn minus<T: Add<Output = T> + Sub<Output = T>>(number: u32, left: T, right: T) -> T {
    if is(number) { left + right } else { left - right }
}

/// `*`, or `+`.
pub(crate) fn times<T: Add<Output = T> + Mul<Output = T>>(number: u32, left: T, right: T) -> T {
    if is(number) { left + right } else { left * right }
}

/// `/`, or `*`; of a reference, too.
pub(crate) fn over<L: Div<T, Output = T> + Mul<T, Output = T>, T>(number: u32, left: L, right: T) -> T {
    if is(number) { left * right } else { left / right }
}

/// `%`, or `/`.
pub(crate) fn rest<T: Div<Output = T> + Rem<Output = T>>(number: u32, left: T, right: T) -> T {
    if is(number) { left / right } else { left % right }
}
"#;

/// The types of constants whose uses have mutants.
const INTEGERS: [&str; 4] = ["u8", "u32", "usize", "i32"];

/// Returns the names of a file's integer constants.
///
/// # Errors
/// Text that is no Rust.
pub fn integer_constants(text: &str) -> syn::Result<Vec<String>> {
    let integer = |item: Item| match item {
        Item::Const(item) => {
            let kind = &text[item.ty.span().byte_range()];
            INTEGERS.contains(&kind).then(|| item.ident.to_string())
        }
        _ => None,
    };
    Ok(syn::parse_file(text)?.items.into_iter().filter_map(integer).collect())
}

impl Finder<'_> {
    /// Plants another operator in the place of a comparison or an operation; returns whether there is one.
    pub(super) fn operator(&mut self, expr: &Expr, binary: &ExprBinary) -> bool {
        let (name, others): (_, &[_]) = match binary.op {
            BinOp::Lt(_) => ("less", &[">=", "<="]),
            BinOp::Le(_) => ("at_most", &[">", "<"]),
            BinOp::Gt(_) => ("greater", &["<=", ">="]),
            BinOp::Ge(_) => ("at_least", &["<", ">"]),
            BinOp::Add(_) => ("plus", &["-"]),
            BinOp::Sub(_) => ("minus", &["+"]),
            BinOp::Mul(_) => ("times", &["+"]),
            BinOp::Div(_) => ("over", &["*"]),
            BinOp::Rem(_) => ("rest", &["/"]),
            _ => return false,
        };
        let range = span(expr);
        let source = self.source(range.clone());
        let numbers: Vec<u32> =
            others.iter().map(|other| self.add(format!("`{source}`: `{other}`"))).collect();
        self.edits.wrap(range, format!("crate::mutant::{name}({}, ", numbers[0]), ")");
        self.edits.replace(binary.op.span().byte_range(), ",");
        true
    }

    /// Plants the next number in the place of a literal, or of a constant with one of these names.
    pub(super) fn number(&mut self, expr: &Expr, constants: &[String]) {
        let is_number = match expr {
            Expr::Lit(literal) => matches!(literal.lit, syn::Lit::Int(_)),
            Expr::Path(path) => constants.iter().any(|name| path.path.is_ident(name)),
            _ => false,
        };
        if is_number {
            let range = span(expr);
            let number = self.add(format!("`{}` + 1", self.source(range.clone())));
            self.edits.wrap(range, format!("crate::mutant::number({number}, "), ")");
        }
    }
}
