#version 450
// Compares integers of 64 bits, with and without a sign, whose halves may be the same.
// needs: int64
// dispatch: 3 1 1
// surface 0 0: 768 random
// surface 0 1: 192 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { u64vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint64_t x = a[i].x, y = a[i].y;
    if ((i & 3u) == 0u) {
        y = x;
    } else if ((i & 3u) == 1u) {
        y = x ^ uint64_t(i);
    }
    int64_t s = int64_t(x), t = int64_t(y);
    r[i] = uint(x < y) | uint(x <= y) << 1 | uint(x > y) << 2 | uint(x >= y) << 3 | uint(x == y) << 4 | uint(x != y) << 5
        | uint(s < t) << 6 | uint(s <= t) << 7 | uint(s > t) << 8 | uint(s >= t) << 9;
}
