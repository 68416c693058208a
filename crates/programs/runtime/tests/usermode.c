/* A batch that polls memory runs on without requests: the program submits it once, then gives it work and takes the answers through memory alone,
   as Intel's OpenCL does (user-mode submission).

     usermode [system|local [SECONDS [INDEX]]]    the memory, how long to wait for an answer (10 s), the PAT index */
#include "check.h"
#include "xe.h"

#include <emmintrin.h>
#include <sys/wait.h>
#include <time.h>

enum { SIZE = 65536, ROUNDS = 50, BATCH = 0x1000000, GO = 0x8000, ANSWER = 0x8100 };

/* A semaphore that holds from GO = n on, and a store of n to ANSWER. */
static uint32_t *round_of(uint32_t *at, uint32_t n) {
    const uint32_t words[] = {0x0e009002, n, BATCH + GO, 0, 0x10000002, BATCH + ANSWER, 0, n};
    memcpy(at, words, sizeof words);
    return at + sizeof words / sizeof *words;
}

static uint32_t load(const uint32_t *at) { return *(const volatile uint32_t *)at; }

/* Returns the number behind a key in the fdinfo of a descriptor, in its unit; -1 without it. */
static long fdinfo(int fd, const char *key, char *unit) {
    char line[256], name[64], path[64];
    long value, found = -1;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
        if (*unit = 0, sscanf(line, "%63[^:]: %ld %3s", name, &value, unit) >= 2 && !strcmp(name, key)) {
            found = value;
            break;
        }
    fclose(file);
    return found;
}

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

    char unit[4];
    SAME(fdinfo(fd, is_local ? "drm-total-vram0" : "drm-total-gtt", unit), 64);
    CHECK(!strcmp(unit, "KiB"));
    SAME(fdinfo(fd, "drm-cycles-bcs", unit), 0);
    SAME(fdinfo(fd, "drm-cycles-none", unit), -1);
    // A process without CAP_SYS_NICE may not give a queue a high priority. Root can make one.
    struct { uint64_t next; uint32_t name, pad, property, pad2; uint64_t value; } priority = {.value = 2};
    struct xe_exec_queue_create high = queue;
    high.extensions = (uintptr_t)&priority;
    if (geteuid() == 0) {
        const pid_t child = fork();
        if (!child) {
            const int is_other = !setresuid(65534, 65534, 65534), refused = ioctl(fd, XE_EXEC_QUEUE_CREATE, &high), why = errno;
            priority.value = 1;
            _exit(!(is_other && refused && why == EPERM && !ioctl(fd, XE_EXEC_QUEUE_CREATE, &high)));
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
        OK(ioctl(fd, XE_EXEC_QUEUE_CREATE, &high));
    }
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
    // Also by the folder, as IGT does.
    const int folder = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY);
    char name[16];
    snprintf(name, sizeof name, "%d", fd);
    const int by_name = openat(folder, name, O_RDONLY);
    char text[4096] = "";
    CHECK(read(by_name, text, sizeof text - 1) > 0);
    CHECK(strstr(text, "drm-driver:\txe\n") && strstr(text, "drm-pdev:\t0000:00:02.0\n"));
    close(by_name), close(folder);
    CHECK(fdinfo(fd, "drm-cycles-bcs", unit) > 0 && fdinfo(fd, "drm-total-cycles-bcs", unit) > 0);
    SAME(fdinfo(0, "drm-driver", unit), -1);
    printf("%d claims\n", claims);
    return 0;
}
