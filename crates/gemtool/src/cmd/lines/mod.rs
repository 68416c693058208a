//! `gemtool lines`: runs a GPU kernel on a software device, and reports the cache lines that its instructions access.

pub mod report;
mod watched;

use std::sync::Arc;

use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::policy::pending::cached_mode;
use gem_coherency::units::LINE_BYTES;
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_exercise::Error;
use gem_coherency_exercise::commands::{Bytes, Walker, walker};
use gem_coherency_sim::Soft;
use intel_eu::Platform;
use intel_eu::execute::{Kernel, Thread};

use super::device::DeviceLine;
use super::eu::{Program, failure};
use crate::args::{self, EuAction};
use crate::failure::Failure;
use report::{Dispatch, LinesReport, Ran, SurfaceLine};
use watched::{Surface, Watched};

/// Largest number of instructions that a thread executes.
const STEPS: u64 = 1 << 20;
/// Bytes of a register.
const REGISTER_BYTES: usize = 32;

/// Runs the kernel, unless it breaks a restriction of the hardware.
///
/// # Errors
/// A device that is no software device, or has no such kernels; a file without a known kernel; surfaces and constants that the device's
/// commands cannot name; an instruction whose effect is not known; an access to a surface that is not given.
pub fn run(args: &args::Lines) -> Result<Ran, Failure> {
    let (soft, device) = open(&args.device)?;
    let name = device.machine().platform.name;
    let unknown = || Failure::flag("--device", format!("the instructions of {name}'s kernels are not known"));
    let platform = Platform::from_name(name).ok_or_else(unknown)?;
    let program = Program::read(&args.kernel, platform)?;
    if program.instructions.iter().any(|line| !line.violations.is_empty()) {
        return Ok(Ran::Invalid(program.report(platform, EuAction::Validate)));
    }
    can_be_submitted(&device, args, &program.bytes)?;
    let stop = |stop| failure(&args.kernel, stop);
    let enabled = u32::MAX >> (32 - args.channels);
    let kernel = Kernel::new(platform, &program.bytes);
    kernel.check(enabled).map_err(stop)?;

    let surfaces = surfaces(&device, &args.surface)?;
    let mut watched = Watched::new(&soft, &surfaces);
    for group in 0..args.groups {
        let mut thread = Thread::new(&kernel, enabled, &payload(group, &args.constants));
        thread.run(STEPS, &mut watched).map_err(stop)?;
        watched.check().map_err(|error| failure(&args.kernel, error))?;
    }
    let lines = surfaces.iter().zip(&args.surface).map(|(surface, asked)| SurfaceLine::new(surface, asked));
    Ok(Ran::Done(Box::new(LinesReport {
        device: DeviceLine::of(&device)?,
        dispatch: Dispatch::from(args),
        surfaces: lines.collect(),
        accesses: watched.rows(device.machine().caps, &program.instructions),
    })))
}

/// Opens a software device.
fn open(name: &str) -> Result<(Arc<Soft>, Device), Failure> {
    if !name.starts_with(gem_coherency_sim::PREFIX) {
        let why = format!(
            "'{name}' is not a software device (sim:PLATFORM): only those show which lines are stale"
        );
        return Err(Failure::flag("--device", why));
    }
    let refused = |error: gem_coherency::Error| Failure::refused("--device", error);
    let soft = Arc::new(Soft::open(name).map_err(refused)?);
    let device = Device::from_drm(Arc::clone(&soft) as Arc<_>).map_err(refused)?;
    Ok((soft, device))
}

/// Checks that a batch of the device can start the kernel on the surfaces.
fn can_be_submitted(device: &Device, args: &args::Lines, kernel: &[u8]) -> Result<(), Error> {
    let bytes = |(buffer, surface): (u32, &args::Surface)| Bytes {
        buffer,
        offset: 0,
        len: surface.size,
        mocs: surface.mocs,
    };
    let surfaces: Vec<_> = (0..).zip(&args.surface).map(bytes).collect();
    let what = Walker { kernel, surfaces: &surfaces, constants: &args.constants, groups: args.groups };
    walker(device.machine(), &what, surfaces.len() as u32).map(drop)
}

/// Allocates the surfaces. The GPU uses them once, as the library prepares them; then the CPU stores to their dirty lines, and flushes nothing.
fn surfaces(device: &Device, asked: &[args::Surface]) -> Result<Vec<Surface>, Failure> {
    let mut surfaces = Vec::new();
    for (number, &args::Surface { size, mocs, caching, .. }) in asked.iter().enumerate() {
        let bo = device.alloc(AllocRequest { caching, ..AllocRequest::new(size) });
        let bo = bo.map_err(Failure::step(format!("surface {number}")))?;
        let class = mocs.map_or(MocsClass::PageTable, |entry| device.mocs_class(entry));
        surfaces.push(Surface { bo, size, class });
    }
    let uses: Vec<_> = surfaces
        .iter()
        .map(|Surface { bo, class, .. }| Submission { bo, access: Access::Write, mocs: *class })
        .collect();
    device.submit(&uses).map_err(Failure::step("the first use of the surfaces"))?;
    for (number, (surface, asked)) in surfaces.iter().zip(asked).enumerate() {
        let (bo, dirty) = (&surface.bo, asked.dirty);
        bo.wait(None)?;
        let bytes: Vec<u8> = (0..dirty.bytes()).map(|at| stored(number as u64, at)).collect();
        let mapping = device.drm().map(bo.handle(), cached_mode(device.machine().caps), bo.size());
        let stored = mapping.and_then(|mapping| mapping.copy_in(dirty.first() * LINE_BYTES, &bytes));
        stored.map_err(Failure::step(format!("the CPU's stores to surface {number}")))?;
    }
    Ok(surfaces)
}

/// Returns the byte that the CPU stores: any but 0, so that it differs from what memory has, and from most other bytes.
fn stored(surface: u64, at: u64) -> u8 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (surface << 32 | at).wrapping_add(1).wrapping_mul(ODD);
    ((mixed ^ mixed >> 32).wrapping_mul(ODD) >> 56) as u8 | 1
}

/// Returns the first registers of a group's thread: its number, then constants.
fn payload(group: u32, constants: &[u32]) -> Vec<[u8; REGISTER_BYTES]> {
    let register = |dwords: &[u32]| {
        let mut bytes = [0; REGISTER_BYTES];
        let from = dwords.iter().flat_map(|dword| dword.to_le_bytes());
        bytes.iter_mut().zip(from).for_each(|(byte, from)| *byte = from);
        bytes
    };
    let constants = (!constants.is_empty()).then(|| register(constants));
    [register(&[0, group])].into_iter().chain(constants).collect()
}
