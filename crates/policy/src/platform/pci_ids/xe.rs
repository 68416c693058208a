//! Platforms that xe drives and i915 does not claim: their names, and their PCI IDs.
//!
//! The lists are those of `include/drm/intel/pciids.h` of Linux 7.2 and 7.3, and of `xe_pciids.h` of 6.12.

use crate::vocabulary::KernelVersion;

/// A platform that i915 does not claim.
#[derive(Debug)]
pub(crate) struct XeIds {
    /// The short name: `lnl`.
    pub(crate) name: &'static str,
    /// Another short name of the same platform.
    pub(crate) alias: Option<&'static str>,
    /// The common name: `Lunar Lake`.
    pub(crate) title: &'static str,
    lists: &'static [List],
}

/// PCI IDs, and the kernels whose driver lists them: from the first one on, and before the last one.
#[derive(Debug)]
struct List {
    from: KernelVersion,
    before: Option<KernelVersion>,
    ids: &'static [u16],
}

/// The kernels whose lists were read.
const LINUX_6_12: KernelVersion = KernelVersion::new(6, 12);
const LINUX_7_2: KernelVersion = KernelVersion::new(7, 2);
const LINUX_7_3: KernelVersion = KernelVersion::new(7, 3);

/// Returns IDs that every kernel from `from` on lists.
const fn since(from: KernelVersion, ids: &'static [u16]) -> List {
    List { from, before: None, ids }
}

/// Returns IDs that a later kernel no longer lists.
const fn until(from: KernelVersion, before: KernelVersion, ids: &'static [u16]) -> List {
    List { from, before: Some(before), ids }
}

impl XeIds {
    /// Returns the name, the title and the alias.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.name, self.title].into_iter().chain(self.alias)
    }

    /// Returns the IDs that the driver of `kernel` lists.
    pub(crate) fn under(&self, kernel: KernelVersion) -> impl Iterator<Item = u16> + use<> {
        let is_listed =
            move |list: &&List| list.from <= kernel && list.before.is_none_or(|before| kernel < before);
        self.lists.iter().filter(is_listed).flat_map(|list| list.ids.iter().copied())
    }

    /// Returns whether a kernel's driver lists the ID.
    pub(crate) fn has(&self, id: u16) -> bool {
        self.lists.iter().any(|list| list.ids.contains(&id))
    }
}

/// Every platform, oldest first.
pub(crate) static XE: [XeIds; 8] = [
    XeIds {
        name: "lnl",
        alias: None,
        title: "Lunar Lake",
        lists: &[since(LINUX_6_12, &[0x6420, 0x64a0, 0x64b0])],
    },
    XeIds {
        name: "bmg",
        alias: Some("bmg-g21"),
        title: "Battlemage",
        lists: &[
            since(LINUX_6_12, &[0xe202, 0xe20b, 0xe20c, 0xe20d, 0xe212]),
            since(LINUX_7_2, &[0xe209, 0xe210, 0xe211, 0xe216]),
        ],
    },
    XeIds {
        name: "bmg-g31",
        alias: None,
        title: "Battlemage G31",
        lists: &[since(LINUX_7_2, &[0xe220, 0xe221, 0xe222, 0xe223])],
    },
    XeIds {
        name: "ptl",
        alias: None,
        title: "Panther Lake",
        lists: &[since(
            LINUX_7_2,
            &[0xb080, 0xb081, 0xb082, 0xb083, 0xb084, 0xb085, 0xb086, 0xb087, 0xb08f, 0xb090, 0xb0a0, 0xb0b0],
        )],
    },
    XeIds { name: "wcl", alias: None, title: "Wildcat Lake", lists: &[since(LINUX_7_2, &[0xfd80, 0xfd81])] },
    XeIds {
        name: "nvls",
        alias: None,
        title: "Nova Lake-S",
        lists: &[
            since(LINUX_7_2, &[0xd740, 0xd741, 0xd742, 0xd743, 0xd745]),
            until(LINUX_7_2, LINUX_7_3, &[0xd744]),
            since(LINUX_7_3, &[0xd74a, 0xd74b]),
        ],
    },
    XeIds {
        name: "nvlp",
        alias: None,
        title: "Nova Lake-P",
        lists: &[
            since(LINUX_7_2, &[0xd750, 0xd751, 0xd752, 0xd753, 0xd75f]),
            since(LINUX_7_3, &[0xd754, 0xd755, 0xd756, 0xd757]),
        ],
    },
    XeIds {
        name: "cri",
        alias: None,
        title: "Crescent Island",
        lists: &[since(LINUX_7_2, &[0x674c, 0x674d, 0x674e, 0x674f, 0x6750])],
    },
];
