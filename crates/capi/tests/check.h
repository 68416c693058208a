/* Shared by the C tests: claims that end the program when they fail. PURE is for libgem_coherency_pure.a, which has no
 * gemco_last_error. */

#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <gem_coherency_exercise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PURE
#define LAST_ERROR(part) (part)
#else
#define LAST_ERROR(part) gemco_last_error()
#endif

/* Number of claims that held. */
static int claims;

/* Checks a condition. */
#define CHECK(claim)                                                                                                   \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #claim, LAST_ERROR("?"));   \
            exit(1);                                                                                                   \
        }                                                                                                              \
        claims++;                                                                                                      \
    } while (0)

/* Checks a condition in a thread or a child process, uncounted; a failure ends the process at once, without its handlers. */
#define HOLDS(claim)                                                                                                   \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #claim, LAST_ERROR("?"));      \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Checks that a call succeeds. */
#define OK(call) CHECK((call) == 0)

/* Checks that a call fails with this errno, and that its text contains `part`. */
#define FAILS(call, number, part)                                                                                      \
    do {                                                                                                               \
        CHECK((call) == -(number));                                                                                    \
        CHECK(strstr(LAST_ERROR(part), part) != NULL);                                                               \
    } while (0)

/* Checks that a decision or report has the rule of this name. */
#define BY_RULE(decision, name) CHECK(strcmp(gemco_rule_name((decision).rule), name) == 0)

#ifndef PURE
/* Begins and ends a submission without an ioctl between. */
static inline int submit_nothing(gemco_device *device, const gemco_submission *list, size_t count,
                                 gemco_report *reports) {
    gemco_prepared *prepared = NULL;
    int result = gemco_submit_begin(device, list, count, reports, &prepared);
    return result < 0 ? result : gemco_submit_end(prepared, 0);
}
#endif

#endif
