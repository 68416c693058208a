//! A process's address space, the mappings in it, and its open files.

pub(crate) mod area;
pub(crate) mod files;
pub(crate) mod follow;
pub(crate) mod memory;
pub(crate) mod pages;
pub(crate) mod program;
pub(crate) mod userptr;
