//! The explorer of gem-coherency beside stateright: the same states, explored by both.
//!
//! `explorer-bench [ROUNDS]` runs every search by both engines in turn, fails unless they find the
//! same, and prints what it cost each. It never fails for being slow. `explorer-bench --agree` runs
//! every search once by each engine, and only compares.
//!
//! The engines share the model: its moves, and the packing of a state. Each makes the search by
//! itself: which states are known, in what order they come, when it is over, and which way leads to
//! a violation.
//!
//! Five searches are compared, and two of kernels that leak. Stateright 0.30.2 (0.31.0 is slower) takes 1.11 to 1.24 times the explorer's time, and
//! 1.1 to 1.8 times its memory (0.6 to 33.8 MiB), on an Intel Xeon (2 cores, rustc 1.95.0); the explorer makes 328,000 to 409,000 states
//! a second. A second thread gains nothing within one search: a move takes about 50 ns, and changes a counter and a lock that both share.
//! `gemtool check` runs two searches at once.
//!
//! # Layers
//!
//! ```text
//! L3  run   table   agreement
//! L2  engine
//! L1  peer
//! L0  found   searches   cost   machine
//! ```
//!
//! * `run`: one run in a process of its own. Not the choice of runs.
//! * `table`: what each search cost each engine, as text. Not the measurement.
//! * `agreement`: the comparison of two results. Not of their costs.
//! * `engine`: the engines by name, and how each explores. Not stateright's model.
//! * `peer`: the explorer's space as a model of stateright. Not the explorer.
//! * `found`: the result of a search. Not its cost.
//! * `searches`: the searches that are run. Not their results.
//! * `cost`: time and memory of a process. Not of a thread.
//! * `machine`: the machine that was measured on. Not its load.

mod agreement;
mod cost;
mod engine;
mod found;
mod machine;
mod peer;
mod run;
mod searches;
mod table;

use std::process::ExitCode;

use agreement::agree;
use engine::Engine;
use found::Found;
use searches::{ROWS, Row};
use table::Round;

/// Whatever goes wrong; it is only ever printed.
type Error = Box<dyn std::error::Error>;
type Result<T> = std::result::Result<T, Error>;

/// The default number of times that each engine makes each search.
const ROUNDS: usize = 5;

const USAGE: &str = "usage: explorer-bench [ROUNDS | --agree]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [] => cost(ROUNDS),
        ["--agree"] => compare(),
        [run::RUN, engine, row] => run::here(engine, row),
        [rounds] => match rounds.parse() {
            Ok(rounds) if rounds > 0 => cost(rounds),
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

/// Runs every search by both engines.
fn compare() -> Result<()> {
    for row in &ROWS {
        same(row)?;
        println!("{}: the same", row.name());
    }
    print_agreement();
    Ok(())
}

/// Runs every search by every engine, and prints the table of what each run cost.
fn cost(rounds: usize) -> Result<()> {
    println!("{}\n", machine::line(rounds));
    print!("{}", table::HEAD);
    for row in &ROWS {
        if row.violated {
            same(row)?;
        } else {
            let (found, costs) = measure(row, rounds)?;
            println!("{}", table::row(&row.name(), &found, &costs));
        }
    }
    println!("\nTimes are of the processor, but for 2 threads, whose ratio is of the time that passes.");
    println!("Ratios are stateright's time by the explorer's: the median, the least and the greatest round.");
    print_agreement();
    Ok(())
}

/// Prints what the engines agree on, when they do.
fn print_agreement() {
    let violated = ROWS.iter().filter(|row| row.violated).count();
    println!(
        "{} searches, the same states, moves and depth in both engines; \
         {violated} violations, the same property and length",
        ROWS.len() - violated
    );
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

/// Explores a search by both engines, to its fixed point or its violation.
fn same(row: &Row) -> Result<()> {
    let (ours, _) = run::apart(Engine::Explorer, row)?;
    let engine = Engine::Stateright(1);
    let (theirs, _) = run::apart(engine, row)?;
    agree(row, engine, &ours, &theirs)
}
