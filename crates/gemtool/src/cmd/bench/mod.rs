//! `gemtool bench`: what the library's hot paths cost beside other ways to do the same, measured in one run.
//!
//! [`rounds::Rounds`] have several sides that do the same work; they take turns, and what is compared are the
//! times of one round. [`rows`] says what is measured, [`bytes`] and [`ordinary`] on which memory.

mod bytes;
mod clock;
mod machine;
mod numbers;
mod ordinary;
pub mod report;
mod rounds;
mod rows;
mod stats;

use gem_coherency::cacheops::{self, Support};
use gemtool::peers::Pmem;

use crate::args;
use crate::failure::Failure;
use report::{BenchReport, Found};
use rounds::Effort;

/// What every row is given.
struct Context {
    /// How much time is spent.
    effort: Effort,
    /// What the CPU has.
    support: Support,
    /// libpmem, or why it is not there.
    pmem: Result<Pmem, String>,
    /// The device of the rows that need one.
    device: Option<String>,
}

impl Context {
    /// Returns libpmem; notes that rows beside it are left out, if it is not there.
    fn pmem(&self, found: &mut Found) -> Option<Pmem> {
        match &self.pmem {
            Ok(pmem) => Some(*pmem),
            Err(why) => {
                let note = format!("{why}: rows beside libpmem are left out");
                if !found.notes.contains(&note) {
                    found.notes.push(note);
                }
                None
            }
        }
    }
}

/// Measures what was asked for.
///
/// # Errors
/// A row whose name is not known; a CPU or a device that cannot be used.
pub fn run(args: &args::Bench) -> Result<BenchReport, Failure> {
    let chosen = rows::chosen(&args.rows).map_err(|why| Failure::flag("NAME", why))?;
    let support = cacheops::support()?;
    let context = Context {
        effort: Effort::new(args.quick),
        support,
        pmem: Pmem::load(),
        device: args.device.device.clone(),
    };
    let machine = machine::describe(&context.support, context.pmem.is_ok());
    let mut found = Found::default();
    for row in chosen {
        tracing::debug!(row = row.name, "bench");
        (row.run)(&context, &mut found)?;
    }
    Ok(BenchReport::new(machine, args.quick, found))
}
