//! `gemtool rules`: every rule with its reason and source.

use gem_coherency::policy::Rule;
use serde::Serialize;

use crate::args;

/// A rule in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleText {
    /// Its name.
    pub rule: Rule,
    /// The reason, in one sentence.
    pub reason: &'static str,
    /// The source.
    pub source: &'static str,
}

impl From<Rule> for RuleText {
    fn from(rule: Rule) -> Self {
        Self { rule, reason: rule.reason(), source: rule.source() }
    }
}

/// The requested rules.
#[derive(Clone, Debug, Serialize)]
pub struct RuleList {
    /// The rules, in the order of `docs/coherency.md`.
    pub rules: Vec<RuleText>,
}

/// Lists the rules.
pub fn run(args: &args::Rules) -> RuleList {
    let all = || Rule::ALL.iter().copied().map(RuleText::from).collect();
    RuleList { rules: args.name.map_or_else(all, |rule| vec![rule.into()]) }
}
