/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * gem_coherency_exercise: batches, a screen, the validator of shaders, and the other agents of a software device, with which a
 * device is exercised. For tests and example drivers; a library that was installed with --library-only lacks these functions.
 *
 * Made by cbindgen from crates/capi and crates/capi/pure; ci/header --write makes it anew. */

#ifndef GEM_COHERENCY_EXERCISE_H
#define GEM_COHERENCY_EXERCISE_H

#include <gem_coherency.h>

/**
 * A batch under construction. It holds a reference to its device, and to each BO that its commands name.
 *
 * Any thread may use it.
 */
typedef struct gemco_batch gemco_batch;

/**
 * A submitted batch.
 *
 * Any thread may use it.
 */
typedef struct gemco_job gemco_job;

/**
 * A connector and a CRTC of a device, and what they show. It holds a reference to the device, and to each BO that it
 * has shown.
 *
 * Any thread may use it.
 */
typedef struct gemco_screen gemco_screen;

/**
 * Rows of bytes in a BO that a batch reads or writes. Set all other fields to 0: use designated initialisers.
 */
typedef struct gemco_region {
    /**
     * The BO.
     */
    const gemco_bo *bo;
    /**
     * The first byte, a multiple of 4.
     */
    uint64_t offset;
    /**
     * Bytes from row to row, a multiple of 64.
     */
    uint32_t pitch;
    /**
     * The MOCS entry of the access, or -1 for the page table's caching.
     */
    int mocs;
    /**
     * 0.
     */
    uint64_t reserved[2];
} gemco_region;

/**
 * Size of a picture on a screen: XRGB8888, not tiled.
 */
typedef struct gemco_picture {
    /**
     * Pixels of a line.
     */
    uint32_t width;
    /**
     * Lines.
     */
    uint32_t height;
    /**
     * Bytes from line to line.
     */
    uint32_t pitch;
    /**
     * 1 if a screen is connected, else 0.
     */
    uint32_t connected;
} gemco_picture;

/**
 * A rule that an instruction of the execution units breaks.
 */
typedef struct gemco_eu_violation {
    /**
     * The instruction's first byte in the code.
     */
    uint64_t offset;
    /**
     * The rule's name: "DestinationStride".
     */
    const char *rule;
    /**
     * The rule as a sentence: "the destination's stride must not be 0".
     */
    const char *text;
    /**
     * The source of the rule: a section of the manuals, and a function of Mesa's validator.
     */
    const char *source;
    /**
     * The operand and the values that break the rule: "destination: stride 0".
     */
    char found[120];
} gemco_eu_violation;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Begins a batch of stores, fills and copies; they are executed in the order in which they are added.
 *
 * batch: gemco_batch_submit or gemco_batch_destroy takes it.
 *
 * Returns 0; -ENODEV on an unknown device. Any thread.
 */
int gemco_batch_create(const gemco_device *device, struct gemco_batch **batch);

/**
 * Adds a store of four bytes, little-endian, through the page table (MI_STORE_DATA_IMM).
 *
 * offset: a multiple of 4.
 *
 * Returns 0; -ENODEV where a batch cannot store: on 915G and 915GM, and on graphics versions 2, 4 and 5; otherwise as
 * gemco_batch_fill. Any thread.
 */
int gemco_batch_store(const struct gemco_batch *batch, const gemco_bo *bo, uint64_t offset, uint32_t value);

/**
 * Adds a fill of rows with a 32-bit value, little-endian.
 *
 * width: bytes of a row, a multiple of 4. height: rows.
 *
 * Returns 0; -EINVAL for a value that the generation's command cannot encode: the text names it; for a range outside the BO,
 * or a BO of another device; -ENOENT for a closed BO; -ENOMEM. Any thread.
 */
int gemco_batch_fill(const struct gemco_batch *batch,
                     const struct gemco_region *to,
                     unsigned int width,
                     unsigned int height,
                     uint32_t value);

/**
 * Adds a copy of rows.
 *
 * A MOCS entry can be named from graphics version 12 on. Otherwise as gemco_batch_fill, for both regions.
 */
int gemco_batch_copy(const struct gemco_batch *batch,
                     const struct gemco_region *to,
                     const struct gemco_region *from,
                     unsigned int width,
                     unsigned int height);

/**
 * Adds a wait for the earlier commands, so that later ones see what they wrote.
 *
 * Returns 0. Any thread.
 */
int gemco_batch_flush(const struct gemco_batch *batch);

/**
 * Prepares every BO as gemco_submit_begin does, and submits the batch; does not wait. Frees the batch, also on
 * failure.
 *
 * job: gemco_job_destroy takes it.
 *
 * Returns 0; -EIO if the GPU is wedged, or hung too often; -ENOSPC if its address space is full, and other errnos of
 * EXECBUFFER2; as gemco_bo_create, for the batch's own BO; otherwise as gemco_submit_begin. Any thread.
 */
int gemco_batch_submit(struct gemco_batch *batch, struct gemco_job **job);

/**
 * Frees a batch without submitting it. NULL is a no-op.
 *
 * Any thread.
 */
void gemco_batch_destroy(struct gemco_batch *batch);

/**
 * Waits until the GPU is done with a batch, at most `timeout_ns` nanoseconds; without limit if that is negative.
 *
 * Returns 0; -ETIME; -EIO if a batch of the device, this or another, hung the GPU since this one was submitted; the errno
 * of GEM_WAIT and GET_RESET_STATS. Any thread.
 */
int gemco_job_wait(const struct gemco_job *job,
                   int64_t timeout_ns);

/**
 * Gets what was flushed for a batch, or why not: a report for each BO, access and MOCS class in the order of the
 * commands, then the report of the batch's own BO.
 *
 * reports: room for `room` of them; may be NULL if that is 0.
 *
 * Returns the number of reports; the first `room` of them were written. -EINVAL for NULL with room. Any thread.
 */
int gemco_job_reports(const struct gemco_job *job, gemco_report *reports, size_t room);

/**
 * Frees the job; the batch continues. NULL is a no-op.
 *
 * Any thread.
 */
void gemco_job_destroy(struct gemco_job *job);

/**
 * Opens the first connector with a screen, or else an HDMI connector. Nothing changes until a BO is shown.
 *
 * The device must be the display's primary node (/dev/dri/card0) and DRM master: no other process may have opened it
 * before.
 *
 * screen: gemco_screen_destroy takes it. picture: may be NULL.
 *
 * Returns 0; -EOPNOTSUPP if the display is off, -ENXIO without a connector, -EACCES for a file that is not the primary node
 * or not DRM master; the errno of GETRESOURCES and the requests after it. Any thread.
 */
int gemco_screen_open(const gemco_device *device,
                      struct gemco_screen **screen,
                      struct gemco_picture *picture);

/**
 * Creates a BO for a picture of the screen (CREATE_DUMB); one from gemco_bo_create that is large enough can be shown as well.
 *
 * bo: with one reference, which gemco_bo_unref drops.
 *
 * Returns 0; -ENOMEM and other errnos of CREATE_DUMB. Any thread.
 */
int gemco_screen_alloc(const struct gemco_screen *screen,
                       gemco_bo **bo);

/**
 * Makes memory current for the display engine, as gemco_prepare_scanout does, and shows the BO: by a mode set at
 * first, then by flips, for whose completion it waits.
 *
 * The previous BO is off the screen when this returns, and may be written again. report: may be NULL.
 *
 * Returns 0; -EACCES for a device file that is not DRM master; -EINVAL for a BO that is too small, and other errnos of
 * ADDFB2, SETCRTC and PAGE_FLIP; otherwise as gemco_prepare_scanout. Any thread.
 */
int gemco_screen_show(const struct gemco_screen *screen, const gemco_bo *bo, gemco_report *report);

/**
 * Flushes what was written since the BO was shown, and notifies the kernel (DIRTYFB).
 *
 * report: may be NULL. Returns as gemco_screen_show, and the errno of DIRTYFB. Any thread.
 */
int gemco_screen_dirty(const struct gemco_screen *screen, gemco_report *report);

/**
 * Restores what was shown before the screen was opened, and frees the screen. NULL is a no-op.
 *
 * Returns 0; the first errno of SETCRTC, RMFB and the other requests, after the rest were still made: -EACCES for a device
 * file that is no longer DRM master. Any thread.
 */
int gemco_screen_destroy(struct gemco_screen *screen);

/**
 * Validates the code of a shader before it is uploaded: finds the rules of the hardware that its instructions break.
 *
 * platform: as gemco_device_platform or gemco_platform_by_id returns it; only its name is used.
 * code, size: the instructions, of 16 bytes, or 8 if they are compacted.
 * violations: room for `room` of them, in the order of the code; may be NULL if that is 0. Their texts are valid while
 * the library is loaded.
 *
 * Returns the number of violations; the first `room` of them were written. -ENOEXEC for an instruction that cannot be
 * decoded, even after one that breaks a rule; -ENODEV for a platform whose instructions are not known: those before
 * graphics version 7; -EINVAL for a size that is not a multiple of 8. Any thread.
 */
int gemco_eu_validate(const gemco_platform *platform,
                      const void *code,
                      size_t size,
                      struct gemco_eu_violation *violations,
                      size_t room);

/**
 * Reads as the GPU of a software device does: old bytes where a flush is missing.
 *
 * mocs: a gemco_mocs.
 *
 * Returns 0; -EOPNOTSUPP on any other device; -EINVAL for a range outside the BO, or a BO of another device; -ENOENT
 * for a closed BO. Any thread.
 */
int gemco_sim_gpu_read(const gemco_device *device,
                       const gemco_bo *bo,
                       unsigned int mocs,
                       uint64_t offset,
                       void *data,
                       size_t len);

/**
 * Writes as the GPU of a software device does. A caller that does not report it (gemco_submission with GEMCO_WRITE,
 * gemco_gpu_wrote) reads old bytes.
 *
 * As gemco_sim_gpu_read.
 */
int gemco_sim_gpu_write(const gemco_device *device,
                        const gemco_bo *bo,
                        unsigned int mocs,
                        uint64_t offset,
                        const void *data,
                        size_t len);

/**
 * Reads as the display engine of a software device does: old bytes where a flush is missing.
 *
 * As gemco_sim_gpu_read.
 */
int gemco_sim_display_read(const gemco_device *device, const gemco_bo *bo, uint64_t offset, void *data, size_t len);

/**
 * Makes a request to a software device: ioctl(2) on the device's file. GEM handles are valid for the library, too
 * (gemco_bo_adopt).
 *
 * request: a DRM_IOCTL_* of the kernel's headers. argument: its struct, which is read and written in place, as is
 * whatever it points to. A 32-bit program, too, passes the structs of 64 bits (GETPARAM, VERSION). Descriptors that a
 * request returns are for other requests on `device`, which closes them with its last reference. The GPU cannot use
 * the program's own memory: a request that pins it (USERPTR) is -EFAULT.
 *
 * Returns what ioctl(2) returns, or its negative errno: -EFAULT for a bad pointer; -EOPNOTSUPP on any other device. Any
 * thread; requests of one device wait for each other.
 */
int gemco_sim_ioctl(const gemco_device *device, unsigned long request, void *argument);

/**
 * Maps a software device's file: mmap(2) with PROT_READ | PROT_WRITE and MAP_SHARED.
 *
 * offset: as MMAP_OFFSET returned it. address: of the mapping, for gemco_sim_load, gemco_sim_store and
 * gemco_sim_munmap. It is not a pointer: the simulated CPU's cache is between the program and these bytes.
 *
 * Returns 0; -EINVAL for a length or an offset that is not possible, -EACCES for an offset that the device did not ask
 * for, -ENOMEM; -EOPNOTSUPP on any other device. Any thread.
 */
int gemco_sim_mmap(const gemco_device *device, uint64_t len, uint64_t offset, uint64_t *address);

/**
 * Loads `len` bytes at `address`, as the program does through a mapping of gemco_sim_mmap: old bytes where an invalidate
 * is missing.
 *
 * Returns 0; -EFAULT where a program gets SIGSEGV or SIGBUS; -EOPNOTSUPP on any other device. Any thread.
 */
int gemco_sim_load(const gemco_device *device,
                   uint64_t address,
                   void *data,
                   size_t len);

/**
 * Stores `len` bytes at `address`, as the program does through a mapping of gemco_sim_mmap. Where a flush is missing, the
 * GPU does not see them.
 *
 * As gemco_sim_load.
 */
int gemco_sim_store(const gemco_device *device,
                    uint64_t address,
                    const void *data,
                    size_t len);

/**
 * Unmaps what gemco_sim_mmap mapped at `address`: munmap(2) of the whole mapping.
 *
 * Returns 0; -EINVAL if no mapping begins there; -EOPNOTSUPP on any other device. Any thread.
 */
int gemco_sim_munmap(const gemco_device *device, uint64_t address);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GEM_COHERENCY_EXERCISE_H */
