//! Lines that agents made stale, of which a program is not told yet.

use std::collections::BTreeMap;

use gem_coherency::units::{LineRange, PAGE_LINES};

/// Lines of objects, by their numbers: whole pages, ascending.
#[derive(Debug, Default)]
pub struct StaleLines(pub(crate) BTreeMap<u64, Vec<LineRange>>);

impl StaleLines {
    /// Adds the pages of lines of an object.
    pub fn add(&mut self, object: u64, lines: &[LineRange]) {
        let known = self.0.entry(object).or_default();
        known.extend(lines.iter().map(|lines| {
            let end = lines.end().next_multiple_of(PAGE_LINES);
            LineRange::new(lines.first() / PAGE_LINES * PAGE_LINES, end)
        }));
        LineRange::unite(known);
    }

    /// Returns the lines of an object.
    pub fn of(&self, object: u64) -> Vec<LineRange> {
        self.0.get(&object).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_lines_are_whole_pages_and_joined() {
        let mut stale = StaleLines::default();
        stale.add(7, &[LineRange::new(130, 131), LineRange::new(3, 5)]);
        stale.add(8, &[LineRange::new(63, 65)]);
        assert_eq!(stale.of(7), [LineRange::new(0, 64), LineRange::new(128, 192)]);
        assert_eq!(stale.of(8), [LineRange::new(0, 128)]);
        stale.add(7, &[LineRange::new(64, 65), LineRange::new(140, 141)]);
        assert_eq!(stale.of(7), [LineRange::new(0, 192)]);
    }
}
