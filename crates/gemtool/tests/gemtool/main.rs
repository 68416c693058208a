//! `gemtool`'s output, exit status and messages.

mod bad_input;
mod bench;
mod gpu;
mod model;
mod objects;
mod programs;
mod progress;
mod text;
mod unwritable;

use std::process::{Command, Stdio};

/// Returns `count` of the cases, chosen by the environment's SEED (1), and all of them with EVERY_CASE (`ci/unit --all`).
fn sample<T>(cases: impl IntoIterator<Item = T>, count: usize) -> Vec<T> {
    let mut cases: Vec<T> = cases.into_iter().collect();
    if std::env::var_os("EVERY_CASE").is_some() {
        return cases;
    }
    let seed = std::env::var("SEED").map_or(1, |seed| seed.parse().expect("SEED is a number"));
    let mut state: u64 = seed;
    while cases.len() > count {
        // The multiplier of Knuth's MMIX.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        cases.swap_remove((state >> 33) as usize % cases.len());
    }
    println!("{} cases of a sample", cases.len());
    cases
}

/// The result of a run.
#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

/// Runs gemtool with the arguments in `line`, separated by blanks.
fn gemtool(line: &str) -> Ran {
    ran(command(line))
}

/// The repository.
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the command for gemtool with the arguments in `line`, in an environment without variables that
/// affect it.
fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gemtool"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    command.env_remove("GEM_COHERENCY_LOG").env_remove("NO_COLOR");
    command
}

/// Runs `command` in the repository.
fn ran(mut command: Command) -> Ran {
    let output = command.current_dir(REPOSITORY).output().expect("gemtool runs");
    let text = |bytes| String::from_utf8(bytes).expect("gemtool writes UTF-8");
    Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl Ran {
    /// Returns the output of a run that succeeded and printed no error.
    #[track_caller]
    fn held(self) -> String {
        assert_eq!(self.status, Some(0), "{}{}", self.out, self.err);
        assert_eq!(self.err, "");
        self.out
    }

    /// Returns the output of a run that succeeded, parsed as one JSON document.
    #[track_caller]
    fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.held()).expect("one JSON document")
    }

    /// Returns the output of a run that succeeded, parsed as one JSON object per line.
    #[track_caller]
    fn json_lines(self) -> Vec<serde_json::Value> {
        let out = self.held();
        out.lines().map(|line| serde_json::from_str(line).expect("JSON on every line")).collect()
    }

    /// Asserts exit status 2, no output, and a message with all of `parts`.
    #[track_caller]
    fn refused(self, parts: &[&str]) {
        assert_eq!(self.status, Some(2), "{}{}", self.out, self.err);
        assert_eq!(self.out, "");
        for part in parts {
            assert!(self.err.contains(part), "'{part}' is not in: {}", self.err);
        }
    }
}

/// Asserts that every line fits on the page.
#[track_caller]
fn fits(text: &str, columns: usize) {
    let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(longest.chars().count() <= columns, "longer than {columns}: {longest}");
}
