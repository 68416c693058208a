#version 450
// Parameters that a function reads and writes.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void exchange(inout int x, inout int y) {
    int z = x;
    x = y;
    y = z;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    ivec4 v = ivec4(a[i], 1, 2);
    exchange(v.x, v.w);
    int x = a[i].y, y = int(i);
    exchange(x, y);
    r[i] = v + ivec4(x, y, x, y);
}
