/* Returns the name of a rule, "bypass-mocs-read"; NULL for another number. */
static inline const char *gemcr_rule_name(enum gemcr_rule rule) {
    return (unsigned)rule < (unsigned)GEMCR_RULE_NONE ? gemcr_rule_names[rule] : NULL;
}

#ifdef GEM_COHERENCY_RULES_REASONS
/* Returns the reason of a rule, in a sentence; NULL for another number. */
static inline const char *gemcr_rule_reason(enum gemcr_rule rule) {
    return (unsigned)rule < (unsigned)GEMCR_RULE_NONE ? gemcr_rule_reasons[rule] : NULL;
}
#endif

/* Returns platform `number` under a kernel. Every number has a row without eDRAM for the oldest kernel. */
static inline const struct gemcr_platform *gemcr_platform_row(unsigned number, unsigned kernel, int edram) {
    const struct gemcr_platform *found = NULL;
    for (size_t i = 0; i < sizeof(gemcr_platforms) / sizeof(gemcr_platforms[0]); i++) {
        const struct gemcr_platform *row = &gemcr_platforms[i];
        int fits = row->number == number && row->kernel <= kernel && (edram || !row->edram);
        if (fits && !found)
            found = row;
    }
    return found;
}

/* Returns the number of a kernel version; 0, 0 stands for the newest kernel. */
static inline unsigned gemcr_kernel(unsigned major, unsigned minor) {
    if (major == 0 && minor == 0)
        return ~0u;
    return (major < 255 ? major : 255) << 8 | (minor < 255 ? minor : 255);
}

/* Returns the platform of a PCI ID, or NULL for an unknown one: refuse the device then, or use gemcr_conservative.
 *
 * kernel_major, kernel_minor: the kernel's version, or 0, 0 for the newest with known rules; it matters on Meteor Lake, and with eDRAM.
 * edram: not 0 if eDRAM is fused on (I915_PARAM_HAS_WT); ignored where i915 does not look for it. */
static inline const struct gemcr_platform *gemcr_platform_by_id(uint16_t pci_id, unsigned kernel_major,
                                                                unsigned kernel_minor, int edram) {
    size_t first = 0, end = sizeof(gemcr_ids) / sizeof(gemcr_ids[0]);
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (gemcr_ids[middle].id == pci_id)
            return gemcr_platform_row(gemcr_ids[middle].platform, gemcr_kernel(kernel_major, kernel_minor), edram);
        if (gemcr_ids[middle].id < pci_id)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* Returns the capabilities with one bit as a device answers it (0, 1; -1: as it was). */
static inline unsigned gemcr_answered(unsigned caps, enum gemcr_caps cap, int answer) {
    if (answer < 0)
        return caps;
    return answer ? caps | (unsigned)cap : caps & ~(unsigned)cap;
}

/* Sets the platform of a device: that of its PCI ID, as gemcr_platform_by_id, with the answers of the device in place of the table's
 * values. Use it on kernels of distributions, whose i915 may be newer than the version says. Returns 0, or -1 for an unknown ID. */
static inline int gemcr_platform_by_answers(uint16_t pci_id, unsigned kernel_major, unsigned kernel_minor,
                                            struct gemcr_answers answers, struct gemcr_platform *platform) {
    const struct gemcr_platform *row = gemcr_platform_by_id(pci_id, kernel_major, kernel_minor, answers.has_wt > 0);
    if (!row)
        return -1;
    *platform = *row;
    platform->caps = gemcr_answered(platform->caps, GEMCR_CAP_LLC, answers.has_llc);
    platform->caps = gemcr_answered(platform->caps, GEMCR_CAP_WT, answers.has_wt);
    platform->caps = gemcr_answered(platform->caps, GEMCR_CAP_COHERENT_GGTT, answers.mmap_gtt_coherent);
    for (size_t i = 0; i < sizeof(gemcr_by_caps) / sizeof(gemcr_by_caps[0]); i++) {
        if (gemcr_by_caps[i].caps == platform->caps) {
            platform->by_caps = (uint8_t)i;
            return 0;
        }
    }
    return -1; /* not reached: the table has the answers of every platform */
}

/* Returns the platform for an unknown device: no agent is coherent with the CPU's caches, and any access may bypass them. */
static inline const struct gemcr_platform *gemcr_conservative(void) {
    return &gemcr_platforms[sizeof(gemcr_platforms) / sizeof(gemcr_platforms[0]) - 1];
}

/* Returns the level of an object with this caching mode; UNKNOWN for any other number. DISPLAY is WT where that exists, NONE
 * elsewhere; DEFAULT is the level of an object whose mode and PAT index nobody set. An object that was shown has the level of
 * DISPLAY. */
static inline enum gemcr_level gemcr_caching_level(const struct gemcr_platform *platform, enum gemcr_caching caching) {
    return (unsigned)caching < 4 ? (enum gemcr_level)gemcr_by_caps[platform->by_caps].levels[caching] : GEMCR_LEVEL_UNKNOWN;
}

/* Sets the level of an object that was created with a PAT index. Returns 0, or -1 if the kernel refuses the index: it
 * accepts one only from graphics version 12.70 on, and Linux 6.5. */
static inline int gemcr_pat_level(const struct gemcr_platform *platform, unsigned index, enum gemcr_level *level) {
    const uint8_t *levels = gemcr_by_caps[platform->by_caps].pat;
    if (index >= sizeof(gemcr_by_caps[0].pat) || levels[index] == 255)
        return -1;
    *level = (enum gemcr_level)levels[index];
    return 0;
}

/* Returns the class of a MOCS entry. Jasper Lake's and Elkhart Lake's entries 16 and 17, which some kernels lack, are in the table of each:
 * that flushes too often, never too little. */
static inline enum gemcr_mocs_class gemcr_mocs_class(const struct gemcr_platform *platform, uint8_t entry) {
    const uint8_t(*run)[2] = &gemcr_mocs_runs[platform->mocs];
    while (run[1][0] != 0 && run[1][0] <= entry)
        run++;
    return (enum gemcr_mocs_class)run[0][1];
}

/* Returns the path of the CPU through a mapping of this mode; UNKNOWN for any other number. */
static inline enum gemcr_path gemcr_map_path(enum gemcr_map_mode mode) {
    return (unsigned)mode <= GEMCR_MAP_FIXED ? (enum gemcr_path)(GEMCR_PATH_CPU_WB + (int)mode) : GEMCR_PATH_UNKNOWN;
}

/* Returns the path of the GPU with a MOCS entry of this class; UNKNOWN for any other number. */
static inline enum gemcr_path gemcr_mocs_path(enum gemcr_mocs_class mocs) {
    if ((unsigned)mocs > GEMCR_MOCS_BYPASS_LLC)
        return GEMCR_PATH_UNKNOWN;
    return (enum gemcr_path)(GEMCR_PATH_GPU_PAGE_TABLE + (int)mocs);
}

/* Looks up an answer: column 0 of gemcr_row_of for a flush, 1 for an invalidate. */
static inline struct gemcr_decision gemcr_decide(const struct gemcr_platform *platform, struct gemcr_question question,
                                                 int column) {
    struct gemcr_decision decision = { GEMCR_VERDICT_BAD_QUESTION, GEMCR_RULE_NONE };
    unsigned level = (unsigned)question.level, writer = (unsigned)question.writer;
    unsigned next = (unsigned)question.next, access = (unsigned)question.access;
    if (level < 4 && writer <= GEMCR_PATH_DISPLAY && next <= GEMCR_PATH_DISPLAY && access < 2) {
        size_t line = ((size_t)gemcr_by_caps[platform->by_caps].rows * 4 + level) * (GEMCR_PATH_DISPLAY + 1) + writer;
        size_t answer = gemcr_rows[gemcr_row_of[line][column]][next * 2 + access];
        decision.verdict = (enum gemcr_verdict)gemcr_decisions[answer].verdict;
        decision.rule = (enum gemcr_rule)gemcr_decisions[answer].rule;
    }
    return decision;
}

/* Decides what must leave the writer's caches and buffers before the next access: FLUSH the lines that were written, or
 * DRAIN the stores (gemcr_drain). Never INVALIDATE. */
static inline struct gemcr_decision gemcr_needs_flush(const struct gemcr_platform *platform,
                                                      struct gemcr_question question) {
    return gemcr_decide(platform, question, 0);
}

/* Decides what the CPU must drop from its cache before the next access: INVALIDATE the lines to read, or the first and the
 * last line of the bytes to overwrite, where these cover lines in part. */
static inline struct gemcr_decision gemcr_needs_invalidate(const struct gemcr_platform *platform,
                                                           struct gemcr_question question) {
    return gemcr_decide(platform, question, 1);
}

/* Decides as gemcr_needs_flush if the next reader is not known: `readers` has a bit (1u << path) for each possible one;
 * question.next is ignored. Returns a FLUSH if one of them needs it, then a DRAIN, then the first NOT_NEEDED; REFUSED only
 * if none of them exists on the platform. */
static inline struct gemcr_decision gemcr_needs_flush_any(const struct gemcr_platform *platform,
                                                          struct gemcr_question question, unsigned readers) {
    struct gemcr_decision strongest = { GEMCR_VERDICT_BAD_QUESTION, GEMCR_RULE_NONE };
    /* From the weakest: BAD_QUESTION, REFUSED, NOT_NEEDED, INVALIDATE, DRAIN, FLUSH. */
    static const uint8_t strength[] = { 2, 5, 3, 4, 1, 0 };
    if (readers >= 1u << (GEMCR_PATH_DISPLAY + 1))
        return strongest;
    for (unsigned next = 0; next <= GEMCR_PATH_DISPLAY; next++) {
        if (!(readers & 1u << next))
            continue;
        question.next = (enum gemcr_path)next;
        struct gemcr_decision decision = gemcr_needs_flush(platform, question);
        if (strength[decision.verdict] > strength[strongest.verdict])
            strongest = decision;
    }
    return strongest;
}

/* Returns how stores through a mapping are drained. `level` matters on discrete devices. */
static inline enum gemcr_drain gemcr_drain_of(const struct gemcr_platform *platform, enum gemcr_level level,
                                              enum gemcr_path writer) {
    struct gemcr_question question = { level, writer, GEMCR_PATH_GPU_PAGE_TABLE, GEMCR_ACCESS_READ };
    if (gemcr_needs_flush(platform, question).verdict != GEMCR_VERDICT_DRAIN)
        return GEMCR_DRAIN_NOTHING;
    if (writer == GEMCR_PATH_CPU_GTT && !(platform->caps & GEMCR_CAP_COHERENT_GGTT))
        return GEMCR_DRAIN_READ_BACK;
    return GEMCR_DRAIN_FENCE;
}

/* Returns the bytes of a rectangle of pixels in a linear plane, from the first to the last one; between its rows are bytes beside it.
 * `plane` is the plane's offset in bytes, `stride` the bytes from row to row; x, y, width and height count pixels. Without pixels
 * the length is 0. */
static inline struct gemcr_range gemcr_rectangle(uint64_t plane, uint32_t stride, uint32_t pixel_bytes, uint32_t x, uint32_t y,
                                                 uint32_t width, uint32_t height) {
    struct gemcr_range range = { plane + (uint64_t)y * stride + (uint64_t)x * pixel_bytes, 0 };
    if (width > 0 && height > 0)
        range.len = (uint64_t)(height - 1) * stride + (uint64_t)width * pixel_bytes;
    return range;
}

#if defined(__i386__) || defined(__x86_64__)
/* Flushes the line that contains a byte. Define it before the header is included to use another instruction. */
#ifndef GEMCR_CLFLUSH
#define GEMCR_CLFLUSH(byte) __asm__ volatile("clflush (%0)" ::"r"(byte) : "memory")
#endif

/* Flushes every line with one of `len` bytes at `mapped`, and waits for them: GEMCR_VERDICT_FLUSH. CLFLUSH writes a dirty line back
 * and drops it. */
static inline void gemcr_flush_range(const volatile void *mapped, size_t len) {
    uintptr_t line = (uintptr_t)mapped & ~(uintptr_t)63, last = ((uintptr_t)mapped + len - 1) & ~(uintptr_t)63;
    if (len == 0)
        return;
    __asm__ volatile("mfence" ::: "memory");
    for (;; line += 64) {
        GEMCR_CLFLUSH((const volatile char *)line);
        if (line == last)
            break;
    }
    __asm__ volatile("mfence" ::: "memory");
}

/* As gemcr_flush_range, before the CPU loads: GEMCR_VERDICT_INVALIDATE. It flushes the last line twice, as Atoms from
 * Bay Trail on need before a read (drm_clflush_virt_range; 396f5d62d1a5). */
static inline void gemcr_flush_inval_range(const volatile void *mapped, size_t len) {
    gemcr_flush_range(mapped, len);
    if (len > 0)
        gemcr_flush_range((const volatile char *)mapped + len - 1, 1);
}

/* Drains the stores that this thread made through a mapping: GEMCR_VERDICT_DRAIN. `mapped` is a byte of that mapping. */
static inline void gemcr_drain(const struct gemcr_platform *platform, enum gemcr_level level, enum gemcr_path writer,
                               const volatile void *mapped) {
    enum gemcr_drain drain = gemcr_drain_of(platform, level, writer);
    if (drain == GEMCR_DRAIN_NOTHING)
        return;
    __asm__ volatile("mfence" ::: "memory");
    if (drain == GEMCR_DRAIN_READ_BACK)
        (void)*(const volatile uint8_t *)mapped;
}
#endif

#endif /* GEM_COHERENCY_RULES_H */
