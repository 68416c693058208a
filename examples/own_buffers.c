/* A driver that keeps its own buffers (create, map, submit, wait, reuse, close), and takes the library for their coherency alone.
 *
 *   cc -D_GNU_SOURCE examples/own_buffers.c $(pkg-config --cflags --libs gem_coherency) -o own_buffers
 *   ./own_buffers sim:glk                        # or /dev/dri/renderD128: from Sandy Bridge on
 *   ./own_buffers sim:glk --without-library      # makes no call for coherency
 *   ./own_buffers sim:jsl --bypass               # the GPU reads around the LLC, too (MOCS entries 16 and 17): software devices only
 *
 * A software device takes the same requests by gemco_sim_ioctl, and has a simulated CPU cache between its mappings and memory.
 *
 * In each of three frames the CPU writes a source, and the GPU copies it twice: to a region that the CPU has not touched, which shows what
 * the GPU read ("upload"), and to one that the CPU cleared and read before, which shows what it reads back. "wrong: N" counts the old bytes;
 * the exit status is 0 without any, 1 with some, and 2 after an error. Without the library there are some where the rules require flushes
 * and invalidates. A software device shows them, and hardware may. A virtual machine with an emulated GPU shows none: its memory is
 * coherent. */

#include <errno.h>
#include <fcntl.h>
#include <gem_coherency_exercise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* From the kernel's drm/i915_drm.h, which is not installed everywhere. */
struct create_ext { uint64_t size; uint32_t handle, flags; uint64_t extensions; };
struct mmap_offset { uint32_t handle, pad; uint64_t offset, flags, extensions; };
struct exec_object { uint32_t handle, relocation_count; uint64_t relocs_ptr, alignment, offset, flags, reserved[2]; };
struct execbuffer {
    uint64_t buffers_ptr;
    uint32_t buffer_count, batch_start_offset, batch_len, dr1, dr4, num_cliprects;
    uint64_t cliprects_ptr, flags, context, reserved;
};
struct wait { uint32_t handle, flags; int64_t timeout_ns; };
struct set_domain { uint32_t handle, read, write; };
struct two_words { uint32_t handle, second; };
#define GEM_CLOSE _IOW('d', 0x09, struct two_words)
#define GEM_BUSY _IOWR('d', 0x40 + 0x17, struct two_words)
#define GEM_CREATE_EXT _IOWR('d', 0x40 + 0x1b, struct create_ext)
#define GEM_MMAP_OFFSET _IOWR('d', 0x40 + 0x24, struct mmap_offset)
#define GEM_EXECBUFFER2 _IOW('d', 0x40 + 0x29, struct execbuffer)
#define GEM_SET_DOMAIN _IOW('d', 0x40 + 0x1f, struct set_domain)
#define GEM_WAIT _IOWR('d', 0x40 + 0x2c, struct wait)
enum { MMAP_WB = 2, MMAP_FIXED = 4, DOMAIN_CPU = 1, OBJECT_WRITE = 1 << 2, OBJECT_PINNED = 1 << 4, EXEC_BLT = 3, EXEC_NO_RELOC = 1 << 11 };

/* A region is a row of 32-bit pixels. */
enum { REGION = 4096, FRAMES = 3, CLEARED = 0x55 };
/* The GPU address of the first buffer, and the distance to the next one's. */
enum { FIRST_ADDRESS = 0x20000000, STEP = 0x200000 };

/* A buffer of the driver's. */
struct buffer {
    uint32_t handle;
    uint64_t size, gpu_address;
    /* Where the CPU's mapping begins: a pointer, or an address of a software device. */
    uint64_t mapped;
    /* The library's tracking of it, or NULL. */
    gemco_bo *bo;
    struct buffer *next;
};

struct driver {
    gemco_device *device;
    gemco_platform platform;
    /* The device file; -1 for a software device. */
    int fd;
    int with_library, bypass, is_discrete;
    /* Released buffers, for reuse. */
    struct buffer *idle;
    unsigned created, reused;
    /* The old bytes that each path showed. */
    unsigned upload, bypassed, read_back;
};

static void fail(const char *what, int number) {
    fprintf(stderr, "%s: %s\n", what, strerror(number));
    exit(2);
}

/* Ends the program if a call of the library failed. */
static void must(int result) {
    if (result < 0) {
        fprintf(stderr, "%s\n", gemco_last_error());
        exit(2);
    }
}

/* Makes a request; one that fails ends the program. */
static void request(const struct driver *driver, unsigned long code, void *argument, const char *name) {
    int result;
    do
        result = driver->fd < 0 ? gemco_sim_ioctl(driver->device, code, argument) : ioctl(driver->fd, code, argument) < 0 ? -errno : 0;
    while (result == -EINTR || result == -EAGAIN);
    if (result < 0)
        fail(name, -result);
}

/* Maps a buffer's offset in the device file. */
static uint64_t map(const struct driver *driver, uint64_t size, uint64_t offset) {
    uint64_t address;
    if (driver->fd < 0) {
        must(gemco_sim_mmap(driver->device, size, offset, &address));
        return address;
    }
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, driver->fd, (off_t)offset);
    if (mapped == MAP_FAILED)
        fail("mmap", errno);
    return (uintptr_t)mapped;
}

/* The CPU's stores. */
static void put(const struct driver *driver, const struct buffer *buffer, uint64_t offset, const void *bytes, size_t len) {
    if (driver->fd < 0)
        must(gemco_sim_store(driver->device, buffer->mapped + offset, bytes, len));
    else
        memcpy((char *)(uintptr_t)buffer->mapped + offset, bytes, len);
}

/* The CPU's loads. */
static void get(const struct driver *driver, const struct buffer *buffer, uint64_t offset, void *bytes, size_t len) {
    if (driver->fd < 0)
        must(gemco_sim_load(driver->device, buffer->mapped + offset, bytes, len));
    else
        memcpy(bytes, (const char *)(uintptr_t)buffer->mapped + offset, len);
}

/* Lets the library track a new buffer. On a software device, whose mappings are no pointers, it maps the buffer itself. */
static void adopt(const struct driver *driver, struct buffer *buffer) {
    gemco_object object = {.size = buffer->size, .handle = buffer->handle,
                           .flags = GEMCO_ADOPT_ASK_LEVEL | GEMCO_ADOPT_NEW | GEMCO_ADOPT_WAITED};
    if (driver->fd >= 0) {
        object.mapped = (void *)(uintptr_t)buffer->mapped;
        object.map_mode = driver->is_discrete ? GEMCO_MAP_FIXED : GEMCO_MAP_WB;
    }
    must(gemco_bo_adopt(driver->device, &object, &buffer->bo));
}

/* Takes an idle buffer of this size, or creates one. */
static struct buffer *take(struct driver *driver, uint64_t size) {
    for (struct buffer **place = &driver->idle; *place; place = &(*place)->next) {
        struct buffer *found = *place;
        struct two_words busy = {.handle = found->handle};
        request(driver, GEM_BUSY, &busy, "GEM_BUSY");
        if (found->size == size && busy.second == 0) {
            *place = found->next;
            driver->reused++;
            return found;
        }
    }
    struct buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        fail("calloc", ENOMEM);
    struct create_ext create = {.size = size};
    request(driver, GEM_CREATE_EXT, &create, "GEM_CREATE_EXT");
    struct mmap_offset offset = {.handle = create.handle, .flags = driver->is_discrete ? MMAP_FIXED : MMAP_WB};
    request(driver, GEM_MMAP_OFFSET, &offset, "GEM_MMAP_OFFSET");
    buffer->handle = create.handle;
    buffer->size = create.size;
    buffer->mapped = map(driver, create.size, offset.offset);
    buffer->gpu_address = FIRST_ADDRESS + STEP * (uint64_t)driver->created++;
    if (driver->with_library || driver->bypass)
        adopt(driver, buffer);
    return buffer;
}

/* Keeps a buffer for reuse. The library still tracks it, so what is dirty or stale in it is remembered. */
static void release(struct driver *driver, struct buffer *buffer) {
    buffer->next = driver->idle;
    driver->idle = buffer;
}

/* Unmaps and closes every buffer. The library lets go first. */
static void close_all(struct driver *driver) {
    while (driver->idle) {
        struct buffer *buffer = driver->idle;
        driver->idle = buffer->next;
        gemco_bo_unref(buffer->bo);
        if (driver->fd < 0)
            must(gemco_sim_munmap(driver->device, buffer->mapped));
        else if (munmap((void *)(uintptr_t)buffer->mapped, buffer->size) < 0)
            fail("munmap", errno);
        struct two_words close = {.handle = buffer->handle};
        request(driver, GEM_CLOSE, &close, "GEM_CLOSE");
        free(buffer);
    }
}

/* Writes a copy of one region: XY_FAST_COPY_BLT, or XY_SRC_COPY_BLT before graphics version 9. Returns the end. */
static uint32_t *copy(const struct driver *driver, uint32_t *word, uint64_t to, uint64_t from) {
    int is_fast = driver->platform.graphics_major >= 9, is_wide = driver->platform.graphics_major >= 8;
    *word++ = 2u << 29 | (is_fast ? 0x42u << 22 | 8 : 0x53u << 22 | 3u << 20 | (is_wide ? 8 : 6));
    *word++ = 3u << 24 | (is_fast ? 0 : 0xccu << 16) | REGION;
    *word++ = 0;
    *word++ = 1u << 16 | REGION / 4;
    *word++ = (uint32_t)to;
    if (is_wide)
        *word++ = (uint32_t)(to >> 32);
    *word++ = 0;
    *word++ = REGION;
    *word++ = (uint32_t)from;
    if (is_wide)
        *word++ = (uint32_t)(from >> 32);
    return word;
}

/* Copies the source to two regions of the target, and waits. */
static void run(struct driver *driver, struct buffer *source, struct buffer *target, uint64_t offset) {
    struct buffer *batch = take(driver, REGION);
    uint32_t words[32] = {0}, *end = words;
    for (int i = 0; i < 2; i++)
        end = copy(driver, end, target->gpu_address + offset + (uint64_t)i * REGION, source->gpu_address);
    *end++ = 0x0au << 23; /* MI_BATCH_BUFFER_END; the next word is 0, MI_NOOP. */
    size_t len = (size_t)(end - words + 1) / 2 * 8;
    if (!driver->with_library && !driver->is_discrete) {
        /* The kernel flushes the batch, so that the GPU runs this one and not an old one. A discrete GPU always snoops it. */
        struct set_domain domain = {batch->handle, DOMAIN_CPU, DOMAIN_CPU};
        request(driver, GEM_SET_DOMAIN, &domain, "GEM_SET_DOMAIN");
    }
    put(driver, batch, 0, words, len);

    struct buffer *const buffers[] = {source, target, batch};
    struct exec_object objects[3] = {{0}};
    for (int i = 0; i < 3; i++) {
        objects[i].handle = buffers[i]->handle;
        objects[i].offset = buffers[i]->gpu_address;
        objects[i].flags = OBJECT_PINNED | (buffers[i] == target ? OBJECT_WRITE : 0);
    }
    struct execbuffer submit = {.buffers_ptr = (uintptr_t)objects, .buffer_count = 3, .batch_len = (uint32_t)len,
                                .flags = EXEC_BLT | EXEC_NO_RELOC};
    gemco_prepared *prepared = NULL;
    if (driver->with_library) {
        const gemco_submission list[] = {{.bo = source->bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE},
                                         {.bo = target->bo, .access = GEMCO_WRITE, .mocs = GEMCO_MOCS_PAGE_TABLE},
                                         {.bo = batch->bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE}};
        must(gemco_bo_mark_written(batch->bo, 0, len));
        must(gemco_submit_begin(driver->device, list, 3, NULL, &prepared));
    }
    request(driver, GEM_EXECBUFFER2, &submit, "GEM_EXECBUFFER2");
    must(gemco_submit_end(prepared, 0));
    struct wait wait = {.handle = batch->handle, .timeout_ns = -1};
    request(driver, GEM_WAIT, &wait, "GEM_WAIT");
    release(driver, batch);
}

/* Counts the bytes that are not the expected ones. */
static unsigned differences(const unsigned char *seen, const unsigned char *expected) {
    unsigned count = 0;
    for (int i = 0; i < REGION; i++)
        count += seen[i] != expected[i];
    return count;
}

/* One frame: an upload, a batch, and the way back. */
static void frame(struct driver *driver, int number) {
    unsigned char bytes[REGION], seen[REGION], read[REGION], cleared[REGION / 2];
    struct buffer *source = take(driver, REGION), *target = take(driver, 2 * FRAMES * REGION);
    uint64_t offset = 2 * (uint64_t)number * REGION;
    for (int i = 0; i < REGION; i++)
        bytes[i] = (unsigned char)(7 * i + 31 * number + 1);
    memset(cleared, CLEARED, sizeof cleared);

    put(driver, source, 0, bytes, REGION);
    /* Of the second region, the CPU's cache then has one half dirty, and one clean. */
    put(driver, target, offset + REGION, cleared, REGION / 2);
    get(driver, target, offset + REGION + REGION / 2, read, REGION / 2);
    if (driver->with_library) {
        unsigned readers = 1u << GEMCO_PATH_GPU_PAGE_TABLE;
        if (driver->bypass)
            readers |= 1u << GEMCO_PATH_GPU_BYPASS_LLC;
        must(gemco_bo_flush_range(source->bo, 0, REGION, readers, NULL));
        must(gemco_bo_mark_written(target->bo, offset + REGION, REGION / 2));
    }
    if (driver->bypass) {
        must(gemco_sim_gpu_read(driver->device, source->bo, GEMCO_MOCS_BYPASS_LLC, 0, seen, REGION));
        driver->bypassed += differences(seen, bytes);
    }
    run(driver, source, target, offset);
    if (driver->with_library)
        must(gemco_bo_invalidate_range(target->bo, offset, 2 * REGION, NULL));
    get(driver, target, offset, seen, REGION);
    get(driver, target, offset + REGION, read, REGION);
    driver->upload += differences(seen, bytes);
    driver->read_back += differences(read, seen);
    release(driver, source);
    release(driver, target);
}

int main(int argc, char **argv) {
    struct driver driver = {.fd = -1, .with_library = 1};
    for (int i = 2; i < argc; i++) {
        driver.with_library &= strcmp(argv[i], "--without-library") != 0;
        driver.bypass |= strcmp(argv[i], "--bypass") == 0;
    }
    if (argc < 2)
        fail("own_buffers DEVICE [--without-library] [--bypass]", EINVAL);
    if (strncmp(argv[1], "sim:", 4) == 0) {
        must(gemco_device_open(argv[1], 0, &driver.device));
    } else {
        driver.fd = open(argv[1], O_RDWR | O_CLOEXEC);
        if (driver.fd < 0)
            fail(argv[1], errno);
        must(gemco_device_open_fd(driver.fd, 0, &driver.device));
    }
    must(gemco_device_platform(driver.device, &driver.platform));
    driver.is_discrete = (driver.platform.caps & GEMCO_CAP_DISCRETE) != 0;
    if (driver.bypass && !(driver.platform.caps & GEMCO_CAP_LLC_BYPASS_MOCS))
        fail("--bypass", EOPNOTSUPP);

    for (int number = 0; number < FRAMES; number++)
        frame(&driver, number);
    printf("%s\n%u buffers, reused %u times\n", driver.platform.title, driver.created, driver.reused);
    printf("upload: %u\nread back: %u\n", driver.upload, driver.read_back);
    if (driver.bypass)
        printf("bypass: %u\n", driver.bypassed);
    unsigned wrong = driver.upload + driver.bypassed + driver.read_back;
    printf("wrong: %u\n", wrong);

    close_all(&driver);
    gemco_device_unref(driver.device);
    if (driver.fd >= 0)
        close(driver.fd);
    return wrong != 0;
}
