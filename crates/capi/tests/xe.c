/* On a device of xe: objects of the caller's with several mappings, those that are refused, and the barrier page.
 *
 *   xe /dev/dri/renderD128 */

#include "check.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { SIZE = 65536 };

/* DRM_XE_DEVICE_QUERY_CONFIG, for the PCI ID, and GEM_CREATE as the caller's own ioctls. */
struct device_query {
    uint64_t extensions;
    uint32_t query, size;
    uint64_t data, reserved[2];
};

struct gem_create {
    uint64_t extensions, size;
    uint32_t placement, flags, vm_id, handle;
    uint16_t cpu_caching, pad[3];
    uint64_t reserved[2];
};

/* The device as the rules know it; its graphics version is the platform's. */
static gemco_xe_device device_of(int fd) {
    uint64_t config[64] = {0};
    struct device_query query = {.query = 2};
    OK(ioctl(fd, _IOWR('d', 0x40, struct device_query), &query));
    CHECK(query.size <= sizeof config);
    query.data = (uintptr_t)config;
    OK(ioctl(fd, _IOWR('d', 0x40, struct device_query), &query));
    struct utsname name;
    unsigned major, minor;
    OK(uname(&name));
    CHECK(sscanf(name.release, "%u.%u", &major, &minor) == 2);
    gemco_xe_device device;
    OK(gemco_xe_device_by_id((uint16_t)config[1], (uint16_t)major, (uint16_t)minor, 0, 0, &device));
    return device;
}

/* Creates an object that the library does not know; returns its handle. */
static uint32_t create(int fd, const gemco_xe_mapping *chosen) {
    struct gem_create request = {.size = chosen->size, .placement = chosen->placement, .flags = chosen->create_flags,
                                 .cpu_caching = (uint16_t)chosen->memory};
    OK(ioctl(fd, _IOWR('d', 0x41, struct gem_create), &request));
    return request.handle;
}

/* Returns the verdict before the display reads what the GPU wrote through a mapping, of those that the library carries out. */
static unsigned before_display(const gemco_xe_device *device, const gemco_xe_mapping *mapping) {
    int verdict = gemco_xe_needs_flush(device, mapping, GEMCO_XE_AGENT_GPU, GEMCO_XE_AGENT_DISPLAY, GEMCO_XE_AFTER_FENCE, NULL);
    CHECK(verdict >= 0);
    return verdict == GEMCO_FLUSH ? GEMCO_FLUSH : GEMCO_NOT_NEEDED;
}

/* Returns what the library does before the display reads what a batch wrote. */
static unsigned shown(gemco_device *device, gemco_bo *bo) {
    const gemco_submission write = {.bo = bo, .access = GEMCO_WRITE, .mocs = GEMCO_MOCS_PAGE_TABLE};
    gemco_scanout *scanout;
    gemco_report report;
    OK(submit_nothing(device, &write, 1, NULL));
    OK(gemco_prepare_scanout(bo, &scanout, &report));
    gemco_scanout_end(scanout);
    return report.decision.verdict;
}

/* Each pair of mappings gets what either requires, whether they are told at once or one after the other. */
static void several(gemco_device *device, int fd, const gemco_xe_device *rules) {
    gemco_xe_mapping chosen;
    OK(gemco_xe_choose(rules, GEMCO_XE_USE_SCANOUT, SIZE, &chosen));
    const gemco_object object = {.size = chosen.size, .handle = create(fd, &chosen), .flags = GEMCO_ADOPT_NEW | GEMCO_ADOPT_WAITED};
    gemco_xe_mapping pair[2] = {chosen, chosen};
    for (pair[0].pat_index = 0; pair[0].pat_index < rules->pat_indices; pair[0].pat_index++) {
        for (pair[1].pat_index = 0; pair[1].pat_index < rules->pat_indices; pair[1].pat_index++) {
            gemco_bo *bo = NULL, *again = NULL;
            int refused = -gemco_xe_bind_refusal(rules, &pair[0], NULL);
            if (!refused)
                refused = -gemco_xe_bind_refusal(rules, &pair[1], NULL);
            CHECK(gemco_bo_adopt_xe(device, &object, pair, 2, &bo) == refused);
            if (refused)
                continue;
            unsigned first = before_display(rules, &pair[0]), second = before_display(rules, &pair[1]);
            unsigned both = first == GEMCO_FLUSH ? first : second;
            CHECK(shown(device, bo) == both);
            gemco_bo_unref(bo);
            OK(gemco_bo_adopt_xe(device, &object, &pair[0], 1, &bo));
            CHECK(shown(device, bo) == first);
            if (pair[1].pat_index % 2)
                OK(gemco_bo_bound_by(bo, pair[1].pat_index));
            else
                OK(gemco_bo_adopt_xe(device, &object, &pair[1], 1, &again));
            CHECK(shown(device, bo) == both);
            gemco_bo_unref(again);
            gemco_bo_unref(bo);
        }
    }
}

/* What cannot be adopted: each text names the cause. */
static void refused(gemco_device *device, int fd, const gemco_xe_device *rules) {
    gemco_xe_mapping chosen;
    OK(gemco_xe_choose(rules, GEMCO_XE_USE_READ_BACK, SIZE, &chosen));
    const gemco_object object = {.size = chosen.size, .handle = create(fd, &chosen)};
    gemco_bo *bo = NULL;
    gemco_object wrong = object;
    wrong.level = GEMCO_LEVEL_LLC;
    FAILS(gemco_bo_adopt_xe(device, &wrong, &chosen, 1, &bo), EINVAL, "object->level is not 0");
    wrong = object;
    wrong.flags = GEMCO_ADOPT_ASK_LEVEL;
    FAILS(gemco_bo_adopt_xe(device, &wrong, &chosen, 1, &bo), EINVAL, "object->flags is 4");
    wrong = object;
    wrong.size = 4096;
    FAILS(gemco_bo_adopt_xe(device, &wrong, &chosen, 1, &bo), EINVAL, "another size");
    FAILS(gemco_bo_adopt_xe(device, &object, &chosen, 0, &bo), EINVAL, "count is 0");
    FAILS(gemco_bo_adopt_xe(device, &object, NULL, 1, &bo), EINVAL, "mappings is NULL");
    gemco_xe_mapping pair[2] = {chosen, chosen};
    pair[1].create_flags = 1;
    FAILS(gemco_bo_adopt_xe(device, &object, pair, 2, &bo), EINVAL, "mappings are of several objects");
    pair[0].create_flags = 1 << 30;
    FAILS(gemco_bo_adopt_xe(device, &object, pair, 1, &bo), EINVAL, "an object of 65536 bytes is not available");
    pair[0] = (gemco_xe_mapping){.memory = GEMCO_XE_MEMORY_USERPTR, .pat_index = chosen.pat_index, .size = SIZE, .range = SIZE};
    FAILS(gemco_bo_adopt_xe(device, &object, pair, 1, &bo), EINVAL, "which has no handle");
    gemco_object asked = object;
    asked.flags = GEMCO_ADOPT_ASK_LEVEL;
    FAILS(gemco_bo_adopt(device, &asked, &bo), EOPNOTSUPP, "xe has no request for how an object was created");
    CHECK(bo == NULL);
    OK(gemco_bo_adopt_xe(device, &object, &chosen, 1, &bo));
    FAILS(gemco_bo_bound_by(bo, 65536), EINVAL, "pat_index is 65536");
    FAILS(gemco_bo_bound_by(bo, 77), EINVAL, "PAT index 77");
    gemco_bo_unref(bo);
}

/* The barrier page is there on discrete devices from 7.2 on. */
static void barrier(gemco_device *device, const gemco_xe_device *rules) {
    gemco_pci_barrier *barrier = NULL;
    if (!(rules->regions & GEMCO_XE_LOCAL)) {
        FAILS(gemco_device_pci_barrier(device, &barrier), EINVAL, rules->kernel_major < 7 ? "A flag is unknown" : "only discrete devices");
    } else if (rules->kernel_major < 7) {
        FAILS(gemco_device_pci_barrier(device, &barrier), EINVAL, "A flag is unknown to this kernel");
    } else {
        OK(gemco_device_pci_barrier(device, &barrier));
        OK(gemco_pci_barrier_drain(barrier));
    }
    gemco_pci_barrier_unmap(barrier);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    int fd = open(argv[1], O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    gemco_xe_device rules = device_of(fd);
    gemco_device *device = NULL;
    OK(gemco_device_open_fd(fd, 0, &device));
    several(device, fd, &rules);
    refused(device, fd, &rules);
    barrier(device, &rules);
    uint64_t mappings = 77;
    OK(gemco_device_open_counts(device, NULL, &mappings));
    CHECK(mappings == 0);
    gemco_device_unref(device);
    CHECK(close(fd) == 0);
    printf("%d claims\n", claims);
    return 0;
}
