//! The places in programs that addresses are.

use std::path::Path as FilePath;

use gem_coherency_sanitizer::Frame;
use gem_coherency_trap::symbols::{Place, Symbols};
use serde::Serialize;

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceRow {
    /// The function.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The program or library.
    pub module: String,
    /// The address in it.
    pub address: u64,
}

/// Files whose symbols are kept: a suite may have thousands of programs.
const MOST_MODULES: usize = 256;

/// Finds the functions and lines of addresses.
#[derive(Debug)]
pub(crate) struct Places(Symbols);

impl Places {
    pub(crate) fn new() -> Self {
        Self(Symbols::new())
    }

    /// Returns the function that a frame is in, after those that were inlined there.
    pub(crate) fn place(&mut self, frame: &Frame, is_call: bool) -> Vec<PlaceRow> {
        if self.0.modules() > MOST_MODULES {
            self.0 = Symbols::new();
        }
        // A return address is after its call.
        let address = if is_call { frame.address.saturating_sub(1) } else { frame.address };
        let row = |found: Place| PlaceRow {
            function: found.function,
            file: found.file,
            line: found.line,
            module: frame.module.clone(),
            address: frame.address,
        };
        self.0.resolve_inlined(FilePath::new(&frame.module), address).into_iter().map(row).collect()
    }

    /// Returns the places of a call stack; the first frame is that of a call, or of an instruction.
    pub(crate) fn stack(&mut self, frames: &[Frame], first_is_call: bool) -> Vec<PlaceRow> {
        let frames = frames.iter().enumerate();
        frames.flat_map(|(n, frame)| self.place(frame, n > 0 || first_is_call)).collect()
    }
}
