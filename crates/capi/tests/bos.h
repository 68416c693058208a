/* Shared by the C tests of BOs on software devices. */

#ifndef BOS_H
#define BOS_H

#include "check.h"

/* A range that touches three lines, on two pages. */
enum { AT = 4076, LEN = 100, LINES = 3, SIZE = 16384 };

static unsigned char fresh[LEN], seen[LEN];

static inline void fill_fresh(void) {
    for (int i = 0; i < LEN; i++)
        fresh[i] = (unsigned char)(0xa5 ^ i);
}

static inline int is_fresh(void) { return memcmp(seen, fresh, LEN) == 0; }

static inline gemco_device *open_device(const char *name) {
    gemco_device *device = NULL;
    OK(gemco_device_open(name, 0, &device));
    CHECK(device != NULL);
    return device;
}

/* Closes a device after its BOs; nothing may stay open. */
static inline void close_device(gemco_device *device) {
    uint64_t handles = 7, mappings = 7;
    OK(gemco_device_open_counts(device, &handles, &mappings));
    CHECK(handles == 0 && mappings == 0);
    gemco_device_unref(device);
}

/* Creates a BO whose zeroes are in memory. */
static inline gemco_bo *new_bo(gemco_device *device, unsigned caching, unsigned map) {
    gemco_bo *bo = NULL;
    OK(gemco_bo_create(device, SIZE - 1, caching, &bo));
    CHECK(gemco_bo_size(bo) == SIZE && gemco_bo_handle(bo) != 0);
    OK(gemco_bo_map(bo, map, NULL));
    CHECK(gemco_bo_map_mode(bo) == (int)map);
    OK(gemco_bo_flush(bo, NULL));
    return bo;
}

/* Reads by the GPU, or by the display if `mocs` is no MOCS class. */
static inline void look(gemco_device *device, gemco_bo *bo, unsigned mocs) {
    memset(seen, 0xee, LEN);
    if (mocs <= GEMCO_MOCS_BYPASS_LLC)
        OK(gemco_sim_gpu_read(device, bo, mocs, AT, seen, LEN));
    else
        OK(gemco_sim_display_read(device, bo, AT, seen, LEN));
}

#endif
