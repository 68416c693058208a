//! The types of the rules in C: enums as integers, structs with C layout.

use core::ffi::{c_char, c_uint};

use gem_coherency_policy::platform::Caps;
use gem_coherency_policy::policy::driver::Drain;
use gem_coherency_policy::policy::{Decision, Path, Verdict};
use gem_coherency_policy::vocabulary::{Access, CacheLevel, CachingMode, MmapMode, MocsClass};

use super::failure::Failure;

/// Kind of memory access.
#[repr(C)]
pub enum gemco_access_kind {
    /// Reads only.
    GEMCO_READ = 0,
    /// Writes, possibly only parts of lines.
    GEMCO_WRITE = 1,
}

/// The caching mode of a BO (the kernel's I915_CACHING_*).
#[repr(C)]
pub enum gemco_caching {
    /// I915_CACHING_NONE.
    GEMCO_CACHING_NONE = 0,
    /// I915_CACHING_CACHED.
    GEMCO_CACHING_CACHED = 1,
    /// I915_CACHING_DISPLAY.
    GEMCO_CACHING_DISPLAY = 2,
    /// The platform's default; the only choice on discrete devices. For gemco_bo_create and gemco_caching_level.
    GEMCO_CACHING_DEFAULT = 3,
}

/// The cache level that the kernel keeps for a BO (enum i915_cache_level).
#[repr(C)]
pub enum gemco_level {
    /// Not cached by the GPU.
    GEMCO_LEVEL_NONE = 0,
    /// Cached in the LLC, or snooped where there is none.
    GEMCO_LEVEL_LLC = 1,
    /// As LLC, and in the GPU's own L3.
    GEMCO_LEVEL_L3_LLC = 2,
    /// Written through.
    GEMCO_LEVEL_WT = 3,
}

/// The mode in which the CPU maps a BO.
#[repr(C)]
pub enum gemco_map_mode {
    /// Write-back: through the CPU's cache.
    GEMCO_MAP_WB = 0,
    /// Write-combining: bypasses the cache, gathers stores.
    GEMCO_MAP_WC = 1,
    /// Uncached.
    GEMCO_MAP_UC = 2,
    /// Through the GGTT aperture.
    GEMCO_MAP_GTT = 3,
    /// As the kernel decides; the only mode on discrete devices.
    GEMCO_MAP_FIXED = 4,
    /// The mode that fits the BO's level; for gemco_bo_map only.
    GEMCO_MAP_DEFAULT = 5,
}

/// The treatment of the LLC by the MOCS entry of a GPU access; gemco_device_mocs returns it for an index.
#[repr(C)]
pub enum gemco_mocs {
    /// The page table entry decides, or the entry caches in the LLC.
    GEMCO_MOCS_PAGE_TABLE = 0,
    /// Not cached in the LLC, but looked up there.
    GEMCO_MOCS_UNCACHED = 1,
    /// Bypasses the LLC: entries 16 and 17, effective on Jasper Lake and Elkhart Lake.
    GEMCO_MOCS_BYPASS_LLC = 2,
}

/// An agent and its path to memory.
#[repr(C)]
pub enum gemco_path {
    /// The CPU through a write-back mapping.
    GEMCO_PATH_CPU_WB = 0,
    /// The CPU through a write-combining mapping.
    GEMCO_PATH_CPU_WC = 1,
    /// The CPU through an uncached mapping.
    GEMCO_PATH_CPU_UC = 2,
    /// The CPU through the GGTT aperture.
    GEMCO_PATH_CPU_GTT = 3,
    /// The CPU through a mapping whose mode the kernel decides (discrete devices).
    GEMCO_PATH_CPU_FIXED = 4,
    /// The GPU, with GEMCO_MOCS_PAGE_TABLE.
    GEMCO_PATH_GPU_PAGE_TABLE = 5,
    /// The GPU, with GEMCO_MOCS_UNCACHED.
    GEMCO_PATH_GPU_UNCACHED = 6,
    /// The GPU, with GEMCO_MOCS_BYPASS_LLC.
    GEMCO_PATH_GPU_BYPASS_LLC = 7,
    /// The display engine; it only reads.
    GEMCO_PATH_DISPLAY = 8,
}

/// The work that is required before the next agent may access the memory.
#[repr(C)]
pub enum gemco_verdict {
    /// Nothing.
    GEMCO_NOT_NEEDED = 0,
    /// Dirty lines must be written back.
    GEMCO_FLUSH = 1,
    /// Lines that may be stale must be dropped before they are read or partly overwritten.
    GEMCO_INVALIDATE = 2,
    /// Stores must be drained from the CPU's or the chipset's write-combining buffers.
    GEMCO_DRAIN = 3,
    /// There is no such access: the platform or the kernel refuses it.
    GEMCO_REFUSED = 4,
    /// The batch must flush the GPU's caches (PIPE_CONTROL) before it signals. Of gemco_xe_needs_flush only.
    GEMCO_FLUSH_GPU = 5,
}

/// The way to drain stores around the CPU's caches, where the verdict is GEMCO_DRAIN.
#[repr(C)]
pub enum gemco_drain_kind {
    /// None: no stores through such a mapping gather anywhere.
    GEMCO_DRAIN_NOTHING = 0,
    /// A fence on the core that stored.
    GEMCO_DRAIN_FENCE = 1,
    /// A fence, and a read through the mapping.
    GEMCO_DRAIN_READ_BACK = 2,
}

macro_rules! drains {
    ($($value:ident = $c:ident,)+) => { $(const _: () = assert!(Drain::$value as isize == gemco_drain_kind::$c as isize);)+ };
}

drains! { Nothing = GEMCO_DRAIN_NOTHING, Fence = GEMCO_DRAIN_FENCE, ReadBack = GEMCO_DRAIN_READ_BACK, }

/// Capabilities of a platform that decide about coherency, as bits.
#[repr(C)]
pub enum gemco_caps {
    /// CPU and GPU share the last-level cache.
    GEMCO_CAP_LLC = 0x1,
    /// The GPU can snoop the CPU's caches.
    GEMCO_CAP_SNOOP = 0x2,
    /// The level WT exists: eDRAM is fused on.
    GEMCO_CAP_WT = 0x4,
    /// MOCS entries 16 and 17 bypass the LLC.
    GEMCO_CAP_LLC_BYPASS_MOCS = 0x8,
    /// Stores through the aperture need only a barrier.
    GEMCO_CAP_COHERENT_GGTT = 0x10,
    /// A discrete device with local memory.
    GEMCO_CAP_DISCRETE = 0x20,
    /// Caching is chosen by PAT index at creation.
    GEMCO_CAP_PAT_AT_CREATE = 0x40,
    /// There is a CPU-visible GGTT aperture.
    GEMCO_CAP_APERTURE = 0x80,
    /// Graphics version 12 and later.
    GEMCO_CAP_GEN12 = 0x100,
    /// DG1, whose imports need no wbinvd.
    GEMCO_CAP_DG1 = 0x200,
}

/// A write to memory of a BO, and the next access to the same memory. Set all other fields to 0: use designated
/// initialisers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_question {
    /// The BO's level: a gemco_level.
    pub level: c_uint,
    /// The path of the write: a gemco_path.
    pub writer: c_uint,
    /// The path of the next access: a gemco_path.
    pub next: c_uint,
    /// The kind of the next access: a gemco_access_kind. A batch that writes may read, too: ask about both.
    pub access: c_uint,
    /// 0.
    pub reserved: [u64; 2],
}

/// A verdict and the rule behind it; GEMCO_NOT_NEEDED has a rule, too.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_decision {
    /// The required work: a gemco_verdict.
    pub verdict: c_uint,
    /// The rule: gemco_rule_name, gemco_rule_reason, gemco_rule_source.
    pub rule: c_uint,
}

/// A platform under a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_platform {
    /// The short name, in lower case: "jsl".
    pub name: [c_char; 16],
    /// The marketing name: "Jasper Lake".
    pub title: [c_char; 48],
    /// Capabilities: gemco_caps, ORed.
    pub caps: c_uint,
    /// The PCI ID.
    pub pci_id: u16,
    /// Version of the graphics IP: the 12 of 12.70.
    pub graphics_major: u8,
    /// Version of the graphics IP: the 70 of 12.70.
    pub graphics_minor: u8,
}

/// Returns the value of an enum by its place in `all`.
///
/// # Errors
/// EINVAL for a number without a value.
pub fn by_place<T: Copy>(all: &[T], value: c_uint, name: &'static str) -> Result<T, Failure> {
    let known = usize::try_from(value).ok().and_then(|place| all.get(place));
    known.copied().ok_or(Failure::Number { name, value })
}

/// Checks the values of enums that are passed by their index in `ALL`, and defines a parser for each.
#[macro_export]
macro_rules! by_place {
    ($($kind:ident: $parse:ident, $c:ident { $($value:ident = $c_value:ident),+ $(,)? })+) => {$(
        $(const _: () = assert!($kind::$value as isize == $c::$c_value as isize);)+

        /// Parses `value` of the parameter `name`.
        ///
        /// # Errors
        /// EINVAL for a number without a value.
        pub fn $parse(
            value: ::core::ffi::c_uint,
            name: &'static str,
        ) -> ::core::result::Result<$kind, $crate::failure::Failure> {
            $crate::types::by_place($kind::ALL, value, name)
        }
    )+};
}

by_place! {
    Access: access, gemco_access_kind { Read = GEMCO_READ, Write = GEMCO_WRITE }
    CachingMode: caching, gemco_caching {
        None = GEMCO_CACHING_NONE, Cached = GEMCO_CACHING_CACHED, Display = GEMCO_CACHING_DISPLAY,
    }
    CacheLevel: level, gemco_level {
        None = GEMCO_LEVEL_NONE, Llc = GEMCO_LEVEL_LLC, L3Llc = GEMCO_LEVEL_L3_LLC, Wt = GEMCO_LEVEL_WT,
    }
    MmapMode: map_mode, gemco_map_mode {
        Wb = GEMCO_MAP_WB, Wc = GEMCO_MAP_WC, Uc = GEMCO_MAP_UC, Gtt = GEMCO_MAP_GTT, Fixed = GEMCO_MAP_FIXED,
    }
    MocsClass: mocs, gemco_mocs {
        PageTable = GEMCO_MOCS_PAGE_TABLE, Uncached = GEMCO_MOCS_UNCACHED, BypassLlc = GEMCO_MOCS_BYPASS_LLC,
    }
    Verdict: verdict, gemco_verdict {
        NotNeeded = GEMCO_NOT_NEEDED, Flush = GEMCO_FLUSH, Invalidate = GEMCO_INVALIDATE, Drain = GEMCO_DRAIN,
        Refused = GEMCO_REFUSED,
    }
}

/// Checks fields that have no meaning yet, so that a later version can give them one.
///
/// # Errors
/// EINVAL for a value that is not 0.
pub fn reserved<T: Default + PartialEq>(value: T, name: &'static str) -> Result<(), Failure> {
    if value == T::default() { Ok(()) } else { Err(Failure::argument(name, "is not 0")) }
}

/// Parses a path.
///
/// # Errors
/// EINVAL for a number without a path.
pub fn path(value: c_uint, name: &'static str) -> Result<Path, Failure> {
    by_place(Path::ALL, value, name)
}

macro_rules! paths {
    ($($path:expr => $c:ident,)+) => { $(const _: () = assert!($path.index() == gemco_path::$c as usize);)+ };
}

paths! {
    Path::Cpu(MmapMode::Wb) => GEMCO_PATH_CPU_WB,
    Path::Cpu(MmapMode::Wc) => GEMCO_PATH_CPU_WC,
    Path::Cpu(MmapMode::Uc) => GEMCO_PATH_CPU_UC,
    Path::Cpu(MmapMode::Gtt) => GEMCO_PATH_CPU_GTT,
    Path::Cpu(MmapMode::Fixed) => GEMCO_PATH_CPU_FIXED,
    Path::Gpu(MocsClass::PageTable) => GEMCO_PATH_GPU_PAGE_TABLE,
    Path::Gpu(MocsClass::Uncached) => GEMCO_PATH_GPU_UNCACHED,
    Path::Gpu(MocsClass::BypassLlc) => GEMCO_PATH_GPU_BYPASS_LLC,
    Path::Display => GEMCO_PATH_DISPLAY,
}

/// Parses capabilities.
///
/// # Errors
/// EINVAL for an unknown bit.
pub fn caps(bits: c_uint, name: &'static str) -> Result<Caps, Failure> {
    Caps::from_bits(bits).ok_or(Failure::Number { name, value: bits })
}

macro_rules! caps_bits {
    ($($cap:ident = $c:ident,)+) => {
        $(const _: () = assert!(Caps::$cap.bits() == gemco_caps::$c as u32);)+
        const _: () = assert!(Caps::all().bits() == $(gemco_caps::$c as u32)|+);
    };
}

caps_bits! {
    LLC = GEMCO_CAP_LLC,
    SNOOP = GEMCO_CAP_SNOOP,
    WT = GEMCO_CAP_WT,
    LLC_BYPASS_MOCS = GEMCO_CAP_LLC_BYPASS_MOCS,
    COHERENT_GGTT = GEMCO_CAP_COHERENT_GGTT,
    DISCRETE = GEMCO_CAP_DISCRETE,
    PAT_AT_CREATE = GEMCO_CAP_PAT_AT_CREATE,
    APERTURE = GEMCO_CAP_APERTURE,
    GEN12 = GEMCO_CAP_GEN12,
    DG1 = GEMCO_CAP_DG1,
}

impl From<Decision> for gemco_decision {
    fn from(decision: Decision) -> Self {
        Self { verdict: decision.verdict as c_uint, rule: decision.rule as c_uint }
    }
}
