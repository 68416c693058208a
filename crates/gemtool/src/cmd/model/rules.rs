//! `gemtool rules`: every rule with its reason and source.

use gem_coherency::policy::Rule;
use gem_coherency::{Unknown, xe};
use serde::Serialize;

use crate::args::{self, Driver};
use crate::failure::Failure;

/// A rule in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleText {
    /// Its name.
    pub rule: &'static str,
    /// The reason, in one sentence.
    pub reason: &'static str,
    /// The source.
    pub source: &'static str,
}

impl From<Rule> for RuleText {
    fn from(rule: Rule) -> Self {
        Self { rule: rule.name(), reason: rule.reason(), source: rule.source() }
    }
}

impl From<xe::Rule> for RuleText {
    fn from(rule: xe::Rule) -> Self {
        Self { rule: rule.name(), reason: rule.reason(), source: rule.source() }
    }
}

/// The requested rules.
#[derive(Clone, Debug, Serialize)]
pub struct RuleList {
    /// The rules, in the order of `docs/coherency.md`, or of `docs/xe.md`.
    pub rules: Vec<RuleText>,
}

/// Lists the rules of a driver. A name that the other driver alone has is found, too.
///
/// # Errors
/// A name that no rule has.
pub fn run(args: &args::Rules) -> Result<RuleList, Failure> {
    let rules = match (&args.name, args.driver) {
        (None, Driver::I915) => Rule::ALL.iter().copied().map(RuleText::from).collect(),
        (None, Driver::Xe) => xe::Rule::ALL.iter().copied().map(RuleText::from).collect(),
        (Some(name), driver) => vec![named(name, driver).map_err(|unknown| {
            Failure::flag(
                "NAME",
                format!("{unknown} (`gemtool rules` lists all rules, with --driver xe those of xe)"),
            )
        })?],
    };
    Ok(RuleList { rules })
}

/// Returns the rule of this name.
fn named(name: &str, driver: Driver) -> Result<RuleText, Unknown> {
    let of_i915 = || name.parse::<Rule>().map(RuleText::from);
    let of_xe = || name.parse::<xe::Rule>().map(RuleText::from);
    match driver {
        Driver::I915 => of_i915().or_else(|unknown| of_xe().map_err(|_| unknown)),
        Driver::Xe => of_xe().or_else(|unknown| of_i915().map_err(|_| unknown)),
    }
}
