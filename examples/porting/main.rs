//! Measures what the drivers of `docs/porting.md` gain by the library, on the software device: the lines that are flushed, the
//! kernel requests, and the old bytes that readers see.
//!
//! ```sh
//! cargo run --example porting
//! ```
//!
//! Each driver draws the same frames in three ways: with its present operations, with the library's calls in their place, and
//! without either. Exits with status 1 if a reader sees an old byte with the library, if the library flushes lines where no
//! byte is old without it, or if the frames without any operation do not show old bytes exactly where `stale_without` says so.

mod drivers;
mod meter;
mod model;
mod run;

use std::process::ExitCode;

use drivers::{DRIVERS, PLATFORMS};
use gem_coherency::Result;
use model::Driver;
use run::{By, Outcome, run};

/// Seeds of the runs in which the caches evict, write back and fill at random.
const SEEDS: std::ops::Range<u32> = 0..2;

/// Returns the numbers of a driver on a platform, and what contradicts the model's expectations.
fn numbers(driver: &'static Driver, platform: &str) -> Result<(String, Vec<String>)> {
    let name = format!("sim:{platform}");
    let before = run(driver, &name, By::Driver)?;
    let after = run(driver, &name, By::Library)?;
    let without = run(driver, &name, By::Neither)?;
    let cells = |outcome: Outcome| {
        let (cost, wrong) = (outcome.cost, outcome.wrong);
        format!("{:>5} {:>6} {:>8} {:>5}", cost.own_lines, cost.kernel_lines, cost.requests, wrong)
    };
    let numbers = format!("|{} |{} |{:>6}", cells(before), cells(after), without.wrong);

    let mut contradictions = Vec::new();
    let mut wrong = after.wrong_ever;
    for seed in SEEDS {
        wrong += run(driver, &format!("{name},adversary=on,seed={seed}"), By::Library)?.wrong_ever;
    }
    if wrong > 0 {
        contradictions.push(format!("{} on {platform}: {wrong} old bytes with the library", driver.name));
    }
    // Unknown contents are flushed in the first frame if a reader misses them, and the zeroes of some new objects in any case.
    let flushed = match driver.adopts_unknown_contents() {
        true => after.flushed_ever,
        false => after.cost.own_lines + after.cost.kernel_lines,
    };
    if flushed > 0 && without.wrong == 0 {
        contradictions
            .push(format!("{} on {platform}: {flushed} lines flushed where no byte is old", driver.name));
    }
    let expected = driver.stale_without.contains(&platform);
    if expected != (without.wrong > 0) {
        let found = if expected { "no old byte" } else { "old bytes" };
        contradictions.push(format!("{} on {platform}: {found} without any operation", driver.name));
    }
    Ok((numbers, contradictions))
}

/// Prints the table, a row for the platforms of a driver with the same numbers; returns what contradicts the model's expectations.
fn table() -> Result<Vec<String>> {
    let head = format!("{:>5} {:>6} {:>8} {:>5}", "own", "kernel", "requests", "old");
    println!("{:<17} | {:<26} | {:<26} | neither", "", "today", "with the library");
    println!("{:<17} |{head} |{head} |{:>6} platforms", "driver", "old");
    let mut contradictions = Vec::new();
    for driver in DRIVERS {
        let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
        for platform in PLATFORMS.iter().filter(|platform| driver.platforms.contains(platform)) {
            let (numbers, mut contradicts) = numbers(driver, platform)?;
            contradictions.append(&mut contradicts);
            match rows.iter_mut().find(|(other, _)| *other == numbers) {
                Some((_, platforms)) => platforms.push(platform),
                None => rows.push((numbers, vec![platform])),
            }
        }
        for (numbers, platforms) in rows {
            println!("{:<17} {numbers} {}", driver.name, platforms.join(" "));
        }
    }
    Ok(contradictions)
}

fn main() -> ExitCode {
    match table() {
        Ok(contradictions) if contradictions.is_empty() => ExitCode::SUCCESS,
        Ok(contradictions) => {
            contradictions.iter().for_each(|line| eprintln!("{line}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
