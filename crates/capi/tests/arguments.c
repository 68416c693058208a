/* Bad arguments: each returns an errno with a text that names it, writes no result, and leaves nothing open. */

#include "check.h"

#include <fcntl.h>
#include <unistd.h>

/* A pointer that is never an object: a failed call must leave it in its result. */
#define UNTOUCHED ((void *)0x1234)

/* Returns a misaligned pointer. */
static void *odd(void *pointer) { return (char *)pointer + 1; }

static void opening(void) {
    gemco_device *device = UNTOUCHED;
    FAILS(gemco_device_open(NULL, 0, &device), EINVAL, "gemco_device_open: name is NULL");
    FAILS(gemco_device_open("sim:jsl", 0, NULL), EINVAL, "device is NULL");
    FAILS(gemco_device_open("", 0, &device), EINVAL, "bad device ''");
    FAILS(gemco_device_open("sim:potato", 0, &device), EINVAL, "potato");
    FAILS(gemco_device_open("sim:jsl,kernel=1.0", 0, &device), EINVAL, "1.0");
    FAILS(gemco_device_open("sim:jsl", 2, &device), EINVAL, "flags is 2");
    FAILS(gemco_device_open("\xff\xfe", 0, &device), EILSEQ, "not UTF-8");
    FAILS(gemco_device_open("/nowhere/renderD128", 0, &device), ENOENT, "/nowhere/renderD128");
    FAILS(gemco_device_open("/dev/null", 0, &device), ENODEV, "/dev/null");
    FAILS(gemco_device_open("/", 0, &device), ENODEV, "not a character device");
    FAILS(gemco_device_open_fd(-1, 0, &device), EBADF, "fd is negative");
    FAILS(gemco_device_open_fd(987654, 0, &device), EBADF, "987654");
    FAILS(gemco_device_open_fd(0, 0, NULL), EINVAL, "device is NULL");
    int null = open("/dev/null", O_RDWR);
    CHECK(null >= 0);
    FAILS(gemco_device_open_fd(null, 0, &device), ENODEV, "/dev/null");
    CHECK(close(null) == 0);
    FAILS(gemco_device_open_first(0, NULL), EINVAL, "device is NULL");
    CHECK(device == UNTOUCHED);

    /* A text that is too long for the buffer is cut, and still ends with a 0. */
    char name[4000] = "sim:";
    memset(name + 4, 'x', sizeof name - 5);
    FAILS(gemco_device_open(name, 0, &device), EINVAL, "xxxx");
    CHECK(strlen(gemco_last_error()) == 511);
}

static void nothing(void) {
    gemco_device_unref(NULL);
    gemco_bo_unref(NULL);
    OK(gemco_submit_end(NULL, 0));
    CHECK(gemco_submit_end(NULL, -ENOSPC) == -ENOSPC);
    gemco_scanout_end(NULL);
    gemco_pci_barrier_unmap(NULL);
    OK(gemco_access_end(NULL, NULL));
    OK(gemco_stream_end(NULL, 0, NULL));
    CHECK(gemco_device_ref(NULL) == NULL && gemco_bo_ref(NULL) == NULL);
    CHECK(gemco_bo_handle(NULL) == 0 && gemco_bo_size(NULL) == 0);
    CHECK(strstr(gemco_last_error(), "bo is NULL") != NULL);
}

static void devices(gemco_device *device) {
    gemco_platform platform;
    gemco_reuse_stats stats;
    FAILS(gemco_device_platform(NULL, &platform), EINVAL, "device is NULL");
    FAILS(gemco_device_platform(device, NULL), EINVAL, "platform is NULL");
    FAILS(gemco_device_platform(odd(device), &platform), EINVAL, "device is not aligned");
    FAILS(gemco_device_mocs(NULL, 0), EINVAL, "device is NULL");
    FAILS(gemco_device_mocs(device, 256), EINVAL, "index is 256");
    FAILS(gemco_device_open_counts(NULL, NULL, NULL), EINVAL, "device is NULL");
    OK(gemco_device_open_counts(device, NULL, NULL));
    FAILS(gemco_device_set_reuse_limit(NULL, 1), EINVAL, "device is NULL");
    FAILS(gemco_device_set_reuse_age(NULL, 1), EINVAL, "device is NULL");
    FAILS(gemco_device_trim(NULL), EINVAL, "device is NULL");
    FAILS(gemco_device_reuse_stats(NULL, &stats), EINVAL, "device is NULL");
    FAILS(gemco_device_reuse_stats(device, NULL), EINVAL, "stats is NULL");
    gemco_pci_barrier *barrier = UNTOUCHED;
    FAILS(gemco_device_pci_barrier(NULL, &barrier), EINVAL, "device is NULL");
    FAILS(gemco_device_pci_barrier(device, NULL), EINVAL, "barrier is NULL");
    FAILS(gemco_device_pci_barrier(device, &barrier), ENODEV, "i915 has no such page");
    FAILS(gemco_pci_barrier_drain(NULL), EINVAL, "barrier is NULL");
    CHECK(barrier == UNTOUCHED);
}

static void creation(gemco_device *device) {
    gemco_bo *bo = UNTOUCHED;
    FAILS(gemco_bo_create(NULL, 4096, 0, &bo), EINVAL, "device is NULL");
    FAILS(gemco_bo_create(device, 4096, 0, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_create(device, 4096, 0, odd(&bo)), EINVAL, "bo is not aligned");
    FAILS(gemco_bo_create(device, 0, 0, &bo), EINVAL, "size 0");
    FAILS(gemco_bo_create(device, UINT64_MAX, 0, &bo), EINVAL, "size 18446744073709551615");
    FAILS(gemco_bo_create(device, 4096, 4, &bo), EINVAL, "caching is 4");
    FAILS(gemco_bo_import(NULL, 0, &bo), EINVAL, "device is NULL");
    FAILS(gemco_bo_import(device, 0, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_import(device, -1, &bo), EBADF, "dma_buf is negative");
    CHECK(gemco_bo_import(device, 987654, &bo) == -EBADF);
    CHECK(gemco_bo_import(device, 0, &bo) == -EINVAL);
    const gemco_object object = {.size = 4096, .handle = 4000};
    const gemco_xe_mapping mapping = {.memory = GEMCO_XE_MEMORY_WB, .placement = GEMCO_XE_SYSTEM, .pat_index = 1, .size = 4096, .range = 4096};
    FAILS(gemco_bo_adopt_xe(NULL, &object, &mapping, 1, &bo), EINVAL, "device is NULL");
    FAILS(gemco_bo_adopt_xe(device, NULL, &mapping, 1, &bo), EINVAL, "object is NULL");
    FAILS(gemco_bo_adopt_xe(device, &object, NULL, 1, &bo), EINVAL, "mappings is NULL");
    FAILS(gemco_bo_adopt_xe(device, &object, &mapping, SIZE_MAX, &bo), EINVAL, "mappings is larger than the address space");
    FAILS(gemco_bo_adopt_xe(device, &object, NULL, 0, &bo), EINVAL, "count is 0");
    FAILS(gemco_bo_adopt_xe(device, &object, &mapping, 1, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_adopt_xe(device, &object, &mapping, 1, &bo), ENODEV, "device is one of i915");
    CHECK(bo == UNTOUCHED);

    /* Requests that the platform refuses. */
    gemco_device *dg2 = NULL;
    OK(gemco_device_open("sim:dg2", GEMCO_OPEN_CONSERVATIVE, &dg2));
    FAILS(gemco_bo_create(dg2, 4096, GEMCO_CACHING_CACHED, &bo), ENODEV, "not available on dg2");
    gemco_device_unref(dg2);
    CHECK(bo == UNTOUCHED);
}

static void accesses(gemco_bo *bo) {
    char data[8] = "";
    void *pointer = UNTOUCHED;
    gemco_access *access = UNTOUCHED;
    gemco_report report = {7, {7, 7}, 7, 7, 7};
    FAILS(gemco_bo_write(NULL, 0, data, 8, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_write(bo, 0, NULL, 8, NULL), EINVAL, "data is NULL");
    FAILS(gemco_bo_write(bo, 4090, data, 8, &report), EINVAL, "8 bytes at offset 4090 do not fit in the object of 4096 bytes");
    FAILS(gemco_bo_write(bo, UINT64_MAX, data, 8, &report), EINVAL, "do not fit in the object");
    FAILS(gemco_bo_write(bo, 0, data, SIZE_MAX, &report), EINVAL, "data is larger than the address space");
    FAILS(gemco_bo_write(bo, 0, data, 8, odd(&report)), EINVAL, "report is not aligned");
    OK(gemco_bo_write(bo, 4096, NULL, 0, NULL));
    FAILS(gemco_bo_read(NULL, 0, data, 8, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_read(bo, 0, NULL, 8, NULL), EINVAL, "data is NULL");
    FAILS(gemco_bo_read(bo, 4096, data, 1, &report), EINVAL, "do not fit in the object");
    FAILS(gemco_bo_read(bo, 0, data, SIZE_MAX / 2 + 1, &report), EINVAL, "data is larger");
    FAILS(gemco_bo_upload(NULL, 0, data, 8, 0, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_upload(bo, 0, NULL, 8, 0, NULL), EINVAL, "data is NULL");
    FAILS(gemco_bo_upload(bo, 0, data, 8, 3, NULL), EINVAL, "hint is 3");
    FAILS(gemco_access_begin(NULL, 0, 0, 8, &access, NULL, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_access_begin(bo, 2, 0, 8, &access, NULL, NULL), EINVAL, "kind is 2");
    FAILS(gemco_access_begin(bo, 0, 0, 8, NULL, NULL, NULL), EINVAL, "access is NULL");
    FAILS(gemco_access_begin(bo, 0, 4096, 1, &access, NULL, &report), EINVAL, "do not fit in the object");
    FAILS(gemco_access_begin(bo, 0, 4096, 1, &access, &pointer, &report), EINVAL, "do not fit in the object");
    FAILS(gemco_access_begin(bo, 0, 0, 8, &access, (void **)((char *)&pointer + 1), NULL), EINVAL, "pointer is not aligned");
    FAILS(gemco_access_pointer(NULL, &pointer), EINVAL, "access is NULL");
    FAILS(gemco_access_written(NULL, 0, 0), EINVAL, "access is NULL");
    gemco_stream *stream = UNTOUCHED;
    FAILS(gemco_stream_begin(NULL, 0, 8, &stream, &pointer), EINVAL, "bo is NULL");
    FAILS(gemco_stream_begin(bo, 0, 8, NULL, &pointer), EINVAL, "stream is NULL");
    FAILS(gemco_stream_begin(bo, 0, 8, &stream, NULL), EINVAL, "pointer is NULL");
    FAILS(gemco_stream_begin(bo, 0, 0, &stream, &pointer), EINVAL, "at least one byte");
    FAILS(gemco_stream_begin(bo, 4096, 1, &stream, &pointer), EINVAL, "do not fit in the object");
    FAILS(gemco_stream_announce(NULL, 0), EINVAL, "stream is NULL");
    CHECK(access == UNTOUCHED && pointer == UNTOUCHED && stream == UNTOUCHED && report.lines == 7);
    OK(gemco_stream_begin(bo, 0, 8, &stream, &pointer));
    FAILS(gemco_stream_end(stream, 8, odd(&report)), EINVAL, "report is not aligned");
    access = UNTOUCHED, pointer = UNTOUCHED;
    OK(gemco_access_begin(bo, GEMCO_WRITE, 0, 8, &access, NULL, NULL));
    FAILS(gemco_access_pointer(access, NULL), EINVAL, "pointer is NULL");
    /* The access ends although the report is misaligned, and its stores are marked. */
    uint64_t dirty = 7;
    OK(gemco_bo_flush(bo, NULL));
    OK(gemco_access_pointer(access, &pointer));
    FAILS(gemco_access_end(access, odd(&report)), EINVAL, "report is not aligned");
    OK(gemco_bo_lines(bo, &dirty, NULL));
    CHECK(dirty == 1);
    OK(gemco_bo_set_caching(bo, GEMCO_CACHING_NONE));
}

static void the_rest(gemco_device *device, gemco_bo *bo) {
    void *pointer = UNTOUCHED;
    FAILS(gemco_bo_map(NULL, 0, &pointer), EINVAL, "bo is NULL");
    FAILS(gemco_bo_map(bo, 6, &pointer), EINVAL, "mode is 6");
    FAILS(gemco_bo_map(bo, GEMCO_MAP_FIXED, &pointer), ENODEV, "not available on jsl");
    FAILS(gemco_bo_map(bo, 0, odd(&pointer)), EINVAL, "pointer is not aligned");
    CHECK(pointer == UNTOUCHED);
    FAILS(gemco_bo_map_mode(NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_mark_written(NULL, 0, 0), EINVAL, "bo is NULL");
    FAILS(gemco_bo_mark_written(bo, 0, 4097), EINVAL, "do not fit in the object");
    FAILS(gemco_bo_mark_stale(NULL, 0, 0), EINVAL, "bo is NULL");
    FAILS(gemco_bo_mark_stale(bo, 4096, 1), EINVAL, "do not fit in the object");
    FAILS(gemco_bo_set_caching(NULL, 0), EINVAL, "bo is NULL");
    FAILS(gemco_bo_set_caching(bo, GEMCO_CACHING_DEFAULT), EINVAL, "caching is 3");
    FAILS(gemco_bo_level(NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_flush(NULL, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_lines(NULL, NULL, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_export(NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_busy(NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_wait(NULL, 0), EINVAL, "bo is NULL");
    FAILS(gemco_bo_dont_need(NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_will_need(NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_never_reuse(NULL), EINVAL, "bo is NULL");
    FAILS(gemco_bo_close(NULL), EINVAL, "bo is NULL");
    FAILS(gemco_gpu_wrote(NULL, 0), EINVAL, "bo is NULL");
    FAILS(gemco_gpu_wrote(bo, 3), EINVAL, "mocs is 3");
    FAILS(gemco_explain(NULL, NULL, 8), EINVAL, "text is NULL");

    char data[8];
    FAILS(gemco_sim_gpu_read(NULL, bo, 0, 0, data, 8), EINVAL, "device is NULL");
    FAILS(gemco_sim_gpu_read(device, NULL, 0, 0, data, 8), EINVAL, "bo is NULL");
    FAILS(gemco_sim_gpu_read(device, bo, 9, 0, data, 8), EINVAL, "mocs is 9");
    FAILS(gemco_sim_gpu_read(device, bo, 0, 4096, data, 8), EINVAL, "do not fit in the object");
    FAILS(gemco_sim_gpu_write(device, bo, 0, 0, NULL, 8), EINVAL, "data is NULL");
    FAILS(gemco_sim_display_read(device, bo, 0, NULL, 8), EINVAL, "data is NULL");
}

static void submissions(gemco_device *device, gemco_bo *bo) {
    gemco_prepared *prepared = UNTOUCHED;
    gemco_scanout *scanout = UNTOUCHED;
    gemco_report report = {7, {7, 7}, 7, 7, 7};
    gemco_device *other = NULL;
    gemco_bo *foreign = NULL;
    gemco_submission list[2] = {{.bo = bo}, {.bo = NULL}};

    FAILS(submit_nothing(NULL, list, 1, NULL), EINVAL, "device is NULL");
    FAILS(submit_nothing(device, NULL, 1, NULL), EINVAL, "submissions is NULL");
    FAILS(submit_nothing(device, list, SIZE_MAX, NULL), EINVAL, "submissions is larger");
    FAILS(submit_nothing(device, list, 2, &report), EINVAL, "submissions[].bo is NULL");
    FAILS(submit_nothing(device, list, 1, odd(&report)), EINVAL, "reports is not aligned");
    OK(submit_nothing(device, NULL, 0, NULL));
    list[0].access = 2;
    FAILS(submit_nothing(device, list, 1, &report), EINVAL, "submissions[].access is 2");
    list[0].access = GEMCO_WRITE;
    list[0].mocs = 3;
    FAILS(gemco_submit(device, list, 1, &report), EINVAL, "submissions[].mocs is 3");
    list[0].mocs = 0;
    for (int i = 0; i < 2; i++) {
        list[0].reserved[i] = (uint64_t)1 << 63;
        FAILS(submit_nothing(device, list, 1, &report), EINVAL, "gemco_submit_begin: submissions[].reserved is not 0");
        FAILS(gemco_submit(device, list, 1, &report), EINVAL, "gemco_submit: submissions[].reserved is not 0");
        list[0].reserved[i] = 0;
    }
    FAILS(gemco_submit(NULL, list, 1, NULL), EINVAL, "device is NULL");
    FAILS(gemco_submit_begin(device, list, 1, NULL, NULL), EINVAL, "prepared is NULL");
    FAILS(gemco_submit_begin(device, list, 2, NULL, &prepared), EINVAL, "submissions[].bo is NULL");

    OK(gemco_device_open("sim:jsl", 0, &other));
    OK(gemco_bo_create(other, 4096, GEMCO_CACHING_DEFAULT, &foreign));
    list[1].bo = foreign;
    FAILS(submit_nothing(device, list, 2, &report), EINVAL, "another device");
    char data[8];
    FAILS(gemco_sim_gpu_read(device, foreign, 0, 0, data, 8), EINVAL, "another device");
    gemco_bo_unref(foreign);
    gemco_device_unref(other);

    FAILS(gemco_prepare_scanout(NULL, &scanout, NULL), EINVAL, "bo is NULL");
    FAILS(gemco_prepare_scanout(bo, NULL, NULL), EINVAL, "scanout is NULL");
    FAILS(gemco_scanout_flush(NULL, NULL), EINVAL, "scanout is NULL");
    CHECK(prepared == UNTOUCHED && scanout == UNTOUCHED && report.lines == 7);
}

int main(void) {
    gemco_device *device = NULL;
    gemco_bo *bo = NULL;
    CHECK(gemco_explain(NULL, NULL, 0) == -ENODATA);
    opening();
    nothing();
    OK(gemco_device_open("sim:jsl", 0, &device));
    OK(gemco_bo_create(device, 4096, GEMCO_CACHING_DEFAULT, &bo));
    devices(device);
    creation(device);
    accesses(bo);
    the_rest(device, bo);
    submissions(device, bo);
    /* The failed calls left nothing open, and the BO is still usable. */
    OK(gemco_bo_close(bo));
    uint64_t handles = 7, mappings = 7;
    gemco_bo_unref(bo);
    OK(gemco_device_open_counts(device, &handles, &mappings));
    CHECK(handles == 0 && mappings == 0);
    gemco_device_unref(device);
    printf("%d claims\n", claims);
    return 0;
}
