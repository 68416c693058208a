/* Says on which paths of examples/own_buffers.c the CPU or the GPU sees old bytes if no call for coherency is made, by the rules.
 *
 *   stale sim:glk */

#include "check.h"

/* Prints whether a path shows old bytes: it does where the rules require a flush or an invalidate. */
static void say(const char *path, int verdict) {
    CHECK(verdict >= 0 && verdict != GEMCO_REFUSED);
    printf("%s: %s\n", path, verdict == GEMCO_FLUSH || verdict == GEMCO_INVALIDATE ? "old" : "fresh");
}

int main(int argc, char **argv) {
    gemco_device *device = NULL;
    gemco_platform platform;
    CHECK(argc == 2);
    OK(gemco_device_open(argv[1], 0, &device));
    OK(gemco_device_platform(device, &platform));
    gemco_question question = {.level = (unsigned)gemco_caching_level(&platform, GEMCO_CACHING_DEFAULT),
                               .writer = GEMCO_PATH_CPU_WB, .next = GEMCO_PATH_GPU_PAGE_TABLE, .access = GEMCO_READ};
    say("upload", gemco_needs_flush(&platform, &question, NULL));
    gemco_question back = question;
    back.writer = GEMCO_PATH_GPU_PAGE_TABLE;
    back.next = GEMCO_PATH_CPU_WB;
    say("read back", gemco_needs_invalidate(&platform, &back, NULL));
    if (platform.caps & GEMCO_CAP_LLC_BYPASS_MOCS) {
        question.next = GEMCO_PATH_GPU_BYPASS_LLC;
        say("bypass", gemco_needs_flush(&platform, &question, NULL));
    }
    gemco_device_unref(device);
    return 0;
}
