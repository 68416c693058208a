/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * gem_coherency_rules: the rules of cache coherency on Intel GPUs, as tables and inline functions.
 *
 * Version @VERSION@. Made from the crate gem-coherency-policy; ci/rules-header --write makes it anew.
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

