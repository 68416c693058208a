//! GEM_CREATE and GEM_MMAP_OFFSET: how the CPU maps an object, which is fixed when the object is created.

use bitflags::bitflags;

use super::platforms::Device;
use super::rules::Rule;
use crate::errno::Errno;
use crate::vocabulary::{PAGE_BYTES, words};

bitflags! {
    /// Flags of GEM_CREATE (`DRM_XE_GEM_CREATE_FLAG_*`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CreateFlags: u32 {
        /// Memory is allocated at the first bind or access.
        const DEFER_BACKING = 1 << 0;
        /// The display may show the object.
        const SCANOUT = 1 << 1;
        /// Local memory that the CPU reaches.
        const NEEDS_VISIBLE_VRAM = 1 << 2;
        /// No PAT index that compresses (Linux 7.2).
        const NO_COMPRESSION = 1 << 3;
    }

    /// Flags of GEM_MMAP_OFFSET (`DRM_XE_MMAP_OFFSET_FLAG_*`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct MapFlags: u32 {
        /// The page whose stores order earlier stores through the PCI bar (Linux 7.2).
        const PCI_BARRIER = 1 << 0;
    }
}

words! {
    /// How the CPU maps an object (`cpu_caching`).
    CpuCaching, "CPU caching" {
        /// Write-back: through the CPU's caches.
        Wb = "wb",
        /// Write-combining: past them.
        Wc = "wc",
    }
}

impl CpuCaching {
    /// Returns the uAPI's number (`DRM_XE_GEM_CPU_CACHING_*`).
    pub const fn number(self) -> u16 {
        match self {
            Self::Wb => 1,
            Self::Wc => 2,
        }
    }
}

/// The bit of system memory in a placement.
pub const SYSTEM: u32 = 1 << 0;
/// The bit of local memory in a placement.
pub const LOCAL: u32 = 1 << 1;

/// A request that xe refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The errno.
    pub errno: Errno,
    /// The check that fails: the first one in the kernel's order.
    pub rule: Rule,
}

/// Fails with `rule` and EINVAL, which most checks return, unless the check holds.
pub(super) fn check(holds: bool, rule: Rule) -> Result<(), Refusal> {
    check_as(holds, rule, Errno::EINVAL)
}

/// Fails with `rule` and `errno`, unless the check holds.
pub(super) fn check_as(holds: bool, rule: Rule, errno: Errno) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(Refusal { errno, rule }) }
}

/// Returns whether each number is a multiple of `page`.
pub(super) fn are_multiples(page: u64, numbers: &[u64]) -> bool {
    // A division that could panic is not for libgem_coherency_pure.a.
    numbers.iter().all(|number| number.checked_rem(page) == Some(0))
}

/// The fields of GEM_CREATE (`struct drm_xe_gem_create`) as numbers, so that a wrong one can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Create {
    /// Bytes.
    pub size: u64,
    /// Bits of [`SYSTEM`] and [`LOCAL`].
    pub placement: u32,
    /// The flags; unknown bits are kept.
    pub flags: CreateFlags,
    /// `cpu_caching`: [`CpuCaching::number`].
    pub cpu_caching: u16,
    /// `handle`, which must be 0.
    pub handle: u32,
    /// Set if a pad or a reserved field is not 0.
    pub reserved: bool,
    /// Set if there is an extension.
    pub extension: bool,
}

impl Create {
    /// Returns the request for an object of system memory.
    pub const fn new(size: u64, caching: CpuCaching) -> Self {
        Self {
            size,
            placement: SYSTEM,
            flags: CreateFlags::empty(),
            cpu_caching: caching.number(),
            handle: 0,
            reserved: false,
            extension: false,
        }
    }
}

/// An object, as far as its mappings are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// How the CPU maps it; `None` for an import from another driver, which xe does not know.
    pub caching: Option<CpuCaching>,
    /// Bytes.
    pub size: u64,
    /// Bits of [`SYSTEM`] and [`LOCAL`].
    pub placement: u32,
    /// The flags that it was created with.
    pub flags: CreateFlags,
}

impl Object {
    /// Returns a dma-buf of another driver. One of the same device is the exporter's object itself.
    ///
    /// Source: `xe_dma_buf_create_obj`.
    pub const fn imported(size: u64) -> Self {
        Self { caching: None, size, placement: SYSTEM, flags: CreateFlags::empty() }
    }

    /// Returns whether the object came from another driver.
    pub const fn is_import(&self) -> bool {
        self.caching.is_none()
    }
}

impl Device {
    /// Returns the object that GEM_CREATE makes.
    ///
    /// Extensions and the address space are taken to be right, and memory to be there (ENOSPC, ENOMEM).
    ///
    /// # Errors
    /// The kernel's refusal. Source: `xe_gem_create_ioctl`.
    pub fn create(&self, request: &Create) -> Result<Object, Refusal> {
        let known = if self.has_requests_of_7_2() {
            CreateFlags::all()
        } else {
            CreateFlags::all().difference(CreateFlags::NO_COMPRESSION)
        };
        let flags = request.flags;
        let local = request.placement & LOCAL != 0;
        check(self.has_requests_of_7_2() || !request.extension, Rule::CreateExtensions)?;
        check(!request.reserved, Rule::CreateReserved)?;
        check(
            request.placement != 0 && request.placement & self.regions() == request.placement,
            Rule::CreatePlacement,
        )?;
        check(known.contains(flags), Rule::CreateFlags)?;
        check(request.handle == 0, Rule::CreateHandle)?;
        check(request.size != 0 && are_multiples(PAGE_BYTES, &[request.size]), Rule::CreateSize)?;
        let compresses = self.graphics.major >= 20 || !flags.contains(CreateFlags::NO_COMPRESSION);
        check_as(compresses, Rule::CompressionCannotBeOff, Errno::EOPNOTSUPP)?;
        check(local || !flags.contains(CreateFlags::NEEDS_VISIBLE_VRAM), Rule::VisibleWithoutLocal)?;
        let caching = CpuCaching::ALL.iter().copied().find(|it| it.number() == request.cpu_caching);
        let caching = caching.ok_or(Refusal { errno: Errno::EINVAL, rule: Rule::CachingUnknown })?;
        check(!local || caching == CpuCaching::Wc, Rule::LocalIsWc)?;
        check(!flags.contains(CreateFlags::SCANOUT) || caching == CpuCaching::Wc, Rule::ScanoutIsWc)?;
        check(!local || are_multiples(self.local_page(), &[request.size]), Rule::CreateSize)?;
        Ok(Object { caching: Some(caching), size: request.size, placement: request.placement, flags })
    }

    /// Returns the object that CREATE_DUMB makes, with the size in bytes that the request returns. The display may show it; it is in local memory where
    /// there is some.
    ///
    /// Source: `xe_bo_dumb_create`.
    pub const fn dumb(&self, size: u64) -> Object {
        let placement = if self.platform.discrete { LOCAL } else { SYSTEM };
        Object { caching: Some(CpuCaching::Wc), size, placement, flags: CreateFlags::SCANOUT }
    }

    /// Returns why MMAP_OFFSET refuses `flags` with this `handle`, which names an object or is 0.
    ///
    /// # Errors
    /// The kernel's refusal. Source: `xe_gem_mmap_offset_ioctl`.
    pub fn map_offset(&self, handle: u32, flags: MapFlags, reserved: bool) -> Result<(), Refusal> {
        let known = if self.has_requests_of_7_2() { MapFlags::all() } else { MapFlags::empty() };
        check(!reserved, Rule::MapReserved)?;
        check(known.contains(flags), Rule::MapFlags)?;
        if flags.contains(MapFlags::PCI_BARRIER) {
            check(self.platform.discrete, Rule::BarrierIsDiscrete)?;
            return check(handle == 0, Rule::BarrierHasNoHandle);
        }
        check_as(handle != 0, Rule::NoSuchHandle, Errno::ENOENT)
    }

    /// Returns the page size of local memory in bytes; that of system memory without any.
    pub(super) fn local_page(&self) -> u64 {
        self.platform.local_page_bytes.map_or(PAGE_BYTES, u64::from)
    }
}
