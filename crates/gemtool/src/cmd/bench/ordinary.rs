//! A device whose BOs are ordinary memory of this process, so that flush instructions act on real caches.
//!
//! Requests go to the software i915; only mappings differ. So, except for the requests, all that the library
//! does to a BO here is what it does on a real device.

use std::sync::Arc;

use gem_coherency::bo::Bo;
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::vocabulary::{CachingMode, MmapMode};
use gem_coherency_sim::Soft;

use crate::failure::Failure;

/// The platform: its GPU does not snoop the CPU's cache, so the CPU's stores must be flushed.
const PLATFORM: &str = "sim:glk";

/// Opens such a device.
///
/// # Errors
/// Those of opening a device.
pub fn device() -> Result<Device, Failure> {
    let soft = Soft::open(PLATFORM)?.mapping_ordinary_memory();
    Ok(Device::from_drm(Arc::new(soft))?)
}

/// Allocates a BO of `size` bytes that is mapped write-back and requires flushes.
///
/// # Errors
/// Those of allocating and mapping a BO.
pub fn bo(device: &Device, size: u64) -> Result<Bo, Failure> {
    let bo = device.alloc(AllocRequest::new(size).caching(CachingMode::None))?;
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

    #[test]
    fn only_written_lines_are_flushed() {
        let device = device().unwrap();
        let bo = bo(&device, 8192).unwrap();
        bo.flush().unwrap();
        let mut write = bo.write(0, 8192).unwrap();
        write.write_at(64, &[1]).unwrap();
        write.write_at(5000, &[1; 100]).unwrap();
        write.finish();
        let submission = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable };
        let report = device.submit_with(&[submission], |reports| Ok(reports[0])).unwrap();
        assert_eq!((report.decision.verdict, report.lines), (Verdict::Flush, 3));
    }
}
