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

/* Checks that every rule has texts, and that the numbers are consecutive. */
static void rules(void) {
    unsigned rule = 0;
    while (gemco_rule_name(rule) != NULL) {
        CHECK(strlen(gemco_rule_name(rule)) > 3 && strlen(gemco_rule_reason(rule)) > 20);
        CHECK(strlen(gemco_rule_source(rule)) > 3);
        rule++;
    }
    CHECK(rule > 50);
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
