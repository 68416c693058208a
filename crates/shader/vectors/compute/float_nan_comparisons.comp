#version 450
// Compares floats that are not numbers.
// dispatch: 3 1 1
// surface 0 0: 384 floats
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float nan = uintBitsToFloat(0x7fc00000u + uint(a[i].x) * 0u);
    float x = (i & 1u) == 0u ? nan : a[i].x, y = (i & 2u) == 0u ? nan : a[i].y;
    uint bits = uint(x < y) | uint(x <= y) << 1 | uint(x > y) << 2 | uint(x >= y) << 3 | uint(x == y) << 4 | uint(x != y) << 5;
    r[i] = bits | uint(!(x < y)) << 6 | uint(!(x >= y)) << 7;
}
