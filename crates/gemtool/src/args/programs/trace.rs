//! The arguments of `gemtool trace`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args as ClapArgs;
use gem_coherency::xe;

use crate::args::{Device, TakenOut, rule};

/// Shown under `gemtool trace --help`.
pub const TRACE_EXAMPLES: &str = "\
Needs root, tracefs and a kernel with kprobes. Under i915 it follows every object of every process from its creation \
through the calls that change how it is cached, and shows each kernel flush beside the flush that the \
rules predict. A flush that was not predicted, or a predicted one that was not seen, is a mismatch: \
exit status 1. There is no verdict on objects that are older than the trace, or whose state the rules \
cannot determine (on screen, relocated, a transfer that failed midway, two threads at once).

Under xe it shows each request that the rules judge (GEM_CREATE, GEM_MMAP_OFFSET, VM_BIND, MADVISE), the kernel's \
answer beside the predicted one, and the flush of each object's new pages. Another answer, a flush that was \
not predicted, or a predicted one that was not seen, is a mismatch.

Examples:
  gemtool trace -- gemtool alloc --caching=none
  gemtool trace --device /dev/dri/renderD128 --json -- vkcube --c 100
  gemtool trace --duration 5s                  all users of the device, for 5 s
  gemtool trace                                until Ctrl-C
  gemtool trace --without bypass-acquire -- gemtool alloc
                                               the effect of a wrong rule
  gemtool trace --without no-cpu-lines -- gemtool alloc --caching=none
                                               the same under xe";

/// `gemtool trace`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Trace {
    /// Duration: a number and ms, s or m [default: until the command ends, or Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "command")]
    pub duration: Option<Duration>,

    /// Predict without this rule (`gemtool rules` lists all rules, with --driver xe those of xe)
    #[arg(long, value_name = "RULE", value_parser = either_rule)]
    pub without: Option<TakenOut>,

    /// Command to trace, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}

/// Parses the name of a rule of i915 or of xe: the device decides which one it must be.
///
/// # Errors
/// A message with names that are similar.
fn either_rule(name: &str) -> Result<TakenOut, String> {
    match name.parse::<xe::Rule>() {
        Ok(_) => Ok(TakenOut(name.to_owned())),
        Err(_) => rule(name).map(|_| TakenOut(name.to_owned())),
    }
}

/// Parses a duration: `500ms`, `5s`, `2m`; at most a day.
///
/// # Errors
/// A message with the reason why the text is invalid.
pub fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 3] = [("ms", 1), ("s", 1000), ("m", 60_000)];
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let found = UNITS.iter().find_map(|&(unit, millis)| Some((text.strip_suffix(unit)?, millis)));
    let wrong = || "not a time (a whole number, then ms, s or m)".to_owned();
    let (digits, millis) = found.ok_or_else(wrong)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let time =
        digits.parse::<u64>().ok().and_then(|count| count.checked_mul(millis)).map(Duration::from_millis);
    match time {
        Some(Duration::ZERO) => Err("the duration is 0".to_owned()),
        Some(time) if time <= DAY => Ok(time),
        Some(_) | None => Err("longer than a day".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("1440m"), Ok(Duration::from_secs(86400)));
        for text in
            ["", "5", "s", "-1s", "1.5s", "5h", "0s", "1441m", "99999999999999999999s", "5 s", "5\u{b5}s"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
