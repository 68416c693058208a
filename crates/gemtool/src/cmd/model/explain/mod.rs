//! `gemtool explain`: one decision, or the whole table.

pub mod driver;
pub mod kernel;

use gem_coherency::policy::kernel::{Creation, Snapshot};
use gem_coherency::vocabulary::CacheLevel;
use gemtool::numbers;

use crate::args::{self, Driver, Who};
use crate::cmd::model::machine::{self, Ruled};
use crate::failure::Failure;

/// Returns the platforms that a question is about; all for a table without `--platform`.
///
/// # Errors
/// The missing arguments of a question about one decision, an argument that has no meaning in a table, an unknown platform,
/// or a kernel without known rules.
pub fn ruled(args: &args::Explain) -> Result<Vec<Ruled>, Failure> {
    if !args.table && required(args).iter().any(|(_, given)| !given) {
        return Err(missing(args));
    }
    refuse(
        &[("--caching", args.caching.is_some()), ("--in-batch", args.in_batch)],
        "is about xe: use it with --driver xe",
    )?;
    let pat_and_object = args.pat.is_some() && args.object.is_some();
    refuse(&[("--object", pat_and_object)], "--pat stands for an object, too: leave one of the two out")?;
    if args.table && args.who == Who::Driver {
        refuse(&[("--object", args.object.is_some())], "applies to the kernel: use it with --who kernel")?;
        refuse(&[("--pat", args.pat.is_some())], "a driver's --table has every level: leave it out")?;
    }
    machine::named(args.platform.as_deref(), args.kernel.unwrap_or(Driver::I915.kernel()), args.edram)
}

/// Returns the arguments that a question about one decision requires, and whether each is given.
fn required(args: &args::Explain) -> Vec<(&'static str, bool)> {
    let platform = ("--platform", args.platform.is_some());
    match args.who {
        Who::Kernel => vec![platform, ("--event", args.event.is_some())],
        Who::Driver => vec![
            platform,
            ("--level (or --pat)", args.level.is_some() || args.pat.is_some()),
            ("--writer", args.writer.is_some()),
            ("--reader", args.reader.is_some()),
        ],
    }
}

/// Returns the failure that names all missing arguments.
fn missing(args: &args::Explain) -> Failure {
    let mut missing = required(args).into_iter().filter(|(_, given)| !given).map(|(flag, _)| flag);
    let first = missing.next().unwrap_or_default();
    let others: Vec<_> = missing.collect();
    let others =
        if others.is_empty() { String::new() } else { format!("; missing, too: {}", others.join(", ")) };
    let needed = match (first, args.who) {
        ("--platform", _) => "needed without --table",
        (_, Who::Driver) => "needed with --who driver",
        (_, Who::Kernel) => "needed with --who kernel",
    };
    Failure::flag(first, format!("{needed}{others}"))
}

/// Returns the PAT index of `--pat` and the level that it stands for.
///
/// # Errors
/// An index that cannot be chosen on this platform under this kernel.
fn pat(ruled: &Ruled, args: &args::Explain) -> Result<Option<(u8, CacheLevel)>, Failure> {
    let Some(text) = &args.pat else { return Ok(None) };
    let Ruled { machine, rules } = ruled;
    let level = |index| {
        let created = Snapshot::created(machine.caps, rules, Creation::UserWithPat(index));
        created.ok().map(|state| state.level)
    };
    let asked = numbers::number(text).ok().and_then(|number| u8::try_from(number).ok());
    if let Some((index, level)) = asked.and_then(|index| Some((index, level(index)?))) {
        return Ok(Some((index, level)));
    }
    let valid = (0..=u8::MAX).filter_map(|index| Some(format!("{index} (level {})", level(index)?)));
    let valid: Vec<_> = valid.collect();
    let (platform, kernel) = (machine.platform.name, machine.kernel);
    Err(Failure::flag(
        "--pat",
        if valid.is_empty() {
            format!(
                "'{text}': no PAT index can be chosen on {platform} under kernel {kernel}: SET_PAT needs graphics \
                 12.70 (mtl) and Linux 6.5; use --level"
            )
        } else {
            format!("'{text}' is not a PAT index of {platform} (known: {})", valid.join(", "))
        },
    ))
}

/// Refuses flags that have no meaning here, instead of ignoring them.
fn refuse(flags: &[(&'static str, bool)], why: &str) -> Result<(), Failure> {
    match flags.iter().find(|(_, given)| *given) {
        Some(&(flag, _)) => Err(Failure::flag(flag, why)),
        None => Ok(()),
    }
}
