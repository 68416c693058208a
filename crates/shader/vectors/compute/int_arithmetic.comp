#version 450
// Adds, subtracts, multiplies and negates signed integers, which wrap around.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = a[i].x, y = a[i].y;
    r[i] = ivec4(x + y, x - y, x * y, -x);
}
