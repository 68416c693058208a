// A batch polls memory, and copies the program's bytes when they are announced (user-mode submission). Without a fence in between, the announcement
// may reach memory before the bytes, which the CPU's write-combining buffers hold, or the way to local memory. The mode `right` takes turns: SFENCE,
// MFENCE, XCHG.
#define _GNU_SOURCE
#include "common.h"

enum { GO = 0x800, DONE = 0x840, ROUNDS = 6 };

int main(int count, char **words) {
    start(count, words);
    const uint32_t vm = vm_create();
    const struct buffer batch = buffer_of(vm, create_local(SIZE, WC)), from = buffer_of(vm, create_local(SIZE, WC));
    const struct buffer to = buffer(vm, WC), cached = buffer(vm, WB);
    volatile uint32_t *const done = (uint32_t *)(batch.mapped + DONE);
    uint32_t *at = (uint32_t *)batch.mapped;
    // The first wait is over at once. From then on the stores to that page are seen.
    const uint32_t first[] = {0x0e009002, 0, cached.address, cached.address >> 32, 0};
    at = (uint32_t *)mempcpy(at, first, sizeof first);
    for (uint32_t n = 1; n <= ROUNDS; n++) {
        // The last three announcements are cached.
        const uint64_t word = n > 3 ? cached.address : batch.address + GO, answer = batch.address + DONE;
        // MI_SEMAPHORE_WAIT; XY_FAST_COPY_BLT; MI_FLUSH_DW with a store.
        const uint32_t commands[] = {0x0e009002, n, word, word >> 32, 0,
                                     2u << 29 | 0x42u << 22 | 8, 3u << 24 | PITCH, 0, SIZE / PITCH << 16 | PITCH / 4, to.address, to.address >> 32,
                                     0, PITCH, from.address, from.address >> 32, 0x13004003, answer, answer >> 32, n, 0};
        memcpy(at, commands, sizeof commands);
        at += sizeof commands / sizeof *commands;
    }
    *at = 0x05000000;
    const uint32_t end = begin(vm, batch);
    for (uint32_t n = 1; n <= ROUNDS; n++) {
        uint32_t *const go = (uint32_t *)(n > 3 ? cached.mapped : batch.mapped + GO);
        memset(from.mapped + n * LINE, 0x40 + n, LINE); /* wrong */
        if (!wrong && n % 3 == 1) _mm_sfence();
        if (!wrong && n % 3 == 2) _mm_mfence();
        if (!wrong && n % 3 == 0) __atomic_exchange_n(go, n, __ATOMIC_SEQ_CST);
        *(volatile uint32_t *)go = n;
        // The announcement may stay in the buffers, too.
        _mm_sfence();
        while (*done != n) _mm_pause();
    }
    finish(end);
    return compare(from.mapped, to.mapped, SIZE);
}
