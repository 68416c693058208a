//! What is done on the way from one state to the next, for whoever wants to know.

use gem_coherency::policy::kernel::Effect;
use gem_coherency::policy::{Decision, Rule};

/// Something that was done, or not, and by which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The kernel issued this.
    Kernel(Effect),
    /// The kernel did nothing, by this rule.
    KernelSpared(Rule),
    /// The library did what this decision demands to so many lines.
    Library(Decision, u32),
    /// The library did nothing, by this decision.
    LibrarySpared(Decision),
}

/// Hears of every deed.
pub(super) trait Log {
    /// This was done.
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

    /// Both.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The rules, in their order.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied().filter(move |&rule| self.has(rule))
    }
}

/// The rules that decided something in a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Rules by which something was done.
    pub demanded: RuleSet,
    /// Rules by which nothing was.
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
