//! The rules of xe, each with its name, a one-sentence reason and its source.

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
}
