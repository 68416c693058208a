//! `gemtool rules`: every rule with its sentence and source.

use gem_coherency::policy::Rule;
use serde::Serialize;

use crate::args;

/// A rule in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleText {
    /// Its name.
    pub rule: Rule,
    /// Why, in one sentence.
    pub reason: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

impl From<Rule> for RuleText {
    fn from(rule: Rule) -> Self {
        Self { rule, reason: rule.reason(), source: rule.source() }
    }
}

/// The rules that were asked for.
#[derive(Clone, Debug, Serialize)]
pub struct RuleList {
    /// In the order of `docs/coherency.md`.
    pub rules: Vec<RuleText>,
}

/// Lists the rules.
pub fn run(args: &args::Rules) -> RuleList {
    let all = || Rule::ALL.iter().copied().map(RuleText::from).collect();
    RuleList { rules: args.name.map_or_else(all, |rule| vec![rule.into()]) }
}
