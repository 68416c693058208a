//! The outside of a shader: its stage, and its surfaces.

use std::fmt;

use rspirv::spirv::ExecutionModel;

/// A stage of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A compute shader.
    Compute,
    /// A fragment shader.
    Fragment,
}

impl Stage {
    /// Returns the stage of an execution model; none for one that is not supported.
    pub(crate) fn of(model: ExecutionModel) -> Option<Self> {
        if model == ExecutionModel::GLCompute {
            Some(Self::Compute)
        } else if model == ExecutionModel::Fragment {
            Some(Self::Fragment)
        } else {
            None
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compute => "compute",
            Self::Fragment => "fragment",
        })
    }
}

/// The use of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binding {
    /// A buffer of the shader.
    Buffer {
        /// The descriptor set.
        set: u32,
        /// The binding.
        binding: u32,
    },
    /// The push constants.
    Push,
    /// An input of a fragment shader: a vector of 16 bytes for each pixel.
    Input {
        /// Its location.
        location: u32,
    },
    /// An output, likewise.
    Output {
        /// Its location.
        location: u32,
    },
}
