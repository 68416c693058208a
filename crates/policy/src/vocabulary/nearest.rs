//! The known words that a wrong one resembles.

/// Number of words that an error proposes.
const MOST: usize = 3;
/// Letters of a word that are compared.
const LETTERS: usize = 48;

/// Letters of a word that is the beginning of another.
const PREFIX: usize = 3;

/// Returns the words of `known` that `word` resembles, nearest first; empty ones where there are fewer. About half of the longer
/// word's letters are those of the other, in the same order, or it is their beginning.
pub(crate) fn nearest(word: &str, known: impl IntoIterator<Item = &'static str>) -> [&'static str; MOST] {
    let mut found = [("", usize::MAX); MOST];
    for other in known {
        let distance = match other.strip_prefix(word) {
            Some(_) if word.len() >= PREFIX => 1,
            Some(_) | None => distance(word.as_bytes(), other.as_bytes()),
        };
        if 2 * distance > word.len().max(other.len()) + 1 {
            continue;
        }
        if let Some(place) = found.iter().position(|&(_, known)| distance < known) {
            found[place..].rotate_right(1);
            found[place] = (other, distance);
        }
    }
    let best = found[0].1;
    found.map(|(word, distance)| if distance <= best.saturating_add(1) { word } else { "" })
}

/// Returns how many letters have to be inserted, removed or replaced to make one word of the other (Levenshtein). Capitals count as
/// small letters.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let one = &one[..one.len().min(LETTERS)];
    let mut row: [usize; LETTERS + 1] = core::array::from_fn(|at| at);
    for (line, letter) in other.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (at, own) in one.iter().enumerate() {
            let replaced = diagonal + usize::from(!own.eq_ignore_ascii_case(letter));
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[one.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("JSL", "jsl", 0),
            ("glk", "gkl", 2),
        ] {
            assert_eq!(distance(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
        }
        assert_eq!(distance("x".repeat(400).as_bytes(), b"x"), LETTERS - 1);
    }

    #[test]
    fn words_that_are_alike_are_proposed_nearest_first() {
        let known = ["bypass-acquire", "bypass-mocs-read", "same-cache", "acquire-dirty"];
        assert_eq!(nearest("bypass-aquire", known), ["bypass-acquire", "", ""]);
        assert_eq!(nearest("bypass", known), ["bypass-acquire", "bypass-mocs-read", ""]);
        assert_eq!(nearest("foo", known), [""; MOST]);
        assert_eq!(nearest("gkl", ["icl", "glk", "skl", "mtl"]), ["skl", "icl", "glk"]);
        assert_eq!(nearest("", known), [""; MOST]);
    }
}
