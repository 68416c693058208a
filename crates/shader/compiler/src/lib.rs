//! A compiler of SPIR-V compute and fragment shaders for Intel's execution units, graphics 7.5 to 12.5.
//!
//! A [`Shader`] is read from the words of a module, and specialized: an entry point is chosen, and values for its specialization
//! constants, with the errors that the GL specification names for glShaderBinary and glSpecializeShader. Then it is compiled to a
//! [`CompiledShader`]: instructions, and what a dispatch has to give to them. A feature that is not supported is refused by its name.
//! `docs/shaders.md` says what is supported, and where the lanes of a shader end.
//!
//! ```
//! use gem_shader_compiler::{Binding, Features, Options, Shader, Stage};
//! use intel_eu::Platform;
//!
//! let module = std::fs::read("tests/data/integers.spv")?;
//! let mut shader = Shader::read(&module)?;
//! shader.specialize("main", Stage::Compute, &[], &Features::of(Platform::Jsl))?;
//! let shader = shader.compile(Platform::Jsl, &Options::default())?;
//! assert!(shader.surfaces.iter().all(|used| matches!(used.binding, Binding::Buffer { set: 0, .. })));
//!
//! // Two groups, and a thread for each 16 lanes of them.
//! let [x, y, z] = shader.group;
//! assert_eq!(shader.threads([2, 1, 1])?, 2 * (x * y * z).div_ceil(16));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! L4  compile -> pass: all steps, from a module to a compiled shader
//! L3  translate -> valid   passes   select: modules by the rules; SPIR-V as a program; programs as others; instructions for operations
//! L2  spirv   machine: modules; instructions with virtual registers, and their passes
//! L1  error: refusals
//! L0  interface   ir   pass: stages and surfaces; programs; names of passes
//! ```
//!
//! * `compile`: the order of all steps. Not a step.
//! * `translate`: a SPIR-V module as a program. Not its validity.
//! * `valid`: modules that SPIR-V's rules refuse. Not what this compiler lacks.
//! * `passes`: programs made into others. Not instructions.
//! * `select`: instructions for the operations of a program. Not registers.
//! * `spirv`: a module as it is written. Not what it means.
//! * `machine`: instructions with virtual registers, their passes, and their bytes. Not what they compute.
//! * `error`: refusals, by name. Not the search for them.
//! * `interface`: stages, surfaces, and what a dispatch gives. Not the dispatch.
//! * `ir`: programs: values, blocks and loops. Not SPIR-V.
//! * `pass`: the names of passes. Not what they do.

#![deny(unsafe_code)]

mod compile;
mod error;
mod interface;
mod ir;
mod machine;
mod pass;
mod passes;
mod select;
mod spirv;
mod translate;
mod valid;

pub use compile::{CompiledShader, Options, SurfaceUse};
pub use error::{Class, Error};
pub use interface::{Binding, Stage};
pub use ir::Scalar;
pub use pass::{Moment, Pass, UnknownPass};
pub use spirv::blocks::Block;
pub use spirv::intake::{EntryPoint, Features, Shader};
