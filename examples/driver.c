/* A driver's frame with this library, by its C interface: a buffer that the CPU fills and the GPU reads, one that the GPU writes and
 * the CPU reads, and one that is shown.
 *
 *   cc examples/driver.c $(pkg-config --cflags --libs gem_coherency) -o driver && ./driver sim:jsl
 *
 * Without an argument it takes the first i915 device. On a real device the batches are empty: what a batch does is the
 * driver's own business. */

#include <gem_coherency.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 16 };

/* Ends the program if a call failed: the library's text says why. */
static void must(int result) {
    if (result < 0) {
        fprintf(stderr, "%s\n", gemco_last_error());
        exit(1);
    }
}

/* Prints what was flushed or not, and by which rule. */
static void say(const char *what, const gemco_report *report) {
    char text[512];
    must(gemco_explain(report, text, sizeof text));
    printf("%s: %s\n", what, text);
}

int main(int argc, char **argv) {
    gemco_device *device;
    must(argc > 1 ? gemco_device_open(argv[1], 0, &device) : gemco_device_open_first(0, &device));
    gemco_platform platform;
    must(gemco_device_platform(device, &platform));
    printf("%s (%s)\n", platform.title, platform.name);

    /* The driver's buffers. Keeping those that it gives back spares it the page faults. */
    must(gemco_device_set_reuse_limit(device, 64 << 20));
    gemco_bo *vertices, *target;
    must(gemco_bo_create(device, SIZE, GEMCO_CACHING_DEFAULT, &vertices));
    must(gemco_bo_create(device, SIZE, GEMCO_CACHING_DEFAULT, &target));

    /* Vertices, at once and for the GPU: in memory when this returns, if that is where the GPU looks. */
    static const float triangle[] = {0, 0, 1, 0, 0, 1};
    gemco_report report;
    must(gemco_bo_upload(vertices, 0, triangle, sizeof triangle, GEMCO_UPLOAD_AUTO, &report));
    say("upload", &report);

    /* More of them through a pointer. The end of the access tells the library what was written: all of the range. */
    gemco_access *access;
    void *pointer;
    must(gemco_access_begin(vertices, GEMCO_WRITE, 4096, 256, &access, &pointer, NULL));
    memset((char *)pointer + 4096, 0x3f, 256);
    must(gemco_access_end(access, NULL));

    /* The batch reads the one and writes the other. Here the driver's execbuf would stand between begin and end;
     * gemco_submit does all of it, with an empty batch. */
    int mocs = gemco_device_mocs(device, 16);
    must(mocs);
    const gemco_submission batch[] = {
        {.bo = vertices, .access = GEMCO_READ, .mocs = (unsigned)mocs},
        {.bo = target, .access = GEMCO_WRITE, .mocs = GEMCO_MOCS_PAGE_TABLE},
    };
    gemco_report reports[2];
    must(gemco_submit(device, batch, 2, reports));
    say("vertices", &reports[0]);
    say("target", &reports[1]);

    /* Reading back waits for the GPU, and drops what is stale. */
    unsigned char pixels[256];
    must(gemco_bo_read(target, 0, pixels, sizeof pixels, &report));
    say("read back", &report);

    /* Before the flip; until the end the library refuses what would hang. */
    gemco_scanout *scanout;
    if (gemco_prepare_scanout(target, &scanout, &report) == 0) {
        say("scanout", &report);
        gemco_scanout_end(scanout);
    } else {
        printf("scanout: %s\n", gemco_last_error());
    }

    gemco_bo_unref(target);
    gemco_bo_unref(vertices);
    gemco_device_unref(device);
    return 0;
}
