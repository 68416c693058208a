/* The functions without a device: capabilities, decisions, texts of rules, cache operations. They allocate nothing. */

#include "check.h"

/* The C library's own allocator, behind replacements that count every allocation of the program and the library. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* Volatile: a compiler knows that the C library's malloc changes no variable. */
static volatile int allocations;

#ifndef __SANITIZE_ADDRESS__
void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    allocations++;
    return __libc_realloc(old, size);
}
#endif

enum { JSL = 0x4e61, GLK = 0x3185, TGL = 0x9a49, MTL = 0x7d55 };

static const gemco_platform *of(uint16_t id) {
    static gemco_platform platform;
    OK(gemco_platform_by_id(id, 0, 0, 0, &platform));
    CHECK(platform.pci_id == id);
    return &platform;
}

/* A cell of the decision table. */
static void flush_case(uint16_t id, unsigned level, unsigned writer, unsigned next, int verdict, const char *rule) {
    gemco_decision decision;
    gemco_question question = {.level = level, .writer = writer, .next = next, .access = GEMCO_READ};
    CHECK(gemco_needs_flush(of(id), &question, &decision) == verdict);
    CHECK(decision.verdict == (unsigned)verdict);
    BY_RULE(decision, rule);
    CHECK(gemco_needs_flush(of(id), &question, NULL) == verdict);
}

/* The verdict for several readers. */
static int any(uint16_t id, unsigned level, unsigned writer, unsigned readers) {
    gemco_question question = {.level = level, .writer = writer, .access = GEMCO_READ};
    return gemco_needs_flush_any(of(id), &question, readers, NULL);
}

static void decisions(void) {
    flush_case(JSL, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_WB, GEMCO_PATH_GPU_BYPASS_LLC, GEMCO_FLUSH, "bypass-mocs-read");
    flush_case(JSL, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_WB, GEMCO_PATH_GPU_PAGE_TABLE, GEMCO_NOT_NEEDED, "llc-coherent");
    flush_case(TGL, GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WB, GEMCO_PATH_GPU_BYPASS_LLC, GEMCO_NOT_NEEDED, "llc-coherent");
    flush_case(TGL, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_WB, GEMCO_PATH_DISPLAY, GEMCO_FLUSH, "display-reads-memory");
    flush_case(GLK, GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WB, GEMCO_PATH_GPU_PAGE_TABLE, GEMCO_FLUSH, "non-coherent-read");
    flush_case(GLK, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_WB, GEMCO_PATH_GPU_PAGE_TABLE, GEMCO_NOT_NEEDED, "snooped");
    flush_case(GLK, GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WC, GEMCO_PATH_GPU_PAGE_TABLE, GEMCO_DRAIN, "wc-drain");
    flush_case(GLK, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_GTT, GEMCO_PATH_DISPLAY, GEMCO_REFUSED, "gtt-snooped-faults");

    gemco_decision decision;
    gemco_question read_back = {.level = GEMCO_LEVEL_NONE, .writer = GEMCO_PATH_GPU_PAGE_TABLE,
                                .next = GEMCO_PATH_CPU_WB, .access = GEMCO_READ};
    CHECK(gemco_needs_invalidate(of(GLK), &read_back, &decision) == GEMCO_INVALIDATE);
    BY_RULE(decision, "stale-after-gpu-write");
    CHECK(strstr(gemco_rule_reason(decision.rule), "stale") != NULL);
    CHECK(strstr(gemco_rule_source(decision.rule), "i915") != NULL);

    /* On Jasper Lake only the display, and reads through MOCS 16 and 17, need a flush. */
    unsigned page_table = 1u << GEMCO_PATH_GPU_PAGE_TABLE, bypass = 1u << GEMCO_PATH_GPU_BYPASS_LLC;
    unsigned display = 1u << GEMCO_PATH_DISPLAY, fixed = 1u << GEMCO_PATH_CPU_FIXED;
    CHECK(any(JSL, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_WB, page_table) == GEMCO_NOT_NEEDED);
    CHECK(any(JSL, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_WB, page_table | bypass) == GEMCO_FLUSH);
    CHECK(any(TGL, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_WB, page_table | bypass) == GEMCO_NOT_NEEDED);
    CHECK(any(TGL, GEMCO_LEVEL_LLC, GEMCO_PATH_CPU_WB, page_table | display) == GEMCO_FLUSH);
    CHECK(any(GLK, GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WC, page_table | fixed) == GEMCO_DRAIN);
    CHECK(any(GLK, GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WC, fixed) == GEMCO_REFUSED);
    FAILS(any(GLK, GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WC, 0), EINVAL, "readers is 0");
    FAILS(any(GLK, GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WC, 1u << 9), EINVAL, "readers is 512");

    CHECK(gemco_default_map_mode(of(GLK), GEMCO_LEVEL_NONE) == GEMCO_MAP_WC);
    CHECK(gemco_default_map_mode(of(TGL), GEMCO_LEVEL_NONE) == GEMCO_MAP_WB);
    CHECK(gemco_coherency(of(TGL), GEMCO_LEVEL_NONE) == 1);
    CHECK(gemco_coherency(of(GLK), GEMCO_LEVEL_NONE) == 0);
    CHECK(gemco_coherency(of(GLK), GEMCO_LEVEL_LLC) == 3);
}

/* Levels of new BOs, classes of MOCS entries, paths. */
static void levels(void) {
    gemco_platform edram = {.caps = GEMCO_CAP_LLC | GEMCO_CAP_WT};
    CHECK(gemco_caching_level(of(GLK), GEMCO_CACHING_CACHED) == GEMCO_LEVEL_LLC);
    CHECK(gemco_caching_level(&edram, GEMCO_CACHING_DISPLAY) == GEMCO_LEVEL_WT);
    CHECK(gemco_caching_level(of(GLK), GEMCO_CACHING_DEFAULT) == GEMCO_LEVEL_NONE);
    CHECK(gemco_caching_level(of(TGL), GEMCO_CACHING_DEFAULT) == GEMCO_LEVEL_LLC);
    /* There is no LLC, and the kernel makes objects snooped all the same. */
    CHECK(gemco_caching_level(of(MTL), GEMCO_CACHING_DEFAULT) == GEMCO_LEVEL_LLC);
    CHECK(gemco_pat_level(of(MTL), 0) == GEMCO_LEVEL_WT && gemco_pat_level(of(MTL), 2) == GEMCO_LEVEL_NONE);
    CHECK(gemco_pat_level(of(MTL), 3) == GEMCO_LEVEL_LLC);
    FAILS(gemco_pat_level(of(MTL), 5), EINVAL, "index");
    FAILS(gemco_pat_level(of(MTL), 256), EINVAL, "index is 256");
    FAILS(gemco_pat_level(of(TGL), 0), ENODEV, "index");
    CHECK(gemco_mocs_class(of(JSL), 16) == GEMCO_MOCS_BYPASS_LLC && gemco_mocs_class(of(TGL), 16) == GEMCO_MOCS_UNCACHED);
    CHECK(gemco_mocs_class(of(JSL), 2) == GEMCO_MOCS_PAGE_TABLE);
    FAILS(gemco_mocs_class(of(JSL), 256), EINVAL, "index is 256");
    CHECK(gemco_map_path(GEMCO_MAP_GTT) == GEMCO_PATH_CPU_GTT && gemco_map_path(GEMCO_MAP_FIXED) == GEMCO_PATH_CPU_FIXED);
    CHECK(gemco_mocs_path(GEMCO_MOCS_BYPASS_LLC) == GEMCO_PATH_GPU_BYPASS_LLC);
    FAILS(gemco_map_path(GEMCO_MAP_DEFAULT), EINVAL, "mode is 5");
    FAILS(gemco_mocs_path(3), EINVAL, "mocs is 3");
    char byte = 0;
    CHECK(gemco_drain_of(of(GLK), GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_GTT) == GEMCO_DRAIN_READ_BACK);
    CHECK(gemco_drain_of(of(GLK), GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WC) == GEMCO_DRAIN_FENCE);
    CHECK(gemco_drain_of(of(GLK), GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WB) == GEMCO_DRAIN_NOTHING);
    FAILS(gemco_drain_of(of(GLK), GEMCO_LEVEL_NONE, GEMCO_PATH_DISPLAY), EINVAL, "writer is 8");
    OK(gemco_drain(of(GLK), GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_GTT, &byte));
    OK(gemco_drain(of(GLK), GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_WB, &byte));
    FAILS(gemco_drain(of(GLK), GEMCO_LEVEL_NONE, GEMCO_PATH_GPU_PAGE_TABLE, &byte), EINVAL, "writer is 5");
    FAILS(gemco_drain(of(GLK), GEMCO_LEVEL_NONE, GEMCO_PATH_CPU_GTT, NULL), EINVAL, "mapped is NULL");
}

static void platforms(void) {
    gemco_platform platform;
    OK(gemco_platform_by_id(JSL, 0, 0, 0, &platform));
    CHECK(strcmp(platform.name, "jsl") == 0 && strcmp(platform.title, "Jasper Lake") == 0);
    CHECK(platform.caps == (GEMCO_CAP_LLC | GEMCO_CAP_LLC_BYPASS_MOCS | GEMCO_CAP_APERTURE));
    CHECK(platform.graphics_major == 11 && platform.graphics_minor == 0);
    OK(gemco_platform_by_id(MTL, 6, 1, 0, &platform));
    CHECK((platform.caps & GEMCO_CAP_LLC) && !(platform.caps & GEMCO_CAP_PAT_AT_CREATE));
    OK(gemco_platform_by_id(MTL, 6, 12, 0, &platform));
    CHECK(!(platform.caps & GEMCO_CAP_LLC) && (platform.caps & GEMCO_CAP_PAT_AT_CREATE));
    FAILS(gemco_platform_by_id(1, 0, 0, 0, &platform), ENODEV, "8086:0001");
    CHECK(platform.pci_id == MTL);
}

/* Checks that every parameter refuses numbers outside of its enum. */
static void numbers(void) {
    const gemco_platform *glk = of(GLK);
    for (unsigned level = 0; level < 6; level++)
        for (unsigned writer = 0; writer < 11; writer++)
            for (unsigned next = 0; next < 11; next++)
                for (unsigned access = 0; access < 4; access++) {
                    int known = level <= GEMCO_LEVEL_WT && writer <= GEMCO_PATH_DISPLAY && next <= GEMCO_PATH_DISPLAY &&
                                access <= GEMCO_WRITE;
                    gemco_question question = {.level = level, .writer = writer, .next = next, .access = access};
                    gemco_decision decision = {77, 77};
                    int flush = gemco_needs_flush(glk, &question, &decision);
                    CHECK((flush >= 0) == known && (decision.rule == 77) == !known);
                    int invalidate = gemco_needs_invalidate(glk, &question, NULL);
                    CHECK((invalidate >= 0) == known && (known || invalidate == -EINVAL));
                }
    gemco_platform bad = {.caps = 1u << 31};
    gemco_question first = {0}, level = {.level = 4};
    FAILS(gemco_needs_flush(&bad, &first, NULL), EINVAL, "platform->caps is 2147483648");
    FAILS(gemco_needs_flush(glk, &level, NULL), EINVAL, "gemco_needs_flush: question->level is 4");
    for (int i = 0; i < 2; i++) {
        gemco_question later = {.writer = i ? GEMCO_PATH_CPU_WB : GEMCO_PATH_GPU_PAGE_TABLE};
        CHECK(gemco_needs_flush(glk, &later, NULL) >= 0 && gemco_needs_invalidate(glk, &later, NULL) >= 0);
        CHECK(gemco_needs_flush_any(glk, &later, 1, NULL) >= 0);
        later.reserved[i] = 1;
        FAILS(gemco_needs_flush(glk, &later, NULL), EINVAL, "question->reserved is not 0");
        FAILS(gemco_needs_flush_any(glk, &later, 1, NULL), EINVAL, "question->reserved is not 0");
        FAILS(gemco_needs_invalidate(glk, &later, NULL), EINVAL, "question->reserved is not 0");
    }
    FAILS(gemco_needs_flush(NULL, &first, NULL), EINVAL, "platform is NULL");
    FAILS(gemco_needs_flush(glk, NULL, NULL), EINVAL, "question is NULL");
    FAILS(gemco_caching_level(glk, 4), EINVAL, "caching is 4");
    FAILS(gemco_default_map_mode(glk, ~0u), EINVAL, "level");
    FAILS(gemco_coherency(&bad, 0), EINVAL, "caps");
    CHECK(gemco_rule_name(~0u) == NULL && gemco_rule_reason(10000) == NULL && gemco_rule_source(10000) == NULL);
    FAILS(gemco_platform_by_id(GLK, 0, 0, 0, NULL), EINVAL, "platform is NULL");
}

enum { LNL = 0x64a0, BMG = 0xe202, PTL = 0xb080, ATSM = 0x56c0 };

/* A device of xe under Linux 7.2. */
static const gemco_xe_device *xe_of(uint16_t id) {
    static gemco_xe_device device;
    OK(gemco_xe_device_by_id(id, 7, 2, 0, 0, &device));
    CHECK(device.pci_id == id && device.kernel_major == 7 && device.kernel_minor == 2);
    return &device;
}

/* A mapping of a whole object, or of one page of the process. */
static gemco_xe_mapping mapping_of(unsigned memory, unsigned pat_index) {
    int is_created = memory == GEMCO_XE_MEMORY_WB || memory == GEMCO_XE_MEMORY_WC;
    return (gemco_xe_mapping){.memory = memory, .placement = is_created ? GEMCO_XE_SYSTEM : 0, .pat_index = pat_index,
                              .size = 65536, .range = 65536, .address = 1 << 24};
}

/* The kernel refuses a mapping by this rule, or accepts it (NULL). */
static void bind_case(uint16_t id, gemco_xe_mapping mapping, unsigned request, int error, const char *rule) {
    gemco_xe_refusal refusal = {7, 7, 7};
    CHECK(gemco_xe_bind_refusal(xe_of(id), &mapping, &refusal) == error);
    CHECK(refusal.request == request && refusal.error == error);
    if (rule)
        BY_RULE(refusal, rule);
    CHECK(gemco_xe_bind_refusal(xe_of(id), &mapping, NULL) == error);
}

static void xe_devices(void) {
    gemco_xe_device device;
    OK(gemco_xe_device_by_id(LNL, 0, 0, 0, 0, &device));
    CHECK(strcmp(device.name, "lnl") == 0 && strcmp(device.title, "Lunar Lake") == 0 && device.pci_id == LNL);
    CHECK(device.graphics_major == 20 && device.graphics_minor == 4 && device.kernel_major == 0);
    CHECK(device.regions == GEMCO_XE_SYSTEM && device.pat_indices == 32);
    CHECK(xe_of(BMG)->regions == (GEMCO_XE_SYSTEM | GEMCO_XE_LOCAL));
    CHECK(xe_of(TGL)->pat_indices == 4 && xe_of(MTL)->pat_indices == 5);
    /* The version that the device reports decides about the table. */
    OK(gemco_xe_device_by_id(LNL, 7, 2, 20, 1, &device));
    CHECK(device.pat_indices == 28 && device.graphics_minor == 1);
    FAILS(gemco_xe_device_by_id(LNL, 7, 2, 21, 0, &device), EINVAL, "graphics version 21.00");
    FAILS(gemco_xe_device_by_id(LNL, 6, 8, 0, 0, &device), EINVAL, "not 6.8");
    FAILS(gemco_xe_device_by_id(1, 7, 2, 0, 0, &device), ENODEV, "8086:0001");
    FAILS(gemco_xe_device_by_id(JSL, 7, 2, 0, 0, &device), ENODEV, "Jasper Lake is driven by i915");
    FAILS(gemco_xe_device_by_id(0x46d3, 6, 12, 0, 0, &device), ENODEV, "does not list 8086:46d3");
    FAILS(gemco_xe_device_by_id(PTL, 6, 12, 0, 0, &device), EINVAL, "does not claim ptl");
    FAILS(gemco_xe_device_by_id(LNL, 7, 2, 0, 0, NULL), EINVAL, "gemco_xe_device_by_id: device is NULL");
    CHECK(device.pat_indices == 28);
}

static void xe_binds(void) {
    gemco_xe_mapping cached = mapping_of(GEMCO_XE_MEMORY_WB, 1), other = cached;
    bind_case(LNL, cached, GEMCO_XE_NO_REQUEST, 0, NULL);
    other.pat_index = 0;
    bind_case(LNL, other, GEMCO_XE_VM_BIND, EINVAL, "cached-not-snooped");
    bind_case(TGL, other, GEMCO_XE_NO_REQUEST, 0, NULL);
    bind_case(TGL, cached, GEMCO_XE_VM_BIND, EINVAL, "cached-not-snooped");
    bind_case(LNL, mapping_of(GEMCO_XE_MEMORY_WC, 0), GEMCO_XE_NO_REQUEST, 0, NULL);
    bind_case(LNL, mapping_of(GEMCO_XE_MEMORY_WC, 16), GEMCO_XE_VM_BIND, EINVAL, "pat-index-reserved");
    bind_case(LNL, mapping_of(GEMCO_XE_MEMORY_WC, 65535), GEMCO_XE_VM_BIND, EINVAL, "pat-index-beyond");
    bind_case(LNL, mapping_of(GEMCO_XE_MEMORY_IMPORT, 0), GEMCO_XE_VM_BIND, EINVAL, "import-not-snooped");
    bind_case(LNL, mapping_of(GEMCO_XE_MEMORY_IMPORT, 1), GEMCO_XE_NO_REQUEST, 0, NULL);
    bind_case(LNL, mapping_of(GEMCO_XE_MEMORY_USERPTR, 0), GEMCO_XE_VM_BIND, EINVAL, "userptr-not-snooped");
    bind_case(LNL, mapping_of(GEMCO_XE_MEMORY_USERPTR, 1), GEMCO_XE_NO_REQUEST, 0, NULL);
    other = cached, other.range = 65537;
    bind_case(LNL, other, GEMCO_XE_VM_BIND, EINVAL, "bind-unaligned");
    other = cached, other.offset = 4096;
    bind_case(LNL, other, GEMCO_XE_VM_BIND, EINVAL, "bind-beyond-object");
    other = cached, other.address = UINT64_MAX - 4095;
    bind_case(LNL, other, GEMCO_XE_VM_BIND, EINVAL, "bind-beyond-space");
    other = cached, other.bind_flags = 1u << 31;
    bind_case(LNL, other, GEMCO_XE_VM_BIND, EINVAL, "bind-flags");
    /* GEM_CREATE comes first. */
    other = cached, other.placement = GEMCO_XE_LOCAL;
    bind_case(LNL, other, GEMCO_XE_GEM_CREATE, EINVAL, "create-placement");
    bind_case(BMG, other, GEMCO_XE_GEM_CREATE, EINVAL, "local-is-wc");
    other = cached, other.size = 1, other.pat_index = 0;
    bind_case(LNL, other, GEMCO_XE_GEM_CREATE, EINVAL, "create-size");
    other = cached, other.create_flags = 1u << 3;
    bind_case(TGL, other, GEMCO_XE_GEM_CREATE, EOPNOTSUPP, "compression-cannot-be-off");
}

/* A cell of xe's decision table. */
static void xe_case(uint16_t id, gemco_xe_mapping mapping, unsigned writer, unsigned next, unsigned when, int verdict, const char *rule) {
    gemco_decision decision;
    CHECK(gemco_xe_needs_flush(xe_of(id), &mapping, writer, next, when, &decision) == verdict);
    CHECK(decision.verdict == (unsigned)verdict);
    BY_RULE(decision, rule);
    CHECK(gemco_xe_needs_flush(xe_of(id), &mapping, writer, next, when, NULL) == verdict);
}

static void xe_decisions(void) {
    enum { CPU = GEMCO_XE_AGENT_CPU, GPU = GEMCO_XE_AGENT_GPU, DISPLAY = GEMCO_XE_AGENT_DISPLAY };
    enum { AFTER = GEMCO_XE_AFTER_FENCE, IN_BATCH = GEMCO_XE_IN_BATCH };
    gemco_xe_mapping cached = mapping_of(GEMCO_XE_MEMORY_WB, 1), combined = mapping_of(GEMCO_XE_MEMORY_WC, 0);
    gemco_xe_mapping wrong = mapping_of(GEMCO_XE_MEMORY_WB, 0), own = mapping_of(GEMCO_XE_MEMORY_USERPTR, 1), local = combined;
    local.placement = GEMCO_XE_LOCAL;
    xe_case(LNL, cached, CPU, GPU, AFTER, GEMCO_NOT_NEEDED, "snooped-mapping");
    xe_case(LNL, cached, GPU, CPU, AFTER, GEMCO_NOT_NEEDED, "end-flushes");
    xe_case(LNL, cached, GPU, CPU, IN_BATCH, GEMCO_FLUSH_GPU, "flush-in-batch");
    xe_case(LNL, cached, CPU, DISPLAY, AFTER, GEMCO_FLUSH, "display-reads-memory");
    xe_case(LNL, combined, CPU, GPU, AFTER, GEMCO_DRAIN, "wc-drain");
    xe_case(BMG, local, CPU, GPU, AFTER, GEMCO_DRAIN, "bar-drain");
    xe_case(LNL, wrong, CPU, GPU, AFTER, GEMCO_REFUSED, "cannot-be-bound");
    xe_case(LNL, local, CPU, GPU, AFTER, GEMCO_REFUSED, "create-placement");
    xe_case(LNL, own, GPU, DISPLAY, AFTER, GEMCO_REFUSED, "userptr-not-shown");
    xe_case(ATSM, local, GPU, DISPLAY, AFTER, GEMCO_REFUSED, "no-display");
    xe_case(LNL, own, DISPLAY, CPU, AFTER, GEMCO_REFUSED, "display-never-writes");
    /* The same number would be a rule of i915 without the offset. */
    gemco_decision decision;
    CHECK(gemco_xe_needs_flush(xe_of(LNL), &combined, CPU, GPU, AFTER, &decision) == GEMCO_DRAIN);
    CHECK(decision.rule >= 65536 && strstr(gemco_rule_reason(decision.rule), "SFENCE") != NULL);
    CHECK(strstr(gemco_rule_source(decision.rule), "SDM") != NULL);
}

/* The choice for a use, which the kernel accepts. */
static void choice_case(uint16_t id, unsigned purpose, unsigned memory, unsigned placement, unsigned pat_index) {
    gemco_xe_mapping mapping;
    OK(gemco_xe_choose(xe_of(id), purpose, 5000, &mapping));
    CHECK(mapping.memory == memory && mapping.placement == placement && mapping.pat_index == pat_index);
    CHECK(mapping.size == 8192 && mapping.range == 8192 && mapping.address == 0 && mapping.offset == 0);
    CHECK(gemco_xe_bind_refusal(xe_of(id), &mapping, NULL) == 0);
}

static void xe_choices(void) {
    choice_case(LNL, GEMCO_XE_USE_UPLOAD, GEMCO_XE_MEMORY_WC, GEMCO_XE_SYSTEM, 0);
    choice_case(LNL, GEMCO_XE_USE_READ_BACK, GEMCO_XE_MEMORY_WB, GEMCO_XE_SYSTEM, 1);
    choice_case(LNL, GEMCO_XE_USE_SCANOUT, GEMCO_XE_MEMORY_WC, GEMCO_XE_SYSTEM, 6);
    choice_case(LNL, GEMCO_XE_USE_GPU_ONLY, GEMCO_XE_MEMORY_WC, GEMCO_XE_SYSTEM, 9);
    choice_case(LNL, GEMCO_XE_USE_IMPORT, GEMCO_XE_MEMORY_IMPORT, 0, 1);
    choice_case(LNL, GEMCO_XE_USE_USERPTR, GEMCO_XE_MEMORY_USERPTR, 0, 1);
    choice_case(BMG, GEMCO_XE_USE_GPU_ONLY, GEMCO_XE_MEMORY_WC, GEMCO_XE_LOCAL, 9);
    choice_case(TGL, GEMCO_XE_USE_READ_BACK, GEMCO_XE_MEMORY_WB, GEMCO_XE_SYSTEM, 0);
    gemco_xe_mapping mapping = {.size = 7};
    FAILS(gemco_xe_choose(xe_of(ATSM), GEMCO_XE_USE_SCANOUT, 4096, &mapping), EOPNOTSUPP, "purpose is GEMCO_XE_USE_SCANOUT");
    FAILS(gemco_xe_choose(xe_of(LNL), 6, 4096, &mapping), EINVAL, "gemco_xe_choose: purpose is 6");
    FAILS(gemco_xe_choose(xe_of(LNL), 0, 0, &mapping), EINVAL, "size is 0");
    FAILS(gemco_xe_choose(xe_of(LNL), 0, UINT64_MAX, &mapping), EINVAL, "size");
    FAILS(gemco_xe_choose(NULL, 0, 4096, &mapping), EINVAL, "device is NULL");
    FAILS(gemco_xe_choose(xe_of(LNL), 0, 4096, NULL), EINVAL, "mapping is NULL");
    CHECK(mapping.size == 7);
}

/* Wrong numbers and pointers in questions about a mapping. */
static void xe_numbers(void) {
    const gemco_xe_device *lnl = xe_of(LNL);
    gemco_xe_mapping cached = mapping_of(GEMCO_XE_MEMORY_WB, 1);
    gemco_xe_refusal refusal = {7, 7, 7};
    gemco_decision decision = {7, 7};
    for (unsigned i = 0; i < 8; i++) {
        static const struct { const char *text; gemco_xe_mapping mapping; } wrong[] = {
            {"mapping->memory is 0", {0}},
            {"mapping->memory is 5", {.memory = 5}},
            {"mapping->pat_index is 65536", {.memory = GEMCO_XE_MEMORY_WB, .pat_index = 65536}},
            {"mapping->pad is not 0", {.memory = GEMCO_XE_MEMORY_WB, .pad = 1}},
            {"mapping->reserved is not 0", {.memory = GEMCO_XE_MEMORY_WB, .reserved = {1, 0}}},
            {"mapping->reserved is not 0", {.memory = GEMCO_XE_MEMORY_WB, .reserved = {0, 1}}},
            {"mapping->placement is not 0", {.memory = GEMCO_XE_MEMORY_IMPORT, .placement = 1}},
            {"mapping->create_flags is not 0", {.memory = GEMCO_XE_MEMORY_USERPTR, .create_flags = 1}},
        };
        FAILS(gemco_xe_bind_refusal(lnl, &wrong[i].mapping, &refusal), EINVAL, wrong[i].text);
        FAILS(gemco_xe_needs_flush(lnl, &wrong[i].mapping, 0, 1, 0, &decision), EINVAL, wrong[i].text);
    }
    FAILS(gemco_xe_needs_flush(lnl, &cached, 3, 1, 0, &decision), EINVAL, "gemco_xe_needs_flush: writer is 3");
    FAILS(gemco_xe_needs_flush(lnl, &cached, 0, 3, 0, &decision), EINVAL, "next is 3");
    FAILS(gemco_xe_needs_flush(lnl, &cached, 0, 1, 2, &decision), EINVAL, "when is 2");
    FAILS(gemco_xe_needs_flush(NULL, &cached, 0, 1, 0, &decision), EINVAL, "device is NULL");
    FAILS(gemco_xe_needs_flush(lnl, NULL, 0, 1, 0, &decision), EINVAL, "mapping is NULL");
    FAILS(gemco_xe_bind_refusal(NULL, &cached, &refusal), EINVAL, "device is NULL");
    FAILS(gemco_xe_bind_refusal(lnl, NULL, &refusal), EINVAL, "gemco_xe_bind_refusal: mapping is NULL");
    gemco_xe_device bad = *lnl;
    bad.reserved[1] = 1;
    FAILS(gemco_xe_bind_refusal(&bad, &cached, &refusal), EINVAL, "device->reserved is not 0");
    bad = (gemco_xe_device){.pci_id = 1};
    FAILS(gemco_xe_bind_refusal(&bad, &cached, &refusal), ENODEV, "8086:0001");
    FAILS(gemco_xe_needs_flush(&bad, &cached, 0, 1, 0, &decision), ENODEV, "8086:0001");
    CHECK(refusal.error == 7 && decision.rule == 7);
    /* A device that the caller filled: the PCI ID is enough. */
    bad.pci_id = LNL;
    CHECK(gemco_xe_bind_refusal(&bad, &cached, NULL) == 0);
}

/* Checks that every rule has texts, and that the numbers are consecutive. */
static void rules(void) {
    for (unsigned first = 0; first <= 65536; first += 65536) {
        unsigned rule = first;
        while (gemco_rule_name(rule) != NULL) {
            CHECK(strlen(gemco_rule_name(rule)) > 3 && strlen(gemco_rule_reason(rule)) > 20);
            CHECK(strlen(gemco_rule_source(rule)) > 3);
            rule++;
        }
        CHECK(rule > first + 50 && rule < first + 1000);
    }
}

static _Alignas(64) unsigned char bytes[4096];

/* Checks that operations accept every range of mapped bytes, and change no byte. */
static void cache(void) {
    for (size_t start = 0; start < 130; start += 13)
        for (size_t size = 0; size < 300; size += 29) {
            memset(bytes, (int)(start + size), sizeof bytes);
            OK(gemco_flush_range(bytes + start, size));
            OK(gemco_write_back_range(bytes + start, size));
            OK(gemco_flush_inval_range(bytes + start, size));
            gemco_pre_flush_fence();
            OK(gemco_flush_range_no_fence(bytes + start, size));
            gemco_post_flush_fence();
            OK(gemco_flush_inval_range_no_fence(bytes + start, size));
            gemco_post_flush_inval_fence();
            for (size_t at = 0; at < sizeof bytes; at++)
                if (bytes[at] != (unsigned char)(start + size))
                    CHECK(!"a byte is another");
        }
    OK(gemco_flush_range(NULL, 0));
    FAILS(gemco_flush_range(NULL, 1), EINVAL, "gemco_flush_range: start is NULL");
    FAILS(gemco_write_back_range(bytes, SIZE_MAX), EINVAL, "size");
    FAILS(gemco_flush_inval_range(NULL, 64), EINVAL, "start");
    FAILS(gemco_flush_range_no_fence(NULL, 64), EINVAL, "start");
    FAILS(gemco_flush_inval_range_no_fence(bytes, SIZE_MAX), EINVAL, "size");
}

int main(void) {
    CHECK(strcmp(LAST_ERROR(""), "") == 0);
    CHECK(gemco_version() == (GEMCO_VERSION_MAJOR << 16 | GEMCO_VERSION_MINOR << 8 | GEMCO_VERSION_PATCH));
    int before = allocations;
    OK(gemco_has_cache_ops());
    platforms();
    decisions();
    levels();
    numbers();
    xe_devices();
    xe_binds();
    xe_decisions();
    xe_choices();
    xe_numbers();
    rules();
    cache();
    gemco_platform platform;
    OK(gemco_platform_by_name("Jasper Lake", 0, 0, 0, &platform));
    CHECK(platform.caps == of(JSL)->caps);
    FAILS(gemco_platform_by_name("potato lake", 0, 0, 0, &platform), ENODEV, "potato lake");
    FAILS(gemco_platform_by_name(NULL, 0, 0, 0, &platform), EINVAL, "name is NULL");
    CHECK(allocations == before);

    /* Checks the counter itself. */
    void *volatile counted = malloc(1);
    free(counted);
#ifndef __SANITIZE_ADDRESS__
    CHECK(allocations > before);
#endif
    printf("%d claims\n", claims);
    return 0;
}
