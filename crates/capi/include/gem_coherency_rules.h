/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * gem_coherency_rules: the rules of cache coherency on Intel GPUs, as tables and inline functions.
 *
 * Version 0.1.0. Made from the crate gem-coherency-policy; ci/rules-header --write makes it anew.
 *
 * It is tested as C11 and as C++17, with 32 and 64 bits, and needs no library. It keeps no state, allocates nothing and makes no
 * system call. Define GEM_COHERENCY_RULES_REASONS before it is included for gemcr_rule_reason. It can be used
 * beside gem_coherency.h; numbers of levels, paths, access kinds and verdicts are the same there.
 *
 *     const struct gemcr_platform *jsl = gemcr_platform_by_id(0x4e61, 6, 12, 0);
 *     struct gemcr_question question = {
 *         .level = gemcr_caching_level(jsl, GEMCR_CACHING_CACHED),
 *         .writer = GEMCR_PATH_CPU_WB,
 *         .next = gemcr_mocs_path(gemcr_mocs_class(jsl, 16)),
 *         .access = GEMCR_ACCESS_READ,
 *     };
 *     struct gemcr_decision decision = gemcr_needs_flush(jsl, question);
 *
 * decision.verdict is GEMCR_VERDICT_FLUSH, by the rule "bypass-mocs-read". */

#ifndef GEM_COHERENCY_RULES_H
#define GEM_COHERENCY_RULES_H

#include <stddef.h>
#include <stdint.h>

/* The kind of an access. */
enum gemcr_access {
    GEMCR_ACCESS_READ = 0,
    GEMCR_ACCESS_WRITE = 1,
};

/* The cache level of a buffer object (enum i915_cache_level); UNKNOWN for other numbers. */
enum gemcr_level {
    GEMCR_LEVEL_NONE = 0,
    GEMCR_LEVEL_LLC = 1,
    GEMCR_LEVEL_L3_LLC = 2,
    GEMCR_LEVEL_WT = 3,
    GEMCR_LEVEL_UNKNOWN = 4,
};

/* The caching mode of a buffer object (I915_CACHING_*); DEFAULT if the driver sets none. */
enum gemcr_caching {
    GEMCR_CACHING_NONE = 0,
    GEMCR_CACHING_CACHED = 1,
    GEMCR_CACHING_DISPLAY = 2,
    GEMCR_CACHING_DEFAULT = 3,
};

/* The mode of a CPU mapping (I915_MMAP_OFFSET_*). */
enum gemcr_map_mode {
    GEMCR_MAP_WB = 0,
    GEMCR_MAP_WC = 1,
    GEMCR_MAP_UC = 2,
    GEMCR_MAP_GTT = 3,
    GEMCR_MAP_FIXED = 4,
};

/* The treatment of the LLC by a MOCS entry: gemcr_mocs_class. */
enum gemcr_mocs_class {
    GEMCR_MOCS_PAGE_TABLE = 0,
    GEMCR_MOCS_UNCACHED = 1,
    GEMCR_MOCS_BYPASS_LLC = 2,
};

/* An agent and its path to memory: the CPU by map mode, the GPU by MOCS class, the display; UNKNOWN for other numbers. */
enum gemcr_path {
    GEMCR_PATH_CPU_WB = 0,
    GEMCR_PATH_CPU_WC = 1,
    GEMCR_PATH_CPU_UC = 2,
    GEMCR_PATH_CPU_GTT = 3,
    GEMCR_PATH_CPU_FIXED = 4,
    GEMCR_PATH_GPU_PAGE_TABLE = 5,
    GEMCR_PATH_GPU_UNCACHED = 6,
    GEMCR_PATH_GPU_BYPASS_LLC = 7,
    GEMCR_PATH_DISPLAY = 8,
    GEMCR_PATH_UNKNOWN = 9,
};

/* The required operation. BAD_QUESTION: a number of the question is not in its enum. */
enum gemcr_verdict {
    GEMCR_VERDICT_NOT_NEEDED = 0,
    GEMCR_VERDICT_FLUSH = 1,
    GEMCR_VERDICT_INVALIDATE = 2,
    GEMCR_VERDICT_DRAIN = 3,
    GEMCR_VERDICT_REFUSED = 4,
    GEMCR_VERDICT_BAD_QUESTION = 5,
};

/* The rule of a decision: gemcr_rule_name. Numbers may change with the version, names do not. */
enum gemcr_rule {
    GEMCR_RULE_SAME_CACHE = 0,
    GEMCR_RULE_UNCACHED_ALIAS = 1,
    GEMCR_RULE_FIXED_NEEDS_DISCRETE = 2,
    GEMCR_RULE_NON_COHERENT_READ = 3,
    GEMCR_RULE_NON_COHERENT_WRITE = 4,
    GEMCR_RULE_DISPLAY_READS_MEMORY = 5,
    GEMCR_RULE_DISPLAY_NEVER_WRITES = 6,
    GEMCR_RULE_UNCACHED_READ = 7,
    GEMCR_RULE_WC_DRAIN = 8,
    GEMCR_RULE_SAME_PATH = 9,
    GEMCR_RULE_STALE_AFTER_UNCACHED_WRITE = 10,
    GEMCR_RULE_PARTIAL_LINE_WRITE = 11,
    GEMCR_RULE_UNCACHED_STORE = 12,
    GEMCR_RULE_GTT_DRAIN = 13,
    GEMCR_RULE_GPU_WRITE_REACHES_MEMORY = 14,
    GEMCR_RULE_STALE_AFTER_GPU_WRITE = 15,
    GEMCR_RULE_GTT_SNOOPED_FAULTS = 16,
    GEMCR_RULE_SNOOPED = 17,
    GEMCR_RULE_GPU_WRITE_MAY_BE_CACHED = 18,
    GEMCR_RULE_WT_NEEDS_EDRAM = 19,
    GEMCR_RULE_LLC_COHERENT_ALIAS = 20,
    GEMCR_RULE_LLC_COHERENT = 21,
    GEMCR_RULE_NO_SNOOP = 22,
    GEMCR_RULE_BYPASS_MOCS_READ = 23,
    GEMCR_RULE_DISCRETE_NEEDS_FIXED = 24,
    GEMCR_RULE_LOCAL_MEMORY = 25,
    GEMCR_RULE_DISCRETE_SNOOPS = 26,
    GEMCR_RULE_DISPLAY_NEEDS_LOCAL = 27,
    GEMCR_RULE_GTT_NEEDS_APERTURE = 28,
    GEMCR_RULE_NONE = 29,
};

/* Capabilities of a platform, as bits. */
enum gemcr_caps {
    /* CPU and GPU share the last-level cache */
    GEMCR_CAP_LLC = 0x1,
    /* the GPU can snoop the CPU's caches */
    GEMCR_CAP_SNOOP = 0x2,
    /* the level WT exists: eDRAM is fused on */
    GEMCR_CAP_WT = 0x4,
    /* MOCS entries 16 and 17 bypass the LLC */
    GEMCR_CAP_LLC_BYPASS_MOCS = 0x8,
    /* stores through the aperture need only a barrier */
    GEMCR_CAP_COHERENT_GGTT = 0x10,
    /* a discrete device with memory of its own */
    GEMCR_CAP_DISCRETE = 0x20,
    /* caching is chosen by PAT index at creation */
    GEMCR_CAP_PAT_AT_CREATE = 0x40,
    /* a CPU-visible GGTT aperture */
    GEMCR_CAP_APERTURE = 0x80,
    /* graphics version 12 on: PAT index 0 means cached */
    GEMCR_CAP_GEN12 = 0x100,
    /* an import needs no wbinvd */
    GEMCR_CAP_DG1 = 0x200,
};

/* A platform under a kernel. Compare names to compare platforms; the fields after caps are private. */
struct gemcr_platform {
    const char *name;   /* the short name, in lower case: "jsl" */
    unsigned caps;      /* gemcr_caps, ORed */
    uint16_t kernel;    /* the first kernel: major << 8 | minor */
    uint8_t number;     /* the same under all kernels */
    uint8_t edram;      /* 1 if eDRAM is fused on */
    uint8_t mocs;       /* index of gemcr_mocs_runs */
    uint8_t by_caps;    /* index of gemcr_by_caps */
};

/* What a device answers to GETPARAM: the value, or a negative number for a parameter that was not asked or is not known there. */
struct gemcr_answers {
    int has_llc;            /* I915_PARAM_HAS_LLC */
    int has_wt;             /* I915_PARAM_HAS_WT */
    int mmap_gtt_coherent;  /* I915_PARAM_MMAP_GTT_COHERENT */
};

/* A write to memory of an object, and the next access to the same memory. */
struct gemcr_question {
    enum gemcr_level level;    /* of the object */
    enum gemcr_path writer;    /* the path of the write */
    enum gemcr_path next;      /* the path of the next access */
    enum gemcr_access access;  /* the kind of the next access; a batch that writes may read, too: ask twice */
};

/* The required operation and the rule for it. */
struct gemcr_decision {
    enum gemcr_verdict verdict;
    enum gemcr_rule rule;
};

/* The way to drain stores around the CPU's caches: GEMCR_VERDICT_DRAIN. */
enum gemcr_drain {
    GEMCR_DRAIN_NOTHING = 0,    /* no stores through such a mapping gather anywhere */
    GEMCR_DRAIN_FENCE = 1,      /* a store fence on the core that stored */
    GEMCR_DRAIN_READ_BACK = 2,  /* a store fence, and a read through the mapping */
};

/* A range of bytes. */
struct gemcr_range {
    uint64_t offset;
    uint64_t len;
};

static const char *const gemcr_rule_names[] = {
    "same-cache",
    "uncached-alias",
    "fixed-needs-discrete",
    "non-coherent-read",
    "non-coherent-write",
    "display-reads-memory",
    "display-never-writes",
    "uncached-read",
    "wc-drain",
    "same-path",
    "stale-after-uncached-write",
    "partial-line-write",
    "uncached-store",
    "gtt-drain",
    "gpu-write-reaches-memory",
    "stale-after-gpu-write",
    "gtt-snooped-faults",
    "snooped",
    "gpu-write-may-be-cached",
    "wt-needs-edram",
    "llc-coherent-alias",
    "llc-coherent",
    "no-snoop",
    "bypass-mocs-read",
    "discrete-needs-fixed",
    "local-memory",
    "discrete-snoops",
    "display-needs-local",
    "gtt-needs-aperture",
};

#ifdef GEM_COHERENCY_RULES_REASONS
static const char *const gemcr_rule_reasons[] = {
    "Both accesses go through the CPU's coherent caches.",
    "A WC, UC or aperture access goes to memory, so dirty lines of the same bytes must be written back first.",
    "FIXED is a map mode of discrete devices only.",
    "The GPU reads memory without snooping the CPU's caches, so dirty lines must be written back first.",
    "The GPU writes memory without snooping; a dirty line written back later would overwrite its bytes.",
    "The display engine reads memory and never looks up a cache.",
    "The display engine only reads.",
    "The next access does not read through the CPU's caches, so stale lines cannot affect it.",
    "Write-combining stores may still be in the CPU's buffers.",
    "Both accesses take the same path to memory, in order.",
    "The CPU's store bypassed its caches; without an LLC, lines there may be stale.",
    "A store to part of a line that may be stale would make the stale rest of the line dirty.",
    "An uncached store is in memory, in program order.",
    "Stores through the aperture may still be in the CPU's or the chipset's buffers.",
    "The GPU's write is in memory: it was uncached, written through, or non-coherent.",
    "The GPU wrote memory without touching the CPU's caches, so lines there may be stale.",
    "Without an LLC, an access to a snooped object through the aperture raises SIGBUS.",
    "The level makes the GPU snoop the CPU's caches.",
    "GPU writes at a cached level may stay dirty in the cache, which the display and bypassing reads do not look up.",
    "The level WT exists only where eDRAM is fused on, or as a PAT index.",
    "On LLC parts WC, UC and aperture accesses look up the caches: they find dirty lines and drop stale ones.",
    "CPU and GPU share the LLC; every GPU access except a bypassing read looks it up, at any level.",
    "The platform has neither an LLC nor snooping, so nothing can be cached coherently.",
    "Reads with MOCS entries 16 and 17 bypass the LLC at any level, so dirty lines must be written back first.",
    "On a discrete device the kernel decides how an object is mapped; it accepts only FIXED.",
    "Local memory of a discrete device is mapped write-combining; the CPU never caches it.",
    "A discrete device's accesses to system memory snoop the CPU's caches.",
    "A discrete device scans out of local memory only.",
    "There is no CPU-visible aperture.",
};
#endif

/* Runs of MOCS entries of one class: the first entry and the class; each table begins with entry 0. */
static const uint8_t gemcr_mocs_runs[][2] = {
    { 0, 0 },
    { 0, 0 }, { 32, 1 }, { 64, 0 }, { 160, 1 }, { 192, 0 },
    { 0, 1 }, { 1, 0 },
    { 0, 1 }, { 1, 0 }, { 2, 1 }, { 3, 0 },
    { 0, 1 }, { 1, 0 }, { 3, 1 }, { 5, 0 }, { 16, 1 }, { 18, 0 },
    { 0, 1 }, { 1, 0 }, { 3, 1 }, { 5, 0 }, { 16, 2 }, { 18, 0 },
    { 0, 1 }, { 2, 0 }, { 3, 1 }, { 5, 0 }, { 16, 1 }, { 18, 0 }, { 24, 1 }, { 48, 0 }, { 49, 1 }, { 50, 0 },
    { 51, 1 }, { 60, 0 }, { 61, 1 }, { 62, 0 }, { 64, 1 },
    { 0, 0 }, { 3, 1 }, { 5, 0 }, { 16, 1 }, { 18, 0 }, { 49, 1 }, { 50, 0 }, { 51, 1 }, { 52, 0 }, { 61, 1 },
    { 62, 0 },
    { 0, 0 }, { 16, 2 }, { 18, 0 },
    { 0, 0 },
};

/* What capabilities decide: the table of gemcr_row_of, and the levels by caching mode and by PAT index, 255 where the kernel
 * refuses it. */
static const struct { unsigned caps; uint8_t rows, levels[4], pat[5]; } gemcr_by_caps[] = {
    { 0x82, 0, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x83, 1, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x86, 2, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x87, 3, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x92, 0, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x93, 1, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x96, 2, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x97, 3, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x90, 4, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x80, 4, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x81, 1, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x84, 5, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x85, 3, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x91, 1, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x94, 5, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x95, 3, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x8d, 6, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x88, 4, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x89, 7, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x8c, 5, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x98, 4, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x99, 7, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x9c, 5, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x9d, 6, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x185, 3, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x180, 4, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x181, 1, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x184, 5, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x190, 4, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x191, 1, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x194, 5, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x195, 3, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x326, 8, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x322, 9, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x323, 10, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x327, 11, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x332, 9, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x333, 10, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x336, 8, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x337, 11, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x126, 8, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x122, 9, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x123, 10, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x127, 11, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x132, 9, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x133, 10, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x136, 8, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x137, 11, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x146, 12, { 0, 1, 3, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x142, 12, { 0, 1, 0, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x143, 13, { 0, 1, 0, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x147, 13, { 0, 1, 3, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x152, 12, { 0, 1, 0, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x153, 13, { 0, 1, 0, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x156, 12, { 0, 1, 3, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x157, 13, { 0, 1, 3, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x1c6, 14, { 0, 1, 3, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x1c2, 14, { 0, 1, 0, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x1c3, 3, { 0, 1, 0, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x1c7, 3, { 0, 1, 3, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x1d2, 14, { 0, 1, 0, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x1d3, 3, { 0, 1, 0, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x1d6, 14, { 0, 1, 3, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x1d7, 3, { 0, 1, 3, 1 }, { 3, 3, 0, 1, 1 } },
    { 0x187, 3, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x182, 0, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x183, 1, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x186, 2, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x192, 0, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x193, 1, { 0, 1, 0, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x196, 2, { 0, 1, 3, 0 }, { 255, 255, 255, 255, 255 } },
    { 0x197, 3, { 0, 1, 3, 1 }, { 255, 255, 255, 255, 255 } },
    { 0x8, 15, { 0, 1, 0, 0 }, { 255, 255, 255, 255, 255 } },
};

/* By platform, the newest kernel first; with eDRAM before without. */
static const struct gemcr_platform gemcr_platforms[] = {
    { "i830", 0x82, 0, 0, 0, 0, 0 },
    { "i845g", 0x82, 0, 1, 0, 0, 0 },
    { "i85x", 0x82, 0, 2, 0, 0, 0 },
    { "i865g", 0x82, 0, 3, 0, 0, 0 },
    { "i915g", 0x82, 0, 4, 0, 0, 0 },
    { "i915gm", 0x92, 0, 5, 0, 0, 4 },
    { "i945g", 0x92, 0, 6, 0, 0, 4 },
    { "i945gm", 0x92, 0, 7, 0, 0, 4 },
    { "g33", 0x92, 0, 8, 0, 0, 4 },
    { "pnv", 0x92, 0, 9, 0, 0, 4 },
    { "i965g", 0x90, 0, 10, 0, 0, 8 },
    { "i965gm", 0x90, 0, 11, 0, 0, 8 },
    { "g45", 0x92, 0, 12, 0, 0, 4 },
    { "gm45", 0x92, 0, 13, 0, 0, 4 },
    { "ilk", 0x92, 0, 14, 0, 0, 4 },
    { "snb", 0x91, 0, 15, 0, 0, 13 },
    { "ivb", 0x91, 0, 16, 0, 0, 13 },
    { "vlv", 0x82, 0, 17, 0, 0, 0 },
    { "hsw", 0x95, 0, 18, 1, 0, 15 },
    { "hsw", 0x91, 0, 18, 0, 0, 13 },
    { "bdw", 0x95, 0, 19, 1, 1, 15 },
    { "bdw", 0x91, 0, 19, 0, 1, 13 },
    { "chv", 0x82, 0, 20, 0, 1, 0 },
    { "skl", 0x95, 1291, 21, 1, 6, 15 },
    { "skl", 0x91, 0, 21, 1, 6, 13 },
    { "skl", 0x91, 0, 21, 0, 6, 13 },
    { "bxt", 0x86, 1291, 22, 1, 8, 2 },
    { "bxt", 0x82, 0, 22, 1, 8, 0 },
    { "bxt", 0x82, 0, 22, 0, 8, 0 },
    { "glk", 0x86, 1291, 23, 1, 8, 2 },
    { "glk", 0x82, 0, 23, 1, 8, 0 },
    { "glk", 0x82, 0, 23, 0, 8, 0 },
    { "kbl", 0x95, 1291, 24, 1, 6, 15 },
    { "kbl", 0x91, 0, 24, 1, 6, 13 },
    { "kbl", 0x91, 0, 24, 0, 6, 13 },
    { "cfl", 0x95, 1291, 25, 1, 6, 15 },
    { "cfl", 0x91, 0, 25, 1, 6, 13 },
    { "cfl", 0x91, 0, 25, 0, 6, 13 },
    { "cml", 0x95, 1291, 26, 1, 6, 15 },
    { "cml", 0x91, 0, 26, 1, 6, 13 },
    { "cml", 0x91, 0, 26, 0, 6, 13 },
    { "icl", 0x85, 1291, 27, 1, 12, 12 },
    { "icl", 0x81, 0, 27, 1, 12, 10 },
    { "icl", 0x81, 0, 27, 0, 12, 10 },
    { "ehl", 0x8d, 1291, 28, 1, 18, 16 },
    { "ehl", 0x89, 0, 28, 1, 18, 18 },
    { "ehl", 0x89, 0, 28, 0, 18, 18 },
    { "jsl", 0x8d, 1291, 29, 1, 18, 16 },
    { "jsl", 0x89, 0, 29, 1, 18, 18 },
    { "jsl", 0x89, 0, 29, 0, 18, 18 },
    { "tgl", 0x185, 1291, 30, 1, 24, 24 },
    { "tgl", 0x181, 0, 30, 1, 24, 26 },
    { "tgl", 0x181, 0, 30, 0, 24, 26 },
    { "rkl", 0x185, 1291, 31, 1, 24, 24 },
    { "rkl", 0x181, 0, 31, 1, 24, 26 },
    { "rkl", 0x181, 0, 31, 0, 24, 26 },
    { "adls", 0x185, 1291, 32, 1, 39, 24 },
    { "adls", 0x181, 0, 32, 1, 39, 26 },
    { "adls", 0x181, 0, 32, 0, 39, 26 },
    { "adlp", 0x185, 1291, 33, 1, 39, 24 },
    { "adlp", 0x181, 0, 33, 1, 39, 26 },
    { "adlp", 0x181, 0, 33, 0, 39, 26 },
    { "dg1", 0x326, 1291, 34, 1, 0, 32 },
    { "dg1", 0x322, 0, 34, 1, 0, 33 },
    { "dg1", 0x322, 0, 34, 0, 0, 33 },
    { "dg2", 0x126, 1291, 35, 1, 0, 40 },
    { "dg2", 0x122, 0, 35, 1, 0, 41 },
    { "dg2", 0x122, 0, 35, 0, 0, 41 },
    { "atsm", 0x126, 1291, 36, 1, 0, 40 },
    { "atsm", 0x122, 0, 36, 1, 0, 41 },
    { "atsm", 0x122, 0, 36, 0, 0, 41 },
    { "mtl", 0x146, 1548, 37, 1, 0, 48 },
    { "mtl", 0x1c6, 1541, 37, 1, 0, 56 },
    { "mtl", 0x187, 1291, 37, 1, 39, 64 },
    { "mtl", 0x183, 0, 37, 1, 39, 66 },
    { "mtl", 0x142, 1548, 37, 0, 0, 49 },
    { "mtl", 0x1c2, 1541, 37, 0, 0, 57 },
    { "mtl", 0x183, 0, 37, 0, 39, 66 },
    { "conservative", 0x8, 0, 38, 0, 50, 72 },
};

/* PCI IDs in order, with the platform's number. */
static const struct { uint16_t id; uint8_t platform; } gemcr_ids[] = {
    { 0x0042, 14 }, { 0x0046, 14 }, { 0x0102, 15 }, { 0x0106, 15 }, { 0x010a, 15 }, { 0x0112, 15 },
    { 0x0116, 15 }, { 0x0122, 15 }, { 0x0126, 15 }, { 0x0152, 16 }, { 0x0156, 16 }, { 0x015a, 16 },
    { 0x0162, 16 }, { 0x0166, 16 }, { 0x016a, 16 }, { 0x0402, 18 }, { 0x0406, 18 }, { 0x040a, 18 },
    { 0x040b, 18 }, { 0x040e, 18 }, { 0x0412, 18 }, { 0x0416, 18 }, { 0x041a, 18 }, { 0x041b, 18 },
    { 0x041e, 18 }, { 0x0422, 18 }, { 0x0426, 18 }, { 0x042a, 18 }, { 0x042b, 18 }, { 0x042e, 18 },
    { 0x0a02, 18 }, { 0x0a06, 18 }, { 0x0a0a, 18 }, { 0x0a0b, 18 }, { 0x0a0e, 18 }, { 0x0a12, 18 },
    { 0x0a16, 18 }, { 0x0a1a, 18 }, { 0x0a1b, 18 }, { 0x0a1e, 18 }, { 0x0a22, 18 }, { 0x0a26, 18 },
    { 0x0a2a, 18 }, { 0x0a2b, 18 }, { 0x0a2e, 18 }, { 0x0a84, 22 }, { 0x0c02, 18 }, { 0x0c06, 18 },
    { 0x0c0a, 18 }, { 0x0c0b, 18 }, { 0x0c0e, 18 }, { 0x0c12, 18 }, { 0x0c16, 18 }, { 0x0c1a, 18 },
    { 0x0c1b, 18 }, { 0x0c1e, 18 }, { 0x0c22, 18 }, { 0x0c26, 18 }, { 0x0c2a, 18 }, { 0x0c2b, 18 },
    { 0x0c2e, 18 }, { 0x0d02, 18 }, { 0x0d06, 18 }, { 0x0d0a, 18 }, { 0x0d0b, 18 }, { 0x0d0e, 18 },
    { 0x0d12, 18 }, { 0x0d16, 18 }, { 0x0d1a, 18 }, { 0x0d1b, 18 }, { 0x0d1e, 18 }, { 0x0d22, 18 },
    { 0x0d26, 18 }, { 0x0d2a, 18 }, { 0x0d2b, 18 }, { 0x0d2e, 18 }, { 0x0f30, 17 }, { 0x0f31, 17 },
    { 0x0f32, 17 }, { 0x0f33, 17 }, { 0x1602, 19 }, { 0x1606, 19 }, { 0x160a, 19 }, { 0x160b, 19 },
    { 0x160d, 19 }, { 0x160e, 19 }, { 0x1612, 19 }, { 0x1616, 19 }, { 0x161a, 19 }, { 0x161b, 19 },
    { 0x161d, 19 }, { 0x161e, 19 }, { 0x1622, 19 }, { 0x1626, 19 }, { 0x162a, 19 }, { 0x162b, 19 },
    { 0x162d, 19 }, { 0x162e, 19 }, { 0x1632, 19 }, { 0x1636, 19 }, { 0x163a, 19 }, { 0x163b, 19 },
    { 0x163d, 19 }, { 0x163e, 19 }, { 0x1902, 21 }, { 0x1906, 21 }, { 0x190a, 21 }, { 0x190b, 21 },
    { 0x190e, 21 }, { 0x1912, 21 }, { 0x1913, 21 }, { 0x1915, 21 }, { 0x1916, 21 }, { 0x1917, 21 },
    { 0x191a, 21 }, { 0x191b, 21 }, { 0x191d, 21 }, { 0x191e, 21 }, { 0x1921, 21 }, { 0x1923, 21 },
    { 0x1926, 21 }, { 0x1927, 21 }, { 0x192a, 21 }, { 0x192b, 21 }, { 0x192d, 21 }, { 0x1932, 21 },
    { 0x193a, 21 }, { 0x193b, 21 }, { 0x193d, 21 }, { 0x1a84, 22 }, { 0x1a85, 22 }, { 0x22b0, 20 },
    { 0x22b1, 20 }, { 0x22b2, 20 }, { 0x22b3, 20 }, { 0x2562, 1 }, { 0x2572, 3 }, { 0x2582, 4 },
    { 0x258a, 4 }, { 0x2592, 5 }, { 0x2772, 6 }, { 0x27a2, 7 }, { 0x27ae, 7 }, { 0x2972, 10 }, { 0x2982, 10 },
    { 0x2992, 10 }, { 0x29a2, 10 }, { 0x29b2, 8 }, { 0x29c2, 8 }, { 0x29d2, 8 }, { 0x2a02, 11 },
    { 0x2a12, 11 }, { 0x2a42, 13 }, { 0x2e02, 12 }, { 0x2e12, 12 }, { 0x2e22, 12 }, { 0x2e32, 12 },
    { 0x2e42, 12 }, { 0x2e92, 12 }, { 0x3184, 23 }, { 0x3185, 23 }, { 0x3577, 0 }, { 0x3582, 2 },
    { 0x358e, 2 }, { 0x3e90, 25 }, { 0x3e91, 25 }, { 0x3e92, 25 }, { 0x3e93, 25 }, { 0x3e94, 25 },
    { 0x3e96, 25 }, { 0x3e98, 25 }, { 0x3e99, 25 }, { 0x3e9a, 25 }, { 0x3e9b, 25 }, { 0x3e9c, 25 },
    { 0x3ea0, 25 }, { 0x3ea1, 25 }, { 0x3ea2, 25 }, { 0x3ea3, 25 }, { 0x3ea4, 25 }, { 0x3ea5, 25 },
    { 0x3ea6, 25 }, { 0x3ea7, 25 }, { 0x3ea8, 25 }, { 0x3ea9, 25 }, { 0x4541, 28 }, { 0x4551, 28 },
    { 0x4555, 28 }, { 0x4557, 28 }, { 0x4570, 28 }, { 0x4571, 28 }, { 0x4626, 33 }, { 0x4628, 33 },
    { 0x462a, 33 }, { 0x4680, 32 }, { 0x4682, 32 }, { 0x4688, 32 }, { 0x468a, 32 }, { 0x468b, 32 },
    { 0x4690, 32 }, { 0x4692, 32 }, { 0x4693, 32 }, { 0x46a0, 33 }, { 0x46a1, 33 }, { 0x46a2, 33 },
    { 0x46a3, 33 }, { 0x46a6, 33 }, { 0x46a8, 33 }, { 0x46aa, 33 }, { 0x46b0, 33 }, { 0x46b1, 33 },
    { 0x46b2, 33 }, { 0x46b3, 33 }, { 0x46c0, 33 }, { 0x46c1, 33 }, { 0x46c2, 33 }, { 0x46c3, 33 },
    { 0x46d0, 33 }, { 0x46d1, 33 }, { 0x46d2, 33 }, { 0x46d3, 33 }, { 0x46d4, 33 }, { 0x4905, 34 },
    { 0x4906, 34 }, { 0x4907, 34 }, { 0x4908, 34 }, { 0x4909, 34 }, { 0x4c80, 31 }, { 0x4c8a, 31 },
    { 0x4c8b, 31 }, { 0x4c8c, 31 }, { 0x4c90, 31 }, { 0x4c9a, 31 }, { 0x4e51, 29 }, { 0x4e55, 29 },
    { 0x4e57, 29 }, { 0x4e61, 29 }, { 0x4e71, 29 }, { 0x5690, 35 }, { 0x5691, 35 }, { 0x5692, 35 },
    { 0x5693, 35 }, { 0x5694, 35 }, { 0x5695, 35 }, { 0x5696, 35 }, { 0x5697, 35 }, { 0x56a0, 35 },
    { 0x56a1, 35 }, { 0x56a2, 35 }, { 0x56a3, 35 }, { 0x56a4, 35 }, { 0x56a5, 35 }, { 0x56a6, 35 },
    { 0x56b0, 35 }, { 0x56b1, 35 }, { 0x56b2, 35 }, { 0x56b3, 35 }, { 0x56ba, 35 }, { 0x56bb, 35 },
    { 0x56bc, 35 }, { 0x56bd, 35 }, { 0x56be, 35 }, { 0x56bf, 35 }, { 0x56c0, 36 }, { 0x56c1, 36 },
    { 0x56c2, 36 }, { 0x5902, 24 }, { 0x5906, 24 }, { 0x5908, 24 }, { 0x590a, 24 }, { 0x590b, 24 },
    { 0x590e, 24 }, { 0x5912, 24 }, { 0x5913, 24 }, { 0x5915, 24 }, { 0x5916, 24 }, { 0x5917, 24 },
    { 0x591a, 24 }, { 0x591b, 24 }, { 0x591c, 24 }, { 0x591d, 24 }, { 0x591e, 24 }, { 0x5921, 24 },
    { 0x5923, 24 }, { 0x5926, 24 }, { 0x5927, 24 }, { 0x593b, 24 }, { 0x5a84, 22 }, { 0x5a85, 22 },
    { 0x7d40, 37 }, { 0x7d41, 37 }, { 0x7d45, 37 }, { 0x7d51, 37 }, { 0x7d55, 37 }, { 0x7d60, 37 },
    { 0x7d67, 37 }, { 0x7dd1, 37 }, { 0x7dd5, 37 }, { 0x87c0, 24 }, { 0x87ca, 25 }, { 0x8a50, 27 },
    { 0x8a51, 27 }, { 0x8a52, 27 }, { 0x8a53, 27 }, { 0x8a54, 27 }, { 0x8a56, 27 }, { 0x8a57, 27 },
    { 0x8a58, 27 }, { 0x8a59, 27 }, { 0x8a5a, 27 }, { 0x8a5b, 27 }, { 0x8a5c, 27 }, { 0x8a5d, 27 },
    { 0x8a70, 27 }, { 0x8a71, 27 }, { 0x9a40, 30 }, { 0x9a49, 30 }, { 0x9a59, 30 }, { 0x9a60, 30 },
    { 0x9a68, 30 }, { 0x9a70, 30 }, { 0x9a78, 30 }, { 0x9ac0, 30 }, { 0x9ac9, 30 }, { 0x9ad9, 30 },
    { 0x9af8, 30 }, { 0x9b21, 26 }, { 0x9b41, 26 }, { 0x9ba2, 26 }, { 0x9ba4, 26 }, { 0x9ba5, 26 },
    { 0x9ba8, 26 }, { 0x9baa, 26 }, { 0x9bac, 26 }, { 0x9bc2, 26 }, { 0x9bc4, 26 }, { 0x9bc5, 26 },
    { 0x9bc6, 26 }, { 0x9bc8, 26 }, { 0x9bca, 26 }, { 0x9bcc, 26 }, { 0x9be6, 26 }, { 0x9bf6, 26 },
    { 0xa001, 9 }, { 0xa011, 9 }, { 0xa720, 33 }, { 0xa721, 33 }, { 0xa780, 32 }, { 0xa781, 32 },
    { 0xa782, 32 }, { 0xa783, 32 }, { 0xa788, 32 }, { 0xa789, 32 }, { 0xa78a, 32 }, { 0xa78b, 32 },
    { 0xa7a0, 33 }, { 0xa7a1, 33 }, { 0xa7a8, 33 }, { 0xa7a9, 33 }, { 0xa7aa, 33 }, { 0xa7ab, 33 },
    { 0xa7ac, 33 }, { 0xa7ad, 33 }, { 0xb640, 37 },
};

static const struct { uint8_t verdict, rule; } gemcr_decisions[] = {
    { 0, 0 }, /* none, same-cache */
    { 1, 1 }, /* flush, uncached-alias */
    { 4, 2 }, /* refused, fixed-needs-discrete */
    { 1, 3 }, /* flush, non-coherent-read */
    { 1, 4 }, /* flush, non-coherent-write */
    { 1, 5 }, /* flush, display-reads-memory */
    { 4, 6 }, /* refused, display-never-writes */
    { 0, 7 }, /* none, uncached-read */
    { 3, 8 }, /* drain, wc-drain */
    { 0, 9 }, /* none, same-path */
    { 2, 10 }, /* invalidate, stale-after-uncached-write */
    { 2, 11 }, /* invalidate, partial-line-write */
    { 0, 12 }, /* none, uncached-store */
    { 3, 13 }, /* drain, gtt-drain */
    { 0, 14 }, /* none, gpu-write-reaches-memory */
    { 2, 15 }, /* invalidate, stale-after-gpu-write */
    { 4, 16 }, /* refused, gtt-snooped-faults */
    { 0, 17 }, /* none, snooped */
    { 1, 18 }, /* flush, gpu-write-may-be-cached */
    { 4, 19 }, /* refused, wt-needs-edram */
    { 0, 20 }, /* none, llc-coherent-alias */
    { 0, 21 }, /* none, llc-coherent */
    { 4, 22 }, /* refused, no-snoop */
    { 1, 23 }, /* flush, bypass-mocs-read */
    { 4, 24 }, /* refused, discrete-needs-fixed */
    { 0, 25 }, /* none, local-memory */
    { 0, 26 }, /* none, discrete-snoops */
    { 4, 27 }, /* refused, display-needs-local */
    { 4, 28 }, /* refused, gtt-needs-aperture */
};

/* Indices of gemcr_decisions, by next path and access. */
static const uint8_t gemcr_rows[][18] = {
    { 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4, 3, 4, 3, 4, 5, 6 },
    { 0, 0, 7, 7, 7, 7, 7, 7, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 8, 8, 9, 9, 8, 8, 8, 8, 2, 2, 8, 8, 8, 8, 8, 8, 8, 6 },
    { 10, 11, 7, 7, 7, 7, 7, 7, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 12, 12, 12, 12, 12, 12, 12, 12, 2, 2, 12, 12, 12, 12, 12, 12, 12, 6 },
    { 13, 13, 13, 13, 13, 13, 9, 9, 2, 2, 13, 13, 13, 13, 13, 13, 13, 6 },
    { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 6 },
    { 14, 14, 14, 14, 14, 14, 14, 14, 2, 2, 14, 14, 14, 14, 14, 14, 14, 6 },
    { 15, 11, 7, 7, 7, 7, 7, 7, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6 },
    { 0, 0, 1, 1, 1, 1, 16, 16, 2, 2, 17, 17, 17, 17, 17, 17, 5, 6 },
    { 0, 0, 7, 7, 7, 7, 16, 16, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 8, 8, 9, 9, 8, 8, 16, 16, 2, 2, 8, 8, 8, 8, 8, 8, 8, 6 },
    { 10, 11, 7, 7, 7, 7, 16, 16, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 12, 12, 12, 12, 12, 12, 16, 16, 2, 2, 12, 12, 12, 12, 12, 12, 12, 6 },
    { 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 6 },
    { 17, 17, 18, 18, 18, 18, 16, 16, 2, 2, 17, 17, 17, 17, 17, 17, 18, 6 },
    { 17, 17, 7, 7, 7, 7, 16, 16, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 6 },
    { 0, 0, 20, 20, 20, 20, 20, 20, 2, 2, 21, 21, 21, 21, 21, 21, 5, 6 },
    { 20, 20, 7, 7, 7, 7, 7, 7, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 21, 21, 7, 7, 7, 7, 7, 7, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 21, 21, 20, 20, 20, 20, 20, 20, 2, 2, 21, 21, 21, 21, 21, 21, 18, 6 },
    { 14, 14, 14, 14, 14, 14, 16, 16, 2, 2, 14, 14, 14, 14, 14, 14, 14, 6 },
    { 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 6 },
    { 0, 0, 20, 20, 20, 20, 20, 20, 2, 2, 21, 21, 21, 21, 23, 21, 5, 6 },
    { 21, 21, 20, 20, 20, 20, 20, 20, 2, 2, 21, 21, 21, 21, 18, 21, 18, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 9, 9, 8, 8, 8, 8, 8, 8, 8, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 25, 25, 25, 25, 25, 25, 25, 25, 25, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 0, 0, 26, 26, 26, 26, 26, 26, 27, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 0, 0, 7, 7, 7, 7, 7, 7, 27, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 26, 26, 26, 26, 26, 26, 26, 26, 27, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 26, 26, 7, 7, 7, 7, 7, 7, 27, 6 },
    { 24, 24, 24, 24, 24, 24, 24, 24, 14, 14, 14, 14, 14, 14, 14, 14, 27, 6 },
    { 0, 0, 1, 1, 1, 1, 28, 28, 2, 2, 3, 4, 3, 4, 3, 4, 5, 6 },
    { 0, 0, 7, 7, 7, 7, 28, 28, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 8, 8, 9, 9, 8, 8, 28, 28, 2, 2, 8, 8, 8, 8, 8, 8, 8, 6 },
    { 10, 11, 7, 7, 7, 7, 28, 28, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 12, 12, 12, 12, 12, 12, 28, 28, 2, 2, 12, 12, 12, 12, 12, 12, 12, 6 },
    { 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6 },
    { 14, 14, 14, 14, 14, 14, 28, 28, 2, 2, 14, 14, 14, 14, 14, 14, 14, 6 },
    { 15, 11, 7, 7, 7, 7, 28, 28, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 0, 0, 1, 1, 1, 1, 28, 28, 2, 2, 17, 17, 17, 17, 17, 17, 5, 6 },
    { 17, 17, 18, 18, 18, 18, 28, 28, 2, 2, 17, 17, 17, 17, 17, 17, 18, 6 },
    { 17, 17, 7, 7, 7, 7, 28, 28, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 0, 0, 20, 20, 20, 20, 28, 28, 2, 2, 21, 21, 21, 21, 21, 21, 5, 6 },
    { 20, 20, 7, 7, 7, 7, 28, 28, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 21, 21, 7, 7, 7, 7, 28, 28, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
    { 21, 21, 20, 20, 20, 20, 28, 28, 2, 2, 21, 21, 21, 21, 21, 21, 18, 6 },
    { 0, 0, 1, 1, 1, 1, 16, 16, 2, 2, 3, 4, 3, 4, 3, 4, 5, 6 },
    { 15, 11, 7, 7, 7, 7, 16, 16, 2, 2, 7, 7, 7, 7, 7, 7, 7, 6 },
};

/* Indices of gemcr_rows, by table, level and writer: for a flush, and for an invalidate. */
static const uint8_t gemcr_row_of[][2] = {
    { 0, 1 }, { 2, 3 }, { 4, 3 }, { 5, 3 }, { 6, 6 }, { 7, 8 }, { 7, 8 }, { 7, 8 }, { 9, 9 },
    { 10, 11 }, { 12, 13 }, { 14, 13 }, { 15, 15 }, { 6, 6 }, { 16, 17 }, { 16, 17 }, { 16, 17 }, { 9, 9 },
    { 10, 11 }, { 12, 13 }, { 14, 13 }, { 15, 15 }, { 6, 6 }, { 16, 17 }, { 16, 17 }, { 16, 17 }, { 9, 9 },
    { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 9, 9 },
    { 19, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 7, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 19, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 22, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 19, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 22, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 9, 9 },
    { 0, 1 }, { 2, 3 }, { 4, 3 }, { 5, 3 }, { 6, 6 }, { 7, 8 }, { 7, 8 }, { 7, 8 }, { 9, 9 },
    { 10, 11 }, { 12, 13 }, { 14, 13 }, { 15, 15 }, { 6, 6 }, { 16, 17 }, { 16, 17 }, { 16, 17 }, { 9, 9 },
    { 10, 11 }, { 12, 13 }, { 14, 13 }, { 15, 15 }, { 6, 6 }, { 16, 17 }, { 16, 17 }, { 16, 17 }, { 9, 9 },
    { 10, 11 }, { 12, 13 }, { 14, 13 }, { 15, 15 }, { 6, 6 }, { 23, 17 }, { 23, 17 }, { 23, 17 }, { 9, 9 },
    { 19, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 7, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 19, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 22, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 19, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 22, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 19, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 7, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 0, 1 }, { 2, 3 }, { 4, 3 }, { 5, 3 }, { 6, 6 }, { 7, 8 }, { 7, 8 }, { 7, 8 }, { 9, 9 },
    { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 9, 9 },
    { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 9, 9 },
    { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 9, 9 },
    { 0, 1 }, { 2, 3 }, { 4, 3 }, { 5, 3 }, { 6, 6 }, { 7, 8 }, { 7, 8 }, { 7, 8 }, { 9, 9 },
    { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 9, 9 },
    { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 9, 9 },
    { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 9, 9 },
    { 25, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 7, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 25, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 26, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 25, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 26, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 25, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 7, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 25, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 7, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 25, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 26, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 25, 1 }, { 2, 20 }, { 4, 20 }, { 5, 20 }, { 6, 6 }, { 26, 21 }, { 7, 21 }, { 7, 21 }, { 9, 9 },
    { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 28, 29 }, { 30, 29 }, { 30, 29 }, { 30, 29 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 33, 34 }, { 33, 34 }, { 33, 34 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 33, 34 }, { 33, 34 }, { 33, 34 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 35, 34 }, { 35, 34 }, { 35, 34 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 28, 29 }, { 30, 29 }, { 30, 29 }, { 30, 29 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 33, 34 }, { 33, 34 }, { 33, 34 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 33, 34 }, { 33, 34 }, { 33, 34 }, { 9, 9 },
    { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 28, 29 }, { 30, 29 }, { 30, 29 }, { 30, 29 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 33, 34 }, { 35, 34 }, { 35, 34 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 33, 34 }, { 35, 34 }, { 35, 34 }, { 9, 9 },
    { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 28, 29 }, { 30, 29 }, { 30, 29 }, { 30, 29 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 33, 34 }, { 35, 34 }, { 35, 34 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 33, 34 }, { 35, 34 }, { 35, 34 }, { 9, 9 },
    { 27, 27 }, { 27, 27 }, { 27, 27 }, { 27, 27 }, { 31, 32 }, { 35, 34 }, { 35, 34 }, { 35, 34 }, { 9, 9 },
    { 36, 37 }, { 38, 39 }, { 40, 39 }, { 41, 41 }, { 6, 6 }, { 42, 43 }, { 42, 43 }, { 42, 43 }, { 9, 9 },
    { 44, 37 }, { 38, 39 }, { 40, 39 }, { 41, 41 }, { 6, 6 }, { 45, 46 }, { 45, 46 }, { 45, 46 }, { 9, 9 },
    { 44, 37 }, { 38, 39 }, { 40, 39 }, { 41, 41 }, { 6, 6 }, { 45, 46 }, { 45, 46 }, { 45, 46 }, { 9, 9 },
    { 36, 37 }, { 38, 39 }, { 40, 39 }, { 41, 41 }, { 6, 6 }, { 42, 43 }, { 42, 43 }, { 42, 43 }, { 9, 9 },
    { 47, 37 }, { 38, 48 }, { 40, 48 }, { 41, 41 }, { 6, 6 }, { 42, 49 }, { 42, 49 }, { 42, 49 }, { 9, 9 },
    { 47, 37 }, { 38, 48 }, { 40, 48 }, { 41, 41 }, { 6, 6 }, { 50, 49 }, { 42, 49 }, { 42, 49 }, { 9, 9 },
    { 47, 37 }, { 38, 48 }, { 40, 48 }, { 41, 41 }, { 6, 6 }, { 50, 49 }, { 42, 49 }, { 42, 49 }, { 9, 9 },
    { 47, 37 }, { 38, 48 }, { 40, 48 }, { 41, 41 }, { 6, 6 }, { 42, 49 }, { 42, 49 }, { 42, 49 }, { 9, 9 },
    { 0, 1 }, { 2, 3 }, { 4, 3 }, { 5, 3 }, { 6, 6 }, { 7, 8 }, { 7, 8 }, { 7, 8 }, { 9, 9 },
    { 10, 11 }, { 12, 13 }, { 14, 13 }, { 15, 15 }, { 6, 6 }, { 16, 17 }, { 16, 17 }, { 16, 17 }, { 9, 9 },
    { 10, 11 }, { 12, 13 }, { 14, 13 }, { 15, 15 }, { 6, 6 }, { 16, 17 }, { 16, 17 }, { 16, 17 }, { 9, 9 },
    { 51, 11 }, { 12, 13 }, { 14, 13 }, { 15, 15 }, { 6, 6 }, { 23, 52 }, { 23, 52 }, { 23, 52 }, { 9, 9 },
    { 36, 37 }, { 38, 39 }, { 40, 39 }, { 41, 41 }, { 6, 6 }, { 42, 43 }, { 42, 43 }, { 42, 43 }, { 9, 9 },
    { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 9, 9 },
    { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 24, 24 }, { 9, 9 },
    { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 18, 18 }, { 9, 9 },
};

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
