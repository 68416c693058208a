#version 450
// Counts bits.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = ivec4(bitCount(a[i].x), bitCount(int(a[i].y)), bitCount(a[i] & 0xffu));
}
