//! Directives: comments at the head of a shader, which say how it is run.

use std::path::{Path, PathBuf};

use gem_shader_compiler::{Binding, Stage};

use crate::patterns::{Pattern, number, numbers};

/// Bytes that each pixel has in the surface of an input or output.
pub const PIXEL_BYTES: usize = 16;

/// A buffer of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its descriptor set.
    pub set: u32,
    /// Its binding.
    pub binding: u32,
    /// True of a uniform block.
    pub uniform: bool,
    /// Its size.
    pub bytes: usize,
    /// Its first content.
    pub pattern: Pattern,
}

/// An input or an output of a fragment shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varying {
    /// Its location.
    pub location: u32,
    /// Its type in GLSL.
    pub kind: String,
    /// Its first content.
    pub pattern: Pattern,
}

/// How a shader is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name of the file.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The stage.
    pub stage: Stage,
    /// The groups of a compute shader; of a fragment shader the width and the height in pixels, and 1.
    pub extent: [u32; 3],
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The push constants.
    pub push: Vec<u32>,
    /// The ids and the bits of specialization constants.
    pub values: Vec<(u32, u32)>,
    /// The inputs of a fragment shader.
    pub inputs: Vec<Varying>,
    /// Its outputs.
    pub outputs: Vec<Varying>,
    /// The features that a platform may lack.
    pub needs: Vec<String>,
    /// Part of the error by which a platform may refuse the module.
    pub refused: Option<String>,
    /// The reason why Vulkan cannot run it with the same inputs.
    pub unjudged: Option<String>,
}

impl Case {
    /// Reads the directives of a shader.
    ///
    /// # Errors
    /// The line that is no directive, or the directive that is missing.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stage = match path.extension().and_then(|extension| extension.to_str()) {
            Some("comp") => Stage::Compute,
            Some("frag") => Stage::Fragment,
            _ => return Err(format!("{name}: it is neither a .comp nor a .frag file")),
        };
        let mut case = Self {
            name,
            path: path.to_owned(),
            stage,
            extent: [0; 3],
            buffers: Vec::new(),
            push: Vec::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            needs: Vec::new(),
            refused: None,
            unjudged: None,
        };
        // The first line is the version, and the second one says what the shader tests.
        for line in text.lines().skip(2).map_while(|line| line.strip_prefix("// ")) {
            case.directive(line).map_err(|why| format!("{}: {line}: {why}", case.name))?;
        }
        if case.extent.contains(&0) {
            return Err(format!("{}: `dispatch` or `pixels` is missing", case.name));
        }
        Ok(case)
    }

    fn directive(&mut self, line: &str) -> Result<(), String> {
        let (head, rest) = line.split_once(':').ok_or("it has no colon")?;
        let head: Vec<_> = head.split_whitespace().collect();
        match head[..] {
            ["dispatch"] if self.stage == Stage::Compute => {
                self.extent = *numbers(rest)?.first_chunk().ok_or("it has no three numbers")?;
            }
            ["pixels"] if self.stage == Stage::Fragment => {
                let [width, height] = *numbers(rest)?.first_chunk().ok_or("it has no two numbers")?;
                self.extent = [width, height, 1];
            }
            [kind @ ("surface" | "uniform"), set, binding] => {
                let (bytes, pattern) = rest.trim().split_once(' ').ok_or("it has no pattern")?;
                self.buffers.push(Buffer {
                    set: number(set)?,
                    binding: number(binding)?,
                    uniform: kind == "uniform",
                    bytes: number(bytes)? as usize,
                    pattern: Pattern::parse(pattern)?,
                });
            }
            ["input", location] if self.stage == Stage::Fragment => {
                let (kind, pattern) = rest.trim().split_once(' ').ok_or("it has no pattern")?;
                let pattern = Pattern::parse(pattern)?;
                self.inputs.push(Varying { location: number(location)?, kind: kind.to_owned(), pattern });
            }
            ["output", location] if self.stage == Stage::Fragment => {
                let (location, kind) = (number(location)?, rest.trim().to_owned());
                self.outputs.push(Varying { location, kind, pattern: Pattern::parse("small")? });
            }
            ["push"] => self.push = numbers(rest)?,
            ["spec", id] => self.values.push((number(id)?, number(rest.trim())?)),
            ["needs"] => self.needs = rest.split_whitespace().map(str::to_owned).collect(),
            ["refused"] => self.refused = Some(rest.trim().to_owned()),
            ["unjudged"] => self.unjudged = Some(rest.trim().to_owned()),
            _ => return Err("it is no directive of this stage".to_owned()),
        }
        Ok(())
    }

    /// Returns the first content of each surface that the shader may have.
    pub fn memory(&self) -> Memory {
        let mut memory = Memory::new();
        for one in &self.buffers {
            let binding = Binding::Buffer { set: one.set, binding: one.binding };
            memory.insert(binding, one.pattern.bytes(one.bytes, u64::from(one.set * 16 + one.binding)));
        }
        if !self.push.is_empty() {
            memory.insert(Binding::Push, self.push.iter().flat_map(|word| word.to_le_bytes()).collect());
        }
        let bytes = self.extent[0] as usize * self.extent[1] as usize * PIXEL_BYTES;
        for one in &self.inputs {
            let binding = Binding::Input { location: one.location };
            memory.insert(binding, one.pattern.bytes(bytes, u64::from(100 + one.location)));
        }
        for one in &self.outputs {
            let binding = Binding::Output { location: one.location };
            memory.insert(binding, one.pattern.bytes(bytes, u64::from(200 + one.location)));
        }
        memory
    }
}

/// The bytes of surfaces, by what they are for.
pub type Memory = std::collections::BTreeMap<Binding, Vec<u8>>;
