//! Shaders, run thread by thread on BOs of a software device, whose lines are watched.
//!
//! [`compile()`] compiles the shader of a SPIR-V module, [`Threads`] runs it on a [`Watched`] set of surfaces, and [`Watched::accesses`]
//! lists the lines that each instruction accessed, and those that were stale.

mod binding;
mod extent;
mod hand_over;
mod mocs;
mod module;
mod specialization;
mod threads;
mod watched;

pub use binding::{Place, described};
pub use extent::{Extent, Groups, NoExtent, extent};
pub use hand_over::{access, note_writes, prepare};
pub use mocs::{NoEntry, entry_of_shaders};
pub use module::{Choices, Compiled, Refusal, Size, compile, compile_observed, read};
pub use specialization::{Misfit, Specialization};
pub use threads::{CHANNELS, Halt, Threads, platform};
pub use watched::{Surface, Touched, Watched};
