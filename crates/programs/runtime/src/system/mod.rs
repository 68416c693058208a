//! The program's kernel: system calls, filters that refuse them, and what is made of them.

mod filter;
pub(crate) mod identity;
pub(crate) mod lock;
pub(crate) mod path;
pub(crate) mod sandbox;
pub(crate) mod sys;
