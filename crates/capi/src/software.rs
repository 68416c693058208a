//! The software device behind an open device, where the feature `exercise` links it.

use std::sync::Arc;

use gem_coherency::drm::Drm;
use gem_coherency::error::Error;

/// A software device.
#[cfg(feature = "exercise")]
pub(super) type Software = gem_coherency_sim::Soft;

/// A software device; the feature is off, so there are no values.
#[cfg(not(feature = "exercise"))]
pub(super) enum Software {}

/// An open file of a software device: as a device, and as a software device.
type Opened = (Arc<dyn Drm>, Arc<Software>);

/// Opens the software device `name`.
///
/// # Errors
/// [`gem_coherency::OpenError::BadDeviceSpec`].
#[cfg(feature = "exercise")]
pub(super) fn open(name: &str) -> Result<Opened, Error> {
    let soft = Arc::new(Software::open(name)?);
    Ok((Arc::<Software>::clone(&soft), soft))
}

/// Refuses: no software device is linked.
///
/// # Errors
/// [`gem_coherency::OpenError::BadDeviceSpec`].
#[cfg(not(feature = "exercise"))]
pub(super) fn open(name: &str) -> Result<Opened, Error> {
    Err(gem_coherency::OpenError::BadDeviceSpec {
        spec: name.to_owned(),
        why: "this libgem_coherency was built without the software device".to_owned(),
    }
    .into())
}

/// Opens another file of a software device.
#[cfg(feature = "exercise")]
pub(super) fn open_again(soft: &Software) -> Opened {
    let again = Arc::new(soft.open_again(gem_coherency_sim::Minor::Primary));
    (Arc::<Software>::clone(&again), again)
}

/// Never called: there is no software device.
#[cfg(not(feature = "exercise"))]
pub(super) fn open_again(soft: &Software) -> Opened {
    match *soft {}
}
