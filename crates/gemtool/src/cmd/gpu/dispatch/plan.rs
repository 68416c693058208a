//! The surfaces of a shader, matched with those that were given.

use gem_coherency::device::Device;
use gem_shader_compiler::{Binding, Stage, SurfaceUse};
use gemtool::dispatch::{self, Compiled, NoExtent, Place, Size, described};

use crate::args;
use crate::cmd::gpu::surfaces::{Asked, entry};
use crate::failure::Failure;

/// The surfaces of a shader, in the order of its binding table.
#[derive(Debug)]
pub struct Plan {
    surfaces: Vec<Planned>,
}

/// A surface.
#[derive(Debug)]
struct Planned {
    place: Place,
    /// The place as text.
    name: String,
    settings: args::Surface,
    entry: Option<u8>,
}

impl Plan {
    /// Finds settings for each surface of the shader.
    ///
    /// # Errors
    /// A surface that is not given, or given twice; one that the shader does not have; a MOCS class without an entry.
    pub fn new(
        args: &args::Dispatch,
        compiled: &Compiled,
        device: &Device,
        extent: [u32; 3],
    ) -> Result<Self, Failure> {
        let mut surfaces: Vec<Planned> = Vec::new();
        for used in &compiled.shader.surfaces {
            let place = Place(used.binding);
            let settings = settings(args, place)?.ok_or_else(|| missing(compiled, used, extent))?;
            let entry = entry(device, settings.mocs.unwrap_or(args::Mocs::Class(args.mocs)))?;
            surfaces.push(Planned { place, name: place.to_string(), settings, entry });
        }
        let plan = Self { surfaces };
        args.surface.iter().try_for_each(|one| plan.number("--surface", one.place).map(drop))?;
        args.print.iter().try_for_each(|one| plan.number("--print", one.place).map(drop))?;
        args.output.iter().try_for_each(|one| plan.number("--output", one.place).map(drop))?;
        if !args.push.is_empty() {
            plan.number("--push", Place(Binding::Push))?;
        }
        Ok(plan)
    }

    /// Returns the surfaces as they are allocated.
    pub fn asked<'a>(&'a self) -> Vec<Asked<'a>> {
        let one = |one: &'a Planned| Asked { name: &one.name, settings: &one.settings, entry: one.entry };
        self.surfaces.iter().map(one).collect()
    }

    /// Returns the entry of the binding table of a surface that `flag` names.
    ///
    /// # Errors
    /// The shader does not use it.
    pub fn number(&self, flag: &'static str, place: Place) -> Result<usize, Failure> {
        self.surfaces.iter().position(|one| one.place == place).ok_or_else(|| {
            let has: Vec<_> = self.surfaces.iter().map(|one| one.name.as_str()).collect();
            let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
            Failure::flag(flag, format!("the shader does not use surface {place} (it uses: {has})"))
        })
    }
}

/// Returns the settings that were given for a surface.
fn settings(args: &args::Dispatch, place: Place) -> Result<Option<args::Surface>, Failure> {
    let wrong = |why: &str| Err(Failure::flag("--surface", format!("surface {place}: {why}")));
    let mut given = args.surface.iter().filter(|one| one.place == place).map(|one| one.what.clone());
    let settings = given.next();
    if given.next().is_some() {
        return wrong("it is given twice");
    }
    if place.0 != Binding::Push || args.push.is_empty() {
        return Ok(settings);
    }
    let size = 4 * args.push.len() as u64;
    let surface = match settings {
        Some(settings) if settings.contents.is_some() => {
            return wrong("--push has its contents: leave out fill= and file=");
        }
        Some(settings) if settings.size < size => {
            return wrong(&format!("it has {} bytes, and --push has {size}", settings.size));
        }
        Some(settings) => settings,
        None => args::Surface::new(size).map_err(|why| Failure::flag("--push", why))?,
    };
    let contents = Some(args::Contents::Dwords(args.push.clone()));
    Ok(Some(args::Surface { contents, ..surface }))
}

/// Returns the failure of a surface that is not given.
fn missing(compiled: &Compiled, used: &SurfaceUse, extent: [u32; 3]) -> Failure {
    let place = Place(used.binding);
    let size = compiled.size(place, extent);
    let given = match size {
        Size::Bytes(bytes) | Size::Pixels { bytes } => bytes.next_multiple_of(4).to_string(),
        Size::Array { .. } | Size::Unknown => "SIZE".to_owned(),
    };
    let push = if used.binding == Binding::Push { "--push DWORD,..., or " } else { "" };
    let why = format!("{}{size}; give it by {push}--surface {place}={given}", described(used));
    Failure::flag("--surface", why)
}

/// Returns the groups of a compute shader, or the pixels of a fragment shader.
///
/// # Errors
/// The flag of another stage is given, or that of this one is not.
pub fn extent(args: &args::Dispatch, stage: Stage) -> Result<[u32; 3], Failure> {
    dispatch::extent(stage, args.groups, args.extent).map_err(|wrong| {
        let flag = match wrong {
            NoExtent::Compute | NoExtent::Missing => "--extent",
            NoExtent::Fragment => "--groups",
        };
        Failure::flag(flag, wrong)
    })
}

/// Returns the flag that gives the extent.
pub fn extent_flag(stage: Stage) -> &'static str {
    match stage {
        Stage::Compute => "--groups",
        Stage::Fragment => "--extent",
    }
}
