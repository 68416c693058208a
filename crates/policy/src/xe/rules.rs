//! The rules of xe, each with its name, a one-sentence reason and its source.

use crate::platform::Basis;
use crate::vocabulary::rules;

rules! {
    /// The reason why xe refuses a request, or why memory is, or is not, flushed or drained under xe.
    Rule, "rule of xe";

    // GEM_CREATE.
    CreateReserved = "create-reserved":
        "A reserved field or a pad is not zero.",
        "xe_bo.c:xe_gem_create_ioctl";
    CreateExtensions = "create-extensions":
        "Linux 6.12 knows no extension of GEM_CREATE.",
        "xe_bo.c:xe_gem_create_ioctl (6.12)";
    CreatePlacement = "create-placement":
        "The placement names no memory region, or one that the device lacks.",
        "xe_bo.c:xe_gem_create_ioctl";
    CreateFlags = "create-flags":
        "A flag is unknown to this kernel.",
        "xe_bo.c:xe_gem_create_ioctl";
    CreateHandle = "create-handle":
        "The handle is a result, and must be zero in the request.",
        "xe_bo.c:xe_gem_create_ioctl";
    CreateSize = "create-size":
        "The size is zero, or no multiple of the page size of the placement: 4 KiB, or 64 KiB in local memory of DG2 and ATS-M.",
        "xe_bo.c:xe_gem_create_ioctl, xe_bo_init_locked";
    CompressionCannotBeOff = "compression-cannot-be-off":
        "Before graphics version 20 no PAT index compresses, and NO_COMPRESSION is not supported.",
        "xe_bo.c:xe_gem_create_ioctl";
    VisibleWithoutLocal = "visible-without-local":
        "NEEDS_VISIBLE_VRAM asks for local memory that the CPU reaches, and the placement has none.",
        "xe_bo.c:xe_gem_create_ioctl";
    CachingUnknown = "caching-unknown":
        "cpu_caching is neither WB (1) nor WC (2).",
        "xe_bo.c:xe_gem_create_ioctl";
    LocalIsWc = "local-is-wc":
        "An object that may be in local memory is mapped WC.",
        "xe_bo.c:xe_gem_create_ioctl";
    ScanoutIsWc = "scanout-is-wc":
        "The display reads memory and never looks up a cache, so a scanout object is mapped WC.",
        "xe_bo.c:xe_gem_create_ioctl";

    // MMAP_OFFSET.
    MapReserved = "map-reserved":
        "An extension or a reserved field is not zero.",
        "xe_bo.c:xe_gem_mmap_offset_ioctl";
    MapFlags = "map-flags":
        "A flag is unknown to this kernel.",
        "xe_bo.c:xe_gem_mmap_offset_ioctl";
    BarrierIsDiscrete = "barrier-is-discrete":
        "The barrier page orders stores through the PCI bar, which only discrete devices have.",
        "xe_bo.c:xe_gem_mmap_offset_ioctl";
    BarrierHasNoHandle = "barrier-has-no-handle":
        "The barrier page belongs to no object.",
        "xe_bo.c:xe_gem_mmap_offset_ioctl";

    NoSuchHandle = "no-such-handle":
        "No object has this handle.",
        "xe_bo.c:xe_gem_mmap_offset_ioctl";

    // VM_BIND: its arguments.
    MirrorNeedsFaults = "mirror-needs-faults":
        "CPU_ADDR_MIRROR needs an address space in fault mode.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    PatIndexBeyond = "pat-index-beyond":
        "The PAT index is past the platform's table; UNMAP and PREFETCH need a valid one, too.",
        "xe_vm.c:vm_bind_ioctl_check_args; xe_pat.c";
    PatIndexReserved = "pat-index-reserved":
        "The entry of the PAT index is reserved by the hardware.",
        "xe_vm.c:vm_bind_ioctl_check_args; xe_pat.c";
    BindOperation = "bind-operation":
        "The operation is unknown.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    BindFlags = "bind-flags":
        "A flag is unknown to this kernel.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    NothingHasNoObject = "nothing-has-no-object":
        "A NULL or CPU_ADDR_MIRROR mapping has no object and no offset.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    OnlyOfMap = "only-of-map":
        "NULL, CPU_ADDR_MIRROR and DECOMPRESS are flags of MAP.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    DecompressCompressed = "decompress-compressed":
        "DECOMPRESS needs a PAT index that does not compress.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    MapNeedsObject = "map-needs-object":
        "MAP needs an object, unless it is NULL or CPU_ADDR_MIRROR.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    UnmapAllOfObject = "unmap-all-of-object":
        "UNMAP_ALL names an object, and no address and no range.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    UserptrHasNoObject = "userptr-has-no-object":
        "MAP_USERPTR binds the process's own pages, and no object.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    UserptrNotSnooped = "userptr-not-snooped":
        "The CPU caches the process's own pages, so the GPU must snoop them: a PAT index of coherency none is refused.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    MirrorNotSnooped = "mirror-not-snooped":
        "The CPU caches mirrored memory, so an integrated GPU must snoop it: a PAT index of coherency none is refused.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    UserptrNotFlushed = "userptr-not-flushed":
        "From graphics version 35 on, an integrated GPU flushes only transient lines at the end of a submission, so shared pages need \
         PAT index 19 or 2-way coherency.",
        "xe_vm.c:vm_bind_ioctl_check_args; xe_device.c:xe_device_is_l2_flush_optimized";
    UserptrCompressed = "userptr-compressed":
        "The process's own pages have no compression state.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    PrefetchHasNoObject = "prefetch-has-no-object":
        "PREFETCH names addresses, and no object.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    PrefetchRegion = "prefetch-region":
        "The memory region is that of a PREFETCH, and one that the device has.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    UnmapHasNoObject = "unmap-has-no-object":
        "UNMAP names addresses, and no object.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    AutoresetNeedsMirror = "autoreset-needs-mirror":
        "MADVISE_AUTORESET is a flag of a CPU_ADDR_MIRROR mapping.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    BindUnaligned = "bind-unaligned":
        "Offset, address and range are multiples of 4 KiB, and the range is not zero.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    CannotDecompress = "cannot-decompress":
        "DECOMPRESS needs a discrete device of graphics version 20 or later with compression.",
        "xe_vm.c:vm_bind_ioctl_check_args";
    BindBeyondSpace = "bind-beyond-space":
        "The range ends past the address space.",
        "xe_vm.c:xe_vm_bind_ioctl";

    // VM_BIND: the object.
    BindNotCompressible = "bind-not-compressible":
        "The object was created with NO_COMPRESSION, and the PAT index compresses.",
        "xe_vm.c:xe_vm_bind_ioctl_validate_bo";
    BindBeyondObject = "bind-beyond-object":
        "The range ends past the object.",
        "xe_vm.c:xe_vm_bind_ioctl_validate_bo";
    BindLocalPage = "bind-local-page":
        "An object that may be in local memory of 64 KiB pages is bound at multiples of 64 KiB.",
        "xe_vm.c:xe_vm_bind_ioctl_validate_bo";
    CachedNotSnooped = "cached-not-snooped":
        "The CPU maps the object WB, so the GPU must snoop it: a PAT index of coherency none would show old bytes, of freed pages, too, \
         and is refused.",
        "xe_vm.c:xe_vm_bind_ioctl_validate_bo";
    ImportNotSnooped = "import-not-snooped":
        "The exporter of another driver may map the object WB, so the GPU must snoop it: a PAT index of coherency none is refused.",
        "xe_vm.c:xe_vm_bind_ioctl_validate_bo";
    ImportCompressed = "import-compressed":
        "An object of another driver has no compression state.",
        "xe_vm.c:xe_vm_bind_ioctl_validate_bo";
    ImportNotFlushed = "import-not-flushed":
        "From graphics version 35 on, an integrated GPU flushes only transient lines at the end of a submission, so an import needs PAT \
         index 19 or 2-way coherency.",
        "xe_vm.c:xe_vm_bind_ioctl_validate_bo; xe_device.c:xe_device_is_l2_flush_optimized";

    // MADVISE of a PAT index.
    MadviseUnknown = "madvise-unknown":
        "Linux 6.12 has no MADVISE.",
        "xe_device.c:xe_ioctls (6.12)";
    MadviseUnaligned = "madvise-unaligned":
        "Start and range are multiples of 4 KiB, and the range is not zero.",
        "xe_vm_madvise.c:madvise_args_are_sane";
    MadviseReserved = "madvise-reserved":
        "A reserved field or a pad is not zero.",
        "xe_vm_madvise.c:madvise_args_are_sane";

    MadviseBeyondSpace = "madvise-beyond-space":
        "The range ends past the address space.",
        "xe_vm.c:xe_vm_alloc_madvise_vma; drm_gpuvm.c:drm_gpuvm_range_valid";
    UserptrInPart = "userptr-in-part":
        "The range ends inside of a mapping of the process's own pages, which cannot be split.",
        "xe_vm.c:xe_vm_alloc_madvise_vma";

    // Flushes and drains.
    WcDrain = "wc-drain":
        "Write-combining stores may still be in the CPU's buffers: execute SFENCE before the GPU is told to read.",
        "Intel SDM volume 3, 12.3.1 (buffering of write combining memory locations)";
    BarDrain = "bar-drain":
        "Stores to local memory may be on their way to the device: execute SFENCE; and without a request to the kernel in between, store to the \
         barrier page (Linux 7.2).",
        "xe_drm.h:DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER";
    SnoopedMapping = "snooped-mapping":
        "The PAT index makes the GPU snoop the CPU's caches.",
        "xe_drm.h:drm_xe_vm_bind_op.pat_index; xe_pat.c";
    BusSnoops = "bus-snoops":
        "Every access of a discrete GPU to system memory snoops, and the CPU maps it write-back, whatever was asked for.",
        "xe_drm.h:drm_xe_gem_create.cpu_caching; xe_bo.c:xe_ttm_tt_create";
    SharedLlc = "shared-llc":
        "CPU and GPU share the last-level cache, which each PAT index looks up.",
        "xe_drm.h:drm_xe_vm_bind_op.pat_index";
    NoCpuLines = "no-cpu-lines":
        "The CPU's caches hold no line of a write-combining object, and the end of the submission flushes the GPU's.",
        "xe_bo.c:xe_ttm_tt_create; xe_ring_ops.c:emit_render_cache_flush";
    EndFlushes = "end-flushes":
        "At the end of a submission the kernel flushes the GPU's caches, so the CPU sees its writes after the fence.",
        "xe_ring_ops.c:emit_render_cache_flush; xe_device.c:xe_device_td_flush (kernel-doc)";
    TwoWaySeen = "two-way-seen":
        "By 2-way coherency the CPU sees lines in the GPU's caches at any time.",
        "xe_pat.c (coh_mode); gmmlib GmmXe2_LPGCachePolicy.cpp";
    FlushInBatch = "flush-in-batch":
        "Before the end of the submission its writes may be in the GPU's caches: the batch must flush them (PIPE_CONTROL) before it signals.",
        "xe_ring_ops.c:emit_render_cache_flush; xe_drm.h:drm_xe_sync (user fence)";
    TransientOnly = "transient-only":
        "From graphics version 35 on, the end of a submission flushes transient (XA) lines only: bind by PAT index 19 or 2-way, or flush in the \
         batch. Not known for the device's own objects.",
        "xe_device.c:xe_device_is_l2_flush_optimized (read)";
    SameCaches = "same-caches":
        "The CPU's caches are coherent, and between submissions the kernel flushes and invalidates the GPU's.",
        "xe_ring_ops.c:emit_pipe_invalidate, emit_render_cache_flush";
    DisplayReadsMemory = "display-reads-memory":
        "The display reads memory. The kernel flushes nothing for it, so the program writes back its own dirty lines (CLFLUSH), or creates what it \
         shows with SCANOUT.",
        "xe_fb_pin.c, xe_display_bo.c:xe_display_bo_framebuffer_init";
    DisplayShowsLocal = "display-shows-local":
        "The display of a discrete device shows local memory: other objects move there, or are refused (EREMOTE).",
        "xe_display_bo.c:xe_display_bo_framebuffer_lookup";
    BoundNotShown = "bound-not-shown":
        "A framebuffer makes its object write-combining for the GPU, which mappings of it could not follow: create what is shown with SCANOUT, \
         or make the framebuffer before the object is bound.",
        "xe_display_bo.c:xe_display_bo_framebuffer_init";
    NoDisplay = "no-display":
        "The device has no display.",
        "xe_pci.c:ats_m_desc, cri_desc (has_display)";
    UserptrNotShown = "userptr-not-shown":
        "The process's own pages are no object, and cannot be shown.",
        "xe_drm.h:DRM_XE_VM_BIND_OP_MAP_USERPTR";
    LlcLinesShown = "llc-lines-shown":
        "The GPU's writes by a write-back index may be dirty in the last-level cache, which the display does not look up.",
        "xe_pat.c:xelp_pat_table (read); the rule of i915: i915_gem_domain.c:gpu_write_needs_clflush";
    GpuLinesShown = "gpu-lines-shown":
        "Lines of this cache policy may still be in the GPU's cache when the display reads memory: show objects that are bound by a \
         transient (XD), written-through or uncached index.",
        "xe_device.c:xe_device_td_flush (read)";
    GpuWriteShown = "gpu-write-shown":
        "The GPU's writes by this index are in memory when the kernel shows the object.",
        "xe_device.c:xe_device_td_flush (read)";
    DisplayNeverWrites = "display-never-writes":
        "The display only reads.",
        "Intel display";
    CannotBeBound = "cannot-be-bound":
        "The kernel refuses the mapping, so the GPU has no access.",
        "xe_vm.c:xe_vm_bind_ioctl";
}

impl Rule {
    /// Returns whether the rule refuses how memory is to be cached: `cpu_caching`, or a PAT index.
    pub const fn is_of_caching(self) -> bool {
        matches!(
            self,
            Self::CachingUnknown
                | Self::LocalIsWc
                | Self::ScanoutIsWc
                | Self::PatIndexBeyond
                | Self::PatIndexReserved
                | Self::DecompressCompressed
                | Self::UserptrNotSnooped
                | Self::MirrorNotSnooped
                | Self::UserptrNotFlushed
                | Self::UserptrCompressed
                | Self::BindNotCompressible
                | Self::CachedNotSnooped
                | Self::ImportNotSnooped
                | Self::ImportCompressed
                | Self::ImportNotFlushed
                | Self::BoundNotShown
        )
    }

    /// Returns how the rule is known: [`Basis::Run`] if `ci/xe`, `ci/vm-cache xe` or `ci/vm-cache xe_display` compares it with the driver, else
    /// [`Basis::Read`]. The emulated GPU has no caches and no page faults, and none of version 35.
    pub const fn basis(self) -> Basis {
        let read = matches!(
            self,
            Self::CreateExtensions
                | Self::DecompressCompressed
                | Self::MirrorNotSnooped
                | Self::UserptrNotFlushed
                | Self::ImportNotFlushed
                | Self::BarDrain
                | Self::EndFlushes
                | Self::TwoWaySeen
                | Self::FlushInBatch
                | Self::TransientOnly
                | Self::SameCaches
                | Self::BoundNotShown
                | Self::NoDisplay
                | Self::UserptrNotShown
                | Self::LlcLinesShown
                | Self::GpuLinesShown
                | Self::GpuWriteShown
                | Self::DisplayNeverWrites
        );
        if read { Basis::Read } else { Basis::Run }
    }
}
