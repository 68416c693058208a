//! A second implementation: modules on a software device of Vulkan, with the same first content of the same surfaces.

mod compute;
mod device;
mod draw;
mod resources;

use std::time::Duration;

use gem_shader_compiler::Stage;

use crate::directives::{Case, Memory};
use crate::tools::Folder;
pub use device::Vulkan;
use resources::Resources;

/// The result of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The surfaces.
    pub memory: Memory,
    /// The time of the pipeline and its first use, which is when a driver compiles it.
    pub compilation: Duration,
}

impl Vulkan {
    /// Compiles a compute shader, and does not run it.
    ///
    /// # Errors
    /// The text of Vulkan.
    pub fn compile(&self, case: &Case, module: &[u8]) -> Result<(), String> {
        let resources = Resources::new(self, case)?;
        compute::pipeline(&resources, module).map(drop).map_err(|why| format!("Vulkan: {why}"))
    }

    /// Runs a module as a case says.
    ///
    /// # Errors
    /// The error of a call of Vulkan, or of a tool.
    pub fn run(&self, case: &Case, module: &[u8], folder: &Folder) -> Result<Judged, String> {
        let resources = Resources::new(self, case)?;
        match case.stage {
            Stage::Compute => compute::run(&resources, module),
            Stage::Fragment => draw::run(&resources, module, folder),
        }
        .map_err(|why| format!("Vulkan: {why}"))
    }
}
