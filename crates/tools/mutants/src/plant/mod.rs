//! Every mutant of a file's functions, written into the file side by side and chosen when the program runs.
//!
//! The text is changed only where a mutant is: an expression is wrapped, and its own text stays inside. So mutants nest,
//! and line numbers stay what they were.

mod edits;
mod numbers;
mod site;
mod table;

use edits::Edits;
pub use numbers::{SELECTOR_OF_NUMBERS, integer_constants};
use site::Finder;
pub use site::Kinds;
use syn::visit::Visit;
pub use table::{SELECTOR_OF_SCOPES, USE_AT_RUN_TIME, plant_table, replaced};

/// One mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// File and function: `kernel/power.rs resume`.
    pub place: String,
    /// The change, in one line.
    pub change: String,
}

/// A file with its mutants.
#[derive(Clone, Debug)]
pub struct Planted {
    /// Its text.
    pub text: String,
    /// The mutants, in the order of their numbers.
    pub mutants: Vec<Mutant>,
}

impl Planted {
    /// A file without mutants.
    pub fn nothing(text: String) -> Self {
        Self { text, mutants: Vec::new() }
    }
}

/// The module that chooses the mutant. `GEM_COHERENCY_MUTANT` is read once.
pub const SELECTOR: &str = r#"//! Which mutant is alive.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

static ALIVE: LazyLock<AtomicU32> = LazyLock::new(|| {
    let chosen = std::env::var("GEM_COHERENCY_MUTANT").ok().and_then(|number| number.parse().ok());
    AtomicU32::new(chosen.unwrap_or(0))
});

/// The place of the mutant that is alive was reached since it was chosen.
static REACHED: AtomicBool = AtomicBool::new(false);

/// Chooses another mutant; 0: none.
pub fn choose(number: u32) {
    ALIVE.store(number, Relaxed);
    REACHED.store(false, Relaxed);
}

/// Returns whether the place of the mutant was reached since it was chosen.
pub fn was_reached() -> bool {
    REACHED.load(Relaxed)
}

/// Returns whether mutant `number` is alive.
pub(crate) fn is(number: u32) -> bool {
    let alive = ALIVE.load(Relaxed) == number;
    if alive {
        REACHED.store(true, Relaxed);
    }
    alive
}

/// The condition, or true (`first`), or false (the number after it).
pub(crate) fn condition(first: u32, value: bool) -> bool {
    if is(first) { true } else { !is(first + 1) && value }
}

/// The value, or its opposite.
pub(crate) fn opposite(number: u32, value: bool) -> bool {
    value != is(number)
}

/// Both; or one of them (`first`), the left one, or the right one (the numbers after it).
pub(crate) fn and(first: u32, left: bool, right: bool) -> bool {
    other(first, left, right, left || right, left && right)
}

/// One of them; or both (`first`), the left one, or the right one (the numbers after it).
pub(crate) fn or(first: u32, left: bool, right: bool) -> bool {
    other(first, left, right, left && right, left || right)
}

fn other(first: u32, left: bool, right: bool, opposite: bool, usual: bool) -> bool {
    if is(first) {
        opposite
    } else if is(first + 1) {
        left
    } else if is(first + 2) {
        right
    } else {
        usual
    }
}
"#;

/// Follows [`SELECTOR`] in its file where there are [`Kinds::Effects`].
pub const SELECTOR_OF_EFFECTS: &str = r#"
/// The opposite of a truth value or of a set of bits, or the value.
pub(crate) fn not<T: std::ops::Not<Output = T>>(number: u32, value: T) -> T {
    if is(number) { value } else { !value }
}

/// Both; or one of them (`first`), the left one, or the right one (the numbers after it). Returns the value, or none where it
/// is the right one's.
pub(crate) fn and_then(first: u32, left: bool) -> Option<bool> {
    chosen(first, left, !left, left)
}

/// One of them; or both (`first`), the left one, or the right one (the numbers after it). As [`and_then`].
pub(crate) fn or_then(first: u32, left: bool) -> Option<bool> {
    chosen(first, left, left, !left)
}

fn chosen(first: u32, left: bool, usual: bool, opposite: bool) -> Option<bool> {
    let is_left = if is(first) { opposite } else if is(first + 1) { true } else { !is(first + 2) && usual };
    is_left.then_some(left)
}
"#;

/// Plants the mutants of the file `name`, whose text is `text`; they are numbered from `first` on.
///
/// # Errors
/// Text that is no Rust.
pub fn plant(name: &str, text: &str, first: u32, kinds: Kinds<'_>) -> syn::Result<Planted> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder::new(name, text, first, kinds);
    finder.visit_file(&file);
    let Finder { edits, mutants, .. } = finder;
    Ok(Planted { text: Edits::apply(edits, text), mutants })
}

/// The text without `const` functions: what chooses a mutant cannot be one.
pub fn at_run_time(text: &str) -> String {
    text.replace("const fn", "fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes in a function of this body.
    fn changes(body: &str) -> Vec<String> {
        let text = format!("fn f(a: bool, b: bool) -> bool {{ {body} }}");
        let planted = plant("x.rs", &text, 1, Kinds::Decisions).unwrap();
        syn::parse_file(&planted.text).expect("what was planted is Rust");
        planted.mutants.into_iter().map(|mutant| mutant.change).collect()
    }

    #[test]
    fn every_condition_is_true_and_false_and_every_operator_its_opposite() {
        assert_eq!(changes("if a { b } else { a }"), ["`a` is true", "`a` is false"]);
        assert_eq!(changes("a && b"), ["`a && b`: `||`", "`a && b`: `a`", "`a && b`: `b`"]);
        assert_eq!(changes("a || b"), ["`a || b`: `&&`", "`a || b`: `a`", "`a || b`: `b`"]);
        assert_eq!(changes("g(Access::Read)"), ["`Access::Read`: `Access::Write`"]);
        assert_eq!(changes("a == b"), ["`a == b` is the opposite"]);
        assert_eq!(changes("!a"), ["`!a` is the opposite"]);
        assert_eq!(changes("let x = a; x"), Vec::<String>::new());
    }

    #[test]
    fn an_arm_gives_what_each_neighbour_gives_and_a_guard_goes() {
        let arms = changes("match a { true => b, false => !b }");
        assert_eq!(arms, ["arm `true` gives `!b`", "arm `false` gives `b`", "`!b` is the opposite"]);
        let guard = changes("match a { _ if b => a, _ => b }");
        assert_eq!(guard[..2], ["`b` is true", "`b` is false"]);
        // A neighbour's bindings are not used.
        assert_eq!(changes("match a { x => x, _ => b }"), ["arm `x` gives `b`"]);
    }

    #[test]
    fn a_call_that_does_something_and_an_assignment_are_left_out_but_not_what_only_names_a_reason() {
        assert_eq!(changes("self.state.pages = a; b"), ["without `self.state.pages = a;`"]);
        assert_eq!(changes("self.state.read |= a; b"), ["without `self.state.read |= a;`"]);
        assert_eq!(changes("self.acquire(); b"), ["without `self.acquire();`"]);
        assert_eq!(changes("self.skip(a); b"), Vec::<String>::new());
    }

    #[test]
    fn mutants_nest_and_a_file_without_any_stays_as_it_is() {
        let planted =
            plant("x.rs", "fn f() -> bool { if a && !b { c } else { d } }", 7, Kinds::Decisions).unwrap();
        let inside = "crate::mutant::and(9, a , crate::mutant::opposite(12, !b))";
        assert!(
            planted.text.contains(&format!("if crate::mutant::condition(7, {inside})")),
            "{}",
            planted.text
        );
        assert_eq!(planted.mutants.len(), 6);
        let text = "const A: bool = 1 == 2;\n#[cfg(test)]\nmod tests { fn f() -> bool { 1 == 2 } }\n";
        assert_eq!(plant("x.rs", text, 1, Kinds::Decisions).unwrap().text, text);
    }

    #[test]
    fn a_function_inside_another_one_is_a_place_of_its_own() {
        let planted =
            plant("x.rs", "fn f(a: bool) -> bool { fn g(b: bool) -> bool { !b } !a }", 1, Kinds::Decisions)
                .unwrap();
        let places: Vec<_> = planted.mutants.iter().map(|mutant| mutant.place.as_str()).collect();
        assert_eq!(places, ["x.rs g", "x.rs f"]);
    }

    #[test]
    fn numbers_have_mutants_where_constants_are_named() {
        let text =
            "const N: u32 = 4;\nfn f(a: u32) -> bool { match a { 3 => a % N >= 2, _ => b[1] < 1 << a } }";
        let constants = integer_constants(text).unwrap();
        assert_eq!(constants, ["N"]);
        let planted = plant("x.rs", text, 1, Kinds::Numbers(&constants)).unwrap();
        syn::parse_file(&planted.text).expect("what was planted is Rust");
        let changes: Vec<_> = planted.mutants.iter().map(|mutant| mutant.change.as_str()).collect();
        let expected = [
            "arm `3` gives `b[1] < 1 << a`",
            "`a % N >= 2`: `<`",
            "`a % N >= 2`: `>`",
            "`a % N`: `/`",
            "`N` + 1",
            "`2` + 1",
            "arm `_` gives `a % N >= 2`",
            "`b[1] < 1 << a`: `>=`",
            "`b[1] < 1 << a`: `<=`",
        ];
        assert_eq!(changes, expected);
        let inside = "crate::mutant::at_least(2, crate::mutant::rest(4, a , crate::mutant::number(5, N)) , ";
        assert!(planted.text.contains(inside), "{}", planted.text);
        assert_eq!(plant("x.rs", text, 1, Kinds::Decisions).unwrap().mutants.len(), 4);
    }

    #[test]
    fn effects_are_calls_sets_of_bits_and_orderings_and_the_right_side_of_an_operator_stays_lazy() {
        let text = "fn f(w: &W) { put(w); w.a(Ordering::AcqRel, !m); while b && w.c() { g(&mut x)?; } }";
        let planted = plant("x.rs", text, 1, Kinds::Effects).unwrap();
        syn::parse_file(&planted.text).expect("what was planted is Rust");
        let changes: Vec<_> = planted.mutants.iter().map(|mutant| mutant.change.as_str()).collect();
        let expected = [
            "without `put(w);`",
            "without `w.a(Ordering::AcqRel, !m);`",
            "`Ordering::AcqRel`: `Ordering::Acquire`",
            "`Ordering::AcqRel`: `Ordering::Release`",
            "`!m` is the opposite",
            "`b && w.c()` is true",
            "`b && w.c()` is false",
            "`b && w.c()`: `||`",
            "`b && w.c()`: `b`",
            "`b && w.c()`: `w.c()`",
            "without `g(&mut x)?;`",
        ];
        assert_eq!(changes, expected);
        let lazy = "(match crate::mutant::and_then(8, b ) { Some(value) => value, None => w.c() })";
        for part in [lazy, "crate::mutant::not(5, m)"] {
            assert!(planted.text.contains(part), "{}", planted.text);
        }
        assert_eq!(plant("x.rs", text, 1, Kinds::Decisions).unwrap().mutants.len(), 4);
    }

    #[test]
    fn what_is_left_to_the_program_is_no_longer_constant() {
        assert_eq!(at_run_time("pub const fn f() {}"), "pub fn f() {}");
    }
}
