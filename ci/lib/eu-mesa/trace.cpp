// Mesa's tests of its validator of instructions, with a line for each question that they ask it: CASE, the test and the platform, the
// answer, and the dwords, with tabs between them. TESTS is the file of the tests, VALIDATOR the function that they ask, ISA and CFG are types
// of its parameters, OFFSET is the type of offsets, INFO that of what errors go to, NAME makes the names of its functions.

#include <cstdio>
#include <gtest/gtest.h>

#include INCLUDED_INFO
#include INCLUDED_EU
#include "util/log.h"

// Errors and logs go nowhere.
extern "C" {
struct INFO *NAME(disasm_initialize)(const struct ISA *, const struct CFG *) { return nullptr; }
struct inst_group *NAME(disasm_new_inst_group)(struct INFO *, OFFSET) { return nullptr; }
void NAME(disasm_insert_error)(struct INFO *, OFFSET, OFFSET, const char *) {}
void NAME(dump_assembly)(void *, int, int, struct INFO *, const unsigned *) {}
void mesa_log(enum mesa_log_level, const char *, const char *, ...) {}
}

static bool traced(const struct ISA *isa, const void *assembly, int start, int end, struct INFO *info)
{
    const bool answer = VALIDATOR(isa, assembly, start, end, info);
    const auto *dwords = reinterpret_cast<const unsigned *>(static_cast<const char *>(assembly) + start);
    printf("CASE\t%s\t%s\t", testing::UnitTest::GetInstance()->current_test_info()->name(), answer ? "valid" : "invalid");
    for (int i = 0; i < (end - start) / 4; i++)
        printf("%s%08x", i ? " " : "", dwords[i]);
    printf("\n");
    return answer;
}

// The tests ask this one in place of Mesa's.
#undef VALIDATOR
#define brw_validate_instructions traced
#define elk_validate_instructions traced
#include TESTS
