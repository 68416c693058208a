//! Counting with callgrind: the program runs itself under it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cases::{CALLS, CASES, Way};
use super::{Error, Result};

/// The argument that says: run the cases, someone counts.
pub(super) const RUN: &str = "--run";

/// The common part of the names of the counted functions, in two spellings: each of callgrind's options
/// takes only one of them.
const COUNTED: [&str; 2] = ["*counted_*", "*cases::counted_*"];

/// The name of callgrind's files, before their numbers.
const OUT: &str = "out";

/// Returns the number of instructions of each case, in the order of [`CASES`].
///
/// # Errors
/// valgrind is not there, fails, or did not see every call.
pub(super) fn count(way: Way) -> Result<Vec<u64>> {
    let directory = Directory::new()?;
    let [toggle, dump] = COUNTED;
    let counted = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--compress-strings=no"])
        .arg(format!("--toggle-collect={toggle}"))
        // One file for each call.
        .arg(format!("--dump-after={dump}"))
        .arg(format!("--callgrind-out-file={}", directory.0.join(OUT).display()))
        .arg(std::env::current_exe()?)
        .args([RUN, way.name()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !counted.status.success() {
        return Err(format!("valgrind: {}", String::from_utf8_lossy(&counted.stderr)).into());
    }
    let calls = CASES.len() * CALLS;
    if directory.dump(calls + 1).exists() {
        return Err(format!("more than {calls} calls were counted").into());
    }
    (1..=CASES.len()).map(|case| total(&directory.dump(case * CALLS))).collect()
}

/// The instructions that a dump has.
fn total(path: &Path) -> Result<u64> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    total_of(&text).ok_or_else(|| Error::from(format!("{}: no call was counted", path.display())))
}

/// The total of one dump, if it was made at the end of a call.
fn total_of(dump: &str) -> Option<u64> {
    let is_call = dump.lines().any(|line| line.starts_with("desc: Trigger: --dump-after"));
    let total = dump.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()?;
    (is_call && total > 0).then_some(total)
}

/// A directory for the dumps; gone when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("instructions-bench-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Returns the path of the dump with this number; numbers begin with 1.
    fn dump(&self, number: usize) -> PathBuf {
        self.0.join(format!("{OUT}.{number}"))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str =
        "desc: Trigger: --dump-after=a::cases::counted_b\nevents: Ir\nsummary: 21\n\ntotals: 21\n";

    #[test]
    fn the_total_of_a_call_is_read() {
        assert_eq!(total_of(DUMP), Some(21));
    }

    #[test]
    fn what_is_no_call_has_no_total() {
        for (this, by) in
            [("--dump-after=a::cases::counted_b", "Program termination"), ("totals: 21", "totals: 0")]
        {
            assert_eq!(total_of(&DUMP.replace(this, by)), None, "{by}");
        }
        assert_eq!(total_of("desc: Trigger: --dump-after=counted_b"), None);
    }
}
