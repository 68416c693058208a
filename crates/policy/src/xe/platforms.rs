//! The platforms of xe, and their devices under a kernel.

use core::fmt;

use super::pat::{PatTable, table_of};
use crate::platform::pci_ids::lookup::{hex_id, is_same_name, names};
use crate::platform::pci_ids::xe::{XE, XeIds};
use crate::platform::{self as i915, Basis, Caps, Driver, GraphicsVersion, Ppgtt};
use crate::vocabulary::{Excerpt, KernelVersion, Unknown, nearest};

/// The first kernel whose xe the rules cover.
pub(super) const LINUX_6_12: KernelVersion = KernelVersion::new(6, 12);
/// The next kernel whose xe was read. What it has and 6.12 lacks is taken to be new in it.
pub(super) const LINUX_7_2: KernelVersion = KernelVersion::new(7, 2);
/// The last kernel whose xe was read.
const LINUX_7_3: KernelVersion = KernelVersion::new(7, 3);

/// A platform of xe.
#[derive(Debug)]
pub struct Platform {
    ids: Ids,
    /// The version of the graphics IP; devices from Meteor Lake on report their own ([`Device::with_graphics`]).
    pub graphics: GraphicsVersion,
    /// Set for a discrete device, with memory of its own.
    pub discrete: bool,
    /// Page size of local memory in bytes; `None` without local memory.
    pub local_page_bytes: Option<u32>,
    /// Width of an address of the GPU, in bits.
    pub address_bits: u8,
    /// Set if there is a display (`has_display`).
    pub has_display: bool,
    /// Set if the device can have flat compression state (`has_flat_ccs`); firmware can turn it off.
    pub has_flat_ccs: bool,
    /// The first kernel from which on xe takes the platform without `xe.force_probe`; `None`: it always needs it.
    pub unforced_since: Option<KernelVersion>,
    /// The first kernel whose xe this project's virtual machine runs on the platform; `None`: the platform's source was read.
    pub run_since: Option<KernelVersion>,
    /// The source of these facts: `xe_pci.c: lnl_desc`.
    pub source: &'static str,
}

/// The names and the PCI IDs of a platform.
#[derive(Debug)]
enum Ids {
    /// Those of a platform that i915 drives, too, with the name of its devices under xe; the IDs are not in 6.12's list.
    Shared(&'static i915::Platform, &'static str, &'static [u16]),
    /// Those of a platform of xe alone.
    Own(&'static XeIds, &'static i915::Platform),
}

/// Returns a platform that i915 drives, too. By default i915 takes it; xe needs force_probe.
const fn shared(
    platform: &'static i915::Platform,
    device_name: &'static str,
    source: &'static str,
) -> Platform {
    Platform {
        ids: Ids::Shared(platform, device_name, &[]),
        graphics: platform.graphics,
        discrete: platform.caps.contains(Caps::DISCRETE),
        local_page_bytes: platform.local_page_bytes,
        address_bits: 48,
        has_display: true,
        has_flat_ccs: false,
        unforced_since: None,
        run_since: Some(LINUX_6_12),
        source,
    }
}

/// Returns a platform that was read, and not run.
const fn not_run(platform: Platform) -> Platform {
    Platform { run_since: None, ..platform }
}

/// Returns a platform of xe alone, as the driver rules see it.
const fn own(
    ids: &XeIds,
    graphics: GraphicsVersion,
    local_page_bytes: Option<u32>,
    source: &'static str,
) -> i915::Platform {
    let caps = Caps::SNOOP.union(Caps::PAT_AT_CREATE);
    i915::Platform {
        name: ids.name,
        aliases: &[],
        title: ids.title,
        graphics,
        ppgtt: Ppgtt::Full { bits: 48 },
        caps: if local_page_bytes.is_some() { caps.union(Caps::DISCRETE) } else { caps },
        edram_probed: false,
        local_page_bytes,
        example_id: 0,
        source,
    }
}

/// Returns an integrated platform of xe alone: the one at `place` of [`XE`].
const fn integrated(place: usize, unforced_since: Option<KernelVersion>) -> Platform {
    let hardware = &OWN[place];
    Platform {
        ids: Ids::Own(&XE[place], hardware),
        graphics: hardware.graphics,
        discrete: false,
        local_page_bytes: None,
        address_bits: 48,
        has_display: true,
        has_flat_ccs: true,
        unforced_since,
        run_since: unforced_since,
        source: hardware.source,
    }
}

/// Returns [`integrated`]'s platform as a discrete one, with local memory of 4 KiB pages.
const fn discrete(platform: Platform) -> Platform {
    Platform { discrete: true, local_page_bytes: Some(4096), ..platform }
}

/// The platforms of xe alone as the driver rules see them, in the order of [`XE`].
static OWN: [i915::Platform; 8] = [
    own(&XE[0], GraphicsVersion::new(20, 4), None, "xe_pci.c: lnl_desc"),
    own(&XE[1], GraphicsVersion::new(20, 1), Some(4096), "xe_pci.c: bmg_desc"),
    own(&XE[2], GraphicsVersion::new(20, 2), Some(4096), "xe_pci.c: bmg_desc"),
    own(&XE[3], GraphicsVersion::new(30, 0), None, "xe_pci.c: ptl_desc"),
    own(&XE[4], GraphicsVersion::new(30, 3), None, "xe_pci.c: ptl_desc"),
    own(&XE[5], GraphicsVersion::new(30, 4), None, "xe_pci.c: nvls_desc"),
    own(&XE[6], GraphicsVersion::new(35, 10), None, "xe_pci.c: nvlp_desc"),
    own(&XE[7], GraphicsVersion::new(35, 11), Some(4096), "xe_pci.c: cri_desc"),
];

/// The name of Alder Lake-P's devices under xe.
const ADLP_NAME: &str = "adlp,driver=xe";

/// Every platform, oldest first.
static ALL: [Platform; 16] = [
    shared(&i915::TGL, "tgl,driver=xe", "xe_pci.c: tgl_desc"),
    shared(&i915::RKL, "rkl,driver=xe", "xe_pci.c: rkl_desc"),
    shared(&i915::ADLS, "adls,driver=xe", "xe_pci.c: adl_s_desc"),
    Platform {
        ids: Ids::Shared(&i915::ADLP, ADLP_NAME, &[0x46d3, 0x46d4]),
        ..not_run(shared(&i915::ADLP, ADLP_NAME, "xe_pci.c: adl_p_desc, adl_n_desc"))
    },
    shared(&i915::DG1, "dg1,driver=xe", "xe_pci.c: dg1_desc"),
    Platform { has_flat_ccs: true, ..shared(&i915::DG2, "dg2,driver=xe", "xe_pci.c: dg2_desc") },
    Platform {
        has_display: false,
        has_flat_ccs: true,
        ..not_run(shared(&i915::ATSM, "atsm,driver=xe", "xe_pci.c: ats_m_desc"))
    },
    shared(&i915::MTL, "mtl,driver=xe", "xe_pci.c: mtl_desc"),
    integrated(0, Some(LINUX_6_12)),
    not_run(discrete(integrated(1, Some(LINUX_6_12)))),
    discrete(integrated(2, Some(LINUX_7_2))),
    integrated(3, Some(LINUX_7_2)),
    not_run(integrated(4, Some(LINUX_7_2))),
    not_run(integrated(5, Some(LINUX_7_3))),
    integrated(6, None),
    Platform { address_bits: 57, has_display: false, has_flat_ccs: false, ..discrete(integrated(7, None)) },
];

/// Returns every platform, oldest first.
pub fn all() -> &'static [Platform] {
    &ALL
}

/// Returns the platform with this name (`lnl`), alias, title (`Lunar Lake`) or PCI ID (`0x64a0`, `64a0`, `8086:64a0`), in any case.
///
/// # Errors
/// [`Unknown::Platform`], [`Unknown::DeviceId`], [`Unknown::DrivenByI915`].
pub fn by_name(name: &str) -> Result<&'static Platform, Unknown> {
    if let Some(platform) = ALL.iter().find(|it| it.names().any(|known| is_same_name(known, name))) {
        return Ok(platform);
    }
    if let Some(id) = hex_id(name) {
        return by_id(id);
    }
    match i915::by_name(name) {
        Ok(platform) => Err(Unknown::DrivenByI915 { platform: platform.title }),
        Err(_) => {
            let known = ALL.iter().flat_map(Platform::names);
            Err(Unknown::Platform { name: Excerpt::new(name), nearest: nearest(name, known)[0] })
        }
    }
}

/// Returns the platform of a PCI ID that xe of any kernel lists.
///
/// # Errors
/// [`Unknown::DeviceId`], [`Unknown::DrivenByI915`].
pub fn by_id(id: u16) -> Result<&'static Platform, Unknown> {
    let found = ALL.iter().find(|platform| match platform.ids {
        Ids::Shared(shared, ..) => shared.ids().any(|row| row.id == id),
        Ids::Own(own, _) => own.has(id),
    });
    found.ok_or_else(|| match i915::by_id(id) {
        Ok(platform) => Unknown::DrivenByI915 { platform: platform.title },
        Err(unknown) => unknown,
    })
}

impl Platform {
    /// Returns the short name: `lnl`.
    pub fn name(&self) -> &'static str {
        match self.ids {
            Ids::Shared(shared, ..) => shared.name,
            Ids::Own(own, _) => own.name,
        }
    }

    /// Returns the name of its software devices, which says the driver where i915 drives the platform, too: `lnl`, `tgl,driver=xe`.
    pub fn device_name(&self) -> &'static str {
        match self.ids {
            Ids::Shared(_, name, _) => name,
            Ids::Own(own, _) => own.name,
        }
    }

    /// Returns the common name: `Lunar Lake`.
    pub fn title(&self) -> &'static str {
        match self.ids {
            Ids::Shared(shared, ..) => shared.title,
            Ids::Own(own, _) => own.title,
        }
    }

    /// Returns the name, the title and the aliases.
    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let (shared, own) = match self.ids {
            Ids::Shared(shared, ..) => (Some(names(shared)), None),
            Ids::Own(own, _) => (None, Some(own.names())),
        };
        shared.into_iter().flatten().chain(own.into_iter().flatten())
    }

    /// Returns the PCI IDs that xe of `kernel` lists.
    pub fn ids(&self, kernel: KernelVersion) -> impl Iterator<Item = u16> + use<> {
        let (shared, own) = match self.ids {
            Ids::Shared(shared, _, later) => {
                let is_listed = move |id: &u16| kernel > LINUX_6_12 || !later.contains(id);
                (Some(shared.ids().map(|row| row.id).filter(is_listed)), None)
            }
            Ids::Own(own, _) => (None, Some(own.under(kernel))),
        };
        shared.into_iter().flatten().chain(own.into_iter().flatten())
    }

    /// Returns i915's platform of the same devices, if i915 drives them, too.
    pub fn i915(&self) -> Option<&'static i915::Platform> {
        match self.ids {
            Ids::Shared(shared, ..) => Some(shared),
            Ids::Own(..) => None,
        }
    }

    /// Returns the platform as the driver rules see it: i915's, or one of xe alone.
    pub(super) fn hardware(&self) -> &'static i915::Platform {
        match self.ids {
            Ids::Shared(shared, ..) => shared,
            Ids::Own(_, own) => own,
        }
    }

    /// Returns whether CPU and GPU share the last-level cache (`has_llc`).
    pub fn has_llc(&self) -> bool {
        self.i915().is_some_and(|shared| shared.caps.contains(Caps::LLC))
    }

    /// Returns the driver that takes the device when both are loaded and no `force_probe` is given; `None`: neither.
    ///
    /// Where i915 drives the platform, `i915.force_probe=!ID xe.force_probe=ID` gives it to xe.
    pub fn default_driver(&self, kernel: KernelVersion) -> Option<Driver> {
        match self.i915() {
            // i915 asks for force_probe there, too (require_force_probe of ats_m_info; of dg1_info not in 7.2).
            Some(shared) if shared == &i915::ATSM => None,
            Some(shared) if shared == &i915::DG1 && kernel < LINUX_7_2 => None,
            Some(_) => Some(Driver::I915),
            None => self.unforced_since.is_some_and(|since| since <= kernel).then_some(Driver::Xe),
        }
    }

    /// Returns a device of the platform under `kernel`.
    ///
    /// # Errors
    /// [`Unknown::KernelWithoutXe`], [`Unknown::PlatformUnderKernel`].
    pub fn device(&'static self, kernel: KernelVersion) -> Result<Device, Unknown> {
        if kernel < LINUX_6_12 {
            return Err(Unknown::KernelWithoutXe { version: kernel });
        }
        let listed = self.ids(kernel).next();
        match (listed, table_of(self.graphics, kernel)) {
            (Some(_), Some(pat)) => Ok(Device {
                platform: self,
                kernel,
                graphics: self.graphics,
                pat,
                has_flat_ccs: self.has_flat_ccs,
            }),
            _ => Err(Unknown::PlatformUnderKernel { driver: "xe", platform: self.name(), kernel }),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the device that a name, as for [`by_name`], or a PCI ID stands for under `kernel`.
///
/// # Errors
/// As [`by_name`] and [`Platform::device`]; [`Unknown::DeviceUnderKernel`] for an ID that other kernels list.
pub fn device(name: &str, kernel: KernelVersion) -> Result<Device, Unknown> {
    let device = by_name(name)?.device(kernel)?;
    match hex_id(name) {
        Some(id) if device.platform.ids(kernel).all(|listed| listed != id) => {
            Err(Unknown::DeviceUnderKernel { id, kernel })
        }
        _ => Ok(device),
    }
}

/// A device of xe under a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// The platform.
    pub platform: &'static Platform,
    /// The kernel.
    pub kernel: KernelVersion,
    /// The version of the graphics IP.
    pub graphics: GraphicsVersion,
    /// The PAT table.
    pub pat: &'static PatTable,
    /// Set if the device has flat compression state; taken to be so where the platform can have it.
    pub has_flat_ccs: bool,
}

impl Device {
    /// Returns the device with the version of the graphics IP that it reports (GT_LIST).
    ///
    /// # Errors
    /// [`Unknown::Graphics`]: the driver has no PAT table for it.
    pub fn with_graphics(self, graphics: GraphicsVersion) -> Result<Self, Unknown> {
        let pat = table_of(graphics, self.kernel)
            .ok_or(Unknown::Graphics { version: (graphics.major, graphics.minor) })?;
        Ok(Self { graphics, pat, ..self })
    }

    /// Returns the device without flat compression state, as firmware can have it (`XE2_FLAT_CCS_ENABLE`).
    #[must_use]
    pub const fn without_flat_ccs(self) -> Self {
        Self { has_flat_ccs: false, ..self }
    }

    /// Returns how the facts about the device are known: its kernel's xe was run on the platform, or read, or neither.
    pub fn basis(&self) -> Basis {
        let run = self.platform.run_since.is_some_and(|since| since <= self.kernel);
        match Basis::of(self.kernel) {
            Basis::Run if !run => Basis::Read,
            basis @ (Basis::Run | Basis::Read | Basis::Assumed) => basis,
        }
    }

    /// Returns the memory regions as bits of a placement: system memory is bit 0, local memory bit 1.
    pub fn regions(&self) -> u32 {
        if self.platform.discrete { 0b11 } else { 0b01 }
    }

    /// Returns whether the flush at the end of a submission covers transient lines only (`xe_device_is_l2_flush_optimized`).
    pub fn is_l2_flush_optimized(&self) -> bool {
        self.graphics.major >= 35 && !self.platform.discrete
    }

    /// Returns whether the kernel is newer than 6.12, as far as its requests are concerned.
    pub(super) fn has_requests_of_7_2(&self) -> bool {
        self.kernel > LINUX_6_12
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_devices_says_the_driver_where_it_is_not_the_only_one() {
        for platform in all() {
            let driver = if platform.i915().is_some() { ",driver=xe" } else { "" };
            assert_eq!(platform.device_name(), std::format!("{platform}{driver}"));
        }
    }
}
