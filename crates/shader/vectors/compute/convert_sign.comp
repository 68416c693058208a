#version 450
// Signed integers as unsigned ones, and back.
// dispatch: 3 1 1
// surface 0 0: 192 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint u = uint(a[i]);
    r[i] = ivec4(int(u >> 1), int(u / 3u), a[i] / 3, int(u > 5u) - int(a[i] > 5));
}
