//! A program that links the software device only after its first use.

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::OpenError;
use gem_coherency::device::Device;

#[test]
fn a_software_device_opens_once_it_is_linked_and_until_then_the_error_says_what_to_link() {
    let refused = Device::open("sim:jsl").unwrap_err();
    assert!(
        matches!(&refused, Error::Open(OpenError::BadDeviceSpec { spec, .. }) if spec == "sim:jsl"),
        "{refused:?}"
    );
    assert_eq!(refused.errno(), Errno::EINVAL);
    let text = refused.to_string();
    assert!(text.contains("sim:jsl") && text.contains("gem_coherency_sim::link()"), "{text}");

    gem_coherency_sim::link();
    assert_eq!(Device::open("sim:jsl").unwrap().machine().platform.name, "jsl");
    gem_coherency_sim::link();
    assert_eq!(Device::open("sim:glk").unwrap().machine().platform.name, "glk");
}
