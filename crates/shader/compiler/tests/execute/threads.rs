//! Shaders on the executor of instructions.

use gem_shader_compiler::{Binding, CompiledShader, Features, Options, Shader, Stage, SurfaceUse};
use intel_eu::execute::{self, Access, Bus, Thread};
use intel_eu::{Platform, encodings, validate};

/// Platforms with different instructions.
pub const PLATFORMS: [Platform; 6] =
    [Platform::Hsw, Platform::Bdw, Platform::Skl, Platform::Jsl, Platform::Tgl, Platform::Dg2];
/// Instructions that a thread may execute.
const STEPS: u64 = 1_000_000;

/// The bytes of surfaces.
struct Surfaces(Vec<Vec<u8>>);

impl Bus for Surfaces {
    fn read(&mut self, access: Access, bytes: &mut [u8]) {
        let surface = &self.0[usize::from(access.surface)];
        for (place, byte) in (access.offset as usize..).zip(bytes) {
            *byte = surface.get(place).copied().unwrap_or(0);
        }
    }

    fn write(&mut self, access: Access, bytes: &[u8]) {
        let surface = &mut self.0[usize::from(access.surface)];
        for (place, byte) in (access.offset as usize..).zip(bytes) {
            if let Some(to) = surface.get_mut(place) {
                *to = *byte;
            }
        }
    }
}

/// Returns the shader of a module's entry point "main", whose instructions are valid.
pub fn compile(platform: Platform, module: &[u8], stage: Stage) -> CompiledShader {
    let mut shader = Shader::read(module).unwrap();
    shader.specialize("main", stage, &[], &Features::of(platform)).unwrap();
    let shader =
        shader.compile(platform, &Options::default()).unwrap_or_else(|error| panic!("{platform}: {error}"));
    for (at, encoding) in encodings(&shader.code) {
        let instruction = encoding.unwrap().decode(platform).unwrap();
        assert_eq!(validate(platform, &instruction), [], "{platform} {at}");
    }
    shader
}

/// Runs all threads of a shader on buffers, whose places are the bindings of set 0; the last one is for push constants, too. Returns
/// them.
pub fn run(shader: &CompiledShader, extent: [u32; 3], buffers: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let place = |used: &SurfaceUse| match used.binding {
        Binding::Buffer { set: 0, binding } => binding as usize,
        Binding::Push => buffers.len() - 1,
        binding @ (Binding::Buffer { .. } | Binding::Input { .. } | Binding::Output { .. }) => {
            panic!("{binding:?} is no buffer")
        }
    };
    let surfaces: Vec<_> = shader.surfaces.iter().map(|used| buffers[place(used)].clone()).collect();
    let mut found = buffers.to_vec();
    for (used, surface) in shader.surfaces.iter().zip(execute(shader, extent, &surfaces)) {
        found[place(used)] = surface;
    }
    found
}

/// Runs all threads of a shader on surfaces, in its order of them; returns them.
pub fn execute(shader: &CompiledShader, extent: [u32; 3], surfaces: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let bytes = |words: &Vec<u32>| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut surfaces = Surfaces(surfaces.iter().map(bytes).collect());
    let sizes: Vec<u32> = surfaces.0.iter().map(|surface| surface.len() as u32).collect();
    let mut constants = [0; 32];
    for (bytes, word) in constants.chunks_mut(4).zip(shader.constants(extent, &sizes)) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let code = execute::Shader::new(shader.platform, &shader.code);
    for number in 0..shader.threads(extent).unwrap() {
        let mut header = [0; 32];
        header[4..8].copy_from_slice(&number.to_le_bytes());
        let mut thread = Thread::new(&code, 0xffff, &[header, constants]);
        thread.run(STEPS, &mut surfaces).unwrap_or_else(|stop| panic!("{}: {stop}", shader.platform));
    }
    let words =
        |bytes: &Vec<u8>| bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    surfaces.0.iter().map(words).collect()
}
