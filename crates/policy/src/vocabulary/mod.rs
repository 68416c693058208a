//! The terms of caching and coherency as types, without logic.
//!
//! Directions are always the CPU's: "coherent for read" means that a CPU read through the cache is coherent
//! with the GPU.

use core::fmt;
use core::str::FromStr;

use bitflags::bitflags;

mod nearest;
mod unknown;
mod words;

pub(crate) use nearest::nearest;
pub use unknown::{Excerpt, Unknown};
pub(crate) use words::rules;

#[doc(inline)]
pub use crate::words;

words! {
    /// The kernel's cache level of an object (`enum i915_cache_level`).
    CacheLevel, "cache level" {
        /// Not cached by the GPU; on LLC parts, GPU accesses still look up the LLC.
        None = "none",
        /// Cached in the LLC, or snooped if there is no LLC.
        Llc = "llc",
        /// As `Llc`, and in the GPU's own L3 (Ivybridge context images only).
        L3Llc = "l3-llc",
        /// Written through the LLC/eLLC, for scanout on parts with eDRAM.
        Wt = "wt",
    }
}

words! {
    /// The uAPI's caching mode (`I915_CACHING_*`).
    CachingMode, "caching mode" {
        /// `I915_CACHING_NONE`, 0.
        None = "none",
        /// `I915_CACHING_CACHED`, 1.
        Cached = "cached",
        /// `I915_CACHING_DISPLAY`, 2.
        Display = "display",
    }
}

words! {
    /// The mode in which the CPU maps a BO (`I915_MMAP_OFFSET_*`).
    MmapMode, "map mode" {
        /// Write-back: through the CPU cache.
        Wb = "wb",
        /// Write-combining: bypasses the CPU cache; stores gather in buffers.
        Wc = "wc",
        /// Uncached.
        Uc = "uc",
        /// Through the GGTT aperture, write-combining.
        Gtt = "gtt",
        /// Decided by the kernel; the only mode on discrete devices.
        Fixed = "fixed",
    }
}

words! {
    /// An agent that accesses memory.
    Agent, "agent" {
        /// The CPU, through any mapping or a pread/pwrite.
        Cpu = "cpu",
        /// The GPU's engines.
        Gpu = "gpu",
        /// The display engine, which only reads and never looks up a cache.
        Display = "display",
    }
}

words! {
    /// The kind of a memory access.
    Access, "access" {
        /// Reads only.
        Read = "read",
        /// Writes, possibly only parts of lines.
        Write = "write",
    }
}

words! {
    /// The treatment of the LLC by the MOCS entry of a GPU access, as far as coherency is concerned.
    MocsClass, "MOCS class" {
        /// The page table entry decides (the object's level), or the MOCS entry caches in the LLC.
        PageTable = "page-table",
        /// Not cached in the LLC, but looked up there.
        Uncached = "uncached",
        /// Bypasses the LLC: entries 16 and 17 of gen11 and gen12 tables, effective on JSL and EHL.
        BypassLlc = "bypass-llc",
    }
}

bitflags! {
    /// The CPU accesses through the cache that are coherent with the GPU (`I915_BO_CACHE_COHERENT_FOR_*`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Coherency: u8 {
        /// A CPU read needs no invalidate after a GPU write.
        const READ = 1 << 0;
        /// A CPU write needs no flush before a GPU access.
        const WRITE = 1 << 1;
    }

    /// Memory domains of the uAPI (`I915_GEM_DOMAIN_*`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Domains: u32 {
        /// CPU cache.
        const CPU = 0x01;
        /// Render cache; the kernel's only write domain for GPU work.
        const RENDER = 0x02;
        /// Sampler cache.
        const SAMPLER = 0x04;
        /// Command queue.
        const COMMAND = 0x08;
        /// Instruction cache.
        const INSTRUCTION = 0x10;
        /// Vertex address cache.
        const VERTEX = 0x20;
        /// GTT aperture.
        const GTT = 0x40;
        /// Write-combining CPU map.
        const WC = 0x80;
        /// Every domain of the GPU (`I915_GEM_GPU_DOMAINS`).
        const GPU = 0x3e;
    }
}

/// Bytes of a page, the unit of mapping.
pub const PAGE_BYTES: u64 = 4096;

/// An operation on a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineOp {
    /// CLWB: a dirty line is written to memory and may stay, clean. Never drops a stale line.
    ///
    /// On a CPU without CLWB the line leaves the cache.
    WriteBack,
    /// CLFLUSHOPT or CLFLUSH: a dirty line is written to memory, and the line leaves the cache.
    Flush,
    /// As `Flush`, before a read: a stale line leaves the cache. Where a core may be an Atom, the last line
    /// of each range is flushed twice (`drm_clflush_virt_range`).
    Invalidate,
}

/// A BO's handle on one open device file; 0 is never valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(core::num::NonZeroU32);

impl Handle {
    /// Returns the handle with this number, or `None` for 0.
    pub const fn new(raw: u32) -> Option<Self> {
        match core::num::NonZeroU32::new(raw) {
            Some(raw) => Some(Self(raw)),
            None => None,
        }
    }

    /// Returns the number, as in the uAPI.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A kernel release as far as its rules differ: `6.12`.
///
/// A version has no patch level. The series with long-term support stand for their newest stable release, and
/// any other version for its first one. Where the two differ, the first release has a version of its own, `6.1.0`,
/// which is smaller than `6.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelVersion {
    /// The 6 of 6.12.
    pub major: u16,
    /// The 12 of 6.12.
    pub minor: u16,
    release: Release,
}

/// The release of a series that a version stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Release {
    /// The first one, of a series that stands for its newest one otherwise.
    First,
    /// The newest stable one where there is long-term support, and the first one elsewhere.
    Usual,
}

impl KernelVersion {
    /// Creates the version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor, release: Release::Usual }
    }

    /// Creates the version that stands for the first release of `major.minor`: `6.1.0`.
    pub const fn first_of(major: u16, minor: u16) -> Self {
        let release = if Self::is_changed_by_stable(major, minor) { Release::First } else { Release::Usual };
        Self { major, minor, release }
    }

    /// Returns whether the newest stable release of the series has other rules than its first one.
    const fn is_changed_by_stable(major: u16, minor: u16) -> bool {
        matches!((major, minor), (5, 15) | (6, 1))
    }

    /// Returns the version without regard to the release.
    pub const fn series(self) -> Self {
        Self::new(self.major, self.minor)
    }

    /// Returns whether the rules of the series' stable releases apply, and not those of its first release.
    pub(crate) fn is_stable(self) -> bool {
        self.release == Release::Usual && Self::is_changed_by_stable(self.major, self.minor)
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        match self.release {
            Release::First => f.write_str(".0"),
            Release::Usual => Ok(()),
        }
    }
}

impl FromStr for KernelVersion {
    type Err = Unknown;

    /// Parses `6.12`, and release strings like `6.12.117-amd64`. Both numbers are at most 255, as in the
    /// kernel's `KERNEL_VERSION`. `6.1.0` alone is the first release; a distribution's `6.1.0-13-amd64` is `6.1`, because
    /// Debian writes 0 for every patch level.
    fn from_str(text: &str) -> Result<Self, Unknown> {
        let bad = || Unknown::KernelVersion { text: Excerpt::new(text) };
        /// Returns the number at the start, and the rest of the text.
        fn number(text: &str) -> Option<(u16, &str)> {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = text.split_at_checked(digits)?;
            Some((digits.parse::<u8>().ok()?.into(), rest))
        }
        let (major, rest) = number(text).ok_or_else(bad)?;
        let (minor, rest) = rest.strip_prefix('.').and_then(number).ok_or_else(bad)?;
        let is_release = rest.is_empty() || rest != "." && rest.starts_with(['.', '-', '+', '_', '~']);
        let is_word = !rest.contains(|c: char| c.is_whitespace() || c.is_control());
        match rest {
            ".0" => Ok(Self::first_of(major, minor)),
            _ if is_release && is_word => Ok(Self::new(major, minor)),
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for &mode in MmapMode::ALL {
            assert_eq!(mode.name().parse::<MmapMode>().unwrap(), mode);
        }
    }

    #[test]
    fn an_unknown_word_is_an_error_that_names_it_and_the_known_ones() {
        let text = "cachd".parse::<CachingMode>().unwrap_err().to_string();
        assert!(text.contains("cachd") && text.contains("none, cached, display"), "{text}");
    }

    #[test]
    fn kernel_versions_are_read_from_release_strings() {
        assert_eq!("6.12".parse::<KernelVersion>().unwrap(), KernelVersion::new(6, 12));
        assert_eq!("6.1.192-amd64".parse::<KernelVersion>().unwrap(), KernelVersion::new(6, 1));
        assert_eq!("7.3-rc1".parse::<KernelVersion>().unwrap(), KernelVersion::new(7, 3));
        assert_eq!("6.12+".parse::<KernelVersion>().unwrap(), KernelVersion::new(6, 12));
        assert_eq!("255.255".parse::<KernelVersion>().unwrap(), KernelVersion::new(255, 255));
        for (text, series, is_first) in [
            ("6.1.0", (6, 1), true),
            ("5.15.0", (5, 15), true),
            ("6.1.0-13-amd64", (6, 1), false),
            ("6.1.00", (6, 1), false),
            ("6.5.0", (6, 5), false),
        ] {
            let version: KernelVersion = text.parse().unwrap();
            let usual = KernelVersion::new(series.0, series.1);
            assert_eq!((version.series(), version != usual), (usual, is_first), "{text}");
            assert_eq!(version < usual, is_first, "{text}");
            assert_eq!(version.to_string().parse(), Ok(version), "{text}");
        }
        for text in [
            "",
            "6",
            "six.one",
            "6.",
            "6.12.",
            "99999999.1",
            "65535.65535",
            "6.256",
            "256.1",
            "+6.12",
            "6.+12",
            "-6.1",
            " 6.12",
            "6.12 ",
            "6.12x",
            "6.12.1 x",
            "6 .12",
            "0x6.12",
        ] {
            assert!(text.parse::<KernelVersion>().is_err(), "{text}");
        }
    }
}
