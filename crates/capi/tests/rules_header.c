/* Compares every answer of gem_coherency_rules.h with the library's.
 *
 *   rules_header ANSWERS    compares, and prints the number of answers; ANSWERS is what crates/tools/rules-header/src/bin/answers.rs prints
 *   rules_header --digest   prints a digest of the header's answers; built with WITHOUT_LIBRARY it does only that */

#include <stdint.h>

/* The lines that the header flushes. */
static uintptr_t flushed[64];
static unsigned flushes;

static void flush(uintptr_t byte) {
    if (flushes < sizeof(flushed) / sizeof(flushed[0]))
        flushed[flushes] = byte;
    flushes++;
}

#define GEMCR_CLFLUSH(byte) flush((uintptr_t)(byte))
#define GEM_COHERENCY_RULES_REASONS
#include <gem_coherency_rules.h>

#include <stdio.h>
#include <string.h>

static const struct { unsigned major, minor; } kernels[] = {{5, 10}, {5, 14}, {6, 4}, {6, 5}, {6, 11}, {6, 12}, {7, 3}, {0, 0}};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]), IDS = sizeof(gemcr_ids) / sizeof(gemcr_ids[0]) };

static unsigned long long answers, differences;

/* FNV-1a. */
static uint64_t digest = 0xcbf29ce484222325;

static void add(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
}

static void add_number(long number) {
    unsigned char byte = (unsigned char)number;
    add(&byte, 1);
}

#ifndef WITHOUT_LIBRARY
#include <gem_coherency.h>

static void compare(const char *what, const struct gemcr_platform *platform, long header, long library) {
    answers++;
    if (header != library && differences++ < 10)
        printf("%s, %s: the header says %ld, the library %ld\n", platform->name, what, header, library);
}

static void compare_decision(const char *what, const struct gemcr_platform *platform, struct gemcr_question question,
                             struct gemcr_decision header, int verdict, gemco_decision library) {
    answers++;
    if ((int)header.verdict == verdict && strcmp(gemcr_rule_name(header.rule), gemco_rule_name(library.rule)) == 0 &&
        strcmp(gemcr_rule_reason(header.rule), gemco_rule_reason(library.rule)) == 0)
        return;
    if (differences++ < 10)
        printf("%s, %s at level %d from %d to %d for %d: the header says %d by %s, the library %d by %s\n", platform->name, what,
               question.level, question.writer, question.next, question.access, header.verdict, gemcr_rule_name(header.rule),
               verdict, gemco_rule_name(library.rule));
}

static gemco_question asked(struct gemcr_question question) {
    return (gemco_question){.level = (unsigned)question.level, .writer = (unsigned)question.writer,
                            .next = (unsigned)question.next, .access = (unsigned)question.access};
}

/* Compares the classes of all MOCS entries. */
static void compare_mocs(const struct gemcr_platform *header, const gemco_platform *library) {
    for (unsigned entry = 0; entry < 256; entry++)
        compare("class of a MOCS entry", header, gemcr_mocs_class(header, (uint8_t)entry), gemco_mocs_class(library, entry));
}

static void compare_rules(const struct gemcr_platform *header, const gemco_platform *library, int is_first);

/* Compares all answers about an ID under the newest kernel, and the first time that its capabilities come up; otherwise
 * name and capabilities, which determine the answers. */
static void compare_with_library(unsigned id, const struct gemcr_platform *header, unsigned major, unsigned minor, int edram) {
    gemco_platform library;
    if (gemco_platform_by_id((uint16_t)id, (uint16_t)major, (uint16_t)minor, edram, &library) < 0) {
        differences++;
        printf("%04x: the library does not know it\n", id);
        return;
    }
    answers++;
    if (strcmp(header->name, library.name) != 0 && differences++ < 10)
        printf("%04x: the header says %s, the library %s\n", id, header->name, library.name);
    compare("capabilities", header, (long)header->caps, (long)library.caps);
    static unsigned compared[sizeof(gemcr_platforms) / sizeof(gemcr_platforms[0])];
    int is_first = compared[header - gemcr_platforms]++ == 0;
    if (!is_first && major + minor > 0)
        return;
    compare_mocs(header, &library);
    compare_rules(header, &library, is_first);
}

/* Compares the platforms that follow from a device's answers with those in the file `name`, and what they decide the first time
 * that their capabilities come up. */
static void compare_answers(const char *name) {
    FILE *file = fopen(name, "r");
    unsigned id, major, minor, caps;
    struct gemcr_answers given;
    char platform[16];
    static unsigned char rules[sizeof(gemcr_by_caps) / sizeof(gemcr_by_caps[0])], mocs[256][2];
    while (file && fscanf(file, "%x %u %u %d %d %d %x %15s", &id, &major, &minor, &given.has_llc, &given.has_wt,
                          &given.mmap_gtt_coherent, &caps, platform) == 8) {
        struct gemcr_platform header;
        gemco_platform library;
        answers++;
        if (gemcr_platform_by_answers((uint16_t)id, major, minor, given, &header) < 0 || strcmp(header.name, platform) != 0) {
            if (differences++ < 10)
                printf("%04x: the header does not say %s, as the library\n", id, platform);
            continue;
        }
        compare("capabilities by answers", &header, (long)header.caps, (long)caps);
        if (header.caps != caps || gemco_platform_by_id((uint16_t)id, 0, 0, 0, &library) < 0)
            continue;
        library.caps = caps;
        if (mocs[header.number][(caps & GEMCR_CAP_LLC) != 0]++ == 0)
            compare_mocs(&header, &library);
        if (rules[header.by_caps]++ == 0)
            compare_rules(&header, &library, 0);
    }
    if (!file || !feof(file) || answers == 0) {
        differences++;
        printf("%s: not what crates/tools/rules-header/src/bin/answers.rs prints\n", name);
    }
    if (file)
        fclose(file);
}

/* Compares what a platform decides; `is_first` for pairs of readers, too. */
static void compare_rules(const struct gemcr_platform *header, const gemco_platform *library, int is_first) {
    for (unsigned mode = 0; mode < 6; mode++) {
        int level = gemco_caching_level(library, mode);
        compare("level of a caching mode", header, gemcr_caching_level(header, (enum gemcr_caching)mode),
                level < 0 ? GEMCR_LEVEL_UNKNOWN : level);
    }
    for (unsigned mode = 0; mode < 8; mode++) {
        int path = gemco_map_path(mode);
        compare("path of a map mode", header, gemcr_map_path((enum gemcr_map_mode)mode), path < 0 ? GEMCR_PATH_UNKNOWN : path);
    }
    for (unsigned mocs = 0; mocs < 4; mocs++) {
        int path = gemco_mocs_path(mocs);
        compare("path of a MOCS class", header, gemcr_mocs_path((enum gemcr_mocs_class)mocs),
                path < 0 ? GEMCR_PATH_UNKNOWN : path);
    }
    for (unsigned index = 0; index < 8; index++) {
        enum gemcr_level level;
        int known = gemcr_pat_level(header, index, &level) == 0, theirs = gemco_pat_level(library, index);
        compare("level of a PAT index", header, known ? (long)level : -1, theirs < 0 ? -1 : theirs);
    }
    for (unsigned line = 0; line < 4 * 5; line++) {
        struct gemcr_question question = {(enum gemcr_level)(line / 5), (enum gemcr_path)(line % 5), GEMCR_PATH_GPU_PAGE_TABLE,
                                          GEMCR_ACCESS_READ};
        if (gemcr_needs_flush(header, question).verdict != GEMCR_VERDICT_REFUSED)
            compare("drain", header, gemcr_drain_of(header, question.level, question.writer),
                    gemco_drain_of(library, line / 5, line % 5));
    }
    for (unsigned line = 0; line < 4 * 9 * 9 * 2; line++) {
        struct gemcr_question question = {(enum gemcr_level)(line / 162), (enum gemcr_path)(line / 18 % 9),
                                          (enum gemcr_path)(line / 2 % 9), (enum gemcr_access)(line % 2)};
        gemco_question theirs = asked(question);
        gemco_decision decision;
        int verdict = gemco_needs_flush(library, &theirs, &decision);
        compare_decision("flush", header, question, gemcr_needs_flush(header, question), verdict, decision);
        verdict = gemco_needs_invalidate(library, &theirs, &decision);
        compare_decision("invalidate", header, question, gemcr_needs_invalidate(header, question), verdict, decision);
    }
    if (!is_first)
        return;
    /* Each pair of readers: the strongest of more is the strongest of its pairs. */
    for (unsigned line = 0; line < 4 * 9 * 2; line++)
        for (unsigned one = 0; one < 9; one++)
            for (unsigned other = one; other < 9; other++) {
                struct gemcr_question question = {(enum gemcr_level)(line / 18), (enum gemcr_path)(line / 2 % 9),
                                                  GEMCR_PATH_CPU_WB, (enum gemcr_access)(line % 2)};
                unsigned readers = 1u << one | 1u << other;
                gemco_question theirs = asked(question);
                gemco_decision decision;
                int verdict = gemco_needs_flush_any(library, &theirs, readers, &decision);
                compare_decision("flush for any", header, question, gemcr_needs_flush_any(header, question, readers), verdict,
                                 decision);
            }
}
#endif

/* Adds the header's answers about a platform to the digest. */
static void digest_of(const struct gemcr_platform *platform) {
    add(platform->name, strlen(platform->name));
    for (unsigned entry = 0; entry < 256; entry++)
        add_number((long)gemcr_mocs_class(platform, (uint8_t)entry));
    for (unsigned mode = 0; mode < 4; mode++)
        add_number((long)gemcr_caching_level(platform, (enum gemcr_caching)mode));
    for (unsigned line = 0; line < 5 * 10 * 10 * 3; line++) {
        struct gemcr_question question = {(enum gemcr_level)(line / 300), (enum gemcr_path)(line / 30 % 10),
                                          (enum gemcr_path)(line / 3 % 10), (enum gemcr_access)(line % 3)};
        struct gemcr_decision flush = gemcr_needs_flush(platform, question), drop = gemcr_needs_invalidate(platform, question);
        add_number((long)flush.verdict);
        add_number((long)flush.rule);
        add_number((long)drop.verdict);
        add_number((long)drop.rule);
        add_number((long)gemcr_drain_of(platform, question.level, question.writer));
    }
}

/* Compares the lines of a range with those found byte by byte. */
static void check_lines(void) {
    static const char bytes[1024];
    for (unsigned start = 0; start < 130; start++)
        for (unsigned len = 0; len < 300; len++)
            for (unsigned twice = 0; twice < 2; twice++) {
                flushes = 0;
                if (twice)
                    gemcr_flush_inval_range(bytes + start, len);
                else
                    gemcr_flush_range(bytes + start, len);
                uintptr_t expected[64];
                unsigned lines = 0;
                for (unsigned at = start; at < start + len; at++) {
                    uintptr_t line = (uintptr_t)(bytes + at) / 64;
                    if (lines == 0 || expected[lines - 1] != line)
                        expected[lines++] = line;
                }
                if (twice && lines > 0) {
                    expected[lines] = expected[lines - 1];
                    lines++;
                }
                answers++;
                unsigned same = flushes == lines;
                for (unsigned at = 0; same && at < lines; at++)
                    same = flushed[at] / 64 == expected[at];
                if (!same && differences++ < 10)
                    printf("%u bytes at %u: the header flushes %u lines, and not the library's %u\n", len, start, flushes, lines);
            }
}

/* Compares the bytes of a rectangle with those of its pixels, one by one. */
static void check_rectangles(void) {
    for (unsigned line = 0; line < 4 * 4 * 4 * 4 * 3; line++) {
        uint32_t x = line % 4, y = line / 4 % 4, width = line / 16 % 4, height = line / 64 % 4, bytes = 1 + line / 256;
        struct gemcr_range range = gemcr_rectangle(100, 64, bytes, x, y, width, height);
        uint64_t first = UINT64_MAX, end = 0;
        for (uint32_t row = y; row < y + height; row++)
            for (uint32_t at = (row * 64 + x * bytes); at < row * 64 + (x + width) * bytes; at++) {
                first = at < first ? at : first;
                end = at + 1;
            }
        answers++;
        if ((range.len != (end ? end - first : 0) || (end && range.offset != 100 + first)) && differences++ < 10)
            printf("rectangle %u: the header says %llu bytes at %llu, the library %llu at %llu\n", line,
                   (unsigned long long)range.len, (unsigned long long)range.offset, (unsigned long long)(end - first),
                   (unsigned long long)(100 + first));
    }
    struct gemcr_range large = gemcr_rectangle(0, UINT32_MAX, 4, 0, UINT32_MAX, 1, 1);
    answers++;
    if (large.offset != (uint64_t)UINT32_MAX * UINT32_MAX && differences++ < 10)
        printf("a large rectangle: the header says %llu, the library another offset\n", (unsigned long long)large.offset);
}

int main(int count, char **arguments) {
    int prints_digest = count == 2 && strcmp(arguments[1], "--digest") == 0;
    if (gemcr_platform_by_id(1, 0, 0, 0) != NULL || gemcr_platform_by_id(0xffff, 0, 0, 0) != NULL) {
        printf("an unknown ID has a platform\n");
        return 1;
    }
    check_lines();
    check_rectangles();
#ifndef WITHOUT_LIBRARY
    if (!prints_digest)
        compare_answers(count == 2 ? arguments[1] : "");
#endif
    digest_of(gemcr_conservative());
    for (unsigned i = 0; i < IDS; i++)
        for (unsigned kernel = 0; kernel < KERNELS; kernel++)
            for (int edram = 0; edram < 2; edram++) {
                unsigned id = gemcr_ids[i].id;
                const struct gemcr_platform *platform =
                    gemcr_platform_by_id((uint16_t)id, kernels[kernel].major, kernels[kernel].minor, edram);
                struct gemcr_answers given = {edram, -1, edram};
                struct gemcr_platform answered;
                if (prints_digest) {
                    digest_of(platform);
                    if (gemcr_platform_by_answers((uint16_t)id, kernels[kernel].major, kernels[kernel].minor, given, &answered) == 0)
                        digest_of(&answered);
                }
#ifndef WITHOUT_LIBRARY
                else
                    compare_with_library(id, platform, kernels[kernel].major, kernels[kernel].minor, edram);
#endif
            }
    if (prints_digest) {
        printf("%016llx\n", (unsigned long long)digest);
        return 0;
    }
    /* An answer outside of the enums. */
    struct gemcr_question bad = {(enum gemcr_level)4, GEMCR_PATH_CPU_WB, GEMCR_PATH_DISPLAY, GEMCR_ACCESS_READ};
    struct gemcr_decision refused = gemcr_needs_flush(gemcr_conservative(), bad);
    if (refused.verdict != GEMCR_VERDICT_BAD_QUESTION || gemcr_rule_name(refused.rule) != NULL) {
        printf("level 4 has an answer\n");
        return 1;
    }
    if (answers == 0 || differences > 0) {
        printf("%llu of %llu answers differ\n", differences, answers);
        return 1;
    }
    printf("%llu answers about %d IDs\n", answers, (int)IDS);
    return 0;
}
