//! Every rule by name, with its one-sentence reason and its source.
//!
//! The sections of `docs/coherency.md` carry the same sentences and say why, and which check proves
//! them; a test keeps the two equal.

use crate::vocabulary::words;

/// Declares the rules: variant = name: reason, source.
macro_rules! rules {
    ($($(#[$meta:meta])* $variant:ident = $name:literal: $reason:literal, $source:literal;)+) => {
        words! {
            /// Why something is, or is not, flushed, invalidated, drained or refused.
            Rule, "rule" { $(#[doc = $reason] $variant = $name,)+ }
        }

        impl Rule {
            /// Why, in one sentence.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$variant => $reason,)+ }
            }

            /// Where the rule comes from: kernel function, commit, or manual.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)+ }
            }
        }
    };
}

rules! {
    // What a driver must do.
    LlcCoherent = "llc-coherent":
        "CPU and GPU share the LLC, and every GPU access but a bypassing read looks it up, at any level.",
        "kernel-doc of drm_i915_gem_object.cache_coherent (3821cc7fc0b9)";
    Snooped = "snooped":
        "The level makes the GPU snoop the CPU's caches.",
        "kernel-doc of drm_i915_gem_object.cache_coherent (3821cc7fc0b9); CHV_PPAT_SNOOP";
    NonCoherentRead = "non-coherent-read":
        "The GPU reads memory without looking the CPU's caches up, so dirty lines have to be there first.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    NonCoherentWrite = "non-coherent-write":
        "The GPU writes memory behind the CPU's back; a dirty line written back later would overwrite it.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    BypassMocsRead = "bypass-mocs-read":
        "MOCS entries 16 and 17 read around the LLC whatever the level says, so dirty lines have to be in memory.",
        "intel_mocs.c:gen11_mocs_table; 13d29c823738";
    DisplayReadsMemory = "display-reads-memory":
        "The display engine reads memory and never looks a cache up.",
        "i915_gem_domain.c:i915_gem_object_pin_to_display_plane";
    GpuWriteMayBeCached = "gpu-write-may-be-cached":
        "What the GPU wrote through a cached level may sit dirty in the cache, where neither display nor bypassing \
         reads look.",
        "i915_gem_domain.c:gpu_write_needs_clflush";
    GpuWriteReachesMemory = "gpu-write-reaches-memory":
        "What the GPU wrote is in memory: uncached, written through, or non-coherent.",
        "i915_gem_domain.c:gpu_write_needs_clflush";
    StaleAfterGpuWrite = "stale-after-gpu-write":
        "The GPU wrote memory without touching the CPU's caches, so lines there may be stale.",
        "i915_gem_domain.c:i915_gem_object_set_to_cpu_domain";
    StaleAfterUncachedWrite = "stale-after-uncached-write":
        "The CPU wrote memory around its own caches, and lines there may be stale where no LLC keeps them right.",
        "i915_gem_domain.c:i915_gem_object_set_to_cpu_domain";
    PartialLineWrite = "partial-line-write":
        "A store into part of a possibly stale line would make the stale rest of it dirty.",
        "i915_gem.c:i915_gem_shmem_pwrite (CLFLUSH_BEFORE)";
    UncachedAlias = "uncached-alias":
        "A WC, UC or aperture access goes to memory, where dirty lines of the same bytes have to be first.",
        "i915_gem_domain.c:flush_write_domain";
    LlcKeepsAliasesRight = "llc-keeps-aliases-right":
        "On LLC parts WC, UC and aperture accesses find dirty lines and drop stale ones themselves.",
        "i915_gem_clflush.c:i915_gem_clflush_object (cache_coherent & READ)";
    SameCache = "same-cache":
        "Both accesses go through the CPU's coherent caches.",
        "Intel SDM volume 3, 12.3 (methods of caching available)";
    SamePath = "same-path":
        "Both accesses take the same way to memory, in order.",
        "Intel SDM volume 3, 12.3.1 (buffering of write combining memory locations)";
    WcDrain = "wc-drain":
        "Write-combining stores may still sit in the CPU's buffers.",
        "i915_gem_domain.c:flush_write_domain (wmb)";
    GttDrain = "gtt-drain":
        "Stores through the aperture may still sit in the CPU's or the chipset's buffers.",
        "intel_gt.c:intel_gt_flush_ggtt_writes";
    UncachedStore = "uncached-store":
        "An uncached store is in memory, in program order.",
        "Intel SDM volume 3, 12.3 (strong uncacheable)";
    NotCached = "not-cached":
        "The next access does not read through the CPU's caches, so no line there can be stale for it.",
        "i915_gem_domain.c:i915_gem_object_set_to_gtt_domain";
    LocalMemory = "local-memory":
        "Local memory of a discrete device is mapped write-combining and never sits in the CPU's caches.",
        "i915_gem_ttm_move.c:i915_ttm_cache_level";
    DiscreteSnoops = "discrete-snoops":
        "A discrete device's accesses to system memory snoop the CPU's caches.",
        "i915_gem_ttm_move.c:i915_ttm_cache_level";
    GttNeedsAperture = "gtt-needs-aperture":
        "There is no CPU-visible aperture.",
        "i915_gem_mman.c:i915_gem_mmap_offset_ioctl";
    GttSnoopedFaults = "gtt-snooped-faults":
        "A snooped object may not be touched through the aperture where there is no LLC: the fault is SIGBUS.",
        "i915_gem_mman.c:vm_fault_gtt";
    DiscreteMapsFixed = "discrete-maps-fixed":
        "On a discrete device the kernel decides how an object is mapped, and only FIXED is accepted.",
        "i915_gem_mman.c:__assign_mmap_offset";
    FixedIsDiscrete = "fixed-is-discrete":
        "FIXED is a map mode of discrete devices only.",
        "i915_gem_mman.c:__assign_mmap_offset";
    NoSnoop = "no-snoop":
        "The platform has neither an LLC nor snooping, so nothing can be cached coherently.",
        "i915_gem_domain.c:i915_gem_set_caching_ioctl";
    WtNeedsEdram = "wt-needs-edram":
        "The level WT exists only where eDRAM is fused on, or as a PAT index.",
        "i915_drv.h:HAS_WT";
    DisplayNeedsLocal = "display-needs-local":
        "A discrete device scans out of local memory only.",
        "i915_gem_domain.c:i915_gem_object_pin_to_display_plane";
    DisplayNeverWrites = "display-never-writes":
        "The display engine only reads.",
        "i915_gem_domain.c:i915_gem_object_pin_to_display_plane";
    ZeroesStayDirty = "zeroes-stay-dirty":
        "Zeroes that the kernel leaves in the cache, where not everybody looks, would be read past, or overwrite what \
         goes around it.",
        "i915_gem_pages.c:__i915_gem_object_set_pages; i915_gem_shmem.c:shmem_object_init (6.5)";
    NothingDirty = "nothing-dirty":
        "Nobody wrote since everything was last in memory, so there is nothing to flush.",
        "chosen: the line maps know what was written";
    NothingStale = "nothing-stale":
        "No other agent wrote since the lines were last right, so there is nothing to invalidate.",
        "chosen: the line maps know what was written";
    CloseFlushesNothing = "close-flushes-nothing":
        "A name that is given back leaves the pages to the kernel, which flushes them before anybody else gets them.",
        "i915_gem_pages.c:__i915_gem_object_put_pages, __i915_gem_object_set_pages";

    // What the kernel does: pages.
    AcquireDirty = "acquire-dirty":
        "Foreign pages are taken as dirty, and nothing but the CPU's cache may hold their zeroes or swapped-in bytes.",
        "i915_gem_pages.c:__i915_gem_object_set_pages; a679f58d0510";
    AcquireUncachedLlc = "acquire-uncached-llc":
        "On LLC parts an uncached or re-levelled object is flushed too, because it may be meant for scanout.",
        "i915_gem_pages.c:__i915_gem_object_set_pages; kernel-doc of cache_dirty (3821cc7fc0b9)";
    BypassAcquire = "bypass-acquire":
        "Userspace can read around the LLC with a MOCS entry or PAT index, so every acquire flushes the zeroes first.",
        "i915_gem_shmem.c:shmem_get_pages; 13d29c823738";
    AcquireCoherent = "acquire-coherent":
        "Every agent that userspace can reach sees the CPU's caches, so acquired pages need no flush.",
        "i915_gem_pages.c:__i915_gem_object_set_pages";
    PagesPresent = "pages-present":
        "The pages are there already.",
        "i915_gem_pages.c:____i915_gem_object_get_pages";
    NoStructPages = "no-struct-pages":
        "There are no struct pages to flush: the dirty bit is dropped.",
        "i915_gem_clflush.c:i915_gem_clflush_object";
    ImportWbinvd = "import-wbinvd":
        "Imported pages may be dirty in ways that cannot be flushed by address, so all caches are written back.",
        "i915_gem_dmabuf.c:i915_gem_object_get_pages_dmabuf; a035154da45d";
    ImportCoherent = "import-coherent":
        "Imported pages are coherent through the LLC (or on DG1, by exemption).",
        "i915_gem_dmabuf.c:i915_gem_object_get_pages_dmabuf";
    ImportUntracked = "import-untracked":
        "The exporter keeps the cache state of an imported buffer.",
        "i915_gem_dmabuf.c:i915_gem_object_put_pages_dmabuf";
    PhysCopy = "phys-copy":
        "A physically contiguous copy is flushed page by page as it is made.",
        "i915_gem_phys.c:i915_gem_object_get_pages_phys";
    ReleaseStale = "release-stale":
        "Pages that left the CPU domain on a non-coherent path have stale lines, dropped before the kernel swaps them.",
        "i915_gem_shmem.c:__i915_gem_object_release_shmem";
    ReleaseCoherent = "release-coherent":
        "No line of the released pages can be stale.",
        "i915_gem_shmem.c:__i915_gem_object_release_shmem";
    PagesAbsent = "pages-absent":
        "There are no pages, so there is nothing to flush or to visit.",
        "i915_gem_pages.c:__i915_gem_object_put_pages";
    PagesPinned = "pages-pinned":
        "Pages that the display engine reads are not given back.",
        "i915_gem_pages.c:__i915_gem_object_put_pages";

    // What the kernel does: domains.
    LeaveCpuWrite = "leave-cpu-write":
        "Leaving the CPU write domain flushes what the CPU wrote.",
        "i915_gem_domain.c:flush_write_domain";
    EnterCpuStale = "enter-cpu-stale":
        "Entering the CPU domain drops lines that went stale while another domain was used.",
        "i915_gem_domain.c:i915_gem_object_set_to_cpu_domain";
    CoherentForRead = "coherent-for-read":
        "The object is coherent for read, so only display points flush it; the dirty bit stays.",
        "i915_gem_clflush.c:i915_gem_clflush_object";
    LeaveGttWrite = "leave-gtt-write":
        "Leaving the GTT write domain drains stores through the aperture.",
        "i915_gem_domain.c:flush_write_domain; intel_gt.c:intel_gt_flush_ggtt_writes";
    LeaveWcWrite = "leave-wc-write":
        "Leaving the WC write domain drains write-combining stores.",
        "i915_gem_domain.c:flush_write_domain (wmb)";
    EnterDomainBarrier = "enter-domain-barrier":
        "Entering the GTT or WC domain orders earlier accesses before later ones.",
        "i915_gem_domain.c:i915_gem_object_set_to_gtt_domain (mb)";
    AlreadyInDomain = "already-in-domain":
        "The object is in the asked-for domain.",
        "i915_gem_domain.c:i915_gem_set_domain_ioctl";
    NothingPending = "nothing-pending":
        "No earlier access left anything to flush or to drain.",
        "i915_gem_domain.c:flush_write_domain";
    UserptrUntracked = "userptr-untracked":
        "A userptr object is snooped for ever; the call only validates its pages.",
        "i915_gem_domain.c:i915_gem_set_domain_ioctl";
    DiscreteNeverFlushes = "discrete-never-flushes":
        "Objects of a discrete device are never flushed by the CPU.",
        "i915_gem_clflush.c:i915_gem_clflush_object; 0aeec60c76ca";

    // What the kernel does: levels.
    LevelChange = "level-change":
        "A new level unbinds the object and marks it dirty; the flush happens lazily, where it is first needed.",
        "i915_gem_domain.c:i915_gem_object_set_cache_level";
    LevelUnchanged = "level-unchanged":
        "The object has the asked-for level.",
        "i915_gem_domain.c:i915_gem_object_set_cache_level";
    ShownLevelHangs = "shown-level-hangs":
        "Changing the level of an object on screen does not return before it is flipped away, not even for SIGKILL.",
        "i915_vma.c:i915_vma_unbind (EAGAIN) under I915_GEM_OBJECT_UNBIND_BARRIER; seen on 6.1 and 6.12";
    DiscreteRefuses = "discrete-refuses":
        "A discrete device has no caching modes and no CPU domains.",
        "i915_gem_domain.c:i915_gem_set_caching_ioctl, i915_gem_set_domain_ioctl";
    PatReplacesCaching = "pat-replaces-caching":
        "From graphics 12.70 on caching is chosen by PAT index at creation.",
        "i915_gem_domain.c:i915_gem_set_caching_ioctl; 0fbcf57077c4";
    UserptrKeepsLevel = "userptr-keeps-level":
        "A userptr object's level cannot be changed; asking for CACHED is silently granted.",
        "i915_gem_domain.c:i915_gem_set_caching_ioctl";
    NotOnPlatform = "not-on-platform":
        "The platform does not have this call.",
        "i915_gem.c:i915_gem_pread_ioctl, i915_gem_pwrite_ioctl";
    NoSuchOperation = "no-such-operation":
        "Objects of this kind do not have this operation.",
        "drm_i915_gem_object_ops";

    // What the kernel does: pread and pwrite.
    PreadInvalidate = "pread-invalidate":
        "Reading a clean, non-coherent object outside the CPU domain drops the lines of each page before copying it.",
        "i915_gem_domain.c:i915_gem_object_prepare_read";
    PwriteFlush = "pwrite-flush":
        "Writing a clean object that is not coherent for write flushes the touched lines after the copy.",
        "i915_gem_domain.c:i915_gem_object_prepare_write";
    TransferDirty = "transfer-dirty":
        "The object is dirty, and will be flushed whole before anyone else reads it.",
        "i915_gem_domain.c:i915_gem_object_prepare_write, i915_gem_object_prepare_read";
    PwriteCached = "pwrite-cached":
        "The object is coherent for write: the copy goes through the cache.",
        "i915_gem_domain.c:i915_gem_object_prepare_write";
    PwritePageCache = "pwrite-page-cache":
        "Without pages the bytes go to the page cache; the acquire flushes if it must.",
        "i915_gem_shmem.c:shmem_pwrite";
    PwriteAperture = "pwrite-aperture":
        "The copy goes through the aperture, around the CPU's caches.",
        "i915_gem.c:i915_gem_gtt_pwrite_fast";

    // What the kernel does: GPU.
    ExecFlush = "exec-flush":
        "A dirty object that is not coherent for read is flushed behind its fences before the GPU uses it.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    ExecCoherent = "exec-coherent":
        "The GPU sees the CPU's caches when it reads this object.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    ExecClean = "exec-clean":
        "The object is not dirty.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    SubmitBarrier = "submit-barrier":
        "Every submission ends with a write barrier, and a chipset flush before gen6.",
        "intel_gt.c:intel_gt_chipset_flush";

    // What the kernel does: display.
    ScanoutFlush = "scanout-flush":
        "A dirty framebuffer is flushed by force, because the display engine reads memory.",
        "i915_gem_domain.c:__i915_gem_object_flush_for_display";
    ScanoutClean = "scanout-clean":
        "The framebuffer is not dirty.",
        "i915_gem_domain.c:__i915_gem_object_flush_for_display";
    NotFramebuffer = "not-framebuffer":
        "The object is no framebuffer, so no display can read it.",
        "i915_gem_object.h:i915_gem_object_is_framebuffer";
    DirtyFbOffPlane = "dirtyfb-off-plane":
        "The framebuffer is on no plane, and newer kernels flush it only when it gets there.",
        "intel_frontbuffer.c (front->bits == 0); 1bb2af547a4b";
    UnpinKeepsLevel = "unpin-keeps-level":
        "Leaving the screen restores nothing: the level stays what the pin forced.",
        "i915_gem_domain.c:i915_gem_object_pin_to_display_plane; seen on 6.1 and 6.12";
    FramebufferIsAName = "framebuffer-is-a-name":
        "Becoming a framebuffer, or ceasing to be one, flushes nothing.",
        "intel_fb.c:intel_framebuffer_init; seen on 6.1 and 6.12";

    // What the kernel does: power.
    SuspendWbinvd = "suspend-wbinvd":
        "Non-coherent objects outside the CPU domain make suspend write back and drop all caches.",
        "i915_gem_pm.c:i915_gem_suspend_late";
    SuspendCoherent = "suspend-coherent":
        "The object returns to the CPU domain, where suspend leaves every object; no line of it is stale.",
        "i915_gem_pm.c:i915_gem_suspend_late";
    HibernateWbinvd = "hibernate-wbinvd":
        "The hibernation image is read from memory, so all caches are written back, always.",
        "i915_gem_pm.c:i915_gem_freeze_late";
    NotShrinkable = "not-shrinkable":
        "Objects that the shrinker does not list are not visited by suspend.",
        "i915_gem_pm.c:i915_gem_suspend_late (shrink_list, purge_list)";
    ResumeWbinvd = "resume-wbinvd":
        "An object that was being written when the machine slept makes resume write back all caches.",
        "intel_ggtt.c:i915_ggtt_resume_vm";
    ResumeClean = "resume-clean":
        "Nothing was being written, or the object is not bound into the GGTT.",
        "intel_ggtt.c:i915_ggtt_resume_vm";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_sentence_and_a_source() {
        for rule in Rule::ALL {
            assert!(rule.reason().ends_with('.') && rule.reason().len() > 20, "{rule}");
            assert!(!rule.source().is_empty(), "{rule}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Rule::ALL.len());
    }
}
