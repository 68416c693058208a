//! A device whose BOs are ordinary memory of this process, so that flush instructions act on real caches.
//!
//! Requests go to the software i915; only mappings differ. So, except for the requests, all that the library
//! does to a BO here is what it does on a real device.

use std::sync::Arc;

use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::MmapMode;
use gem_coherency_sim::SimDevice;

use crate::error::Error;

/// A kind of hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The GPU does not snoop the CPU's cache, so the CPU's stores must be flushed.
    NoLlc,
    /// CPU and GPU share the LLC, so nothing has to be flushed.
    Llc,
}

impl Part {
    /// Returns the device's name.
    const fn platform(self) -> &'static str {
        match self {
            Self::NoLlc => "sim:glk",
            Self::Llc => "sim:skl",
        }
    }
}

/// Opens such a device.
///
/// # Errors
/// Those of opening a device.
pub fn device(part: Part) -> Result<Device, Error> {
    let soft = SimDevice::open(part.platform())?.mapping_ordinary_memory();
    Ok(Device::from_drm(Arc::new(soft))?)
}

/// Allocates a BO of `size` bytes that is mapped write-back, with the caching of a new BO.
///
/// # Errors
/// Those of allocating and mapping a BO.
pub fn bo(device: &Device, size: u64) -> Result<Bo, Error> {
    let bo = device.alloc(AllocRequest::new(size))?;
    bo.map(MmapMode::Wb)?;
    // Every line of a new BO is dirty: the kernel's zeroes.
    bo.flush()?;
    Ok(bo)
}

#[cfg(test)]
mod tests {
    use gem_coherency::device::Submission;
    use gem_coherency::policy::Verdict;
    use gem_coherency::vocabulary::{Access, MocsClass};

    use super::*;

    /// Writes to three lines of a BO, and submits it; returns the verdict and the number of lines flushed.
    fn flushed(part: Part) -> (Verdict, u64) {
        let device = device(part).unwrap();
        let bo = bo(&device, 8192).unwrap();
        let mut write = bo.write(0, 8192).unwrap();
        write.write_at(64, &[1]).unwrap();
        write.write_at(5000, &[1; 100]).unwrap();
        write.finish();
        let submission = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable };
        let report = device.submit_with(&[submission], |reports| Ok(reports[0])).unwrap();
        (report.decision.verdict, report.lines)
    }

    #[test]
    fn only_written_lines_are_flushed_and_none_with_an_llc() {
        assert_eq!(flushed(Part::NoLlc), (Verdict::Flush, 3));
        assert_eq!(flushed(Part::Llc), (Verdict::NotNeeded, 0));
    }
}
