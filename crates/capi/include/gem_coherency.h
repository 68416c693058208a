/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * gem_coherency: cache coherency of GEM buffer objects on Intel GPUs.
 *
 * Made by cbindgen from crates/capi/src; ci/header --write makes it anew.
 * What the functions have in common (errors, threads, ownership) stands in docs/c-api.md. */

#ifndef GEM_COHERENCY_H
#define GEM_COHERENCY_H

#include <stddef.h>
#include <stdint.h>

/**
 * Opens a device whose PCI id is unknown, too: then nothing is taken to be coherent.
 */
#define GEMCO_OPEN_CONSERVATIVE 1

/**
 * What an agent does with memory.
 */
typedef enum gemco_access_kind {
    /**
     * Reads only.
     */
    GEMCO_READ = 0,
    /**
     * Writes, perhaps only parts of lines.
     */
    GEMCO_WRITE = 1,
} gemco_access_kind;

/**
 * The caching mode of a BO, as the kernel's interface has it (I915_CACHING_*).
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
     * What the platform gives; the only choice on discrete devices. For gemco_bo_create only.
     */
    GEMCO_CACHING_DEFAULT = 3,
} gemco_caching;

/**
 * What a platform can do, as bits: what decides about coherency, and nothing else.
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
     * MOCS entries 16 and 17 go around the LLC.
     */
    GEMCO_CAP_LLC_BYPASS_MOCS = 8,
    /**
     * Stores through the aperture need only a barrier.
     */
    GEMCO_CAP_COHERENT_GGTT = 16,
    /**
     * A discrete device with memory of its own.
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
     * Graphics version 12 on.
     */
    GEMCO_CAP_GEN12 = 256,
    /**
     * DG1, whose imports are taken without wbinvd.
     */
    GEMCO_CAP_DG1 = 512,
} gemco_caps;

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
 * How much is logged; what is worse than a level is, too.
 */
typedef enum gemco_log_level {
    /**
     * Nothing.
     */
    GEMCO_LOG_OFF = 0,
    /**
     * What failed and nobody else says.
     */
    GEMCO_LOG_ERROR = 1,
    /**
     * What surprises: an unknown PCI id, a handle that would not close.
     */
    GEMCO_LOG_WARN = 2,
    /**
     * Landmarks.
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
 * How the CPU maps a BO.
 */
typedef enum gemco_map_mode {
    /**
     * Write-back: through the CPU's cache.
     */
    GEMCO_MAP_WB = 0,
    /**
     * Write-combining: around the cache, stores gathered.
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
     * What fits the BO's level; for gemco_bo_map only.
     */
    GEMCO_MAP_DEFAULT = 5,
} gemco_map_mode;

/**
 * What the MOCS entry of a GPU access says about the LLC; gemco_device_mocs tells it of an index.
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
     * Around the LLC: entries 16 and 17, effective on Jasper Lake and Elkhart Lake.
     */
    GEMCO_MOCS_BYPASS_LLC = 2,
} gemco_mocs;

/**
 * An agent, and the way it takes to memory.
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
     * The CPU through a mapping as a discrete device's kernel decides.
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
 * A step of a BO's life at which something may have to be flushed.
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
     * The BO is given back.
     */
    GEMCO_STEP_RELEASE = 5,
} gemco_step;

/**
 * What the CPU does next with bytes that it uploads.
 */
typedef enum gemco_upload_hint {
    /**
     * Nothing soon: they are stored around the cache.
     */
    GEMCO_UPLOAD_ONCE = 0,
    /**
     * It reads or overwrites them: they stay in the cache, written back.
     */
    GEMCO_UPLOAD_KEPT = 1,
    /**
     * Nobody knows: the size decides.
     */
    GEMCO_UPLOAD_AUTO = 2,
} gemco_upload_hint;

/**
 * What has to happen before the next agent may access the memory.
 */
typedef enum gemco_verdict {
    /**
     * Nothing.
     */
    GEMCO_NOT_NEEDED = 0,
    /**
     * Dirty lines have to be written back.
     */
    GEMCO_FLUSH = 1,
    /**
     * Possibly stale lines have to be dropped before they are read, or partly overwritten.
     */
    GEMCO_INVALIDATE = 2,
    /**
     * Stores have to leave the CPU's write-combining buffers, or the chipset's.
     */
    GEMCO_DRAIN = 3,
    /**
     * There is no such access: the platform or the kernel refuses it.
     */
    GEMCO_REFUSED = 4,
} gemco_verdict;

/**
 * A CPU access to a range of a BO that has begun.
 *
 * Made by gemco_access_begin, and gone with gemco_access_end, whatever that answers. It holds a reference of its BO. One
 * thread at a time; the one that stores.
 */
typedef struct gemco_access gemco_access;

/**
 * A buffer object.
 *
 * Made by gemco_bo_create and gemco_bo_import, with one reference; gemco_bo_ref adds one, gemco_bo_unref takes one away, and the
 * last one closes the GEM handle, or keeps the object for reuse. Any thread may use it, several at once.
 */
typedef struct gemco_bo gemco_bo;

/**
 * An open device.
 *
 * Made by gemco_device_open and its like, with one reference; gemco_device_ref adds one, gemco_device_unref takes one away. A BO
 * keeps its device open, whether there is a reference or not. Any thread may use it, several at once.
 */
typedef struct gemco_device gemco_device;

/**
 * BOs that are ready for the GPU; until gemco_submit_end they can neither be closed nor change their caching.
 *
 * Any thread may end it.
 */
typedef struct gemco_prepared gemco_prepared;

/**
 * A BO that is on screen, or about to be. It holds a reference of it.
 *
 * Any thread may use it.
 */
typedef struct gemco_scanout gemco_scanout;

/**
 * A platform under a kernel.
 */
typedef struct gemco_platform {
    /**
     * The short name, in lower case: "jsl".
     */
    char name[16];
    /**
     * The name people use: "Jasper Lake".
     */
    char title[48];
    /**
     * What it can do: gemco_caps, by OR.
     */
    unsigned int caps;
    /**
     * The PCI id.
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
 * A verdict, and the rule that gave it; "not needed" has one, too.
 */
typedef struct gemco_decision {
    /**
     * What has to happen: a gemco_verdict.
     */
    unsigned int verdict;
    /**
     * The rule: gemco_rule_name, gemco_rule_reason, gemco_rule_source.
     */
    unsigned int rule;
} gemco_decision;

/**
 * What became of BOs and of wishes for them since the device was opened.
 */
typedef struct gemco_reuse_stats {
    /**
     * Allocations that were answered with a kept object.
     */
    uint64_t hits;
    /**
     * Allocations that could have been, and were not.
     */
    uint64_t misses;
    /**
     * Objects that were found, and that the GPU was not done with.
     */
    uint64_t busy;
    /**
     * Objects whose contents the kernel had taken.
     */
    uint64_t purged;
    /**
     * Objects that were closed after waiting too long.
     */
    uint64_t aged;
    /**
     * Objects that were closed because there was no room.
     */
    uint64_t evicted;
    /**
     * Bytes that are kept now.
     */
    uint64_t held_bytes;
    /**
     * Objects that are kept now.
     */
    uint64_t held;
} gemco_reuse_stats;

/**
 * What one step did to one BO's lines, or why it did nothing; gemco_explain makes a sentence of it.
 */
typedef struct gemco_report {
    /**
     * The step: a gemco_step.
     */
    unsigned int step;
    /**
     * What was needed, and the rule that says so.
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
     * The same, in bytes.
     */
    uint64_t bytes;
} gemco_report;

/**
 * What a batch does to one BO.
 */
typedef struct gemco_submission {
    /**
     * The BO; one that is accessed with several MOCS classes is listed once for each.
     */
    const struct gemco_bo *bo;
    /**
     * What the GPU does, a gemco_access_kind; one that writes is taken to read, too.
     */
    unsigned int access;
    /**
     * What the MOCS entries of the accesses say about the LLC, a gemco_mocs.
     */
    unsigned int mocs;
} gemco_submission;

/**
 * A function that gets the library's events: level is a gemco_log_level, text a line without a newline, which is valid
 * during the call only; user is what gemco_set_log was given.
 */
typedef void (*gemco_log_fn)(unsigned int level, const char *text, void *user);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Why the thread's last call that failed did so: a sentence with what was wrong.
 *
 * Never NULL; "" if none failed yet. Calls that succeed leave it. The text is the thread's, and stays as it is until the
 * thread's next call that fails. At most 511 bytes, UTF-8. Any thread; no allocation.
 */
const char *gemco_last_error(void);

/**
 * What the device with a PCI id is, and what it can do, without opening it.
 *
 * kernel_major, kernel_minor: the kernel that drives it, or 0, 0 for the newest whose rules are known; it makes a
 * difference on Meteor Lake.
 * edram: whether eDRAM is fused on (I915_PARAM_HAS_WT of an open device says so); ignored where i915 does not look
 * for it.
 *
 * Returns 0; -ENODEV for an id that no platform claims. Any thread; no allocation.
 */
int gemco_platform_by_id(uint16_t pci_id,
                         uint16_t kernel_major,
                         uint16_t kernel_minor,
                         int edram,
                         struct gemco_platform *platform);

/**
 * As gemco_platform_by_id, by a name ("jsl"), a title ("Jasper Lake") or an id ("8086:4e61"); -ENODEV for others.
 *
 * Any thread; allocates.
 */
int gemco_platform_by_name(const char *name,
                           uint16_t kernel_major,
                           uint16_t kernel_minor,
                           int edram,
                           struct gemco_platform *platform);

/**
 * What has to leave the writer's caches before `next` accesses the same memory.
 *
 * caps: of gemco_platform. level: a gemco_level. writer, next: a gemco_path. access: what `next` does, a
 * gemco_access_kind. decision: the verdict with its rule; may be NULL.
 *
 * Returns the verdict, which is not negative: GEMCO_FLUSH means gemco_flush_range over what was written, GEMCO_DRAIN a
 * store fence (gemco_pre_flush_fence; for an aperture without GEMCO_CAP_COHERENT_GGTT a read through it, too),
 * GEMCO_REFUSED that the platform has no such access. -EINVAL for a number that is none of an enum's. Any thread;
 * no allocation.
 */
int gemco_needs_flush(unsigned int caps,
                      unsigned int level,
                      unsigned int writer,
                      unsigned int next,
                      unsigned int access,
                      struct gemco_decision *decision);

/**
 * What `next` has to drop from its cache before it accesses memory that `writer` wrote.
 *
 * As gemco_needs_flush; GEMCO_INVALIDATE means gemco_flush_inval_range over what is read, or the first and the last line
 * of what is overwritten in part.
 */
int gemco_needs_invalidate(unsigned int caps,
                           unsigned int level,
                           unsigned int writer,
                           unsigned int next,
                           unsigned int access,
                           struct gemco_decision *decision);

/**
 * The level that a caching mode means on a platform: DISPLAY is WT where there is one, and NONE elsewhere.
 *
 * Returns a gemco_level; -EINVAL. Any thread; no allocation.
 */
int gemco_caching_level(unsigned int caps, unsigned int caching);

/**
 * How a BO of a level is best mapped: write-back where the GPU sees the CPU's caches, write-combining elsewhere, fixed on
 * discrete devices.
 *
 * Returns a gemco_map_mode; -EINVAL. Any thread; no allocation.
 */
int gemco_default_map_mode(unsigned int caps,
                           unsigned int level);

/**
 * Which CPU accesses through the cache agree with the GPU: bit 0 for reads, bit 1 for writes
 * (I915_BO_CACHE_COHERENT_FOR_*).
 *
 * Returns the bits; -EINVAL. Any thread; no allocation.
 */
int gemco_coherency(unsigned int caps, unsigned int level);

/**
 * Whether cache operations work here: 0, or -EOPNOTSUPP with the reason in gemco_last_error.
 *
 * They fail for a CPU whose lines do not have 64 bytes, and for a GEM_COHERENCY_CACHEOPS that asks for what the CPU lacks;
 * then the operations use CLFLUSH. The first cache operation of a process, or this, finds out what the CPU has,
 * and allocates once for it. Any thread.
 */
int gemco_has_cache_ops(void);

/**
 * Flushes every line with a byte in the range, and waits for it: stores before are in memory before any store after, and
 * the lines leave the cache.
 *
 * The fences are its own. A range of size 0 is none. Returns 0; -EINVAL for NULL, and for a range that wraps around. The
 * bytes must be mapped, but not readable. Any thread; no allocation.
 */
int gemco_flush_range(const void *start,
                      size_t size);

/**
 * Writes back every line with a byte in the range, and waits for it; lines may stay in the cache, clean.
 *
 * Enough where the GPU only reads, and cheaper than gemco_flush_range if the CPU goes on with the bytes. Otherwise as
 * gemco_flush_range.
 */
int gemco_write_back_range(const void *start, size_t size);

/**
 * Invalidates every line with a byte in the range, and waits for it: the next load reads memory. A dirty line is written
 * back first.
 *
 * As gemco_flush_range.
 */
int gemco_flush_inval_range(const void *start,
                            size_t size);

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
 * Orders what was stored and loaded before against the flushes that come; drains this core's write-combining buffers.
 *
 * Any thread; no allocation.
 */
void gemco_pre_flush_fence(void);

/**
 * Waits for flushes: who learns of them by a later store finds them done.
 *
 * Any thread; no allocation.
 */
void gemco_post_flush_fence(void);

/**
 * Waits for invalidates, too: a later load of this thread reads memory.
 *
 * Any thread; no allocation.
 */
void gemco_post_flush_inval_fence(void);

/**
 * Opens the device that `name` says: a path ("/dev/dri/renderD128"), or a software device ("sim:jsl").
 *
 * flags: 0, or GEMCO_OPEN_CONSERVATIVE.
 * device: the new device, with one reference, which the caller gives back with gemco_device_unref.
 *
 * Returns 0; -ENOENT, -EACCES and others of open(2); -ENODEV for what is not i915's (/dev/null, another driver's node), and
 * for an unknown PCI id; -EINVAL for a bad name. Any thread.
 */
int gemco_device_open(const char *name,
                      unsigned int flags,
                      struct gemco_device **device);

/**
 * Opens the device behind `device` once more: another file, with handles of its own for the same objects. What the one exports
 * the other can import and map, as another process would.
 *
 * A path is opened again; a software device, which is one of its own for each gemco_device_open, stays the same one.
 *
 * flags, again: as for gemco_device_open.
 *
 * Returns 0; as gemco_device_open. Any thread.
 */
int gemco_device_open_again(const struct gemco_device *device,
                            unsigned int flags,
                            struct gemco_device **again);

/**
 * Opens the first node of i915 in /dev/dri; never a software device.
 *
 * As gemco_device_open; -ENODEV if there is none.
 */
int gemco_device_open_first(unsigned int flags, struct gemco_device **device);

/**
 * Takes a device file that the caller has opened: it is duplicated, so GEM handles mean the same to both, and the caller
 * goes on to own, and to close, its own.
 *
 * fd: of an i915 node.
 *
 * As gemco_device_open; -EBADF for what is not open.
 */
int gemco_device_open_fd(int fd,
                         unsigned int flags,
                         struct gemco_device **device);

/**
 * Adds a reference; returns `device`, or NULL for NULL.
 *
 * Any thread.
 */
struct gemco_device *gemco_device_ref(struct gemco_device *device);

/**
 * Gives a reference back; the last one closes the device, once its BOs are gone. NULL is nothing.
 *
 * Any thread.
 */
void gemco_device_unref(struct gemco_device *device);

/**
 * What the device is, and what it can do; the device's own word goes over the table's.
 *
 * Returns 0; what CHIPSET_ID answers. Any thread.
 */
int gemco_device_platform(const struct gemco_device *device, struct gemco_platform *platform);

/**
 * What MOCS entry `index` means for coherency on this device.
 *
 * Returns a gemco_mocs; -EINVAL. Any thread.
 */
int gemco_device_mocs(const struct gemco_device *device, unsigned int index);

/**
 * How many GEM handles and CPU mappings are open by the library on the device; for finding leaks.
 *
 * handles, mappings: each may be NULL. Returns 0. Any thread.
 */
int gemco_device_open_counts(const struct gemco_device *device, uint64_t *handles, uint64_t *mappings);

/**
 * Keeps up to `bytes` bytes of BOs for reuse, from now on; 0, as in the beginning, keeps nothing.
 *
 * Then gemco_bo_unref of the last reference leaves the object to the device, and gemco_bo_create takes it from there. A BO that
 * is reused holds bytes of its earlier life: its contents are undefined until they are written.
 *
 * Returns 0. Any thread.
 */
int gemco_device_set_reuse_limit(const struct gemco_device *device,
                                 uint64_t bytes);

/**
 * Closes BOs that are kept for reuse once `allocations` more were made without a use for them; 1024 unless said
 * otherwise.
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
 * What became of BOs and of wishes for them.
 *
 * Returns 0. Any thread.
 */
int gemco_device_reuse_stats(const struct gemco_device *device, struct gemco_reuse_stats *stats);

/**
 * Creates a BO, or takes one that was kept for reuse (gemco_device_set_reuse_limit).
 *
 * size: in bytes; rounded up to whole pages. caching: a gemco_caching.
 * bo: the new BO, with one reference, which the caller gives back with gemco_bo_unref. It reads as zeroes, unless it is
 * reused.
 *
 * Returns 0; -EINVAL for a size of 0, or one that no BO can have; -ENOMEM for more than there is memory; the platform's errno for a caching mode that it
 * refuses; what GEM_CREATE answers. Any thread.
 */
int gemco_bo_create(const struct gemco_device *device,
                    uint64_t size,
                    unsigned int caching,
                    struct gemco_bo **bo);

/**
 * Opens the BO behind a dma-buf. What is open on this device already is the same BO under another pointer.
 *
 * dma_buf: stays the caller's. bo: as for gemco_bo_create.
 *
 * Returns 0; -EBADF for what is not open, -EINVAL for what is no dma-buf. Any thread.
 */
int gemco_bo_import(const struct gemco_device *device, int dma_buf, struct gemco_bo **bo);

/**
 * Makes a dma-buf of the BO, after everything that was written was flushed.
 *
 * What is written later is flushed for the other side by gemco_bo_flush only, and what the other side writes is seen for
 * sure after gemco_bo_mark_stale only. The BO is never reused.
 *
 * Returns a file descriptor, which the caller closes; as gemco_bo_flush, and what PRIME_HANDLE_TO_FD answers. Any thread.
 */
int gemco_bo_export(const struct gemco_bo *bo);

/**
 * Adds a reference; returns `bo`, or NULL for NULL.
 *
 * Any thread.
 */
struct gemco_bo *gemco_bo_ref(struct gemco_bo *bo);

/**
 * Gives a reference back; nothing is flushed. With the last one, and no access, submission or scanout under way, the handle
 * is closed or the object kept for reuse, and pointers into the BO are no longer valid. NULL is nothing.
 *
 * Any thread.
 */
void gemco_bo_unref(struct gemco_bo *bo);

/**
 * Closes the GEM handle now, for every reference; every call about the BO but gemco_bo_ref and gemco_bo_unref
 * answers -ENOENT from then on. It is never reused.
 *
 * The pointer, and pointers into mappings, stay valid until the last reference is given back.
 *
 * Returns 0; -EBUSY while an access or a submission is open or the BO is on screen; -ENOENT if it is closed. Any thread.
 */
int gemco_bo_close(const struct gemco_bo *bo);

/**
 * The BO's GEM handle, for the caller's own ioctls; not to be closed by it. 0 for NULL and for a closed BO.
 *
 * Any thread.
 */
uint32_t gemco_bo_handle(const struct gemco_bo *bo);

/**
 * The BO's size in bytes, whole pages. 0 for NULL and for a closed BO.
 *
 * Any thread.
 */
uint64_t gemco_bo_size(const struct gemco_bo *bo);

/**
 * The BO's cache level; scanout and gemco_bo_set_caching change it.
 *
 * Returns a gemco_level; -EINVAL; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_level(const struct gemco_bo *bo);

/**
 * Changes the caching mode; waits for the GPU.
 *
 * caching: a gemco_caching, but not the default.
 *
 * Returns 0; -EBUSY while an access or a submission is open, and for a BO on screen whose level would change; the platform's
 * errno for a mode that it refuses. Any thread.
 */
int gemco_bo_set_caching(const struct gemco_bo *bo,
                         unsigned int caching);

/**
 * Maps the whole BO, and uses this mapping from now on; others stay.
 *
 * mode: a gemco_map_mode. pointer: the BO's first byte, valid until the last reference is given back; may be NULL.
 * What is stored through it has to be told (gemco_bo_mark_written), and what is loaded is right only between
 * gemco_access_begin and gemco_access_end.
 *
 * Returns 0; the platform's errno for a mode that it does not have, -EFAULT where the first touch would be SIGBUS; -ENOENT for a
 * closed BO. Any thread.
 */
int gemco_bo_map(const struct gemco_bo *bo,
                 unsigned int mode,
                 void **pointer);

/**
 * How accesses map the BO, or will map it if there was none yet.
 *
 * Returns a gemco_map_mode; -EINVAL; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_map_mode(const struct gemco_bo *bo);

/**
 * Flushes every dirty line and drains every store, so that memory is current for any reader: for one that the library does
 * not submit to.
 *
 * report: may be NULL. Returns 0; as gemco_submit_begin. Any thread.
 */
int gemco_bo_flush(const struct gemco_bo *bo,
                   struct gemco_report *report);

/**
 * How many lines of the BO may be newer in the CPU's cache than in memory (dirty), and older (stale).
 *
 * dirty, stale: each may be NULL. Returns 0; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_lines(const struct gemco_bo *bo, uint64_t *dirty, uint64_t *stale);

/**
 * Whether engines still use the BO.
 *
 * Returns 1 or 0; -ENOENT for a closed BO; what GEM_BUSY answers. Any thread.
 */
int gemco_bo_busy(const struct gemco_bo *bo);

/**
 * Waits until the GPU is done with the BO, for so many nanoseconds; for as long as it takes if `timeout_ns` is
 * negative.
 *
 * Returns 0; -ETIME; -ENOENT for a closed BO; what GEM_WAIT answers. Any thread.
 */
int gemco_bo_wait(const struct gemco_bo *bo, int64_t timeout_ns);

/**
 * Says that the contents are not needed, so that the kernel may take them; until gemco_bo_will_need every access is -EFAULT.
 *
 * Returns 1 if they are there yet, 0 if they are gone; -EBUSY while an access or a submission is open. Any thread.
 */
int gemco_bo_dont_need(const struct gemco_bo *bo);

/**
 * Says that the contents are needed again.
 *
 * Returns 1 if they are there, 0 if they are gone, for good; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_will_need(const struct gemco_bo *bo);

/**
 * Says that others may know the object by means that the library does not see, so that it is closed in the end, never
 * reused.
 *
 * Returns 0; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_never_reuse(const struct gemco_bo *bo);

/**
 * Stores `len` bytes at `offset`; lines that are stale and overwritten in part are invalidated first. Nothing is flushed before
 * somebody else is about to read.
 *
 * data: not in a mapping of the BO. report: what was invalidated or flushed for it; may be NULL. Waits for writes of
 * the GPU that the library was told of.
 *
 * Returns 0; -EINVAL for a range that leaves the BO; -ENOENT for a closed BO, -EFAULT for one without contents; what mapping and
 * waiting answer. Any thread.
 */
int gemco_bo_write(const struct gemco_bo *bo,
                   uint64_t offset,
                   const void *data,
                   size_t len,
                   struct gemco_report *report);

/**
 * Loads `len` bytes from `offset`, after an invalidate of what is stale there.
 *
 * As gemco_bo_write.
 */
int gemco_bo_read(const struct gemco_bo *bo, uint64_t offset, void *data, size_t len, struct gemco_report *report);

/**
 * Stores `len` bytes at `offset` for the GPU: where that looks at memory only, they are there when this returns, and not
 * dirty. Elsewhere as gemco_bo_write.
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
 * Says that `len` bytes at `offset` were stored through the mapping, by this thread.
 *
 * Returns 0; -EINVAL for a range that leaves the BO; -ENOENT for a closed BO. The thread that stored.
 */
int gemco_bo_mark_written(const struct gemco_bo *bo, uint64_t offset, uint64_t len);

/**
 * Says that somebody else wrote `len` bytes at `offset` to memory: another process or device, or a batch that the library was
 * not told of. The next read invalidates what it must.
 *
 * Returns 0; -EINVAL for a range that leaves the BO; -ENOENT for a closed BO. Any thread.
 */
int gemco_bo_mark_stale(const struct gemco_bo *bo,
                        uint64_t offset,
                        uint64_t len);

/**
 * Begins to access `len` bytes at `offset` through the BO's mapping: as DMA_BUF_IOCTL_SYNC with START, for a range.
 *
 * kind: a gemco_access_kind. access: the access, to be given to gemco_access_end. report: what was invalidated or flushed
 * for it so far; may be NULL. Waits for writes of the GPU that the library was told of. Until the end, the BO can neither
 * be closed nor change its caching.
 *
 * Returns 0; as gemco_bo_write. Any thread.
 */
int gemco_access_begin(const struct gemco_bo *bo,
                       unsigned int kind,
                       uint64_t offset,
                       uint64_t len,
                       struct gemco_access **access,
                       struct gemco_report *report);

/**
 * Where the BO is mapped, after an invalidate of what is stale in the access's range.
 *
 * pointer: the BO's first byte, not the range's: add the offset. Accesses through it stay within the range, and end with
 * gemco_access_end.
 *
 * Returns 0; what invalidating answers. The access's thread.
 */
int gemco_access_pointer(struct gemco_access *access,
                         void **pointer);

/**
 * Says that only `len` bytes at `offset` of the BO, and what other such calls said, were stored. Without such a call the whole range
 * counts as written at the end, if the pointer was asked for.
 *
 * Returns 0; -EINVAL for what leaves the range, -EACCES for a read access. The thread that stored.
 */
int gemco_access_written(struct gemco_access *access,
                         uint64_t offset,
                         uint64_t len);

/**
 * Ends an access, whatever is returned; NULL is nothing.
 *
 * report: what was invalidated or flushed for all of it; may be NULL.
 *
 * Returns 0. The thread that stored.
 */
int gemco_access_end(struct gemco_access *access, struct gemco_report *report);

/**
 * The name of a rule: "bypass-mocs-read".
 *
 * Names stay, while numbers may change with the library's version. NULL for a number that is no rule's, with a text in
 * gemco_last_error. The text lives as long as the library is loaded. Any thread; no allocation.
 */
const char *gemco_rule_name(unsigned int rule);

/**
 * Why a rule says what it says, in one sentence.
 *
 * As gemco_rule_name.
 */
const char *gemco_rule_reason(unsigned int rule);

/**
 * Where a rule comes from: a function of the kernel, a commit, a manual.
 *
 * As gemco_rule_name.
 */
const char *gemco_rule_source(unsigned int rule);

/**
 * Makes a sentence of a report: "submit: flush, 3 lines (192 bytes), by bypass-mocs-read: MOCS entries 16 and 17 ...".
 *
 * report: NULL for the last report of this thread, whether the call that made it handed it out or not.
 * text, size: where it goes; cut off if there is no room, and always ended by a 0 if size is not 0. text may be
 * NULL if size is 0.
 *
 * Returns the length of the whole sentence without its 0, as snprintf; -ENODATA if there is no last report, -EINVAL for
 * numbers that are no report's. Any thread; no allocation.
 */
int gemco_explain(const struct gemco_report *report, char *text, size_t size);

/**
 * Makes memory and caches right for the GPU's accesses: flushes, invalidates, drains, between one pair of fences for all.
 *
 * Call it after the last CPU access, and before the ioctl that submits; gemco_submit_end follows the ioctl. Until then no BO can be closed or
 * change its caching.
 *
 * submissions: `count` of them; may be NULL if there is none. reports: room for as many, in the same order; may be
 * NULL. prepared: to be given to gemco_submit_end.
 *
 * Returns 0; -EINVAL for a BO of another device or a bad number; -ENOENT, -EFAULT, -EBUSY about a BO that is closed, without
 * contents, or changing its caching; what mapping answers. Then lines that were not flushed stay dirty. Any thread.
 */
int gemco_submit_begin(const struct gemco_device *device,
                       const struct gemco_submission *submissions,
                       size_t count,
                       struct gemco_report *reports,
                       struct gemco_prepared **prepared);

/**
 * Ends a submission, after the ioctl, with the ioctl's result: 0, or a negative errno. NULL is a no-op.
 *
 * What the GPU writes is noted for the next reader. A submission that ends before its ioctl loses that note to a reader in between. After
 * -EIO nothing is kept for reuse any longer (gemco_device_set_reuse_limit): a wedged GPU may still write to BOs that were released.
 *
 * Returns `result`; -EINVAL for a positive one, which ends the submission too. Any thread.
 */
int gemco_submit_end(struct gemco_prepared *prepared,
                     int result);

/**
 * Submits an empty batch over the BOs, between what gemco_submit_begin and gemco_submit_end do.
 *
 * Returns as gemco_submit_begin, and EXECBUFFER2's errno: -EIO if the GPU is wedged.
 */
int gemco_submit(const struct gemco_device *device,
                 const struct gemco_submission *submissions,
                 size_t count,
                 struct gemco_report *reports);

/**
 * Says that the GPU writes the BO, in a batch that was submitted: for one that gemco_submit_begin and its like were not told
 * of. The next access, whoever makes it, waits and does what is needed.
 *
 * mocs: of the access, a gemco_mocs.
 *
 * Returns 0; -EINVAL for a bad number; -ENOENT for a closed BO. Any thread.
 */
int gemco_gpu_wrote(const struct gemco_bo *bo,
                    unsigned int mocs);

/**
 * Makes memory current for the display engine, and marks the BO as on screen; call it before the mode set or flip.
 *
 * Showing a BO forces its level to WT or NONE, which it keeps. Until the kernel reports that level, each access asks for it: the mode
 * set or flip may fail, or never come. scanout: to be given to gemco_scanout_end once the display shows something else, or the flip
 * failed. report: may be NULL.
 *
 * Returns 0; the platform's errno for the system memory of a discrete device; otherwise as gemco_submit_begin. Any thread.
 */
int gemco_prepare_scanout(const struct gemco_bo *bo,
                          struct gemco_scanout **scanout,
                          struct gemco_report *report);

/**
 * Flushes what was written since, for a BO that is drawn to while it is shown.
 *
 * report: may be NULL. Returns 0; as gemco_prepare_scanout. Any thread.
 */
int gemco_scanout_flush(const struct gemco_scanout *scanout, struct gemco_report *report);

/**
 * Says that the BO is no longer on screen, or was not shown; its level stays what the display made it. NULL is a no-op.
 *
 * Any thread.
 */
void gemco_scanout_end(struct gemco_scanout *scanout);

/**
 * Sends the library's events to `callback`, from now on, for the whole process; NULL ends it.
 *
 * level: a gemco_log_level, which is also the least that is worth the cost of a line.
 * callback: called at the end of each call that has lines, on that call's thread, once for each line; by several threads at
 * once. The library holds none of its locks then. The callback must return (no longjmp, no exception). It may call the functions that only ask:
 * those about platforms, rules, decisions, cache lines of its own memory and the last error, gemco_explain,
 * gemco_job_reports, gemco_device_platform, _mocs, _open_counts, _reuse_stats and _ref, gemco_bo_handle, _size, _level,
 * _map_mode, _lines, _busy and _ref. Every other function is -EDEADLK there, and does nothing; one without a result does
 * nothing either. What a callback calls is not logged. Once this function has returned, the callback that was set before
 * is not running, and will not be called again. Of one call up to 1 MiB of lines are kept, and what is more is counted.
 *
 * Returns 0; -EINVAL for a bad number; -EDEADLK from within a callback; -EBUSY if a Rust program has a subscriber of its own.
 * Any thread.
 */
int gemco_set_log(unsigned int level,
                  gemco_log_fn callback,
                  void *user);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GEM_COHERENCY_H */
