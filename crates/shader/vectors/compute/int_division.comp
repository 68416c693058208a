#version 450
// Divides signed integers; the dividend and the divisor have either sign.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = a[i].x, y = a[i].y;
    y = y == 0 || y == -1 ? 7 : y;
    r[i] = ivec2(x / y, x / ((int(i) | 1) - 24));
}
