/* dlopen and dlclose of the library, again and again, with calls between: nothing crashes, nothing leaks, and its
 * texts stay valid, because dlclose does not unload it.
 *
 *   reload LIBRARY */

#include "check.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

enum { ROUNDS = 20 };

/* The functions that a round calls, from the library that it loaded. */
struct library {
    __typeof__(&gemco_device_open) device_open;
    __typeof__(&gemco_device_unref) device_unref;
    __typeof__(&gemco_bo_create) bo_create;
    __typeof__(&gemco_bo_write) bo_write;
    __typeof__(&gemco_bo_flush) bo_flush;
    __typeof__(&gemco_bo_unref) bo_unref;
    __typeof__(&gemco_set_log) set_log;
    __typeof__(&gemco_rule_name) rule_name;
    __typeof__(&gemco_last_error) last_error;
};

/* As CHECK, which would need the library linked. */
#define COUNTS(claim)                                                                                                   \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim);                                        \
            exit(1);                                                                                                   \
        }                                                                                                              \
        claims++;                                                                                                      \
    } while (0)

static void on_log(unsigned level, const char *line, void *user) {
    (void)level, (void)line;
    ++*(unsigned *)user;
}

/* Returns the KiB of memory that the kernel zeroes in a child: the library has one such page. */
static unsigned wiped_kib(void) {
    char line[512];
    unsigned size = 0, sum = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    COUNTS(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "Size: %u kB", &size) != 1 && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " wf") != NULL)
            sum += size;
    }
    fclose(maps);
    return sum;
}

/* Opens a device and a BO, fails once, and closes all; returns a text of the library. */
static const char *use(void *handle) {
    struct library l;
    gemco_device *device = NULL;
    gemco_bo *bo = NULL;
    unsigned lines = 0;
#define LOAD(name) COUNTS((*(void **)&l.name = dlsym(handle, "gemco_" #name)) != NULL)
    LOAD(device_open);
    LOAD(device_unref);
    LOAD(bo_create);
    LOAD(bo_write);
    LOAD(bo_flush);
    LOAD(bo_unref);
    LOAD(set_log);
    LOAD(rule_name);
    LOAD(last_error);
    COUNTS(l.set_log(GEMCO_LOG_DEBUG, on_log, &lines) == 0);
    COUNTS(l.device_open("sim:glk", 0, &device) == 0);
    COUNTS(l.bo_create(device, 4096, GEMCO_CACHING_NONE, &bo) == 0);
    COUNTS(l.bo_write(bo, 0, "bytes", 5, NULL) == 0 && l.bo_flush(bo, NULL) == 0);
    COUNTS(l.bo_write(bo, 99999, "bytes", 5, NULL) == -EINVAL && strstr(l.last_error(), "99999") != NULL);
    COUNTS(l.set_log(GEMCO_LOG_OFF, NULL, NULL) == 0 && lines > 0);
    l.bo_unref(bo);
    l.device_unref(device);
    return l.rule_name(0);
}

static void *use_on_thread(void *handle) { return (void *)use(handle); }

int main(int argc, char **argv) {
    const char *first = NULL;
    char kept[64];
    COUNTS(argc == 2);
    COUNTS(wiped_kib() == 0);
    for (int round = 0; round < ROUNDS; round++) {
        const char *name = NULL;
        void *text = NULL, *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        COUNTS(handle != NULL);
        if (round % 2 == 0) {
            name = use(handle);
        } else {
            pthread_t thread;
            COUNTS(pthread_create(&thread, NULL, use_on_thread, handle) == 0);
            COUNTS(pthread_join(thread, &text) == 0);
            name = text;
        }
        if (first == NULL) {
            first = name;
            snprintf(kept, sizeof kept, "%s", name);
        }
        COUNTS(name == first);
        COUNTS(dlclose(handle) == 0);

        void *still = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
        COUNTS(still != NULL);
        COUNTS(dlclose(still) == 0);
        COUNTS(strcmp(first, kept) == 0 && kept[0] != 0);
        COUNTS(wiped_kib() == 4);
    }
    printf("%d claims\n", claims);
    return 0;
}
