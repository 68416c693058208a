#version 450
// A buffer that is declared, and not accessed.
// dispatch: 1 1 1
// surface 0 0: 64 ints
// surface 0 1: 64 random
// surface 0 2: 64 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
layout(set = 0, binding = 2) writeonly buffer C { int c[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    c[i] = a[i];
    if (false) {
        c[i] = b[i];
    }
}
