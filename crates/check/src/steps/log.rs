//! A log of what happens in an action.

use gem_coherency::policy::kernel::Effect;
use gem_coherency::policy::{Decision, Rule};

/// An action that was taken or spared, and the rule for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedAction {
    /// The kernel issued this effect.
    Kernel(Effect),
    /// This rule spared a flush by the kernel.
    KernelSpared(Rule),
    /// The library performed this decision's operation on this number of lines.
    Library(Decision, u32),
    /// This decision spared a flush by the library.
    LibrarySpared(Decision),
}

/// A receiver of all actions.
pub(crate) trait Log {
    /// Logs an action.
    fn record(&mut self, action: LoggedAction);
}

impl Log for () {
    fn record(&mut self, _: LoggedAction) {}
}

impl Log for Vec<LoggedAction> {
    fn record(&mut self, action: LoggedAction) {
        self.push(action);
    }
}

/// A set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet(u128);

const _: () = assert!(Rule::ALL.len() <= 128);

impl RuleSet {
    /// Adds a rule.
    pub fn add(&mut self, rule: Rule) {
        self.0 |= 1 << rule as u128;
    }

    /// Returns whether a rule is in it.
    pub fn has(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u128 != 0
    }

    /// Returns the union.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the rules in their order.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied().filter(move |&rule| self.has(rule))
    }
}

/// The rules that made a decision in a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Rules that required an action.
    pub required: RuleSet,
    /// Rules that spared one.
    pub exempted: RuleSet,
}

impl Log for Used {
    fn record(&mut self, action: LoggedAction) {
        match action {
            LoggedAction::Kernel(effect) => self.required.add(effect.rule),
            LoggedAction::Library(decision, _) => self.required.add(decision.rule),
            LoggedAction::KernelSpared(rule) => self.exempted.add(rule),
            LoggedAction::LibrarySpared(decision) => self.exempted.add(decision.rule),
        }
    }
}
