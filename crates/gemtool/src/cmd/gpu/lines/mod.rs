//! `gemtool lines`: runs a shader on a software device, and reports the cache lines that its instructions access.

pub mod report;

use std::sync::Arc;

use gem_coherency::device::Device;
use gem_coherency_sim::SimDevice;
use gemtool::dispatch::{Halt, Threads, Watched, platform};

use crate::args::{self, EuAction};
use crate::cmd::device::DeviceLine;
use crate::cmd::gpu::eu::{Program, failure};
use crate::cmd::gpu::surfaces::report::{SurfaceLine, rows};
use crate::cmd::gpu::surfaces::{Asked, allocate, entry, store_untracked};
use crate::failure::Failure;
use report::{Dispatch, LinesReport, Ran};

/// Runs the shader, unless it breaks a restriction of the hardware.
///
/// # Errors
/// A device that is no software device, or has no such shaders; a file without a known shader; surfaces and constants that the device's
/// commands cannot name; an instruction whose effect is not known; an access to a surface that is not given.
pub fn run(args: &args::Lines) -> Result<Ran, Failure> {
    let (soft, device) = open(&args.device)?;
    let platform = platform(&device).map_err(|why| Failure::flag("--device", why))?;
    let program = Program::read(&args.shader, platform)?;
    if program.instructions.iter().any(|line| !line.violations.is_empty()) {
        return Ok(Ran::Invalid(program.report(platform, EuAction::Validate)));
    }
    let threads = Threads {
        platform,
        code: &program.bytes,
        count: args.groups,
        channels: args.channels,
        constants: &args.constants,
    };
    let names: Vec<_> = (0..args.surface.len()).map(|number| number.to_string()).collect();
    let asked = names.iter().zip(&args.surface).map(|(name, settings)| {
        let entry = settings.mocs.map_or(Ok(None), |mocs| entry(&device, mocs))?;
        Ok(Asked { name, settings, entry })
    });
    let asked = asked.collect::<Result<Vec<_>, Failure>>()?;
    let sizes: Vec<_> = asked.iter().map(|one| (one.settings.size, one.entry)).collect();
    threads.check(device.machine(), &sizes)?;

    let surfaces = allocate(&device, &asked)?;
    store_untracked(&device, &asked, &surfaces)?;
    let mut watched = Watched::new(&soft, &surfaces);
    threads.run(&mut watched).map_err(|halt| stopped(args, &halt))?;
    let lines = surfaces.iter().zip(&asked).map(|(surface, asked)| SurfaceLine::new(surface, asked));
    Ok(Ran::Done(Box::new(LinesReport {
        device: DeviceLine::of(&device)?,
        dispatch: Dispatch::from(args),
        surfaces: lines.collect(),
        accesses: rows(&watched, device.machine().caps, &surfaces, &program.instructions),
    })))
}

/// Returns the failure of a thread that stopped.
fn stopped(args: &args::Lines, halt: &Halt) -> Failure {
    let hint = match halt {
        Halt::NoSurface { .. } => " by --surface",
        Halt::Stopped(_) | Halt::Ended { .. } | Halt::Access { .. } => "",
    };
    failure(&args.shader, format_args!("{halt}{hint}"))
}

/// Opens a software device.
fn open(name: &str) -> Result<(Arc<SimDevice>, Device), Failure> {
    if !name.starts_with(gem_coherency_sim::PREFIX) {
        let why = format!(
            "'{name}' is not a software device (sim:PLATFORM): only those show which lines are stale"
        );
        return Err(Failure::flag("--device", why));
    }
    let refused = |error: gem_coherency::Error| Failure::refused("--device", error);
    let soft = Arc::new(SimDevice::open(name).map_err(refused)?);
    let device = Device::from_drm(Arc::clone(&soft) as Arc<_>).map_err(refused)?;
    Ok((soft, device))
}
