//! Sequences of steps, made on devices and by their oracles.

use std::collections::BTreeMap;
use std::fmt;

use gem_coherency::Errno;

use super::device::Device;
use super::oracle::{Expected, Oracle};
use super::step::{OBJECTS, Spot, Step};

/// A device and the oracle that judges it.
#[derive(Debug)]
pub struct Judged {
    /// The name in messages.
    pub name: &'static str,
    /// The device.
    pub device: Device,
    /// The oracle, before the first step.
    pub oracle: Oracle,
}

/// Numbers of steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Steps.
    pub steps: u64,
    /// Reads, by all devices.
    pub reads: u64,
    /// Those that saw another value than the one that was written last.
    pub old: u64,
    /// Those that could have seen more than one value.
    pub open: u64,
}

impl Counts {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            reads: self.reads + other.reads,
            old: self.old + other.old,
            open: self.open + other.open,
        }
    }
}

/// A step that a device must not make so.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The steps up to this one.
    pub steps: Vec<Step>,
    /// What was wrong.
    pub what: String,
}

/// The result of a step, without the parts of an error that differ between devices.
type Done = Result<Option<u32>, Errno>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "difference: {}", self.what)?;
        // The first steps make the objects.
        self.steps
            .iter()
            .zip(1 + OBJECTS..)
            .try_for_each(|(step, value)| writeln!(f, "    {value}: {step:?}"))
    }
}

/// Makes the steps on all devices, with new objects. Each read must see what the device's oracle allows; with `alike`, all
/// devices must see the same.
pub fn replay(devices: &mut [Judged], steps: &[Step], alike: bool) -> Result<Counts, Failure> {
    let mut oracles: Vec<Oracle> = devices.iter().map(|one| one.oracle.clone()).collect();
    let mut counts = Counts::default();
    let mut last: BTreeMap<Spot, u32> = BTreeMap::new();
    let all = (0..OBJECTS).map(Step::Renew).chain(steps.iter().copied());
    for ((index, step), value) in all.enumerate().zip(1..) {
        if oracles.iter().any(|oracle| oracle.faults(step)) {
            continue;
        }
        let failure = |what| Failure { steps: steps[..(index + 1).saturating_sub(OBJECTS)].to_vec(), what };
        let mut first: Option<Done> = None;
        for (one, oracle) in devices.iter_mut().zip(&mut oracles) {
            let done = one.device.make(step, value).map_err(|error| error.errno());
            let expected = oracle.take(step, value, done.ok().flatten());
            let fits = match (&expected, done) {
                (Expected::Refused(errno), Err(error)) => *errno == error,
                (Expected::Done, Ok(None)) => true,
                (Expected::Reads(values), Ok(Some(value))) => values.contains(&value),
                (Expected::Refused(_) | Expected::Done | Expected::Reads(_), _) => false,
            };
            if !fits {
                return Err(failure(format!("{}: {done:?}, allowed: {expected:?}", one.name)));
            }
            if let (Expected::Reads(values), Ok(Some(value)), Some(spot)) = (&expected, done, step.read()) {
                counts.reads += 1;
                counts.open += u64::from(values.len() > 1);
                counts.old += u64::from(last.get(&spot) != Some(&value));
            }
            let before = *first.get_or_insert(done);
            if alike && before != done {
                return Err(failure(format!("{}: {done:?}, {}: {before:?}", one.name, "the first device")));
            }
        }
        counts.steps += 1;
        if matches!(first, Some(Ok(_))) {
            note(&mut last, step, value);
        }
    }
    Ok(counts)
}

/// Notes the values that a step wrote.
fn note(last: &mut BTreeMap<Spot, u32>, step: Step, value: u32) {
    match step {
        Step::Store(spot, _) | Step::Pwrite(spot) | Step::GpuStore(spot) => {
            last.insert(spot, value);
        }
        Step::PwriteLine(line) => {
            last.extend(
                Spot::of_object(line.object).filter(|spot| spot.line == line.line).map(|spot| (spot, value)),
            );
        }
        Step::Renew(object) => last.extend(Spot::of_object(object).map(|spot| (spot, value))),
        Step::GpuCopy(to, from) => {
            if let Some(&value) = last.get(&from) {
                last.insert(to, value);
            }
        }
        Step::Load(..)
        | Step::Line(..)
        | Step::Fence
        | Step::SetDomain(..)
        | Step::SetCaching(..)
        | Step::Pread(_)
        | Step::GpuRead(_)
        | Step::GpuReadPastLlc(_) => {}
    }
}
