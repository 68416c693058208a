/* The system calls of a driver on a software device: requests with pointers into this program, mappings, loads and stores. */

#include "check.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 8192, AT = 4090, LEN = 100, PAGE = 4096 };
enum { MMAP_WB = 2 };

/* From the kernel's drm/drm.h and drm/i915_drm.h. */
struct create {
    uint64_t size;
    uint32_t handle, pad;
};
struct mmap_offset {
    uint32_t handle, pad;
    uint64_t offset, flags, extensions;
};
struct legacy_mmap {
    uint32_t handle, pad;
    uint64_t offset, size, address, flags;
};
/* As a 64-bit program passes it. */
struct getparam {
    int32_t param, pad;
    uint64_t value;
};
struct transfer {
    uint32_t handle, pad;
    uint64_t offset, size, pointer;
};
struct userptr {
    uint64_t pointer, size;
    uint32_t flags, handle;
};
struct set_domain {
    uint32_t handle, read, write;
};
struct close {
    uint32_t handle, pad;
};
struct prime {
    uint32_t handle, flags;
    int32_t fd;
};
#define GEM_CLOSE _IOW('d', 0x09, struct close)
#define PRIME_HANDLE_TO_FD _IOWR('d', 0x2d, struct prime)
#define PRIME_FD_TO_HANDLE _IOWR('d', 0x2e, struct prime)
#define GETPARAM _IOWR('d', 0x46, struct getparam)
#define GEM_CREATE _IOWR('d', 0x5b, struct create)
#define GEM_PREAD _IOW('d', 0x5c, struct transfer)
#define GEM_PWRITE _IOW('d', 0x5d, struct transfer)
#define GEM_MMAP _IOWR('d', 0x5e, struct legacy_mmap)
#define GEM_SET_DOMAIN _IOW('d', 0x5f, struct set_domain)
#define GEM_MMAP_OFFSET _IOWR('d', 0x64, struct mmap_offset)
#define GEM_USERPTR _IOWR('d', 0x73, struct userptr)

static uint32_t create(gemco_device *device, uint64_t size) {
    struct create request = {.size = size};
    OK(gemco_sim_ioctl(device, GEM_CREATE, &request));
    CHECK(request.handle != 0 && request.size == (size + PAGE - 1) / PAGE * PAGE);
    return request.handle;
}

static uint64_t offset_of(gemco_device *device, uint32_t handle) {
    struct mmap_offset request = {.handle = handle, .flags = MMAP_WB};
    OK(gemco_sim_ioctl(device, GEM_MMAP_OFFSET, &request));
    return request.offset;
}

static uint64_t map(gemco_device *device, uint32_t handle) {
    uint64_t address = 0;
    OK(gemco_sim_mmap(device, SIZE, offset_of(device, handle), &address));
    return address;
}

static void bytes_of(unsigned char *bytes, unsigned seed) {
    for (unsigned i = 0; i < LEN; i++)
        bytes[i] = (unsigned char)(seed + 3 * i);
}

/* Requests read and write this program's memory; a bad pointer is EFAULT. */
static void requests(gemco_device *device) {
    int32_t id = 0;
    struct getparam chipset = {4, 0, (uintptr_t)&id};
    gemco_platform platform;
    OK(gemco_sim_ioctl(device, GETPARAM, &chipset));
    OK(gemco_device_platform(device, &platform));
    CHECK(id == platform.pci_id && id != 0);

    FAILS(gemco_sim_ioctl(device, GETPARAM, NULL), EFAULT, "gemco_sim_ioctl: request 0x");
    FAILS(gemco_sim_ioctl(device, GETPARAM, (void *)16), EFAULT, "EFAULT");
    struct getparam nowhere = {4, 0, 0};
    FAILS(gemco_sim_ioctl(device, GETPARAM, &nowhere), EFAULT, "EFAULT");
    nowhere.param = -1;
    nowhere.value = (uintptr_t)&id;
    FAILS(gemco_sim_ioctl(device, GETPARAM, &nowhere), EINVAL, "EINVAL");
    FAILS(gemco_sim_ioctl(device, _IO('d', 0x9f), NULL), EINVAL, "request 0x649f");
    FAILS(gemco_sim_ioctl(device, _IO('e', 0x46), NULL), ENOTTY, "ENOTTY");

    /* The struct lies in a page that cannot be written, or half of it in one that cannot be read. */
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    struct create request = {.size = PAGE};
    memcpy(pages, &request, sizeof request);
    memcpy(pages + 2 * PAGE - 8, &request, sizeof request);
    OK(gemco_sim_ioctl(device, GEM_CREATE, pages));
    OK(gemco_sim_ioctl(device, GEM_CREATE, pages + 2 * PAGE - 8));
    OK(mprotect(pages, PAGE, PROT_READ));
    FAILS(gemco_sim_ioctl(device, GEM_CREATE, pages), EFAULT, "EFAULT");
    OK(mprotect(pages + 2 * PAGE, PAGE, PROT_NONE));
    FAILS(gemco_sim_ioctl(device, GEM_CREATE, pages + 2 * PAGE - 8), EFAULT, "EFAULT");
    OK(munmap(pages, 3 * PAGE));

    /* PWRITE and PREAD copy from and to this program. */
    unsigned char bytes[LEN], seen[LEN] = {0};
    bytes_of(bytes, 1);
    uint32_t handle = create(device, SIZE - 1);
    struct transfer transfer = {.handle = handle, .offset = AT, .size = LEN, .pointer = (uintptr_t)bytes};
    OK(gemco_sim_ioctl(device, GEM_PWRITE, &transfer));
    transfer.pointer = (uintptr_t)seen;
    OK(gemco_sim_ioctl(device, GEM_PREAD, &transfer));
    CHECK(memcmp(seen, bytes, LEN) == 0);
    transfer.pointer = 64;
    FAILS(gemco_sim_ioctl(device, GEM_PWRITE, &transfer), EFAULT, "EFAULT");
    FAILS(gemco_sim_ioctl(device, GEM_PREAD, &transfer), EFAULT, "EFAULT");
    struct close close = {.handle = handle};
    OK(gemco_sim_ioctl(device, GEM_CLOSE, &close));
    FAILS(gemco_sim_ioctl(device, GEM_PREAD, &transfer), ENOENT, "ENOENT");
}

/* Mappings, loads and stores, and their errors. */
static void mappings(gemco_device *device) {
    unsigned char bytes[LEN], seen[LEN] = {0};
    bytes_of(bytes, 2);
    uint32_t handle = create(device, SIZE);
    uint64_t offset = offset_of(device, handle), address = 7;
    FAILS(gemco_sim_mmap(device, SIZE, offset, NULL), EINVAL, "address is NULL");
    FAILS(gemco_sim_mmap(device, SIZE, offset + 1, &address), EINVAL, "gemco_sim_mmap: offset 0x");
    FAILS(gemco_sim_mmap(device, 0, offset, &address), EINVAL, "EINVAL");
    FAILS(gemco_sim_mmap(device, SIZE + 1, offset, &address), EINVAL, "EINVAL");
    CHECK(address == 7);
    OK(gemco_sim_mmap(device, SIZE, offset, &address));

    OK(gemco_sim_store(device, address + AT, bytes, LEN));
    OK(gemco_sim_load(device, address + AT, seen, LEN));
    CHECK(memcmp(seen, bytes, LEN) == 0);
    FAILS(gemco_sim_store(device, address + AT, NULL, LEN), EINVAL, "data is NULL");
    FAILS(gemco_sim_load(device, address + AT, NULL, LEN), EINVAL, "data is NULL");
    FAILS(gemco_sim_load(device, address + SIZE - LEN + 1, seen, LEN), EFAULT, "gemco_sim_load: address 0x");
    FAILS(gemco_sim_store(device, address - 1, bytes, LEN), EFAULT, "gemco_sim_store: address 0x");
    FAILS(gemco_sim_store(device, 0, bytes, LEN), EFAULT, "EFAULT");

    /* No pointer of x86-64 has this address, so the mapping hides no memory of the program. */
    CHECK(address >> 56 != 0);

    /* A mapping outlives the handle, and ends with munmap. */
    struct close close = {.handle = handle};
    OK(gemco_sim_ioctl(device, GEM_CLOSE, &close));
    OK(gemco_sim_load(device, address + AT, seen, LEN));
    FAILS(gemco_sim_munmap(device, address + PAGE), EINVAL, "gemco_sim_munmap: address 0x");
    OK(gemco_sim_munmap(device, address));
    FAILS(gemco_sim_load(device, address + AT, seen, LEN), EFAULT, "EFAULT");
    FAILS(gemco_sim_munmap(device, address), EINVAL, "EINVAL");

    /* So does a mapping that a request made. */
    struct legacy_mmap legacy = {.handle = create(device, SIZE), .size = SIZE};
    OK(gemco_sim_ioctl(device, GEM_MMAP, &legacy));
    OK(gemco_sim_store(device, legacy.address + AT, bytes, LEN));
    OK(gemco_sim_munmap(device, legacy.address));
    FAILS(gemco_sim_store(device, legacy.address + AT, bytes, LEN), EFAULT, "EFAULT");
}

/* On a device without an LLC, the simulated cache is between the program, the GPU, and the library that tracks the handle. */
static void coherency(gemco_device *device) {
    unsigned char bytes[LEN], fresh[LEN], seen[LEN];
    bytes_of(bytes, 3);
    bytes_of(fresh, 4);
    uint32_t handle = create(device, SIZE);
    uint64_t address = map(device, handle);
    gemco_object object = {.size = SIZE, .handle = handle,
                           .flags = GEMCO_ADOPT_ASK_LEVEL | GEMCO_ADOPT_NEW | GEMCO_ADOPT_WAITED};
    gemco_bo *bo = NULL;
    OK(gemco_bo_adopt(device, &object, &bo));

    OK(gemco_sim_store(device, address + AT, bytes, LEN));
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
    CHECK(memcmp(seen, bytes, LEN) != 0);
    OK(gemco_bo_flush_range(bo, AT, LEN, 1u << GEMCO_PATH_GPU_PAGE_TABLE, NULL));
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
    CHECK(memcmp(seen, bytes, LEN) == 0);

    OK(gemco_sim_load(device, address + AT, seen, LEN));
    OK(gemco_sim_gpu_write(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, fresh, LEN));
    OK(gemco_sim_load(device, address + AT, seen, LEN));
    CHECK(memcmp(seen, bytes, LEN) == 0);
    OK(gemco_bo_invalidate_range(bo, AT, LEN, NULL));
    OK(gemco_sim_load(device, address + AT, seen, LEN));
    CHECK(memcmp(seen, fresh, LEN) == 0);
    gemco_bo_unref(bo);
    OK(gemco_sim_munmap(device, address));
}

/* Returns how many lines stay dirty at an unmap of an object whose contents are not known. `join` is a call before it. */
static uint64_t dirty_after_unmap(gemco_device *device, unsigned readers, int (*join)(gemco_device *, gemco_bo *)) {
    unsigned char bytes[LEN], seen[LEN];
    uint64_t dirty = 0;
    uint32_t handle = create(device, SIZE);
    uint64_t address = map(device, handle);
    bytes_of(bytes, 5);
    OK(gemco_sim_store(device, address + AT, bytes, LEN));
    gemco_object object = {.size = SIZE, .handle = handle, .readers = readers, .flags = GEMCO_ADOPT_ASK_LEVEL};
    gemco_bo *bo = NULL;
    OK(gemco_bo_adopt(device, &object, &bo));
    if (join != NULL)
        OK(join(device, bo));
    OK(gemco_bo_unmap(bo));
    OK(gemco_bo_lines(bo, &dirty, NULL));
    /* What stays in the cache is what the display misses, until a call hands the object to it. */
    OK(gemco_sim_display_read(device, bo, AT, seen, LEN));
    CHECK((memcmp(seen, bytes, LEN) == 0) == (dirty == 0));
    OK(gemco_bo_flush(bo, NULL));
    OK(gemco_sim_display_read(device, bo, AT, seen, LEN));
    CHECK(memcmp(seen, bytes, LEN) == 0);
    gemco_bo_unref(bo);
    OK(gemco_sim_munmap(device, address));
    struct close close = {.handle = handle};
    OK(gemco_sim_ioctl(device, GEM_CLOSE, &close));
    return dirty;
}

static int share(gemco_device *device, gemco_bo *bo) {
    (void)device;
    return gemco_bo_never_reuse(bo);
}

/* A second struct of the driver's for the same object, which the display may read. */
static int adopt_again(gemco_device *device, gemco_bo *bo) {
    gemco_object object = {.size = SIZE, .handle = gemco_bo_handle(bo), .readers = 1u << GEMCO_PATH_DISPLAY,
                           .flags = GEMCO_ADOPT_ASK_LEVEL};
    gemco_bo *again = NULL;
    int result = gemco_bo_adopt(device, &object, &again);
    gemco_bo_unref(again);
    return result;
}

/* An unmap flushes for the readers that the driver names: with an LLC not for the GPU, which sees the CPU's cache. */
static void readers(void) {
    const unsigned gpu = 1u << GEMCO_PATH_GPU_PAGE_TABLE, display = 1u << GEMCO_PATH_DISPLAY;
    gemco_device *device = NULL;
    OK(gemco_device_open("sim:tgl", 0, &device));
    CHECK(dirty_after_unmap(device, 0, NULL) == 0);
    CHECK(dirty_after_unmap(device, gpu, NULL) == SIZE / 64);
    CHECK(dirty_after_unmap(device, gpu | display, NULL) == 0);
    CHECK(dirty_after_unmap(device, gpu, share) == 0);
    CHECK(dirty_after_unmap(device, gpu, adopt_again) == 0);
    gemco_device_unref(device);
    OK(gemco_device_open("sim:jsl", 0, &device));
    CHECK(dirty_after_unmap(device, gpu, NULL) == SIZE / 64);
    CHECK(dirty_after_unmap(device, 1u << GEMCO_PATH_GPU_BYPASS_LLC, NULL) == 0);
    gemco_device_unref(device);
    OK(gemco_device_open("sim:glk", 0, &device));
    CHECK(dirty_after_unmap(device, display, NULL) == 0);
    CHECK(dirty_after_unmap(device, gpu, NULL) == 0);
    gemco_device_unref(device);
}

/* Handles, offsets and mappings belong to one file. */
static void files(gemco_device *device) {
    gemco_device *again = NULL;
    unsigned char byte = 1;
    OK(gemco_device_open_again(device, 0, &again));
    uint32_t handle = create(device, SIZE);
    uint64_t offset = offset_of(device, handle), address = map(device, handle), other = 0;
    struct close close = {.handle = handle};
    FAILS(gemco_sim_ioctl(again, GEM_CLOSE, &close), EINVAL, "EINVAL");
    FAILS(gemco_sim_mmap(again, SIZE, offset, &other), EACCES, "EACCES");
    FAILS(gemco_sim_load(again, address, &byte, 1), EFAULT, "EFAULT");
    gemco_device_unref(again);

    /* A descriptor is a number for requests only: it cannot be one of the program's. */
    struct prime prime = {.handle = handle, .fd = -1};
    OK(gemco_sim_ioctl(device, PRIME_HANDLE_TO_FD, &prime));
    CHECK(dup(prime.fd) == -1 && errno == EBADF);
    struct prime back = {.fd = prime.fd};
    OK(gemco_sim_ioctl(device, PRIME_FD_TO_HANDLE, &back));
    CHECK(back.handle == handle);
    back.fd = 1;
    FAILS(gemco_sim_ioctl(device, PRIME_FD_TO_HANDLE, &back), EBADF, "EBADF");

    /* The GPU cannot have the program's own pages. */
    static _Alignas(4096) unsigned char own[PAGE];
    struct userptr userptr = {.pointer = (uintptr_t)own, .size = PAGE};
    OK(gemco_sim_ioctl(device, GEM_USERPTR, &userptr));
    struct set_domain domain = {userptr.handle, 1, 0};
    FAILS(gemco_sim_ioctl(device, GEM_SET_DOMAIN, &domain), EFAULT, "EFAULT");
    /* Nothing is unmapped and closed here: the device's end does it. */
}

int main(void) {
    uint64_t address = 0;
    char byte = 0;
    FAILS(gemco_sim_ioctl(NULL, GETPARAM, NULL), EINVAL, "device is NULL");
    FAILS(gemco_sim_mmap(NULL, 0, 0, &address), EINVAL, "device is NULL");
    FAILS(gemco_sim_load(NULL, 0, &byte, 1), EINVAL, "device is NULL");
    FAILS(gemco_sim_store(NULL, 0, &byte, 1), EINVAL, "device is NULL");
    FAILS(gemco_sim_munmap(NULL, 0), EINVAL, "device is NULL");
    gemco_device *device = NULL;
    OK(gemco_device_open("sim:glk", 0, &device));
    requests(device);
    mappings(device);
    coherency(device);
    files(device);
    gemco_device_unref(device);
    readers();
    printf("%d claims\n", claims);
    return 0;
}
