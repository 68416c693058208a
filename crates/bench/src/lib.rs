//! The costs of gem-coherency's hot paths beside other ways to do the same, measured in one run. `gemtool bench` prints them.
//!
//! [`run`] measures rows; each [`Line`] of its report compares two sides that took turns. Flushes and uploads work on ordinary
//! memory of this process, by the library on a software device; only the row `reuse` opens a device by name. [`peers`] are
//! the other ways.
//!
//! What the measurements taught:
//!
//! * A locked instruction waits for earlier stores (Intel SDM vol. 3, 9.2.3) and line operations (vol. 2A, CLWB).
//! * A CPU queues some 64 stores (Zen 4), also those to the stack; a cache miss holds back all later ones.
//! * A load of 16 bytes waits until two stores of 8 bytes are in the cache.
//! * A locked subtraction waits for less than a compare-and-exchange.
//! * `Condvar::notify_all` is a system call, even without waiters.
//! * After an upload, SFENCE takes 15 to 30 ns less than MFENCE.
//!
//! ```
//! use gem_coherency_bench::{Options, run};
//!
//! let report = run(&Options { rows: vec!["constant".to_owned()], quick: true, ..Options::default() })?;
//! assert!(report.passed && report.lines.iter().all(|line| line.row == "constant"));
//! # Ok::<(), gem_coherency_bench::Error>(())
//! ```
//!
//! ```text
//! L4  rows: what is measured, by name
//! L3  updates: stores, and the ways by which they get to memory
//! L2  context: the arguments of every row
//! L1  bytes   clock   ordinary   rounds: memory, time, and turns
//! L0  error   numbers   peers   report: what the others are made of
//! ```
//!
//! * `rows`: the measurements by name, with their targets. Not how sides take turns.
//! * `updates`: a submission of stored lines beside its peers. Not measurements without a submission.
//! * `context`: the effort, the processor and the device of a run. Not results.
//! * `bytes`: a BO's bytes in memory, dirtied, stored, flushed and copied. Not the loops that do so.
//! * `clock`: wall time, and the processor time of a thread. Not statistics.
//! * `ordinary`: a software device whose BOs are ordinary memory. Not devices by name.
//! * `rounds`: several sides that do the same work in turn. Not the work.
//! * `error`: reasons why a measurement failed. Not wrong results.
//! * `numbers`: reproducible pseudo-random numbers. Not their use.
//! * `peers`: the loops of drivers, and libpmem. Not the library's flushes.
//! * `report`: results as data, with the machine and the quartiles. Not their text.

#![deny(unsafe_code)]

mod bytes;
mod clock;
mod context;
mod error;
mod numbers;
mod ordinary;
pub mod peers;
mod report;
mod rounds;
mod rows;
mod updates;

pub use error::Error;
pub use report::{BenchReport, Line, Machine, Maker, Quartiles};
pub use rows::row_names;

use gem_coherency::cacheops;

use context::Context;
use peers::Pmem;
use report::{Found, describe_machine};
use rounds::Effort;

/// What to measure.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The rows by name, in the order of the report; all if there are none.
    pub rows: Vec<String>,
    /// Run a few rounds on small sizes: the times are not meaningful.
    pub quick: bool,
    /// The device of the row `reuse`; `sim:glk` if there is none.
    pub device: Option<String>,
}

/// A row that is about to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The row's name.
    pub row: &'static str,
    /// Number of rows measured before.
    pub done: usize,
    /// Number of rows in all.
    pub count: usize,
}

/// Measures the requested rows. Links the software device, which most rows use.
///
/// # Errors
/// An unknown row; a CPU or a device that cannot be used.
pub fn run(options: &Options) -> Result<BenchReport, Error> {
    run_each(options, |_| {})
}

/// Measures the requested rows like [`run`], and calls `begin` before each.
///
/// # Errors
/// An unknown row; a CPU or a device that cannot be used.
pub fn run_each(options: &Options, mut begin: impl FnMut(Begun)) -> Result<BenchReport, Error> {
    let chosen = rows::chosen(&options.rows)?;
    gem_coherency_sim::link();
    let support = cacheops::support().map_err(gem_coherency::Error::from)?;
    let pmem = Pmem::load();
    let machine = describe_machine(&support, pmem.is_ok());
    let context = Context {
        effort: Effort::new(options.quick),
        support,
        maker: machine.maker,
        pmem,
        device: options.device.clone(),
    };
    let mut found = Found::default();
    let count = chosen.len();
    for (done, row) in chosen.into_iter().enumerate() {
        begin(Begun { row: row.name, done, count });
        tracing::debug!(row = row.name, "bench");
        (row.run)(&context, &mut found)?;
    }
    Ok(BenchReport::new(machine, options.quick, found))
}
