//! SPIR-V modules, compiled, with errors that say what to do.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use gem_shader_compiler::{
    Binding, Block, CompiledShader, Error, Features, Moment, Options, Pass, Shader, Stage,
};
use intel_eu::Platform;

use super::{Misfit, Place, Specialization};

/// Largest size of a module in bytes: 16 MiB.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes of a pixel in an input or output of a fragment shader.
const PIXEL_BYTES: u64 = 16;

/// The choices of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The entry point's name.
    pub entry: String,
    /// The entry point's stage; `None` for that of the first one with the name.
    pub stage: Option<Stage>,
    /// Values of specialization constants.
    pub constants: Vec<Specialization>,
    /// Early returns and discards are hoisted, where that is allowed.
    pub hoist_discard: bool,
}

impl Default for Choices {
    /// Returns the choices for `main`, without values, with the least accesses to memory.
    fn default() -> Self {
        Self { entry: "main".to_owned(), stage: None, constants: Vec::new(), hoist_discard: true }
    }
}

/// A module or a value that is refused: the reason, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The compiler's error.
    Module(Error),
    /// A specialization constant does not have this value.
    Value(Misfit),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(misfit) => misfit.fmt(f),
            Self::Module(error) => match advice(error) {
                "" => write!(f, "{error}"),
                advice => write!(f, "{error}; {advice}"),
            },
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Module(error)
    }
}

impl From<Misfit> for Refusal {
    fn from(misfit: Misfit) -> Self {
        Self::Value(misfit)
    }
}

/// Returns what to do about an error; the text is empty if the error's own text says it.
fn advice(error: &Error) -> &'static str {
    match error {
        Error::Length { .. } | Error::Magic { .. } => {
            "compile the shader first: glslangValidator -V shader.comp -o shader.spv"
        }
        Error::Version { .. } => {
            "compile the shader for another version: glslangValidator --target-env spirv1.3"
        }
        Error::Bound { .. } => "reduce the module: spirv-opt -O --compact-ids",
        Error::Malformed { .. } => "validate the module: spirv-val",
        Error::EntryPoint { .. } | Error::EntryPointStage { .. } => "choose one of these by name and stage",
        Error::SpecializationId { .. } => "give values to these only",
        Error::Capability { .. } | Error::Extension { .. } => {
            "rewrite the shader without it, or use another platform"
        }
        Error::Opcode { .. } | Error::Type { .. } | Error::Decoration { .. } => {
            "rewrite the shader without it"
        }
        Error::Model { .. } => "compile the shader for Vulkan: glslangValidator -V",
        Error::Registers { .. } => "split the shader, or keep fewer values at once",
        Error::Encoding { .. } => "report this as a bug of gem-shader-compiler, with the module",
        Error::Specialized
        | Error::NotSpecialized
        | Error::SpecializationValue { .. }
        | Error::Extent { .. } => "",
        // The type may get more variants; their texts stand alone.
        _ => "",
    }
}

/// Reads the bytes of a module from a regular file.
///
/// # Errors
/// The file cannot be read, is no regular one, or is larger than 16 MiB.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe or a device could block, or never end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is larger than 16 MiB"));
    }
    Ok(bytes)
}

/// A compiled shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The shader.
    pub shader: CompiledShader,
    /// The sizes of the shader's blocks.
    pub blocks: Vec<Block>,
}

/// The size of a surface, as far as the shader determines it. The text continues a sentence about the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A block of so many bytes.
    Bytes(u64),
    /// A vector for each pixel.
    Pixels {
        /// The bytes of all pixels.
        bytes: u64,
    },
    /// A block that ends with an array whose length the buffer determines.
    Array {
        /// The bytes before the array.
        bytes: u64,
        /// The bytes of an element.
        element: u64,
    },
    /// The shader does not determine it.
    Unknown,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, ", a block of {bytes} bytes"),
            Self::Pixels { bytes } => write!(f, ", {PIXEL_BYTES} bytes for each pixel: {bytes} bytes"),
            Self::Array { bytes: 0, element } => {
                write!(f, ", an array with {element} bytes for each element")
            }
            Self::Array { bytes, element } => {
                write!(
                    f,
                    ", a block of {bytes} bytes, and {element} for each element of the array at its end"
                )
            }
            Self::Unknown => Ok(()),
        }
    }
}

impl Compiled {
    /// Returns the size that the surface of `place` needs in a dispatch of this extent.
    pub fn size(&self, place: Place, [width, height, _]: [u32; 3]) -> Size {
        let Place(binding) = place;
        let block = self.blocks.iter().find(|block| block.binding == binding);
        match (binding, block) {
            (Binding::Input { .. } | Binding::Output { .. }, _) => {
                Size::Pixels { bytes: (u64::from(width) * u64::from(height)).saturating_mul(PIXEL_BYTES) }
            }
            (_, Some(&Block { bytes, element: None, .. })) => Size::Bytes(bytes),
            (_, Some(&Block { bytes, element: Some(element), .. })) => Size::Array { bytes, element },
            (Binding::Buffer { .. } | Binding::Push, None) => Size::Unknown,
        }
    }
}

/// Compiles the module in `bytes` for a platform.
///
/// # Errors
/// Those of [`Shader::read`], [`Shader::specialize`] and [`Shader::compile`]; a value that a constant does not have.
pub fn compile(bytes: &[u8], platform: Platform, choices: &Choices) -> Result<Compiled, Refusal> {
    compile_observed(bytes, platform, choices, |_, _, _| {})
}

/// Compiles the module in `bytes` for a platform; `observe` is called before and after each pass, as by [`Shader::compile_observed`].
///
/// # Errors
/// Those of [`compile()`].
pub fn compile_observed(
    bytes: &[u8],
    platform: Platform,
    choices: &Choices,
    observe: impl FnMut(Pass, Moment, &dyn fmt::Display),
) -> Result<Compiled, Refusal> {
    let Choices { entry, stage, constants, hoist_discard } = choices;
    let mut shader = Shader::read(bytes)?;
    let known = shader.entry_points().find(|one| one.name == *entry).and_then(|one| one.stage);
    let stage = stage.or(known).unwrap_or(Stage::Compute);
    let mut values = Vec::new();
    for one in constants {
        values.push((one.id, one.bits(shader.constant(one.id)?)?));
    }
    shader.specialize(entry, stage, &values, &Features::of(platform))?;
    let compiled = shader.compile_observed(platform, &Options { hoist_discard: *hoist_discard }, observe)?;
    Ok(Compiled { shader: compiled, blocks: shader.blocks()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_wrong_and_what_to_do() {
        let name = || "OpFoo".to_owned();
        let why = || "bar".to_owned();
        let has = || vec!["'main'".to_owned()];
        let entry = Error::EntryPoint { name: name(), has: has() };
        let stage = Error::EntryPointStage { name: name(), stage: Stage::Fragment, has: has() };
        for (error, parts) in [
            (Error::Length { bytes: 3 }, ["3 bytes", "glslangValidator -V"]),
            (Error::Magic { word: 7 }, ["0x00000007", "glslangValidator -V"]),
            (Error::Version { major: 1, minor: 7 }, ["1.7", "--target-env"]),
            (Error::Bound { bound: 9, limit: 8 }, ["9", "spirv-opt"]),
            (Error::Malformed { why: why() }, ["bar", "spirv-val"]),
            (entry, ["'main'", "choose one of these"]),
            (stage, ["of stage fragment", "choose one of these"]),
            (Error::SpecializationId { id: 4, has: vec![5] }, ["id 4", "these only"]),
            (Error::Capability { name: name() }, ["OpFoo", "another platform"]),
            (Error::Extension { name: name() }, ["OpFoo", "another platform"]),
            (Error::Opcode { name: name() }, ["OpFoo", "rewrite the shader"]),
            (Error::Type { name: name() }, ["OpFoo", "rewrite the shader"]),
            (Error::Decoration { name: name() }, ["OpFoo", "rewrite the shader"]),
            (Error::Model { name: name() }, ["OpFoo", "for Vulkan"]),
            (Error::Registers { wanted: 2, of: 128 }, ["128 registers", "split the shader"]),
            (Error::Encoding { why: why() }, ["bar", "report this"]),
        ] {
            let text = Refusal::Module(error).to_string();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
        // These say it themselves.
        for error in [Error::Specialized, Error::NotSpecialized, Error::Extent { extent: [0; 3] }] {
            assert_eq!(Refusal::Module(error.clone()).to_string(), error.to_string());
        }
    }
}
