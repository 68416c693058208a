/* A userspace driver in one file, to start from: buffers, an upload, a batch, the way back, and the screen.
 *
 *   cc examples/mini_driver.c $(pkg-config --cflags --libs gem_coherency) -o mini_driver
 *   ./mini_driver sim:jsl,display=on
 *   ./mini_driver /dev/dri/card0
 *
 * Without an argument it takes the first i915 device. It draws a rectangle with the GPU's fills; a driver that renders has its
 * own batches, and its own execbuf between gemco_submit_begin and gemco_submit_end. examples/mini_driver.rs is the same in Rust, and
 * prints the same. */

#include <gem_coherency_exercise.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Colours, XRGB8888. */
enum { BACKGROUND = 0x00303040, RECTANGLE = 0x00ff8000, LINE = 0x00ffffff };
/* Where the rectangle is, in pixels, and the row that the CPU draws. */
enum { LEFT = 32, TOP = 16, WIDTH = 100, HEIGHT = 40, ROW = 20 };

/* Rows of pixels in a BO. */
struct surface {
    gemco_bo *bo;
    uint32_t width, height, pitch;
};

/* Ends the program if a call failed: the library's text says why. */
static void must(int result) {
    if (result < 0) {
        fprintf(stderr, "%s\n", gemco_last_error());
        exit(2);
    }
}

/* Says what was flushed or not, and by which rule. */
static void say(const char *what, const gemco_report *report) {
    char text[512];
    must(gemco_explain(report, text, sizeof text));
    printf("%s: %s\n", what, text);
}

/* Where a pixel is. */
static uint64_t at(const struct surface *surface, uint32_t x, uint32_t y) {
    return (uint64_t)y * surface->pitch + 4 * (uint64_t)x;
}

/* The colour that a pixel should have in the end. */
static uint32_t expected(uint32_t x, uint32_t y) {
    if (y == ROW)
        return LINE;
    return x >= LEFT && x < LEFT + WIDTH && y >= TOP && y < TOP + HEIGHT ? RECTANGLE : BACKGROUND;
}

/* Room for a row of pixels. */
static uint32_t *new_row(const struct surface *surface) {
    uint32_t *row = malloc(4 * (size_t)surface->width);
    if (!row) {
        perror("malloc");
        exit(2);
    }
    return row;
}

/* Draws with the GPU, and has it fetch the vertices as a vertex shader would. */
static void draw(gemco_device *device, gemco_bo *vertices, gemco_bo *fetched, const struct surface *to) {
    gemco_batch *batch;
    must(gemco_batch_create(device, &batch));
    const gemco_region all = {.bo = to->bo, .pitch = to->pitch, .mocs = -1};
    const gemco_region rectangle = {.bo = to->bo, .offset = at(to, LEFT, TOP), .pitch = to->pitch, .mocs = -1};
    const gemco_region from = {.bo = vertices, .pitch = 4096, .mocs = -1}, copy = {.bo = fetched, .pitch = 4096, .mocs = -1};
    must(gemco_batch_fill(batch, &all, 4 * to->width, to->height, BACKGROUND));
    must(gemco_batch_fill(batch, &rectangle, 4 * WIDTH, HEIGHT, RECTANGLE));
    must(gemco_batch_copy(batch, &copy, &from, 64, 1));
    gemco_job *job;
    must(gemco_batch_submit(batch, &job));
    /* Per BO, access and MOCS class, in the order of the commands; the last is the batch's own. */
    static const char *const what[] = {"colour", "fetched", "vertices", "batch"};
    gemco_report reports[4];
    int count = gemco_job_reports(job, reports, 4);
    must(count);
    for (int i = 0; i < count && i < 4; i++)
        say(what[i], &reports[i]);
    must(gemco_job_wait(job, -1));
    gemco_job_destroy(job);
}

/* Draws a row with the CPU. */
static void draw_row(const struct surface *to) {
    uint32_t *row = new_row(to);
    for (uint32_t x = 0; x < to->width; x++)
        row[x] = LINE;
    must(gemco_bo_write(to->bo, at(to, 0, ROW), row, 4 * (size_t)to->width, NULL));
    free(row);
}

/* How many pixels are not what they should be. */
static uint32_t wrong_pixels(const struct surface *surface) {
    uint32_t wrong = 0, *row = new_row(surface);
    for (uint32_t y = 0; y < surface->height; y++) {
        must(gemco_bo_read(surface->bo, at(surface, 0, y), row, 4 * (size_t)surface->width, NULL));
        for (uint32_t x = 0; x < surface->width; x++)
            wrong += row[x] != expected(x, y);
    }
    free(row);
    return wrong;
}

int main(int argc, char **argv) {
    gemco_device *device;
    gemco_platform platform;
    gemco_report report;
    must(argc > 1 ? gemco_device_open(argv[1], 0, &device) : gemco_device_open_first(0, &device));
    must(gemco_device_platform(device, &platform));
    printf("%s\n", platform.title);
    /* Buffers that are given back are kept: that spares the page faults. */
    must(gemco_device_set_reuse_limit(device, 64 << 20));

    /* The colour buffer is what is shown, where there is a screen. */
    struct surface colour = {NULL, 256, 128, 1024};
    gemco_screen *screen = NULL;
    gemco_picture picture;
    if (gemco_screen_open(device, &screen, &picture) == 0) {
        colour = (struct surface){NULL, picture.width, picture.height, picture.pitch};
        must(gemco_screen_alloc(screen, &colour.bo));
    } else {
        printf("no screen\n");
        fprintf(stderr, "%s\n", gemco_last_error());
        must(gemco_bo_create(device, 1024 * 128, GEMCO_CACHING_DEFAULT, &colour.bo));
    }
    printf("%ux%u pixels\n", (unsigned)colour.width, (unsigned)colour.height);

    /* Vertices for the GPU: in memory when this returns, if that is where the GPU looks. */
    static const uint32_t corners[] = {LEFT, TOP, WIDTH, HEIGHT};
    gemco_bo *vertices, *fetched;
    must(gemco_bo_create(device, 4096, GEMCO_CACHING_DEFAULT, &vertices));
    must(gemco_bo_create(device, 4096, GEMCO_CACHING_DEFAULT, &fetched));
    must(gemco_bo_upload(vertices, 0, corners, sizeof corners, GEMCO_UPLOAD_AUTO, &report));
    say("upload", &report);

    draw(device, vertices, fetched, &colour);
    draw_row(&colour);

    /* The way back: reading waits for the GPU, and drops what is stale. */
    uint32_t seen[4];
    must(gemco_bo_read(fetched, 0, seen, sizeof seen, &report));
    say("read back", &report);
    uint32_t wrong = wrong_pixels(&colour) + (memcmp(seen, corners, sizeof seen) != 0);
    printf("wrong: %u\n", (unsigned)wrong);

    if (screen) {
        int shown = gemco_screen_show(screen, colour.bo, &report);
        if (shown == -EINVAL) {
            printf("not shown\n");
            fprintf(stderr, "%s\n", gemco_last_error());
        } else {
            must(shown);
            say("show", &report);
            draw_row(&colour);
            must(gemco_screen_dirty(screen, &report));
            say("show again", &report);
        }
        /* What was on the screen before is there again. */
        must(gemco_screen_destroy(screen));
    }
    gemco_bo_unref(fetched);
    gemco_bo_unref(vertices);
    gemco_bo_unref(colour.bo);
    gemco_device_unref(device);
    return wrong ? 1 : 0;
}
