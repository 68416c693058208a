//! `gemtool bench`: the cost of the library's hot paths and of alternatives, measured in one run.
//!
//! [`rounds::Rounds`] has several sides that do the same work in turn; times are compared within a round.
//! [`rows`] defines the measurements; [`updates`] carries out those that submit what the CPU wrote; [`bytes`] and
//! [`ordinary`] provide the memory.

#[path = "../../../../bench/src/bytes.rs"]
mod bytes;
#[path = "../../../../bench/src/clock.rs"]
mod clock;
#[path = "../../../../bench/src/report/machine.rs"]
mod machine;
#[path = "../../../../bench/src/numbers.rs"]
mod numbers;
#[path = "../../../../bench/src/ordinary.rs"]
mod ordinary;
#[path = "../../../../bench/src/report/mod.rs"]
pub mod report;
#[path = "../../../../bench/src/rounds.rs"]
mod rounds;
#[path = "../../../../bench/src/rows/mod.rs"]
mod rows;
#[path = "../../../../bench/src/report/quartiles.rs"]
mod stats;
#[path = "../../../../bench/src/updates.rs"]
mod updates;

use gem_coherency::Error;
use gem_coherency::cacheops::{self, Support};
use gemtool::peers::Pmem;

use crate::args;
use crate::failure::Failure;
use machine::Maker;
use report::{BenchReport, Found};
use rounds::Effort;

/// Arguments of every row.
struct Context {
    /// The time to spend.
    effort: Effort,
    /// The CPU's instructions.
    support: Support,
    /// The CPU's maker.
    maker: Maker,
    /// libpmem, or the reason why it could not be loaded.
    pmem: Result<Pmem, String>,
    /// The device for the rows that need one.
    device: Option<String>,
}

impl Context {
    /// Returns libpmem; if it is missing, notes that the comparisons with it are left out.
    fn pmem(&self, found: &mut Found) -> Option<Pmem> {
        match &self.pmem {
            Ok(pmem) => Some(*pmem),
            Err(why) => {
                let note = format!("{why}: comparisons with libpmem are left out");
                if !found.notes.contains(&note) {
                    found.notes.push(note);
                }
                None
            }
        }
    }
}

/// Measures the requested rows.
///
/// # Errors
/// An unknown row; a CPU or a device that cannot be used.
pub fn run(args: &args::Bench) -> Result<BenchReport, Failure> {
    let chosen = rows::chosen(&args.rows).map_err(|why| Failure::flag("NAME", why))?;
    let support = cacheops::support().map_err(Error::from)?;
    let pmem = Pmem::load();
    let machine = machine::describe(&support, pmem.is_ok());
    let context = Context {
        effort: Effort::new(args.quick),
        support,
        maker: machine.maker,
        pmem,
        device: args.device.device.clone(),
    };
    let mut found = Found::default();
    for row in chosen {
        tracing::debug!(row = row.name, "bench");
        (row.run)(&context, &mut found)?;
    }
    Ok(BenchReport::new(machine, args.quick, found))
}
