//! Changes of a text that nest.

use std::ops::Range;

/// Where an insertion stands to others at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    /// It closes what began before: the last one that began is closed first.
    Closing,
    /// It opens: the first one is the outermost.
    Opening,
}

/// Changes, in the order in which they were asked for: outer ones first.
#[derive(Debug, Default)]
pub(super) struct Edits {
    insertions: Vec<(usize, Side, String)>,
    replacements: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Puts `before` and `after` around `range`.
    pub(super) fn wrap(&mut self, range: Range<usize>, before: String, after: &str) {
        self.insertions.push((range.start, Side::Opening, before));
        self.insertions.push((range.end, Side::Closing, after.to_owned()));
    }

    /// Puts `with` in the place of `range`, in which nothing else is changed.
    pub(super) fn replace(&mut self, range: Range<usize>, with: &str) {
        self.replacements.push((range, with.to_owned()));
    }

    /// The text with every change.
    pub(super) fn apply(self, text: &str) -> String {
        let mut places: Vec<(usize, Side, usize, usize, String)> = Vec::new();
        for (order, (at, side, what)) in self.insertions.into_iter().enumerate() {
            let order = if side == Side::Closing { usize::MAX - order } else { order };
            places.push((at, side, order, at, what));
        }
        for (range, with) in self.replacements {
            places.push((range.start, Side::Opening, usize::MAX, range.end, with));
        }
        places.sort();
        let (mut out, mut at) = (String::with_capacity(text.len() * 2), 0);
        for (start, _, _, end, what) in places {
            out.push_str(&text[at..start]);
            out.push_str(&what);
            at = end;
        }
        out.push_str(&text[at..]);
        out
    }
}
