//! The platforms that judge a run, each with the driver whose rules are applied; and the verdicts on flushes.

pub(crate) mod need;

use gem_coherency::Unknown;
use gem_coherency::platform::{self, Driver, Machine, Platform};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::xe;

/// The end of the name of a platform that both drivers drive, under xe.
const UNDER_XE: &str = ",driver=xe";

/// A platform that judges a run, under one of the drivers.
#[derive(Clone, Copy, Debug)]
pub enum JudgingPlatform {
    /// Under i915.
    I915(&'static Platform),
    /// Under xe.
    Xe(&'static xe::Platform),
}

impl JudgingPlatform {
    /// Returns the platform with this name, as [`Self::name`] returns it.
    ///
    /// # Errors
    /// The name is unknown to the driver.
    pub fn by_name(name: &str) -> Result<Self, Unknown> {
        match name.strip_suffix(UNDER_XE) {
            Some(name) => xe::by_name(name).map(Self::Xe),
            None => platform::by_name(name).map(Self::I915).or_else(|_| xe::by_name(name).map(Self::Xe)),
        }
    }

    /// Returns the platform with a name under a driver.
    ///
    /// # Errors
    /// The name is unknown to the driver.
    pub fn under(driver: Driver, name: &str) -> Result<Self, Unknown> {
        match driver {
            Driver::I915 => platform::by_name(name).map(Self::I915),
            Driver::Xe => xe::by_name(name).map(Self::Xe),
        }
    }

    /// Returns the platform of a machine.
    pub(crate) fn of(machine: Machine) -> Self {
        match machine.driver {
            Driver::I915 => Self::I915(machine.platform),
            // A machine of xe has the name of its platform.
            Driver::Xe => xe::by_name(machine.platform.name).map_or(Self::I915(machine.platform), Self::Xe),
        }
    }

    /// Returns every platform that a driver of `kernel` claims.
    #[must_use]
    pub fn all(driver: Driver, kernel: KernelVersion) -> Vec<Self> {
        let all: Vec<_> = match driver {
            Driver::I915 => platform::all().iter().map(|platform| Self::I915(platform)).collect(),
            Driver::Xe => xe::all().iter().map(Self::Xe).collect(),
        };
        all.into_iter().filter(|platform| platform.machine(kernel).is_ok()).collect()
    }

    /// Returns the name, which says the driver if i915 drives the platform, too, and xe is meant: `lnl`, `tgl`, `tgl,driver=xe`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::I915(platform) => platform.name,
            Self::Xe(platform) => platform.device_name(),
        }
    }

    /// Returns the driver.
    #[must_use]
    pub fn driver(self) -> Driver {
        match self {
            Self::I915(_) => Driver::I915,
            Self::Xe(_) => Driver::Xe,
        }
    }

    /// Returns the machine under a kernel.
    ///
    /// # Errors
    /// The driver of that kernel does not claim the platform.
    pub fn machine(self, kernel: KernelVersion) -> Result<Machine, Unknown> {
        match self {
            Self::I915(platform) => Ok(platform.claimed_by(kernel)?.machine(kernel, false)),
            Self::Xe(platform) => Ok(platform.device(kernel)?.machine()),
        }
    }

    /// Returns the device of xe under a kernel that claims the platform; `None` under i915.
    pub(crate) fn device_of_xe(self, kernel: KernelVersion) -> Option<xe::Device> {
        match self {
            Self::I915(_) => None,
            Self::Xe(platform) => platform.device(kernel).ok(),
        }
    }
}

impl PartialEq for JudgingPlatform {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for JudgingPlatform {}

/// What programs did that is not the same on a platform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotAlike {
    /// Why the kernel refuses requests there for other reasons than caching, which are findings.
    pub refused: Vec<String>,
    /// What is not judged there, and why.
    pub not_judged: Vec<String>,
}

impl NotAlike {
    /// Adds reasons, each once.
    pub fn merge(&mut self, other: Self) {
        for (known, more) in [(&mut self.refused, other.refused), (&mut self.not_judged, other.not_judged)] {
            for why in more {
                if !known.contains(&why) {
                    known.push(why);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_platform_under_one_driver() {
        let kernel = KernelVersion::new(7, 2);
        for driver in [Driver::I915, Driver::Xe] {
            for platform in JudgingPlatform::all(driver, kernel) {
                let named = JudgingPlatform::by_name(platform.name()).unwrap();
                assert_eq!((named, named.driver()), (platform, driver));
                assert_eq!(named.machine(kernel).unwrap().driver, driver);
                assert_eq!(named.device_of_xe(kernel).is_some(), driver == Driver::Xe);
            }
        }
        let [tgl, tgl_of_xe] = ["tgl", "tgl,driver=xe"].map(|name| JudgingPlatform::by_name(name).unwrap());
        assert_ne!(tgl, tgl_of_xe);
        assert_eq!(JudgingPlatform::under(Driver::Xe, "tgl").unwrap(), tgl_of_xe);
        assert!(JudgingPlatform::by_name("glk,driver=xe").is_err());
        assert!(JudgingPlatform::under(Driver::I915, "lnl").is_err());
    }

    #[test]
    fn a_kernel_claims_what_its_driver_knows() {
        let all = |driver, minor| JudgingPlatform::all(driver, KernelVersion::new(6, minor)).len();
        assert_eq!((all(Driver::Xe, 1), all(Driver::I915, 12)), (0, platform::all().len()));
        assert!((1..xe::all().len()).contains(&all(Driver::Xe, 12)), "ptl is newer");
    }
}
