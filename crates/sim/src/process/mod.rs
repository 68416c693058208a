//! A process's address space, the mappings in it, and its open files.

pub(crate) mod area;
pub(crate) mod files;
pub(crate) mod memory;
pub(crate) mod pages;
#[path = "../memory/program.rs"]
pub(crate) mod program;
#[path = "../kernel/objects/mapping_contents.rs"]
pub(crate) mod sight;
