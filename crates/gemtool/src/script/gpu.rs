//! Runs the shaders of scripts.

use gem_coherency::object::FlushReport;
use gem_coherency::vocabulary::Access;
use gem_coherency_sim::SimDevice;

use super::Target;
use super::report::{Decided, Dispatched, GpuLines};
use super::shader::{BoundBo, Dispatch};
use super::state::{Done, Refused, State};
use crate::dispatch::{
    self, CHANNELS, Compiled, Place, Surface, Threads, Watched, described, entry_of_shaders, note_writes,
    prepare,
};
use crate::line_set::LineSet;

/// A shader with its BOs, ready to run.
struct Ready<'a> {
    dispatch: &'a Dispatch,
    compiled: &'a Compiled,
    /// The BOs in the order of the binding table.
    bound: Vec<&'a BoundBo>,
    surfaces: Vec<Surface>,
}

impl State<'_> {
    /// Compiles a shader for the device's platform, and runs it on the script's BOs.
    pub(super) fn dispatch(&self, dispatch: &Dispatch) -> Result<Done, Refused> {
        let target = match dispatch.bound.first() {
            Some(first) => self.target_of(first.bo),
            None => self.target,
        };
        let device = target.device();
        let platform = dispatch::platform(device).map_err(usage)?;
        let path = self.script.folder.join(&dispatch.module);
        let module = path.display();
        let bytes =
            dispatch::read(&path).map_err(|error| usage(format!("cannot read '{module}': {error}")))?;
        let compiled = dispatch::compile(&bytes, platform, &dispatch.choices)
            .map_err(|refusal| usage(format!("'{module}': {refusal}")))?;
        let shader = &compiled.shader;
        let extent = dispatch::extent(shader.stage, dispatch.groups, dispatch.extent).map_err(usage)?;
        let count = shader.threads(extent).map_err(usage)?;
        let ready = self.ready(target, dispatch, &compiled, extent)?;
        let sizes: Vec<_> = ready.surfaces.iter().map(|surface| (surface.size, surface.entry)).collect();
        let bytes: Vec<_> = sizes.iter().map(|(size, _)| u32::try_from(*size).unwrap_or(u32::MAX)).collect();
        let constants = shader.constants(extent, &bytes);
        let code = &shader.code;
        let threads = Threads { platform, code, count, channels: CHANNELS, constants: &constants };
        threads.check(device.machine(), &sizes).map_err(usage)?;
        match target.soft() {
            Some(soft) => self.on_soft(target, soft, &ready, &threads),
            None => self.on_gpu(target, &ready, &threads),
        }
    }

    /// Finds the BO of each surface.
    fn ready<'a>(
        &self,
        target: &Target,
        dispatch: &'a Dispatch,
        compiled: &'a Compiled,
        extent: [u32; 3],
    ) -> Result<Ready<'a>, Refused> {
        let (mut bound, mut surfaces) = (Vec::new(), Vec::new());
        let used = &compiled.shader.surfaces;
        for one in used {
            let place = Place(one.binding);
            let given = dispatch.bound.iter().find(|bound| bound.place == place).ok_or_else(|| {
                let size = compiled.size(place, extent);
                usage(format!("{}{size}; give it a BO: '{place}=BO'", described(one)))
            })?;
            let bo = self.bo(given.bo)?;
            if !target.device().owns(bo) {
                return Err(gem_coherency::Error::OtherDevice { handle: bo.handle().get() }.into());
            }
            let entry = entry_of_shaders(target.device(), given.mocs).map_err(usage)?;
            surfaces.push(Surface { bo: bo.clone(), size: bo.size(), entry, class: given.mocs });
            bound.push(given);
        }
        let is_used = |place| used.iter().any(|one| Place(one.binding) == place);
        match dispatch.bound.iter().find(|bound| !is_used(bound.place)) {
            None => Ok(Ready { dispatch, compiled, bound, surfaces }),
            Some(BoundBo { place, .. }) => {
                let has: Vec<_> = used.iter().map(|one| Place(one.binding).to_string()).collect();
                let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
                Err(usage(format!("the shader does not use surface {place} (it uses: {has})")))
            }
        }
    }

    /// Runs the threads on a software device; unless the dispatch is raw, the library prepares the BOs, and learns of the writes.
    fn on_soft(
        &self,
        target: &Target,
        soft: &SimDevice,
        ready: &Ready<'_>,
        threads: &Threads<'_>,
    ) -> Result<Done, Refused> {
        let Ready { dispatch, compiled, bound, surfaces, .. } = ready;
        let used = &compiled.shader.surfaces;
        let mut decisions = Vec::new();
        if !dispatch.is_raw {
            let reports = prepare(target.device(), surfaces, used)?;
            decisions = self.decisions(bound, &reports);
        }
        let mut watched = Watched::new(soft, surfaces);
        let executed =
            threads.run(&mut watched).map_err(|halt| usage(format!("the shader stops: {halt}")))?;
        let lines = (0..).zip(bound).map(|(number, one)| self.lines(&watched, number, one)).collect();
        drop(watched);
        if !dispatch.is_raw {
            note_writes(surfaces, used)?;
        }
        let dispatched =
            Dispatched { executed, hoisted_discards: compiled.shader.hoisted_discards, surfaces: lines };
        Ok(Done { decisions, dispatched: Some(dispatched), ..Done::default() })
    }

    /// Returns the lines of a surface that the threads accessed.
    fn lines(&self, watched: &Watched<'_>, number: u8, one: &BoundBo) -> GpuLines {
        let [mut read, mut written, mut stale] = [const { LineSet::new() }; 3];
        for touched in watched.accesses().filter(|touched| touched.surface == number) {
            match touched.access {
                Access::Read => read.extend(&touched.lines),
                Access::Write => written.extend(&touched.lines),
            }
            stale.extend(&touched.stale);
        }
        let bo = self.script.name(one.bo).to_owned();
        GpuLines { binding: one.place, bo, read, written, stale }
    }

    /// Lets the GPU run the threads; the library prepares the BOs.
    fn on_gpu(&self, target: &Target, ready: &Ready<'_>, threads: &Threads<'_>) -> Result<Done, Refused> {
        let Ready { compiled, bound, surfaces, .. } = ready;
        let reports = threads.run_on_gpu(target.device(), surfaces, &compiled.shader.surfaces);
        let decisions = self.decisions(bound, &reports.map_err(refused)?);
        Ok(Done { decisions, ..Done::default() })
    }

    /// Returns the library's decisions on BOs.
    fn decisions(&self, bound: &[&BoundBo], reports: &[FlushReport]) -> Vec<Decided> {
        let named = bound.iter().zip(reports);
        named.map(|(one, report)| Decided::new(self.script.name(one.bo), report)).collect()
    }
}

/// Returns the refusal of a shader that cannot run.
fn usage(why: impl ToString) -> Refused {
    Refused::Usage(why.to_string())
}

/// Returns the refusal of a batch.
fn refused(error: gem_coherency_exercise::Error) -> Refused {
    if let gem_coherency_exercise::Error::Library(error) = error {
        Refused::Library(error)
    } else {
        usage(error)
    }
}
