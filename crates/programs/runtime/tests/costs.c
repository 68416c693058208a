// Measures what a program that draws often pays: submissions with a store and a flush before each, the same with results that are read back,
// flushes, and loads. Prints a line for each, in nanoseconds, e.g. "submission: 21000". The first argument is the number of submissions. Without a device, the second, `bare`,
// measures flushes and loads of ordinary memory.
#include <time.h>

#include "findings/common.h"

enum { LARGE = 4 << 20, ROUNDS = 9 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int by_size(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

// Prints the median of some times, divided by a number.
static void print(const char *name, double *times, double number) {
    qsort(times, ROUNDS, sizeof *times, by_size);
    printf("%s: %.2f\n", name, times[ROUNDS / 2] / number);
}

int main(int count, char **words) {
    int is_bare = count == 3 && !strcmp(words[2], "bare");
    long submissions = count > 1 ? atol(words[1]) : 0;
    if (submissions < ROUNDS || count > 3 || (count == 3 && !is_bare)) {
        fprintf(stderr, "usage: %s SUBMISSIONS [bare]\n", words[0]);
        return 2;
    }
    double times[ROUNDS];
    unsigned sum = 0;
    char *large;
    if (is_bare) {
        large = aligned_alloc(4096, LARGE);
    } else {
        fd = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
        if (fd < 0) {
            perror("/dev/dri/card0");
            return 1;
        }
        large = map(create(LARGE), LARGE, I915_MMAP_OFFSET_WB);
        struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
        for (int round = 0; round < ROUNDS; round++) {
            double start = now();
            for (long n = 0; n < submissions / ROUNDS; n++) {
                memset(copy.source + n % (SIZE / LINE) * LINE, (int)n, LINE);
                flush_lines(copy.source + n % (SIZE / LINE) * LINE, LINE);
                copy_run(&copy);
            }
            times[round] = now() - start;
        }
        print("submission", times, submissions / ROUNDS);
        // Results in memory that the GPU does not snoop: half of each page is invalidated and loaded, and the other half stays stale.
        copy.handles[1] = create(SIZE);
        copy.destination = map(copy.handles[1], SIZE, I915_MMAP_OFFSET_WB);
        for (int round = 0; round < ROUNDS; round++) {
            double start = now();
            for (long n = 0; n < submissions / ROUNDS / 10; n++) {
                memset(copy.source, (int)n, SIZE);
                flush_lines(copy.source, SIZE);
                copy_run(&copy);
                for (size_t page = 0; page < SIZE; page += 4096) {
                    flush_lines(copy.destination + page, 2048);
                    const unsigned *words = (const unsigned *)(copy.destination + page);
                    for (size_t word = 0; word < 2048 / sizeof *words; word++) sum += words[word];
                }
            }
            times[round] = now() - start;
        }
        print("readback", times, submissions / ROUNDS / 10);
    }
    for (int round = 0; round < ROUNDS; round++) {
        memset(large, round + 1, LARGE);
        double start = now();
        flush_lines(large, LARGE);
        times[round] = now() - start;
    }
    print("flushed line", times, LARGE / LINE);
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (size_t at = 0; at < LARGE; at += LINE) sum += *(volatile unsigned char *)(large + at);
        times[round] = now() - start;
    }
    print("load", times, LARGE / LINE);
    return sum == 1;
}
