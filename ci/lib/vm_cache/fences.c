/*
 * Stores and flushes that wait for a fence: how many dwords of a BO the CPU reads old.
 *
 *   fences DEVICE wc [fence]     stores through a write-combining mapping, read through a write-back one
 *   fences DEVICE weak [fence]   stores through a write-back mapping, flushed by CLFLUSHOPT, read through a write-combining one
 *
 * With `fence`, an SFENCE (wc) or an MFENCE (weak) lies between. Nothing is called between a store and its load: the kernel fences, too.
 * Prints "N of M old".
 *
 *   fences DEVICE around [dirty]     stores past the cache to a half of a line, whose other half was written behind the cache before
 *
 * Without snooping of the own cache, stores through a write-combining mapping are such writes. Prints in how many lines they are lost: that
 * must be none, but with `dirty` the line has a dirty byte, and its write-back takes the old half along.
 */
#include <i915_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define SIZE (64u << 10)
#define LINE 64u

static int fd;

static void request(unsigned long number, void *argument, const char *name)
{
	if (ioctl(fd, number, argument)) {
		fprintf(stderr, "fences: %s: %s\n", name, strerror(errno));
		exit(2);
	}
}

static volatile uint32_t *map(uint32_t handle, uint64_t mode)
{
	struct drm_i915_gem_mmap_offset offset = { .handle = handle, .flags = mode };
	void *memory;

	request(DRM_IOCTL_I915_GEM_MMAP_OFFSET, &offset, "MMAP_OFFSET");
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset.offset);
	if (memory == MAP_FAILED) {
		perror("fences: mmap");
		exit(2);
	}
	return memory;
}

static unsigned stores_around(volatile uint32_t *cached, volatile uint32_t *combined, int dirty)
{
	unsigned old = 0;

	for (unsigned at = 0; at < SIZE / 4; at += LINE / 4) {
		(void)cached[at];
		for (unsigned word = LINE / 8; word < LINE / 4; word++)
			combined[at + word] = 7;
		_mm_sfence();
		if (dirty)
			cached[at] = 3;
		for (unsigned word = 1; word < LINE / 8; word++)
			_mm_stream_si32((int *)&cached[at + word], 2);
		_mm_sfence();
		_mm_clflush((const void *)&cached[at]);
		_mm_mfence();
		old += combined[at + LINE / 8] != 7;
		if (combined[at + 1] != 2 || combined[at + LINE / 8 - 1] != 2) {
			fprintf(stderr, "fences: a store past the cache is not in memory\n");
			exit(1);
		}
	}
	return old;
}

int main(int argc, char **argv)
{
	struct drm_i915_gem_create create = { .size = SIZE };
	const int fence = argc > 3 && !strcmp(argv[3], "fence");
	const int dirty = argc > 3 && !strcmp(argv[3], "dirty");
	volatile uint32_t *cached, *combined;
	unsigned old = 0, lines = 0;
	int weak;

	if (argc < 3 || (strcmp(argv[2], "wc") && strcmp(argv[2], "weak") && strcmp(argv[2], "around"))) {
		fputs("fences DEVICE wc|weak [fence]\nfences DEVICE around [dirty]\n", stderr);
		return 2;
	}
	weak = !strcmp(argv[2], "weak");
	fd = open(argv[1], O_RDWR);
	if (fd < 0) {
		fprintf(stderr, "fences: %s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	request(DRM_IOCTL_I915_GEM_CREATE, &create, "CREATE");
	cached = map(create.handle, I915_MMAP_OFFSET_WB);
	combined = map(create.handle, I915_MMAP_OFFSET_WC);
	/* All pages are there, and no line of them is cached. */
	for (unsigned at = 0; at < SIZE / 4; at += LINE / 4) {
		cached[at] = 1;
		_mm_clflush((const void *)&cached[at]);
		(void)combined[at];
	}
	_mm_mfence();
	if (!strcmp(argv[2], "around")) {
		printf("%u of %u old\n", stores_around(cached, combined, dirty), SIZE / LINE);
		return 0;
	}
	for (unsigned at = 0; at < SIZE / 4; at += LINE / 4, lines++) {
		if (weak) {
			cached[at] = 2;
			_mm_clflushopt((void *)&cached[at]);
			if (fence)
				_mm_mfence();
			old += combined[at] != 2;
		} else {
			combined[at] = 2;
			if (fence)
				_mm_sfence();
			old += cached[at] != 2;
		}
	}
	printf("%u of %u old\n", old, lines);
	return 0;
}
