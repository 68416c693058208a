//! Kinds of memory, their users, and what can be taken out of the kernel, the driver and the model.

use gem_coherency::Unknown;
use gem_coherency::platform::Basis;
use gem_coherency::vocabulary::words;
use gem_coherency::xe::{CpuCaching, Create, CreateFlags, LOCAL, Rule};

/// Bytes of the memory: a page of every kind.
pub(super) const SIZE: u64 = 64 << 10;

words! {
    /// A kind of memory.
    Kind, "kind of memory" {
        /// A write-back object.
        Wb = "wb",
        /// A write-combining object.
        Wc = "wc",
        /// A write-combining object that the display may show.
        Scanout = "scanout",
        /// A write-back object that the display may show, which the kernel refuses.
        WbScanout = "wb-scanout",
        /// An object of local memory.
        Local = "local",
        /// An object of local memory that the display may show.
        LocalScanout = "local-scanout",
        /// A write-back object of local memory, which the kernel refuses.
        WbLocal = "wb-local",
        /// An import from another driver, which maps it write-back.
        Import = "import",
        /// The process's own pages (MAP_USERPTR).
        Userptr = "userptr",
        /// The process's own pages (CPU_ADDR_MIRROR).
        Mirror = "mirror",
    }
}

impl Kind {
    /// Returns the request that creates it; `None` for memory that xe does not create.
    pub(super) fn create(self) -> Option<Create> {
        let (caching, local, shown) = match self {
            Self::Wb => (CpuCaching::Wb, false, false),
            Self::Wc => (CpuCaching::Wc, false, false),
            Self::Scanout => (CpuCaching::Wc, false, true),
            Self::WbScanout => (CpuCaching::Wb, false, true),
            Self::Local => (CpuCaching::Wc, true, false),
            Self::LocalScanout => (CpuCaching::Wc, true, true),
            Self::WbLocal => (CpuCaching::Wb, true, false),
            Self::Import | Self::Userptr | Self::Mirror => return None,
        };
        let new = Create::new(SIZE, caching);
        let placement = if local { LOCAL } else { new.placement };
        let flags = if shown { CreateFlags::SCANOUT } else { CreateFlags::empty() };
        Some(Create { placement, flags, ..new })
    }
}

words! {
    /// The user of the memory.
    User, "user" {
        /// A driver that does what the rules require before an access, and makes none that they exclude.
        Driver = "driver",
        /// A process that does nothing of it.
        Hostile = "hostile",
    }
}

words! {
    /// Work of the kernel that is no rule of a request or of a driver.
    Work, "work of the kernel" {
        /// New pages are cleared: system memory by the CPU (`__GFP_ZERO`), local memory by the copy engine (`xe_migrate_clear`).
        Clear = "clear",
        /// New write-combining pages are flushed from the CPU's cache (`set_pages_array_wc`, `cpa_flush`).
        CpaFlush = "cpa-flush",
        /// The GPU's caches are invalidated before a batch (`emit_pipe_invalidate`).
        StartInvalidate = "start-invalidate",
        /// The GPU's caches are flushed after a batch (`emit_render_cache_flush`).
        EndFlush = "end-flush",
        /// The L2, or its transient lines, is flushed at a flip (`xe_device_td_flush`).
        FlipFlush = "flip-flush",
        /// MADVISE refuses an index that does not snoop (`check_pat_args_are_sane`).
        MadviseCheck = "madvise-check",
    }
}

words! {
    /// A condition that the model's users keep, and that no rule names.
    Condition, "condition" {
        /// A batch that waits for the CPU invalidates the GPU's caches before it reads.
        InvalidateInBatch = "invalidate-in-batch",
        /// Between stores to local memory and a batch that already runs, the program stores to the barrier page, or makes a request.
        BarrierPage = "barrier-page",
        /// A hostile process, too, shows only what was created with SCANOUT.
        ShowScanout = "show-scanout",
    }
}

/// What is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A rule: the kernel does not refuse, or the driver does not do what it requires.
    Rule(Rule),
    /// Work of the kernel.
    Work(Work),
    /// A condition.
    Condition(Condition),
}

impl Change {
    /// Returns everything that can be taken out.
    pub fn all() -> impl Iterator<Item = Self> {
        let rules = Rule::ALL.iter().map(|&rule| Self::Rule(rule));
        let work = Work::ALL.iter().map(|&work| Self::Work(work));
        rules.chain(work).chain(Condition::ALL.iter().map(|&one| Self::Condition(one)))
    }

    /// Returns the word that tools print and parse.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.name(),
            Self::Work(work) => work.name(),
            Self::Condition(condition) => condition.name(),
        }
    }

    /// Returns how it is known: run, or read in the source. Pages, and what `cpa_flush` does to them, are run by `ci/vm-cache xe`.
    pub const fn basis(self) -> Basis {
        match self {
            Self::Rule(rule) => rule.basis(),
            Self::Work(Work::Clear | Work::CpaFlush) => Basis::Run,
            Self::Work(_) | Self::Condition(_) => Basis::Read,
        }
    }

    /// Returns the change of this name.
    ///
    /// # Errors
    /// [`Unknown::Word`]: nothing has the name.
    pub fn by_name(name: &str) -> Result<Self, Unknown> {
        let work = || name.parse().map(Self::Work);
        let condition = || name.parse().map(Self::Condition);
        name.parse().map(Self::Rule).or_else(|unknown| work().or_else(|_| condition()).map_err(|_| unknown))
    }
}
