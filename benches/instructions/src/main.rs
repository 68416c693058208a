//! Counts the instructions of gem-coherency's hot paths, and holds them against `limits.txt`.
//!
//! `instructions-bench` runs itself under valgrind's callgrind, which counts what each case executes, and
//! prints one line per case. It fails if a count is above its limit. Two twins have to fail: with
//! `--one-below` each limit is one less than the count, and with `--planted` each case takes a slow
//! way that the library does not.
//!
//! # Layers
//!
//! ```text
//! L1  callgrind
//! L0  cases   limits
//! ```
//!
//! * `callgrind`: runs the program under callgrind, and reads its counts. Not the limits.
//! * `cases`: the functions that are counted. Not the counting.
//! * `limits`: the limits as numbers. Not their comparison.

mod callgrind;
mod cases;
mod limits;

use std::process::ExitCode;

use cases::{CASES, Way};
use limits::Limit;

/// Whatever goes wrong; it is only ever printed.
type Error = Box<dyn std::error::Error>;
type Result<T> = std::result::Result<T, Error>;

const USAGE: &str = "usage: instructions-bench [--one-below | --planted]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [] => compare(Way::Library, Against::File),
        ["--one-below"] => compare(Way::Library, Against::OneBelow),
        ["--planted"] => compare(Way::Planted, Against::File),
        [callgrind::RUN, way] => Way::named(way).ok_or_else(|| USAGE.into()).and_then(run_all),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The limits that counts are compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    /// The limits of the file.
    File,
    /// One less than the count itself.
    OneBelow,
}

/// Counts every case, and prints the table.
fn compare(way: Way, against: Against) -> Result<()> {
    let limits = limits::read(&CASES.map(|case| case.name))?;
    let counts = callgrind::count(way)?;
    println!("| {:<34} | instructions |  limit |         |", "case");
    println!("|{:-<36}|-------------:|-------:|---------|", "");
    let mut above = 0;
    for ((case, Limit { instructions: limit }), total) in CASES.iter().zip(limits).zip(counts) {
        // Rounded up: a limit holds for the whole.
        let count = total.div_ceil(case.divisor);
        let limit = match against {
            Against::File => limit,
            Against::OneBelow => count.saturating_sub(1),
        };
        let verdict = if count > limit { "above" } else { "within" };
        above += usize::from(count > limit);
        println!("| {:<34} | {count:>12} | {limit:>6} | {verdict:<7} |", case.name);
    }
    match above {
        0 => Ok(()),
        _ => Err(format!("{above} of {} counts above their limits", CASES.len()).into()),
    }
}

/// Runs every case, for callgrind to count.
fn run_all(way: Way) -> Result<()> {
    CASES.iter().try_for_each(|case| (case.run)(way))
}
