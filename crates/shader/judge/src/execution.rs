//! Compilation of a shader for a platform, and its execution there.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use gem_shader_compiler::{Binding, CompiledShader, Error, Features, Options, Shader};
use intel_eu::execute::{self, Access, Bus, Thread};
use intel_eu::{Platform, encodings, text, validate};

use crate::directives::{Case, Memory};

/// Steps of a thread, at most.
pub const STEPS: u64 = 1_000_000;
/// Lanes of a thread.
const LANES: u32 = 0xffff;
/// Bytes of a cache line.
const LINE: u32 = 64;

/// The result of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The surfaces.
    pub memory: Memory,
    /// The cache lines that threads read, each one once for each thread.
    pub lines: usize,
}

/// Compiles a module; returns the shader, and the time it took.
///
/// # Errors
/// The compiler's.
pub fn compile(
    case: &Case,
    module: &[u8],
    platform: Platform,
    hoist_discard: bool,
) -> Result<(CompiledShader, Duration), Error> {
    let start = Instant::now();
    let mut shader = Shader::read(module)?;
    let values: Vec<_> = case.values.iter().map(|&(id, bits)| (id, u64::from(bits))).collect();
    shader.specialize("main", case.stage, &values, &Features::of(platform))?;
    let shader = shader.compile(platform, &Options { hoist_discard })?;
    Ok((shader, start.elapsed()))
}

/// Validates each instruction of a shader; returns their number.
///
/// # Errors
/// The first instruction that breaks a rule.
pub fn check(shader: &CompiledShader) -> Result<usize, String> {
    let mut count = 0;
    for (at, encoding) in encodings(&shader.code) {
        let decoded = encoding.and_then(|encoding| encoding.decode(shader.platform));
        let instruction = decoded.map_err(|error| format!("instruction at {at:#x}: {error}"))?;
        if let Some(violation) = validate(shader.platform, &instruction).first() {
            let text = text::print(shader.platform, &instruction);
            return Err(format!("instruction at {at:#x}: {text}: {violation}"));
        }
        count += 1;
    }
    Ok(count)
}

/// Runs a shader on the surfaces of a case; `steps` are those of a thread, at most.
///
/// # Errors
/// A surface that the case lacks, a thread that cannot go on, or an access that the shader does not announce.
pub fn run(case: &Case, shader: &CompiledShader, steps: u64) -> Result<Outcome, String> {
    let mut surfaces = Vec::new();
    let mut memory = case.memory();
    for used in &shader.surfaces {
        let bytes = memory.remove(&used.binding);
        let bytes = bytes.ok_or_else(|| format!("{:?} has no directive", used.binding))?;
        surfaces.push(Surface { binding: used.binding, reads: used.reads, writes: used.writes, bytes });
    }
    let sizes: Vec<_> = surfaces.iter().map(|surface| surface.bytes.len() as u32).collect();
    let mut bus = Recorder { surfaces, read: HashSet::new(), unannounced: None };
    let code = execute::Shader::new(shader.platform, &shader.code);
    let constants = shader.constants(case.extent, &sizes);
    let mut lines = 0;
    for number in 0..shader.threads(case.extent).map_err(|error| error.to_string())? {
        let [mut r0, mut r1] = [[0; 32]; 2];
        r0[4..8].copy_from_slice(&number.to_le_bytes());
        for (to, word) in r1.chunks_exact_mut(4).zip(&constants) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let mut thread = Thread::new(&code, LANES, &[r0, r1]);
        thread.run(steps, &mut bus).map_err(|stop| {
            let found = encodings(&shader.code).find(|(at, _)| *at == stop.at as usize);
            let decoded = found.and_then(|(_, one)| one.ok()?.decode(shader.platform).ok());
            let text = decoded.map(|one| text::print(shader.platform, &one)).unwrap_or_default();
            format!("thread {number}: {stop}: {text}")
        })?;
        if let Some(why) = bus.unannounced.take() {
            return Err(format!("thread {number}: {why}"));
        }
        lines += bus.read.drain().count();
    }
    memory.extend(bus.surfaces.into_iter().map(|surface| (surface.binding, surface.bytes)));
    Ok(Outcome { memory, lines })
}

/// A surface of the binding table.
struct Surface {
    binding: Binding,
    /// The shader says that it reads it.
    reads: bool,
    /// The shader says that it writes it.
    writes: bool,
    bytes: Vec<u8>,
}

/// The surfaces of a shader, and what a thread does to them.
struct Recorder {
    surfaces: Vec<Surface>,
    /// The lines that the thread has read.
    read: HashSet<(u8, u32)>,
    /// An access that the shader has not announced.
    unannounced: Option<String>,
}

impl Recorder {
    /// Returns the surface of an access, which the shader has if `announced` is true of it.
    fn surface(&mut self, access: Access, announced: fn(&Surface) -> bool) -> Option<&mut Surface> {
        let found = self.surfaces.get_mut(usize::from(access.surface)).filter(|surface| announced(surface));
        if found.is_none() {
            self.unannounced.get_or_insert_with(|| format!("{access:?} is not announced"));
        }
        found
    }
}

impl Bus for Recorder {
    fn read(&mut self, access: Access, bytes: &mut [u8]) {
        bytes.fill(0);
        let Some(surface) = self.surface(access, |surface| surface.reads) else { return };
        let from = surface.bytes.get(access.offset as usize..).unwrap_or_default();
        for (to, from) in bytes.iter_mut().zip(from) {
            *to = *from;
        }
        let last = access.offset.saturating_add((bytes.len() as u32).saturating_sub(1));
        self.read.extend((access.offset / LINE..=last / LINE).map(|line| (access.surface, line)));
    }

    fn write(&mut self, access: Access, bytes: &[u8]) {
        let Some(surface) = self.surface(access, |surface| surface.writes) else { return };
        let to = surface.bytes.get_mut(access.offset as usize..).unwrap_or_default();
        for (to, from) in to.iter_mut().zip(bytes) {
            *to = *from;
        }
    }
}
