//! `gemtool alloc`: BOs through their life, and what was flushed on the way.

mod life;
pub mod report;

use gem_coherency::device::Device;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::device::{self, DeviceLine};
use super::hold::Hold;
use crate::args;
use crate::failure::Failure;
use life::Live;
use report::{AllocReport, Asked, Gathered, ReleaseReport};

/// From how many BOs on a bar shows how far it is.
const MANY: u64 = 100;

/// A run of `gemtool alloc`.
#[derive(Debug)]
pub struct Session<'a> {
    args: &'a args::Alloc,
    device: Device,
    /// Where to wait, and what to give back then.
    held: Option<(Hold, Vec<Live>)>,
    /// How many BOs there were when a signal ended the allocation.
    interrupted_at: Option<u64>,
}

impl<'a> Session<'a> {
    /// Opens the device.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(args: &'a args::Alloc) -> Result<Self, Failure> {
        let held = if args.hold { Some((Hold::new()?, Vec::new())) } else { None };
        Ok(Self { args, device: device::open(&args.device)?, held, interrupted_at: None })
    }

    /// Takes every BO through its life, but for the end of those that are held. With `--hold` a signal ends it early.
    ///
    /// # Errors
    /// The first call that the library or the device refuses; every BO is given back then.
    pub fn run(&mut self, progress: bool) -> Result<AllocReport, Failure> {
        let count = self.args.count;
        let bar = if progress && count >= MANY { bar(count) } else { ProgressBar::hidden() };
        let mut gathered = Gathered::default();
        for number in 1..=count {
            if let Some((hold, lives)) = &self.held
                && hold.has_signal(None)?
            {
                self.interrupted_at = Some(lives.len() as u64);
                break;
            }
            let live =
                Live::begin(&self.device, self.args).map_err(|failure| failure.about_bo(number, count))?;
            match &mut self.held {
                Some((_, lives)) => {
                    gathered.add(live.handle(), live.report().clone());
                    lives.push(live);
                }
                None => {
                    let (handle, report) = live.end().map_err(|failure| failure.about_bo(number, count))?;
                    gathered.add(handle, report);
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(gathered.report(DeviceLine::of(&self.device)?, Asked::from(self.args)))
    }

    /// Waits if BOs are held and no signal came, and releases them; `None` if none are held.
    ///
    /// # Errors
    /// What the library or the device refuses.
    pub fn release(&mut self) -> Result<Option<ReleaseReport>, Failure> {
        let Some((hold, lives)) = self.held.take() else { return Ok(None) };
        if self.interrupted_at.is_none() {
            hold.wait(lives.len())?;
        }
        let reports = lives.into_iter().map(|live| live.end().map(|(_, report)| report));
        Ok(Some(ReleaseReport::new(&reports.collect::<Result<Vec<_>, _>>()?)))
    }

    /// That a signal ended the allocation, if one did.
    pub fn interrupted(&self) -> Option<Failure> {
        let (done, count) = (self.interrupted_at?, self.args.count);
        Some(Failure::Environment(format!(
            "--hold: interrupted after {done} of {count} BOs, which were released"
        )))
    }
}

/// A bar on standard error; invisible unless that is a terminal.
fn bar(count: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} BOs, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
