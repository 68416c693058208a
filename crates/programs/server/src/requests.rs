//! A count of the requests of all programs, with the errnos that they got.

use std::collections::BTreeMap;

use gem_coherency::Errno;
use gem_coherency::platform::Driver;
use gem_coherency::sync::Mutex;
use gem_coherency_uapi as uapi;

/// Bits of a code that the size of its struct does not change: type, number.
const IDENTITY: u32 = 0xffff;

/// A request, how often it was made, and how often it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCount {
    /// The code that ioctl(2) takes.
    pub code: u32,
    /// The name in the kernel's headers; `None` for a request that no header has.
    pub name: Option<&'static str>,
    /// How often it was made.
    pub count: u64,
    /// The errnos that it got, with their numbers.
    pub errors: Vec<(Errno, u64)>,
}

/// The counts of one request.
#[derive(Clone, Debug, Default)]
struct Row {
    count: u64,
    errors: BTreeMap<i32, u64>,
}

/// The counts by code and by device.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// By the code and the driver, whose header gives it a meaning.
    rows: BTreeMap<(u32, Driver), Row>,
    /// By the device's number.
    devices: BTreeMap<usize, u64>,
}

impl Requests {
    /// Counts a request, on a file of the device with this number and driver.
    pub(crate) fn count(&self, device: Option<(usize, Driver)>, code: u32, done: Result<i32, Errno>) {
        let mut counts = self.0.lock();
        if let Some((device, _)) = device {
            *counts.devices.entry(device).or_default() += 1;
        }
        // What other files take has one meaning.
        let driver = device.map_or(Driver::I915, |(_, driver)| driver);
        let row = counts.rows.entry((code, driver)).or_default();
        row.count += 1;
        if let Err(errno) = done {
            *row.errors.entry(errno.get()).or_default() += 1;
        }
    }

    /// Returns the counts, by code.
    pub(crate) fn all(&self) -> Vec<RequestCount> {
        self.0
            .lock()
            .rows
            .iter()
            .map(|(&(code, driver), row)| RequestCount {
                code,
                name: name(driver, code),
                count: row.count,
                errors: row.errors.iter().map(|(&errno, &count)| (Errno::new(errno), count)).collect(),
            })
            .collect()
    }

    /// Returns the number of requests on the files of a device.
    pub(crate) fn on_device(&self, number: usize) -> u64 {
        self.0.lock().devices.get(&number).copied().unwrap_or(0)
    }
}

/// Returns the name of a request of a driver; programs of older headers pass shorter structs.
pub(crate) fn name(driver: Driver, code: u32) -> Option<&'static str> {
    let known: Vec<_> = match driver {
        Driver::I915 => uapi::ioctls().collect(),
        Driver::Xe => uapi::ioctls_of_xe().collect(),
    };
    let exact = known.iter().find(|&&(_, known)| known == code);
    let similar = || known.iter().find(|&&(_, known)| (known ^ code) & IDENTITY == 0);
    exact.or_else(similar).map(|&(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_beside_all() {
        let requests = Requests::default();
        let code = uapi::i915::DRM_IOCTL_I915_GEM_CREATE.code;
        requests.count(Some((1, Driver::I915)), code, Ok(0));
        requests.count(Some((0, Driver::I915)), code, Err(Errno::ENOMEM));
        requests.count(Some((0, Driver::I915)), code, Err(Errno::ENOMEM));
        requests.count(None, 7, Err(Errno::ENOTTY));
        let [unknown, create] = &requests.all()[..] else { panic!("two codes") };
        assert_eq!((create.name, create.count), (Some("DRM_IOCTL_I915_GEM_CREATE"), 3));
        assert_eq!(create.errors, [(Errno::ENOMEM, 2)]);
        assert_eq!([0, 1, 2].map(|device| requests.on_device(device)), [2, 1, 0]);
        assert_eq!((unknown.name, &unknown.errors[..]), (None, &[(Errno::ENOTTY, 1)][..]));
    }
    #[test]
    fn a_code_has_the_name_that_the_devices_driver_gives_it() {
        let requests = Requests::default();
        let code = uapi::xe::DRM_IOCTL_XE_VM_CREATE.code;
        let names = |driver| name(driver, code);
        assert_eq!(names(Driver::Xe), Some("DRM_IOCTL_XE_VM_CREATE"));
        assert_ne!(names(Driver::I915), names(Driver::Xe));
        // A longer struct of a later header; requests that all drivers have; one that i915 alone has.
        assert_eq!(name(Driver::Xe, code + (8 << 16)), Some("DRM_IOCTL_XE_VM_CREATE"));
        let shared = uapi::drm::DRM_IOCTL_VERSION.code;
        assert_eq!(name(Driver::Xe, shared), name(Driver::I915, shared));
        assert_eq!(name(Driver::Xe, uapi::i915::DRM_IOCTL_I915_GEM_CREATE.code), None);
        for (number, driver) in [(0, Driver::Xe), (1, Driver::I915), (2, Driver::Xe)] {
            requests.count(Some((number, driver)), code, Ok(0));
        }
        let counted: Vec<_> = requests.all().iter().map(|row| (row.name, row.count)).collect();
        assert_eq!(counted, [(names(Driver::I915), 1), (names(Driver::Xe), 2)]);
    }
}
