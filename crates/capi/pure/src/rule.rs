//! Describes rules in words.

use core::ffi::{c_char, c_uint};

use gem_coherency_policy::policy::Rule;
use gem_coherency_policy::xe;

use super::failure::{Failure, text};

/// A rule's texts for C, each with a 0 at the end.
struct Words {
    name: [u8; 40],
    reason: [u8; 256],
    source: [u8; 160],
}

/// The texts of every rule of a type, by index; built at compile time, so that nothing is allocated.
macro_rules! texts {
    ($rule:ty) => {{
        let mut words =
            [const { Words { name: [0; 40], reason: [0; 256], source: [0; 160] } }; <$rule>::ALL.len()];
        let mut place = 0;
        while place < words.len() {
            let rule = <$rule>::ALL[place];
            assert!(rule as usize == place);
            words[place] = Words {
                name: ended(rule.name()),
                reason: ended(rule.reason()),
                source: ended(rule.source()),
            };
            place += 1;
        }
        words
    }};
}

/// The rules of i915, whose numbers begin with 0.
static RULES: [Words; Rule::ALL.len()] = texts!(Rule);
/// The rules of xe.
static XE_RULES: [Words; xe::Rule::ALL.len()] = texts!(xe::Rule);

/// The number of xe's first rule. The numbers of the two drivers' rules differ, so that none is named by the other's rule.
const FIRST_OF_XE: c_uint = 1 << 16;
const _: () = assert!(RULES.len() < FIRST_OF_XE as usize);

/// Returns the number of a rule of xe.
pub const fn of_xe(rule: xe::Rule) -> c_uint {
    FIRST_OF_XE + rule as c_uint
}

/// Returns `text` followed by zeroes, at least one.
const fn ended<const N: usize>(text: &str) -> [u8; N] {
    let bytes = text.as_bytes();
    let mut out = [0; N];
    assert!(bytes.len() < N, "the text does not fit");
    let mut at = 0;
    while at < bytes.len() {
        out[at] = bytes[at];
        at += 1;
    }
    out
}

/// Returns the texts of a rule by its number.
fn words(number: c_uint) -> Result<&'static Words, Failure> {
    let (rules, place) = match number.checked_sub(FIRST_OF_XE) {
        Some(place) => (&XE_RULES[..], place),
        None => (&RULES[..], number),
    };
    let words = usize::try_from(place).ok().and_then(|place| rules.get(place));
    words.ok_or(Failure::Number { name: "rule", value: number })
}

/// Returns the name of a rule: "bypass-mocs-read".
///
/// Names are stable; numbers may change with the library's version. The rules of i915 are numbered from 0 on, those of xe
/// from 65536 on; a name can occur in both. NULL for a number without a rule, with a text in
/// gemco_last_error. The text is valid while the library is loaded. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_rule_name(rule: c_uint) -> *const c_char {
    text("gemco_rule_name", || Ok(words(rule)?.name.as_ptr().cast()))
}

/// Returns the reason of a rule, in a sentence.
///
/// As gemco_rule_name.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_rule_reason(rule: c_uint) -> *const c_char {
    text("gemco_rule_reason", || Ok(words(rule)?.reason.as_ptr().cast()))
}

/// Returns the source of a rule: a kernel function, a commit, or a manual.
///
/// As gemco_rule_name.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_rule_source(rule: c_uint) -> *const c_char {
    text("gemco_rule_source", || Ok(words(rule)?.source.as_ptr().cast()))
}
