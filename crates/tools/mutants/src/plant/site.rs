//! Where a mutant can be: conditions, operators, arms, statements.

// Most kinds of expressions are none of these, and syn may add more.
#![allow(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeSet;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Expr, ImplItemFn, ItemFn, ItemImpl, ItemMod, Pat, Stmt, UnOp};

use super::Mutant;
use super::edits::Edits;

/// Types that decide nothing: they look up decisions that were made already, or keep effects.
const NO_RULES: &[&str] = &["DecisionTable", "Effects"];
/// Calls that only name a reason.
const NAMES_A_REASON: &[&str] = &["skip"];

/// Constants, and what each is mistaken for.
const PAIRS: &[(&str, &str)] = &[
    ("Access::Read", "Access::Write"),
    ("Access::Write", "Access::Read"),
    ("Force::No", "Force::Yes"),
    ("Force::Yes", "Force::No"),
    ("When::Sync", "When::Async"),
    ("When::Async", "When::Sync"),
    ("LineOp::WriteBack", "LineOp::Flush"),
    ("LineOp::Flush", "LineOp::WriteBack"),
    ("StaleLines::Invalidate", "StaleLines::Leave"),
    ("StaleLines::Leave", "StaleLines::Invalidate"),
    ("Note::WcStores", "Note::GttStores"),
    ("Note::GttStores", "Note::WcStores"),
    ("Marks::Own", "Marks::Shared"),
    ("Marks::Shared", "Marks::Own"),
    ("Ordering::Acquire", "Ordering::Relaxed"),
    ("Ordering::Release", "Ordering::Relaxed"),
    ("Ordering::AcqRel", "Ordering::Acquire"),
    ("Ordering::AcqRel", "Ordering::Release"),
    ("Ordering::SeqCst", "Ordering::Relaxed"),
];

/// Which mutants a file has.
#[derive(Clone, Copy, Debug)]
pub enum Kinds<'a> {
    /// Those of decisions: conditions, operators, arms, assignments, calls of an object.
    Decisions,
    /// Those, and of literals, of operators of numbers, and of constants with these names.
    Numbers(&'a [String]),
    /// Those of decisions, and calls of functions, and negated sets of bits.
    Effects,
}

/// Walks over a file and plants what it finds.
pub(super) struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    next: u32,
    function: String,
    kinds: Kinds<'a>,
    pub(super) edits: Edits,
    pub(super) mutants: Vec<Mutant>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(file: &'a str, text: &'a str, first: u32, kinds: Kinds<'a>) -> Self {
        let function = String::new();
        Self { file, text, next: first, function, kinds, edits: Edits::default(), mutants: Vec::new() }
    }

    /// Whether calls of functions have mutants, and negated sets of bits.
    fn has_effects(&self) -> bool {
        matches!(self.kinds, Kinds::Effects)
    }

    /// The code in one line, without comments.
    pub(super) fn source(&self, range: Range<usize>) -> String {
        let lines = self.text[range].lines().map(|line| line.split("//").next().unwrap_or_default());
        lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
    }

    /// A function, which may be inside another one.
    fn function(&mut self, name: &syn::Ident, block: &syn::Block) {
        let outer = std::mem::replace(&mut self.function, name.to_string());
        visit::visit_block(self, block);
        self.function = outer;
    }

    /// One more mutant; returns its number.
    pub(super) fn add(&mut self, change: String) -> u32 {
        let mutant = Mutant { place: format!("{} {}", self.file, self.function), change };
        let same = self.mutants.iter().filter(|other| other.place == mutant.place);
        let again = same.filter(|other| other.change.split(" (").next() == Some(&mutant.change)).count();
        let change = if again == 0 { mutant.change } else { format!("{} ({})", mutant.change, again + 1) };
        self.mutants.push(Mutant { change, ..mutant });
        self.next += 1;
        self.next - 1
    }

    /// The condition is true, and false.
    fn condition(&mut self, expr: &Expr) {
        match expr {
            // Of a chain with a pattern in it, every part that is an expression.
            Expr::Let(_) => {}
            Expr::Binary(binary) if has_let(expr) => {
                self.condition(&binary.left);
                self.condition(&binary.right);
            }
            _ => {
                let range = span(expr);
                let source = self.source(range.clone());
                let first = self.add(format!("`{source}` is true"));
                self.add(format!("`{source}` is false"));
                self.edits.wrap(range, format!("crate::mutant::condition({first}, "), ")");
            }
        }
    }

    /// The value is the opposite.
    fn opposite(&mut self, expr: &Expr) {
        let range = span(expr);
        let number = self.add(format!("`{}` is the opposite", self.source(range.clone())));
        self.edits.wrap(range, format!("crate::mutant::opposite({number}, "), ")");
    }

    /// The statement is left out.
    fn leave_out(&mut self, statement: &Stmt) {
        let range = statement.span().byte_range();
        let number = self.add(format!("without `{}`", self.source(range.clone())));
        self.edits.wrap(range, format!("if !crate::mutant::is({number}) {{ "), " }");
    }

    /// The arm gives what its neighbours give.
    fn arm(&mut self, arm: &Arm, neighbours: [Option<&Arm>; 2]) {
        let own = span(&arm.body);
        let mut seen = BTreeSet::from([self.source(own.clone())]);
        let mut before = String::new();
        for neighbour in neighbours.into_iter().flatten() {
            let theirs = span(&neighbour.body);
            let source = self.source(theirs);
            // What it binds is not there, or of another type.
            let binds = bindings(&neighbour.pat).iter().any(|name| mentions(&source, name));
            if binds || !seen.insert(source.clone()) {
                continue;
            }
            let pattern = self.source(arm.pat.span().byte_range());
            let number = self.add(format!("arm `{pattern}` gives `{source}`"));
            before += &format!("if crate::mutant::is({number}) {{ {source} }} else ");
        }
        if !before.is_empty() {
            self.edits.wrap(own, before + "{ ", " }");
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = item.self_ty.span().byte_range();
        if !NO_RULES.contains(&&self.text[name]) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig.ident, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig.ident, &item.block);
    }

    // The compiler evaluates what stands outside of functions.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_expr_while(&mut self, one: &'ast syn::ExprWhile) {
        // The condition, too, where a mutant that never ends is noticed.
        match self.kinds {
            Kinds::Effects => {
                self.condition(&one.cond);
                visit::visit_expr_while(self, one);
            }
            Kinds::Decisions | Kinds::Numbers(_) => {}
        }
    }
    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expr, Some(_)) = statement
            && (changes_something(expr) || (self.has_effects() && calls_something(expr)))
        {
            self.leave_out(statement);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        let has_numbers = match self.kinds {
            Kinds::Numbers(constants) => {
                self.number(expr, constants);
                true
            }
            Kinds::Decisions | Kinds::Effects => false,
        };
        match expr {
            // The type of an index, or of a number that is shifted, is not known from a call.
            Expr::Index(one) if has_numbers => return self.visit_expr(&one.expr),
            Expr::Binary(binary) if has_numbers && matches!(binary.op, BinOp::Shl(_)) => return,
            Expr::Binary(binary) if has_numbers && self.operator(expr, binary) => {}
            Expr::If(one) => self.condition(&one.cond),
            Expr::Match(one) => {
                for (place, arm) in one.arms.iter().enumerate() {
                    if let Some((_, guard)) = &arm.guard {
                        self.condition(guard);
                        self.visit_expr(guard);
                    }
                    let before = place.checked_sub(1).and_then(|place| one.arms.get(place));
                    self.arm(arm, [before, one.arms.get(place + 1)]);
                    self.visit_expr(&arm.body);
                }
                return self.visit_expr(&one.expr);
            }
            Expr::Binary(binary) if !has_let(expr) => match binary.op {
                BinOp::And(_) | BinOp::Or(_) => {
                    let and = matches!(binary.op, BinOp::And(_));
                    let (name, other) = if and { ("and", "||") } else { ("or", "&&") };
                    let range = span(expr);
                    let source = self.source(range.clone());
                    let first = self.add(format!("`{source}`: `{other}`"));
                    for operand in [&binary.left, &binary.right] {
                        let operand = self.source(span(operand));
                        self.add(format!("`{source}`: `{operand}`"));
                    }
                    let operator = binary.op.span().byte_range();
                    if self.has_effects() {
                        // The right side is evaluated only where its value counts.
                        self.edits.wrap(range, format!("(match crate::mutant::{name}_then({first}, "), " })");
                        self.edits.replace(operator, ") { Some(value) => value, None =>");
                    } else {
                        self.edits.wrap(range, format!("crate::mutant::{name}({first}, "), ")");
                        self.edits.replace(operator, ",");
                    }
                }
                BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                    self.opposite(expr);
                }
                _ => {}
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) && self.has_effects() => {
                // Of a truth value, or of a set of bits.
                let range = span(expr);
                let number = self.add(format!("`{}` is the opposite", self.source(range.clone())));
                self.edits.wrap(range, format!("crate::mutant::not({number}, "), ")");
                self.edits.replace(unary.op.span().byte_range(), "");
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) && is_boolean(&unary.expr) => {
                self.opposite(expr)
            }
            Expr::Lit(literal) if matches!(literal.lit, syn::Lit::Bool(_)) => self.opposite(expr),
            Expr::Macro(one) if one.mac.path.is_ident("matches") => self.opposite(expr),
            Expr::Path(_) => {
                let name = self.source(span(expr));
                for (_, other) in PAIRS.iter().filter(|(one, _)| *one == name) {
                    let number = self.add(format!("`{name}`: `{other}`"));
                    let before = format!("(if crate::mutant::is({number}) {{ {other} }} else {{ ");
                    self.edits.wrap(span(expr), before, " })");
                }
            }
            // Which kernels have a rule.
            Expr::Call(call) if self.source(span(&call.func)) == "since" => self.opposite(expr),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

pub(super) fn span(expr: &Expr) -> Range<usize> {
    expr.span().byte_range()
}

/// Whether a `let` is among the condition's parts.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Whether what is negated is a truth value, and no set of bits: those are constants, or a domain.
fn is_boolean(expr: &Expr) -> bool {
    !matches!(expr, Expr::Path(path) if path.path.segments.len() > 1 || path.path.is_ident("domain"))
}

/// Whether the statement assigns, or calls something of the object's that does not only name a reason.
fn changes_something(expr: &Expr) -> bool {
    match expr {
        Expr::Assign(_) => true,
        Expr::Binary(binary) => matches!(binary.op, BinOp::BitOrAssign(_) | BinOp::BitAndAssign(_)),
        Expr::MethodCall(call) => !NAMES_A_REASON.contains(&call.method.to_string().as_str()),
        Expr::Try(one) => changes_something(&one.expr),
        _ => false,
    }
}

/// Whether the statement calls a function.
fn calls_something(expr: &Expr) -> bool {
    match expr {
        Expr::Call(_) => true,
        Expr::Try(one) => calls_something(&one.expr),
        _ => false,
    }
}

/// The names that a pattern binds.
fn bindings(pattern: &Pat) -> BTreeSet<String> {
    struct Names(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_pat_ident(&mut self, ident: &'ast syn::PatIdent) {
            self.0.insert(ident.ident.to_string());
        }
    }
    let mut names = Names(BTreeSet::new());
    names.visit_pat(pattern);
    names.0
}

/// Whether `name` is a word of `source`.
fn mentions(source: &str, name: &str) -> bool {
    source.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}
