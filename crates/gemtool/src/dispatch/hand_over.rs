//! Hands the surfaces of a shader over to the GPU, as the library prepares them.

use gem_coherency::device::{Device, Submission};
use gem_coherency::object::FlushReport;
use gem_coherency::vocabulary::Access;
use gem_coherency_exercise::{Region, Walker};
use gem_shader_compiler::SurfaceUse;

use super::{Surface, Threads};

/// Returns a shader's access to a surface; one that writes is assumed to read, too.
pub fn access(used: &SurfaceUse) -> Access {
    if used.writes { Access::Write } else { Access::Read }
}

/// Flushes what the rules require before a shader accesses the surfaces; returns the library's report on each.
///
/// # Errors
/// Those of [`Device::submit`].
pub fn prepare(
    device: &Device,
    surfaces: &[Surface],
    used: &[SurfaceUse],
) -> Result<Vec<FlushReport>, gem_coherency::Error> {
    let one = |(surface, used)| {
        let Surface { bo, class, .. }: &Surface = surface;
        Submission { bo, access: access(used), mocs: *class }
    };
    device.submit(&surfaces.iter().zip(used).map(one).collect::<Vec<_>>())
}

/// Tells the library that the GPU has written the surfaces that a shader writes.
///
/// # Errors
/// Those of [`gem_coherency::object::Bo::gpu_wrote`].
pub fn note_writes(surfaces: &[Surface], used: &[SurfaceUse]) -> Result<(), gem_coherency::Error> {
    let mut written = surfaces.iter().zip(used).filter(|(_, used)| used.writes);
    written.try_for_each(|(surface, _)| surface.bo.gpu_wrote(surface.class))
}

impl Threads<'_> {
    /// Lets the device's GPU run the threads on surfaces that the library prepares, and waits for it; returns the library's report on
    /// each surface.
    ///
    /// # Errors
    /// Those of [`Walker::submit`], and of waiting.
    pub fn run_on_gpu(
        &self,
        device: &Device,
        surfaces: &[Surface],
        used: &[SurfaceUse],
    ) -> Result<Vec<FlushReport>, gem_coherency_exercise::Error> {
        let mut walker = Walker::new(device, self.code)?;
        for (surface, used) in surfaces.iter().zip(used) {
            let region = Region::new(&surface.bo, 0);
            let region = surface.entry.map_or(region, |entry| region.mocs(entry));
            walker.surface(region, surface.size, access(used))?;
        }
        walker.constants(self.constants);
        let submitted = walker.submit(self.count)?;
        submitted.wait(None)?;
        // One BO may be several surfaces: then uses that are the same have one report.
        let mut reports = submitted.reports().iter();
        let mut known: Vec<(&Surface, Access, FlushReport)> = Vec::new();
        for (surface, used) in surfaces.iter().zip(used) {
            let access = access(used);
            let is_same = |(other, of, _): &&(&Surface, Access, FlushReport)| {
                other.bo.is_same(&surface.bo) && other.class == surface.class && *of == access
            };
            let report = known.iter().find(is_same).map(|(_, _, report)| *report);
            if let Some(report) = report.or_else(|| reports.next().copied()) {
                known.push((surface, access, report));
            }
        }
        Ok(known.into_iter().map(|(_, _, report)| report).collect())
    }
}
