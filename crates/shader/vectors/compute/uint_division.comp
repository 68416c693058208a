#version 450
// Divides unsigned integers, and the rests.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i].x, y = max(a[i].y >> (i & 31u), 1u);
    r[i] = uvec4(x / y, x % y, x / 10u, x % 1000u);
}
