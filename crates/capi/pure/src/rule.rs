//! Describes rules in words.

use core::ffi::{c_char, c_uint};

use gem_coherency_policy::policy::Rule;

use super::failure::{Failure, text};

/// A rule's texts for C, each with a 0 at the end.
struct Words {
    name: [u8; 40],
    reason: [u8; 256],
    source: [u8; 160],
}

/// Every rule's texts, by index; built at compile time, so that nothing is allocated.
static RULES: [Words; Rule::ALL.len()] = {
    let mut words = [const { Words { name: [0; 40], reason: [0; 256], source: [0; 160] } }; Rule::ALL.len()];
    let mut place = 0;
    while place < words.len() {
        let rule = Rule::ALL[place];
        assert!(rule as usize == place);
        words[place] =
            Words { name: ended(rule.name()), reason: ended(rule.reason()), source: ended(rule.source()) };
        place += 1;
    }
    words
};

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
    let words = usize::try_from(number).ok().and_then(|place| RULES.get(place));
    words.ok_or(Failure::Number { name: "rule", value: number })
}

/// Returns the name of a rule: "bypass-mocs-read".
///
/// Names are stable; numbers may change with the library's version. NULL for a number without a rule, with a text in
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
