//! Sets of an object's cache lines: the dirty ones, and the stale ones.
//!
//! ```text
//! L2  dirty
//! L1  line_map   own
//! L0  page_words   summary   open
//! ```
//!
//! * `dirty`: both sets of dirty lines, and the place of a caller's marks. Not stale lines.
//! * `line_map`: a set in which any thread marks, by locked instructions. Not the pages without marks.
//! * `own`: a set in which one thread marks, by plain stores. Not when it may.
//! * `page_words`: a word of 64 lines for each page. Not the order of their accesses.
//! * `summary`: the pages of a large set that may have marks. Not the marks.
//! * `open`: the lines that an open stream may have stored to. Not the stream.

mod dirty;
mod line_map;
mod open;
mod own;
mod page_words;
mod summary;

pub use dirty::{DirtyLines, Marks};
pub use line_map::LineMap;
pub(super) use line_map::by_runs;
