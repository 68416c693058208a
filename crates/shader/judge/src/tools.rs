//! The tools of Khronos: a compiler of GLSL, and a validator of SPIR-V.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The version of Vulkan that shaders are compiled for.
const TARGET: [&str; 2] = ["--target-env", "vulkan1.1"];

/// A folder for files of the tools, which is removed in the end.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The modules of vertex shaders, by their text: many draws have the same one.
    vertex: Mutex<HashMap<String, Vec<u8>>>,
}

impl Folder {
    /// Makes the folder.
    ///
    /// # Errors
    /// The operating system's.
    pub fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("gem-shader-compiler-judge-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path, vertex: Mutex::default() })
    }

    /// Returns the path of a file.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the module of a vertex shader, compiled unless it was before.
    ///
    /// # Errors
    /// The operating system's, or a tool's.
    pub fn vertex(&self, text: String) -> Result<Vec<u8>, String> {
        let mut known = self.vertex.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = known.get(&text) {
            return Ok(module.clone());
        }
        let path = self.file("generated.vert");
        std::fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(known.entry(text).or_insert(module(&path, self)?).clone())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays has no effect on the results.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Runs a tool.
fn run(tool: &str, arguments: &[&Path]) -> Result<(), String> {
    let output = Command::new(tool).args(TARGET).args(arguments).output();
    let output = output.map_err(|error| format!("{tool}: {error}: install glslang-tools and spirv-tools"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{tool}: {}", String::from_utf8_lossy(&text).trim()))
}

/// Compiles a shader; returns the bytes of the module, which is valid.
///
/// # Errors
/// The text of the tool that refuses it.
pub fn module(source: &Path, folder: &Folder) -> Result<Vec<u8>, String> {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let to = folder.file(&format!("{name}.spv"));
    run("glslangValidator", &[Path::new("-V"), Path::new("-o"), &to, source])?;
    run("spirv-val", &[&to])?;
    std::fs::read(&to).map_err(|error| format!("{}: {error}", to.display()))
}

/// Validates the bytes of a module.
///
/// # Errors
/// The validator's text.
pub fn validate(module: &[u8], folder: &Folder) -> Result<(), String> {
    let path = folder.file("validated.spv");
    std::fs::write(&path, module).map_err(|error| format!("{}: {error}", path.display()))?;
    run("spirv-val", &[&path])
}
