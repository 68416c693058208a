#version 450
// Six buffers in two sets.
// dispatch: 1 1 1
// surface 0 0: 64 ints
// surface 0 3: 64 small
// surface 0 7: 64 ints
// surface 1 0: 64 small
// surface 1 1: 64 zero
// surface 1 2: 64 random
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 3) readonly buffer B { int b[]; };
layout(set = 0, binding = 7) readonly buffer C { int c[]; };
layout(set = 1, binding = 0) buffer D { int d[]; };
layout(set = 1, binding = 1) writeonly buffer E { int e[]; };
layout(set = 1, binding = 2) writeonly buffer F { int f[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    e[i] = a[i] + b[i] * c[i];
    d[i] += b[15u - i];
    if (i > 3u) {
        f[i] = d[i] ^ c[i];
    }
}
