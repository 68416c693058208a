//! The explorer of gem-coherency beside stateright: the same states, explored by both.
//!
//! `explorer-bench [ROUNDS]` runs every search by both engines in turn, fails unless they find the
//! same, and prints what it cost each. It never fails for being slow.
//!
//! The engines share the model: its moves, and the packing of a state. Each makes the search by
//! itself: which states are known, in what order they come, when it is over, and which way leads to
//! a violation.

mod agreement;
mod cost;
mod engine;
mod machine;
mod peer;
mod run;
mod searches;
mod table;

use std::process::ExitCode;

use agreement::agree;
use engine::{Engine, Found};
use searches::{ROWS, Row};
use table::Round;

/// Whatever goes wrong; it is only ever printed.
type Error = Box<dyn std::error::Error>;
type Result<T> = std::result::Result<T, Error>;

/// The default number of times that each engine makes each search.
const ROUNDS: usize = 5;

const USAGE: &str = "usage: explorer-bench [ROUNDS]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [] => compare(ROUNDS),
        [run::RUN, engine, row] => run::here(engine, row),
        [rounds] => match rounds.parse() {
            Ok(rounds) if rounds > 0 => compare(rounds),
            Ok(_) | Err(_) => Err(USAGE.into()),
        },
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

/// Runs everything, and prints the table.
fn compare(rounds: usize) -> Result<()> {
    println!("{}\n", machine::line(rounds));
    print!("{}", table::HEAD);
    let (mut clean, mut violated) = (0, 0);
    for row in &ROWS {
        if row.violated {
            same_violation(row)?;
            violated += 1;
        } else {
            let (found, costs) = measure(row, rounds)?;
            println!("{}", table::row(&row.name(), &found, &costs));
            clean += 1;
        }
    }
    println!("\nTimes are of the processor, but for 2 threads, whose ratio is of the time that passes.");
    println!("Ratios are stateright's time by the explorer's: the median, the least and the greatest round.");
    println!(
        "{clean} searches, the same states, moves and depth in both engines; \
         {violated} violations, the same property and length"
    );
    Ok(())
}

/// Explores a search to its fixed point by every engine in turn, round after round.
fn measure(row: &Row, rounds: usize) -> Result<(Found, Vec<Round>)> {
    let mut costs = Vec::with_capacity(rounds);
    let mut first = None;
    for _ in 0..rounds {
        let (ours, explorer) = run::apart(Engine::Explorer, row)?;
        let cost = |engine| {
            let (theirs, cost) = run::apart(engine, row)?;
            agree(row, engine, &ours, &theirs).map(|()| cost)
        };
        costs.push(Round {
            explorer,
            one: cost(Engine::Stateright(1))?,
            two: cost(Engine::Stateright(2))?,
            moves: cost(Engine::Moves)?,
        });
        first.get_or_insert(ours);
    }
    Ok((first.ok_or("no round")?, costs))
}

/// Explores a search up to its violation by both engines.
fn same_violation(row: &Row) -> Result<()> {
    let (ours, _) = run::apart(Engine::Explorer, row)?;
    let engine = Engine::Stateright(1);
    let (theirs, _) = run::apart(engine, row)?;
    agree(row, engine, &ours, &theirs)
}
