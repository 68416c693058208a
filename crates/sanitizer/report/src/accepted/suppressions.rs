//! Findings that are known and accepted, each with a reason.

use std::fs;
use std::path::Path;

use gem_coherency_memory_model::Mistake;
use serde::Serialize;
use wildmatch::WildMatch;

use crate::rows::domain_changes::{DomainRow, USELESS_SET_DOMAIN};
use crate::rows::findings::FindingRow;
use crate::rows::flushes::{FlushRow, USELESS_FLUSH};
use crate::rows::places::PlaceRow;

/// Longest file of suppressions in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The lists of known findings that come with the tool, by name.
const LISTS: [(&str, &str); 3] = [
    ("mesa-22.3", include_str!("../../suppressions/mesa-22.3.txt")),
    ("mesa-25.0", include_str!("../../suppressions/mesa-25.0.txt")),
    ("mesa-26.2", include_str!("../../suppressions/mesa-26.2.txt")),
];

/// Returns the kinds that a suppression can name, as the report does but for the hyphens; `*` is every kind.
fn kinds() -> impl Iterator<Item = String> {
    let mistakes = Mistake::ALL.iter().map(|mistake| mistake.name());
    mistakes.chain([USELESS_FLUSH, USELESS_SET_DOMAIN, "*"]).map(|kind| kind.replace(' ', "-"))
}

/// A line of a file of suppressions: a kind, a pattern, and a reason.
#[derive(Clone, Debug, Serialize)]
pub struct Suppression {
    /// The file, or the name of the list that comes with the tool.
    pub file: String,
    /// Its line in the file.
    pub line: usize,
    /// The kind.
    pub kind: String,
    /// The pattern of a function, a file or a module in a call stack: `*` is any text, `?` a character.
    pub pattern: String,
    /// Why what it hides is accepted.
    pub reason: String,
    /// Number of findings, useless flushes and useless domain changes that it hid.
    pub hidden: usize,
}

/// Reads a file of suppressions; if there is none, the list with that name that comes with the tool.
///
/// # Errors
/// The file's name and what is wrong: for a file that cannot be read, and a line without a known kind, a pattern and a reason.
pub fn read(path: &Path) -> Result<Vec<Suppression>, String> {
    let name = path.display().to_string();
    let failed = |why: String| format!("{name}: {why}");
    if let Some((_, text)) = LISTS.iter().find(|(list, _)| *list == name && !path.exists()) {
        return parse(&name, text).map_err(failed);
    }
    let bytes = fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if bytes > MOST_BYTES {
        return Err(failed(format!("{bytes} bytes; at most {MOST_BYTES} are read")));
    }
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    parse(&name, &text).map_err(failed)
}

fn parse(file: &str, text: &str) -> Result<Vec<Suppression>, String> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| one(file, number, line).map_err(|why| format!("line {number}: {why}")))
        .collect()
}

fn one(file: &str, line: usize, text: &str) -> Result<Suppression, String> {
    let (kind, rest) = split(text);
    if !kinds().any(|known| known == kind) {
        return Err(format!("'{kind}' is no kind ({})", kinds().collect::<Vec<_>>().join(", ")));
    }
    let (pattern, reason) = split(rest);
    if pattern.is_empty() {
        return Err("the pattern of a function, a file or a module is missing".to_owned());
    }
    if reason.is_empty() {
        return Err(format!("'{kind} {pattern}' has no reason: say after it why it is accepted"));
    }
    let [file, kind, pattern, reason] = [file, kind, pattern, reason].map(str::to_owned);
    Ok(Suppression { file, line, kind, pattern, reason, hidden: 0 })
}

/// Returns the first word, and the rest.
fn split(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

impl Suppression {
    /// Returns whether it hides a finding.
    pub(crate) fn hides(&self, finding: &FindingRow) -> bool {
        let places = finding.store.iter().chain(&finding.load).chain(&finding.request);
        self.matches(finding.kind.name(), places)
    }

    /// Returns whether it hides what is of a kind and has these places in its call stacks.
    fn matches<'a>(&self, kind: &str, mut places: impl Iterator<Item = &'a PlaceRow>) -> bool {
        let pattern = WildMatch::new(&self.pattern);
        (self.kind == "*" || self.kind == kind.replace(' ', "-"))
            && places.any(|place| {
                let names = [place.function.as_deref(), place.file.as_deref(), Some(place.module.as_str())];
                names.into_iter().flatten().any(|name| pattern.matches(name))
            })
    }
}

/// Sets the reasons of the findings, useless flushes and useless domain changes that are hidden, and counts them.
pub(crate) fn apply(
    suppressions: &mut [Suppression],
    findings: &mut [FindingRow],
    flushes: &mut [FlushRow],
    domain_changes: &mut [DomainRow],
) {
    for finding in findings {
        finding.suppressed = reason(suppressions, |line| line.hides(finding));
    }
    for FlushRow { place, lines } in flushes.iter_mut().filter(|flush| flush.lines.useless) {
        lines.suppressed = reason(suppressions, |line| line.matches(USELESS_FLUSH, place.iter()));
    }
    for DomainRow { place, requests, .. } in
        domain_changes.iter_mut().filter(|change| change.requests.useless)
    {
        requests.suppressed = reason(suppressions, |line| line.matches(USELESS_SET_DOMAIN, place.iter()));
    }
}

/// Counts the first suppression that hides something, and returns its reason.
fn reason(suppressions: &mut [Suppression], hides: impl Fn(&Suppression) -> bool) -> Option<String> {
    let found = suppressions.iter_mut().find(|suppression| hides(suppression))?;
    found.hidden += 1;
    Some(found.reason.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(function: &str) -> PlaceRow {
        let module = "/usr/lib/libvulkan_intel.so".to_owned();
        PlaceRow { function: Some(function.to_owned()), file: None, line: None, module, address: 1 }
    }

    #[test]
    fn a_line_is_a_kind_a_pattern_and_a_reason() {
        let text = "# Mesa 22.3.6\n\n  stale-read anv_*   identifiers, which nobody reads\n* libc* theirs\n";
        let lines = parse("known", text).unwrap();
        let [first, second] = &lines[..] else { panic!("two") };
        assert_eq!((first.line, first.reason.as_str()), (3, "identifiers, which nobody reads"));
        assert!(first.matches("stale read", [place("main"), place("anv_init")].iter()));
        assert!(!first.matches("lost write", [place("anv_init")].iter()));
        assert!(!first.matches("stale read", [place("main")].iter()));
        assert!(!second.matches("stale read", [place("main")].iter()));
        assert!(
            parse("known", "* *intel.so* theirs").unwrap()[0].matches("useless flush", [place("f")].iter())
        );
    }

    #[test]
    fn a_line_that_lacks_something_is_named() {
        for (text, why) in [
            ("\nstale-reed f why", "line 2: 'stale-reed' is no kind (stale-read, "),
            ("stale-read", "line 1: the pattern of a function"),
            ("lost-write f", "line 1: 'lost-write f' has no reason"),
        ] {
            let error = parse("known", text).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn every_list_of_the_tool_has_lines() {
        for (name, text) in LISTS {
            let lines = read(Path::new(name)).unwrap();
            assert!(!lines.is_empty() && lines.iter().all(|line| line.file == name), "{name}");
            assert!(
                text.lines().next().unwrap().contains(&name.replace("mesa-", "Mesa ")),
                "{name}: its head"
            );
        }
        let missing = read(Path::new("mesa-0.0")).unwrap_err();
        assert!(missing.starts_with("mesa-0.0: No such file"), "{missing}");
    }
}
