/* Frames of OpenGL ES without a window, for benches/sanitizer: `frames COUNT`. Each frame uploads vertices in two ways, draws twice, and reads a
 * buffer and a pixel back. */

#include "gl.h"

#include <string.h>

enum { FLOATS = 0x1406, TRIANGLES = 4, VERTICES = 0x8892, DYNAMIC = 0x88e8, VERTEX = 0x8b31, FRAGMENT = 0x8b30, LINKED = 0x8b82 };
enum { READ = 1, WRITE = 2, FLUSH_EXPLICIT = 0x10, SIZE = 64, LENGTH = 1 << 14 };

static void shade(unsigned program, unsigned kind, const char *text) {
    GL(unsigned, glCreateShader, unsigned);
    GL(void, glShaderSource, unsigned, int, const char **, const int *);
    GL(void, glCompileShader, unsigned);
    GL(void, glAttachShader, unsigned, unsigned);
    unsigned shader = glCreateShader(kind);
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    glAttachShader(program, shader);
}

int main(int count, char **words) {
    int frames = count > 1 ? atoi(words[1]) : 1;
    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    CHECK(display != EGL_NO_DISPLAY && eglInitialize(display, NULL, NULL) && eglBindAPI(EGL_OPENGL_ES_API));
    const EGLint attributes[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
    EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
    CHECK(context != EGL_NO_CONTEXT && eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context));
    GL(void, glGenTextures, int, unsigned *);
    GL(void, glBindTexture, unsigned, unsigned);
    GL(void, glTexImage2D, unsigned, int, int, int, int, int, unsigned, unsigned, const void *);
    GL(void, glGenFramebuffers, int, unsigned *);
    GL(void, glBindFramebuffer, unsigned, unsigned);
    GL(void, glFramebufferTexture2D, unsigned, unsigned, unsigned, unsigned, int);
    GL(unsigned, glCheckFramebufferStatus, unsigned);
    GL(unsigned, glCreateProgram, void);
    GL(void, glLinkProgram, unsigned);
    GL(void, glGetProgramiv, unsigned, unsigned, int *);
    GL(void, glUseProgram, unsigned);
    GL(void, glGenBuffers, int, unsigned *);
    GL(void, glBindBuffer, unsigned, unsigned);
    GL(void, glBufferData, unsigned, long, const void *, unsigned);
    GL(void, glBufferSubData, unsigned, long, long, const void *);
    GL(void *, glMapBufferRange, unsigned, long, long, unsigned);
    GL(void, glFlushMappedBufferRange, unsigned, long, long);
    GL(unsigned char, glUnmapBuffer, unsigned);
    GL(void, glVertexAttribPointer, unsigned, int, unsigned, unsigned char, int, const void *);
    GL(void, glEnableVertexAttribArray, unsigned);
    GL(void, glDrawArrays, unsigned, int, int);
    GL(void, glClear, unsigned);
    GL(void, glReadPixels, int, int, int, int, unsigned, unsigned, void *);
    GL(unsigned, glGetError, void);
    unsigned texture, framebuffer, buffers[2];
    glGenTextures(1, &texture);
    glBindTexture(TEXTURE, texture);
    glTexImage2D(TEXTURE, 0, RGBA, SIZE, SIZE, 0, RGBA, BYTES, NULL);
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(FRAMEBUFFER, framebuffer);
    glFramebufferTexture2D(FRAMEBUFFER, COLOR, TEXTURE, texture, 0);
    CHECK(glCheckFramebufferStatus(FRAMEBUFFER) == COMPLETE);
    unsigned program = glCreateProgram();
    shade(program, VERTEX, "attribute vec2 at; void main() { gl_Position = vec4(at, 0., 1.); }");
    shade(program, FRAGMENT, "void main() { gl_FragColor = vec4(1.); }");
    glLinkProgram(program);
    int linked = 0;
    glGetProgramiv(program, LINKED, &linked);
    CHECK(linked);
    glUseProgram(program);
    glGenBuffers(2, buffers);
    for (int n = 0; n < 2; n++) {
        glBindBuffer(VERTICES, buffers[n]);
        glBufferData(VERTICES, LENGTH, NULL, DYNAMIC);
    }
    glEnableVertexAttribArray(0);
    unsigned sum = 0;
    for (int frame = 0; frame < frames; frame++) {
        const float corners[] = {-1, -1, 3, -1, -1, 3 + frame};
        glClear(COLOR_BUFFER);
        glBindBuffer(VERTICES, buffers[0]);
        glBufferSubData(VERTICES, 1024, sizeof corners, corners);
        glVertexAttribPointer(0, 2, FLOATS, 0, 0, (void *)1024);
        glDrawArrays(TRIANGLES, 0, 3);
        glBindBuffer(VERTICES, buffers[1]);
        char *mapped = glMapBufferRange(VERTICES, 512, 4096, WRITE | FLUSH_EXPLICIT);
        CHECK(mapped);
        memcpy(mapped + 128, corners, sizeof corners);
        glFlushMappedBufferRange(VERTICES, 128, sizeof corners);
        glUnmapBuffer(VERTICES);
        glVertexAttribPointer(0, 2, FLOATS, 0, 0, (void *)640);
        glDrawArrays(TRIANGLES, 0, 3);
        mapped = glMapBufferRange(VERTICES, 0, LENGTH, READ);
        CHECK(mapped);
        for (int at = 0; at < LENGTH; at += 64) sum += mapped[at];
        glUnmapBuffer(VERTICES);
        unsigned char pixel[4];
        glReadPixels(0, 0, 1, 1, RGBA, BYTES, pixel);
    }
    CHECK(glGetError() == 0);
    CHECK(eglTerminate(display));
    return sum == 1;
}
