//! Findings that were known before, so that a run tells which ones are new.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use gem_coherency_memory_model::Mistake;
use serde::Serialize;

use crate::rows::findings::FindingRow;

/// Longest file of a baseline in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The first lines of a file.
const HEAD: &str = "\
# Known findings of `gemtool sanitize`: kind, agent, level of the object, and places. --update-baseline replaces this file; comments above a
# finding stay with it.
";

/// A baseline, and how the findings of a run differ from it.
#[derive(Clone, Debug, Serialize)]
pub struct Baseline {
    /// Its file.
    pub path: PathBuf,
    /// Number of findings that it does not have, without suppressed ones.
    pub new: usize,
    /// Number of findings that it has.
    pub known: usize,
    /// What it has and the run does not.
    pub gone: Vec<String>,
    /// The file was replaced by the findings of the run.
    pub updated: bool,
    /// Why it was not, if it was to be; `None` otherwise.
    pub kept: Option<&'static str>,
    /// The comments above each finding of the file.
    #[serde(skip)]
    comments: BTreeMap<String, Vec<String>>,
}

impl Baseline {
    /// Reads a baseline; one that `may_be_missing` is empty then.
    ///
    /// # Errors
    /// The file's name and what is wrong: for a file that cannot be read, and a line that is no finding.
    pub fn read(path: &Path, may_be_missing: bool) -> Result<Self, String> {
        let failed = |why: String| format!("{}: {why}", path.display());
        let text = match fs::metadata(path) {
            Ok(file) if !file.is_file() => return Err(failed("it is no file".to_owned())),
            Ok(file) if file.len() > MOST_BYTES => {
                return Err(failed(format!("{} bytes; at most {MOST_BYTES} are read", file.len())));
            }
            Ok(_) => fs::read_to_string(path).map_err(|error| failed(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && may_be_missing => String::new(),
            Err(error) => return Err(failed(format!("{error}; --update-baseline writes it"))),
        };
        let comments = parse(&text).map_err(failed)?;
        Ok(Self {
            path: path.to_path_buf(),
            new: 0,
            known: 0,
            gone: Vec::new(),
            updated: false,
            kept: None,
            comments,
        })
    }

    /// Returns whether a finding is known.
    pub(crate) fn has(&self, finding: &FindingRow) -> bool {
        self.comments.contains_key(&finding.key)
    }

    /// Marks the findings of a run as new or known, and counts them.
    pub(crate) fn compare(&mut self, findings: &mut [FindingRow]) {
        for finding in findings.iter_mut() {
            let is_known = self.has(finding);
            finding.known = Some(is_known);
            match is_known {
                true => self.known += 1,
                false if finding.suppressed.is_none() => self.new += 1,
                false => {}
            }
        }
        let found: BTreeSet<&str> = findings.iter().map(|finding| finding.key.as_str()).collect();
        self.gone = self.comments.keys().filter(|key| !found.contains(key.as_str())).cloned().collect();
    }

    /// Replaces the file by the findings of a run that are not suppressed.
    ///
    /// # Errors
    /// The file's name and what is wrong, if it cannot be written; the file is as it was then.
    pub fn update(&mut self, findings: &[FindingRow]) -> Result<(), String> {
        let shown = findings.iter().filter(|finding| finding.suppressed.is_none());
        let keys: BTreeSet<&str> = shown.map(|finding| finding.key.as_str()).collect();
        let mut text = HEAD.to_owned();
        for key in keys {
            for line in self.comments.get(key).into_iter().flatten().map(String::as_str).chain([key]) {
                text += line;
                text.push('\n');
            }
        }
        let partial = self.path.with_added_extension("new");
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &self.path)).map_err(failed)?;
        self.updated = true;
        Ok(())
    }
}

/// Returns the findings in a text, each with the comments above it.
fn parse(text: &str) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut found = BTreeMap::new();
    let mut comments = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let known = || Mistake::ALL.iter().map(|mistake| mistake.name().replace(' ', "-"));
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match &words[..] {
            [] => comments.clear(),
            _ if HEAD.lines().any(|head| head == line) => {}
            [first, ..] if first.starts_with('#') => comments.push(line.to_owned()),
            [kind, _, _, _, ..] if !known().any(|name| name == *kind) => {
                let known = known().collect::<Vec<_>>().join(", ");
                return Err(format!("line {number}: '{kind}' is no kind ({known})"));
            }
            [_, _, _, _, ..] => drop(found.insert(words.join(" "), std::mem::take(&mut comments))),
            _ => return Err(format!("line {number}: '{line}' has no kind, agent, level and place")),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_that_is_not_there_is_an_error_unless_it_is_to_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("known");
        let error = Baseline::read(&path, false).unwrap_err();
        assert!(error.contains("known: No such file") && error.contains("--update-baseline"), "{error}");
        let mut baseline = Baseline::read(&path, true).unwrap();
        baseline.update(&[]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), HEAD);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file is left");
        let nowhere = folder.path().join("missing/known");
        let error = Baseline::read(&nowhere, true).unwrap().update(&[]).unwrap_err();
        assert!(error.contains("missing/known"), "{error}");
        assert!(Baseline::read(folder.path(), true).unwrap_err().ends_with(": it is no file"));
        fs::write(&path, vec![b'#'; MOST_BYTES as usize + 1]).unwrap();
        assert!(Baseline::read(&path, true).unwrap_err().contains("1048577 bytes"));
    }

    #[test]
    fn comments_stay_with_a_finding_and_a_short_line_is_named() {
        let text = "# of nothing\n\n# why\nstale-read  GPU none a: f < g\r\nstale-read GPU none a: h\n";
        for text in [text.to_owned(), format!("\u{feff}{HEAD}{text}")] {
            let found = parse(&text).unwrap();
            assert_eq!(found["stale-read GPU none a: f < g"], ["# why"]);
            assert!(found["stale-read GPU none a: h"].is_empty());
        }
        let text = format!("{HEAD}# why\nstale-read GPU none a: f\n");
        assert_eq!(parse(&text).unwrap()["stale-read GPU none a: f"], ["# why"], "not the head of the file");
        let error = parse("stale-read GPU none f\nstale-read GPU").unwrap_err();
        assert_eq!(error, "line 2: 'stale-read GPU' has no kind, agent, level and place");
        let error = parse("stale-reed GPU none f").unwrap_err();
        assert!(error.starts_with("line 1: 'stale-reed' is no kind (stale-read, "), "{error}");
    }
}
