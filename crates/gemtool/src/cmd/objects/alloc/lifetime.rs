//! The lifetime of one BO: write, submit, scan out, read back, release.

use gem_coherency::Error;
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::{Bo, Ownership, ScanoutGuard};
use gem_coherency::object::{FlushReport, Step};
use gem_coherency::platform::{Call, Caps};

use super::report::{BoReport, Check, Contents, Exported, KernelCaching, StepLine};
use crate::args::{self, Pattern};
use crate::cmd::model::explain::kernel::accesses;
use crate::failure::Failure;

/// Bytes to copy at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// A BO whose contents were checked.
#[derive(Debug)]
pub struct HeldBo {
    bo: Bo,
    report: BoReport,
    /// Keeps the BO on screen.
    shown: Option<ScanoutGuard>,
}

impl HeldBo {
    /// Allocates a BO and performs every step except its release.
    ///
    /// # Errors
    /// The first call that the library or the device refuses; the BO is then released.
    pub fn begin(device: &Device, args: &args::Alloc) -> Result<Self, Failure> {
        let bo = alloc(device, args)?;
        if let Some(mode) = args.map {
            bo.map(mode).map_err(|error| Failure::flag("--map", error))?;
        }
        // Read before the scanout, which changes the level.
        let kernel_caching = kernel_caching(device, &bo);
        let (level, coherent) = (bo.level(), accesses(bo.coherency()));
        let mut steps = vec![StepLine::from(&fill(&bo, &args.fill)?)];
        let submission = Submission { bo: &bo, access: args.gpu, mocs: args.mocs };
        let submitted = device.submit(&[submission]).map_err(Failure::step("submit"))?;
        steps.extend(submitted.iter().map(StepLine::from));
        let shown =
            args.scanout.then(|| bo.prepare_scanout().map_err(Failure::step("scanout"))).transpose()?;
        steps.extend(shown.iter().map(|guard| StepLine::from(&guard.report())));
        let export = args.export.then(|| export(device, &bo, &mut steps)).transpose()?;
        let (mapping, read) = check_mapping(&bo, &args.fill)?;
        steps.push(StepLine::from(&read));
        let contents = Contents { mapping, pread: check_pread(device, &bo, &args.fill)? };
        let Ownership { owner, rule } = bo.flush_owner();
        let report = BoReport {
            size_bytes: bo.size(),
            kernel_caching,
            level,
            coherent,
            map: bo.map_mode(),
            flushed_by: owner,
            flush_rule: rule,
            steps,
            contents,
            export,
        };
        Ok(Self { bo, report, shown })
    }

    /// Returns the BO's handle.
    pub fn handle(&self) -> u32 {
        self.bo.handle().get()
    }

    /// Returns the results so far.
    pub fn report(&self) -> &BoReport {
        &self.report
    }

    /// Releases the BO; returns its handle and results.
    ///
    /// # Errors
    /// The errors of GEM_CLOSE.
    pub fn end(self) -> Result<(u32, BoReport), Failure> {
        let Self { bo, mut report, shown } = self;
        // A BO on screen cannot be released.
        drop(shown);
        let handle = bo.handle().get();
        let released = bo.release().map_err(Failure::step("release"))?;
        report.steps.push(StepLine::from(&released.report()));
        Ok((handle, report))
    }
}

/// Allocates a BO; an error names the flag whose value is wrong.
fn alloc(device: &Device, args: &args::Alloc) -> Result<Bo, Failure> {
    let request = AllocRequest { caching: args.caching, ..AllocRequest::new(args.size) };
    device.alloc(request).map_err(|error| {
        if let Error::BadSize { .. } | Error::NoMemory { .. } = error {
            Failure::flag("--size", error)
        } else if let Error::NotAvailable { .. } = error {
            let advice = if device.machine().caps.contains(Caps::DISCRETE) {
                "; without --caching a BO has the platform's default"
            } else {
                ""
            };
            Failure::flag("--caching", format!("{error}{advice}"))
        } else {
            Failure::step("alloc")(error)
        }
    })
}

/// Returns a buffer for the largest chunk of `size` bytes, and no larger: thousands of small BOs may be held.
fn buffer(size: u64) -> Vec<u8> {
    vec![0; usize::try_from(size).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES)]
}

/// Calls `visit` with the offset and length of every chunk of `size` bytes.
fn chunks(size: u64, mut visit: impl FnMut(u64, usize) -> Result<(), Error>) -> Result<(), Error> {
    let mut offset = 0;
    while offset < size {
        let len = CHUNK_BYTES.min(usize::try_from(size - offset).unwrap_or(CHUNK_BYTES));
        visit(offset, len)?;
        offset += len as u64;
    }
    Ok(())
}

/// Writes the pattern over the whole BO.
fn fill(bo: &Bo, pattern: &Pattern) -> Result<FlushReport, Failure> {
    let write = || {
        let mut guard = bo.write(0, bo.size())?;
        let mut data = buffer(bo.size());
        chunks(bo.size(), |offset, len| {
            let chunk = &mut data[..len];
            pattern.fill(offset, chunk);
            guard.write_at(offset, chunk)
        })?;
        Ok::<_, Error>(guard.finish())
    };
    write().map_err(Failure::step("write"))
}

/// Reads the whole BO through its mapping.
fn check_mapping(bo: &Bo, pattern: &Pattern) -> Result<(Check, FlushReport), Failure> {
    let read = || {
        let guard = bo.read(0, bo.size())?;
        let mut data = buffer(bo.size());
        let mut wrong = None;
        chunks(bo.size(), |offset, len| {
            let chunk = &mut data[..len];
            guard.read_at(offset, chunk)?;
            wrong = wrong.or_else(|| pattern.mismatch(offset, chunk));
            Ok(())
        })?;
        Ok::<_, Error>((Check::of(wrong), guard.finish()))
    };
    read().map_err(Failure::step("read"))
}

/// Reads the whole BO with PREAD, if the platform supports it.
fn check_pread(device: &Device, bo: &Bo, pattern: &Pattern) -> Result<Check, Failure> {
    if let Some(refusal) = device.machine().refusal(Call::PreadPwrite) {
        return Ok(Check::NotAvailable(refusal.why.to_owned()));
    }
    let mut data = buffer(bo.size());
    let mut wrong = None;
    let read = chunks(bo.size(), |offset, len| {
        let chunk = &mut data[..len];
        device.drm().extras()?.pread(bo.handle(), offset, chunk)?;
        wrong = wrong.or_else(|| pattern.mismatch(offset, chunk));
        Ok(())
    });
    read.map(|()| Check::of(wrong)).map_err(Failure::step("PREAD"))
}

/// Exports the BO and imports it again.
fn export(device: &Device, bo: &Bo, steps: &mut Vec<StepLine>) -> Result<Exported, Failure> {
    let flushed = bo.flush().map_err(Failure::step("export"))?;
    // It leaves nothing to the export, whose own flush is not reported.
    steps.push(StepLine::from(&FlushReport { step: Step::Export, ..flushed }));
    let dma_buf = bo.export().map_err(Failure::step("export"))?;
    let again = device.import(&dma_buf).map_err(Failure::step("import"))?;
    Ok(Exported { same_handle: again.handle() == bo.handle() })
}

/// Returns the caching mode that GET_CACHING reports.
fn kernel_caching(device: &Device, bo: &Bo) -> KernelCaching {
    match device.drm().caching(bo.handle()) {
        Ok(mode) => KernelCaching::Mode(mode),
        Err(error) => KernelCaching::Refused(format!("{:?}", error.errno())),
    }
}
