//! The software i915: its answers, and its stale bytes.

mod busy;
mod coherency;
mod display;
mod gpu;
mod injected_faults;
mod kms;
mod logs;
mod mappings;
mod requests;
mod threads;
mod xe;

use gem_coherency::Errno;
use gem_coherency::OpenError;
use gem_coherency::backend::{Created, Drm, Mapping};
use gem_coherency::cacheops::CacheLines as _;
use gem_coherency::vocabulary::{Domains, Handle, MmapMode};
use gem_coherency::{Error, Result};
use gem_coherency_sim::SimDevice;

/// A device by its name.
#[track_caller]
fn sim(name: &str) -> SimDevice {
    SimDevice::open(&format!("sim:{name}")).unwrap()
}

/// Returns the errno that the caller of an ioctl gets for a result.
fn errno<T>(result: Result<T>) -> Option<Errno> {
    result.err().map(|error| error.errno())
}

/// A handle that was never given out.
fn unknown() -> Handle {
    Handle::new(4711).unwrap()
}

/// A device with one object of one page, mapped WB (or as the kernel decides), in memory as zeroes
/// and in no cache.
struct Page {
    device: SimDevice,
    bo: Created,
    map: Mapping,
}

impl Page {
    #[track_caller]
    fn new(name: &str) -> Self {
        let device = sim(name);
        let bo = device.create(4096).unwrap();
        let mode = if errno(device.map(bo.handle, MmapMode::Wb, 4096)).is_none() {
            MmapMode::Wb
        } else {
            MmapMode::Fixed
        };
        let map = device.map(bo.handle, mode, 4096).unwrap();
        let page = Self { device, bo, map };
        page.flush();
        page
    }

    fn handle(&self) -> Handle {
        self.bo.handle
    }

    /// Writes every line back and drops it.
    fn flush(&self) {
        self.lines(gem_coherency::cacheops::LineOp::Flush);
    }

    fn lines(&self, op: gem_coherency::cacheops::LineOp) {
        self.map.perform(op, gem_coherency::units::LineRange::new(0, 64)).unwrap();
    }

    fn store(&self, data: &[u8]) {
        self.map.copy_in(0, data).unwrap();
    }

    fn load(&self) -> [u8; 4] {
        let mut data = [0; 4];
        self.map.copy_out(0, &mut data).unwrap();
        data
    }

    fn gpu_reads(&self, mocs: gem_coherency::vocabulary::MocsClass) -> [u8; 4] {
        let mut data = [0; 4];
        self.device.gpu_read(self.handle(), mocs, 0, &mut data).unwrap();
        data
    }

    fn gpu_writes(&self, data: &[u8]) {
        self.device
            .gpu_write(self.handle(), gem_coherency::vocabulary::MocsClass::PageTable, 0, data)
            .unwrap();
    }

    fn display_reads(&self) -> [u8; 4] {
        let mut data = [0; 4];
        self.device.display_read(self.handle(), 0, &mut data).unwrap();
        data
    }

    /// Returns the number of flushes by the kernel so far.
    fn flushes(&self) -> usize {
        self.device.kernel_flushes().len()
    }
}

/// SET_DOMAIN to one domain, for writing.
fn write_domain(device: &SimDevice, handle: Handle, domain: Domains) -> Result<()> {
    device.set_domain(handle, domain, domain)
}

#[test]
fn the_name_of_a_device_says_what_is_wrong_with_it() {
    let error = SimDevice::open("sim:jsl,kernel=2.6").unwrap_err();
    assert!(matches!(error, Error::Open(OpenError::BadDeviceSpec { .. })));
    assert!(error.to_string().contains("2.6"), "{error}");
}
