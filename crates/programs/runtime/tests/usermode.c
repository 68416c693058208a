/* A batch that polls memory runs on without requests: the program submits it once, then gives it work and takes the answers through memory alone,
   as Intel's OpenCL does (user-mode submission).

     usermode [system|local [SECONDS [INDEX]]]    the memory, how long to wait for an answer (10 s), the PAT index */
#include "check.h"
#include "xe.h"

#include <emmintrin.h>
#include <time.h>

enum { SIZE = 65536, ROUNDS = 50, LOCAL = 2, BATCH = 0x1000000, GO = 0x8000, ANSWER = 0x8100 };

/* A semaphore that holds from GO = n on, and a store of n to ANSWER. */
static uint32_t *round_of(uint32_t *at, uint32_t n) {
    const uint32_t words[] = {0x0e009002, n, BATCH + GO, 0, 0x10000002, BATCH + ANSWER, 0, n};
    memcpy(at, words, sizeof words);
    return at + sizeof words / sizeof *words;
}

static uint32_t load(const uint32_t *at) { return *(const volatile uint32_t *)at; }

static int seconds = 10;

static int becomes(const uint32_t *at, uint32_t n) {
    const time_t end = time(NULL) + seconds;
    while (load(at) != n && time(NULL) < end) _mm_pause();
    return load(at) == n;
}

int main(int count, char **words) {
    const int fd = open_node("/dev/dri/renderD128"), is_local = count > 1 && !strcmp(words[1], "local");
    if (count > 2) seconds = atoi(words[2]);
    struct xe_vm_create vm = {.flags = SCRATCH_PAGE};
    OK(ioctl(fd, XE_VM_CREATE, &vm));
    struct xe_gem_create object = {.size = SIZE, .placement = is_local ? LOCAL : SYSTEM, .cpu_caching = WC};
    OK(ioctl(fd, XE_GEM_CREATE, &object));
    struct xe_gem_mmap_offset offset = {.handle = object.handle};
    OK(ioctl(fd, XE_GEM_MMAP_OFFSET, &offset));
    uint32_t *const memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset.offset);
    CHECK(memory != MAP_FAILED);
    struct xe_vm_bind bind = {.vm_id = vm.vm_id, .num_binds = 1};
    const uint16_t index = count > 3 ? atoi(words[3]) : 0;
    bind.bind = (struct xe_vm_bind_op){.obj = object.handle, .pat_index = index, .range = SIZE, .addr = BATCH};
    OK(ioctl(fd, XE_VM_BIND, &bind));
    struct xe_engine engine = {.engine_class = COPY_ENGINE};
    struct xe_exec_queue_create queue = {.width = 1, .num_placements = 1, .vm_id = vm.vm_id, .instances = (uintptr_t)&engine};
    OK(ioctl(fd, XE_EXEC_QUEUE_CREATE, &queue));

    uint32_t *at = memory, *const go = memory + GO / 4, *const answer = memory + ANSWER / 4;
    for (uint32_t n = 1; n <= ROUNDS; n++) at = round_of(at, n);
    *at = 0x05000000;
    _mm_sfence();
    struct xe_exec exec = {.exec_queue_id = queue.exec_queue_id, .address = BATCH, .num_batch_buffer = 1};
    OK(ioctl(fd, XE_EXEC, &exec));
    for (uint32_t n = 1; n <= ROUNDS; n++) {
        SAME(load(answer), n - 1);
        *(volatile uint32_t *)go = n;
        _mm_sfence();
        CHECK(becomes(answer, n));
    }
    printf("%d claims\n", claims);
    return 0;
}
