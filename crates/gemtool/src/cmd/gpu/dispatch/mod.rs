//! `gemtool dispatch`: compiles a SPIR-V shader, runs it over BOs, and reports the cache lines that its instructions access.

mod plan;
pub mod report;
#[cfg(test)]
mod tests;

use std::{fmt, fs};

use gem_coherency::device::Device;
use gem_coherency::object::FlushReport;
use gem_coherency_sim::SimDevice;
use gem_shader_compiler::{CompiledShader, Moment, Pass};
use gemtool::dispatch::{
    CHANNELS, Choices, Compiled, Refusal, Surface, Threads, Watched, access, compile_observed, note_writes,
    platform, prepare, read,
};
use gemtool::script::Target;
use intel_eu::Platform;

use crate::args;
use crate::cmd::device::{self, DeviceLine};
use crate::cmd::gpu::eu::{Line, Program, failure};
use crate::cmd::gpu::surfaces::report::rows;
use crate::cmd::gpu::surfaces::{Asked, allocate, store_tracked, store_untracked};
use crate::failure::Failure;
use plan::Plan;
use report::{BoundLine, Bytes, Cost, DispatchReport, Flushed, Ir};

/// Opens the device, compiles the shader, and runs it.
///
/// # Errors
/// A module that is refused; surfaces that the shader does not have, or that are not given; those of the device; an instruction that the
/// executor does not know.
pub fn run(args: &args::Dispatch) -> Result<DispatchReport, Failure> {
    run_on(&device::target(&args.device)?, args)
}

/// Compiles the shader for a device, and runs it there.
fn run_on(target: &Target, args: &args::Dispatch) -> Result<DispatchReport, Failure> {
    let device = target.device();
    let platform = platform(device).map_err(|why| Failure::flag("--device", why))?;
    let mut ir = Vec::new();
    let compiled = compiled(args, platform, &mut ir)?;
    let shader = &compiled.shader;
    let program = Program::decode(&args.module, platform, shader.code.clone())?;
    if let Some(line) = program.instructions.iter().find(|line| !line.violations.is_empty()) {
        let Line { at, text, violations, .. } = line;
        let rules: Vec<_> = violations.iter().map(|broken| broken.text).collect();
        let why = format!("instruction at {at:#x}: {text}: {}: report this as a bug", rules.join("; "));
        return Err(failure(&args.module, why));
    }
    let extent = plan::extent(args, shader.stage)?;
    let count =
        shader.threads(extent).map_err(|error| Failure::flag(plan::extent_flag(shader.stage), error))?;
    let plan = Plan::new(args, &compiled, device, extent)?;
    let asked = plan.asked();
    let sizes: Vec<_> = asked.iter().map(|one| (one.settings.size, one.entry)).collect();
    let bytes: Vec<_> = sizes.iter().map(|(size, _)| *size as u32).collect();
    let constants = shader.constants(extent, &bytes);
    let threads = Threads { platform, code: &shader.code, count, channels: CHANNELS, constants: &constants };
    threads.check(device.machine(), &sizes)?;

    let surfaces = allocate(device, &asked)?;
    let ran = match target.soft() {
        Some(soft) => {
            let site = Site { device, soft, asked: &asked, surfaces: &surfaces, shader };
            site.run(args, &threads, &program.instructions)?
        }
        None => {
            store_tracked(device, &asked, &surfaces)?;
            let reports = threads.run_on_gpu(device, &surfaces, &shader.surfaces)?;
            Ran { reports, cost: None }
        }
    };
    note_writes(&surfaces, &shader.surfaces)?;
    let contents = contents(args, &plan, &surfaces)?;
    let lines = shader.surfaces.iter().zip(surfaces.iter().zip(&asked)).enumerate();
    Ok(DispatchReport {
        device: DeviceLine::of(device)?,
        module: args.module.display().to_string(),
        entry: args.entry.clone(),
        stage: shader.stage.to_string(),
        extent,
        group: shader.group,
        threads: count,
        instructions: program.instructions.len(),
        hoisted_discards: shader.hoisted_discards,
        is_prepared: args.flush || target.soft().is_none(),
        surfaces: lines
            .map(|(number, (used, (surface, asked)))| {
                let report = ran.reports.get(number);
                let flush = report.map(|report| Flushed::new(access(used), report));
                BoundLine::new(used, surface, asked, flush)
            })
            .collect(),
        cost: ran.cost,
        contents,
        idle_pass: args.print_ir.flatten().filter(|_| ir.is_empty()).map(Pass::name),
        ir,
        code: if args.disasm { program.instructions } else { Vec::new() },
    })
}

/// Reads the module, and compiles it; adds the IR that is to be shown to `ir`. An error names the flag whose value is wrong.
fn compiled(args: &args::Dispatch, platform: Platform, ir: &mut Vec<Ir>) -> Result<Compiled, Failure> {
    for (place, one) in args.spec.iter().enumerate() {
        if args.spec.iter().take(place).any(|other| other.id == one.id) {
            return Err(Failure::flag("--spec", format!("constant {} is given twice", one.id)));
        }
    }
    let bytes = read(&args.module).map_err(|error| failure(&args.module, error))?;
    let choices = Choices {
        entry: args.entry.clone(),
        stage: args.stage.map(Into::into),
        constants: args.spec.clone(),
        hoist_discard: !args.no_hoist_discard,
    };
    let observe = |pass: Pass, moment: Moment, text: &dyn fmt::Display| {
        let is_shown = match args.print_ir {
            None => false,
            // What a pass leaves is what the next one finds.
            Some(None) => ir.is_empty() || moment == Moment::After,
            Some(Some(shown)) => shown == pass,
        };
        if is_shown {
            ir.push(Ir { pass: pass.name(), moment: moment.to_string(), text: text.to_string() });
        }
    };
    compile_observed(&bytes, platform, &choices, observe).map_err(|refusal| match &refusal {
        Refusal::Module(gem_shader_compiler::Error::EntryPoint { .. }) => Failure::flag("--entry", refusal),
        Refusal::Module(gem_shader_compiler::Error::EntryPointStage { .. }) => {
            Failure::flag("--stage", refusal)
        }
        Refusal::Module(gem_shader_compiler::Error::SpecializationId { .. }) | Refusal::Value(_) => {
            Failure::flag("--spec", refusal)
        }
        Refusal::Module(_) => failure(&args.module, refusal),
    })
}

/// The results of a dispatch.
struct Ran {
    /// The library's report on each surface; none if it did not know of the dispatch.
    reports: Vec<FlushReport>,
    /// The accesses and their cost; `None` on a real device.
    cost: Option<Cost>,
}

/// A dispatch on a software device.
struct Site<'a> {
    device: &'a Device,
    soft: &'a SimDevice,
    asked: &'a [Asked<'a>],
    surfaces: &'a [Surface],
    shader: &'a CompiledShader,
}

impl Site<'_> {
    /// Lets the CPU store to the surfaces, then runs the threads.
    fn run(
        &self,
        args: &args::Dispatch,
        threads: &Threads<'_>,
        instructions: &[Line],
    ) -> Result<Ran, Failure> {
        let Self { device, soft, asked, surfaces, shader } = self;
        let reports = if args.flush {
            store_tracked(device, asked, surfaces)?;
            prepare(device, surfaces, &shader.surfaces).map_err(Failure::step("the hand-over"))?
        } else {
            store_untracked(device, asked, surfaces)?;
            Vec::new()
        };
        let mut watched = Watched::new(soft, surfaces);
        let executed = threads.run(&mut watched).map_err(|halt| failure(&args.module, halt))?;
        let rows = rows(&watched, device.machine().caps, surfaces, instructions);
        Ok(Ran { reports, cost: Some(Cost::new(executed, rows)) })
    }
}

/// Reads the bytes of surfaces that were asked for, through guards, and writes those that go into files.
fn contents(args: &args::Dispatch, plan: &Plan, surfaces: &[Surface]) -> Result<Vec<Bytes>, Failure> {
    let read = |flag: &'static str, place, size: Option<u64>| {
        let number = plan.number(flag, place)?;
        let missing = || Failure::flag(flag, format!("there is no surface {place}"));
        let surface = surfaces.get(number).ok_or_else(missing)?;
        let size = size.unwrap_or(surface.size);
        if size > surface.size {
            let why = format!("{size} bytes are more than surface {place} has: {}", surface.size);
            return Err(Failure::flag(flag, why));
        }
        let mut bytes = vec![0; size as usize];
        let step = format!("the CPU's reads of surface {place}");
        let seen = surface.bo.read(0, size).and_then(|guard| guard.read_at(0, &mut bytes));
        seen.map_err(Failure::step(step))?;
        Ok(bytes)
    };
    for args::Bound { place, what: path } in &args.output {
        let bytes = read("--output", *place, None)?;
        fs::write(path, bytes)
            .map_err(|error| Failure::flag("--output", format!("'{}': {error}", path.display())))?;
    }
    let printed = args.print.iter().map(|args::Bound { place, what: size }| {
        Ok(Bytes { binding: *place, bytes: read("--print", *place, Some(*size))? })
    });
    printed.collect()
}
