/* What the programs that use OpenGL ES on EGL share: a check of each claim, and functions and values of GL, whose headers are in another package. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLOR_BUFFER = 0x4000, TEXTURE = 0x0de1, RGBA = 0x1908, BYTES = 0x1401, FRAMEBUFFER = 0x8d40, COLOR = 0x8ce0, COMPLETE = 0x8cd5 };

#define CHECK(claim)                                                                                                   \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            fprintf(stderr, "%s:%d: not so: %s (EGL error %#x)\n", __FILE__, __LINE__, #claim, eglGetError());         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Declares a function of GL and finds it. */
#define GL(result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))(void *)eglGetProcAddress(#name)
