#version 450
// Least and greatest integers by atomic operations, with and without a sign.
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 16 ints
// surface 0 2: 16 ints
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) buffer Signed { int s[]; };
layout(set = 0, binding = 2) buffer Unsigned { uint u[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    atomicMin(s[0], a[i]);
    atomicMax(s[1], a[i]);
    atomicMin(s[i & 1u | 2u], a[i] >> 3);
    atomicMin(u[1], uint(a[i]));
    atomicMax(u[0], uint(a[i]));
}
