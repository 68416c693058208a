//! One run of one engine, in a process of its own: no run finds the heap that another one left.

use std::process::{Command, Stdio};
use std::time::Duration;

use gem_coherency_check::Property;

use crate::cost::Cost;
use crate::engine::Engine;
use crate::found::Found;
use crate::searches::Row;
use crate::{Result, searches};

/// The first argument of a process that makes one run.
pub const RUN: &str = "run";

/// One line of words that [`read`] reads.
fn print(found: &Found, cost: &Cost) -> String {
    let Found { states, transitions, depth, violation } = found;
    let (property, steps) = violation.map_or(("-", 0), |(property, steps)| (property.name(), steps));
    let (wall, processor) = (cost.wall.as_nanos(), cost.processor.as_nanos());
    format!("{states} {transitions} {depth} {property} {steps} {wall} {processor} {}", cost.kib)
}

/// Reads what [`print`] prints.
fn read(line: &str) -> Result<(Found, Cost)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[states, transitions, depth, property, steps, wall, processor, kib] = words.as_slice() else {
        return Err(format!("a run said '{}'", line.trim()).into());
    };
    let violation = match property {
        "-" => None,
        _ => Some((property.parse::<Property>()?, steps.parse()?)),
    };
    let time = |nanoseconds: &str| nanoseconds.parse().map(Duration::from_nanos);
    Ok((
        Found {
            states: states.parse()?,
            transitions: transitions.parse()?,
            depth: depth.parse()?,
            violation,
        },
        Cost { wall: time(wall)?, processor: time(processor)?, kib: kib.parse()? },
    ))
}

/// Makes one run in this process, and prints what it found and what it cost.
///
/// # Errors
/// As [`Row::search`] and [`Engine::explore`].
pub fn here(engine: &str, row: &str) -> Result<()> {
    let engine: Engine = engine.parse()?;
    let (found, cost) = engine.explore(&searches::by_name(row)?.search()?)?;
    println!("{}", print(&found, &cost));
    Ok(())
}

/// Makes one run in a new process.
///
/// # Errors
/// Those of that process.
pub fn apart(engine: Engine, row: &Row) -> Result<(Found, Cost)> {
    let mut process = Command::new(std::env::current_exe()?);
    process.args([RUN, &engine.to_string(), &row.name()]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = process.output()?;
    if !output.status.success() {
        return Err(format!("{}: {engine} ended with {}", row.name(), output.status).into());
    }
    read(std::str::from_utf8(&output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_as_it_is_printed() {
        for violation in [None, Some((Property::NoLeak, 3))] {
            let found = Found { states: 1, transitions: 2, depth: 4, violation };
            let cost = Cost { wall: Duration::from_nanos(5), processor: Duration::from_nanos(6), kib: 7 };
            assert_eq!(read(&print(&found, &cost)).unwrap(), (found, cost));
        }
        for line in ["", "1 2 3", "1 2 3 no-such 0 1 1 1", "1 2 3 - 0 1 1 x"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
