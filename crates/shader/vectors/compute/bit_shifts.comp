#version 450
// Shifts by numbers that are constant, and known at run time.
// dispatch: 3 1 1
// surface 0 0: 384 random
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = a[i].x;
    uint by = uint(a[i].y) & 31u;
    r[i] = ivec4(x << by, x >> by, int(uint(x) >> by), (x << 5) + (x >> 31));
}
