/* Memory that requests use: userptr objects of memory by what it allows, structures in mappings of objects, and sources that end early.
 * The argument `7.2` names the kernel, if PWRITE refuses more than 0x7ffff000 bytes there. */

#include "check.h"

static int fd;
static uint32_t batch;

/* Submits the batch with another object; returns 0 or a negative errno. */
static int submit(struct drm_i915_gem_execbuffer2 *args, struct drm_i915_gem_exec_object2 *objects, uint32_t other) {
    uint32_t handles[] = {other, batch};
    int count = other ? 2 : 1;
    memset(objects, 0, 2 * sizeof *objects);
    for (int n = 0; n < count; n++) objects[n].handle = handles[n + 2 - count];
    memset(args, 0, sizeof *args);
    args->buffers_ptr = (uintptr_t)objects;
    args->buffer_count = count;
    return request(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, args);
}

/* Returns whether the GPU gets anonymous memory that is mapped with a protection: 0 or a negative errno. */
static int userptr(int protection) {
    struct drm_i915_gem_execbuffer2 args;
    struct drm_i915_gem_exec_object2 objects[2];
    void *memory = mmap(NULL, 2 * PAGE, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    struct drm_i915_gem_userptr userptr = {.user_ptr = (uintptr_t)memory, .user_size = 2 * PAGE};
    OK(request(fd, DRM_IOCTL_I915_GEM_USERPTR, &userptr));
    int done = submit(&args, objects, userptr.handle);
    /* Half of it is gone. */
    OK(munmap((char *)memory + PAGE, PAGE));
    if (done == 0) SAME(submit(&args, objects, userptr.handle), -EFAULT);
    OK(close_handle(fd, userptr.handle));
    OK(munmap(memory, PAGE));
    return done;
}

/* Makes requests whose structures lie in an object that is mapped in each way. */
static void structures(void) {
    const uint64_t modes[] = {I915_MMAP_OFFSET_WB, I915_MMAP_OFFSET_WC, I915_MMAP_OFFSET_UC, I915_MMAP_OFFSET_FIXED};
    int mapped = 0;
    for (int n = 0; n < 4; n++) {
        uint32_t object = create(fd, PAGE);
        struct drm_i915_gem_mmap_offset map = {.handle = object, .flags = modes[n]};
        if (request(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &map) == 0) {
            struct drm_i915_gem_execbuffer2 *args = mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, fd, (off_t)map.offset);
            CHECK((void *)args != MAP_FAILED);
            OK(submit(args, (void *)(args + 1), 0));
            args->flags = ~0ull;
            SAME(request(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, args), -EINVAL);
            OK(munmap(args, PAGE));
            mapped++;
        }
        OK(close_handle(fd, object));
    }
    CHECK(mapped > 0);
}

/* Writes terabytes from memory that ends at once; `wanted` is the errno of objects without pages. */
static void long_source(int wanted) {
    struct drm_i915_gem_create huge = {.size = 1ull << 47};
    if (!has_transfers(fd) || request(fd, DRM_IOCTL_I915_GEM_CREATE, &huge) != 0) return;
    SAME(pwrite_object(fd, huge.handle, 0, (void *)(uintptr_t)(16 * PAGE), 94ull << 40), -wanted);
    SAME(pwrite_object(fd, huge.handle, 1, (void *)(uintptr_t)(16 * PAGE), 94ull << 40), -wanted);
    OK(close_handle(fd, huge.handle));
}

int main(int count, char **arguments) {
    fd = open_card();
    batch = create(fd, PAGE);
    uint32_t *words = (uint32_t *)map(fd, batch, PAGE);
    words[0] = 0x05000000; /* MI_BATCH_BUFFER_END */
    __asm__ volatile("clflush %0\n\tmfence" : "+m"(words[0]));
    SAME(userptr(PROT_READ | PROT_WRITE), 0);
    SAME(userptr(PROT_WRITE), 0);
    SAME(userptr(PROT_READ), -EFAULT);
    SAME(userptr(PROT_NONE), -EFAULT);
    structures();
    long_source(count > 1 && !strcmp(arguments[1], "7.2") ? EFBIG : EFAULT);
    return done();
}
