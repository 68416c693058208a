//! Escapes text that others chose, so that terminals do not interpret it.

use std::io::{self, Write};

/// Returns whether a terminal may interpret `c` as a command, or reorder the text after it: control
/// characters (also those of U+0080 to U+009F), and the marks that change the direction of text.
fn commands(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns `text` with an escape (`\u{1b}`, `\n`) in place of each such character.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if commands(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Writes JSON with an escape (`\u009b`) in place of each such character that JSON allows unescaped in a
/// string.
///
/// Outside of strings JSON contains none but line feeds, and inside of them it already escapes those below
/// U+0020.
pub struct JsonText<'a>(pub &'a mut dyn Write);

impl Write for JsonText<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_ascii() && !bytes.contains(&0x7f) {
            return self.0.write_all(bytes).map(|()| bytes.len());
        }
        // serde_json writes whole characters.
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let mut rest = text;
        while let Some(at) = rest.find(|c| c >= '\u{7f}' && commands(c)) {
            let (before, found) = rest.split_at(at);
            let mut chars = found.chars();
            let c = chars.next().unwrap_or_default();
            // All of these characters lie below U+10000.
            write!(self.0, "{before}\\u{:04x}", u32::from(c))?;
            rest = chars.as_str();
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that a process may have, and their visible form.
    const NAMES: [(&str, &str); 6] = [
        ("\u{1b}[2J\u{7}", "\\u{1b}[2J\\u{7}"),
        ("\u{9b}2J", "\\u{9b}2J"),
        ("a\nb\tc\rd\u{7f}", "a\\nb\\tc\\rd\\u{7f}"),
        ("\u{202e}evil", "\\u{202e}evil"),
        ("Web Content", "Web Content"),
        ("d\u{e9}j\u{e0} \u{4e16}\\\"", "d\u{e9}j\u{e0} \u{4e16}\\\""),
    ];

    #[test]
    fn commands_are_shown_and_everything_else_stays() {
        for (name, shown) in NAMES {
            assert_eq!(visible(name), shown);
            assert_eq!(visible(shown), shown, "escapes are not escaped again");
        }
    }

    #[test]
    fn json_holds_the_same_string_without_its_commands() {
        for (name, _) in NAMES {
            let mut text = Vec::new();
            serde_json::to_writer_pretty(JsonText(&mut text), &[name, name]).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(!text.chars().any(|c| c != '\n' && commands(c)), "{text:?}");
            assert_eq!(serde_json::from_str::<[String; 2]>(&text).unwrap(), [name, name]);
        }
    }
}
