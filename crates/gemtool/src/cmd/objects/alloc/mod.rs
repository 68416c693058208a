//! `gemtool alloc`: allocates, uses and releases BOs, and reports what was flushed.

pub mod acquire;
mod lifetime;
pub mod report;
pub mod traced;
pub mod xe;

use gem_coherency::device::Device;

use crate::args;
use crate::cmd::device::{self, DeviceLine};
use crate::cmd::objects::hold::Hold;
use crate::cmd::progress::bar;
use crate::failure::Failure;
use acquire::Acquire;
use lifetime::HeldBo;
use report::{AllocReport, ReleaseReport, Request, Results};
use traced::{Traced, Tracing};
use xe::XeObject;

/// Smallest number of BOs for which a progress bar is shown.
const MANY: u64 = 100;

/// A run of `gemtool alloc`.
#[derive(Debug)]
pub struct Session<'a> {
    args: &'a args::Alloc,
    device: Device,
    /// The wait at the end, and the BOs to release after it.
    held: Option<(Hold, Vec<HeldBo>)>,
    /// Number of BOs allocated when a signal ended the allocation.
    interrupted_at: Option<u64>,
}

impl<'a> Session<'a> {
    /// Opens the device.
    ///
    /// # Errors
    /// The errors of opening the device.
    pub fn open(args: &'a args::Alloc) -> Result<Self, Failure> {
        let held = if args.hold { Some((Hold::new()?, Vec::new())) } else { None };
        let device = device::open_any(&args.device)?;
        if args.trace && device.xe().is_some() {
            return Err(Failure::flag(
                "--trace",
                "it follows the flushes of i915, and xe drives the device: run `gemtool trace -- gemtool alloc`",
            ));
        }
        Ok(Self { args, device, held, interrupted_at: None })
    }

    /// Performs every BO's steps, and releases those that are not held. With `--hold` a signal ends it early.
    ///
    /// # Errors
    /// The first call that the library or the device refuses; every BO is then released.
    pub fn run(&mut self, progress: bool) -> Result<AllocReport, Failure> {
        let count = self.args.count;
        let bar = bar(count, "{bar:40} {pos}/{len} BOs, {eta} left", progress && count >= MANY);
        let mut results = Results::default();
        let mut tracing = self.args.trace.then(|| Tracing::start(&self.device)).transpose()?;
        let mut traced = None;
        for number in 1..=count {
            if let Some((hold, bos)) = &self.held
                && hold.has_signal(None)?
            {
                self.interrupted_at = Some(bos.len() as u64);
                break;
            }
            let bo =
                HeldBo::begin(&self.device, self.args).map_err(|failure| failure.about_bo(number, count))?;
            let handle = bo.handle();
            match &mut self.held {
                Some((_, bos)) => {
                    results.add(bo.handle(), bo.report().clone());
                    bos.push(bo);
                }
                None => {
                    let (handle, report) = bo.end().map_err(|failure| failure.about_bo(number, count))?;
                    results.add(handle, report);
                }
            }
            if let Some(tracing) = tracing.take() {
                traced = Some(tracing.end(handle)?);
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        let mut report = results.report(DeviceLine::of(&self.device)?, Request::from(self.args));
        report.passed &= traced.as_ref().is_none_or(Traced::passed);
        report.traced = traced;
        if let Some(xe) = self.device.xe() {
            let size = report.groups.first().map(|group| group.bo.size_bytes);
            report.xe = size.and_then(|size| XeObject::predicted(&xe, self.args.caching, size));
            return Ok(report);
        }
        let (machine, rules) = (self.device.machine(), self.device.rules());
        let predicted = report
            .groups
            .first()
            .map(|group| Acquire::predicted(machine, rules, self.args.caching, group.bo.level));
        match predicted {
            Some(Ok(acquire)) => report.acquire = Some(acquire),
            Some(Err(why)) => report.acquire_not_predicted = Some(why),
            None => {}
        }
        Ok(report)
    }

    /// Waits if BOs are held and no signal came, and releases them; `None` if none are held.
    ///
    /// # Errors
    /// The errors of waiting and of releasing a BO.
    pub fn release(&mut self) -> Result<Option<ReleaseReport>, Failure> {
        let Some((hold, bos)) = self.held.take() else { return Ok(None) };
        if self.interrupted_at.is_none() {
            hold.wait(bos.len())?;
        }
        let reports = bos.into_iter().map(|bo| bo.end().map(|(_, report)| report));
        Ok(Some(ReleaseReport::new(&reports.collect::<Result<Vec<_>, _>>()?)))
    }

    /// Returns the failure that reports an interrupted allocation, if a signal ended it.
    pub fn interrupted(&self) -> Option<Failure> {
        let (done, count) = (self.interrupted_at?, self.args.count);
        Some(Failure::Environment(format!(
            "--hold: interrupted after {done} of {count} BOs, which were released"
        )))
    }
}
