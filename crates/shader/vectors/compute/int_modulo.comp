#version 450
// Rests of divisions of integers that are not negative.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = a[i].x & 0x7fffffff, y = max(a[i].y & 0x7fffffff, 1) >> (i & 15u);
    r[i] = ivec2(x % max(y, 1), x % 13);
}
