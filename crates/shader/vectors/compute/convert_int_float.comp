#version 450
// Integers as floats, rounded where they have too many bits, and floats as integers.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = uvec4(floatBitsToUint(float(a[i].x)), floatBitsToUint(float(uint(a[i].y))), int(float(a[i].x >> 9) * 0.125),
        uint(float(uint(a[i].y) >> 9) * 0.375));
}
