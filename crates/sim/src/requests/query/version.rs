//! VERSION, GET_CAP and SET_CLIENT_CAP.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::backend::DriverVersion;
use gem_coherency::error::Result;
use gem_coherency::platform::{Driver, Machine};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::drm::*;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_VERSION, Everyone => version;
    DRM_IOCTL_GET_CAP, Everyone => get_cap;
    DRM_IOCTL_SET_CLIENT_CAP, Primary => set_client_cap;
};

/// The first kernel with asynchronous atomic page flips, and with hotspots (6.8).
const ATOMIC_ASYNC: KernelVersion = KernelVersion::new(6, 8);

/// The first kernel with pipelines of colour operations (6.19).
const COLOR_PIPELINES: KernelVersion = KernelVersion::new(6, 19);

/// The first kernel whose xe calls itself a driver of Xe2: the change is of June 2025, when 6.16 had been cut.
const XE2_DESCRIPTION: KernelVersion = KernelVersion::new(6, 17);

/// `drm_version`.
fn version(caller: &mut Caller<'_>, args: &mut drm_version) -> Result<()> {
    let version = caller.device.version_ioctl()?;
    (args.version_major, args.version_minor, args.version_patchlevel) = version.version;
    copy_field(caller, args.name, &mut args.name_len, &version.name)?;
    copy_field(caller, args.date, &mut args.date_len, &version.date)?;
    copy_field(caller, args.desc, &mut args.desc_len, &version.description)
}

/// Copies as much of `text` as fits, and sets `len` to its full length (`drm_copy_field`).
fn copy_field(caller: &mut Caller<'_>, address: u64, len: &mut u64, text: &str) -> Result<()> {
    let room = usize::try_from(*len).unwrap_or(usize::MAX);
    let part = text.as_bytes().get(..room).unwrap_or(text.as_bytes());
    *len = text.len() as u64;
    if address == 0 {
        return Ok(());
    }
    caller.put(DRM_IOCTL_VERSION.name, address, part)
}

/// `drm_getcap`.
fn get_cap(caller: &mut Caller<'_>, args: &mut drm_get_cap) -> Result<()> {
    let request = DRM_IOCTL_GET_CAP.name;
    let device = caller.device;
    device.system.enter(request, Needs::Nothing)?;
    args.value = 0;
    args.value = match args.capability {
        DRM_CAP_TIMESTAMP_MONOTONIC | DRM_CAP_SYNCOBJ | DRM_CAP_SYNCOBJ_TIMELINE => 1,
        DRM_CAP_PRIME => DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT,
        capability => match device.display_cap(capability) {
            Ok(value) => value,
            Err(errno) => return refuse(request, errno),
        },
    };
    Ok(())
}

/// `drm_setclientcap`.
fn set_client_cap(caller: &mut Caller<'_>, args: &mut drm_set_client_cap) -> Result<()> {
    let request = DRM_IOCTL_SET_CLIENT_CAP.name;
    let device = caller.device;
    device.system.enter(request, Needs::Nothing)?;
    if !device.system.hardware.display {
        return refuse(request, Errno::EOPNOTSUPP);
    }
    // i915 supports atomic commits from gen5 on, and on Valleyview and G4x (`nuclear_pageflip`).
    let atomic = device.system.machine.has_atomic();
    let most = match args.capability {
        DRM_CLIENT_CAP_STEREO_3D | DRM_CLIENT_CAP_UNIVERSAL_PLANES | DRM_CLIENT_CAP_ASPECT_RATIO => 1,
        DRM_CLIENT_CAP_ATOMIC if !atomic => return refuse(request, Errno::EOPNOTSUPP),
        DRM_CLIENT_CAP_ATOMIC => 2,
        DRM_CLIENT_CAP_WRITEBACK_CONNECTORS if device.client().atomic => 1,
        DRM_CLIENT_CAP_PLANE_COLOR_PIPELINE
            if device.client().atomic && device.kernel_since(COLOR_PIPELINES) =>
        {
            1
        }
        DRM_CLIENT_CAP_CURSOR_PLANE_HOTSPOT if device.kernel_since(ATOMIC_ASYNC) => {
            return refuse(request, Errno::EOPNOTSUPP);
        }
        _ => return refuse(request, Errno::EINVAL),
    };
    if args.value > most {
        return refuse(request, Errno::EINVAL);
    }
    let mut client = device.client();
    let said = args.value > 0;
    match args.capability {
        DRM_CLIENT_CAP_ATOMIC => {
            (client.atomic, client.all_planes, client.aspect_ratios) = (said, said, said);
        }
        DRM_CLIENT_CAP_UNIVERSAL_PLANES => client.all_planes = said,
        DRM_CLIENT_CAP_ASPECT_RATIO => client.aspect_ratios = said,
        // No mode of the simulated screens has two images, no connector writes to memory, and no plane has properties of colours.
        _ => {}
    }
    Ok(())
}

impl SimDevice {
    /// Returns the driver's version.
    pub(crate) fn version_ioctl(&self) -> Result<DriverVersion> {
        self.system.enter(DRM_IOCTL_VERSION.name, Needs::Nothing)?;
        let machine = self.system.machine;
        let (version, description) = match machine.driver {
            Driver::I915 => ((1, 6, 0), "Intel Graphics"),
            Driver::Xe if self.kernel_since(XE2_DESCRIPTION) => ((1, 1, 0), "Intel Xe2 Graphics"),
            Driver::Xe => ((1, 1, 0), "Intel Xe Graphics"),
        };
        Ok(DriverVersion {
            name: machine.driver.to_string(),
            version,
            date: date(machine).to_owned(),
            description: description.to_owned(),
        })
    }

    /// Returns a display capability (`intel_mode_config_init`).
    fn display_cap(&self, capability: u64) -> Result<u64, Errno> {
        let machine = self.system.machine;
        if !self.system.hardware.display {
            return Err(Errno::EOPNOTSUPP);
        }
        Ok(match capability {
            DRM_CAP_DUMB_BUFFER
            | DRM_CAP_VBLANK_HIGH_CRTC
            | DRM_CAP_DUMB_PREFER_SHADOW
            | DRM_CAP_ADDFB2_MODIFIERS
            | DRM_CAP_CRTC_IN_VBLANK_EVENT => 1,
            DRM_CAP_DUMB_PREFERRED_DEPTH => 24,
            DRM_CAP_ASYNC_PAGE_FLIP => u64::from(machine.flips_at_once()),
            // No i915 pipe supports target vertical blanks.
            DRM_CAP_PAGE_FLIP_TARGET => 0,
            DRM_CAP_CURSOR_WIDTH => machine.cursor().0,
            DRM_CAP_CURSOR_HEIGHT => machine.cursor().1,
            DRM_CAP_ATOMIC_ASYNC_PAGE_FLIP if machine.kernel >= ATOMIC_ASYNC => {
                u64::from(machine.has_atomic() && machine.flips_at_once())
            }
            _ => return Err(Errno::EINVAL),
        })
    }

    fn kernel_since(&self, kernel: KernelVersion) -> bool {
        self.system.machine.kernel >= kernel
    }
}

/// Returns the driver's date: DRIVER_DATE of i915_driver.h and xe_drv.h; removed in 6.14, and in 6.12's stable series.
fn date(machine: Machine) -> &'static str {
    let kernel = machine.kernel;
    match (kernel.major, kernel.minor) {
        (5, 10) => "20200917",
        (..6, _) | (6, ..7) => "20201103",
        (6, 12 | 14..) | (7.., _) => "0",
        (6, 7..) => match machine.driver {
            Driver::I915 => "20230929",
            Driver::Xe => "20201103",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_driver_says_its_name_version_date_and_description() {
        let said = |name: &str| SimDevice::open_for_programs(name).unwrap().version_ioctl().unwrap();
        let is = |name: &str, driver: &str, version, date: &str, description: &str| {
            let said = said(name);
            assert_eq!(
                (said.name.as_str(), said.version, said.date.as_str()),
                (driver, version, date),
                "{name}"
            );
            assert_eq!(said.description, description, "{name}");
        };
        // As the real drivers of 6.12 and 7.2 say.
        is("sim:tgl,kernel=6.12", "i915", (1, 6, 0), "0", "Intel Graphics");
        is("sim:tgl,kernel=7.2", "i915", (1, 6, 0), "0", "Intel Graphics");
        is("sim:tgl,driver=xe,kernel=6.12", "xe", (1, 1, 0), "0", "Intel Xe Graphics");
        is("sim:tgl,driver=xe,kernel=7.2", "xe", (1, 1, 0), "0", "Intel Xe2 Graphics");
        is("sim:lnl", "xe", (1, 1, 0), "0", "Intel Xe2 Graphics");
        // As their headers say.
        is("sim:tgl,kernel=6.13", "i915", (1, 6, 0), "20230929", "Intel Graphics");
        is("sim:tgl,driver=xe,kernel=6.13", "xe", (1, 1, 0), "20201103", "Intel Xe Graphics");
    }
}
