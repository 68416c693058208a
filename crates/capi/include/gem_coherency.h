/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * gem_coherency: cache coherency of GEM buffer objects on Intel GPUs.
 *
 * Made by cbindgen from crates/capi and crates/capi/pure; ci/header --write makes it anew.
 * What the functions have in common (errors, threads, ownership) stands in docs/c-api.md. */

#ifndef GEM_COHERENCY_H
#define GEM_COHERENCY_H

#include <stddef.h>
#include <stdint.h>

/**
 * The header's version, major.minor.patch: the major number. Until 1.0 a minor version may change the interface, and
 * changes the soname with it.
 */
#define GEMCO_VERSION_MAJOR 0

/**
 * The minor number.
 */
#define GEMCO_VERSION_MINOR 1

/**
 * The patch number.
 */
#define GEMCO_VERSION_PATCH 0

/**
 * Opens devices with an unknown PCI ID, too; nothing is treated as coherent then.
 */
#define GEMCO_OPEN_CONSERVATIVE 1

/**
 * The object is new: no agent has accessed it. Without this flag every line counts as dirty and as stale.
 */
#define GEMCO_ADOPT_NEW 1

/**
 * The level is fixed, because the object was created with a PAT index (gemco_pat_level).
 */
#define GEMCO_ADOPT_FIXED_LEVEL 2

/**
 * The kernel is asked for the level (GET_CACHING); the field `level` is 0.
 */
#define GEMCO_ADOPT_ASK_LEVEL 4

/**
 * The caller waits for the GPU before each CPU access. Otherwise the library does (GEM_WAIT, which does not cover
 * VM_BIND mappings).
 */
#define GEMCO_ADOPT_WAITED 8

/**
 * As a length: up to the end of the BO (VK_WHOLE_SIZE).
 */
#define GEMCO_WHOLE_SIZE 18446744073709551615ull

/**
 * Kind of memory access.
 */
typedef enum gemco_access_kind {
    /**
     * Reads only.
     */
    GEMCO_READ = 0,
    /**
     * Writes, possibly only parts of lines.
     */
    GEMCO_WRITE = 1,
} gemco_access_kind;

/**
 * The caching mode of a BO (the kernel's I915_CACHING_*).
 */
typedef enum gemco_caching {
    /**
     * I915_CACHING_NONE.
     */
    GEMCO_CACHING_NONE = 0,
    /**
     * I915_CACHING_CACHED.
     */
    GEMCO_CACHING_CACHED = 1,
    /**
     * I915_CACHING_DISPLAY.
     */
    GEMCO_CACHING_DISPLAY = 2,
    /**
     * The platform's default; the only choice on discrete devices. For gemco_bo_create and gemco_caching_level.
     */
    GEMCO_CACHING_DEFAULT = 3,
} gemco_caching;

/**
 * Capabilities of a platform that decide about coherency, as bits.
 */
typedef enum gemco_caps {
    /**
     * CPU and GPU share the last-level cache.
     */
    GEMCO_CAP_LLC = 1,
    /**
     * The GPU can snoop the CPU's caches.
     */
    GEMCO_CAP_SNOOP = 2,
    /**
     * The level WT exists: eDRAM is fused on.
     */
    GEMCO_CAP_WT = 4,
    /**
     * MOCS entries 16 and 17 bypass the LLC.
     */
    GEMCO_CAP_LLC_BYPASS_MOCS = 8,
    /**
     * Stores through the aperture need only a barrier.
     */
    GEMCO_CAP_COHERENT_GGTT = 16,
    /**
     * A discrete device with local memory.
     */
    GEMCO_CAP_DISCRETE = 32,
    /**
     * Caching is chosen by PAT index at creation.
     */
    GEMCO_CAP_PAT_AT_CREATE = 64,
    /**
     * There is a CPU-visible GGTT aperture.
     */
    GEMCO_CAP_APERTURE = 128,
    /**
     * Graphics version 12 and later.
     */
    GEMCO_CAP_GEN12 = 256,
    /**
     * DG1, whose imports need no wbinvd.
     */
    GEMCO_CAP_DG1 = 512,
} gemco_caps;

/**
 * The way to drain stores around the CPU's caches, where the verdict is GEMCO_DRAIN.
 */
typedef enum gemco_drain_kind {
    /**
     * None: no stores through such a mapping gather anywhere.
     */
    GEMCO_DRAIN_NOTHING = 0,
    /**
     * A fence on the core that stored.
     */
    GEMCO_DRAIN_FENCE = 1,
    /**
     * A fence, and a read through the mapping.
     */
    GEMCO_DRAIN_READ_BACK = 2,
} gemco_drain_kind;

/**
 * The cache level that the kernel keeps for a BO (enum i915_cache_level).
 */
typedef enum gemco_level {
    /**
     * Not cached by the GPU.
     */
    GEMCO_LEVEL_NONE = 0,
    /**
     * Cached in the LLC, or snooped where there is none.
     */
    GEMCO_LEVEL_LLC = 1,
    /**
     * As LLC, and in the GPU's own L3.
     */
    GEMCO_LEVEL_L3_LLC = 2,
    /**
     * Written through.
     */
    GEMCO_LEVEL_WT = 3,
} gemco_level;

/**
 * The level of logging: events of this level and of the more severe ones are logged.
 */
typedef enum gemco_log_level {
    /**
     * Nothing.
     */
    GEMCO_LOG_OFF = 0,
    /**
     * Failures that no return value reports.
     */
    GEMCO_LOG_ERROR = 1,
    /**
     * Unexpected events: an unknown PCI ID, a handle that did not close.
     */
    GEMCO_LOG_WARN = 2,
    /**
     * Main events.
     */
    GEMCO_LOG_INFO = 3,
    /**
     * Requests and decisions: handle, step, verdict, rule, lines, bytes.
     */
    GEMCO_LOG_DEBUG = 4,
    /**
     * Flushes and fences.
     */
    GEMCO_LOG_TRACE = 5,
} gemco_log_level;

/**
 * The mode in which the CPU maps a BO.
 */
typedef enum gemco_map_mode {
    /**
     * Write-back: through the CPU's cache.
     */
    GEMCO_MAP_WB = 0,
    /**
     * Write-combining: bypasses the cache, gathers stores.
     */
    GEMCO_MAP_WC = 1,
    /**
     * Uncached.
     */
    GEMCO_MAP_UC = 2,
    /**
     * Through the GGTT aperture.
     */
    GEMCO_MAP_GTT = 3,
    /**
     * As the kernel decides; the only mode on discrete devices.
     */
    GEMCO_MAP_FIXED = 4,
    /**
     * The mode that fits the BO's level; for gemco_bo_map only.
     */
    GEMCO_MAP_DEFAULT = 5,
} gemco_map_mode;

/**
 * The treatment of the LLC by the MOCS entry of a GPU access; gemco_device_mocs returns it for an index.
 */
typedef enum gemco_mocs {
    /**
     * The page table entry decides, or the entry caches in the LLC.
     */
    GEMCO_MOCS_PAGE_TABLE = 0,
    /**
     * Not cached in the LLC, but looked up there.
     */
    GEMCO_MOCS_UNCACHED = 1,
    /**
     * Bypasses the LLC: entries 16 and 17, effective on Jasper Lake and Elkhart Lake.
     */
    GEMCO_MOCS_BYPASS_LLC = 2,
} gemco_mocs;

/**
 * An agent and its path to memory.
 */
typedef enum gemco_path {
    /**
     * The CPU through a write-back mapping.
     */
    GEMCO_PATH_CPU_WB = 0,
    /**
     * The CPU through a write-combining mapping.
     */
    GEMCO_PATH_CPU_WC = 1,
    /**
     * The CPU through an uncached mapping.
     */
    GEMCO_PATH_CPU_UC = 2,
    /**
     * The CPU through the GGTT aperture.
     */
    GEMCO_PATH_CPU_GTT = 3,
    /**
     * The CPU through a mapping whose mode the kernel decides (discrete devices).
     */
    GEMCO_PATH_CPU_FIXED = 4,
    /**
     * The GPU, with GEMCO_MOCS_PAGE_TABLE.
     */
    GEMCO_PATH_GPU_PAGE_TABLE = 5,
    /**
     * The GPU, with GEMCO_MOCS_UNCACHED.
     */
    GEMCO_PATH_GPU_UNCACHED = 6,
    /**
     * The GPU, with GEMCO_MOCS_BYPASS_LLC.
     */
    GEMCO_PATH_GPU_BYPASS_LLC = 7,
    /**
     * The display engine; it only reads.
     */
    GEMCO_PATH_DISPLAY = 8,
} gemco_path;

/**
 * A step in a BO's lifetime that may require a flush.
 */
typedef enum gemco_step {
    /**
     * The CPU writes.
     */
    GEMCO_STEP_WRITE = 0,
    /**
     * The BO is handed to the GPU.
     */
    GEMCO_STEP_SUBMIT = 1,
    /**
     * The BO is handed to the display engine.
     */
    GEMCO_STEP_SCANOUT = 2,
    /**
     * The CPU reads.
     */
    GEMCO_STEP_READ = 3,
    /**
     * The BO is handed to another process or device.
     */
    GEMCO_STEP_EXPORT = 4,
    /**
     * The BO is released.
     */
    GEMCO_STEP_RELEASE = 5,
    /**
     * Memory is made current for readers that the library does not know: gemco_bo_flush, gemco_bo_flush_range.
     */
    GEMCO_STEP_SYNC = 6,
} gemco_step;

/**
 * The CPU's next use of the bytes that it uploads.
 */
typedef enum gemco_upload_hint {
    /**
     * Nothing soon: they are stored non-temporally.
     */
    GEMCO_UPLOAD_ONCE = 0,
    /**
     * It reads or overwrites them: they are written back and stay in the cache.
     */
    GEMCO_UPLOAD_KEPT = 1,
    /**
     * Unknown: the size decides.
     */
    GEMCO_UPLOAD_AUTO = 2,
} gemco_upload_hint;

/**
 * The work that is required before the next agent may access the memory.
 */
typedef enum gemco_verdict {
    /**
     * Nothing.
     */
    GEMCO_NOT_NEEDED = 0,
    /**
     * Dirty lines must be written back.
     */
    GEMCO_FLUSH = 1,
    /**
     * Lines that may be stale must be dropped before they are read or partly overwritten.
     */
    GEMCO_INVALIDATE = 2,
    /**
     * Stores must be drained from the CPU's or the chipset's write-combining buffers.
     */
    GEMCO_DRAIN = 3,
    /**
     * There is no such access: the platform or the kernel refuses it.
     */
    GEMCO_REFUSED = 4,
    /**
     * The batch must flush the GPU's caches (PIPE_CONTROL) before it signals. Of gemco_xe_needs_flush only.
     */
    GEMCO_FLUSH_GPU = 5,
} gemco_verdict;

/**
 * An agent that accesses memory.
 */
typedef enum gemco_xe_agent {
    /**
     * The CPU, through the mapping that belongs to the memory.
     */
    GEMCO_XE_AGENT_CPU = 0,
    /**
     * The GPU's engines, through the mapping with the PAT index.
     */
    GEMCO_XE_AGENT_GPU = 1,
    /**
     * The display engine; it only reads.
     */
    GEMCO_XE_AGENT_DISPLAY = 2,
} gemco_xe_agent;

/**
 * Memory as xe distinguishes it: by the caching of the CPU's mapping, which GEM_CREATE fixes, or by its origin.
 */
typedef enum gemco_xe_memory {
    /**
     * An object that the CPU maps write-back (DRM_XE_GEM_CPU_CACHING_WB).
     */
    GEMCO_XE_MEMORY_WB = 1,
    /**
     * An object that the CPU maps write-combining (DRM_XE_GEM_CPU_CACHING_WC).
     */
    GEMCO_XE_MEMORY_WC = 2,
    /**
     * A dma-buf of another driver. One of the same device is the exporter's object itself: GEMCO_XE_MEMORY_WB or _WC.
     */
    GEMCO_XE_MEMORY_IMPORT = 3,
    /**
     * The process's own pages (DRM_XE_VM_BIND_OP_MAP_USERPTR).
     */
    GEMCO_XE_MEMORY_USERPTR = 4,
} gemco_xe_memory;

/**
 * Memory regions of a placement, as bits.
 */
typedef enum gemco_xe_region {
    /**
     * System memory.
     */
    GEMCO_XE_SYSTEM = 1,
    /**
     * Local memory of a discrete device.
     */
    GEMCO_XE_LOCAL = 2,
} gemco_xe_region;

/**
 * A request of xe.
 */
typedef enum gemco_xe_request {
    /**
     * None: the kernel accepts them all.
     */
    GEMCO_XE_NO_REQUEST = 0,
    /**
     * DRM_IOCTL_XE_GEM_CREATE.
     */
    GEMCO_XE_GEM_CREATE = 1,
    /**
     * DRM_IOCTL_XE_VM_BIND.
     */
    GEMCO_XE_VM_BIND = 2,
} gemco_xe_request;

/**
 * The use of memory.
 */
typedef enum gemco_xe_use {
    /**
     * The CPU writes, the GPU reads.
     */
    GEMCO_XE_USE_UPLOAD = 0,
    /**
     * The GPU writes, the CPU reads; or both do both.
     */
    GEMCO_XE_USE_READ_BACK = 1,
    /**
     * The display shows it.
     */
    GEMCO_XE_USE_SCANOUT = 2,
    /**
     * The GPU alone, compressed where it can be.
     */
    GEMCO_XE_USE_GPU_ONLY = 3,
    /**
     * An import from another driver.
     */
    GEMCO_XE_USE_IMPORT = 4,
    /**
     * The process's own pages.
     */
    GEMCO_XE_USE_USERPTR = 5,
} gemco_xe_use;

/**
 * The time of the next access.
 */
typedef enum gemco_xe_when {
    /**
     * After the fence of the submission, or after a request.
     */
    GEMCO_XE_AFTER_FENCE = 0,
    /**
     * While the batch runs: after a user fence in its midst, by another queue, or in user-mode submission.
     */
    GEMCO_XE_IN_BATCH = 1,
} gemco_xe_when;

/**
 * A CPU access to a range of a BO, in progress.
 *
 * gemco_access_begin creates it; gemco_access_end frees it, whatever it returns. It holds a reference to its BO.
 * Threads may use it concurrently until then.
 */
typedef struct gemco_access gemco_access;

/**
 * A buffer object.
 *
 * gemco_bo_create and gemco_bo_import create it with one reference. gemco_bo_ref adds a reference; gemco_bo_unref
 * drops one, and the last one closes the GEM handle or keeps the object for reuse. Threads may use it concurrently.
 */
typedef struct gemco_bo gemco_bo;

/**
 * An open device.
 *
 * The gemco_device_open functions create it with one reference. gemco_device_ref adds a reference; gemco_device_unref
 * drops one. A BO keeps its device open even without a reference. Threads may use it concurrently.
 */
typedef struct gemco_device gemco_device;

/**
 * The barrier page of a discrete device of xe. gemco_device_pci_barrier maps it, gemco_pci_barrier_unmap unmaps it. Threads
 * may use it concurrently.
 */
typedef struct gemco_pci_barrier gemco_pci_barrier;

/**
 * BOs that are ready for the GPU; until gemco_submit_end they can neither be closed nor change their caching mode.
 *
 * Any thread may end it.
 */
typedef struct gemco_prepared gemco_prepared;

/**
 * A BO that is on screen, or about to be. It holds a reference to the BO.
 *
 * Any thread may use it.
 */
typedef struct gemco_scanout gemco_scanout;

/**
 * A sequential write to a range of a BO, in progress: a batch buffer, or a ring.
 *
 * gemco_stream_begin creates it; gemco_stream_end frees it, whatever it returns. It holds a reference to its BO, which has at
 * most one. Threads may use it concurrently until then.
 */
typedef struct gemco_stream gemco_stream;

/**
 * A platform under a kernel.
 */
typedef struct gemco_platform {
    /**
     * The short name, in lower case: "jsl".
     */
    char name[16];
    /**
     * The marketing name: "Jasper Lake".
     */
    char title[48];
    /**
     * Capabilities: gemco_caps, ORed.
     */
    unsigned int caps;
    /**
     * The PCI ID.
     */
    uint16_t pci_id;
    /**
     * Version of the graphics IP: the 12 of 12.70.
     */
    uint8_t graphics_major;
    /**
     * Version of the graphics IP: the 70 of 12.70.
     */
    uint8_t graphics_minor;
} gemco_platform;

/**
 * A write to memory of a BO, and the next access to the same memory. Set all other fields to 0: use designated
 * initialisers.
 */
typedef struct gemco_question {
    /**
     * The BO's level: a gemco_level.
     */
    unsigned int level;
    /**
     * The path of the write: a gemco_path.
     */
    unsigned int writer;
    /**
     * The path of the next access: a gemco_path.
     */
    unsigned int next;
    /**
     * The kind of the next access: a gemco_access_kind. A batch that writes may read, too: ask about both.
     */
    unsigned int access;
    /**
     * 0.
     */
    uint64_t reserved[2];
} gemco_question;

/**
 * A verdict and the rule behind it; GEMCO_NOT_NEEDED has a rule, too.
 */
typedef struct gemco_decision {
    /**
     * The required work: a gemco_verdict.
     */
    unsigned int verdict;
    /**
     * The rule: gemco_rule_name, gemco_rule_reason, gemco_rule_source.
     */
    unsigned int rule;
} gemco_decision;

/**
 * A device of xe under a kernel: gemco_xe_device_by_id fills it.
 */
typedef struct gemco_xe_device {
    /**
     * The platform's short name, in lower case: "lnl".
     */
    char name[16];
    /**
     * The platform's marketing name: "Lunar Lake".
     */
    char title[48];
    /**
     * The PCI ID.
     */
    uint16_t pci_id;
    /**
     * The kernel version: the 7 of 7.2.
     */
    uint16_t kernel_major;
    /**
     * The kernel version: the 2 of 7.2.
     */
    uint16_t kernel_minor;
    /**
     * Version of the graphics IP: the 20 of 20.04.
     */
    uint8_t graphics_major;
    /**
     * Version of the graphics IP: the 4 of 20.04.
     */
    uint8_t graphics_minor;
    /**
     * Memory regions of the device: gemco_xe_region, ORed.
     */
    unsigned int regions;
    /**
     * Number of PAT indices, reserved ones included.
     */
    unsigned int pat_indices;
    /**
     * 0.
     */
    uint64_t reserved[2];
} gemco_xe_device;

/**
 * Memory, and a mapping of it in an address space of the GPU. Set all other fields to 0: use designated initialisers.
 */
typedef struct gemco_xe_mapping {
    /**
     * The memory: a gemco_xe_memory.
     */
    unsigned int memory;
    /**
     * The placement of GEM_CREATE: gemco_xe_region, ORed. 0 for an import and for the process's pages.
     */
    unsigned int placement;
    /**
     * The flags of GEM_CREATE (DRM_XE_GEM_CREATE_FLAG_*). 0 for an import and for the process's pages.
     */
    unsigned int create_flags;
    /**
     * The flags of VM_BIND (DRM_XE_VM_BIND_FLAG_*).
     */
    unsigned int bind_flags;
    /**
     * The PAT index of VM_BIND, at most 65535.
     */
    unsigned int pat_index;
    /**
     * 0.
     */
    unsigned int pad;
    /**
     * Size of the object in bytes; ignored for the process's pages.
     */
    uint64_t size;
    /**
     * Bytes from the object's start, or the address of the process's pages.
     */
    uint64_t offset;
    /**
     * The GPU's address.
     */
    uint64_t address;
    /**
     * Size of the mapping in bytes.
     */
    uint64_t range;
    /**
     * 0.
     */
    uint64_t reserved[2];
} gemco_xe_mapping;

/**
 * The kernel's answer to the requests for a mapping.
 */
typedef struct gemco_xe_refusal {
    /**
     * The request that is refused: a gemco_xe_request.
     */
    unsigned int request;
    /**
     * The errno of the refusal, positive; 0 if the kernel accepts the requests.
     */
    int error;
    /**
     * The check that fails: gemco_rule_name, gemco_rule_reason, gemco_rule_source. 0 if the kernel accepts the requests.
     */
    unsigned int rule;
} gemco_xe_refusal;

/**
 * Reuse-cache statistics since the device was opened.
 */
typedef struct gemco_reuse_stats {
    /**
     * Allocations that reused an object.
     */
    uint64_t hits;
    /**
     * Allocations that could have reused an object and did not.
     */
    uint64_t misses;
    /**
     * Matching objects that the GPU was still using.
     */
    uint64_t busy;
    /**
     * Objects whose contents the kernel had purged.
     */
    uint64_t purged;
    /**
     * Objects closed because of their age.
     */
    uint64_t aged;
    /**
     * Objects closed for lack of room.
     */
    uint64_t evicted;
    /**
     * Bytes now kept for reuse.
     */
    uint64_t held_bytes;
    /**
     * Objects now kept for reuse.
     */
    uint64_t held;
} gemco_reuse_stats;

/**
 * The effect of one step on one BO's lines, or why it had none; gemco_explain formats it as a sentence.
 */
typedef struct gemco_report {
    /**
     * The step: a gemco_step.
     */
    unsigned int step;
    /**
     * The required work, and the rule behind it.
     */
    struct gemco_decision decision;
    /**
     * 0.
     */
    unsigned int reserved;
    /**
     * Lines that were flushed or invalidated.
     */
    uint64_t lines;
    /**
     * The same number in bytes.
     */
    uint64_t bytes;
} gemco_report;

/**
 * A buffer object of the caller's, for gemco_bo_adopt. Set all other fields to 0: use designated initialisers.
 */
typedef struct gemco_object {
    /**
     * The size in bytes, as the kernel rounded it: whole pages.
     */
    uint64_t size;
    /**
     * The caller's mapping of the whole object, which stays until gemco_bo_unmap or the last unref. NULL if the library
     * shall map it when it has to; reported stores then count as made through a write-back mapping.
     */
    void *mapped;
    /**
     * The GEM handle, in the file of the device.
     */
    uint32_t handle;
    /**
     * The level: a gemco_level.
     */
    unsigned int level;
    /**
     * The mode of `mapped`: a gemco_map_mode; 0 without a mapping.
     */
    unsigned int map_mode;
    /**
     * GEMCO_ADOPT_*, ORed.
     */
    unsigned int flags;
    /**
     * The agents that may read the object without a call of this library's that names it: a bit (1u << path) for each
     * gemco_path, or 0 for all. gemco_bo_unmap and gemco_bo_remap flush for them alone. GEMCO_PATH_GPU_PAGE_TABLE is always
     * one of them; others join when the BO is shown (the display), exported, imported or passed to gemco_bo_never_reuse (all).
     */
    unsigned int readers;
    /**
     * 0.
     */
    uint32_t reserved[3];
} gemco_object;

/**
 * The accesses of a batch to one BO. Set all other fields to 0: use designated initialisers.
 */
typedef struct gemco_submission {
    /**
     * The BO; list it once for each MOCS class that accesses it.
     */
    const struct gemco_bo *bo;
    /**
     * The GPU's access, a gemco_access_kind; a write is treated as a read, too.
     */
    unsigned int access;
    /**
     * The MOCS class of the accesses, a gemco_mocs.
     */
    unsigned int mocs;
    /**
     * 0.
     */
    uint64_t reserved[2];
} gemco_submission;

/**
 * Receives the library's events. level: a gemco_log_level. text: a line without a newline, valid only during the call.
 * user: the pointer that was given with the callback.
 */
typedef void (*gemco_log_fn)(unsigned int level, const char *text, void *user);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library that runs: major << 16 | minor << 8 | patch. Compare it with GEMCO_VERSION_MAJOR,
 * _MINOR and _PATCH, which are those of the header that was compiled.
 *
 * Any thread; no allocation.
 */
unsigned int gemco_version(void);

/**
 * Returns the reason of the thread's last failed call, as a sentence.
 *
 * Never NULL; "" if none failed yet. Successful calls do not change it. The text belongs to the thread and stays
 * unchanged until the thread's next failed call. At most 511 bytes, UTF-8. Any thread; no allocation.
 */
const char *gemco_last_error(void);

/**
 * Looks up the platform and capabilities of a PCI ID, without opening a device.
 *
 * kernel_major, kernel_minor: the kernel version, or 0, 0 for the newest one with known rules; it matters on Meteor
 * Lake.
 * edram: whether eDRAM is fused on (I915_PARAM_HAS_WT of an open device); ignored on platforms where i915 does not
 * look for it.
 *
 * Returns 0; -ENODEV for an unknown ID. Any thread; no allocation.
 */
int gemco_platform_by_id(uint16_t pci_id,
                         uint16_t kernel_major,
                         uint16_t kernel_minor,
                         int edram,
                         struct gemco_platform *platform);

/**
 * As gemco_platform_by_id, by name ("jsl"), title ("Jasper Lake") or ID ("8086:4e61").
 *
 * Returns 0; -ENODEV for others; -EILSEQ for a name that is not UTF-8. Any thread; no allocation.
 */
int gemco_platform_by_name(const char *name,
                           uint16_t kernel_major,
                           uint16_t kernel_minor,
                           int edram,
                           struct gemco_platform *platform);

/**
 * Decides what must leave the writer's caches before the next access to the same memory.
 *
 * A batch that writes may read, too: ask for GEMCO_READ as well, as gemco_submission does for GEMCO_WRITE.
 *
 * decision: the verdict with its rule; may be NULL.
 *
 * Returns the verdict, which is not negative: GEMCO_FLUSH means gemco_flush_range over what was written, GEMCO_DRAIN
 * gemco_drain, GEMCO_REFUSED that the platform has no such access. -EINVAL for NULL, and for a number that is not in its
 * enum. Any thread; no allocation.
 */
int gemco_needs_flush(const struct gemco_platform *platform,
                      const struct gemco_question *question,
                      struct gemco_decision *decision);

/**
 * Decides as gemco_needs_flush for a driver that does not know the next reader, or that leaves out readers that it does
 * not have.
 *
 * readers: a bit (1u << path) for each possible gemco_path; question->next is ignored.
 * decision: the strongest one: a flush, else a drain, else the first that needs nothing. May be NULL.
 *
 * Returns the verdict; GEMCO_REFUSED only if none of the readers exists on the platform. -EINVAL for 0 and for unknown
 * bits; otherwise as gemco_needs_flush.
 */
int gemco_needs_flush_any(const struct gemco_platform *platform,
                          const struct gemco_question *question,
                          unsigned int readers,
                          struct gemco_decision *decision);

/**
 * Decides what the CPU must drop from its cache before the next access to memory that was written.
 *
 * As gemco_needs_flush; GEMCO_INVALIDATE means gemco_flush_inval_range over the bytes to read, or over the first and
 * the last line of the bytes to overwrite, where these cover lines in part.
 */
int gemco_needs_invalidate(const struct gemco_platform *platform,
                           const struct gemco_question *question,
                           struct gemco_decision *decision);

/**
 * Returns how stores through a mapping are drained, for a driver with its own fences and reads.
 *
 * level: of the BO, a gemco_level. writer: the mapping's path, a gemco_path.
 *
 * Returns a gemco_drain_kind; -EINVAL for NULL, a path that is not the CPU's, and a bad number. Any thread; no allocation.
 */
int gemco_drain_of(const struct gemco_platform *platform,
                   unsigned int level,
                   unsigned int writer);

/**
 * Drains the stores that this thread made through a mapping, where gemco_needs_flush returns GEMCO_DRAIN: a fence, and
 * for the aperture of a platform without GEMCO_CAP_COHERENT_GGTT a read through it.
 *
 * level: of the BO, a gemco_level. writer: the mapping's path, a gemco_path. mapped: a byte of the mapping.
 *
 * Returns 0, also if there is nothing to drain; -EINVAL for NULL, a path that is not the CPU's, and a bad number. The
 * thread that stored; no allocation.
 */
int gemco_drain(const struct gemco_platform *platform, unsigned int level, unsigned int writer, const void *mapped);

/**
 * Returns the level of a BO of a caching mode: DISPLAY is WT where that exists, and NONE elsewhere; DEFAULT is the level
 * of a BO whose mode and PAT index nobody set. Showing a BO gives it the level of DISPLAY.
 *
 * Returns a gemco_level; -EINVAL for a bad number. Any thread; no allocation.
 */
int gemco_caching_level(const struct gemco_platform *platform,
                        unsigned int caching);

/**
 * Returns the level of a BO that was created with a PAT index (CREATE_EXT with SET_PAT).
 *
 * Returns a gemco_level; -ENODEV where the kernel has no such choice: before graphics version 12.70, and before Linux
 * 6.5; -EINVAL for an index that the kernel refuses. Any thread; no allocation.
 */
int gemco_pat_level(const struct gemco_platform *platform, unsigned int index);

/**
 * Returns how a MOCS entry treats the LLC, as i915 programs it. On graphics 8, which has no entries, index is the MOCS field of a
 * command.
 *
 * Returns a gemco_mocs; -EINVAL for an index above 255. Any thread; no allocation.
 */
int gemco_mocs_class(const struct gemco_platform *platform,
                     unsigned int index);

/**
 * Returns the CPU's path through a mapping.
 *
 * mode: a gemco_map_mode, but not GEMCO_MAP_DEFAULT. Returns a gemco_path; -EINVAL for a bad number. Any thread; no allocation.
 */
int gemco_map_path(unsigned int mode);

/**
 * Returns the GPU's path with a MOCS entry of a class.
 *
 * mocs: a gemco_mocs. Returns a gemco_path; -EINVAL for a bad number. Any thread; no allocation.
 */
int gemco_mocs_path(unsigned int mocs);

/**
 * Returns the best map mode for a BO of a level: write-back where the GPU sees the CPU's caches, write-combining
 * elsewhere, fixed on discrete devices.
 *
 * Returns a gemco_map_mode; -EINVAL for a bad number. Any thread; no allocation.
 */
int gemco_default_map_mode(const struct gemco_platform *platform, unsigned int level);

/**
 * Returns which CPU accesses through the cache are coherent with the GPU: bit 0 for reads, bit 1 for writes
 * (I915_BO_CACHE_COHERENT_FOR_*).
 *
 * Returns the bits; -EINVAL for a bad number. Any thread; no allocation.
 */
int gemco_coherency(const struct gemco_platform *platform, unsigned int level);

/**
 * Checks whether cache operations work: 0, or -EOPNOTSUPP or -EINVAL with the reason in gemco_last_error.
 *
 * Fails for a CPU whose lines do not have 64 bytes, and for a GEM_COHERENCY_CACHEOPS that requests an instruction that
 * the CPU lacks, or two of a kind or an unknown one (-EINVAL); the operations then use CLFLUSH. Any thread; no allocation.
 */
int gemco_has_cache_ops(void);

/**
 * Flushes every line with a byte in the range, and waits: earlier stores are in memory before any later store, and the
 * lines leave the cache.
 *
 * Includes its fences. A size of 0 is a no-op. Returns 0; -EINVAL for NULL, and for a range that wraps around. The
 * bytes must be mapped: a page without access (PROT_NONE) faults, as for a load. Any thread; no allocation.
 */
int gemco_flush_range(const void *start, size_t size);

/**
 * Writes back every line with a byte in the range, and waits; lines may stay in the cache, clean.
 *
 * Sufficient where the GPU only reads, and cheaper than gemco_flush_range if the CPU keeps using the bytes. Otherwise
 * as gemco_flush_range.
 */
int gemco_write_back_range(const void *start, size_t size);

/**
 * Invalidates every line with a byte in the range, and waits: the next load reads memory. A dirty line is written back
 * first.
 *
 * As gemco_flush_range.
 */
int gemco_flush_inval_range(const void *start, size_t size);

/**
 * As gemco_flush_range, without fences: for several ranges between gemco_pre_flush_fence and gemco_post_flush_fence.
 */
int gemco_flush_range_no_fence(const void *start, size_t size);

/**
 * As gemco_flush_inval_range, without fences: for several ranges between gemco_pre_flush_fence and
 * gemco_post_flush_inval_fence.
 */
int gemco_flush_inval_range_no_fence(const void *start, size_t size);

/**
 * Orders earlier stores and loads before later flushes; drains this core's write-combining buffers.
 *
 * Any thread; no allocation.
 */
void gemco_pre_flush_fence(void);

/**
 * Waits for flushes: an agent that sees a later store finds them complete.
 *
 * Any thread; no allocation.
 */
void gemco_post_flush_fence(void);

/**
 * Waits for flushes and invalidates: a later load of this thread reads memory.
 *
 * Any thread; no allocation.
 */
void gemco_post_flush_inval_fence(void);

/**
 * Looks up a device of the kernel driver xe by its PCI ID, without opening it.
 *
 * kernel_major, kernel_minor: the kernel version, or 0, 0 for the newest one with known rules.
 * graphics_major, graphics_minor: the version of the graphics IP (ip_ver_major and ip_ver_minor of the main GT in
 * DRM_XE_DEVICE_QUERY_GT_LIST), or 0, 0 for the platform's, which is also what devices before Meteor Lake report.
 *
 * Returns 0; -ENODEV for an ID that xe of this kernel does not list; -EINVAL for a kernel before 6.12, and for a graphics
 * version without a PAT table. Any thread; no allocation.
 */
int gemco_xe_device_by_id(uint16_t pci_id,
                          uint16_t kernel_major,
                          uint16_t kernel_minor,
                          uint8_t graphics_major,
                          uint8_t graphics_minor,
                          struct gemco_xe_device *device);

/**
 * Returns whether the kernel accepts a mapping in an address space without page faults: first GEM_CREATE of the object,
 * then VM_BIND (DRM_XE_VM_BIND_OP_MAP, for the process's pages _MAP_USERPTR).
 *
 * Memory is taken to be there, and handles and syncs to be right.
 *
 * refusal: the request that is refused, its errno and the check that fails, the first in the kernel's order; may be NULL.
 *
 * Returns 0 if the kernel accepts the requests, else the errno of the refusal, which is positive; -EINVAL for a question
 * that cannot be asked: NULL, a bad number. Any thread; no allocation.
 */
int gemco_xe_bind_refusal(const struct gemco_xe_device *device,
                          const struct gemco_xe_mapping *mapping,
                          struct gemco_xe_refusal *refusal);

/**
 * Decides what is required between a write to memory and the next access to it, if a mapping of the whole of it has the
 * PAT index. The mapping's offset, address, range and bind_flags are ignored.
 *
 * writer, next: a gemco_xe_agent. when: a gemco_xe_when.
 * decision: the verdict with its rule; may be NULL.
 *
 * Returns the verdict, a gemco_verdict: GEMCO_DRAIN means gemco_pre_flush_fence by the thread that stored, before the
 * request that submits; GEMCO_FLUSH gemco_flush_range over what the CPU wrote; GEMCO_FLUSH_GPU that the batch flushes the
 * GPU's caches; GEMCO_REFUSED that there is no such access. The CPU never has to invalidate. -EINVAL for NULL and for a bad
 * number. Any thread; no allocation.
 */
int gemco_xe_needs_flush(const struct gemco_xe_device *device,
                         const struct gemco_xe_mapping *mapping,
                         unsigned int writer,
                         unsigned int next,
                         unsigned int when,
                         struct gemco_decision *decision);

/**
 * Chooses the memory and the mapping for a use.
 *
 * purpose: a gemco_xe_use. size: the size in bytes, not 0.
 * mapping: the fields memory, placement and create_flags of GEM_CREATE, and pat_index of VM_BIND; size and range are `size`,
 * rounded up to the pages of the placement. The other fields are 0: the caller sets the address, and for its own pages the
 * offset.
 *
 * Returns 0; -EOPNOTSUPP for GEMCO_XE_USE_SCANOUT on a device without a display; -EINVAL for NULL and for a bad number. Any
 * thread; no allocation.
 */
int gemco_xe_choose(const struct gemco_xe_device *device,
                    unsigned int purpose,
                    uint64_t size,
                    struct gemco_xe_mapping *mapping);

/**
 * Opens the device `name`: a path ("/dev/dri/renderD128"), or a software device ("sim:jsl", "sim:glk,kernel=6.1,display=on").
 * docs/gemtool.md ("Devices") lists the options of software devices; the text of the error about a bad one does, too.
 *
 * flags: 0, or GEMCO_OPEN_CONSERVATIVE.
 * device: the new device, with one reference, which the caller drops with gemco_device_unref.
 *
 * Returns 0; -ENOENT, -EACCES and other errnos of open(2); -ENODEV for a file that is not a node of i915 or xe, and for an
 * unknown PCI ID; -EINVAL for a bad name, unknown flags, and a kernel that is too old; -EILSEQ for a name that is not
 * UTF-8; the errno of GETPARAM. Any thread.
 */
int gemco_device_open(const char *name,
                      unsigned int flags,
                      struct gemco_device **device);

/**
 * Opens the device behind `device` again: another file, with its own handles for the same objects. Each file can
 * import and map the other's exports, as another process would.
 *
 * A path is opened again. A software device stays the same one, while each gemco_device_open creates a new one.
 *
 * flags, again: as for gemco_device_open.
 *
 * Returns as gemco_device_open. Any thread.
 */
int gemco_device_open_again(const struct gemco_device *device, unsigned int flags, struct gemco_device **again);

/**
 * Opens the first node of i915 or xe in /dev/dri; never a software device.
 *
 * Returns 0; -ENODEV if there is none; otherwise as gemco_device_open. Any thread.
 */
int gemco_device_open_first(unsigned int flags, struct gemco_device **device);

/**
 * Opens a device by the caller's open file. It is duplicated, so GEM handles are valid for both; the caller still owns
 * and closes its own descriptor.
 *
 * fd: an open node of i915 or xe.
 *
 * Returns 0; -EBADF if `fd` is not open, -EMFILE if it cannot be duplicated; otherwise as gemco_device_open. Any thread.
 */
int gemco_device_open_fd(int fd,
                         unsigned int flags,
                         struct gemco_device **device);

/**
 * Looks up the platform of the caller's open file: its PCI ID, the running kernel's version, and what the device reports
 * about itself (HAS_LLC, HAS_WT, MMAP_GTT_COHERENT), which overrides the table.
 *
 * fd: an open i915 node; the caller keeps it.
 *
 * Returns as gemco_device_open_fd. Any thread.
 */
int gemco_platform_by_fd(int fd,
                         struct gemco_platform *platform);

/**
 * Returns the device's file, which belongs to the device: do not close it. GEM handles of the device's BOs are valid
 * in it.
 *
 * Returns a file descriptor; -EOPNOTSUPP for a software device. Any thread.
 */
int gemco_device_fd(const struct gemco_device *device);

/**
 * Adds a reference; returns `device`, or NULL for NULL.
 *
 * Any thread.
 */
struct gemco_device *gemco_device_ref(struct gemco_device *device);

/**
 * Drops a reference; the last one closes the device, once its BOs are freed. NULL is a no-op.
 *
 * Any thread.
 */
void gemco_device_unref(struct gemco_device *device);

/**
 * Gets the device's platform and capabilities; the device's own values override the table's.
 *
 * Returns 0; -ENODEV if the device is unplugged, and other errnos of GETPARAM. Any thread.
 */
int gemco_device_platform(const struct gemco_device *device, struct gemco_platform *platform);

/**
 * Returns what MOCS entry `index`, or on graphics 8 the MOCS field of a command, means for coherency on this device.
 *
 * Returns a gemco_mocs; -EINVAL for an index above 255. Any thread.
 */
int gemco_device_mocs(const struct gemco_device *device, unsigned int index);

/**
 * Counts the GEM handles and CPU mappings that the library has open on the device; for finding leaks.
 *
 * handles, mappings: each may be NULL. Returns 0. Any thread.
 */
int gemco_device_open_counts(const struct gemco_device *device, uint64_t *handles, uint64_t *mappings);

/**
 * Keeps up to `bytes` bytes of BOs for reuse, from now on; 0, the default, keeps nothing.
 *
 * gemco_bo_unref of the last reference then leaves the object to the device, and gemco_bo_create reuses it. A reused
 * BO holds bytes of its earlier lifetime: its contents are undefined until they are written.
 *
 * Returns 0. Any thread.
 */
int gemco_device_set_reuse_limit(const struct gemco_device *device, uint64_t bytes);

/**
 * Closes a BO kept for reuse after `allocations` further allocations that did not use it; the default is 1024.
 *
 * Returns 0. Any thread.
 */
int gemco_device_set_reuse_age(const struct gemco_device *device, uint64_t allocations);

/**
 * Closes every BO that is kept for reuse.
 *
 * Returns 0. Any thread.
 */
int gemco_device_trim(const struct gemco_device *device);

/**
 * Gets reuse-cache statistics.
 *
 * Returns 0. Any thread.
 */
int gemco_device_reuse_stats(const struct gemco_device *device, struct gemco_reuse_stats *stats);

/**
 * Creates a BO, or reuses one (gemco_device_set_reuse_limit).
 *
 * size: in bytes; rounded up to whole pages. caching: a gemco_caching.
 * bo: the new BO, with one reference, which the caller drops with gemco_bo_unref. It reads as zeroes, unless it is
 * reused.
 *
 * Returns 0; -EINVAL for a size of 0 or one that is too large; -ENOMEM for more than the memory; -ENODEV or -EOPNOTSUPP for
 * a caching mode that the platform refuses; the errno of GEM_CREATE and SET_CACHING. Any thread.
 */
int gemco_bo_create(const struct gemco_device *device,
                    uint64_t size,
                    unsigned int caching,
                    struct gemco_bo **bo);

/**
 * Opens the BO behind a dma-buf. If it is already open on this device, the result is the same BO under another
 * pointer.
 *
 * dma_buf: the caller keeps it. bo: as for gemco_bo_create.
 *
 * Returns 0; -EBADF for a descriptor that is not open, -EINVAL for one that is not a dma-buf; -ENOMEM; the errno of
 * PRIME_FD_TO_HANDLE; as gemco_bo_map, except that a buffer that cannot be mapped (-ENODEV) is imported. Any thread.
 */
int gemco_bo_import(const struct gemco_device *device, int dma_buf, struct gemco_bo **bo);

/**
 * Flushes everything written to the BO, then exports it as a dma-buf.
 *
 * Only gemco_bo_flush flushes later writes for the importer, and only after gemco_bo_mark_stale are the importer's
 * writes sure to be seen. The BO is never reused.
 *
 * Returns a file descriptor, which the caller closes; -EMFILE or another errno of PRIME_HANDLE_TO_FD; as gemco_bo_flush.
 * Any thread.
 */
int gemco_bo_export(const struct gemco_bo *bo);

/**
 * Adds a reference; returns `bo`, or NULL for NULL.
 *
 * Any thread.
 */
struct gemco_bo *gemco_bo_ref(struct gemco_bo *bo);

/**
 * Drops a reference; flushes nothing. After the last one, and without an access, submission or scanout in progress,
 * the handle is closed or the object kept for reuse, and pointers into the BO are invalid. NULL is a no-op.
 *
 * Any thread.
 */
void gemco_bo_unref(struct gemco_bo *bo);

/**
 * Closes the GEM handle now, for every reference; from then on every call about the BO except gemco_bo_ref and
 * gemco_bo_unref returns -ENOENT. It is never reused.
 *
 * The pointer, and pointers into mappings, stay valid until the last reference is dropped.
 *
 * Returns 0; -EBUSY while an access or a submission is open, the BO is on screen, or another thread changes its caching
 * mode or mapping; -ENOENT if it is closed; the errno of GEM_CLOSE. Any thread.
 */
int gemco_bo_close(const struct gemco_bo *bo);

/**
 * Returns the BO's GEM handle for the caller's own ioctls; the caller must not close it. 0 for NULL and for a closed
 * BO.
 *
 * Any thread.
 */
uint32_t gemco_bo_handle(const struct gemco_bo *bo);

/**
 * Returns the BO's size in bytes, whole pages. 0 for NULL and for a closed BO.
 *
 * Any thread.
 */
uint64_t gemco_bo_size(const struct gemco_bo *bo);

/**
 * The BO's cache level; scanout and gemco_bo_set_caching change it.
 *
 * Returns a gemco_level; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_level(const struct gemco_bo *bo);

/**
 * Changes the caching mode; waits for the GPU.
 *
 * caching: a gemco_caching, but not the default.
 *
 * Returns 0; -EBUSY while an access or a submission is open, while another thread changes the caching mode or the mapping,
 * and for a BO on screen whose level would change; -ENODEV or -EOPNOTSUPP for a mode that the platform refuses; -ENOENT
 * for a closed BO, -EFAULT for a purged one; the errno of GEM_WAIT, SET_DOMAIN and SET_CACHING. Any thread.
 */
int gemco_bo_set_caching(const struct gemco_bo *bo,
                         unsigned int caching);

/**
 * Flushes every dirty line and drains every store, so that memory is current for every reader, also for one that the
 * library does not submit to.
 *
 * report: may be NULL. Returns as gemco_submit_begin. Any thread.
 */
int gemco_bo_flush(const struct gemco_bo *bo, struct gemco_report *report);

/**
 * Counts the lines of the BO that may be newer in the CPU's cache than in memory (dirty), and older (stale).
 *
 * dirty, stale: each may be NULL. Returns 0; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_lines(const struct gemco_bo *bo, uint64_t *dirty, uint64_t *stale);

/**
 * Checks whether engines still use the BO.
 *
 * Returns 1 or 0; -ENOENT for a closed BO; the errno of GEM_BUSY. Any thread.
 */
int gemco_bo_busy(const struct gemco_bo *bo);

/**
 * Waits until the GPU is done with the BO, at most `timeout_ns` nanoseconds; without limit if that is negative.
 *
 * Returns 0; -ETIME; -ENOENT for a closed BO; the errno of GEM_WAIT. Any thread.
 */
int gemco_bo_wait(const struct gemco_bo *bo, int64_t timeout_ns);

/**
 * Marks the contents as not needed, so that the kernel may purge them; until gemco_bo_will_need every access returns
 * -EFAULT.
 *
 * Returns 1 if they still exist, 0 if they were purged; -EFAULT if an earlier call returned that; -EBUSY as
 * gemco_bo_close; -ENOENT for a closed BO; the errno of MADVISE. Any thread.
 */
int gemco_bo_dont_need(const struct gemco_bo *bo);

/**
 * Marks the contents as needed again.
 *
 * Returns 1 if they still exist, 0 if they were purged, which is final; -EFAULT if an earlier call returned that; -EBUSY
 * while another thread changes the caching mode, the mapping, or whether the contents are needed; -ENOENT for a closed BO; the
 * errno of MADVISE. Any thread.
 */
int gemco_bo_will_need(const struct gemco_bo *bo);

/**
 * Marks the object as shared by means that the library does not see, so that it is closed when released, never reused. From
 * then on any agent may read an adopted object (gemco_object).
 *
 * Returns 0; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_never_reuse(const struct gemco_bo *bo);

/**
 * Maps the whole BO, and uses this mapping from now on; earlier mappings stay.
 *
 * mode: a gemco_map_mode. pointer: the BO's first byte, valid until gemco_bo_unmap or until the last
 * reference is dropped; may be NULL. Stores
 * through it must be reported (gemco_bo_mark_written), and loads are right only between gemco_access_begin and
 * gemco_access_end.
 *
 * Returns 0; -ENODEV for a mode that the platform does not have, and for an import of another device; -EFAULT where the
 * first access would raise SIGBUS, and for a purged BO; -ENOENT for a closed BO; -ENOMEM and other errnos of MMAP_OFFSET and
 * mmap(2). Any thread.
 */
int gemco_bo_map(const struct gemco_bo *bo,
                 unsigned int mode,
                 void **pointer);

/**
 * Returns the mode in which accesses map the BO, or will map it.
 *
 * Returns a gemco_map_mode; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_map_mode(const struct gemco_bo *bo);

/**
 * Releases the BO's mappings: unmaps the library's, and forgets the caller's, which the caller may then unmap. Pointers
 * into them are not valid from the start of the call on, in any thread. The next access maps the BO again.
 *
 * Nothing that was reported is lost. Stores that bypass the cache are drained. Dirty lines of an adopted BO are flushed for
 * its readers (gemco_object), or as gemco_bo_flush does if they are all. All others stay dirty, and the library maps the BO
 * again when it has to flush them.
 *
 * Submissions and shows go on meanwhile, in other threads and in this one.
 *
 * Returns 0, also without a mapping; -EBUSY while an access is open, or another thread changes the caching mode or the
 * mapping; -EFAULT for a BO without contents; -ENOENT for a closed BO; as gemco_bo_flush. On an error the
 * mappings stay. Any thread.
 */
int gemco_bo_unmap(const struct gemco_bo *bo);

/**
 * As gemco_bo_unmap, for loads through the new mapping, too; then uses that mapping of the caller's, as that of
 * gemco_bo_adopt. The BO is never reused.
 *
 * mapped: the caller's mapping of the whole BO, which stays until gemco_bo_unmap, gemco_bo_remap or until the last
 * reference is dropped. mode: its gemco_map_mode, but not GEMCO_MAP_DEFAULT.
 *
 * Returns as gemco_bo_unmap; -EINVAL for NULL, for an address that is not the start of a page, for a bad mode, and for a BO
 * of a software device. Any thread.
 */
int gemco_bo_remap(const struct gemco_bo *bo,
                   void *mapped,
                   unsigned int mode);

/**
 * Tracks a buffer object that the caller created, maps and closes: dirty and stale lines, submissions, scanout.
 *
 * The object is any that has a handle in the device's file (gemco_device_open_fd): of CREATE_EXT, USERPTR or an import.
 * Drop the references before the handle is closed; nothing is flushed then, so call gemco_bo_flush first if the object
 * lives on. Call gemco_bo_unmap before the mapping is unmapped, or drop the references. The library sees only what passes
 * through it: report stores by other mappings and APIs (gemco_bo_mark_written), other writers of memory
 * (gemco_bo_mark_stale) and batches (gemco_submit_begin, gemco_gpu_wrote). Levels are changed with gemco_bo_set_caching.
 *
 * If the handle was adopted before and its BO still exists, this is the same BO under another pointer, as by
 * gemco_bo_import. What is pending stays; GEMCO_ADOPT_NEW is ignored. The mapping is used if the BO has none or one that
 * bypasses the cache; stores by either are then flushed. gemco_bo_unmap ends both. The readers join those of the BO.
 *
 * object: copied. bo: the BO, with one reference.
 *
 * Returns 0; -EINVAL for a size that is not whole pages or larger than the device's memory, a bad number, a reader that is no gemco_path, a
 * mapping on a software device, and a handle that was adopted with another size, fixed level, wait or map mode; -EBUSY for an object
 * that gemco_bo_create or gemco_bo_import made; -EOPNOTSUPP under xe (gemco_bo_adopt_xe); -ENOMEM. Any thread.
 */
int gemco_bo_adopt(const struct gemco_device *device,
                   const struct gemco_object *object,
                   struct gemco_bo **bo);

/**
 * Tracks a buffer object that the caller created, maps, binds and closes under xe, as gemco_bo_adopt does under i915.
 *
 * object: as for gemco_bo_adopt; the level is 0 and follows from the mappings, and of the flags GEMCO_ADOPT_NEW and
 * GEMCO_ADOPT_WAITED are known. Without GEMCO_ADOPT_WAITED the library waits for the batches that it submitted; for its own ones the
 * caller waits. map_mode: GEMCO_MAP_FIXED on a discrete device, else GEMCO_MAP_WB or GEMCO_MAP_WC as the object was created.
 * mappings, count: how the object was created, which is the same in each, and each PAT index by which the caller binds it; at
 * least one. The offset, address, range and bind_flags are ignored. Of several mappings the most cached one counts.
 * bo: as for gemco_bo_adopt; a handle that was adopted before gets the mappings, too.
 *
 * Returns 0; -ENODEV under i915; -EINVAL also for an index that VM_BIND refuses for the whole object, with its check, for no mapping,
 * and for another map mode; the errno of a GEM_CREATE that is refused; otherwise as gemco_bo_adopt. Any thread.
 */
int gemco_bo_adopt_xe(const struct gemco_device *device,
                      const struct gemco_object *object,
                      const struct gemco_xe_mapping *mappings,
                      size_t count,
                      struct gemco_bo **bo);

/**
 * Reports that the caller binds the object by another PAT index under xe: before a batch uses the mapping, once for each
 * index that gemco_bo_adopt_xe was not told of. It may be a BO of the library's, too, which is then never reused.
 *
 * What any of the mappings requires is done for all, also after one has ended.
 *
 * Returns 0; -ENODEV under i915; -EINVAL for an index that VM_BIND refuses for the whole object, with its check; -ENOENT for a
 * closed BO; -EFAULT if its contents are lost; -EBUSY during gemco_bo_set_caching. Any thread.
 */
int gemco_bo_bound_by(const struct gemco_bo *bo,
                      unsigned int pat_index);

/**
 * Returns the BO of a GEM handle in the device's file, which was created, imported or adopted on this device.
 *
 * bo: the same BO under another pointer, with one reference.
 *
 * Returns 0; -ENOENT if the handle has no BO; -EINVAL for handle 0. Any thread.
 */
int gemco_bo_by_handle(const struct gemco_device *device, uint32_t handle, struct gemco_bo **bo);

/**
 * Makes the CPU's stores to `len` bytes at `offset` visible to `readers`: vkFlushMappedMemoryRanges in one call. The
 * stores were made through the BO's mapping and need not have been reported.
 *
 * len: GEMCO_WHOLE_SIZE for all up to the end. Whole lines of 64 bytes are flushed (nonCoherentAtomSize is 64).
 * readers: a bit (1u << path) for each possible gemco_path. If none of them requires a flush, it costs look-ups only, and
 * the stores are not recorded for other readers.
 * report: what was flushed, or the rule by which nothing was; may be NULL.
 *
 * Returns 0; -EINVAL for a range outside the BO, and for bad readers; -ENODEV if no reader exists on the platform;
 * otherwise as gemco_submit_begin. The thread that stored.
 */
int gemco_bo_flush_range(const struct gemco_bo *bo,
                         uint64_t offset,
                         uint64_t len,
                         unsigned int readers,
                         struct gemco_report *report);

/**
 * Makes the GPU's writes to `len` bytes at `offset` visible to the CPU's loads through the BO's mapping:
 * vkInvalidateMappedMemoryRanges in one call. The caller has waited for the writes, which need not have been reported.
 *
 * len, report: as gemco_bo_flush_range. If nothing is required, it costs a look-up only. Through a mapping that bypasses
 * the CPU's cache, where the GPU's writes may be in that cache, the whole BO is written back.
 *
 * Returns 0; -EINVAL for a range outside the BO; otherwise as gemco_bo_write. Any thread.
 */
int gemco_bo_invalidate_range(const struct gemco_bo *bo,
                              uint64_t offset,
                              uint64_t len,
                              struct gemco_report *report);

/**
 * Stores `len` bytes at `offset`; lines that are stale and overwritten in part are invalidated first. Nothing is
 * flushed until another agent is about to read.
 *
 * data: not in a mapping of the BO. report: what was invalidated or flushed for it; may be NULL. Waits for GPU writes
 * that the library knows of.
 *
 * Returns 0; -EINVAL for a range outside the BO; -ENOENT for a closed BO, -EFAULT for one without contents; -EBUSY while
 * another thread changes the caching mode or the mapping; -EOVERFLOW for too many accesses at once; as gemco_bo_map, also
 * if the mapping cannot be used at the BO's level; the errno of GEM_WAIT and GET_CACHING. Any thread.
 */
int gemco_bo_write(const struct gemco_bo *bo,
                   uint64_t offset,
                   const void *data,
                   size_t len,
                   struct gemco_report *report);

/**
 * Invalidates stale lines in the range, then loads `len` bytes from `offset`.
 *
 * As gemco_bo_write.
 */
int gemco_bo_read(const struct gemco_bo *bo, uint64_t offset, void *data, size_t len, struct gemco_report *report);

/**
 * Stores `len` bytes at `offset` for the GPU: where the GPU reads only memory, they are in memory when this returns,
 * and not dirty. Elsewhere as gemco_bo_write.
 *
 * hint: what the CPU does next, a gemco_upload_hint.
 *
 * As gemco_bo_write.
 */
int gemco_bo_upload(const struct gemco_bo *bo,
                    uint64_t offset,
                    const void *data,
                    size_t len,
                    unsigned int hint,
                    struct gemco_report *report);

/**
 * Reports that this thread stored `len` bytes at `offset` through the mapping.
 *
 * Returns 0; -EINVAL for a range outside the BO; -ENOENT for a closed BO; as gemco_bo_map, if the BO is not mapped. The
 * thread that stored: a write-combining buffer is drained by its own core only. Another thread may call it for stores
 * through a write-back mapping, or after the thread that stored called gemco_drain, if the stores happened before the call.
 */
int gemco_bo_mark_written(const struct gemco_bo *bo,
                          uint64_t offset,
                          uint64_t len);

/**
 * Reports that another agent wrote `len` bytes at `offset` to memory: another process or device, or a batch that the
 * library does not know of. The next read invalidates stale lines.
 *
 * Returns 0; -EINVAL for a range outside the BO; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_mark_stale(const struct gemco_bo *bo, uint64_t offset, uint64_t len);

/**
 * Begins an access to `len` bytes at `offset` through the BO's mapping, like DMA_BUF_IOCTL_SYNC with START, for a
 * range.
 *
 * kind: a gemco_access_kind. access: the access, which gemco_access_end takes. pointer: as gemco_access_pointer gets it, in
 * the same call; may be NULL. report: what was invalidated or flushed for it so far; may be NULL. Waits for GPU writes that
 * the library knows of. Until the end, the BO can neither be closed or unmapped nor change its caching mode.
 *
 * Returns as gemco_bo_write. Any thread.
 */
int gemco_access_begin(const struct gemco_bo *bo,
                       unsigned int kind,
                       uint64_t offset,
                       uint64_t len,
                       struct gemco_access **access,
                       void **pointer,
                       struct gemco_report *report);

/**
 * Invalidates stale lines in the access's range, and gets the address of the BO's mapping.
 *
 * pointer: the BO's first byte, not the range's, as gemco_bo_map gets it: offsets of all functions count from there. Loads
 * and stores through it stay within the range, and are made before gemco_access_end.
 *
 * Returns as gemco_bo_map, and the errno of GEM_WAIT, for the invalidate. Any thread.
 */
int gemco_access_pointer(struct gemco_access *access,
                         void **pointer);

/**
 * Reports that `len` bytes at `offset` of the BO were stored. After such calls only the reported bytes count as
 * written; without one the whole range does at the end, if gemco_access_begin or gemco_access_pointer gave a pointer.
 *
 * Returns 0; -EINVAL for bytes outside the range, -EACCES for a read access. The thread that stored, as for
 * gemco_bo_mark_written.
 */
int gemco_access_written(struct gemco_access *access, uint64_t offset, uint64_t len);

/**
 * Ends an access, whatever is returned. NULL is a no-op.
 *
 * report: what was invalidated or flushed for the whole access; may be NULL.
 *
 * Returns 0; -EINVAL for a misaligned pointer. Any thread, if gemco_access_written reported the stores, or none was made;
 * otherwise the thread that stored, as for gemco_bo_mark_written.
 */
int gemco_access_end(struct gemco_access *access,
                     struct gemco_report *report);

/**
 * Begins a sequential write to `len` bytes at `offset`, by plain stores front to back through the BO's mapping. Until the end,
 * every line from the last announcement on counts as dirty: a submission meanwhile flushes them.
 *
 * stream: the stream, which gemco_stream_end takes. pointer: the BO's first byte, as gemco_bo_map gets it. Waits for GPU writes
 * that the library knows of. Until the end, the BO can neither be closed or unmapped nor change its caching mode.
 *
 * Returns as gemco_bo_write; -EBUSY while another stream of the BO is open; -EINVAL for no bytes. Any thread.
 */
int gemco_stream_begin(const struct gemco_bo *bo,
                       uint64_t offset,
                       uint64_t len,
                       struct gemco_stream **stream,
                       void **pointer);

/**
 * Reports that everything up to `end`, an offset of the BO, was stored: from now on only the bytes from there on count as dirty by
 * the stream.
 *
 * Returns 0; -EINVAL for an offset before the last one, or after the range. The thread that stored, as for
 * gemco_bo_mark_written.
 */
int gemco_stream_announce(struct gemco_stream *stream,
                          uint64_t end);

/**
 * Ends a stream, of which everything up to `end` was stored, whatever is returned. NULL is a no-op.
 *
 * report: what was invalidated for it; may be NULL.
 *
 * Returns as gemco_stream_announce: after an error the whole range counts as stored; -EINVAL for a misaligned pointer.
 */
int gemco_stream_end(struct gemco_stream *stream, uint64_t end, struct gemco_report *report);

/**
 * Maps the barrier page of a discrete device of xe. Before a submission without a request (user-mode submission) it drains stores to
 * local memory; the rule is bar-drain.
 *
 * barrier: the page, which the caller gives back with gemco_pci_barrier_unmap.
 *
 * Returns 0; -EINVAL on an integrated device and before Linux 7.2; -ENODEV under i915; the errno of MMAP_OFFSET and mmap(2). Any
 * thread.
 */
int gemco_device_pci_barrier(const struct gemco_device *device,
                             struct gemco_pci_barrier **barrier);

/**
 * Drains this thread's stores to local memory: SFENCE, and a store to the page.
 *
 * Returns 0. The thread that stored; no allocation.
 */
int gemco_pci_barrier_drain(const struct gemco_pci_barrier *barrier);

/**
 * Unmaps the page. NULL is a no-op.
 *
 * Any thread.
 */
void gemco_pci_barrier_unmap(struct gemco_pci_barrier *barrier);

/**
 * Returns the name of a rule: "bypass-mocs-read".
 *
 * Names are stable; numbers may change with the library's version. The rules of i915 are numbered from 0 on, those of xe
 * from 65536 on; a name can occur in both. NULL for a number without a rule, with a text in
 * gemco_last_error. The text is valid while the library is loaded. Any thread; no allocation.
 */
const char *gemco_rule_name(unsigned int rule);

/**
 * Returns the reason of a rule, in a sentence.
 *
 * As gemco_rule_name.
 */
const char *gemco_rule_reason(unsigned int rule);

/**
 * Returns the source of a rule: a kernel function, a commit, or a manual.
 *
 * As gemco_rule_name.
 */
const char *gemco_rule_source(unsigned int rule);

/**
 * Formats a report as a sentence: "submit: flush, 3 lines (192 bytes), by bypass-mocs-read: Reads with MOCS entries
 * ...".
 *
 * report: NULL for the last report of this thread, whether or not the call that made it returned it.
 * text, size: the buffer; the text is cut off to fit, and always ends with a 0 if size is not 0. text may be NULL if
 * size is 0.
 *
 * Returns the length of the whole sentence without its 0, like snprintf; -ENODATA if there is no last report, -EINVAL
 * for an invalid report. Any thread; no allocation.
 */
int gemco_explain(const struct gemco_report *report, char *text, size_t size);

/**
 * Flushes, invalidates and drains what the GPU's accesses require, between one pair of fences for all BOs.
 *
 * Call it after the last CPU access, and before the ioctl that submits; gemco_submit_end follows the ioctl. Until then
 * no BO can be closed or change its caching mode.
 *
 * submissions: `count` of them; may be NULL if that is 0. reports: room for as many, in the same order; may be NULL.
 * prepared: gemco_submit_end takes it.
 *
 * Returns 0; -EINVAL for a BO of another device or a bad number; -ENOENT, -EFAULT, -EBUSY for a BO that is closed,
 * without contents, or changing its caching mode or mapping; -EOVERFLOW for too many submissions at once; -ENOMEM; as
 * gemco_bo_map, for a BO that has to be flushed; the errno of GEM_WAIT and GET_CACHING. On an error, lines that were not
 * flushed stay dirty. Any thread.
 */
int gemco_submit_begin(const struct gemco_device *device,
                       const struct gemco_submission *submissions,
                       size_t count,
                       struct gemco_report *reports,
                       struct gemco_prepared **prepared);

/**
 * Ends a submission, after the ioctl, with the ioctl's result: 0, or a negative errno. NULL is a no-op.
 *
 * Records the GPU's writes for the next reader. If called before the ioctl, a reader in between consumes that record.
 * After -EIO nothing is kept for reuse any longer (gemco_device_set_reuse_limit): a wedged GPU may still write to
 * released BOs.
 *
 * Returns `result`; -EINVAL for a positive one, which ends the submission too. Any thread.
 */
int gemco_submit_end(struct gemco_prepared *prepared, int result);

/**
 * Submits an empty batch over the BOs, between the work of gemco_submit_begin and gemco_submit_end.
 *
 * Returns as gemco_submit_begin, and EXECBUFFER2's errno: -EIO if the GPU is wedged, -ENOSPC if its address space is full.
 * Any thread.
 */
int gemco_submit(const struct gemco_device *device,
                 const struct gemco_submission *submissions,
                 size_t count,
                 struct gemco_report *reports);

/**
 * Reports that a submitted batch writes the BO, if gemco_submit_begin or gemco_submit did not know of it. The next
 * access by any agent waits and does what is required.
 *
 * mocs: the access's MOCS class, a gemco_mocs.
 *
 * Returns 0; -EINVAL for a bad number; -ENOENT for a closed BO. Any thread.
 */
int gemco_gpu_wrote(const struct gemco_bo *bo, unsigned int mocs);

/**
 * Makes memory current for the display engine, and marks the BO as on screen; call it before the mode set or flip.
 *
 * Showing a BO forces its level to WT or NONE, which it keeps. Until the kernel reports that level, each access
 * queries it: the mode set or flip may fail, or never happen. scanout: gemco_scanout_end takes it, once the display
 * shows something else or the flip failed. report: may be NULL.
 *
 * Returns 0; -EINVAL for the system memory of a discrete device; otherwise as gemco_submit_begin. Any thread.
 */
int gemco_prepare_scanout(const struct gemco_bo *bo, struct gemco_scanout **scanout, struct gemco_report *report);

/**
 * Flushes later writes to a BO that is drawn to while it is shown.
 *
 * report: may be NULL. Returns as gemco_prepare_scanout. Any thread.
 */
int gemco_scanout_flush(const struct gemco_scanout *scanout, struct gemco_report *report);

/**
 * Reports that the BO is no longer on screen, or was not shown; it keeps the level that the display set. NULL is a
 * no-op.
 *
 * Any thread.
 */
void gemco_scanout_end(struct gemco_scanout *scanout);

/**
 * Sends the library's events to `callback`, from now on, for the whole process, except those of devices with a callback of
 * their own (gemco_device_set_log); NULL ends that.
 *
 * level: a gemco_log_level; less severe events are not formatted.
 * callback: called at the end of each call that has lines, on that call's thread, once for each line; possibly by
 * several threads at once. The library holds none of its locks then. The callback must return (no longjmp, no
 * exception). It may call the functions that only query: those about platforms, rules, decisions, cache lines of
 * its own memory and the last error, gemco_eu_validate, gemco_explain, gemco_job_reports, gemco_device_platform,
 * _fd, _mocs, _open_counts, _reuse_stats and _ref, gemco_bo_handle, _size, _level, _map_mode, _lines, _busy and
 * _ref. Every other function returns -EDEADLK there and does nothing; one without a result does nothing either.
 * Calls by a callback are not logged. Once this function has returned, the previous callback is not running and is
 * not called again. At most 1 MiB of lines is kept of one call; further lines are only counted.
 *
 * Returns 0; -EINVAL for a bad number; -EDEADLK from within a callback; -EBUSY if a Rust program has a subscriber of its own.
 * Any thread.
 */
int gemco_set_log(unsigned int level,
                  gemco_log_fn callback,
                  void *user);

/**
 * Sends the events of calls about one device to `callback`, from now on, in place of the callback of gemco_set_log; NULL
 * ends that. These are the calls whose first object is the device, or a BO or another object that was made on it.
 *
 * level, callback, user: as for gemco_set_log, with the same rules. With GEMCO_LOG_OFF and a callback nothing of the device
 * is logged. Releasing the last reference to the device ends it, too: later calls about its BOs are logged by the callback
 * of gemco_set_log. What gemco_device_open logs goes there as well.
 *
 * Returns as gemco_set_log. Any thread.
 */
int gemco_device_set_log(const struct gemco_device *device,
                         unsigned int level,
                         gemco_log_fn callback,
                         void *user);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GEM_COHERENCY_H */
