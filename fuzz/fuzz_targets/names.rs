//! Any text as a device's name: it is refused with a reason, or it is the name of a device that works.

#![no_main]

use gem_coherency::OpenError;
use gem_coherency::backend::{Drm, Extras};
use gem_coherency::{Error, platform};
use gem_coherency_fuzz::watch;
use gem_coherency_sim::SimDevice;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| watch::nothing_lost(|| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let device = match SimDevice::open(text) {
        Ok(device) => device,
        Err(error) => {
            assert!(matches!(error, Error::Open(OpenError::BadDeviceSpec { .. })), "{error:?}");
            return assert!(error.to_string().contains("allowed: "), "{error}");
        }
    };
    assert_eq!(device.name(), text);
    let machine = device.machine();
    assert!(platform::by_name(machine.platform.name).is_ok());
    // Faults may refuse anything, but not for ever fail to answer.
    let _ = device.version();
    if let Ok(created) = device.create(1) {
        assert_eq!(created.size_bytes % 4096, 0);
        let _ = device.pwrite(created.handle, 0, b"x");
        drop(device.close(created.handle));
    }
}));
