#version 450
// Compares unsigned integers in all six ways.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i].x, y = (i & 3u) == 0u ? x : a[i].y;
    r[i] = uint(x < y) | uint(x <= y) << 1 | uint(x > y) << 2 | uint(x >= y) << 3 | uint(x == y) << 4 | uint(x != y) << 5;
}
