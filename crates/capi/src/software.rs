//! The software device behind an open device, where the feature `exercise` links it.

#[cfg(feature = "exercise")]
mod program;

use std::sync::Arc;

use gem_coherency::backend::Drm;
use gem_coherency::error::Error;

/// A software device.
#[cfg(feature = "exercise")]
pub(super) struct Software {
    /// Its file.
    pub(super) soft: Arc<gem_coherency_sim::SimDevice>,
    /// This program, as the device's kernel sees it.
    pub(super) program: program::Program,
}

#[cfg(feature = "exercise")]
impl Software {
    fn new(soft: gem_coherency_sim::SimDevice) -> Opened {
        let soft = Arc::new(soft);
        let program = program::Program::new(Arc::clone(&soft));
        (Arc::<gem_coherency_sim::SimDevice>::clone(&soft), Arc::new(Self { soft, program }))
    }
}

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
    Ok(Software::new(gem_coherency_sim::SimDevice::open(name)?))
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
    Software::new(soft.soft.open_again(gem_coherency_sim::Minor::Primary))
}

/// Never called: there is no software device.
#[cfg(not(feature = "exercise"))]
pub(super) fn open_again(soft: &Software) -> Opened {
    match *soft {}
}
