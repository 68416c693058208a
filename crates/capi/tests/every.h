/* Every function of the header with valid arguments, so that a test can iterate over all: EVERY(CALL) expands to
 * CALL(name, kind, call) for each, where `w` is the world of the arguments. ci/capi checks that none is missing. */

#ifndef EVERY_H
#define EVERY_H

#include "check.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The properties of a function. */
enum kind {
    /* A query: it changes nothing, and a log callback may call it. */
    QUERIES = 1,
    /* It takes an object of the library. */
    OBJECT = 2,
    /* It takes world.bo, which must be open. */
    BO = 4 | OBJECT,
    /* It releases an object. */
    RELEASES = 8,
    /* It has no result. */
    VOID = 16,
    /* It returns a number; 0 stands for none. */
    NUMBER = 32,
    /* Its success depends on the machine. */
    UNSURE = 64,
    /* It requires a screen. */
    SCREEN = 128,
    /* It requires a software device. */
    SIM = 256,
    /* It adds a reference with each call. */
    ADDS = 512,
};

/* The result of a failed call that returns no errno. */
enum { NONE = -9999 };

/* An object of the caller's, whose handle exists on no device: it is adopted, and used by nothing. */
static const gemco_object own_object = {.size = 4096, .handle = 4000, .flags = GEMCO_ADOPT_NEW};

/* A device of xe, and a mapping that its kernel accepts. */
static const gemco_xe_device own_xe = {.pci_id = 0x64a0};
static const gemco_xe_mapping own_mapping = {.memory = GEMCO_XE_MEMORY_WB, .placement = GEMCO_XE_SYSTEM, .pat_index = 1, .size = 4096, .range = 4096};

/* An instruction of graphics 9. */
static const uint32_t nop[] = {0x7e, 0, 0, 0};

/* I915_GEM_MMAP_OFFSET, of a write-back mapping. */
struct mmap_offset {
    uint32_t handle, pad;
    uint64_t offset, flags, extensions;
};
#define MMAP_OFFSET _IOWR('d', 0x40 + 0x24, struct mmap_offset)

/* One object of each kind. */
struct world {
    gemco_device *device;
    gemco_bo *bo, *other, *streamed;
    gemco_access *access;
    gemco_stream *stream;
    gemco_prepared *prepared;
    gemco_scanout *scanout;
    gemco_batch *batch;
    gemco_job *job;
    gemco_screen *screen;
    /* None: an i915 device has no such page. */
    gemco_pci_barrier *barrier;
    int dma_buf;
    /* A mapping of the software device's, of `other`. */
    struct mmap_offset mmap_offset;
    uint64_t address;
    /* Objects that the calls create. */
    gemco_device *new_device;
    gemco_bo *new_bo;
    gemco_access *new_access;
    gemco_stream *new_stream;
    gemco_prepared *new_prepared;
    gemco_scanout *new_scanout;
    gemco_batch *new_batch;
    gemco_job *new_job;
    gemco_screen *new_screen;
    gemco_pci_barrier *new_barrier;
    int new_dma_buf;
    int more_of_device, more_of_bo;
    char memory[4096];
};

static inline int number(uint64_t value) { return value != 0 ? 0 : NONE; }
static inline int text(const char *value) { return value != NULL ? 0 : NONE; }
#define NOTHING(call) ((call), 0)
#define ALL_OF(w) (&(gemco_submission){.bo = (w)->bo, .access = GEMCO_WRITE, .mocs = GEMCO_MOCS_PAGE_TABLE})
#define REGION(w) (&(gemco_region){.bo = (w)->bo, .pitch = 256, .mocs = -1})

#define EVERY(CALL)                                                                                                    \
    CALL(gemco_last_error, QUERIES, text(gemco_last_error()))                                                          \
    CALL(gemco_platform_by_id, QUERIES, gemco_platform_by_id(0x3185, 6, 12, 0, &(gemco_platform){0}))                  \
    CALL(gemco_version, QUERIES | NUMBER, (int)gemco_version())                                                        \
    CALL(gemco_platform_by_fd, UNSURE, gemco_platform_by_fd(0, &(gemco_platform){0}))                                  \
    CALL(gemco_platform_by_name, QUERIES, gemco_platform_by_name("glk", 6, 12, 0, &(gemco_platform){0}))               \
    CALL(gemco_needs_flush, QUERIES, gemco_needs_flush(&(gemco_platform){0}, &(gemco_question){.next = GEMCO_PATH_DISPLAY}, &(gemco_decision){0})) \
    CALL(gemco_needs_flush_any, QUERIES, gemco_needs_flush_any(&(gemco_platform){0}, &(gemco_question){0}, 1, &(gemco_decision){0})) \
    CALL(gemco_needs_invalidate, QUERIES, gemco_needs_invalidate(&(gemco_platform){0}, &(gemco_question){.writer = GEMCO_PATH_GPU_PAGE_TABLE}, NULL)) \
    CALL(gemco_drain_of, QUERIES, gemco_drain_of(&(gemco_platform){0}, 0, GEMCO_PATH_CPU_GTT))                         \
    CALL(gemco_drain, QUERIES, gemco_drain(&(gemco_platform){0}, 0, GEMCO_PATH_CPU_GTT, &own_object))                  \
    CALL(gemco_caching_level, QUERIES, gemco_caching_level(&(gemco_platform){0}, GEMCO_CACHING_DEFAULT))               \
    CALL(gemco_pat_level, QUERIES, gemco_pat_level(&(gemco_platform){.caps = GEMCO_CAP_PAT_AT_CREATE}, 0))             \
    CALL(gemco_mocs_class, QUERIES, gemco_mocs_class(&(gemco_platform){0}, 0))                                         \
    CALL(gemco_map_path, QUERIES, gemco_map_path(0))                                                                   \
    CALL(gemco_mocs_path, QUERIES, gemco_mocs_path(0))                                                                 \
    CALL(gemco_default_map_mode, QUERIES, gemco_default_map_mode(&(gemco_platform){0}, 0))                             \
    CALL(gemco_coherency, QUERIES, gemco_coherency(&(gemco_platform){0}, 0))                                           \
    CALL(gemco_has_cache_ops, QUERIES, gemco_has_cache_ops())                                                          \
    CALL(gemco_flush_range, QUERIES, gemco_flush_range(w->memory, 64))                                                 \
    CALL(gemco_write_back_range, QUERIES, gemco_write_back_range(w->memory, 64))                                       \
    CALL(gemco_flush_inval_range, QUERIES, gemco_flush_inval_range(w->memory, 64))                                     \
    CALL(gemco_flush_range_no_fence, QUERIES, gemco_flush_range_no_fence(w->memory, 64))                               \
    CALL(gemco_flush_inval_range_no_fence, QUERIES, gemco_flush_inval_range_no_fence(w->memory, 64))                   \
    CALL(gemco_pre_flush_fence, QUERIES, NOTHING(gemco_pre_flush_fence()))                                             \
    CALL(gemco_post_flush_fence, QUERIES, NOTHING(gemco_post_flush_fence()))                                           \
    CALL(gemco_post_flush_inval_fence, QUERIES, NOTHING(gemco_post_flush_inval_fence()))                               \
    CALL(gemco_xe_device_by_id, QUERIES, gemco_xe_device_by_id(0x64a0, 7, 2, 0, 0, &(gemco_xe_device){0}))               \
    CALL(gemco_xe_bind_refusal, QUERIES, gemco_xe_bind_refusal(&own_xe, &own_mapping, &(gemco_xe_refusal){0}))           \
    CALL(gemco_xe_needs_flush, QUERIES, gemco_xe_needs_flush(&own_xe, &own_mapping, 0, 1, 0, &(gemco_decision){0}))      \
    CALL(gemco_xe_choose, QUERIES, gemco_xe_choose(&own_xe, GEMCO_XE_USE_UPLOAD, 4096, &(gemco_xe_mapping){0}))          \
    CALL(gemco_rule_name, QUERIES, text(gemco_rule_name(0)))                                                           \
    CALL(gemco_rule_reason, QUERIES, text(gemco_rule_reason(0)))                                                       \
    CALL(gemco_rule_source, QUERIES, text(gemco_rule_source(0)))                                                       \
    CALL(gemco_explain, QUERIES, gemco_explain(&(gemco_report){0, {0, 0}, 0, 0, 0}, w->memory, sizeof w->memory))      \
    CALL(gemco_eu_validate, QUERIES, gemco_eu_validate(&(gemco_platform){.name = "glk"}, nop, sizeof nop, NULL, 0))      \
    CALL(gemco_device_open, 0, gemco_device_open("sim:glk", 0, &w->new_device))                                        \
    CALL(gemco_device_open_first, UNSURE, gemco_device_open_first(0, &w->new_device))                                  \
    CALL(gemco_device_open_again, OBJECT, gemco_device_open_again(w->device, 0, &w->new_device))                       \
    CALL(gemco_device_open_fd, UNSURE, gemco_device_open_fd(w->dma_buf, 0, &w->new_device))                            \
    CALL(gemco_device_ref, QUERIES | ADDS, (w->more_of_device++, text((char *)gemco_device_ref(w->device))))           \
    CALL(gemco_device_unref, VOID | RELEASES, NOTHING(gemco_device_unref(w->device)))                                  \
    CALL(gemco_device_fd, QUERIES | OBJECT | UNSURE, gemco_device_fd(w->device))                                       \
    CALL(gemco_device_platform, QUERIES | OBJECT, gemco_device_platform(w->device, &(gemco_platform){0}))              \
    CALL(gemco_device_mocs, QUERIES | OBJECT, gemco_device_mocs(w->device, 2))                                         \
    CALL(gemco_device_open_counts, QUERIES | OBJECT,                                                                   \
         gemco_device_open_counts(w->device, &(uint64_t){0}, &(uint64_t){0}))                                          \
    CALL(gemco_device_pci_barrier, OBJECT | UNSURE, gemco_device_pci_barrier(w->device, &w->new_barrier))              \
    CALL(gemco_pci_barrier_drain, QUERIES | UNSURE, gemco_pci_barrier_drain(w->barrier))                               \
    CALL(gemco_pci_barrier_unmap, VOID | RELEASES, NOTHING(gemco_pci_barrier_unmap(w->barrier)))                       \
    CALL(gemco_device_set_reuse_limit, OBJECT, gemco_device_set_reuse_limit(w->device, 1 << 20))                       \
    CALL(gemco_device_set_reuse_age, OBJECT, gemco_device_set_reuse_age(w->device, 10))                                \
    CALL(gemco_device_trim, OBJECT, gemco_device_trim(w->device))                                                      \
    CALL(gemco_device_reuse_stats, QUERIES | OBJECT, gemco_device_reuse_stats(w->device, &(gemco_reuse_stats){0}))     \
    CALL(gemco_bo_create, OBJECT, gemco_bo_create(w->device, 4096, GEMCO_CACHING_DEFAULT, &w->new_bo))                 \
    CALL(gemco_bo_import, OBJECT, gemco_bo_import(w->device, w->dma_buf, &w->new_bo))                                  \
    CALL(gemco_bo_adopt, OBJECT, gemco_bo_adopt(w->device, &own_object, &w->new_bo))                                   \
    CALL(gemco_bo_adopt_xe, OBJECT | UNSURE, gemco_bo_adopt_xe(w->device, &own_object, &own_mapping, 1, &w->new_bo))    \
    CALL(gemco_bo_bound_by, BO | UNSURE, gemco_bo_bound_by(w->bo, 1))                                                  \
    CALL(gemco_bo_by_handle, OBJECT, gemco_bo_by_handle(w->device, gemco_bo_handle(w->bo), &w->new_bo))                \
    CALL(gemco_bo_flush_range, BO, gemco_bo_flush_range(w->bo, 0, 64, 1u << GEMCO_PATH_GPU_PAGE_TABLE, NULL))          \
    CALL(gemco_bo_invalidate_range, BO, gemco_bo_invalidate_range(w->bo, 0, GEMCO_WHOLE_SIZE, NULL))                   \
    CALL(gemco_bo_export, BO, (w->new_dma_buf = gemco_bo_export(w->bo)))                                               \
    CALL(gemco_bo_ref, QUERIES | ADDS, (w->more_of_bo++, text((char *)gemco_bo_ref(w->bo))))                           \
    CALL(gemco_bo_unref, VOID | RELEASES, NOTHING(gemco_bo_unref(w->bo)))                                              \
    CALL(gemco_bo_close, BO, gemco_bo_close(w->bo))                                                                    \
    CALL(gemco_bo_handle, QUERIES | BO | NUMBER, number(gemco_bo_handle(w->bo)))                                       \
    CALL(gemco_bo_size, QUERIES | BO | NUMBER, number(gemco_bo_size(w->bo)))                                           \
    CALL(gemco_bo_level, QUERIES | BO, gemco_bo_level(w->bo))                                                          \
    CALL(gemco_bo_set_caching, BO, gemco_bo_set_caching(w->bo, GEMCO_CACHING_NONE))                                    \
    CALL(gemco_bo_map, BO, gemco_bo_map(w->bo, GEMCO_MAP_DEFAULT, NULL))                                               \
    CALL(gemco_bo_unmap, BO, gemco_bo_unmap(w->bo))                                                                    \
    CALL(gemco_bo_remap, BO | UNSURE, gemco_bo_remap(w->bo, w->memory + 1, GEMCO_MAP_WB))                              \
    CALL(gemco_bo_map_mode, QUERIES | BO, gemco_bo_map_mode(w->bo))                                                    \
    CALL(gemco_bo_mark_written, BO, gemco_bo_mark_written(w->bo, 0, 64))                                               \
    CALL(gemco_bo_mark_stale, BO, gemco_bo_mark_stale(w->bo, 0, 64))                                                   \
    CALL(gemco_bo_flush, BO, gemco_bo_flush(w->bo, NULL))                                                              \
    CALL(gemco_bo_lines, QUERIES | BO, gemco_bo_lines(w->bo, &(uint64_t){0}, NULL))                                    \
    CALL(gemco_bo_busy, QUERIES | BO, gemco_bo_busy(w->bo))                                                            \
    CALL(gemco_bo_wait, BO, gemco_bo_wait(w->bo, 1000000000))                                                          \
    CALL(gemco_bo_dont_need, BO, gemco_bo_dont_need(w->bo))                                                            \
    CALL(gemco_bo_will_need, BO, gemco_bo_will_need(w->bo))                                                            \
    CALL(gemco_bo_never_reuse, BO, gemco_bo_never_reuse(w->bo))                                                        \
    CALL(gemco_bo_write, BO, gemco_bo_write(w->bo, 0, w->memory, 64, NULL))                                            \
    CALL(gemco_bo_read, BO, gemco_bo_read(w->bo, 0, w->memory, 64, NULL))                                              \
    CALL(gemco_bo_upload, BO, gemco_bo_upload(w->bo, 0, w->memory, 64, GEMCO_UPLOAD_AUTO, NULL))                       \
    CALL(gemco_access_begin, BO, gemco_access_begin(w->bo, GEMCO_READ, 0, 64, &w->new_access, NULL, NULL))             \
    CALL(gemco_access_pointer, OBJECT, gemco_access_pointer(w->access, &(void *){NULL}))                               \
    CALL(gemco_access_written, OBJECT, gemco_access_written(w->access, 0, 64))                                         \
    CALL(gemco_access_end, OBJECT | RELEASES, gemco_access_end(w->access, NULL))                                       \
    CALL(gemco_stream_begin, BO, gemco_stream_begin(w->bo, 0, 64, &w->new_stream, &(void *){NULL}))                    \
    CALL(gemco_stream_announce, OBJECT, gemco_stream_announce(w->stream, 64))                                          \
    CALL(gemco_stream_end, OBJECT | RELEASES, gemco_stream_end(w->stream, 64, NULL))                                   \
    CALL(gemco_submit_begin, BO, gemco_submit_begin(w->device, ALL_OF(w), 1, NULL, &w->new_prepared))                  \
    CALL(gemco_submit_end, OBJECT | RELEASES, gemco_submit_end(w->prepared, 0))                                        \
    CALL(gemco_submit, BO, gemco_submit(w->device, ALL_OF(w), 1, NULL))                                                \
    CALL(gemco_gpu_wrote, BO, gemco_gpu_wrote(w->bo, GEMCO_MOCS_PAGE_TABLE))                                           \
    CALL(gemco_prepare_scanout, BO, gemco_prepare_scanout(w->bo, &w->new_scanout, NULL))                               \
    CALL(gemco_scanout_flush, OBJECT, gemco_scanout_flush(w->scanout, NULL))                                           \
    CALL(gemco_scanout_end, VOID | RELEASES, NOTHING(gemco_scanout_end(w->scanout)))                                   \
    CALL(gemco_batch_create, OBJECT, gemco_batch_create(w->device, &w->new_batch))                                     \
    CALL(gemco_batch_store, BO, gemco_batch_store(w->batch, w->bo, 0, 7))                                              \
    CALL(gemco_batch_fill, BO, gemco_batch_fill(w->batch, REGION(w), 64, 2, 7))                                        \
    CALL(gemco_batch_copy, BO, gemco_batch_copy(w->batch, REGION(w), REGION(w), 64, 2))                                \
    CALL(gemco_batch_flush, OBJECT, gemco_batch_flush(w->batch))                                                       \
    CALL(gemco_batch_submit, OBJECT | RELEASES, gemco_batch_submit(w->batch, &w->new_job))                             \
    CALL(gemco_batch_destroy, VOID | RELEASES, NOTHING(gemco_batch_destroy(w->batch)))                                 \
    CALL(gemco_job_wait, OBJECT, gemco_job_wait(w->job, 1000000000))                                                   \
    CALL(gemco_job_reports, QUERIES | OBJECT, gemco_job_reports(w->job, NULL, 0))                                      \
    CALL(gemco_job_destroy, VOID | RELEASES, NOTHING(gemco_job_destroy(w->job)))                                       \
    CALL(gemco_screen_open, OBJECT | SCREEN, gemco_screen_open(w->device, &w->new_screen, NULL))                       \
    CALL(gemco_screen_alloc, OBJECT | SCREEN, gemco_screen_alloc(w->screen, &w->new_bo))                               \
    CALL(gemco_screen_show, BO | SCREEN, gemco_screen_show(w->screen, w->bo, NULL))                                    \
    CALL(gemco_screen_dirty, OBJECT | SCREEN, gemco_screen_dirty(w->screen, NULL))                                     \
    CALL(gemco_screen_destroy, OBJECT | RELEASES | SCREEN, gemco_screen_destroy(w->screen))                            \
    CALL(gemco_set_log, 0, gemco_set_log(GEMCO_LOG_OFF, NULL, NULL))                                                   \
    CALL(gemco_device_set_log, OBJECT, gemco_device_set_log(w->device, GEMCO_LOG_OFF, NULL, NULL))                     \
    CALL(gemco_sim_gpu_read, BO | SIM, gemco_sim_gpu_read(w->device, w->bo, 0, 0, w->memory, 64))                      \
    CALL(gemco_sim_gpu_write, BO | SIM, gemco_sim_gpu_write(w->device, w->bo, 0, 0, w->memory, 64))                    \
    CALL(gemco_sim_display_read, BO | SIM, gemco_sim_display_read(w->device, w->bo, 0, w->memory, 64))                 \
    CALL(gemco_sim_ioctl, OBJECT | SIM, gemco_sim_ioctl(w->device, MMAP_OFFSET, &w->mmap_offset))                      \
    CALL(gemco_sim_mmap, OBJECT | SIM, gemco_sim_mmap(w->device, 4096, w->mmap_offset.offset, &(uint64_t){0}))         \
    CALL(gemco_sim_load, OBJECT | SIM, gemco_sim_load(w->device, w->address, w->memory, 64))                           \
    CALL(gemco_sim_store, OBJECT | SIM, gemco_sim_store(w->device, w->address, w->memory, 64))                         \
    CALL(gemco_sim_munmap, OBJECT | SIM, gemco_sim_munmap(w->device, w->address))

/* One call. */
struct call {
    const char *name;
    int kind;
    int (*run)(struct world *w);
};

#define DEFINE(name, kind, call)                                                                                       \
    static int run_##name(struct world *w) {                                                                           \
        (void)w;                                                                                                       \
        return call;                                                                                                   \
    }
EVERY(DEFINE)
#undef DEFINE

#define ENTRY(name, kind, call) {#name, kind, run_##name},
static const struct call calls[] = {EVERY(ENTRY)};
#undef ENTRY

enum { CALLS = sizeof calls / sizeof *calls };

/* Returns whether a call can be tried in a world. */
static int applies(const struct world *w, const struct call *call, int is_sim) {
    return !((call->kind & SCREEN) && w->screen == NULL) && !((call->kind & SIM) && !is_sim);
}

/* Creates one object of each kind on a device. */
static void begin_world(struct world *w, const char *device) {
    memset(w, 0, sizeof *w);
    w->new_dma_buf = -1;
    OK(gemco_device_open(device, 0, &w->device));
    /* A device without a display has no screen. */
    gemco_picture picture = {0, 0, 0, 0};
    (void)gemco_screen_open(w->device, &w->screen, &picture);
    uint64_t size = w->screen ? (uint64_t)picture.pitch * picture.height : 8192;
    OK(gemco_bo_create(w->device, size, GEMCO_CACHING_DEFAULT, &w->bo));
    OK(gemco_bo_create(w->device, 4096, GEMCO_CACHING_DEFAULT, &w->other));
    OK(gemco_bo_write(w->bo, 0, "before", 6, NULL));
    OK(gemco_access_begin(w->other, GEMCO_WRITE, 0, 4096, &w->access, NULL, NULL));
    OK(gemco_bo_create(w->device, 4096, GEMCO_CACHING_DEFAULT, &w->streamed));
    OK(gemco_stream_begin(w->streamed, 0, 64, &w->stream, &(void *){NULL}));
    gemco_submission submission = {.bo = w->other, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
    OK(gemco_submit_begin(w->device, &submission, 1, NULL, &w->prepared));
    OK(gemco_batch_create(w->device, &w->batch));
    OK(gemco_batch_store(w->batch, w->other, 0, 7));
    OK(gemco_batch_submit(w->batch, &w->job));
    OK(gemco_job_wait(w->job, 1000000000));
    OK(gemco_batch_create(w->device, &w->batch));
    OK(gemco_prepare_scanout(w->other, &w->scanout, NULL));
    if (gemco_device_fd(w->device) == -EOPNOTSUPP) {
        w->mmap_offset = (struct mmap_offset){.handle = gemco_bo_handle(w->other), .flags = 2};
        OK(gemco_sim_ioctl(w->device, MMAP_OFFSET, &w->mmap_offset));
        OK(gemco_sim_mmap(w->device, 4096, w->mmap_offset.offset, &w->address));
    }
    w->dma_buf = gemco_bo_export(w->other);
    CHECK(w->dma_buf >= 0);
}

/* Releases the objects of a world, except one that the call released. */
static void end_world(struct world *w, const struct call *given) {
    const char *name = given ? given->name : "";
#define GIVE_BACK(by, object)                                                                                          \
    if (strcmp(name, #by) != 0)                                                                                        \
    by(object)
    while (w->more_of_bo-- > 0)
        gemco_bo_unref(w->bo);
    while (w->more_of_device-- > 0)
        gemco_device_unref(w->device);
    if (w->new_dma_buf >= 0)
        CHECK(close(w->new_dma_buf) == 0);
    CHECK(close(w->dma_buf) == 0);
    gemco_access_end(w->new_access, NULL);
    gemco_stream_end(w->new_stream, 64, NULL);
    gemco_submit_end(w->new_prepared, 0);
    gemco_scanout_end(w->new_scanout);
    gemco_batch_destroy(w->new_batch);
    gemco_job_destroy(w->new_job);
    gemco_screen_destroy(w->new_screen);
    gemco_pci_barrier_unmap(w->new_barrier);
    gemco_bo_unref(w->new_bo);
    gemco_device_unref(w->new_device);
    if (strcmp(name, "gemco_access_end") != 0)
        gemco_access_end(w->access, NULL);
    if (strcmp(name, "gemco_stream_end") != 0)
        gemco_stream_end(w->stream, 64, NULL);
    if (strcmp(name, "gemco_screen_destroy") != 0)
        gemco_screen_destroy(w->screen);
    if (strcmp(name, "gemco_batch_submit") != 0)
        GIVE_BACK(gemco_batch_destroy, w->batch);
    if (strcmp(name, "gemco_submit_end") != 0)
        gemco_submit_end(w->prepared, 0);
    GIVE_BACK(gemco_scanout_end, w->scanout);
    GIVE_BACK(gemco_job_destroy, w->job);
    gemco_bo_unref(w->streamed);
    gemco_bo_unref(w->other);
    GIVE_BACK(gemco_bo_unref, w->bo);
    GIVE_BACK(gemco_device_unref, w->device);
#undef GIVE_BACK
}

#endif
