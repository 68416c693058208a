#version 450
// Reads and writes components of vectors in other orders.
// dispatch: 3 1 1
// surface 0 0: 768 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    ivec4 v = a[i].wzyx;
    v.xz = v.yw + a[i].xx;
    v.w = a[i].y;
    r[i] = v.yxwz;
}
