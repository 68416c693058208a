/* Validation of instructions of the execution units, as a driver validates code that it uploads. */

#include "check.h"

/* mov (4) r20.0<2>:f r10.0<4;4,1>:df, a mov whose destination is packed, a compacted mov (8) r2.0<1>:ud r0.0<8;8,1>:ud, and an
 * unknown opcode, on graphics 8 and 9. */
#define SPREAD 0x00400001, 0x428032e8, 0x00690140, 0x00000000
#define PACKED 0x00400001, 0x23c032e8, 0x00690140, 0x00000000
#define COMPACTED 0x20004b01, 0x00000207
#define UNKNOWN 0x0040007d, 0x428032e8, 0x00690140, 0x00000000

static gemco_platform named(const char *name) {
    gemco_platform platform;
    OK(gemco_platform_by_name(name, 0, 0, 0, &platform));
    return platform;
}

/* A broken rule has all its texts, and every violation an offset. */
static void violations_case(void) {
    static const uint32_t code[] = {SPREAD, PACKED, SPREAD, PACKED};
    gemco_eu_violation found[3];
    memset(found, 0x55, sizeof found);
    gemco_platform skl = named("skl");
    CHECK(gemco_eu_validate(&skl, code, sizeof code, found, 3) == 2);
    CHECK(found[0].offset == 16 && found[1].offset == 48 && found[2].offset == 0x5555555555555555);
    for (int i = 0; i < 2; i++) {
        CHECK(strcmp(found[i].rule, "DestinationStride") == 0);
        CHECK(strcmp(found[i].found, "destination: 4 bytes, execution type df of 8 bytes") == 0);
        CHECK(strstr(found[i].text, "destination's stride") != NULL && strstr(found[i].source, "operand types") != NULL);
    }

    /* Without the packed ones there is none. */
    CHECK(gemco_eu_validate(&skl, code, 16, found, 3) == 0);
    CHECK(gemco_eu_validate(&skl, code + 8, 16, found, 3) == 0);
    CHECK(gemco_eu_validate(&skl, NULL, 0, NULL, 0) == 0);

    /* Violations without room are counted. */
    memset(found, 0x55, sizeof found);
    CHECK(gemco_eu_validate(&skl, code, sizeof code, found, 1) == 2);
    CHECK(found[0].offset == 16 && found[1].offset == 0x5555555555555555);
    CHECK(gemco_eu_validate(&skl, code, sizeof code, NULL, 0) == 2);

    /* A compacted instruction has half the bytes. */
    static const uint32_t compacted[] = {COMPACTED, PACKED, COMPACTED};
    CHECK(gemco_eu_validate(&skl, compacted, sizeof compacted, found, 3) == 1 && found[0].offset == 8);

    /* Code may have any address. */
    static char odd[sizeof code + 1];
    memcpy(odd + 1, code, sizeof code);
    CHECK(gemco_eu_validate(&skl, odd + 1, sizeof code, NULL, 0) == 2);
}

/* The platform decides: 64-bit floats stay in their own lanes on Gemini Lake, not on Skylake. */
static void platforms_case(void) {
    static const char *const known[] = {"ivb", "vlv", "hsw", "bdw", "chv", "skl", "bxt", "kbl", "glk", "cfl", "cml",
                                        "icl", "ehl", "jsl", "tgl", "rkl", "dg1", "adls", "adlp", "dg2", "atsm", "mtl"};
    static const uint32_t nop[] = {0x7e, 0, 0, 0}, nop_of_12[] = {0x60, 0, 0, 0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        gemco_platform platform = named(known[i]);
        OK(gemco_eu_validate(&platform, platform.graphics_major < 12 ? nop : nop_of_12, 16, NULL, 0));
    }

    /* mov (2) r10.0<2>:df r2.0<2;2,1>:df */
    static const uint32_t widened[] = {0x00200001, 0x414032c8, 0x00450040, 0x00000000};
    gemco_device *device = NULL;
    gemco_platform skl = named("skl"), glk;
    gemco_eu_violation found;
    OK(gemco_device_open("sim:glk", 0, &device));
    OK(gemco_device_platform(device, &glk));
    OK(gemco_eu_validate(&skl, widened, sizeof widened, &found, 1));
    CHECK(gemco_eu_validate(&glk, widened, sizeof widened, &found, 1) == 1);
    CHECK(strcmp(found.rule, "LongStride") == 0 && found.offset == 0);
    gemco_device_unref(device);
}

/* Bad input is refused by name, and nothing is written. */
static void arguments_case(void) {
    static const uint32_t code[] = {PACKED, UNKNOWN}, half[] = {PACKED, SPREAD};
    gemco_platform skl = named("skl"), snb = named("snb"), none = {.name = "potato lake 9000"}, empty = {.caps = 0};
    gemco_eu_violation found;
    memset(&found, 0x55, sizeof found);
    FAILS(gemco_eu_validate(NULL, code, 16, &found, 1), EINVAL, "gemco_eu_validate: platform is NULL");
    FAILS(gemco_eu_validate(&skl, NULL, 16, &found, 1), EINVAL, "code is NULL");
    FAILS(gemco_eu_validate(&skl, code, SIZE_MAX, &found, 1), EINVAL, "code is larger than the address space");
    FAILS(gemco_eu_validate(&skl, code, 16, NULL, 1), EINVAL, "violations is NULL");
    FAILS(gemco_eu_validate(&skl, code, 16, (gemco_eu_violation *)((char *)&found + 1), 1), EINVAL,
          "violations is not aligned");
    FAILS(gemco_eu_validate(&skl, code, 17, &found, 1), EINVAL, "size is 17");
    FAILS(gemco_eu_validate(&skl, code, 12, &found, 1), EINVAL, "size is 12");
    FAILS(gemco_eu_validate(&snb, code, 16, &found, 1), ENODEV, "platform->name is \"snb\"");
    FAILS(gemco_eu_validate(&none, code, 16, &found, 1), ENODEV, "\"potato lake 9000\"");
    FAILS(gemco_eu_validate(&empty, code, 16, &found, 1), ENODEV, "platform->name is \"\"");
    FAILS(gemco_eu_validate(&skl, code, sizeof code, &found, 1), ENOEXEC, "at byte 16: skl has no opcode 125");
    FAILS(gemco_eu_validate(&skl, half, 24, &found, 1), ENOEXEC, "at byte 16");
    CHECK(found.offset == 0x5555555555555555);

    /* The same code without what is refused. */
    CHECK(gemco_eu_validate(&skl, code, 16, &found, 1) == 1 && found.offset == 0);
    CHECK(gemco_eu_validate(&skl, half, 32, &found, 1) == 1);
}

int main(void) {
    violations_case();
    platforms_case();
    arguments_case();
    printf("%d claims\n", claims);
    return 0;
}
