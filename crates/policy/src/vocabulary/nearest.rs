//! The known words that a wrong one resembles.

/// Number of words that an error proposes.
const MOST: usize = 3;
/// Letters of a word that are compared.
const LETTERS: usize = 48;

/// Letters of a word that is the beginning of another.
const PREFIX: usize = 3;

/// The distance of words of which one has a letter more, less or another one, and of words with two swapped letters.
const CHANGED: usize = 2;
const SWAPPED: usize = 1;

/// Returns the words of `known` that `word` resembles, nearest first; empty ones where there are fewer. About half of the longer
/// word's letters are those of the other, in the same order, or it is their beginning.
pub(crate) fn nearest(word: &str, known: impl IntoIterator<Item = &'static str>) -> [&'static str; MOST] {
    let mut found = [("", usize::MAX); MOST];
    for other in known {
        let begins = other.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
        let distance = if begins && word.len() >= PREFIX {
            CHANGED
        } else {
            distance(word.as_bytes(), other.as_bytes())
        };
        if distance > word.len().max(other.len()) + 1 {
            continue;
        }
        if let Some(place) = found.iter().position(|&(_, known)| distance < known) {
            found[place..].rotate_right(1);
            found[place] = (other, distance);
        }
    }
    let best = found[0].1;
    found.map(|(word, distance)| if distance <= best.saturating_add(CHANGED) { word } else { "" })
}

/// Returns the distance of two words: of the letters that have to be inserted, removed, replaced, or swapped with the next one, to make one
/// word of the other. Capitals count as small letters.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let one = &one[..one.len().min(LETTERS)];
    let mut before = [0; LETTERS + 1];
    let mut row: [usize; LETTERS + 1] = core::array::from_fn(|at| CHANGED * at);
    let mut last_letter = None;
    for (line, letter) in other.iter().enumerate() {
        let mut next = [CHANGED * (line + 1); LETTERS + 1];
        // The distance two letters ago in both words, and the own letter before this one.
        let (mut corner, mut last_own) = (0, None);
        for (at, own) in one.iter().enumerate() {
            let replaced = row[at] + if own.eq_ignore_ascii_case(letter) { 0 } else { CHANGED };
            let mut best = replaced.min(row[at + 1] + CHANGED).min(next[at] + CHANGED);
            let is_same =
                |one: &u8, last: Option<&u8>| last.is_some_and(|last| last.eq_ignore_ascii_case(one));
            if is_same(own, last_letter) && is_same(letter, last_own) {
                best = best.min(corner + SWAPPED);
            }
            next[at + 1] = best;
            (corner, last_own) = (before[at], Some(own));
        }
        (before, row, last_letter) = (row, next, Some(letter));
    }
    row[one.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters_and_swaps() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 6),
            ("abc", "", 6),
            ("kitten", "sitting", 6),
            ("JSL", "jsl", 0),
            ("glk", "gkl", 1),
            ("jls", "jsl", 1),
            ("ca", "abc", 6),
        ] {
            assert_eq!(distance(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
        }
        assert_eq!(distance("x".repeat(400).as_bytes(), b"x"), CHANGED * (LETTERS - 1));
    }

    #[test]
    fn words_that_are_alike_are_proposed_nearest_first() {
        let known = ["bypass-acquire", "bypass-mocs-read", "same-cache", "acquire-dirty"];
        assert_eq!(nearest("bypass-aquire", known), ["bypass-acquire", "", ""]);
        assert_eq!(nearest("bypass", known), ["bypass-acquire", "bypass-mocs-read", ""]);
        assert_eq!(nearest("foo", known), [""; MOST]);
        assert_eq!(nearest("gkl", ["icl", "glk", "skl", "mtl"]), ["glk", "skl", ""]);
        assert_eq!(nearest("jasper", ["Haswell", "Jasper Lake"]), ["Jasper Lake", "", ""]);
        assert_eq!(nearest("", known), [""; MOST]);
    }
}
