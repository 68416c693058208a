//! Platforms by name.

use gem_coherency::platform::{self, Machine, Platform};
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency::vocabulary::KernelVersion;

use crate::failure::Failure;

/// A platform under a kernel, and the kernel's rules.
#[derive(Clone, Copy, Debug)]
pub struct Ruled {
    /// The platform under the kernel.
    pub machine: Machine,
    /// The rules of the kernel.
    pub rules: KernelRules,
}

/// Returns the platform `name` under `kernel`; all platforms if there is no name. `edram` applies to
/// platforms that can have it.
///
/// # Errors
/// An unknown name, or a kernel without known rules.
pub fn named(name: Option<&str>, kernel: KernelVersion, edram: bool) -> Result<Vec<Ruled>, Failure> {
    let rules = KernelRules::of(kernel).map_err(|error| Failure::flag("--kernel", error))?;
    let platforms = match name {
        Some(name) => vec![claimed(name, kernel)?],
        None => platform::all().iter().filter_map(|platform| platform.claimed_by(kernel).ok()).collect(),
    };
    let ruled = |platform: &'static Platform| Ruled { machine: platform.machine(kernel, edram), rules };
    Ok(platforms.into_iter().map(ruled).collect())
}

/// Returns the platform `name`, which the driver of `kernel` claims.
///
/// # Errors
/// An unknown name, or a platform that the driver does not claim.
pub fn claimed(name: &str, kernel: KernelVersion) -> Result<&'static Platform, Failure> {
    platform::by_name(name)
        .and_then(|platform| platform.claimed_by(kernel))
        .map_err(|error| Failure::refused("--platform", error))
}
