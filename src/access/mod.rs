//! Guards over CPU accesses, and what the flushes around them did.
//!
//! A [`CpuAccess`] comes from [`crate::bo::Bo::write`] or [`crate::bo::Bo::read`] for a range. Bytes are copied
//! through it, or a pointer is taken and what was stored through it is named ([`CpuAccess::mark_written`]);
//! lines that are stale are dropped before they are touched, and what is stored is marked dirty. Its end, by
//! [`CpuAccess::finish`] or by being dropped, flushes nothing: nobody has asked to read yet. While it is open the BO
//! can neither be closed nor change its caching.
//!
//! What a step did to the lines of a BO, or why it did nothing, is a [`FlushReport`].
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
mod upload;

pub use crate::engine::{FlushReport, Step};
pub use guard::CpuAccess;
pub use upload::{AROUND_FROM_BYTES, Upload};
