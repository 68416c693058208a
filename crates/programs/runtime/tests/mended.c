// A library that takes the cause of two mistakes of Mesa's hasvk away, to show that it is the cause. It goes before the library of gemtool
// in LD_PRELOAD. With any other value of MENDED it changes nothing.
//
// MENDED=snooped: objects of 512 KiB, the size of the buffer of INTEL_MEASURE, are snooped from their creation on.
// MENDED=targets: relocations without a target get the first object of their batch. The driver's target is not known here, so the batch
// writes its results to the wrong place.
//
//     cc -shared -fPIC -o mended.so mended.c
//     gemtool sim chv -- env LD_PRELOAD=./mended.so:/path/to/libgem_coherency_preload.so MENDED=snooped ./program
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libdrm/i915_drm.h>

enum { MEASURE_BYTES = 512 << 10 };

typedef int ioctl_function(int fd, unsigned long code, ...);

static int mends(const char *name) {
    const char *mended = getenv("MENDED");
    return mended && strcmp(mended, name) == 0;
}

static void set_targets(const struct drm_i915_gem_execbuffer2 *batch) {
    const struct drm_i915_gem_exec_object2 *objects = (void *)(uintptr_t)batch->buffers_ptr;
    for (uint32_t object = 0; object < batch->buffer_count; object++) {
        struct drm_i915_gem_relocation_entry *entries = (void *)(uintptr_t)objects[object].relocs_ptr;
        for (uint32_t entry = 0; entry < objects[object].relocation_count; entry++)
            if (entries[entry].target_handle == UINT32_MAX) entries[entry].target_handle = 0;
    }
}

int ioctl(int fd, unsigned long code, ...) {
    static ioctl_function *next;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "ioctl");
    va_list arguments;
    va_start(arguments, code);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int is_batch = code == DRM_IOCTL_I915_GEM_EXECBUFFER2 || code == DRM_IOCTL_I915_GEM_EXECBUFFER2_WR;
    if (is_batch && mends("targets")) set_targets(argument);
    int done = next(fd, code, argument);
    const struct drm_i915_gem_create *created = argument;
    if (done == 0 && code == DRM_IOCTL_I915_GEM_CREATE && created->size == MEASURE_BYTES && mends("snooped")) {
        struct drm_i915_gem_caching caching = {.handle = created->handle, .caching = I915_CACHING_CACHED};
        done = next(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching);
    }
    return done;
}
