/* A program without a window: a context by EGL_MESA_platform_surfaceless, which clears a texture; prints the renderer's name. */

#include "gl.h"

enum { RENDERER = 0x1f01, SIZE = 64 };

int main(void) {
    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    CHECK(display != EGL_NO_DISPLAY);
    CHECK(eglInitialize(display, NULL, NULL));
    CHECK(eglBindAPI(EGL_OPENGL_ES_API));
    const EGLint attributes[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
    CHECK(context != EGL_NO_CONTEXT);
    CHECK(eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context));
    GL(const unsigned char *, glGetString, unsigned);
    GL(void, glGenTextures, int, unsigned *);
    GL(void, glBindTexture, unsigned, unsigned);
    GL(void, glTexImage2D, unsigned, int, int, int, int, int, unsigned, unsigned, const void *);
    GL(void, glGenFramebuffers, int, unsigned *);
    GL(void, glBindFramebuffer, unsigned, unsigned);
    GL(void, glFramebufferTexture2D, unsigned, unsigned, unsigned, unsigned, int);
    GL(unsigned, glCheckFramebufferStatus, unsigned);
    GL(void, glClearColor, float, float, float, float);
    GL(void, glClear, unsigned);
    GL(void, glFinish, void);
    GL(unsigned, glGetError, void);
    unsigned texture, framebuffer;
    glGenTextures(1, &texture);
    glBindTexture(TEXTURE, texture);
    glTexImage2D(TEXTURE, 0, RGBA, SIZE, SIZE, 0, RGBA, BYTES, NULL);
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(FRAMEBUFFER, framebuffer);
    glFramebufferTexture2D(FRAMEBUFFER, COLOR, TEXTURE, texture, 0);
    CHECK(glCheckFramebufferStatus(FRAMEBUFFER) == COMPLETE);
    glClearColor(0, 1, 0, 1);
    glClear(COLOR_BUFFER);
    glFinish();
    CHECK(glGetError() == 0);
    printf("%s\n", (const char *)glGetString(RENDERER));
    CHECK(eglTerminate(display));
    return 0;
}
