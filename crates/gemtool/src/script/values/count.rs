//! Conditions on numbers.

use std::fmt;

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `==`
    Equal,
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
}

/// A condition on a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The comparison.
    pub compare: Compare,
    /// The number to compare with.
    pub number: u64,
}

impl Count {
    /// Returns whether `seen` meets the condition.
    pub fn holds(self, seen: u64) -> bool {
        match self.compare {
            Compare::Equal => seen == self.number,
            Compare::AtLeast => seen >= self.number,
            Compare::AtMost => seen <= self.number,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.compare {
            Compare::Equal => {}
            Compare::AtLeast => f.write_str("at least ")?,
            Compare::AtMost => f.write_str("at most ")?,
        }
        self.number.fmt(f)
    }
}
