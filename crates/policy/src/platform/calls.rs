//! Requests that some platforms refuse, whatever the arguments are.

use crate::errno::Errno;

use super::machine::{LINUX_5_10, PAT_INDEX};
use super::{Caps, Driver, GraphicsVersion, Machine, Ppgtt};
use crate::vocabulary::MmapMode;

/// A request, or a form of one, that some platforms refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// SET_CACHING with any mode.
    SetCaching,
    /// SET_CACHING to CACHED.
    SetCachingCached,
    /// GET_CACHING.
    GetCaching,
    /// SET_DOMAIN.
    SetDomain,
    /// GEM_MMAP, the legacy request for a mapping.
    MmapLegacy,
    /// PREAD and PWRITE.
    PreadPwrite,
    /// EXECBUFFER2 with relocations.
    Relocations,
    /// MMAP_OFFSET of an object from GEM_CREATE.
    MmapOffset(MmapMode),
    /// USERPTR.
    Userptr,
    /// USERPTR with READ_ONLY.
    UserptrReadOnly,
    /// GEM_CREATE_EXT with SET_PAT.
    CreateWithPat,
    /// EXECBUFFER2 with SECURE, without privileges.
    ExecSecure,
    /// SET_TILING and GET_TILING.
    Tiling,
}

impl Call {
    /// Every call.
    pub const ALL: &'static [Self] = &[
        Self::SetCaching,
        Self::SetCachingCached,
        Self::GetCaching,
        Self::SetDomain,
        Self::MmapLegacy,
        Self::PreadPwrite,
        Self::Relocations,
        Self::MmapOffset(MmapMode::Wb),
        Self::MmapOffset(MmapMode::Wc),
        Self::MmapOffset(MmapMode::Uc),
        Self::MmapOffset(MmapMode::Gtt),
        Self::MmapOffset(MmapMode::Fixed),
        Self::Userptr,
        Self::UserptrReadOnly,
        Self::CreateWithPat,
        Self::ExecSecure,
        Self::Tiling,
    ];
}

/// The refusal of a call by a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The errno that the kernel returns.
    pub errno: Errno,
    /// The reason.
    pub why: &'static str,
    /// The kernel function that refuses.
    pub source: &'static str,
}

impl Refusal {
    const fn new(errno: Errno, why: &'static str, source: &'static str) -> Self {
        Self { errno, why, source }
    }
}

/// The last version that supports GEM_MMAP.
const GEN12_0: GraphicsVersion = GraphicsVersion::new(12, 0);
/// The first version that selects caching by PAT index.
const GEN12_70: GraphicsVersion = GraphicsVersion::new(12, 70);

impl Machine {
    /// Returns why the machine refuses `call`, or `None` if the platform is no reason to.
    ///
    /// If several checks fail, returns the first, in the kernel's order.
    pub fn refusal(&self, call: Call) -> Option<Refusal> {
        if self.driver == Driver::Xe {
            return self.no_request_of_xe(call);
        }
        match call {
            Call::SetCaching => self.no_set_caching(),
            Call::SetCachingCached => self.no_set_caching().or_else(|| self.no_cached()),
            Call::GetCaching => self.discrete("i915_gem_get_caching_ioctl"),
            Call::SetDomain => self.discrete("i915_gem_set_domain_ioctl"),
            Call::MmapLegacy => self.no_legacy_mmap(),
            Call::PreadPwrite => self.gen12_but_tiger_lake(
                Errno::EOPNOTSUPP,
                "from graphics version 12 on, only Tiger Lake has PREAD and PWRITE",
                "i915_gem_pread_ioctl, i915_gem_pwrite_ioctl",
            ),
            Call::Relocations => self.gen12_but_tiger_lake(
                Errno::EINVAL,
                "from graphics version 12 on, only Tiger Lake accepts relocations",
                "eb_validate_vma",
            ),
            Call::MmapOffset(mode) => self.no_mmap_offset(mode),
            Call::Userptr => self.no_userptr(),
            Call::UserptrReadOnly => self.no_userptr().or_else(|| self.no_read_only()),
            Call::CreateWithPat => self.no_set_pat(),
            Call::ExecSecure => self.no_secure(),
            Call::Tiling => self.no_tiling(),
        }
    }

    /// Returns why xe lacks what `call` does under i915. The library makes no such request there: the numbers are those of other requests.
    fn no_request_of_xe(&self, call: Call) -> Option<Refusal> {
        let discrete = self.has(Caps::DISCRETE);
        let (why, source) = match call {
            // What the kernel keeps to itself was chosen by the caller, and is remembered.
            Call::GetCaching => return None,
            Call::MmapOffset(MmapMode::Wb | MmapMode::Wc) if !discrete => return None,
            Call::MmapOffset(MmapMode::Fixed) if discrete => return None,
            Call::MmapOffset(_) => {
                let why = "xe maps an object as its creation says: WB or WC (fixed on a discrete device)";
                (why, "xe_drm.h: drm_xe_gem_create.cpu_caching")
            }
            Call::SetCaching | Call::SetCachingCached | Call::CreateWithPat => {
                let why = "under xe an object's caching is chosen when it is created, and a PAT index when it is bound";
                (why, "xe_drm.h: drm_xe_gem_create.cpu_caching, drm_xe_vm_bind_op.pat_index")
            }
            Call::SetDomain => ("xe has no domains, and flushes nothing for the CPU", "xe_drm.h"),
            Call::Userptr | Call::UserptrReadOnly => {
                ("under xe the process's own pages are a mapping (MAP_USERPTR), and no object", "xe_drm.h")
            }
            Call::MmapLegacy | Call::PreadPwrite | Call::Relocations | Call::ExecSecure | Call::Tiling => {
                ("xe has no such request", "xe_drm.h")
            }
        };
        Some(Refusal::new(Errno::ENODEV, why, source))
    }

    fn has(&self, cap: Caps) -> bool {
        self.caps.contains(cap)
    }

    fn discrete(&self, source: &'static str) -> Option<Refusal> {
        let why = "a discrete device decides caching and domains itself: ask for neither";
        self.has(Caps::DISCRETE).then_some(Refusal::new(Errno::ENODEV, why, source))
    }

    fn no_set_caching(&self) -> Option<Refusal> {
        let source = "i915_gem_set_caching_ioctl";
        let why = "caching is a PAT index, which is chosen at creation";
        let fixed_at_creation = self.kernel >= PAT_INDEX && self.platform.graphics >= GEN12_70;
        self.discrete(source)
            .or_else(|| fixed_at_creation.then_some(Refusal::new(Errno::EOPNOTSUPP, why, source)))
    }

    fn no_cached(&self) -> Option<Refusal> {
        let why = "the GPU neither shares the LLC nor snoops the CPU's caches";
        let coherent = self.caps.intersects(Caps::LLC | Caps::SNOOP);
        (!coherent).then_some(Refusal::new(Errno::ENODEV, why, "i915_gem_set_caching_ioctl"))
    }

    fn no_legacy_mmap(&self) -> Option<Refusal> {
        let why = "discrete devices, and graphics versions after 12.0, have only MMAP_OFFSET";
        let gone = self.has(Caps::DISCRETE) || self.platform.graphics > GEN12_0;
        gone.then_some(Refusal::new(Errno::EOPNOTSUPP, why, "i915_gem_mmap_ioctl"))
    }

    fn gen12_but_tiger_lake(&self, errno: Errno, why: &'static str, source: &'static str) -> Option<Refusal> {
        // 5.10 has them on Rocket Lake, too.
        let drops = self.kernel > LINUX_5_10;
        let refused = drops && self.platform.graphics.major >= 12 && self.platform != &super::TGL;
        refused.then_some(Refusal::new(errno, why, source))
    }

    fn no_mmap_offset(&self, mode: MmapMode) -> Option<Refusal> {
        let discrete = self.has(Caps::DISCRETE);
        let why = match mode {
            MmapMode::Gtt if !self.has(Caps::APERTURE) => {
                let why = "there is no aperture to map through";
                return Some(Refusal::new(Errno::ENODEV, why, "i915_gem_mmap_offset_ioctl"));
            }
            MmapMode::Fixed if self.kernel <= LINUX_5_10 => {
                let why = "Linux 5.10 does not know the mode fixed";
                return Some(Refusal::new(Errno::EINVAL, why, "i915_gem_mmap_offset_ioctl"));
            }
            MmapMode::Wb | MmapMode::Wc | MmapMode::Uc | MmapMode::Gtt if discrete => {
                "a discrete device maps objects only in the mode that the kernel decides (fixed)"
            }
            MmapMode::Fixed if !discrete => "the mode fixed exists only on discrete devices",
            MmapMode::Wb | MmapMode::Wc | MmapMode::Uc | MmapMode::Gtt | MmapMode::Fixed => return None,
        };
        Some(Refusal::new(Errno::ENODEV, why, "__assign_mmap_offset"))
    }

    fn no_userptr(&self) -> Option<Refusal> {
        let why = "the GPU neither shares the LLC nor snoops the CPU's caches";
        let coherent = self.caps.intersects(Caps::LLC | Caps::SNOOP);
        (!coherent).then_some(Refusal::new(Errno::ENODEV, why, "i915_gem_userptr_ioctl"))
    }

    fn no_read_only(&self) -> Option<Refusal> {
        let why = "the GPU's page tables have no read-only entries";
        let full_ppgtt = matches!(self.platform.ppgtt, Ppgtt::Full { .. });
        let ppgtt = full_ppgtt && matches!(self.platform.graphics.major, 8..=10);
        // Valleyview's kernel context runs in the GGTT, whose entries have the read-only bit.
        let ggtt = self.platform == &super::VLV;
        (!ppgtt && !ggtt).then_some(Refusal::new(
            Errno::ENODEV,
            why,
            "i915_gem_userptr_ioctl: vm->has_read_only (gen8_ppgtt_create, ggtt_init_hw)",
        ))
    }

    fn no_set_pat(&self) -> Option<Refusal> {
        if self.kernel < PAT_INDEX {
            let why = "the extension SET_PAT exists from Linux 6.5 on";
            return Some(Refusal::new(Errno::EINVAL, why, "i915_user_extensions"));
        }
        let why = "a PAT index can be chosen only from graphics version 12.70 on";
        (self.platform.graphics < GEN12_70).then_some(Refusal::new(Errno::ENODEV, why, "ext_set_pat"))
    }

    fn no_secure(&self) -> Option<Refusal> {
        let (errno, why) = match self.platform.graphics.major {
            ..6 => return None,
            6..11 => (Errno::EPERM, "secure batches are refused from graphics version 6 on"),
            11.. => (Errno::ENODEV, "there are no secure batches from graphics version 11 on"),
        };
        Some(Refusal::new(errno, why, "i915_gem_do_execbuffer"))
    }

    fn no_tiling(&self) -> Option<Refusal> {
        let why = "without an aperture there are no fence registers";
        let source = "i915_gem_set_tiling_ioctl, i915_gem_get_tiling_ioctl: ggtt->num_fences";
        (!self.has(Caps::APERTURE)).then_some(Refusal::new(Errno::EOPNOTSUPP, why, source))
    }
}
