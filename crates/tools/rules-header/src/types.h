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

