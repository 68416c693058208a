//! Shaders beside those of a driver of Vulkan, which prints its numbers itself.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use gem_shader_compiler::{Features, Options, Shader, Stage};
use intel_eu::Platform;

use crate::directives::Case;
use crate::tally::median;
use crate::tools::{self, Folder};
use crate::vulkan::Vulkan;

/// Lets a driver compile compute shaders. Before each one a line tells its name, and the instructions of the shader for a platform; the
/// last line tells the time of our compilations beside the driver's.
///
/// # Errors
/// The text of a tool or of Vulkan; an output that cannot be written.
pub fn compile(platform: Platform, paths: &[PathBuf]) -> Result<(), String> {
    let (folder, vulkan) = (Folder::new()?, Vulkan::open(false)?);
    let (mut out, mut ratios) = (std::io::stdout(), Vec::new());
    for path in paths {
        let case = Case::read(path)?;
        if case.stage != Stage::Compute || vulkan.lacks(&case).is_some() {
            continue;
        }
        let module = tools::module(path, &folder)?;
        // A shader that is refused is no part of the comparison.
        let start = Instant::now();
        let Some(count) = instructions(&case, &module, platform) else { continue };
        let ours = start.elapsed();
        writeln!(out, "shader {} {count}", case.name).map_err(|error| error.to_string())?;
        out.flush().map_err(|error| error.to_string())?;
        let start = Instant::now();
        vulkan.compile(&case, &module)?;
        ratios.push(ours.as_secs_f64() / start.elapsed().as_secs_f64());
    }
    println!("time of a compilation: {:.2} of the driver's (median)", median(ratios));
    Ok(())
}

/// Returns the number of instructions of a shader; none if the shader is refused.
fn instructions(case: &Case, module: &[u8], platform: Platform) -> Option<usize> {
    let mut shader = Shader::read(module).ok()?;
    let values: Vec<_> = case.values.iter().map(|&(id, bits)| (id, u64::from(bits))).collect();
    shader.specialize("main", case.stage, &values, &Features::of(platform)).ok()?;
    let shader = shader.compile(platform, &Options::default()).ok()?;
    Some(intel_eu::encodings(&shader.code).count())
}
