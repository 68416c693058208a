//! Lines of objects as text.

use std::collections::BTreeSet;
use std::fmt;

use gem_coherency::units::LineRange;
use serde::{Serialize, Serializer};

/// A set of an object's lines. Its text is `0-15, 37`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSet(BTreeSet<u64>);

impl LineSet {
    /// Returns a set without lines.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Adds the lines of a range.
    pub fn add(&mut self, lines: LineRange) {
        self.0.extend(lines.indices());
    }

    /// Adds the lines of another set.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(other.iter());
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the lines, in their order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }
}

impl fmt::Display for LineSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut found: Vec<LineRange> = Vec::new();
        for &line in &self.0 {
            match found.last_mut().filter(|last| last.end() == line) {
                Some(last) => *last = LineRange::new(last.first(), line + 1),
                None => found.push(LineRange::new(line, line + 1)),
            }
        }
        f.write_str(&LineRange::list(&found))
    }
}

impl Serialize for LineSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        let mut set = LineSet::default();
        assert_eq!(set.to_string(), "");
        for (first, end) in [(37, 38), (8, 16), (0, 8), (4, 9), (39, 39), (39, 41)] {
            set.add(LineRange::new(first, end));
        }
        assert_eq!((set.to_string().as_str(), set.count()), ("0-15, 37, 39-40", 19));
    }
}
