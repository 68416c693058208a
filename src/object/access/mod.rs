//! Guards for CPU accesses, and the reports of their flushes.
//!
//! [`crate::object::bo::Bo::write`] and [`crate::object::bo::Bo::read`] return a [`CpuAccess`] for a range. The caller copies
//! bytes through it, or takes a pointer and reports its stores ([`CpuAccess::mark_written`]). Stale lines are
//! invalidated before they are read or stored to in part, and stored lines are marked dirty. The end of the
//! access, by [`CpuAccess::finish`] or by dropping the guard, flushes nothing: no other agent is about to read
//! yet. While the guard is open, the BO can neither be closed nor change its caching.
//!
//! A [`FlushReport`] states what a step did to the lines of a BO, or why it did nothing.
//!
//! ```
//! use gem_coherency::device::{AllocRequest, Device};
//!
//! # gem_coherency_sim::link();
//! let device = Device::open("sim:jsl")?;
//! let bo = device.alloc(AllocRequest::new(4096))?;
//! let mut write = bo.write(60, 8)?;
//! write.write_at(60, &[1; 8])?;
//! assert!(write.write_at(68, &[1]).is_err(), "beyond the guard");
//! assert!(bo.close().is_err(), "in use");
//! let report = write.finish();
//! assert_eq!((report.lines, report.decision.rule.name()), (0, "llc-coherent"));
//! assert_eq!(bo.dirty_lines(), 2);
//! # Ok::<(), gem_coherency::Error>(())
//! ```

mod guard;
mod stream;
mod upload;

pub use crate::engine::{FlushReport, Step};
pub use guard::CpuAccess;
pub use stream::Stream;
pub use upload::{NON_TEMPORAL_FROM_BYTES, Upload};
