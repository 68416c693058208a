#version 450
// Smaller and larger integers, with and without a sign, and limits.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = a[i].x, y = a[i].y;
    r[i] = ivec4(min(x, y), max(x, y), clamp(x, -1000, 1000), int(max(min(uint(x), uint(y)), clamp(uint(y), 5u, 77u))));
}
