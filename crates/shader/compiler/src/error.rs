//! Reasons for which a module or a request is refused.

use std::fmt;

use crate::interface::Stage;
use crate::ir::Scalar;

/// The GL error of a refusal (ARB_gl_spirv, revision 36; OpenGL 4.6, 7.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// GL_INVALID_VALUE.
    InvalidValue,
    /// GL_INVALID_OPERATION.
    InvalidOperation,
    /// No error; COMPILE_STATUS is false, and the text is in the log.
    NotCompiled,
}

/// A reason for which a module or a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no whole words, or fewer than a header and an instruction have.
    Length {
        /// Their number.
        bytes: usize,
    },
    /// The first word is not SPIR-V's.
    Magic {
        /// The word.
        word: u32,
    },
    /// A version that is not supported.
    Version {
        /// The major number.
        major: u8,
        /// The minor number.
        minor: u8,
    },
    /// More identifiers than the limit.
    Bound {
        /// Their number.
        bound: u32,
        /// The limit.
        limit: u32,
    },
    /// Words that are no instructions, or instructions in a wrong order.
    Malformed {
        /// The reason.
        why: String,
    },
    /// No entry point has this name.
    EntryPoint {
        /// The name.
        name: String,
        /// The entry points that the module has.
        has: Vec<String>,
    },
    /// The entry points with this name are of other stages.
    EntryPointStage {
        /// The name.
        name: String,
        /// The stage.
        stage: Stage,
        /// The entry points that the module has.
        has: Vec<String>,
    },
    /// No constant has this specialization id.
    SpecializationId {
        /// The id.
        id: u32,
        /// The ids that the module has.
        has: Vec<u32>,
    },
    /// A value of a specialization constant has bits that the constant's type does not have.
    SpecializationValue {
        /// The constant's specialization id.
        id: u32,
        /// The constant's type.
        of: Scalar,
        /// The bits.
        bits: u64,
    },
    /// The shader was specialized before.
    Specialized,
    /// The shader was not specialized.
    NotSpecialized,
    /// A dispatch without threads, or with too many.
    Extent {
        /// Groups, or pixels, in three directions.
        extent: [u32; 3],
    },
    /// A capability that the device does not have.
    Capability {
        /// Its name.
        name: String,
    },
    /// An extension that the device does not have.
    Extension {
        /// Its name.
        name: String,
    },
    /// An instruction that is not supported.
    Opcode {
        /// Its name.
        name: String,
    },
    /// A type that is not supported.
    Type {
        /// Its name.
        name: String,
    },
    /// A decoration that changes what a module means, and is not supported.
    Decoration {
        /// Its name.
        name: String,
    },
    /// More registers than a thread has.
    Registers {
        /// Those of the value for which none were left.
        wanted: u8,
        /// Those of all values.
        of: u8,
    },
    /// An instruction that cannot be encoded.
    Encoding {
        /// The reason.
        why: String,
    },
    /// An addressing or memory model that the device does not have.
    Model {
        /// Its name.
        name: String,
    },
}

impl Error {
    /// Returns the GL error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Length { .. }
            | Self::Magic { .. }
            | Self::Version { .. }
            | Self::Bound { .. }
            | Self::Malformed { .. }
            | Self::EntryPoint { .. }
            | Self::SpecializationId { .. }
            | Self::SpecializationValue { .. }
            | Self::Extent { .. } => Class::InvalidValue,
            Self::Specialized | Self::NotSpecialized | Self::EntryPointStage { .. } => {
                Class::InvalidOperation
            }
            Self::Capability { .. }
            | Self::Extension { .. }
            | Self::Opcode { .. }
            | Self::Type { .. }
            | Self::Decoration { .. }
            | Self::Registers { .. }
            | Self::Encoding { .. }
            | Self::Model { .. } => Class::NotCompiled,
        }
    }
}

/// Formats a list, or says that it is empty.
fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    if items.is_empty() {
        return f.write_str("none");
    }
    for (place, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if place == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { bytes } => {
                write!(
                    f,
                    "{bytes} bytes are no SPIR-V module: it has words of 4 bytes, and more than 5 of them"
                )
            }
            Self::Magic { word } => {
                write!(f, "the first word is {word:#010x}: a SPIR-V module begins with 0x07230203")
            }
            Self::Version { major, minor } => {
                write!(f, "SPIR-V {major}.{minor} is not supported: 1.0 to 1.6 are")
            }
            Self::Bound { bound, limit } => {
                write!(f, "the module has {bound} ids, and {limit} are the limit")
            }
            Self::Malformed { why } => write!(f, "the module is malformed: {why}"),
            Self::EntryPoint { name, has } => {
                write!(f, "no entry point '{name}'; the module has: ")?;
                list(f, has)
            }
            Self::EntryPointStage { name, stage, has } => {
                write!(f, "no entry point '{name}' of stage {stage}; the module has: ")?;
                list(f, has)
            }
            Self::SpecializationId { id, has } => {
                write!(f, "no constant has specialization id {id}; the module has: ")?;
                list(f, has)
            }
            Self::SpecializationValue { id, of, bits } => {
                let most = of.bits();
                write!(
                    f,
                    "specialization constant {id} has type {of}: the value {bits:#x} is wider than its {most} bits"
                )
            }
            Self::Specialized => f.write_str("the shader was specialized before: read its module again"),
            Self::NotSpecialized => f.write_str("the shader is not specialized: choose an entry point first"),
            Self::Extent { extent: [x, y, z] } => {
                write!(f, "{x} x {y} x {z} is no dispatch: it needs 1 to 4294967295 threads")
            }
            Self::Capability { name } => write!(f, "capability {name} is not supported"),
            Self::Extension { name } => write!(f, "extension {name} is not supported"),
            Self::Opcode { name } => write!(f, "{name} is not supported"),
            Self::Type { name } => write!(f, "{name} are not supported"),
            Self::Decoration { name } => write!(f, "decoration {name} is not supported"),
            Self::Registers { wanted, of } => {
                write!(f, "{of} registers are not enough: {wanted} more are needed at once")
            }
            Self::Encoding { why } => write!(f, "an instruction has no encoding: {why}"),
            Self::Model { name } => write!(f, "{name} is not supported"),
        }
    }
}

impl std::error::Error for Error {}
