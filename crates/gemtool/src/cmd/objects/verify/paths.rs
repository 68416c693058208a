//! The access paths: which ones the device has, and their form in the rules.

use gem_coherency::platform::{Call, Caps};
use gem_coherency::policy::{self, driver::path_refusal};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};
use gem_coherency_exercise::Batch;
use gem_coherency_exercise::commands::{Field, shaders};
use gemtool::dispatch::entry_of_shaders;
use gemtool::script::Target;
use serde::Serialize;

use crate::args::Via;

/// MOCS entries that a command can select; by convention 0 is an error from graphics version 12 on.
const ENTRIES: std::ops::Range<u8> = 1..64;

/// The MOCS setting of the GPU's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mocs {
    /// The entry's class.
    pub class: MocsClass,
    /// The entry that commands select; none if the page table decides.
    pub entry: Option<u8>,
}

impl Mocs {
    /// The page table decides.
    pub const PAGE_TABLE: Self = Self { class: MocsClass::PageTable, entry: None };

    /// Returns one entry of each class that copies can select, or only the page table's.
    pub fn of_copies(target: &Target) -> Vec<Self> {
        let device = target.device();
        let names = Batch::new(device).is_ok_and(|batch| batch.names_mocs(Field::Copy));
        if !names {
            return vec![Self::PAGE_TABLE];
        }
        let entry = |class| ENTRIES.into_iter().find(|&entry| device.mocs_class(entry) == class);
        let found =
            MocsClass::ALL.iter().filter_map(|&class| Some(Self { class, entry: Some(entry(class)?) }));
        found.collect()
    }

    /// Returns a setting of each class that the surfaces of shaders can select; none if the device runs no shaders.
    pub fn of_shaders(target: &Target) -> Vec<Self> {
        let entry = |class| entry_of_shaders(target.device(), class);
        let setting = |&class: &MocsClass| Some(Self { class, entry: entry(class).ok()? });
        MocsClass::ALL.iter().filter_map(setting).collect()
    }
}

impl Via {
    /// Returns the map mode of a mapping.
    pub const fn mode(self) -> Option<MmapMode> {
        match self {
            Self::CpuWb => Some(MmapMode::Wb),
            Self::CpuWc => Some(MmapMode::Wc),
            Self::CpuGtt => Some(MmapMode::Gtt),
            Self::CpuFixed => Some(MmapMode::Fixed),
            Self::Transfer | Self::GpuBlit | Self::GpuStore | Self::GpuShader => None,
        }
    }

    /// Returns the path's form in the rules. PREAD and PWRITE copy through the kernel's cached mapping,
    /// unless they use the aperture.
    pub const fn to_rules(self, mocs: Mocs) -> policy::Path {
        match self {
            Self::CpuWb | Self::Transfer => policy::Path::Cpu(MmapMode::Wb),
            Self::CpuWc => policy::Path::Cpu(MmapMode::Wc),
            Self::CpuGtt => policy::Path::Cpu(MmapMode::Gtt),
            Self::CpuFixed => policy::Path::Cpu(MmapMode::Fixed),
            Self::GpuStore => policy::Path::Gpu(MocsClass::PageTable),
            Self::GpuBlit | Self::GpuShader => policy::Path::Gpu(mocs.class),
        }
    }

    /// Returns why the device lacks this access to objects of any level; `None` if it has it.
    pub fn missing(self, target: &Target, access: Access) -> Option<String> {
        let (device, machine) = (target.device(), target.device().machine());
        match self {
            Self::CpuWb | Self::CpuWc | Self::CpuGtt | Self::CpuFixed => {
                let refusal = machine.refusal(Call::MmapOffset(self.mode()?))?;
                Some(refusal.why.to_owned())
            }
            Self::Transfer => machine.refusal(Call::PreadPwrite).map(|refusal| refusal.why.to_owned()),
            Self::GpuStore if access == Access::Read => Some("it only writes".to_owned()),
            Self::GpuStore => {
                let stores = Batch::new(device).and_then(|batch| batch.dialect().check_store());
                stores.err().map(|error| error.to_string())
            }
            Self::GpuBlit => Batch::new(device).err().map(|error| error.to_string()),
            Self::GpuShader => shaders::copy(machine).err().map(|error| error.to_string()),
        }
    }

    /// Returns whether the lack follows from the path itself, so that it is not reported.
    pub fn is_never(self, target: &Target, access: Access) -> bool {
        let machine = target.device().machine();
        let caps = machine.caps;
        match self {
            Self::CpuFixed => !caps.contains(Caps::DISCRETE),
            Self::CpuWb | Self::CpuWc => caps.contains(Caps::DISCRETE),
            Self::GpuStore => access == Access::Read,
            Self::GpuShader => shaders::copy(machine).is_err(),
            Self::CpuGtt | Self::Transfer | Self::GpuBlit => false,
        }
    }

    /// Returns why the path cannot access objects of this level; `None` if it can.
    pub fn refusal(self, caps: Caps, level: CacheLevel, mocs: Mocs) -> Option<String> {
        path_refusal(caps, level, self.to_rules(mocs)).map(|rule| format!("{rule}: {}", rule.reason()))
    }
}
