//! A log of what happens in a move.

use gem_coherency::policy::kernel::Effect;
use gem_coherency::policy::{Decision, Rule};

/// An action that was taken or spared, and the rule for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The kernel issued this effect.
    Kernel(Effect),
    /// This rule spared a flush by the kernel.
    KernelSpared(Rule),
    /// The library performed this decision's operation on this number of lines.
    Library(Decision, u32),
    /// This decision spared a flush by the library.
    LibrarySpared(Decision),
}

/// A receiver of all deeds.
pub(super) trait Log {
    /// Logs a deed.
    fn deed(&mut self, deed: Deed);
}

impl Log for () {
    fn deed(&mut self, _: Deed) {}
}

impl Log for Vec<Deed> {
    fn deed(&mut self, deed: Deed) {
        self.push(deed);
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
    pub demanded: RuleSet,
    /// Rules that spared one.
    pub spared: RuleSet,
}

impl Log for Used {
    fn deed(&mut self, deed: Deed) {
        match deed {
            Deed::Kernel(effect) => self.demanded.add(effect.rule),
            Deed::Library(decision, _) => self.demanded.add(decision.rule),
            Deed::KernelSpared(rule) => self.spared.add(rule),
            Deed::LibrarySpared(decision) => self.spared.add(decision.rule),
        }
    }
}
