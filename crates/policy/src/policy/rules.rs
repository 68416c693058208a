//! All rules, each with its name, a one-sentence reason and its source.
//!
//! The sections of `docs/coherency.md` repeat the sentences, explain them, and name the functions that return
//! each rule and the check that proves it. A test (`tests/rule_docs.rs`) compares the two.

use crate::vocabulary::rules;

rules! {
    /// The reason why memory is, or is not, flushed, invalidated, drained or refused.
    Rule, "rule";

    // Driver: flushes and invalidates.
    LlcCoherent = "llc-coherent":
        "CPU and GPU share the LLC; every GPU access except a bypassing read looks it up, at any level.",
        "kernel-doc of drm_i915_gem_object.cache_coherent (3821cc7fc0b9)";
    Snooped = "snooped":
        "The level makes the GPU snoop the CPU's caches.",
        "kernel-doc of drm_i915_gem_object.cache_coherent (3821cc7fc0b9); CHV_PPAT_SNOOP";
    NonCoherentRead = "non-coherent-read":
        "The GPU reads memory without snooping the CPU's caches, so dirty lines must be written back first.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    NonCoherentWrite = "non-coherent-write":
        "The GPU writes memory without snooping; a dirty line written back later would overwrite its bytes.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    BypassMocsRead = "bypass-mocs-read":
        "Reads with MOCS entries 16 and 17 bypass the LLC at any level, so dirty lines must be written back first.",
        "intel_mocs.c:gen11_mocs_table; 13d29c823738";
    DisplayReadsMemory = "display-reads-memory":
        "The display engine reads memory and never looks up a cache.",
        "i915_gem_domain.c:i915_gem_object_pin_to_display_plane";
    GpuWriteMayBeCached = "gpu-write-may-be-cached":
        "GPU writes at a cached level may stay dirty in the cache, which the display and bypassing reads do not \
         look up.",
        "i915_gem_domain.c:gpu_write_needs_clflush";
    GpuWriteReachesMemory = "gpu-write-reaches-memory":
        "The GPU's write is in memory: it was uncached, written through, or non-coherent.",
        "i915_gem_domain.c:gpu_write_needs_clflush";
    StaleAfterGpuWrite = "stale-after-gpu-write":
        "The GPU wrote memory without touching the CPU's caches, so lines there may be stale.",
        "i915_gem_domain.c:i915_gem_object_set_to_cpu_domain";
    StaleAfterUncachedWrite = "stale-after-uncached-write":
        "The CPU's store bypassed its caches; without an LLC, lines there may be stale.",
        "i915_gem_domain.c:i915_gem_object_set_to_cpu_domain";
    PartialLineWrite = "partial-line-write":
        "A store to part of a line that may be stale would make the stale rest of the line dirty.",
        "i915_gem.c:i915_gem_shmem_pwrite (CLFLUSH_BEFORE)";
    UncachedAlias = "uncached-alias":
        "A WC, UC or aperture access goes to memory, so dirty lines of the same bytes must be written back first.",
        "i915_gem_domain.c:flush_write_domain";
    LlcCoherentAlias = "llc-coherent-alias":
        "On LLC parts WC, UC and aperture accesses look up the caches: they find dirty lines and drop \
         stale ones.",
        "i915_gem_clflush.c:i915_gem_clflush_object (cache_coherent & READ)";
    SameCache = "same-cache":
        "Both accesses go through the CPU's coherent caches.",
        "Intel SDM volume 3, 12.3 (methods of caching available)";
    SamePath = "same-path":
        "Both accesses take the same path to memory, in order.",
        "Intel SDM volume 3, 12.3.1 (buffering of write combining memory locations)";
    WcDrain = "wc-drain":
        "Write-combining stores may still be in the CPU's buffers.",
        "i915_gem_domain.c:flush_write_domain (wmb)";
    GttDrain = "gtt-drain":
        "Stores through the aperture may still be in the CPU's or the chipset's buffers.",
        "intel_gt.c:intel_gt_flush_ggtt_writes";
    UncachedStore = "uncached-store":
        "An uncached store is in memory, in program order.",
        "Intel SDM volume 3, 12.3 (strong uncacheable)";
    UncachedRead = "uncached-read":
        "The next access does not read through the CPU's caches, so stale lines cannot affect it.",
        "i915_gem_domain.c:i915_gem_object_set_to_gtt_domain";
    LocalMemory = "local-memory":
        "Local memory of a discrete device is mapped write-combining; the CPU never caches it.",
        "i915_gem_ttm_move.c:i915_ttm_cache_level";
    DiscreteSnoops = "discrete-snoops":
        "A discrete device's accesses to system memory snoop the CPU's caches.",
        "i915_gem_ttm_move.c:i915_ttm_cache_level";
    GttNeedsAperture = "gtt-needs-aperture":
        "There is no CPU-visible aperture.",
        "i915_gem_mman.c:i915_gem_mmap_offset_ioctl";
    GttSnoopedFaults = "gtt-snooped-faults":
        "Without an LLC, an access to a snooped object through the aperture raises SIGBUS.",
        "i915_gem_mman.c:vm_fault_gtt";
    DiscreteNeedsFixed = "discrete-needs-fixed":
        "On a discrete device the kernel decides how an object is mapped; it accepts only FIXED.",
        "i915_gem_mman.c:__assign_mmap_offset";
    FixedNeedsDiscrete = "fixed-needs-discrete":
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
        "The kernel's zero-fill may still be dirty in the cache: non-coherent agents miss it, and its \
         write-back can overwrite their writes.",
        "i915_gem_pages.c:__i915_gem_object_set_pages; i915_gem_shmem.c:shmem_object_init (6.5)";
    NothingDirty = "nothing-dirty":
        "Nothing was written since all bytes were last in memory, so there is nothing to flush.",
        "chosen: the line maps know what was written";
    NothingStale = "nothing-stale":
        "No other agent wrote since the lines were last valid, so there is nothing to invalidate.",
        "chosen: the line maps know what was written";
    CloseFlushesNothing = "close-flushes-nothing":
        "Closing a handle flushes nothing; the kernel flushes pages before it reuses them.",
        "i915_gem_pages.c:__i915_gem_object_put_pages, __i915_gem_object_set_pages";

    // Kernel: pages.
    AcquireDirty = "acquire-dirty":
        "New pages are treated as dirty: their zeroes or swapped-in bytes may exist only in the CPU's cache.",
        "i915_gem_pages.c:__i915_gem_object_set_pages; a679f58d0510";
    AcquireUncachedLlc = "acquire-uncached-llc":
        "On LLC parts an object that is uncached, or whose level changed, is flushed too: it may be used for scanout.",
        "i915_gem_pages.c:__i915_gem_object_set_pages; kernel-doc of cache_dirty (3821cc7fc0b9)";
    BypassAcquire = "bypass-acquire":
        "Userspace reads can bypass the LLC with a MOCS entry or PAT index, so every acquire flushes the zeroes first.",
        "i915_gem_shmem.c:shmem_get_pages; 13d29c823738";
    AcquireCoherent = "acquire-coherent":
        "i915 counts every agent that userspace can reach as coherent, so it does not flush acquired pages.",
        "i915_gem_pages.c:__i915_gem_object_set_pages";
    PagesPresent = "pages-present":
        "The object already has pages.",
        "i915_gem_pages.c:____i915_gem_object_get_pages";
    NoStructPages = "no-struct-pages":
        "The object has no struct pages to flush; the dirty bit is cleared.",
        "i915_gem_clflush.c:i915_gem_clflush_object";
    ImportWbinvd = "import-wbinvd":
        "Imported pages may be dirty and cannot be flushed by address, so all caches are written back.",
        "i915_gem_dmabuf.c:i915_gem_object_get_pages_dmabuf; a035154da45d";
    ImportCoherent = "import-coherent":
        "Imported pages are coherent through the LLC (or on DG1, by exemption).",
        "i915_gem_dmabuf.c:i915_gem_object_get_pages_dmabuf";
    ImportUntracked = "import-untracked":
        "The exporter tracks the cache state of an imported buffer.",
        "i915_gem_dmabuf.c:i915_gem_object_put_pages_dmabuf";
    PhysCopy = "phys-copy":
        "A physically contiguous copy is flushed page by page as it is made.",
        "i915_gem_phys.c:i915_gem_object_get_pages_phys";
    ReleaseStale = "release-stale":
        "Pages outside the CPU domain on a non-coherent path may have stale lines; the kernel drops them before \
         swap-out.",
        "i915_gem_shmem.c:__i915_gem_object_release_shmem";
    ReleaseCoherent = "release-coherent":
        "No line of the released pages can be stale.",
        "i915_gem_shmem.c:__i915_gem_object_release_shmem";
    PagesAbsent = "pages-absent":
        "The object has no pages to flush or to visit.",
        "i915_gem_pages.c:__i915_gem_object_put_pages";
    PagesPinned = "pages-pinned":
        "Pages that the display engine reads are not released.",
        "i915_gem_pages.c:__i915_gem_object_put_pages";

    // Kernel: domains.
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
        "The object is already in the requested domain.",
        "i915_gem_domain.c:i915_gem_set_domain_ioctl";
    NothingPending = "nothing-pending":
        "No earlier access requires a flush or a drain.",
        "i915_gem_domain.c:flush_write_domain";
    UserptrUntracked = "userptr-untracked":
        "A userptr object is always snooped; the call only validates its pages.",
        "i915_gem_domain.c:i915_gem_set_domain_ioctl";
    DiscreteNeverFlushes = "discrete-never-flushes":
        "Objects of a discrete device are never flushed by the CPU.",
        "i915_gem_clflush.c:i915_gem_clflush_object; 0aeec60c76ca";

    // Kernel: levels.
    LevelChange = "level-change":
        "A new level unbinds the object and marks it dirty; the flush is deferred until it is needed.",
        "i915_gem_domain.c:i915_gem_object_set_cache_level";
    LevelUnchanged = "level-unchanged":
        "The object already has the requested level.",
        "i915_gem_domain.c:i915_gem_object_set_cache_level";
    LevelChangeHangs = "level-change-hangs":
        "Changing the level of an object on screen blocks until it is flipped away; not even SIGKILL ends the wait.",
        "i915_vma.c:i915_vma_unbind (EAGAIN) under I915_GEM_OBJECT_UNBIND_BARRIER; seen on 6.1 and 6.12";
    DiscreteRefuses = "discrete-refuses":
        "A discrete device has no caching modes and no CPU domains.",
        "i915_gem_domain.c:i915_gem_set_caching_ioctl, i915_gem_set_domain_ioctl";
    PatReplacesCaching = "pat-replaces-caching":
        "From graphics version 12.70 on, caching is chosen by PAT index at creation.",
        "i915_gem_domain.c:i915_gem_set_caching_ioctl; 0fbcf57077c4";
    UserptrKeepsLevel = "userptr-keeps-level":
        "A userptr object's level cannot be changed; a request for CACHED succeeds without effect.",
        "i915_gem_domain.c:i915_gem_set_caching_ioctl";
    NotOnPlatform = "not-on-platform":
        "The platform does not have this call.",
        "i915_gem.c:i915_gem_pread_ioctl, i915_gem_pwrite_ioctl";
    NoSuchOperation = "no-such-operation":
        "Objects of this kind do not have this operation.",
        "drm_i915_gem_object_ops";

    // Kernel: pread and pwrite.
    PreadInvalidate = "pread-invalidate":
        "Reading a clean, non-coherent object outside the CPU domain drops the lines of each page before copying it.",
        "i915_gem_domain.c:i915_gem_object_prepare_read";
    PwriteFlush = "pwrite-flush":
        "Writing a clean object that is not coherent for write flushes the touched lines after the copy.",
        "i915_gem_domain.c:i915_gem_object_prepare_write";
    TransferDirty = "transfer-dirty":
        "The object is dirty and will be flushed whole before another agent reads it.",
        "i915_gem_domain.c:i915_gem_object_prepare_write, i915_gem_object_prepare_read";
    PwriteCached = "pwrite-cached":
        "The object is coherent for write: the copy goes through the cache.",
        "i915_gem_domain.c:i915_gem_object_prepare_write";
    PwritePageCache = "pwrite-page-cache":
        "Without pages the bytes go to the page cache; the acquire flushes them if required.",
        "i915_gem_shmem.c:shmem_pwrite";
    PwriteAperture = "pwrite-aperture":
        "The copy goes through the aperture and bypasses the CPU's caches.",
        "i915_gem.c:i915_gem_gtt_pwrite_fast";

    // Kernel: GPU.
    ExecFlush = "exec-flush":
        "A dirty object that is not coherent for read is flushed, ordered by its fences, before the GPU uses it.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    ExecCoherent = "exec-coherent":
        "The GPU sees the CPU's caches when it reads this object.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    ExecClean = "exec-clean":
        "The object is not dirty.",
        "i915_gem_execbuffer.c:eb_move_to_gpu";
    SubmitBarrier = "submit-barrier":
        "Every submission ends with intel_gt_chipset_flush: a write barrier, and before gen6 the chipset's flush.",
        "intel_gt.c:intel_gt_chipset_flush";

    // Kernel: display.
    ScanoutFlush = "scanout-flush":
        "A dirty framebuffer is flushed by force, because the display engine reads memory.",
        "i915_gem_domain.c:__i915_gem_object_flush_for_display";
    ScanoutClean = "scanout-clean":
        "The framebuffer is not dirty.",
        "i915_gem_domain.c:__i915_gem_object_flush_for_display";
    NotFramebuffer = "not-framebuffer":
        "The object is not a framebuffer, so the display cannot read it.",
        "i915_gem_object.h:i915_gem_object_is_framebuffer";
    DirtyFbOffPlane = "dirtyfb-off-plane":
        "The framebuffer is on no plane; newer kernels flush it only when it is put on one.",
        "intel_frontbuffer.c (front->bits == 0); 1bb2af547a4b";
    UnpinKeepsLevel = "unpin-keeps-level":
        "Leaving the screen does not restore the level: it stays what the pin set.",
        "i915_gem_domain.c:i915_gem_object_pin_to_display_plane; seen on 6.1 and 6.12";
    FbFlushesNothing = "fb-flushes-nothing":
        "Creating or removing a framebuffer of the object flushes nothing.",
        "intel_fb.c:intel_framebuffer_init; seen on 6.1 and 6.12";

    // Kernel: power.
    SuspendWbinvd = "suspend-wbinvd":
        "Suspend writes back and drops all caches if a non-coherent object is outside the CPU domain.",
        "i915_gem_pm.c:i915_gem_suspend_late";
    SuspendCoherent = "suspend-coherent":
        "Suspend moves the object to the CPU domain, like every object; none of its lines is stale.",
        "i915_gem_pm.c:i915_gem_suspend_late";
    HibernateWbinvd = "hibernate-wbinvd":
        "The hibernation image is read from memory, so all caches are always written back.",
        "i915_gem_pm.c:i915_gem_freeze_late";
    NotShrinkable = "not-shrinkable":
        "Suspend visits only objects that the shrinker lists.",
        "i915_gem_pm.c:i915_gem_suspend_late (shrink_list, purge_list)";
    ResumeWbinvd = "resume-wbinvd":
        "Resume writes back all caches if an object was being written when the machine was suspended.",
        "intel_ggtt.c:i915_ggtt_resume_vm";
    ResumeClean = "resume-clean":
        "The object was not being written, or it is not bound into the GGTT.",
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
